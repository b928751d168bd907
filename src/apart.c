/* apart.c - keeps what a process does not run out of its memory.
 *
 * Where a page of a file is touched, the kernel maps those of the sixteen around it that it has,
 * and all of them count as the process's own: as far as the mapping reaches. So the linker puts
 * what every rank runs in one place (librankclock.ld, librankclock-mpi.ld), and here the rest of
 * the code becomes a mapping of its own, as do the tables by which exceptions are unwound. That is
 * done as the library is loaded, in all processes that inherit a preload: later these pages are
 * there already.
 */
#include "autoconf.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __LP64__
typedef Elf64_Phdr elf_segment;
#else
typedef Elf32_Phdr elf_segment;
#endif

/* Of the system's <link.h>, behind which a header of ours stands: the beginning of a struct that
 * only grows. */
struct dl_phdr_info {
    uintptr_t dlpi_addr;
    const char *dlpi_name;
    const elf_segment *dlpi_phdr;
    uint16_t dlpi_phnum;
};
int dl_iterate_phdr(int (*look)(struct dl_phdr_info *info, size_t size, void *context),
                    void *context);

/* Where what every rank runs ends. Not set where the linker takes no order, nor without MPI. */
extern const char rkc_used_end[] __attribute__((weak, visibility("hidden")));
extern const char rkc_mpi_used_end[] __attribute__((weak));

static uintptr_t start_of(const struct dl_phdr_info *object, const elf_segment *segment)
{
    return object->dlpi_addr + segment->p_vaddr;
}

/* The segment in which an address lies, or NULL. */
static const elf_segment *segment_of(const struct dl_phdr_info *object, uintptr_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const elf_segment *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - start_of(object, segment) < segment->p_memsz)
            return segment;
    }
    return NULL;
}

/* A mapping of its own for what lies between an address and its segment's end. What is said of
 * these pages holds in any case. */
static void part(const struct dl_phdr_info *object, uintptr_t from)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const elf_segment *segment = segment_of(object, from);
    if (!segment || segment->p_flags & PF_W)
        return;
    uintptr_t end = start_of(object, segment) + segment->p_filesz;
    from = (from + page - 1) & -page;
    end = (end + page - 1) & -page;
    if (from < end)
        madvise((void *)from, end - from, MADV_NOHUGEPAGE);
}

static int look(struct dl_phdr_info *object, size_t size, void *context)
{
    const uintptr_t ends[] = {(uintptr_t)rkc_used_end, (uintptr_t)rkc_mpi_used_end};
    (void)size, (void)context;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (!ends[i] || !segment_of(object, ends[i]))
            continue;
        part(object, ends[i]);
        for (int k = 0; k < object->dlpi_phnum; k++)
            if (object->dlpi_phdr[k].p_type == PT_GNU_EH_FRAME)
                part(object, start_of(object, &object->dlpi_phdr[k]));
    }
    return 0;
}

__attribute__((constructor)) static void keep_apart(void)
{
    if (rkc_used_end)
        dl_iterate_phdr(look, NULL);
}
