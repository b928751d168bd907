/* heat.c - heat spreads through a square plate: an MPI program as people write them, to be
 * measured.
 *
 *   mpirun -n 4 heat [-n SIZE] [-s STEPS]
 *
 * An explicit scheme on SIZE x SIZE cells, cut into bands of rows. The upper edge of the plate is
 * kept hot, the others cold. Rank 2 gets about twice the rows of any other rank, on purpose: the
 * others wait for it. The numbers printed do not depend on how many ranks there are.
 */
#include "heat.h"

enum { SLOW_RANK = 2 };

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

static int band_init(struct band *band, int size)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    band->size = size;
    band->first = heat_first_row(rank, ranks, size, SLOW_RANK);
    band->rows = heat_first_row(rank + 1, ranks, size, SLOW_RANK) - band->first;
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
    MPI_Irecv(row(cells, band, 0) + 1, band->size, MPI_DOUBLE, band->up, HEAT_TAG_DOWN,
              MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(row(cells, band, band->rows + 1) + 1, band->size, MPI_DOUBLE, band->down, HEAT_TAG_UP,
              MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(row(cells, band, 1) + 1, band->size, MPI_DOUBLE, band->up, HEAT_TAG_UP,
              MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(row(cells, band, band->rows) + 1, band->size, MPI_DOUBLE, band->down, HEAT_TAG_DOWN,
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

/* The largest change that the last step made to a cell. */
static double residual(const struct band *band)
{
    double mine = 0;
    for (int i = 1; i <= band->rows; i++) {
        const double *now = row(band->now, band, i), *before = row(band->next, band, i);
        for (int j = 1; j <= band->size; j++) {
            double change = now[j] > before[j] ? now[j] - before[j] : before[j] - now[j];
            if (change > mine)
                mine = change;
        }
    }
    return heat_residual(mine);
}

/* The mean temperature, right on rank 0 alone. Returns -1 without memory. */
static int mean(const struct band *band, double *mean_temperature)
{
    double *sums = calloc((size_t)band->rows, sizeof(double));
    if (!sums)
        return -1;
    for (int i = 0; i < band->rows; i++)
        for (int j = 1; j <= band->size; j++)
            sums[i] += row(band->now, band, i + 1)[j];
    int status = heat_mean(sums, band->size, SLOW_RANK, mean_temperature);
    free(sums);
    return status;
}

static int run(const struct heat_options *options, int rank)
{
    struct band band = {0};
    double change = 0, temperature = 0;
    int status = band_init(&band, options->size);
    if (status == 0) {
        for (int i = 1; i <= options->steps; i++) {
            step(&band);
            if (i % HEAT_RESIDUAL_STEPS == 0 || i == options->steps)
                change = residual(&band);
        }
        status = mean(&band, &temperature);
    }
    if (status != 0) {
        fprintf(stderr, "heat: rank %d: out of memory\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        heat_print(options, change, temperature);
    band_free(&band);
    return 0;
}

int main(int argc, char **argv)
{
    struct heat_options options = {.size = 1200, .steps = 1000};
    int rank, ranks, status = 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (heat_parse(argc, argv, rank, ranks, &options) == 0)
        status = run(&options, rank);
    MPI_Finalize();
    return status;
}
