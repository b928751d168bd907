/* heat_gpu.cu - heat spreads through a square plate on GPUs: an MPI+CUDA program as people write
 * them, to be measured.
 *
 *   nvcc -cudart shared -fmad=false -ccbin mpicc -o heat_gpu heat_gpu.cu -lrankclock -lstdc++
 *   mpirun -n 2 heat_gpu [-n SIZE] [-s STEPS]
 *
 * The scheme, the plate and the numbers printed are those of heat.c. Rank 1 gets about twice the
 * rows of any other rank, on purpose. Each rank uses the device of its number, around again if
 * there are fewer; where there is none it does the device's work itself.
 */
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "heat.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <rankclock/rankclock.hpp>

#include "../fakecuda/fakecuda.h"

enum { SLOW_RANK = 1, THREADS = 128 };

/* A band of rows with a row of the neighbour's, the halo, above and below it, and a cell of the
 * plate's edge at both ends of each row; and two rows to send, two to receive, on the host. */
struct band {
    int size, rows, up, down;
    bool is_on_device;
    cudaStream_t stream;
    double *now, *next;
    double *sent, *received;
};

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "heat: %s: %s\n", what, cudaGetErrorString(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- the work of one thread on the device ---------------------------------------------------- */

__host__ __device__ static void update_cell(const double *now, double *next, int width, long cell)
{
    double here = now[cell];
    next[cell] = here + 0.2 * (now[cell - width] + now[cell + width] + now[cell - 1] +
                               now[cell + 1] - 4 * here);
}

/* The sum of a row, or the largest change in it. */
__host__ __device__ static double look_at_row(const double *now, const double *before, int size)
{
    double result = 0;
    for (int j = 1; j <= size; j++) {
        double change = before ? now[j] - before[j] : 0;
        if (!before)
            result += now[j];
        else if (change > result || -change > result)
            result = change < 0 ? -change : change;
    }
    return result;
}

__global__ void update(const double *now, double *next, int size, int first, int rows)
{
    int j = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) + 1, i = first + blockIdx.y;
    if (j <= size && i < first + rows)
        update_cell(now, next, size + 2, static_cast<long>(i) * (size + 2) + j);
}

__global__ void look(const double *now, const double *before, double *results, int size, int rows)
{
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    long at = static_cast<long>(i + 1) * (size + 2);
    if (i < rows)
        results[i] = look_at_row(now + at, before ? before + at : nullptr, size);
}

/* --- the same on the host -------------------------------------------------------------------- */

static void update_on_host(const double *now, double *next, int size, int first, int rows)
{
    for (int i = first; i < first + rows; i++)
        for (int j = 1; j <= size; j++)
            update_cell(now, next, size + 2, static_cast<long>(i) * (size + 2) + j);
}

static void look_on_host(const double *now, const double *before, double *results, int size,
                         int rows)
{
    for (int i = 0; i < rows; i++) {
        long at = static_cast<long>(i + 1) * (size + 2);
        results[i] = look_at_row(now + at, before ? before + at : nullptr, size);
    }
}

template <typename T> static T argument(void **arguments, int i)
{
    return *static_cast<T *>(arguments[i]);
}

/* The test double of the driver runs no code for devices: it calls these, which say how long it
 * takes them, 2 ns for each cell. */
static uint64_t update_for_double(void **a, const unsigned *, const unsigned *)
{
    int size = argument<int>(a, 2), rows = argument<int>(a, 4);
    update_on_host(argument<const double *>(a, 0), argument<double *>(a, 1), size,
                   argument<int>(a, 3), rows);
    return static_cast<uint64_t>(2) * size * rows;
}

static uint64_t look_for_double(void **a, const unsigned *, const unsigned *)
{
    int size = argument<int>(a, 3), rows = argument<int>(a, 4);
    look_on_host(argument<const double *>(a, 0), argument<const double *>(a, 1),
                 argument<double *>(a, 2), size, rows);
    return static_cast<uint64_t>(2) * size * rows;
}

