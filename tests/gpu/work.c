/* work.c - a kernel that spins for a number of the processor's cycles and says how long it took by
 * the device's global timer; and one that fails. On the double the kernel is its own work. */
#include "rules.h"

#include <stdio.h>
#include <string.h>

static const char source[] =
    ".address_size 64\n"
    ".visible .entry spin(.param .u64 out, .param .u64 cycles)\n"
    "{\n"
    "    .reg .pred %more;\n"
    "    .reg .u64 %to, %for, %began, %now, %gone, %from_ns, %to_ns, %took_ns;\n"
    "    ld.param.u64 %to, [out];\n"
    "    ld.param.u64 %for, [cycles];\n"
    "    cvta.to.global.u64 %to, %to;\n"
    "    mov.u64 %from_ns, %globaltimer;\n"
    "    mov.u64 %began, %clock64;\n"
    "AGAIN:\n"
    "    mov.u64 %now, %clock64;\n"
    "    sub.u64 %gone, %now, %began;\n"
    "    setp.lt.u64 %more, %gone, %for;\n"
    "    @%more bra AGAIN;\n"
    "    mov.u64 %to_ns, %globaltimer;\n"
    "    sub.u64 %took_ns, %to_ns, %from_ns;\n"
    "    st.global.u64 [%to], %took_ns;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry fail()\n"
    "{\n"
    "    .reg .u64 %zero;\n"
    "    mov.u64 %zero, 0;\n"
    "    st.global.u64 [%zero], %zero;\n"
    "    ret;\n"
    "}\n";

/* The driver compiles what is for an older device, as far back as it knows; try from the oldest. */
static const char *const targets[] = {
    ".version 6.0\n.target sm_50\n",  ".version 6.3\n.target sm_75\n",
    ".version 7.0\n.target sm_80\n",  ".version 7.8\n.target sm_90\n",
    ".version 8.6\n.target sm_100\n",
};

/* What is found once for each context, so that a launch is no more than a launch: in a capture
 * anything else might be one thing too many. */
struct kernels {
    CUcontext context;
    CUfunction spin, fail;
    double cycles_per_ns;
};

static void load(struct kernels *found)
{
    enum { TARGETS = sizeof targets / sizeof *targets };
    char text[sizeof source + 64];
    CUmodule module = NULL;
    CUdevice device;
    int khz = 0;
    for (int i = 0; i < TARGETS && !module; i++) {
        snprintf(text, sizeof text, "%s%s", targets[i], source);
        if (cuda.cuModuleLoadData(&module, text) != CUDA_SUCCESS)
            module = NULL;
    }
    if (!module || cuda.cuModuleGetFunction(&found->spin, module, "spin") != CUDA_SUCCESS ||
        cuda.cuModuleGetFunction(&found->fail, module, "fail") != CUDA_SUCCESS)
        found->spin = found->fail = NULL;
    if (cuda.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        cuda.cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device) != CUDA_SUCCESS)
        khz = 1000000;
    found->cycles_per_ns = khz * 1e-6;
}

/* Of the current context. */
static const struct kernels *find_kernels(void)
{
    enum { CONTEXTS = 16 };
    static struct kernels found[CONTEXTS];
    static int n;
    CUcontext context = NULL;
    cuda.cuCtxGetCurrent(&context);
    for (int i = 0; i < n; i++)
        if (found[i].context == context)
            return &found[i];
    if (n == CONTEXTS)
        n = 0;
    found[n].context = context;
    load(&found[n]);
    return &found[n++];
}

/* Where kernels leave how long they took: memory of the host that every device can write to, at an
 * address of its own. */
static uint64_t *next_place(CUdeviceptr *on_device)
{
    enum { PLACES = 512, PORTABLE = 1, MAPPED = 2 };
    static uint64_t *places;
    static CUdeviceptr first;
    static int n;
    void *memory = NULL;
    if (!places) {
        if (cuda.cuMemHostAlloc(&memory, PLACES * sizeof *places, PORTABLE | MAPPED) !=
                CUDA_SUCCESS ||
            cuda.cuMemHostGetDevicePointer_v2(&first, memory, 0) != CUDA_SUCCESS)
            return NULL;
        places = memory;
        memset(places, 0, PLACES * sizeof *places);
    }
    int i = n++ % PLACES;
    *on_device = first + (size_t)i * sizeof *places;
    return &places[i];
}

static CUresult spin(CUstream stream, uint64_t ns, CUdeviceptr place)
{
    const struct kernels *found = find_kernels();
    uint64_t cycles = (uint64_t)((double)ns * found->cycles_per_ns);
    void *arguments[] = {&place, &cycles};
    if (!found->spin)
        return CUDA_ERROR_INVALID_IMAGE;
    return cuda.cuLaunchKernel(found->spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

CUresult work_measured(CUstream stream, uint64_t ns, uint64_t **took_ns)
{
    CUdeviceptr on_device = 0;
    uint64_t *place = next_place(&on_device);
    *took_ns = place;
    if (!place)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!on_double.launch)
        return spin(stream, ns, on_device);
    *place = ns;
    return (CUresult)on_double.launch(stream, ns);
}

CUresult work(CUstream stream, uint64_t ns)
{
    uint64_t *unused;
    return on_double.launch ? (CUresult)on_double.launch(stream, ns)
                            : work_measured(stream, ns, &unused);
}

int work_that_fails(CUstream stream)
{
    if (on_double.sticky) {
        on_double.sticky(CUDA_ERROR_ILLEGAL_ADDRESS);
        return 1;
    }
    CUfunction fail = find_kernels()->fail;
    return fail &&
           cuda.cuLaunchKernel(fail, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) == CUDA_SUCCESS;
}
