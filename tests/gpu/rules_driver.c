/* rules_driver.c - the driver's functions, default streams and contexts. */
#include "rules.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const uint64_t MS = 1000000;

/* --- D: functions ---------------------------------------------------------------------------- */

static void try_before_init(void)
{
    int version = 0, n = 0;
    open_driver();
    CUresult result = cuda.cuDriverGetVersion(&version);
    judge(RULE_D1, result == CUDA_SUCCESS && version >= 11000, "%s, version %d",
          result_name(result), version);
    result = cuda.cuDeviceGetCount(&n);
    judge(RULE_D5, result == CUDA_ERROR_NOT_INITIALIZED, "%s", result_name(result));
}

struct row {
    const char *base;
    int version, is_required;
};

static const struct row rows[] = {
#define REQUIRED(member, base, version, symbol, parameters) {#base, version, 1},
#define OPTIONAL(member, base, version, symbol, parameters) {#base, version, 0},
#include "gpu/driver.def"
};

static CUresult look_up(const char *base, int version)
{
    void *function = NULL;
    CUresult result =
        cuda.cuGetProcAddress_v2
            ? cuda.cuGetProcAddress_v2(base, &function, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                       NULL)
            : cuda.cuGetProcAddress(base, &function, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
    return result == CUDA_SUCCESS && !function ? CUDA_ERROR_NOT_FOUND : result;
}

static void try_look_up(void)
{
    int version = 0, n[2] = {0, 0};
    char missing[2][256] = {"", ""};
    start();
    cuda.cuDriverGetVersion(&version);
    if (!cuda.cuGetProcAddress && !cuda.cuGetProcAddress_v2) {
        for (int i = RULE_D2; i <= RULE_D4; i++)
            cannot_judge((enum rule)i, "a driver before 11.3 has no cuGetProcAddress");
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        char *list = missing[row->is_required];
        if (row->version > version)
            continue;
        n[row->is_required]++;
        if (look_up(row->base, row->version) != CUDA_SUCCESS)
            snprintf(list + strlen(list), sizeof missing[0] - strlen(list), " %s", row->base);
    }
    judge(RULE_D2, !*missing[1], "%d asked for, missing:%s", n[1],
          *missing[1] ? missing[1] : " none");
    judge(RULE_D3, !*missing[0], "%d asked for, missing:%s", n[0],
          *missing[0] ? missing[0] : " none");
    CUresult result = look_up("cuEventRecord", version + 1000);
    judge(RULE_D4, result == CUDA_ERROR_INVALID_VALUE, "%s for version %d", result_name(result),
          version + 1000);
}

static int is_driver_open(void)
{
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != NULL;
}

static void try_runtime(void)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};
    void *runtime = NULL;
    int n = 0, (*count)(int *);
    for (int i = 0; i < 3 && !runtime; i++)
        runtime = dlopen(names[i], RTLD_NOW);
    if (!runtime) {
        cannot_judge(RULE_D6, "no shared libcudart is found");
        return;
    }
    *(void **)&count = dlsym(runtime, "cudaGetDeviceCount");
    int before = is_driver_open(), result = count ? count(&n) : -1, after = is_driver_open();
    judge(RULE_D6, !before && after, "open before the first call: %s, after it: %s (result %d)",
          before ? "yes" : "no", after ? "yes" : "no", result);
}

static void try_pending(void)
{
    float ms;
    start();
    warm_up();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent begin = recorded(stream);
    work(stream, 100 * MS);
    CUevent end = recorded(stream);
    CUresult v1 = cuda.cuEventElapsedTime(&ms, begin, end);
    CUresult v2 = cuda.cuEventElapsedTime_v2 ? cuda.cuEventElapsedTime_v2(&ms, begin, end)
                                             : CUDA_ERROR_NOT_READY;
    CUresult turned = cuda.cuEventElapsedTime(&ms, end, begin);
    judge(RULE_D7,
          v1 == CUDA_ERROR_NOT_READY && v2 == CUDA_ERROR_NOT_READY &&
              turned == CUDA_ERROR_NOT_READY,
          "%s; _v2 %s; with the pending one first %s", result_name(v1),
          cuda.cuEventElapsedTime_v2 ? result_name(v2) : "is not there", result_name(turned));
    wait_for(end);
}

