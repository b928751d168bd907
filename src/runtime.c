/* runtime.c - how a run begins and ends; the place to begin reading.
 *
 * Nothing happens when the library is loaded, but for what apart.c does: shells and launchers that
 * inherit a preload stay as they were. The first region or the first MPI call makes the image and
 * starts recording (rkc_private_start). From then on regions go hot.h -> calltree.c, MPI calls
 * pmpi/call.h -> the same. The run ends in MPI_Finalize (pmpi/lifecycle.c, gather.c, reduce.c) or,
 * without MPI, when the process exits (finish.c): collect.c, profile.c, the writer.
 */
#include "autoconf.h"

#include "runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "finish.h"
#include "gpu/driver.h"
#include "gpu/timed.h"
#include "gpu_region.h"
#include "hot.h"
#include "identity.h"
#include "log.h"
#include "region.h"
#include "save.h"
#include "signals.h"

enum { PROBLEMS_MAX = 8 };
enum state { NOT_STARTED, ON, OFF };

/* How long the end of a run waits for devices at most: what was queued before it is over soon. */
static const int64_t DRAIN_NS = 5000000000;
enum { NAME_ROOM = RKC_PATTERN_MAX + PATH_MAX };

static struct {
    _Atomic int state; /* enum state */
    _Atomic int done;
    _Atomic int model; /* enum rkc_model */
    size_t n_problems;
    struct rkc_image image;
    /* They stand one behind the other, for each page that they touch costs memory. */
    const char *folder, *output, *writer; /* folder: in which the program began */
    char names[PATH_MAX + 2 * NAME_ROOM];
    struct rkc_config config;
    struct rkc_config_problem problem[PROBLEMS_MAX];
} run;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

/* Its address tells whether another copy of the library is in the process. */
RKC_API char rkc_private_marker;

/* ---- starting ---- */

static int is_only_copy(void)
{
    const void *first = dlsym(RTLD_DEFAULT, "rkc_private_marker");
    if (!first || first == &rkc_private_marker)
        return 1;
    rkc_log(RKC_LOG_WARNING, "another copy of the library is in this process: this one is off");
    return 0;
}

/* A relative name means the folder in which the program began. */
static void name_output(void)
{
    struct rkc_pattern_values values;
    struct rkc_identity *identity = rkc_identity();
    values = (struct rkc_pattern_values){
        .job = identity->job, .restart = identity->restart, .host = identity->host,
        .program = identity->program, .pid = getpid()};
    char name[RKC_PATTERN_MAX];
    if (rkc_config_expand(run.config.output, &values, name, sizeof name) != 0)
        strcpy(name, "rankclock.h5");
    if (!getcwd(run.names, PATH_MAX))
        strcpy(run.names, ".");
    size_t length = strlen(run.names), begin = length + 1;
    run.folder = run.names;
    run.output = run.names + begin;
    if (name[0] != '/' && strcmp(run.folder, ".") != 0) {
        memcpy(run.names + begin, run.names, length);
        run.names[begin + length] = '/';
        begin += length + 1;
    }
    strcpy(run.names + begin, name);
}

static int is_program(const char *path)
{
    struct stat stat_;
    return stat(path, &stat_) == 0 && S_ISREG(stat_.st_mode) && access(path, X_OK) == 0;
}

/* Beside the library as installed; or the build tree's. */
static void name_writer(char *writer)
{
    static const char *const places[] = {"../bin/rankclock", "../../bin/rankclock",
                                         "../tools/rankclock"};
    Dl_info info;
    char library[PATH_MAX];
    if (run.config.writer[0]) {
        snprintf(writer, NAME_ROOM, "%s", run.config.writer);
        return;
    }
    if (dladdr(&rkc_private_marker, &info) && realpath(info.dli_fname, library)) {
        *strrchr(library, '/') = 0;
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            snprintf(writer, NAME_ROOM, "%s/%s", library, places[i]);
            if (is_program(writer))
                return;
        }
    }
    snprintf(writer, NAME_ROOM, "%s", RKC_BINDIR "/rankclock");
}

