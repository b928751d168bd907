/* lifecycle.c - MPI's beginning and end, and what else changes the course of a measurement.
 *
 * Nothing of ours communicates before all ranks are known to be in MPI_Finalize. The barrier
 * there is polled, as everything after it is, so that a rank that never comes costs the
 * others a wait, but not the end of the program nor what they have measured. */
#include "autoconf.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

#include <rankclock/region.h>
#include <rankclock/status.h>

#include "call.h"
#include "carrier.h"
#include "clock.h"
#include "facts.h"
#include "finish.h"
#include "group.h"
#include "lifecycle.h"
#include "next.h"
#include "other.h"
#include "runtime.h"
#include "signals.h"
#include "wait.h"

static struct rkc_image_header *header_of_run(void)
{
    return rkc_image_header(rkc_private_image());
}

int rkc_mpi_is_ours(void)
{
    char library[256], why[512];
    if (rkc_mpi_other_file())
        snprintf(library, sizeof library, "%s", rkc_mpi_other_file());
    else if (rkc_facts_check_library(library, sizeof library))
        return 1;
    snprintf(why, sizeof why, "built for %s, but the program has %s", RKC_MPI_LIBRARY, library);
    rkc_private_refuse(why);
    return 0;
}

/* ---- the end of the run ---- */

/* Static, for after a deadline pending operations refer to it for good. */
static struct rkc_mpi_comms comms;
static struct rkc_link others;

/* The call path MPI_Finalize: from here until all ranks have come. */
static int meet(void)
{
    struct rkc_mpi_call call;
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Finalize));
    int status = rkc_private_finish_meet(&others);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Finalize));
    return status;
}

/* Stop measuring and write the file, with all ranks or not at all. */
static void end_run(void)
{
    const struct rkc_image_header *header = header_of_run();
    int rank = atomic_load(&header->rank), size = atomic_load(&header->size);
    comms = (struct rkc_mpi_comms){
        .shared = MPI_COMM_WORLD, .own = MPI_COMM_NULL, .rank = rank, .size = size};
    others = (struct rkc_link){
        .carrier = &rkc_mpi_carrier, .context = &comms, .rank = rank, .size = size};
    int status = meet();
    rkc_private_stop(RKC_STATE_FINALIZED);
    status = rkc_private_finish(&others, status);
    if (status == RKC_ETIMEOUT || status == RKC_EMPI)
        rkc_mpi_leave_pending();
    else if (comms.own != MPI_COMM_NULL)
        PMPI_Comm_free(&comms.own);
}

/* Whether MPI is up; a call that is wrong, before or after, is for MPI to judge. */
static int mpi_is_up(void)
{
    int initialized = 0, finalized = 0;
    return PMPI_Initialized(&initialized) == MPI_SUCCESS &&
           PMPI_Finalized(&finalized) == MPI_SUCCESS && initialized && !finalized;
}

/* ---- the end that nobody tells ---- */

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF before all else (MPI-3.1, section 8.7.1).
 * This one comes too late where our MPI_Finalize was called, and in time where a tool before
 * us, or another language, has called PMPI_Finalize. */
static int before_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    if (rkc_private_recording() && mpi_is_up())
        end_run();
    return MPI_SUCCESS;
}

static void wait_for_finalize(void)
{
    int key;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, before_finalize, &key, NULL) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, &others);
    PMPI_Comm_free_keyval(&key);
}

/* ---- beginning ---- */

static _Atomic int known; /* who we are */

/* MPI is there: tell who we are. */
static void know_world(uint64_t init_ticks)
{
    if (atomic_exchange(&known, 1))
        return;
    int rank, size, level = MPI_THREAD_SINGLE;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Query_thread(&level);
    rkc_mpi_set_threads(level);
    rkc_mpi_group_begin();
    rkc_mpi_sync = rkc_private_config()->mpi_sync;
    atomic_store(&header_of_run()->thread_level, level);
    atomic_fetch_add(&header_of_run()->init_ticks, init_ticks);
    rkc_private_model(RKC_MODEL_WORLD);
    rkc_private_world(rank, size, rkc_facts_local_rank());
    rkc_private_calibrate(1);
    rkc_facts_after_init(level);
    rkc_private_signals_take(rkc_facts_local_size());
    wait_for_finalize();
}