/* --- S: default streams ---------------------------------------------------------------------- */

static void try_stream_ids(void)
{
    unsigned long long zero = 0, legacy = 0, own = 0;
    start();
    if (!cuda.cuStreamGetId) {
        cannot_judge(RULE_S1, "a driver before 12.0 has no cuStreamGetId");
        cannot_judge(RULE_S2, "a driver before 12.0 has no cuStreamGetId");
        return;
    }
    CUresult result = cuda.cuStreamGetId(NULL, &zero);
    cuda.cuStreamGetId(CU_STREAM_LEGACY, &legacy);
    cuda.cuStreamGetId(CU_STREAM_PER_THREAD, &own);
    judge(RULE_S1, result == CUDA_SUCCESS && zero == legacy, "%s, ids %llu and %llu",
          result_name(result), zero, legacy);
    judge(RULE_S2, own != legacy, "ids %llu and %llu", legacy, own);
}

/* Give `first` work, then record on both; whether the event on `second` waits for it. */
static int waits(CUstream first, CUstream second, CUresult *at_once, float *ms)
{
    work(first, 60 * MS);
    CUevent after = recorded(first), event = recorded(second);
    sleep_ms(10);
    *at_once = cuda.cuEventQuery(event);
    wait_for(event);
    wait_for(after);
    *ms = 0;
    CUresult result = cuda.cuEventElapsedTime(ms, after, event);
    return result == CUDA_SUCCESS && *at_once == CUDA_ERROR_NOT_READY && *ms >= 0;
}

static void try_legacy(void)
{
    CUresult at_once;
    float ms;
    start();
    warm_up();
    int holds = waits(new_stream(0), NULL, &at_once, &ms);
    judge(RULE_S3, holds, "10 ms later %s, done %g ms after the work", result_name(at_once),
          (double)ms);
    holds = waits(NULL, new_stream(0), &at_once, &ms);
    judge(RULE_S4, holds, "10 ms later %s, done %g ms after the work", result_name(at_once),
          (double)ms);
    holds = waits(NULL, new_stream(CU_STREAM_NON_BLOCKING), &at_once, &ms);
    judge(RULE_S5, at_once == CUDA_SUCCESS && ms < 0, "10 ms later %s, done %g ms after the work",
          result_name(at_once), (double)ms);
}

/* --- X: contexts ----------------------------------------------------------------------------- */

/* Another context of the first device, and a stream in it; the primary one is current after. */
static CUcontext other_context(CUstream *stream, CUevent *event)
{
    CUcontext primary = NULL, other = NULL;
    cuda.cuCtxGetCurrent(&primary);
    if (cuda.cuCtxCreate_v2(&other, 0, 0) != CUDA_SUCCESS)
        return NULL;
    *stream = new_stream(CU_STREAM_NON_BLOCKING);
    *event = recorded(*stream);
    cuda.cuCtxSetCurrent(primary);
    return other;
}

static void try_two_contexts(void)
{
    CUstream stream;
    CUevent event;
    start();
    if (!other_context(&stream, &event)) {
        cannot_judge(RULE_X1, "no second context can be made");
        return;
    }
    CUresult result = cuda.cuEventRecord(new_event(0), stream);
    judge(RULE_X1, result == CUDA_ERROR_INVALID_HANDLE, "%s", result_name(result));
}

