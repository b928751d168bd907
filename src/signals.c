/* signals.c - a handler of ours acts once, then the disposition that was there before is back and
 * the signal comes again as it came: the program ends as it would without us.
 *
 * What one gets wrong here: a handler runs in any thread, in a forked child as well, and a program
 * may have kept ours as the one before its own, to call it when it pleases.
 */
#include "autoconf.h"

#include "signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "node_page.h"
#include "runtime.h"
#include "save.h"

/* The first of a node's ranks that ends may take the others along (Open MPI, Hydra). */
static const int64_t HOLD_NS = 600000000;

enum kind { ENDS, CRASHES, SNAPSHOT };

static struct one {
    int number;
    enum kind kind;
    const char *name;
    _Atomic int is_taken;
    struct sigaction before; /* MPI's beginning */
    struct sigaction after;  /* that, where it is MPI's own; else the default */
    struct sigaction old;    /* what ours stands in place of */
} ones[] = {
    {.number = SIGTERM, .kind = ENDS, .name = "SIGTERM"},
    {.number = SIGINT, .kind = ENDS, .name = "SIGINT"},
    {.number = SIGXCPU, .kind = ENDS, .name = "SIGXCPU"},
    {.number = SIGQUIT, .kind = ENDS, .name = "SIGQUIT"},
    {.number = SIGSEGV, .kind = CRASHES, .name = "SIGSEGV"},
    {.number = SIGBUS, .kind = CRASHES, .name = "SIGBUS"},
    {.number = SIGFPE, .kind = CRASHES, .name = "SIGFPE"},
    {.number = SIGILL, .kind = CRASHES, .name = "SIGILL"},
    {.number = SIGABRT, .kind = CRASHES, .name = "SIGABRT"},
    {.number = 0, .kind = SNAPSHOT}, /* as the settings have it */
};

enum { ONES = sizeof ones / sizeof *ones, SNAPSHOT_ONE = ONES - 1 };

static int is_looked_at; /* `before` is filled */
static int is_watching;  /* for forks */
static pid_t owner;      /* the process that took them */
static _Atomic int is_on, is_told;

/* ---- whose a disposition is ---- */

static int is_function(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static int is_same(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_handler == b->sa_handler &&
           (a->sa_flags & SA_SIGINFO) == (b->sa_flags & SA_SIGINFO);
}

/* UCX, under MPICH and Open MPI, has its handlers from when it is loaded. */
static int is_of_ucx(const struct sigaction *action)
{
    Dl_info info;
    void *address;
    memcpy(&address, &action->sa_handler, sizeof address);
    if (dladdr(address, &info) == 0 || !info.dli_fname)
        return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    return strncmp(slash ? slash + 1 : info.dli_fname, "libucs.so", 9) == 0;
}

/* Remember what MPI has put there for itself. */
static void find_mpis(struct one *one)
{
    struct sigaction now;
    if (sigaction(one->number, NULL, &now) == 0 && is_function(&now) &&
        ((is_looked_at && !is_same(&now, &one->before)) || is_of_ucx(&now)))
        one->after = now;
}

/* All runtimes of gcc's and clang's sanitizers have it. */
extern void __sanitizer_set_death_callback(void (*)(void)) __attribute__((weak));

/* A program built with one is to crash into it, whoever's handler stands there. */
static int has_sanitizer(void)
{
    return __sanitizer_set_death_callback != NULL;
}

extern void __tsan_init(void) __attribute__((weak));

/* The thread sanitizer hands a signal to its handler later, or loses it. */
static int are_signals_late(void)
{
    return __tsan_init != NULL;
}

/* Whether a disposition is the default or MPI's own. */
static int is_free(const struct one *one, const struct sigaction *now)
{
    return is_function(now) ? is_same(now, &one->after) : now->sa_handler == SIG_DFL;
}

/* ---- when one comes ---- */

static void on_signal(int number, siginfo_t *info, void *context);

static int is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

/* The instruction that caused it comes again, and the signal with it. */
static int is_fault(int number, const siginfo_t *info)
{
    if (number == SIGBUS && info->si_code == BUS_MCEERR_AO)
        return 0;
    return info->si_code > 0 &&
           (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL);
}

static void save(struct one *one)
{
    if (one->kind == SNAPSHOT) {
        rkc_save_now(RKC_STATE_RUNNING, 0, 0, one->name);
        return;
    }
    int is_last = one->kind == CRASHES || !is_function(&one->old); /* nothing comes after it */
    int status = rkc_save_now(RKC_STATE_SIGNAL, one->number, is_last, one->name);
    struct rkc_image_header *header = rkc_image_header(rkc_private_image());
    if (status != 0) { /* then this is all there is */
        atomic_store(&header->signal, one->number);
        if (atomic_load(&header->state) == RKC_STATE_RUNNING)
            atomic_store(&header->state, (uint32_t)RKC_STATE_SIGNAL);
    } else if (is_last) {
        rkc_spool_remove(&rkc_private_image()->spool);
    }
    if (!atomic_exchange(&is_told, 1))
        rkc_node_page_saved();
    if (one->kind == ENDS)
        rkc_node_page_wait(HOLD_NS);
}

/* Let what was there before ours have the signal as it came: it waits until ours is through. */
static void hand_back(struct one *one, siginfo_t *info)
{
    sigaction(one->number, &one->old, NULL);
    if (!is_fault(one->number, info))
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), one->number, info);
}