static void find_writer(void)
{
    char *writer = run.names + (run.output - run.names) + strlen(run.output) + 1;
    name_writer(writer);
    run.writer = writer;
}

static void identify(struct rkc_image_header *header)
{
    struct rkc_identity *identity = rkc_identity();
    rkc_identity_read(run.config.run_id, run.config.command);
    snprintf(header->run_id, sizeof header->run_id, "%s", identity->run_id);
    snprintf(header->world_id, sizeof header->world_id, "%s", identity->world_id);
    snprintf(header->boot_id, sizeof header->boot_id, "%s", identity->boot_id);
    snprintf(header->host, sizeof header->host, "%s", identity->host);
    snprintf(header->program, sizeof header->program, "%s", identity->program);
    header->pid_space = rkc_identity_pid_space();
}

static void start_clock(struct rkc_image_header *header, uint64_t rate)
{
    header->clock_source = rkc_private_clock_source;
    header->clock.quick_rate = rate;
    rkc_clock_read(&header->clock.pair[0]);
    atomic_store_explicit(&header->clock.n, 1, memory_order_release);
}

/* A tree of one region that is its own parent and child, so that each begin finds it and
 * each end comes back to it. */
static void make_scratch_tree(struct rkc_thread *thread, struct rkc_hot *hot, char *memory)
{
    struct rkc_node *node = (void *)(memory + RKC_UNIT);
    thread->base = memory;
    thread->ring = (void *)(memory + RKC_UNIT + sizeof *node);
    node->up = node;
    node->self = node->last = rkc_pair(1, 1);
    *hot = (struct rkc_hot){.open = node, .next = node, .next_region = 1, .ring = thread->ring,
                            .base = memory, .thread = thread};
    thread->hot = hot;
}

/* Ticks for as many begins and ends as the ring holds, and the fold of what it held before. */
static uint64_t time_pairs(struct rkc_hot *hot)
{
    uint64_t from = rkc_clock_ticks();
    for (int i = 0; i < RKC_RING_RECORDS && rkc_gate(); i++) {
        rkc_hot_begin(hot, 1);
        rkc_hot_end(hot, hot->open, 1, rkc_clock_ticks());
    }
    return rkc_clock_ticks() - from;
}

/* What a begin and an end cost: the lesser of two tries, for the scheduler may come between,
 * after one that fills the ring. */
static void measure_cost(struct rkc_image_header *header, uint64_t rate)
{
    size_t bytes = RKC_UNIT + sizeof(struct rkc_node) + sizeof(struct rkc_ring);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rkc_thread thread = {.hot = NULL};
    struct rkc_hot hot;
    uint64_t least = UINT64_MAX;
    if (memory == MAP_FAILED)
        return;
    make_scratch_tree(&thread, &hot, memory);
    time_pairs(&hot);
    for (int i = 0; i < 2; i++) {
        uint64_t ticks = time_pairs(&hot);
        least = ticks < least ? ticks : least;
    }
    munmap(memory, bytes);
    uint32_t ps = (uint32_t)(1000 * rkc_clock_ns(least, rate) / RKC_RING_RECORDS);
    atomic_store(&header->pair_cost_ps, ps);
    atomic_store(&header->call_cost_ps, ps + ps / 2); /* measured: 0.9 to 2 times a pair */
}