static void try_without_context(void)
{
    CUcontext context = NULL;
    CUstreamCaptureStatus status;
    float ms;
    start();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING), other = new_stream(0);
    CUevent first = recorded(stream), event = new_event(0), spare = new_event(0);
    cuda.cuStreamSynchronize(stream);
    cuda.cuCtxSetCurrent(NULL);
    CUresult result = cuda.cuStreamGetCtx(stream, &context);
    judge(RULE_X2, result == CUDA_SUCCESS && context, "%s", result_name(result));
    CUresult r0 = cuda.cuStreamGetCtx(NULL, &context);
    CUresult r1 = cuda.cuStreamGetCtx(CU_STREAM_LEGACY, &context);
    CUresult r2 = cuda.cuStreamGetCtx(CU_STREAM_PER_THREAD, &context);
    judge(RULE_X3,
          r0 == CUDA_ERROR_INVALID_CONTEXT && r1 == CUDA_ERROR_INVALID_CONTEXT &&
              r2 == CUDA_ERROR_INVALID_CONTEXT,
          "%s, %s, %s", result_name(r0), result_name(r1), result_name(r2));
    result = cuda.cuEventRecord(event, stream);
    judge(RULE_X4, result == CUDA_SUCCESS, "%s", result_name(result));
    result = wait_for(event);
    judge(RULE_X5, result == CUDA_SUCCESS, "%s", result_name(result));
    result = cuda.cuEventElapsedTime(&ms, first, event);
    judge(RULE_X6, result == CUDA_SUCCESS, "%s", result_name(result));
    result = cuda.cuStreamWaitEvent(other, event, 0);
    judge(RULE_X7, result == CUDA_SUCCESS, "%s", result_name(result));
    result = cuda.cuStreamIsCapturing(stream, &status);
    judge(RULE_X8, result == CUDA_SUCCESS, "%s", result_name(result));
    result = cuda.cuEventDestroy_v2(spare);
    judge(RULE_X9, result == CUDA_SUCCESS, "%s", result_name(result));
}

static void try_state(void)
{
    unsigned flags = 0;
    int before = -1, after = -1;
    open_driver();
    cuda.cuInit(0);
    CUresult result = cuda.cuDevicePrimaryCtxGetState(0, &flags, &before);
    cuda.cuDevicePrimaryCtxGetState(0, &flags, &after);
    judge(RULE_X10, result == CUDA_SUCCESS && before == 0 && after == 0, "%s, active %d, then %d",
          result_name(result), before, after);
}

static void try_ids(void)
{
    enum { TIMES = 4 };
    unsigned long long ids[TIMES] = {0};
    CUstream stream;
    CUevent event;
    int again = 0, same_handle = 0;
    CUcontext last = NULL;
    start();
    if (!cuda.cuCtxGetId) {
        cannot_judge(RULE_X11, "a driver before 12.0 has no cuCtxGetId");
        return;
    }
    for (int i = 0; i < TIMES; i++) {
        CUcontext context = other_context(&stream, &event);
        if (!context || cuda.cuCtxGetId(context, &ids[i]) != CUDA_SUCCESS)
            return;
        same_handle += context == last;
        last = context;
        for (int k = 0; k < i; k++)
            again += ids[k] == ids[i];
        cuda.cuCtxDestroy_v2(context);
    }
    judge(RULE_X11, again == 0, "ids %llu, %llu, %llu, %llu; the handle was used again %d times",
          ids[0], ids[1], ids[2], ids[3], same_handle);
}

static void try_dead_id(void)
{
    unsigned long long id = 0, now = 0;
    CUstream stream;
    CUevent event;
    start();
    CUcontext context = cuda.cuCtxGetId ? other_context(&stream, &event) : NULL;
    if (!context) {
        cannot_judge(RULE_X12, "no cuCtxGetId, or no second context");
        return;
    }
    cuda.cuCtxGetId(context, &id);
    cuda.cuCtxDestroy_v2(context);
    CUresult result = cuda.cuCtxGetId(context, &now);
    judge(RULE_X12, result != CUDA_SUCCESS || now != id, "%s, id %llu, then %llu",
          result_name(result), id, now);
}

/* An event of a context that is destroyed; NULL where there is none. */
static CUevent dead_event(enum rule rule)
{
    CUstream stream;
    CUevent event;
    start();
    CUcontext context = other_context(&stream, &event);
    if (!context) {
        cannot_judge(rule, "no second context can be made");
        return NULL;
    }
    cuda.cuCtxDestroy_v2(context);
    return event;
}

