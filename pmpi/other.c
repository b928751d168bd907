/* other.c - what the dynamic linker has bound is bound again: each slot of an object for a name of
 * MPI gets what that object would have found in what it needs itself. This is done only in programs
 * that would fail at their first call otherwise. */
#include "autoconf.h"

#include "other.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "next.h"
#include "runtime.h"

#if defined __x86_64__
enum { SLOT_OF_CALL = R_X86_64_JUMP_SLOT, SLOT = R_X86_64_GLOB_DAT, POINTER = R_X86_64_64 };
#elif defined __aarch64__
enum { SLOT_OF_CALL = R_AARCH64_JUMP_SLOT, SLOT = R_AARCH64_GLOB_DAT, POINTER = R_AARCH64_ABS64 };
#else
enum { SLOT_OF_CALL = -1, SLOT = -1, POINTER = -1 };
#endif

struct object {
    const char *name;               /* the linker's; "" is the program */
    uintptr_t base, from, to;       /* addresses: what offsets count from; of its segments */
    uintptr_t fixed_from, fixed_to; /* made read-only once it was bound */
    uintptr_t read_from, read_to;   /* the first segment without code that is read alone */
    const ElfW(Dyn) * dynamic;
};

static struct {
    struct object *list;
    size_t n, room;
} objects;

static const char *other_file;

/* ---- the objects in memory ---- */

static void take_segment(struct object *object, const ElfW(Phdr) * segment)
{
    uintptr_t from = object->base + segment->p_vaddr, to = from + segment->p_memsz;
    if (segment->p_type == PT_DYNAMIC)
        object->dynamic = (const void *)from;
    if (segment->p_type == PT_GNU_RELRO) {
        object->fixed_from = from;
        object->fixed_to = to;
    }
    if (segment->p_type != PT_LOAD)
        return;
    if (segment->p_flags == PF_R && object->read_to == 0) {
        object->read_from = from;
        object->read_to = to;
    }
    object->from = object->from == 0 || from < object->from ? from : object->from;
    object->to = to > object->to ? to : object->to;
}

/* The linker's lock is held: only to take notes. */
static int take_object(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (objects.n == objects.room) {
        size_t room = objects.room ? 2 * objects.room : 64;
        struct object *list = realloc(objects.list, room * sizeof *list);
        if (!list)
            return 1;
        objects.list = list;
        objects.room = room;
    }
    struct object *object = &objects.list[objects.n];
    *object = (struct object){.name = info->dlpi_name, .base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        take_segment(object, &info->dlpi_phdr[i]);
    objects.n += object->dynamic != NULL;
    return 0;
}

static int has(const struct object *object, uintptr_t address)
{
    return object && address >= object->from && address < object->to;
}

static const struct object *object_with(const void *address)
{
    for (size_t i = 0; i < objects.n; i++)
        if (has(&objects.list[i], (uintptr_t)address))
            return &objects.list[i];
    return NULL;
}

/* A value of its dynamic section, 0 if there is none. */
static uintptr_t value(const struct object *object, int64_t tag)
{
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_val;
    return 0;
}

/* An address of it, which not all linkers have made one in memory; NULL if there is none. */
static const void *table(const struct object *object, int64_t tag)
{
    uintptr_t at = value(object, tag);
    return at == 0 ? NULL : (const void *)(at < object->base ? object->base + at : at);
}

static int needs(const struct object *object, const char *file)
{
    const char *text = table(object, DT_STRTAB);
    for (const ElfW(Dyn) *entry = object->dynamic; text && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && strcmp(text + entry->d_un.d_val, file) == 0)
            return 1;
    return 0;
}

/* ---- binding again ---- */

static int is_mpi_name(const char *name)
{
    name += *name == 'P' || *name == 'p';
    return strncmp(name, "MPI", 3) == 0 || strncmp(name, "mpi", 3) == 0;
}

/* Write a word, in pages that are read-only where `fixed` is 1. */
static void set_word(uintptr_t *word, uintptr_t to, int fixed)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)word & ~(page - 1));
    if (fixed && mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
        return;
    *word = to;
    if (fixed)
        mprotect(start, page, PROT_READ);
}