static void call_old(const struct one *one, siginfo_t *info, void *context)
{
    if (one->old.sa_flags & SA_SIGINFO)
        one->old.sa_sigaction(one->number, info, context);
    else
        one->old.sa_handler(one->number);
}

/* After a snapshot; or called by the program's own handler, as the one before it: it did not find
 * the default there, and now it is for that handler to decide what the signal does. */
static void act_as_former(struct one *one, siginfo_t *info, void *context)
{
    if (is_function(&one->old))
        call_old(one, info, context);
    else if (one->kind == CRASHES)
        sigaction(one->number, &one->old, NULL);
}

static struct one *one_of(int number)
{
    for (int i = 0; i < ONES; i++)
        if (ones[i].number == number)
            return &ones[i];
    return NULL;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int error = errno, cancel;
    struct one *one = one_of(number);
    struct sigaction now;
    int is_in_place = sigaction(number, NULL, &now) == 0 && is_ours(&now);
    int is_at_work = getpid() == owner && atomic_load(&is_on);
    if (is_at_work && (is_in_place || one->kind != ENDS)) {
        /* A thread that is to be cancelled must not end in here. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
        save(one);
        pthread_setcancelstate(cancel, NULL);
    }
    if (is_in_place && !(is_at_work && one->kind == SNAPSHOT))
        hand_back(one, info);
    else
        act_as_former(one, info, context);
    errno = error;
}

/* ---- taking and giving ---- */

static void take(struct one *one)
{
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sigaction(one->number, NULL, &one->old) != 0 || !is_free(one, &one->old))
        return;
    ours.sa_flags |= is_function(&one->old) ? one->old.sa_flags & SA_RESTART : SA_RESTART;
    sigfillset(&ours.sa_mask);
    one->is_taken = sigaction(one->number, &ours, NULL) == 0;
}

static void find_snapshot(void)
{
    struct one *one = &ones[SNAPSHOT_ONE];
    one->number = rkc_private_config()->snapshot_signal;
    one->name = one->number == SIGUSR1 ? "SIGUSR1" : "SIGUSR2";
}

static void take_snapshot(void)
{
    struct one *one = &ones[SNAPSHOT_ONE];
    if (one->number == 0)
        return;
    take(one);
    if (!one->is_taken && atomic_load(&rkc_image_header(rkc_private_image())->rank) <= 0)
        rkc_log(RKC_LOG_WARNING,
                "no snapshots on %s: the program has a use for it (RANKCLOCK_SIGNAL)", one->name);
}

void rkc_private_signals_before(void)
{
    find_snapshot();
    for (int i = 0; i < ONES && !is_looked_at; i++)
        sigaction(ones[i].number, NULL, &ones[i].before);
    is_looked_at = 1;
}

/* Without a file behind it only we can save the image of a program that crashes. */
static void take_crashes(void)
{
    for (int i = 0; i < ONES && !has_sanitizer(); i++)
        if (ones[i].kind == CRASHES && !ones[i].is_taken && atomic_load(&is_on))
            take(&ones[i]);
}

static void give_back(void)
{
    struct sigaction now;
    for (int i = 0; i < ONES; i++)
        if (ones[i].is_taken && sigaction(ones[i].number, NULL, &now) == 0 && is_ours(&now))
            sigaction(ones[i].number, &ones[i].old, NULL);
}

/* A forked child has its signals as without us: the thread sanitizer would keep from it, for good,
 * what it has a handler for. */
static void give_back_to_child(void)
{
    if (atomic_load(&is_on))
        give_back();
}

static void watch_forks(void)
{
    if (!is_watching && pthread_atfork(NULL, NULL, give_back_to_child) == 0)
        is_watching = 1;
}

void rkc_private_signals_take(int n_local)
{
    struct rkc_image *image = rkc_private_image();
    /* The kernel spares the first process of a name space what ends others. */
    if (!image->base || atomic_exchange(&is_on, 1) || getpid() == 1)
        return;
    owner = getpid();
    find_snapshot();
    watch_forks();
    rkc_node_page_join(image, n_local);
    for (int i = 0; i < ONES; i++) {
        find_mpis(&ones[i]);
        if (ones[i].kind == ENDS && !are_signals_late())
            take(&ones[i]);
    }
    take_snapshot();
    rkc_thread_lock(); /* under which the image leaves its file */
    image->left_file = take_crashes;
    if (!image->spool.grows)
        take_crashes();
    rkc_thread_unlock();
}

void rkc_signals_give_back(void)
{
    if (getpid() != owner || !atomic_exchange(&is_on, 0))
        return;
    give_back();
    rkc_node_page_leave();
}