static void define_for_double()
{
    const size_t update_sizes[] = {sizeof(void *), sizeof(void *), sizeof(int), sizeof(int),
                                   sizeof(int)};
    const size_t look_sizes[] = {sizeof(void *), sizeof(void *), sizeof(void *), sizeof(int),
                                 sizeof(int)};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = driver ? dlsym(driver, "fakecuda_kernel") : nullptr;
    if (!found)
        return;
    auto define = reinterpret_cast<decltype(&fakecuda_kernel)>(found);
    define("update", 0, update_for_double, 5, update_sizes);
    define("look", 0, look_for_double, 5, look_sizes);
}

/* --- the band -------------------------------------------------------------------------------- */

static void *allocate(const band *band, size_t n)
{
    void *memory = nullptr;
    if (!band->is_on_device)
        return std::calloc(n, sizeof(double));
    check(cudaMalloc(&memory, n * sizeof(double)), "cudaMalloc");
    check(cudaMemset(memory, 0, n * sizeof(double)), "cudaMemset");
    return memory;
}

static void release(const band *band, void *memory)
{
    if (band->is_on_device)
        check(cudaFree(memory), "cudaFree");
    else
        std::free(memory);
}

/* Between host and device, in the order of the stream. */
static void copy(const band *band, double *to, const double *from, size_t n, cudaMemcpyKind kind)
{
    if (band->is_on_device)
        check(cudaMemcpyAsync(to, from, n * sizeof(double), kind, band->stream), "cudaMemcpy");
    else
        std::memcpy(to, from, n * sizeof(double));
}

static void wait(const band *band)
{
    if (band->is_on_device)
        check(cudaStreamSynchronize(band->stream), "cudaStreamSynchronize");
}

static double *row(double *cells, const band *band, int i)
{
    return cells + static_cast<size_t>(i) * (static_cast<size_t>(band->size) + 2);
}

static void use_device(band *band, int rank)
{
    int n = 0;
    cudaError_t error = cudaGetDeviceCount(&n);
    band->is_on_device = error == cudaSuccess && n > 0;
    if (!band->is_on_device)
        return;
    check(cudaSetDevice(rank % n), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&band->stream, cudaStreamNonBlocking), "cudaStreamCreate");
    define_for_double();
}

static int band_init(band *band, int size)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    use_device(band, rank);
    band->size = size;
    band->rows = heat_first_row(rank + 1, ranks, size, SLOW_RANK) -
                 heat_first_row(rank, ranks, size, SLOW_RANK);
    band->up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    band->down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;

    size_t width = static_cast<size_t>(size) + 2, cells = (band->rows + 2) * width;
    band->now = static_cast<double *>(allocate(band, cells));
    band->next = static_cast<double *>(allocate(band, cells));
    band->sent = static_cast<double *>(std::calloc(2 * width, sizeof(double)));
    band->received = static_cast<double *>(std::calloc(2 * width, sizeof(double)));
    if (!band->now || !band->next || !band->sent || !band->received)
        return -1;
    if (band->up == MPI_PROC_NULL) {
        std::fill(band->received + 1, band->received + 1 + size, 1.0);
        copy(band, band->now, band->received, width, cudaMemcpyHostToDevice);
        copy(band, band->next, band->received, width, cudaMemcpyHostToDevice);
    }
    wait(band);
    return 0;
}

static void band_free(band *band)
{
    release(band, band->now);
    release(band, band->next);
    std::free(band->sent);
    std::free(band->received);
    if (band->is_on_device)
        check(cudaStreamDestroy(band->stream), "cudaStreamDestroy");
}

/* --- steps ----------------------------------------------------------------------------------- */

static void update_rows(band *band, int first, int rows)
{
    if (rows <= 0)
        return;
    if (!band->is_on_device) {
        update_on_host(band->now, band->next, band->size, first, rows);
        return;
    }
    dim3 grid((band->size + THREADS - 1) / THREADS, rows);
    update<<<grid, THREADS, 0, band->stream>>>(band->now, band->next, band->size, first, rows);
    check(cudaGetLastError(), "update");
}

