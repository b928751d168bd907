/* rules.c - each trial is a forked child of a process that never opens the driver: a process that
 * has CUDA cannot be forked. */
#include "rules.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *id, *text;
} rules[] = {
#define RULE(id, text) {#id, text},
#include "rules.def"
};

struct rules_driver cuda;
struct rules_double on_double;
void *rules_library;

/* How often each rule was judged, and how often one was refuted; shared with the children. */
static struct {
    int judged[RULES];
    int refuted;
    int has_device, is_double;
} * score;

/* --- verdicts -------------------------------------------------------------------------------- */

static void say(const char *verdict, const char *id, const char *text, const char *format,
                va_list values)
{
    printf("%s%-12s %-4s %s: ", score->is_double ? "double: " : "", verdict, id, text);
    vprintf(format, values);
    printf("\n");
    fflush(stdout);
}

void judge(enum rule rule, int holds, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(holds ? "confirmed" : "refuted", rules[rule].id, rules[rule].text, format, values);
    va_end(values);
    score->judged[rule]++;
    score->refuted += !holds;
}

void cannot_judge(enum rule rule, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say("not testable", rules[rule].id, rules[rule].text, format, values);
    va_end(values);
    score->judged[rule]++;
}

void measured(const char *what, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say("measured", "", what, format, values);
    va_end(values);
}

const char *result_name(CUresult result)
{
    enum { TEXTS = 8 };
    static char texts[TEXTS][80];
    static int next;
    const char *name = NULL;
    char *text = texts[next++ % TEXTS];
    if (!cuda.cuGetErrorName || cuda.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "?";
    snprintf(text, sizeof texts[0], "%u %s", result, name);
    return text;
}

/* --- the driver ------------------------------------------------------------------------------ */

static void give_up(const char *why)
{
    fprintf(stderr, "rules: %s\n", why);
    exit(77);
}

static void find(const char *name, void *function)
{
    *(void **)function = dlsym(rules_library, name);
}

void open_driver(void)
{
    rules_library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!rules_library)
        give_up(dlerror());
#define ENTRY(base, version, symbol, traits, parameters) find(#symbol, &cuda.symbol);
#include "../fakecuda/entries.def"
    find("fakecuda_launch", &on_double.launch);
    find("fakecuda_sticky", &on_double.sticky);
    find("fakecuda_calls_synchronizing", &on_double.synchronizing);
}

int n_devices(void)
{
    int n = 0;
    return cuda.cuDeviceGetCount(&n) == CUDA_SUCCESS ? n : 0;
}

CUcontext primary_context(int device)
{
    CUcontext context = NULL;
    if (cuda.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
        give_up("a device has no primary context");
    return context;
}

void start(void)
{
    open_driver();
    CUresult result = cuda.cuInit ? cuda.cuInit(0) : CUDA_ERROR_UNKNOWN;
    if (result != CUDA_SUCCESS)
        give_up(result_name(result));
    if (n_devices() == 0)
        give_up("there is no device");
    cuda.cuCtxSetCurrent(primary_context(0));
}

void warm_up(void)
{
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    work(stream, 1000);
    if (cuda.cuStreamSynchronize(stream) != CUDA_SUCCESS)
        give_up("no kernel runs");
    cuda.cuStreamDestroy_v2(stream);
}

CUstream new_stream(unsigned flags)
{
    CUstream stream = NULL;
    if (cuda.cuStreamCreate(&stream, flags) != CUDA_SUCCESS)
        give_up("no stream can be made");
    return stream;
}

CUevent new_event(unsigned flags)
{
    CUevent event = NULL;
    if (cuda.cuEventCreate(&event, flags) != CUDA_SUCCESS)
        give_up("no event can be made");
    return event;
}

CUevent recorded(CUstream stream)
{
    CUevent event = new_event(0);
    if (cuda.cuEventRecord(event, stream) != CUDA_SUCCESS)
        give_up("no event can be recorded");
    return event;
}

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sleep_ms(int ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

CUresult wait_for(CUevent event)
{
    const int64_t limit_ns = 10000000000;
    int64_t give_up_ns = now_ns() + limit_ns;
    CUresult result;
    do
        result = cuda.cuEventQuery(event);
    while (result == CUDA_ERROR_NOT_READY && now_ns() < give_up_ns);
    return result;
}

/* --- trials ---------------------------------------------------------------------------------- */

static int is_listed(const char *list, const char *id)
{
    size_t length = strlen(id);
    for (const char *at = strstr(list, id); at; at = strstr(at + 1, id))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return 1;
    return 0;
}

static int is_wanted(const struct trial *trial, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (is_listed(trial->rules, argv[i]))
            return 1;
    return argc == 1;
}

/* Rules that the trial did not come to. */
static void account(const struct trial *trial, int status)
{
    for (int rule = 0; rule < RULES; rule++) {
        if (!is_listed(trial->rules, rules[rule].id) || score->judged[rule])
            continue;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            cannot_judge((enum rule)rule, "a call before it did not return");
        else if (WIFSIGNALED(status))
            cannot_judge((enum rule)rule, "a call before it ended the process by signal %d",
                         WTERMSIG(status));
        else
            cannot_judge((enum rule)rule, "the trial ended with status %d", WEXITSTATUS(status));
    }
}

static void run_trial(const struct trial *trial)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm((unsigned)(trial->seconds ? trial->seconds : 20));
        trial->run();
        fflush(stdout);
        _exit(0);
    }
    if (child > 0 && waitpid(child, &status, 0) == child)
        account(trial, status);
}

/* What drives what: a line for each device. */
static void describe(void)
{
    int version = 0;
    start();
    score->has_device = 1;
    score->is_double = on_double.launch != NULL;
    cuda.cuDriverGetVersion(&version);
    printf("driver %d.%d%s\n", version / 1000, version % 1000 / 10,
           score->is_double ? ", the test double: no hardware" : "");
    for (int i = 0; i < n_devices(); i++) {
        char name[128] = "", bus[32] = "";
        int major = 0, minor = 0;
        cuda.cuDeviceGetName(name, sizeof name, i);
        cuda.cuDeviceGetPCIBusId(bus, sizeof bus, i);
        cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i);
        cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i);
        printf("device %d: %s, compute capability %d.%d, %s\n", i, name, major, minor, bus);
    }
}

static int describe_in_child(int is_quiet)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (is_quiet && !freopen("/dev/null", "w", stdout))
            _exit(2);
        describe();
        fflush(stdout);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && score->has_device;
}

int rules_main(int argc, char **argv, const struct trial *trials, int n)
{
    int is_description = argc == 2 && strcmp(argv[1], "--describe") == 0;
    score = mmap(NULL, sizeof *score, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (score == MAP_FAILED)
        return 2;
    if (!describe_in_child(!is_description))
        return 77;
    for (int i = 0; i < n && !is_description; i++)
        if (is_wanted(&trials[i], argc, argv))
            run_trial(&trials[i]);
    return score->refuted ? 1 : 0;
}