/* The slots of a table of an object, where they lead to us or our MPI, or are not bound yet. */
static void bind_table(const struct object *object, void *handle, const struct object *mpi,
                       const ElfW(Rela) *entry, size_t bytes)
{
    const ElfW(Sym) *symbols = table(object, DT_SYMTAB);
    const char *text = table(object, DT_STRTAB);
    const struct object *own = object_with(&other_file);
    for (size_t i = 0; entry && i < bytes / sizeof *entry; i++) {
        int type = (int)ELF64_R_TYPE(entry[i].r_info);
        const char *name = text + symbols[ELF64_R_SYM(entry[i].r_info)].st_name;
        uintptr_t *slot = (uintptr_t *)(object->base + entry[i].r_offset);
        if ((type != SLOT_OF_CALL && type != SLOT && (type != POINTER || entry[i].r_addend != 0)) ||
            !is_mpi_name(name) || !(has(own, *slot) || has(mpi, *slot) || has(object, *slot)))
            continue;
        const void *right = dlsym(handle, name);
        if (right && (uintptr_t)right != *slot)
            set_word(slot, (uintptr_t)right,
                     (uintptr_t)slot >= object->fixed_from && (uintptr_t)slot < object->fixed_to);
    }
}

static void bind(const struct object *object, const struct object *mpi)
{
    void *handle = object->name[0] ? dlopen(object->name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!handle)
        return;
    if (value(object, DT_PLTREL) == DT_RELA)
        bind_table(object, handle, mpi, table(object, DT_JMPREL), value(object, DT_PLTRELSZ));
    bind_table(object, handle, mpi, table(object, DT_RELA), value(object, DT_RELASZ));
    dlclose(handle);
}

/* ---- what is opened later ---- */

/* One past the last symbol that can be found in an object, by its hash table: see the format of
 * .gnu.hash, whose chains end with an odd word. 0: that cannot be told. */
static size_t count_symbols(const struct object *object)
{
    const uint32_t *hash = table(object, DT_GNU_HASH);
    if (!hash)
        return 0;
    const uint32_t n_buckets = hash[0], first = hash[1], n_words = hash[2];
    const uint32_t *bucket = hash + 4 + n_words * (sizeof(ElfW(Addr)) / sizeof *hash);
    const uint32_t *chain = bucket + n_buckets;
    size_t last = 0;
    for (uint32_t i = 0; i < n_buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return 0;
    while (!(chain[last - first] & 1))
        last++;
    return last + 1;
}

/* Let the names that an object has for MPI's functions lead to those of the other MPI: the linker
 * adds the object's base to what the symbol tells. */
static void give_names(const struct object *object, void *other)
{
    ElfW(Sym) *symbols = (ElfW(Sym) *)(uintptr_t)table(object, DT_SYMTAB);
    const char *text = table(object, DT_STRTAB);
    size_t n = count_symbols(object);
    if ((uintptr_t)symbols < object->read_from || (uintptr_t)(symbols + n) > object->read_to)
        return;
    for (size_t i = 0; i < n; i++) {
        const char *name = text + symbols[i].st_name;
        if (symbols[i].st_shndx == SHN_UNDEF || !is_mpi_name(name))
            continue;
        const void *right = dlsym(other, name);
        if (right)
            set_word((uintptr_t *)&symbols[i].st_value, (uintptr_t)right - object->base, 1);
    }
}

/* ---- the whole ---- */

/* Another object than `mpi` that is an MPI, and its handle. */
static const struct object *find_other(const struct object *mpi, void **handle)
{
    for (size_t i = 0; i < objects.n; i++) {
        const struct object *object = &objects.list[i];
        if (object == mpi || !object->name[0] ||
            !(*handle = dlopen(object->name, RTLD_LAZY | RTLD_NOLOAD)))
            continue;
        if (has(object, (uintptr_t)dlsym(*handle, "PMPI_Init")))
            return object;
        dlclose(*handle);
    }
    *handle = NULL;
    return NULL;
}

/* Whether an object beside this library needs that MPI. */
static int is_needed(const struct object *mpi)
{
    const char *text = table(mpi, DT_STRTAB);
    uintptr_t file = value(mpi, DT_SONAME);
    for (size_t i = 0; i < objects.n; i++)
        if (!has(&objects.list[i], (uintptr_t)&other_file) && text && file &&
            needs(&objects.list[i], text + file))
            return 1;
    return !text || !file;
}

void *rkc_mpi_other_find(void)
{
    void *handle = NULL;
    const struct object *mpi, *other = NULL;
    int initialized = 1;
    if (PMPI_Initialized(&initialized) != MPI_SUCCESS || initialized)
        return NULL;
    dl_iterate_phdr(take_object, NULL);
    mpi = object_with((const void *)PMPI_Init);
    if (mpi && !is_needed(mpi))
        other = find_other(mpi, &handle);
    for (size_t i = 0; other && i < objects.n; i++) {
        const struct object *object = &objects.list[i];
        if (object == mpi || has(object, (uintptr_t)&other_file))
            give_names(object, handle);
        else
            bind(object, mpi);
    }
    other_file = other ? other->name : NULL;
    if (!other)
        dlerror(); /* the program's is not to tell of ours */
    free(objects.list);
    objects.list = NULL;
    return handle;
}

const char *rkc_mpi_other_file(void)
{
    return other_file;
}
