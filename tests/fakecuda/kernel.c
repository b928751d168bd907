/* Work: modules and their functions, kernels, host functions, and holds. A kernel takes the time it
 * was given by name, or what the function that stands in for it returns. */
#include "double.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct module {
    CUmodule handle;
    struct fake_context *context;
};

struct function {
    CUfunction handle;
    struct module *module;
    char name[128];
};

static struct fake_kernel *kernels;
static struct fake_kernel unnamed; /* every kernel that has no name here */

/* --- kernels by name ------------------------------------------------------------------------- */

/* A mangled name, _Z4spinPyy, has the plain one behind its length. */
static int is_name_of(const char *name, const char *mangled)
{
    if (strcmp(name, mangled) == 0)
        return 1;
    if (strncmp(mangled, "_Z", 2) != 0 || !isdigit((unsigned char)mangled[2]))
        return 0;
    char *plain;
    size_t length = strtoul(mangled + 2, &plain, 10);
    return strlen(name) == length && strncmp(name, plain, length) == 0;
}

static const struct fake_kernel *find_kernel(const char *mangled)
{
    for (const struct fake_kernel *k = kernels; k; k = k->next)
        if (is_name_of(k->name, mangled))
            return k;
    return &unnamed;
}

struct fake_kernel *fake_kernel_define(const char *name, int64_t work_ns)
{
    struct fake_kernel *kernel = name ? kernels : &unnamed;
    while (name && kernel && strcmp(kernel->name, name) != 0)
        kernel = kernel->next;
    if (!kernel) {
        kernel = fake_alloc(sizeof(*kernel));
        snprintf(kernel->name, sizeof(kernel->name), "%s", name);
        kernel->next = kernels;
        kernels = kernel;
    }
    kernel->work_ns = work_ns;
    return kernel;
}

void fake_kernels_clear(void)
{
    while (kernels) {
        struct fake_kernel *kernel = kernels;
        kernels = kernel->next;
        free(kernel);
    }
    memset(&unnamed, 0, sizeof(unnamed));
}

int fakecuda_kernel(const char *name, uint64_t ns, fakecuda_kernel_fn function,
                    unsigned n_arguments, const size_t *argument_sizes)
{
    if (n_arguments > FAKECUDA_MAX_ARGUMENTS)
        return CUDA_ERROR_INVALID_VALUE;
    fake_lock();
    struct fake_kernel *kernel = fake_kernel_define(name, (int64_t)ns);
    kernel->function = function;
    kernel->n_arguments = n_arguments;
    for (unsigned i = 0; i < n_arguments; i++)
        kernel->argument_sizes[i] = argument_sizes[i];
    fake_unlock();
    return CUDA_SUCCESS;
}

/* Each argument begins at a multiple of 16 bytes. */
static size_t place(size_t size)
{
    return (size + 15) / 16 * 16;
}

int64_t fake_kernel_run(struct fake_op *op)
{
    const struct fake_kernel *kernel = op->launch.kernel;
    if (!kernel->function)
        return kernel->work_ns;
    void *arguments[FAKECUDA_MAX_ARGUMENTS];
    unsigned char *at = op->arguments;
    for (unsigned i = 0; i < kernel->n_arguments; i++) {
        arguments[i] = at;
        at += place(kernel->argument_sizes[i]);
    }
    struct fake_thread *self = fake_self();
    self->in_callback = 1;
    uint64_t ns = kernel->function(arguments, op->launch.grid, op->launch.block);
    self->in_callback = 0;
    return (int64_t)ns;
}

static struct fake_op *launch_op(const char *name, void **arguments)
{
    const struct fake_kernel *kernel = find_kernel(name);
    size_t n_bytes = 0;
    for (unsigned i = 0; i < kernel->n_arguments; i++)
        n_bytes += place(kernel->argument_sizes[i]);
    struct fake_op *op = fake_op_new(FAKE_KERNEL, n_bytes);
    op->launch.kernel = kernel;
    unsigned char *at = op->arguments;
    for (unsigned i = 0; i < kernel->n_arguments; i++) {
        memcpy(at, arguments[i], kernel->argument_sizes[i]);
        at += place(kernel->argument_sizes[i]);
    }
    return op;
}

/* --- modules and functions ------------------------------------------------------------------- */

static CUresult load(CUmodule *handle)
{
    struct fake_context *context;
    CUresult result = fake_context_get(NULL, &context);
    if (result != CUDA_SUCCESS)
        return result;
    struct module *module = fake_alloc(sizeof(*module));
    module->context = context;
    module->handle = fake_handle_new(FAKE_MODULE, module);
    *handle = module->handle;
    return CUDA_SUCCESS;
}

