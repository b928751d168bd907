/* call.c - entering and leaving an MPI call when it is not the plain case of call.h.
 *
 * What one gets wrong here: an exception or a longjmp out of an error handler leaves a wrapper
 * without passing rkc_mpi_leave. The stack grows downwards, so an entry from the address of
 * the frame on record, or from above it, proves that frame gone.
 */
#include "autoconf.h"

#include "call.h"
#include "lifecycle.h"
#include "next.h"

int rkc_mpi_concurrent RKC_MPI_LOOKED_AT;

void rkc_mpi_set_threads(int level)
{
    if (level == MPI_THREAD_MULTIPLE)
        rkc_mpi_concurrent = 1;
}

static struct rkc_region *region_of(struct rkc_mpi_function *function)
{
    struct rkc_region *region = atomic_load_explicit(&function->region, memory_order_acquire);
    if (!region) {
        region = rkc_private_mpi_region(rkc_mpi_name(function));
        atomic_store_explicit(&function->unit, region->unit ? region->unit : RKC_NEVER_HOT,
                              memory_order_relaxed);
        atomic_store_explicit(&function->region, region, memory_order_release);
    }
    return region;
}

/* The function whose region this is, or NULL. */
static struct rkc_mpi_function *function_of(uint32_t unit)
{
    for (int i = 0; i < RKC_MPI_FUNCTIONS; i++)
        if (atomic_load_explicit(&rkc_mpi_functions[i].unit, memory_order_relaxed) == unit)
            return &rkc_mpi_functions[i];
    return NULL;
}

static int is_mpi(const struct rkc_thread *thread, const struct rkc_node *node)
{
    const struct rkc_region_block *block = rkc_image_at(thread->base, node->region);
    return block->kind == RKC_REGION_MPI;
}

/* End the call that was left without its wrapper's knowledge, if it is still open: the
 * outermost MPI node above the open one. */
static void abandon(struct rkc_thread *thread)
{
    const struct rkc_node *found = NULL;
    for (const struct rkc_node *node = thread->hot->open; node->up; node = node->up)
        if (is_mpi(thread, node))
            found = node;
    thread->hot->mpi_frame = NULL;
    struct rkc_mpi_function *function = found ? function_of(found->region) : NULL;
    if (function)
        rkc_private_end(region_of(function), rkc_clock_ticks());
}

void rkc_mpi_enter_slow(struct rkc_mpi_call *call, struct rkc_mpi_function *function,
                        const char *frame)
{
    call->thread = NULL;
    call->node = NULL;
    call->twin = rkc_mpi_is_twin();
    rkc_mpi_next_find();
    struct rkc_thread *thread = rkc_thread_own();
    struct rkc_hot *hot = &rkc_private_hot;
    if (call->twin)
        hot->mpi_frame -= RKC_MPI_TWIN;
    if (thread && hot->mpi_frame) {
        if (frame < hot->mpi_frame)
            return;
        call->twin = 0;
        abandon(thread);
    }
    if ((rkc_gate() & RKC_GATE_PAUSED) || !rkc_private_start() || !rkc_mpi_notice())
        return;
    struct rkc_region *region = region_of(function);
    if (!region->unit)
        return;
    struct rkc_node *begun = rkc_private_begin(region);
    thread = rkc_thread_own();
    if (!thread)
        return;
    call->thread = thread;
    call->node = begun;
    /* Calls nested too deep share the node "(deep)", and its traffic. */
    if (!begun && thread->hot->open->depth > RKC_DEPTH_MAX)
        call->node = thread->hot->open;
    call->begin = begun ? begun->begin : rkc_clock_ticks();
    thread->hot->mpi_frame = frame;
}

void rkc_mpi_leave_slow(struct rkc_mpi_call *call, struct rkc_mpi_function *function)
{
    rkc_private_end(region_of(function), call->end);
    if (!rkc_gate())
        call->thread = NULL;
}

void rkc_mpi_enter_far(struct rkc_mpi_call *call, struct rkc_mpi_function *function,
                       const char *frame)
{
    rkc_mpi_enter_from(call, function, frame);
}

void rkc_mpi_leave_far(struct rkc_mpi_call *call, struct rkc_mpi_function *function)
{
    rkc_mpi_leave(call, function);
}
