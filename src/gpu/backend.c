/* backend.c - a backend that is registered stays: whoever has resolved it keeps a pointer to it. */
#include "autoconf.h"

#include "gpu/backend.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gpu/per_thread.h"

enum { NAME_SIZE = 32 };

struct registered {
    struct registered *next;
    struct rkc_gpu_backend backend;
    char name[NAME_SIZE];
};

/* Those for "auto" come first, in the order in which they are tried. */
static const struct rkc_gpu_backend *const built_in[] = {
    &rkc_backend_torch, &rkc_backend_cupy, &rkc_backend_cuda, &rkc_backend_host, &rkc_backend_none,
};

enum { BUILT_IN = sizeof built_in / sizeof *built_in, AUTOMATIC = 3 };

static struct registered *all;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL if there is none. List lock held. */
static const struct rkc_gpu_backend *find(const char *name)
{
    if (strcasecmp(name, "pytorch") == 0)
        return &rkc_backend_torch;
    for (size_t i = 0; i < BUILT_IN; i++)
        if (strcasecmp(built_in[i]->name, name) == 0)
            return built_in[i];
    for (const struct registered *r = all; r; r = r->next)
        if (strcasecmp(r->name, name) == 0)
            return &r->backend;
    return NULL;
}

/* ---- registering ---- */

static const char *missing_function(const struct rkc_gpu_backend *backend)
{
    if (!backend->record_event)
        return "record_event";
    if (!backend->query)
        return "query";
    if (!backend->elapsed_time_ns)
        return "elapsed_time_ns";
    return backend->release ? NULL : "release";
}

static int check(const struct rkc_gpu_backend *backend)
{
    if (!backend)
        return rkc_gpu_fail(RKC_EARG, "NULL is no backend");
    if (backend->size < sizeof *backend)
        return rkc_gpu_fail(RKC_ESIZE, "a backend has %zu bytes at least, not %zu", sizeof *backend,
                            backend->size);
    if (backend->version != RKC_GPU_BACKEND_VERSION)
        return rkc_gpu_fail(RKC_EABI, "this is version %u of backends, not %u",
                            RKC_GPU_BACKEND_VERSION, backend->version);
    if (!backend->name || !*backend->name || strlen(backend->name) >= NAME_SIZE)
        return rkc_gpu_fail(RKC_ENAME, "a backend has a name of 1 to %d bytes", NAME_SIZE - 1);
    const char *missing = missing_function(backend);
    if (missing)
        return rkc_gpu_fail(RKC_EFUNCTION, "the backend %s has no %s", backend->name, missing);
    return 0;
}

static int add(struct registered *made)
{
    pthread_mutex_lock(&list_lock);
    int taken = strcasecmp(made->name, "auto") == 0 || find(made->name) != NULL;
    if (!taken) {
        made->next = all;
        all = made;
    }
    pthread_mutex_unlock(&list_lock);
    return taken ? RKC_ETAKEN : 0;
}

int rkc_gpu_backend_register(const struct rkc_gpu_backend *backend)
{
    int status = check(backend);
    if (status)
        return status;
    struct registered *made = calloc(1, sizeof *made);
    if (!made)
        return rkc_gpu_fail(RKC_ENOMEM, "no memory for a backend");
    made->backend = *backend;
    made->backend.size = sizeof made->backend;
    strcpy(made->name, backend->name);
    made->backend.name = made->name;
    status = add(made);
    if (status) {
        free(made);
        return rkc_gpu_fail(status, "there is a backend %s already", backend->name);
    }
    return 0;
}

/* ---- resolving ---- */

struct text {
    char line[1024];
    size_t used;
};

/* Add "name: why" to what was tried. */
static void add_attempt(struct text *text, const char *name, const char *why)
{
    size_t left = sizeof text->line - text->used;
    int n = snprintf(text->line + text->used, left, "%s%s: %s", text->used ? "; " : "", name, why);
    text->used += n > 0 && (size_t)n < left ? (size_t)n : 0;
}

static int try_backend(const struct rkc_gpu_backend *backend, struct text *text)
{
    char why[256] = "";
    int status = backend->available ? backend->available(backend->self, why, sizeof why) : 0;
    if (status)
        add_attempt(text, backend->name, *why ? why : rkc_strerror(status));
    return status;
}

static int resolve_auto(const struct rkc_gpu_backend **backend, struct text *text)
{
    for (size_t i = 0; i < AUTOMATIC; i++) {
        if (try_backend(built_in[i], text) == 0) {
            *backend = built_in[i];
            return 0;
        }
    }
    return RKC_EBACKEND;
}

static int resolve_named(const char *name, const struct rkc_gpu_backend **backend,
                         struct text *text)
{
    pthread_mutex_lock(&list_lock);
    const struct rkc_gpu_backend *found = find(name);
    if (!found) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%.40s\"", name);
        add_attempt(text, quoted, "no backend has this name; there are auto");
        for (size_t i = 0; i < BUILT_IN; i++)
            text->used += (size_t)snprintf(text->line + text->used, sizeof text->line - text->used,
                                           ", %s", built_in[i]->name);
        for (const struct registered *r = all; r && text->used + NAME_SIZE + 2 < sizeof text->line;
             r = r->next)
            text->used += (size_t)snprintf(text->line + text->used, sizeof text->line - text->used,
                                           ", %s", r->name);
    }
    pthread_mutex_unlock(&list_lock);
    if (!found)
        return RKC_ENOTFOUND;
    int status = try_backend(found, text);
    if (!status)
        *backend = found;
    return status;
}

int rkc_gpu_backend_resolve(const char *name, const struct rkc_gpu_backend **backend, char *text,
                            size_t size)
{
    struct text tried = {"", 0};
    const struct rkc_gpu_backend *found = NULL;
    if (!backend)
        return rkc_gpu_fail(RKC_EARG, "there is no place for a backend");
    int status = !name || strcasecmp(name, "auto") == 0 ? resolve_auto(&found, &tried)
                                                        : resolve_named(name, &found, &tried);
    if (!status) {
        *backend = found;
        return 0;
    }
    if (text && size)
        snprintf(text, size, "%s", tried.line);
    return rkc_gpu_fail(status, "%s", tried.line);
}
