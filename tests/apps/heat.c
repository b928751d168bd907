/* heat.c - heat spreads through a square plate: an MPI program as people write them, to be measured.
 *
 *   mpirun -n 4 heat [-n SIZE] [-s STEPS]
 *
 * An explicit scheme on SIZE x SIZE cells, cut into bands of rows. The upper edge of the plate is
 * kept hot, the others cold. Rank 2 gets about twice the rows of any other rank, on purpose: the
 * others wait for it. The numbers printed do not depend on how many ranks there are.
 */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOW_RANK = 2, RESIDUAL_STEPS = 10, TAG_UP = 1, TAG_DOWN = 2 };

struct options {
    int size;
    int steps;
};

/* A band of rows with a row of the neighbour's, the halo, above and below it, and a cell of the
 * plate's edge at both ends of each row. */
struct band {
    int size;
    int first;
    int rows;
    int up;
    int down;
    double *now;
    double *next;
};

static double *row(double *cells, const struct band *band, int i)
{
    return cells + (size_t)i * ((size_t)band->size + 2);
}

/* The first row of a rank's band; of one rank past the last, the number of rows. */
static int first_row(int rank, int ranks, int size)
{
    int shares = ranks + (ranks > SLOW_RANK);
    int before = rank + (rank > SLOW_RANK);
    return (int)((long long)size * before / shares);
}

static int band_init(struct band *band, int size)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    band->size = size;
    band->first = first_row(rank, ranks, size);
    band->rows = first_row(rank + 1, ranks, size) - band->first;
    band->up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    band->down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;

    size_t cells = ((size_t)band->rows + 2) * ((size_t)size + 2);
    band->now = calloc(cells, sizeof(double));
    band->next = calloc(cells, sizeof(double));
    if (!band->now || !band->next)
        return -1;
    if (band->up == MPI_PROC_NULL)
        for (int j = 1; j <= size; j++)
            band->now[j] = band->next[j] = 1.0;
    return 0;
}

static void band_free(struct band *band)
{
    free(band->now);
    free(band->next);
}

static void begin_halo(const struct band *band, MPI_Request requests[4])
{
    double *cells = band->now;
    MPI_Irecv(row(cells, band, 0) + 1, band->size, MPI_DOUBLE, band->up, TAG_DOWN, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Irecv(row(cells, band, band->rows + 1) + 1, band->size, MPI_DOUBLE, band->down, TAG_UP,
              MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(row(cells, band, 1) + 1, band->size, MPI_DOUBLE, band->up, TAG_UP, MPI_COMM_WORLD,
              &requests[2]);
    MPI_Isend(row(cells, band, band->rows) + 1, band->size, MPI_DOUBLE, band->down, TAG_DOWN,
              MPI_COMM_WORLD, &requests[3]);
}

static void update_row(struct band *band, int i)
{
    const double *above = row(band->now, band, i - 1), *here = row(band->now, band, i);
    const double *below = row(band->now, band, i + 1);
    double *next = row(band->next, band, i);
    for (int j = 1; j <= band->size; j++)
        next[j] = here[j] + 0.2 * (above[j] + below[j] + here[j - 1] + here[j + 1] - 4 * here[j]);
}

/* One step in time. The inner rows are updated while the halo is on its way. */
static void step(struct band *band)
{
    MPI_Request requests[4];
    begin_halo(band, requests);
    for (int i = 2; i < band->rows; i++)
        update_row(band, i);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    update_row(band, 1);
    update_row(band, band->rows);

    double *swap = band->now;
    band->now = band->next;
    band->next = swap;
}

/* The largest change that the last step made to a cell: a maximum, so that it is the same however
 * the ranks are combined. */
static double residual(const struct band *band)
{
    double mine = 0, all;
    for (int i = 1; i <= band->rows; i++) {
        const double *now = row(band->now, band, i), *before = row(band->next, band, i);
        for (int j = 1; j <= band->size; j++) {
            double change = now[j] > before[j] ? now[j] - before[j] : before[j] - now[j];
            if (change > mine)
                mine = change;
        }
    }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* The mean temperature, right on rank 0 alone. The sums of the rows are added from the top down,
 * so that rounding is the same however many ranks have them. Returns -1 without memory. */
static int mean(const struct band *band, double *mean_temperature)
{
    int rank, ranks, status = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double *mine = calloc((size_t)band->rows, sizeof(double));
    double *all = calloc((size_t)band->size, sizeof(double));
    int *counts = calloc((size_t)ranks, sizeof(int)), *first = calloc((size_t)ranks, sizeof(int));
    if (!mine || !all || !counts || !first)
        goto done;

    for (int i = 0; i < band->rows; i++)
        for (int j = 1; j <= band->size; j++)
            mine[i] += row(band->now, band, i + 1)[j];
    for (int r = 0; r < ranks; r++) {
        first[r] = first_row(r, ranks, band->size);
        counts[r] = first_row(r + 1, ranks, band->size) - first[r];
    }
    MPI_Gatherv(mine, band->rows, MPI_DOUBLE, all, counts, first, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double sum = 0;
    for (int i = 0; i < band->size; i++)
        sum += all[i];
    *mean_temperature = sum / band->size / band->size;
    status = 0;
done:
    free(mine);
    free(all);
    free(counts);
    free(first);
    return status;
}

static int run(const struct options *options, int rank)
{
    struct band band = {0};
    double change = 0, temperature = 0;
    int status = band_init(&band, options->size);
    if (status == 0) {
        for (int i = 1; i <= options->steps; i++) {
            step(&band);
            if (i % RESIDUAL_STEPS == 0 || i == options->steps)
                change = residual(&band);
        }
        status = mean(&band, &temperature);
    }
    if (status != 0) {
        fprintf(stderr, "heat: rank %d: out of memory\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        printf("heat: %d x %d cells, %d steps: last change %.9e, mean temperature %.9e\n",
               options->size, options->size, options->steps, change, temperature);
    band_free(&band);
    return 0;
}

/* A whole number from `least` to `most`, or -1. */
static int number(const char *text, int least, int most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno || end == text || *end || value < least || value > most ? -1 : (int)value;
}

/* The options, or on every rank -1 after rank 0 has said what is wrong. */
static int parse(int argc, char **argv, int rank, int ranks, struct options *options)
{
    int option, least = 2 * ranks;
    char wrong[128] = "";
    opterr = 0;
    while (!*wrong && (option = getopt(argc, argv, "n:s:")) != -1) {
        if (option == 'n' && (options->size = number(optarg, least, 30000)) < 0)
            snprintf(wrong, sizeof wrong, "-n wants a number from %d to 30000 on %d ranks", least,
                     ranks);
        else if (option == 's' && (options->steps = number(optarg, 1, INT_MAX)) < 0)
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

int main(int argc, char **argv)
{
    struct options options = {.size = 1200, .steps = 1000};
    int rank, ranks, status = 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (parse(argc, argv, rank, ranks, &options) == 0)
        status = run(&options, rank);
    MPI_Finalize();
    return status;
}