int rkc_mpi_notice(void)
{
    if (rkc_mpi_other_file())
        return rkc_mpi_is_ours();
    if (atomic_load_explicit(&known, memory_order_relaxed) || !mpi_is_up())
        return 1;
    if (!rkc_mpi_is_ours())
        return 0;
    rkc_facts_before_init(); /* MPI may have changed what they are taken from, but little of it */
    know_world(0);
    return 1;
}

int rkc_mpi_before_init(void)
{
    rkc_mpi_next_find();
    if (rkc_mpi_is_twin() || !rkc_private_start() || !rkc_mpi_is_ours())
        return 0;
    rkc_facts_before_init();
    rkc_private_signals_before();
    return 1;
}

void rkc_mpi_after_init(uint64_t ticks)
{
    know_world(ticks);
}

RKC_API int MPI_Init(int *argc, char ***argv)
{
    if (!rkc_mpi_before_init())
        return RKC_MPI_NEXT(Init)(argc, argv);
    struct rkc_mpi_call call;
    uint64_t begin = rkc_clock_ticks();
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Init));
    int rc = RKC_MPI_NEXT(Init)(argc, argv);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Init));
    if (rc == MPI_SUCCESS)
        rkc_mpi_after_init(rkc_clock_ticks() - begin);
    return rc;
}

RKC_API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    if (!rkc_mpi_before_init())
        return RKC_MPI_NEXT(Init_thread)(argc, argv, required, provided);
    struct rkc_mpi_call call;
    uint64_t begin = rkc_clock_ticks();
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Init_thread));
    int rc = RKC_MPI_NEXT(Init_thread)(argc, argv, required, provided);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Init_thread));
    if (rc == MPI_SUCCESS)
        rkc_mpi_after_init(rkc_clock_ticks() - begin);
    return rc;
}

/* ---- ending ---- */

void rkc_mpi_before_finalize(void)
{
    rkc_mpi_next_find();
    if (rkc_private_recording() && mpi_is_up() && rkc_mpi_notice())
        end_run();
}

RKC_API int MPI_Finalize(void)
{
    rkc_mpi_before_finalize();
    return RKC_MPI_NEXT(Finalize)();
}

void rkc_mpi_before_abort(void)
{
    rkc_mpi_next_find();
    if (!rkc_private_recording())
        return;
    struct rkc_mpi_call call;
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Abort));
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Abort));
    rkc_private_stop(RKC_STATE_ABORTED);
    if (rkc_private_save("the program called MPI_Abort") == 0)
        rkc_private_done();
}

RKC_API int MPI_Abort(MPI_Comm comm, int errorcode)
{
    rkc_mpi_before_abort();
    return RKC_MPI_NEXT(Abort)(comm, errorcode);
}

/* ---- control ---- */

void rkc_mpi_control(int level)
{
    if (rkc_private_start() && rkc_private_config()->pcontrol == RKC_PCONTROL_IPM)
        return;
    switch (level) {
    case 0:
        rkc_pause();
        break;
    case 1:
        rkc_resume();
        break;
    case 2:
        if (rkc_private_recording()) {
            rkc_private_calibrate(1);
            rkc_private_save("the program called MPI_Pcontrol(2)");
        }
        break;
    default:
        break;
    }
}

/* The standard lets a library give the levels from 2 on, and further arguments, a meaning;
 * IPM's, (1, "name") and (-1, "name"), is in many programs. Two arguments are read, given or not,
 * for a tool behind us that may know them: they lie in registers, as those of any call. */
RKC_API int MPI_Pcontrol(const int level, ...)
{
    int ipm = rkc_private_start() && rkc_private_config()->pcontrol == RKC_PCONTROL_IPM;
    va_list more;
    va_start(more, level);
    const char *first = va_arg(more, const char *), *second = va_arg(more, const char *);
    va_end(more);
    int twin = rkc_mpi_is_twin(); /* which was called with the level alone */
    const char *name = ipm && !twin && (level == 1 || level == -1) ? first : NULL;
    if (name && level == -1)
        rkc_end(name);
    struct rkc_mpi_call call;
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Pcontrol));
    int rc = RKC_MPI_NEXT(Pcontrol)(level, first, second);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Pcontrol));
    if (name && level == 1)
        rkc_begin(name);
    if (!twin)
        rkc_mpi_control(level);
    return rc;
}
