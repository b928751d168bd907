/* RANKS 2 */
/* kinds.c - transfers by the kinds of memory at both ends; on the double of CUDA's driver, whose
 * device memory the host can read. */
#include "autoconf.h"

#include "gpu_double.h"

#include "beside.h"
#include "counters.h"
#include "tap.h"

#include "gpu/memory.h"

#define ASK "cuPointerGetAttributes"

static int me, other;
static double host[64], *device, *second, *pinned, *managed;

static void set_up_memory(void)
{
    CUdeviceptr memory;
    void *locked;
    gpu_set_up(2);
    cuMemAlloc_v2(&memory, 4096);
    device = (double *)(uintptr_t)memory;
    cuCtxSetCurrent(gpu_contexts[1]);
    cuMemAlloc_v2(&memory, 4096);
    second = (double *)(uintptr_t)memory;
    cuCtxSetCurrent(gpu_contexts[0]);
    cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL);
    managed = (double *)(uintptr_t)memory;
    cuMemAllocHost_v2(&locked, 4096);
    pinned = locked;
}

/* An exchange with the other rank in a region, and what has become of it. */
static void exchange(const char *region, void *out, void *in, int count, MPI_Datatype type)
{
    fakecuda_reset_calls();
    rkc_begin(region);
    MPI_Sendrecv(out, count, type, other, 0, in, count, type, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    rkc_end(region);
}

static void check(const char *region, const char *function, int send_kind, int recv_kind,
                  int64_t sent, int64_t received, const char *what)
{
    char text[200];
    const struct rkc_transfer *row = beside_transfer(region, function, send_kind, recv_kind);
    snprintf(text, sizeof text, "%s: bytes sent", what);
    is_int(row ? row->sent : -1, sent, text);
    snprintf(text, sizeof text, "%s: bytes received", what);
    is_int(row ? row->received : -1, received, text);
}

static void test_before(void)
{
    exchange("before", host, host + 8, 4, MPI_DOUBLE);
    is_int(fakecuda_calls(ASK), 0, "without a context nobody asks about buffers");
}

static void test_exchanges(void)
{
    exchange("dd", device, device + 8, 4, MPI_DOUBLE);
    is_int(fakecuda_calls(ASK), 2, "each buffer is asked about once");
    exchange("hh", host, host + 8, 4, MPI_DOUBLE);
    exchange("pm", pinned, managed, 4, MPI_DOUBLE);
    exchange("ds", device, second, 3, MPI_DOUBLE);
    exchange("none", device, device, 0, MPI_DOUBLE);
    is_int(fakecuda_calls(ASK), 0, "nobody asks about nothing");
    is_int(beside_collect(), 0, "exchanges between all kinds");
    check("dd", "MPI_Sendrecv", RKC_KIND_DEVICE, RKC_KIND_DEVICE, 32, 32, "device to device");
    const struct rkc_transfer *row =
        beside_transfer("dd", "MPI_Sendrecv", RKC_KIND_DEVICE, RKC_KIND_DEVICE);
    is_int(row ? (int64_t)beside_operations(row) : -1, 1, "it is one operation");
    ok(row && row->ns > 0, "that took its time");
    is_int(row ? row->noncontiguous : -1, 0, "and has no gaps");
    is_int(row ? row->send_device : -9, 0, "from device 0");
    check("pm", "MPI_Sendrecv", RKC_KIND_PINNED, RKC_KIND_MANAGED, 32, 32, "pinned to managed");
    row = beside_transfer("ds", "MPI_Sendrecv", RKC_KIND_DEVICE, RKC_KIND_DEVICE);
    is_int(row ? row->send_device : -9, 0, "between devices: from 0");
    is_int(row ? row->recv_device : -9, 1, "to 1");
    ok(!beside_transfer("hh", "MPI_Sendrecv", RKC_KIND_HOST, RKC_KIND_HOST),
       "host memory has no row of its own");
    is_int(counters_of("hh", "MPI_Sendrecv").sent, 32, "but its bytes");
}

/* The call path's numbers are those of all kinds. */
static void test_sums(void)
{
    rkc_begin("sums");
    MPI_Sendrecv(device, 2, MPI_DOUBLE, other, 0, host, 2, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(host, 5, MPI_DOUBLE, other, 0, host + 8, 5, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    rkc_end("sums");
    is_int(beside_collect(), 0, "one call path, two kinds");
    check("sums", "MPI_Sendrecv", RKC_KIND_DEVICE, RKC_KIND_HOST, 16, 16, "the device's part");
    const struct rkc_transfer *row =
        beside_transfer("sums", "MPI_Sendrecv", RKC_KIND_DEVICE, RKC_KIND_HOST);
    is_int(rkc_local_value(&beside, row ? row->path : 0, RKC_METRIC_BYTES_SENT), 56,
           "and all of it");
}

static void test_requests(void)
{
    MPI_Request requests[2];
    rkc_begin("posted");
    MPI_Irecv(device, 8, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(pinned, 6, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    rkc_end("posted");
    MPI_Send_init(device, 3, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(host, 3, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[1]);
    rkc_begin("started");
    fakecuda_reset_calls();
    for (int i = 0; i < 5; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    is_int(fakecuda_calls(ASK), 0, "starting asks no more than was asked when it was planned");
    rkc_end("started");
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    is_int(beside_collect(), 0, "requests");
    check("posted", "MPI_Irecv", RKC_KIND_NONE, RKC_KIND_DEVICE, 0, 48, "MPI_Irecv");
    check("posted", "MPI_Isend", RKC_KIND_PINNED, RKC_KIND_NONE, 48, 0, "MPI_Isend");
    const struct rkc_transfer *row =
        beside_transfer("posted", "MPI_Irecv", RKC_KIND_NONE, RKC_KIND_DEVICE);
    ok(row && row->in_flight_ns > 0, "its time in flight is with the call that posted it");
    check("started", "MPI_Startall", RKC_KIND_DEVICE, RKC_KIND_NONE, 120, 0, "five starts");
}

/* Of datatypes with gaps, and with addresses of their own. */
static void test_datatypes(void)
{
    MPI_Datatype gaps, absolute;
    MPI_Aint at;
    int one = 4;
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Get_address(device, &at);
    MPI_Type_create_hindexed(1, &one, &at, MPI_DOUBLE, &absolute);
    MPI_Type_commit(&absolute);
    rkc_begin("types");
    MPI_Sendrecv(device, 1, gaps, other, 0, pinned, 4, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(MPI_BOTTOM, 1, absolute, other, 0, host, 4, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    rkc_end("types");
    MPI_Type_free(&gaps);
    MPI_Type_free(&absolute);
    is_int(beside_collect(), 0, "derived datatypes");
    const struct rkc_transfer *row =
        beside_transfer("types", "MPI_Sendrecv", RKC_KIND_DEVICE, RKC_KIND_PINNED);
    is_int(row ? row->noncontiguous : -1, 1, "gaps on a device are counted");
    check("types", "MPI_Sendrecv", RKC_KIND_DEVICE, RKC_KIND_HOST, 32, 32,
          "an address in the datatype, from MPI_BOTTOM");
}

static void test_collectives(void)
{
    for (int i = 0; i < 8; i++)
        device[i] = host[i] = 1;
    rkc_begin("together");
    fakecuda_reset_calls();
    MPI_Allreduce(MPI_IN_PLACE, device, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    is_int(fakecuda_calls(ASK), 1, "nobody asks about MPI_IN_PLACE");
    MPI_Bcast(managed, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(device, 1, MPI_DOUBLE, host, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    rkc_end("together");
    is_int(beside_collect(), 0, "collectives");
    check("together", "MPI_Allreduce", RKC_KIND_DEVICE, RKC_KIND_DEVICE, 32, 32, "in place");
    if (me == 0) {
        check("together", "MPI_Bcast", RKC_KIND_MANAGED, RKC_KIND_NONE, 16, 0, "the root sends");
        check("together", "MPI_Gather", RKC_KIND_DEVICE, RKC_KIND_HOST, 8, 16, "the root gathers");
    } else {
        check("together", "MPI_Bcast", RKC_KIND_NONE, RKC_KIND_MANAGED, 0, 16, "others receive");
        check("together", "MPI_Gather", RKC_KIND_DEVICE, RKC_KIND_NONE, 8, 0, "others send");
    }
    is_int((int64_t)device[0], 2, "the data are right");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    other = 1 - me;
    if (me != 0)
        tap_silence();
    test_before();
    set_up_memory();
    usleep(5000);
    test_exchanges();
    test_sums();
    test_requests();
    test_datatypes();
    test_collectives();
    rkc_local_free(&beside);
    counters_end();
    return done_testing();
}