static void try_dead_query(void)
{
    CUevent event = dead_event(RULE_X13);
    if (!event)
        return;
    CUresult result = cuda.cuEventQuery(event);
    judge(RULE_X13, result == CUDA_ERROR_INVALID_HANDLE, "%s", result_name(result));
}

static void try_dead_record(void)
{
    CUevent event = dead_event(RULE_X14);
    if (!event)
        return;
    CUresult result = cuda.cuEventRecord(event, new_stream(CU_STREAM_NON_BLOCKING));
    judge(RULE_X14, result == CUDA_ERROR_INVALID_HANDLE, "%s", result_name(result));
}

/* A green context of all of the first device. */
static CUresult make_green(CUgreenCtx *green)
{
    enum { RESOURCE_SM = 1 };
    static char resource[1024]; /* more than a CUdevResource of any version */
    CUresult (*get)(CUdevice, void *, int), (*describe)(CUdevResourceDesc *, void *, unsigned);
    CUdevResourceDesc description = NULL;
    *(void **)&get = dlsym(rules_library, "cuDeviceGetDevResource");
    *(void **)&describe = dlsym(rules_library, "cuDevResourceGenerateDesc");
    CUresult result = get ? get(0, resource, RESOURCE_SM) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && describe)
        result = describe(&description, resource, 1);
    if (result == CUDA_SUCCESS)
        result = cuda.cuGreenCtxCreate(green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    return result;
}

static void try_green(void)
{
    CUgreenCtx green;
    CUstream stream = NULL;
    CUcontext context = NULL, unused;
    start();
    if (!cuda.cuGreenCtxStreamCreate) {
        cannot_judge(RULE_X15, "a driver before 12.5 has no streams of green contexts");
        return;
    }
    CUresult result = make_green(&green);
    if (result == CUDA_SUCCESS)
        result = cuda.cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0);
    if (result != CUDA_SUCCESS) {
        cannot_judge(RULE_X15, "no green context or stream: %s", result_name(result));
        return;
    }
    CUresult of = cuda.cuStreamGetCtx(stream, &context);
    cuda.cuCtxPushCurrent_v2(context);
    CUevent event = new_event(0);
    cuda.cuCtxPopCurrent_v2(&unused);
    result = cuda.cuEventRecord(event, stream);
    judge(RULE_X15, of == CUDA_SUCCESS && result == CUDA_SUCCESS,
          "cuStreamGetCtx %s, the record %s", result_name(of), result_name(result));
}

static void try_two_devices(void)
{
    float ms;
    start();
    if (n_devices() < 2) {
        cannot_judge(RULE_X16, "there is one device");
        cannot_judge(RULE_X17, "there is one device");
        return;
    }
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = recorded(stream);
    cuda.cuCtxSetCurrent(primary_context(1));
    CUstream other_stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent other = recorded(other_stream);
    cuda.cuEventSynchronize(event);
    cuda.cuEventSynchronize(other);
    CUresult result = cuda.cuEventElapsedTime(&ms, event, other);
    judge(RULE_X16, result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY, "%s",
          result_name(result));
    result = cuda.cuStreamWaitEvent(other_stream, event, 0);
    judge(RULE_X17, result == CUDA_SUCCESS, "%s", result_name(result));
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {try_before_init, "D1 D5", 0},   {try_look_up, "D2 D3 D4", 0},
        {try_runtime, "D6", 0},          {try_pending, "D7", 0},
        {try_stream_ids, "S1 S2", 0},    {try_legacy, "S3 S4 S5", 0},
        {try_two_contexts, "X1", 0},     {try_without_context, "X2 X3 X4 X5 X6 X7 X8 X9", 0},
        {try_state, "X10", 0},           {try_ids, "X11", 0},
        {try_dead_id, "X12", 0},         {try_dead_query, "X13", 0},
        {try_dead_record, "X14", 0},     {try_green, "X15", 0},
        {try_two_devices, "X16 X17", 0},
    };
    return rules_main(argc, argv, trials, sizeof trials / sizeof *trials);
}