static void fetch_edges(band *band)
{
    static const rankclock::region edges("edges");
    rankclock::scope scope(edges);
    edges.mark(RKC_WAIT);
    copy(band, band->sent, row(band->now, band, 1), band->size + 2, cudaMemcpyDeviceToHost);
    copy(band, band->sent + band->size + 2, row(band->now, band, band->rows), band->size + 2,
         cudaMemcpyDeviceToHost);
    wait(band);
}

static void begin_halo(const band *band, MPI_Request requests[4])
{
    double *below = band->received + band->size + 2, *lowest = band->sent + band->size + 2;
    MPI_Irecv(band->received + 1, band->size, MPI_DOUBLE, band->up, HEAT_TAG_DOWN, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Irecv(below + 1, band->size, MPI_DOUBLE, band->down, HEAT_TAG_UP, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(band->sent + 1, band->size, MPI_DOUBLE, band->up, HEAT_TAG_UP, MPI_COMM_WORLD,
              &requests[2]);
    MPI_Isend(lowest + 1, band->size, MPI_DOUBLE, band->down, HEAT_TAG_DOWN, MPI_COMM_WORLD,
              &requests[3]);
}

/* One step in time. The inner rows are updated while the halo is on its way. */
static void step(band *band)
{
    MPI_Request requests[4];
    size_t width = static_cast<size_t>(band->size) + 2;
    fetch_edges(band);
    begin_halo(band, requests);
    {
        RKC_SCOPE_GPU("inner", band->stream);
        update_rows(band, 2, band->rows - 2);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (band->up != MPI_PROC_NULL)
        copy(band, band->now, band->received, width, cudaMemcpyHostToDevice);
    if (band->down != MPI_PROC_NULL)
        copy(band, row(band->now, band, band->rows + 1), band->received + width, width,
             cudaMemcpyHostToDevice);
    {
        RKC_SCOPE_GPU("border", band->stream);
        update_rows(band, 1, 1);
        if (band->rows > 1)
            update_rows(band, band->rows, 1);
    }
    std::swap(band->now, band->next);
}

static void look_at(const band *band, const double *before, double *results)
{
    RKC_SCOPE_GPU("look", band->stream);
    if (!band->is_on_device) {
        look_on_host(band->now, before, results, band->size, band->rows);
        return;
    }
    look<<<(band->rows + THREADS - 1) / THREADS, THREADS, 0, band->stream>>>(
        band->now, before, results, band->size, band->rows);
    check(cudaGetLastError(), "look");
}

/* The largest change of each row, or with `before` NULL its sum, copied to the host; the caller
 * frees it. */
static double *look_at_rows(const band *band, const double *before)
{
    double *host = static_cast<double *>(std::calloc(band->rows, sizeof(double)));
    double *results = static_cast<double *>(allocate(band, band->rows));
    if (host && results) {
        look_at(band, before, results);
        copy(band, host, results, band->rows, cudaMemcpyDeviceToHost);
        wait(band);
    }
    release(band, results);
    return host;
}

static int residual(const band *band, double *change)
{
    double *changes = look_at_rows(band, band->next);
    if (!changes)
        return -1;
    *change = heat_residual(*std::max_element(changes, changes + band->rows));
    std::free(changes);
    return 0;
}

static int mean(const band *band, double *temperature)
{
    double *sums = look_at_rows(band, nullptr);
    int status = sums ? heat_mean(sums, band->size, SLOW_RANK, temperature) : -1;
    std::free(sums);
    return status;
}

static void run(const heat_options *options, int rank)
{
    band band = {};
    double change = 0, temperature = 0;
    int status = band_init(&band, options->size);
    for (int i = 1; i <= options->steps && status == 0; i++) {
        step(&band);
        if (i % HEAT_RESIDUAL_STEPS == 0 || i == options->steps)
            status = residual(&band, &change);
    }
    if (status == 0)
        status = mean(&band, &temperature);
    if (status != 0) {
        std::fprintf(stderr, "heat: rank %d: out of memory\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        heat_print(options, change, temperature);
    band_free(&band);
}

int main(int argc, char **argv)
{
    heat_options options = {1200, 1000};
    int rank, ranks, status = 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (heat_parse(argc, argv, rank, ranks, &options) == 0) {
        run(&options, rank);
        status = 0;
    }
    MPI_Finalize();
    return status;
}
