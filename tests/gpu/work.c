/* work.c - a kernel that spins for a number of the processor's cycles and says how long it took by
 * the device's global timer; and one that fails. On the double the kernel is its own work. */
#include "rules.h"

#include <stdio.h>
#include <string.h>

static const char kernels[] =
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

static CUmodule module_of_context(void)
{
    enum { TARGETS = sizeof targets / sizeof *targets };
    static CUcontext contexts[16];
    static CUmodule modules[16];
    static int n;
    CUcontext context = NULL;
    cuda.cuCtxGetCurrent(&context);
    for (int i = 0; i < n; i++)
        if (contexts[i] == context)
            return modules[i];
    char text[sizeof kernels + 64];
    CUmodule module = NULL;
    for (int i = 0; i < TARGETS && !module; i++) {
        snprintf(text, sizeof text, "%s%s", targets[i], kernels);
        if (cuda.cuModuleLoadData(&module, text) != CUDA_SUCCESS)
            module = NULL;
    }
    if (module && n < 16) {
        contexts[n] = context;
        modules[n++] = module;
    }
    return module;
}

/* Where kernels leave how long they took: memory of the host that the device can write to. */
static uint64_t *next_place(void)
{
    enum { PLACES = 512 };
    static uint64_t *places;
    static int n;
    void *memory = NULL;
    if (!places) {
        if (cuda.cuMemHostAlloc(&memory, PLACES * sizeof *places, 1 | 2) != CUDA_SUCCESS)
            return NULL;
        places = memory;
        memset(places, 0, PLACES * sizeof *places);
    }
    return &places[n++ % PLACES];
}

static CUresult spin(CUstream stream, uint64_t ns, uint64_t *place)
{
    CUfunction function;
    CUdevice device;
    CUdeviceptr out;
    int khz = 1000000;
    CUmodule module = module_of_context();
    if (!module || !place)
        return CUDA_ERROR_INVALID_IMAGE;
    CUresult result = cuda.cuModuleGetFunction(&function, module, "spin");
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemHostGetDevicePointer_v2(&out, place, 0);
    if (result != CUDA_SUCCESS)
        return result;
    if (cuda.cuCtxGetDevice(&device) == CUDA_SUCCESS)
        cuda.cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
    uint64_t cycles = (uint64_t)((double)ns * khz * 1e-6);
    void *arguments[] = {&out, &cycles};
    return cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

CUresult work_measured(CUstream stream, uint64_t ns, uint64_t **took_ns)
{
    uint64_t *place = next_place();
    *took_ns = place;
    if (!on_double.launch)
        return spin(stream, ns, place);
    if (place)
        *place = ns;
    return (CUresult)on_double.launch(stream, ns);
}

CUresult work(CUstream stream, uint64_t ns)
{
    uint64_t *unused;
    if (on_double.launch)
        return (CUresult)on_double.launch(stream, ns);
    return work_measured(stream, ns, &unused);
}

int work_that_fails(CUstream stream)
{
    CUfunction function;
    if (on_double.sticky) {
        on_double.sticky(CUDA_ERROR_ILLEGAL_ADDRESS);
        return 1;
    }
    CUmodule module = module_of_context();
    return module && cuda.cuModuleGetFunction(&function, module, "fail") == CUDA_SUCCESS &&
           cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) == CUDA_SUCCESS;
}