/* A file, not a call: the driver itself is left alone. */
static void put_gpu_driver(void)
{
    char text[64];
    int fd = open("/sys/module/nvidia/version", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    text[bytes > 0 ? bytes : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    rkc_private_fact("gpu_driver", text);
}

static void put_facts(void)
{
    const struct rkc_identity *identity = rkc_identity();
    put_gpu_driver();
    if (run.config.gpu_sync || run.config.mpi_sync)
        rkc_private_fact("perturbing", !run.config.mpi_sync   ? "RANKCLOCK_GPU_SYNC"
                                       : !run.config.gpu_sync ? "RANKCLOCK_MPI_SYNC"
                                                              : "RANKCLOCK_GPU_SYNC, RANKCLOCK_MPI_SYNC");
    rkc_private_fact("program", identity->program);
    rkc_private_fact("command", identity->command);
    rkc_private_fact("job_id", identity->job);
    rkc_private_fact("job_raw", identity->job_raw);
    rkc_private_fact("job_step", identity->step);
    rkc_private_fact("restart", identity->restart);
    rkc_private_fact("run_id", identity->run_id);
    rkc_private_fact("world_id", identity->world_id);
    rkc_private_fact("clock_source", rkc_clock_source_name(rkc_private_clock_source));
    rkc_private_fact("overhead_method",
                     "visits x the cost of a begin/end pair measured at start, MPI calls x 1.5 "
                     "times that, plus the time rankclock spent in MPI_Init and MPI_Finalize");
}

static int start_recording(void)
{
    struct rkc_tree_names names;
    rkc_clock_init(run.config.tsc);
    uint64_t rate = rkc_clock_quick_rate();
    if (rkc_image_create(&run.image, run.config.spool, 0) != 0)
        return RKC_ENOMEM;
    rkc_spool_remove_former(&run.image.spool);
    struct rkc_image_header *header = rkc_image_header(&run.image);
    start_clock(header, rate);
    identify(header);
    name_output();
    rkc_save_prepare();
    find_writer();
    if (rkc_region_init(&run.image, &names) != 0)
        return RKC_ENOMEM;
    rkc_tree_init(&run.image, &names, rate);
    rkc_timed_init((uint32_t)run.config.gpu_events, run.config.gpu_sync);
    if (rkc_thread_init(&run.image) != 0)
        return RKC_ENOMEM;
    measure_cost(header, rate);
    put_facts();
    return 0;
}

static int start(void)
{
    run.n_problems = rkc_config_read(&run.config, run.problem, PROBLEMS_MAX);
    rkc_log_begin();
    rkc_log_set_level(run.config.verbose);
    if (!run.config.on || !is_only_copy())
        return OFF;
    if (start_recording() == 0)
        return ON;
    rkc_log(RKC_LOG_WARNING, "cannot get memory (%s): recording is off", strerror(errno));
    rkc_image_destroy(&run.image);
    return OFF;
}

int rkc_private_start(void)
{
    int state = atomic_load_explicit(&run.state, memory_order_acquire);
    if (RKC_UNLIKELY(state == NOT_STARTED)) {
        int saved = errno;
        uint64_t mask;
        rkc_thread_signals_block(&mask); /* a handler with a region would wait for itself */
        pthread_mutex_lock(&start_lock);
        state = atomic_load(&run.state);
        if (state == NOT_STARTED) {
            state = start();
            atomic_store_explicit(&run.state, state, memory_order_release);
        }
        pthread_mutex_unlock(&start_lock);
        rkc_thread_signals_restore(&mask);
        errno = saved;
    }
    return state == ON && rkc_thread_alive();
}

int rkc_private_recording(void)
{
    return atomic_load_explicit(&run.state, memory_order_acquire) == ON && rkc_thread_alive();
}

/* ---- while it runs ---- */

const struct rkc_config *rkc_private_config(void)
{
    return &run.config;
}

struct rkc_image *rkc_private_image(void)
{
    return &run.image;
}

const char *rkc_private_output(void)
{
    return run.output;
}

const char *rkc_private_folder(void)
{
    return run.folder;
}

const char *rkc_private_writer(void)
{
    return run.writer;
}

double rkc_private_ns_per_tick(void)
{
    return (double)rkc_tree_rate() * 0x1p-56;
}

void rkc_private_calibrate(int now)
{
    if (rkc_private_recording())
        rkc_tree_calibrate(now);
}

void rkc_private_fact(const char *key, const char *value)
{
    if (!value || !*value || !run.image.base)
        return;
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    rkc_thread_lock();
    struct rkc_fact_block *fact = rkc_image_block(&run.image, RKC_BLOCK_FACT,
                                                  sizeof *fact + key_bytes + value_bytes);
    if (fact) {
        memcpy(fact->text, key, key_bytes);
        memcpy(fact->text + key_bytes, value, value_bytes);
        rkc_image_publish(&fact->block);
    }
    rkc_thread_unlock();
}

/* Once, by one rank for all. */
static void say_problems(void)
{
    for (size_t i = 0; i < run.n_problems; i++)
        rkc_log(RKC_LOG_WARNING, "%s", run.problem[i].text);
    run.n_problems = 0;
}

void rkc_private_world(int rank, int size, int local_rank)
{
    struct rkc_image_header *header = rkc_image_header(&run.image);
    atomic_store(&header->rank, rank);
    atomic_store(&header->size, size);
    atomic_store(&header->local_rank, local_rank);
    atomic_store(&header->cpu, sched_getcpu());
    rkc_thread_lock(); /* whoever makes it grow finds it by its name */
    rkc_spool_rename(&run.image.spool, header->run_id, header->world_id, rank);
    rkc_thread_unlock();
    if (rkc_driver_find() != 0 && rank == 0)
        rkc_driver_say();
    if (rank == 0)
        say_problems();
}

/* ---- ending ---- */

/* GPU regions without a driver: the file says why, and one rank for all. */
static void tell_of_gpu(const struct rkc_image_header *header)
{
    const char *why = rkc_gpu_missing();
    char text[256];
    if (!why)
        return;
    snprintf(text, sizeof text, "none: %s", why);
    rkc_private_fact("gpu", text);
    if (atomic_load(&header->rank) <= 0)
        rkc_log(RKC_LOG_WARNING, "GPU regions have host times alone: %s", why);
}

void rkc_private_stop(enum rkc_state state)
{
    struct rkc_image_header *header = rkc_image_header(&run.image);
    if (!rkc_private_recording())
        return;
    if (rkc_thread_own())
        rkc_private_fold(rkc_thread_own());
    tell_of_gpu(header);
    rkc_clock_read(&header->clock.end);
    atomic_store_explicit(&header->clock.ended, 1, memory_order_release);
    atomic_store(&header->state, state);
    rkc_thread_stop();
    if (state != RKC_STATE_ABORTED) /* else there is no time left */
        rkc_timed_drain(DRAIN_NS);
}

void rkc_private_done(void)
{
    if (atomic_exchange(&run.done, 1))
        return;
    rkc_spool_remove(&run.image.spool);
    rkc_signals_give_back();
}

void rkc_private_model(enum rkc_model model)
{
    atomic_store(&run.model, model);
}

static void leave_image(enum rkc_state state, const char *why)
{
    rkc_private_stop(state);
    if (rkc_private_save(why) == 0)
        rkc_private_done();
}

static void leave_file(void)
{
    say_problems();
    rkc_private_stop(RKC_STATE_FINALIZED);
    if (rkc_finish_alone() == 0)
        rkc_private_done();
}

/* The process ends. With MPI the file was written in MPI_Finalize, or the program has left
 * without it: nothing here may wait for other ranks. */
__attribute__((destructor)) static void leave(void)
{
    if (!rkc_private_recording() || atomic_load(&run.done))
        return;
    switch (atomic_load(&run.model)) {
    case RKC_MODEL_WORLD:
        leave_image(RKC_STATE_RUNNING, "the program ended without MPI_Finalize");
        break;
    case RKC_MODEL_SESSIONS_OPEN:
        leave_image(RKC_STATE_RUNNING, "the program ended without MPI_Session_finalize");
        break;
    case RKC_MODEL_SESSIONS_CLOSED:
        if (atomic_load(&rkc_image_header(&run.image)->size) > 1) {
            leave_image(RKC_STATE_FINALIZED, "ranks with MPI sessions end one by one");
            break;
        }
        leave_file();
        break;
    default:
        leave_file();
        break;
    }
}
