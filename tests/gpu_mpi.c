/* RANKS 1 */
/* gpu_mpi.c - MPI calls settle what is pending on a device; on the double of CUDA's driver. */
#include "autoconf.h"

#include "gpu_double.h"

#include <mpi.h>
#include <rankclock/rankclock.h>

#include "image.h"
#include "runtime.h"
#include "tap.h"

static uint64_t device_visits(void)
{
    uint64_t visits = 0;
    struct rkc_view view;
    const struct rkc_block *block = NULL;
    int broken = 0;
    rkc_view_own(&view, rkc_private_image());
    while ((block = rkc_view_next(&view, block, &broken)))
        if (block->kind == RKC_BLOCK_TIMED)
            visits += atomic_load(&((const struct rkc_timed *)(const void *)block)->visits);
    return visits;
}

int main(int argc, char **argv)
{
    int flag;
    setenv("RANKCLOCK_OUTPUT", "/dev/null/none.h5", 1);
    setenv("RANKCLOCK_WRITER", "/bin/false", 1);
    MPI_Init(&argc, &argv);
    gpu_set_up(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *region = rkc_region_get("kernel");
    rkc_gpu_begin(region, stream);
    fakecuda_launch(stream, 1000000);
    rkc_gpu_end(region, stream);
    usleep(2000);
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    is_int((int64_t)device_visits(), 0, "while the device is at work nothing is known");
    fakecuda_advance(2000000);
    usleep(2000);
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    is_int((int64_t)device_visits(), 1, "an MPI call settles what has come to its end");
    rkc_private_stop(RKC_STATE_FINALIZED);
    rkc_private_done();
    MPI_Finalize();
    return done_testing();
}
