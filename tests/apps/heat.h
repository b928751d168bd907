/* heat.h - what the heat programs have in common but the plate itself: options, bands of rows, and
 * the sums over ranks. In C and C++.
 */
#ifndef TESTS_APPS_HEAT_H
#define TESTS_APPS_HEAT_H

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HEAT_RESIDUAL_STEPS = 10, HEAT_TAG_UP = 1, HEAT_TAG_DOWN = 2 };

struct heat_options {
    int size;
    int steps;
};

/* The first row of a rank's band; of one rank past the last, the number of rows. The slow rank has
 * about twice the rows of any other. */
static inline int heat_first_row(int rank, int ranks, int size, int slow_rank)
{
    int shares = ranks + (ranks > slow_rank);
    int before = rank + (rank > slow_rank);
    return (int)((long long)size * before / shares);
}

/* The largest of all ranks' changes: a maximum, so that it is the same however the ranks are
 * combined. */
static inline double heat_residual(double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* The mean temperature from the sums of this rank's rows, right on rank 0 alone. The sums are added
 * from the top down, so that rounding is the same however many ranks have them. Returns -1 without
 * memory. */
static inline int heat_mean(const double *mine, int size, int slow_rank, double *mean_temperature)
{
    int rank, ranks, status = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double *all = (double *)calloc((size_t)size, sizeof(double)), sum = 0;
    int *counts = (int *)calloc((size_t)ranks, sizeof(int));
    int *first = (int *)calloc((size_t)ranks, sizeof(int));
    if (!all || !counts || !first)
        goto done;
    for (int r = 0; r < ranks; r++) {
        first[r] = heat_first_row(r, ranks, size, slow_rank);
        counts[r] = heat_first_row(r + 1, ranks, size, slow_rank) - first[r];
    }
    MPI_Gatherv(mine, counts[rank], MPI_DOUBLE, all, counts, first, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        sum += all[i];
    *mean_temperature = sum / size / size;
    status = 0;
done:
    free(all);
    free(counts);
    free(first);
    return status;
}

static inline void heat_print(const struct heat_options *options, double change, double temperature)
{
    printf("heat: %d x %d cells, %d steps: last change %.9e, mean temperature %.9e\n",
           options->size, options->size, options->steps, change, temperature);
}

/* A whole number from `least` to `most`, or -1. */
static inline int heat_number(const char *text, int least, int most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno || end == text || *end || value < least || value > most ? -1 : (int)value;
}

/* The options, or on every rank -1 after rank 0 has said what is wrong. */
static inline int heat_parse(int argc, char **argv, int rank, int ranks,
                             struct heat_options *options)
{
    int option, least = 2 * ranks;
    char wrong[128] = "";
    opterr = 0;
    while (!*wrong && (option = getopt(argc, argv, "n:s:")) != -1) {
        if (option == 'n' && (options->size = heat_number(optarg, least, 30000)) < 0)
            snprintf(wrong, sizeof wrong, "-n wants a number from %d to 30000 on %d ranks", least,
                     ranks);
        else if (option == 's' && (options->steps = heat_number(optarg, 1, INT_MAX)) < 0)
            snprintf(wrong, sizeof wrong, "-s wants a number from 1 to %d", INT_MAX);
        else if (option == '?')
            snprintf(wrong, sizeof wrong, "usage: heat [-n SIZE] [-s STEPS]");
    }
    if (!*wrong && optind < argc)
        snprintf(wrong, sizeof wrong, "usage: heat [-n SIZE] [-s STEPS]");
    if (!*wrong && options->size < least)
        snprintf(wrong, sizeof wrong, "%d rows are too few for %d ranks: use -n", options->size,
                 ranks);
    if (*wrong && rank == 0)
        fprintf(stderr, "heat: %s\n", wrong);
    return *wrong ? -1 : 0;
}

#endif