static void free_function_of(void *object, void *data)
{
    struct function *function = object;
    if (function->module != data)
        return;
    fake_handle_free(function->handle);
    free(function);
}

static void free_module(struct module *module)
{
    fake_each(FAKE_FUNCTION, free_function_of, module);
    fake_handle_free(module->handle);
    free(module);
}

static void free_module_of(void *object, void *data)
{
    struct module *module = object;
    if (module->context == data)
        free_module(module);
}

void fake_modules_clear(struct fake_context *context)
{
    fake_each(FAKE_MODULE, free_module_of, context);
}

static CUresult unload(CUmodule handle)
{
    struct module *module = fake_object(FAKE_MODULE, handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    free_module(module);
    return CUDA_SUCCESS;
}

/* Any name will do: there is no code to look it up in. */
static CUresult get_function(CUfunction *handle, CUmodule module_handle, const char *name)
{
    struct module *module = fake_object(FAKE_MODULE, module_handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    struct function *function = fake_alloc(sizeof(*function));
    function->module = module;
    snprintf(function->name, sizeof(function->name), "%s", name);
    function->handle = fake_handle_new(FAKE_FUNCTION, function);
    *handle = function->handle;
    return CUDA_SUCCESS;
}

/* --- launches -------------------------------------------------------------------------------- */

static CUresult launch(CUfunction handle, const unsigned grid[3], const unsigned block[3],
                       CUstream stream_handle, void **arguments)
{
    const struct function *function = fake_object(FAKE_FUNCTION, handle);
    struct fake_stream *stream;
    CUresult result = fake_stream_get(stream_handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!function || function->module->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2] ||
        (uint64_t)block[0] * block[1] * block[2] > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_op *op = launch_op(function->name, arguments);
    memcpy(op->launch.grid, grid, sizeof(op->launch.grid));
    memcpy(op->launch.block, block, sizeof(op->launch.block));
    return fake_submit(stream, op);
}

static CUresult launch_host_function(CUstream handle, CUhostFn function, void *data)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct fake_op *op = fake_op_new(FAKE_HOST, 0);
    op->host.function = function;
    op->host.data = data;
    return fake_submit(stream, op);
}

FAKE_ENTRY(cuModuleLoadData, (CUmodule *module, const void *image), ((void)image, load(module)))
FAKE_ENTRY(cuModuleUnload, (CUmodule module), unload(module))
FAKE_ENTRY(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name),
           get_function(function, module, name))
FAKE_ENTRY(cuLaunchKernel,
           (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
            unsigned int block_x, unsigned int block_y, unsigned int block_z,
            unsigned int shared_bytes, CUstream stream, void **arguments, void **extra),
           ((void)shared_bytes, (void)extra,
            launch(function, (unsigned[3]){grid_x, grid_y, grid_z},
                   (unsigned[3]){block_x, block_y, block_z}, stream, arguments)))
FAKE_ENTRY(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *data),
           launch_host_function(stream, function, data))

/* --- work without a program ------------------------------------------------------------------ */

static int submit(void *handle, enum fake_op_kind kind, uint64_t ns)
{
    struct fake_stream *stream;
    fake_lock();
    CUresult result = fake_stream_get(handle, &stream);
    if (result == CUDA_SUCCESS) {
        struct fake_op *op = fake_op_new(kind, 0);
        if (kind == FAKE_WORK)
            op->work_ns = (int64_t)ns;
        result = fake_submit(stream, op);
    }
    fake_unlock();
    return (int)result;
}

int fakecuda_launch(void *stream, uint64_t ns)
{
    return submit(stream, FAKE_WORK, ns);
}

int fakecuda_hold(void *stream)
{
    return submit(stream, FAKE_HOLD, 0);
}

static CUresult release(CUstream handle)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct fake_op *op = stream->first;
    while (op && (op->kind != FAKE_HOLD || op->hold.is_over))
        op = op->next;
    if (!op)
        return CUDA_ERROR_ILLEGAL_STATE;
    op->hold.is_over = 1;
    op->hold.end_ns = fake_now();
    fake_stream_is_idle(stream); /* for what now has an end */
    return CUDA_SUCCESS;
}

int fakecuda_release(void *stream)
{
    fake_lock();
    CUresult result = release(stream);
    fake_unlock();
    return (int)result;
}
