/* fortran_find.c - what stands behind a Fortran entry point, and MPI's variables of Fortran.
 *
 * What one gets wrong here: nothing links an MPI's Fortran library but programs that need it. It
 * may be there from the start, be opened later, for all or for the opener alone, or never come; and
 * names such as mpi_init are in libraries that have nothing to do with Fortran, or with MPI.
 */
#include "autoconf.h"

#include "fortran.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 96, SPELLINGS = RKC_FORTRAN_SPELLINGS };

/* ---- symbols ---- */

/* Of the system's <link.h>, behind which a header of ours stands: the beginning of a struct that
 * only grows. */
struct dl_phdr_info {
    uintptr_t dlpi_addr;
    const char *dlpi_name;
};
int dl_iterate_phdr(int (*look)(struct dl_phdr_info *info, size_t size, void *context),
                    void *context);

struct paths {
    char *text; /* one after the other, each ended by a NUL */
    size_t used, size;
};

static int add_path(struct dl_phdr_info *info, size_t size, void *context)
{
    struct paths *paths = context;
    size_t length = strlen(info->dlpi_name) + 1;
    (void)size;
    if (paths->used + length > paths->size) {
        size_t wanted = 2 * (paths->used + length) + 4096;
        char *text = realloc(paths->text, wanted);
        if (!text)
            return 1;
        paths->text = text;
        paths->size = wanted;
    }
    memcpy(paths->text + paths->used, info->dlpi_name, length);
    paths->used += length;
    return 0;
}

static int is_ours(void *symbol)
{
    Dl_info its, ours;
    return dladdr(symbol, &its) && dladdr(rkc_mpi_functions, &ours) &&
           its.dli_fbase == ours.dli_fbase;
}

/* Look into all that is loaded, in order, for what was opened by a library for itself alone. */
static void *find_anywhere(const char *name)
{
    struct paths paths = {NULL, 0, 0};
    void *found = NULL;
    dl_iterate_phdr(add_path, &paths);
    for (size_t at = 0; at < paths.used && !found; at += strlen(paths.text + at) + 1) {
        if (!paths.text[at])
            continue;
        void *object = dlopen(paths.text + at, RTLD_LAZY | RTLD_NOLOAD);
        if (!object)
            continue;
        found = dlsym(object, name);
        if (found && is_ours(found))
            found = NULL;
        dlclose(object);
    }
    free(paths.text);
    return found;
}

static void *find_after_us(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found ? found : find_anywhere(name);
}

static void *find_variable(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found ? found : find_anywhere(name);
}

/* A name as a compiler spells it, of `base` in capitals or not; the most likely first. */
static void spell(char *name, const char *base, int spelling)
{
    static const char *const ends[SPELLINGS] = {"_", "", "__", ""};
    snprintf(name, NAME_MAX_BYTES, "%s%s", base, ends[spelling]);
    for (char *c = name; *c; c++)
        *c = (char)(spelling == SPELLINGS - 1 ? toupper((unsigned char)*c)
                                              : tolower((unsigned char)*c));
}

/* ---- functions ---- */

/* The i-th name that the function of an entry point may have; 0 beyond the last. `before` is
 * put before it. */
static int name_of(char *name, const char *before, unsigned entry, int i)
{
    char base[NAME_MAX_BYTES];
    const char *function = rkc_mpi_name(&rkc_mpi_functions[rkc_fortran_id(entry)]);
    int length = (int)strlen(function) - (entry & RKC_FORTRAN_LARGE ? (int)strlen("_c") : 0);
    const char *form = rkc_fortran_form(entry) == RKC_FORTRAN_CPTR ? "_cptr" : "";
    snprintf(base, sizeof base, "%s%.*s%s", before, length, function, form);
    if (rkc_fortran_form(entry) != RKC_FORTRAN_F08) {
        spell(name, base, i);
        return i < SPELLINGS;
    }
    spell(name, base, 1);
    snprintf(name + strlen(name), NAME_MAX_BYTES - strlen(name), "_f08%s%s", i ? "" : "ts",
             entry & RKC_FORTRAN_LARGE ? "_large_" : "_");
    return i < 2;
}

/* An MPI has each function by a name for the profiling interface, too. */
static int mpi_has_it(unsigned entry)
{
    static const char *const before[] = {"p", "pmpir_"};
    char name[NAME_MAX_BYTES];
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < SPELLINGS && name_of(name, before[way], entry, i); i++) {
            /* pmpir_send_f08ts_ is that of mpi_send_f08ts_. */
            if (way == 1)
                memmove(name + strlen("pmpir_"), name + strlen("pmpir_mpi_"),
                        strlen(name + strlen("pmpir_mpi_")) + 1);
            if (find_variable(name))
                return 1;
        }
    return 0;
}

static void *find(unsigned entry, unsigned *flags)
{
    char name[NAME_MAX_BYTES];
    for (int i = 0; i < SPELLINGS && name_of(name, "", entry, i); i++) {
        void *function = find_after_us(name);
        if (!function)
            continue;
        *flags = rkc_fortran_form(entry) == RKC_FORTRAN_F08 && i == 0 ? RKC_FORTRAN_DESCRIPTORS : 0;
        if (!mpi_has_it(entry))
            *flags = RKC_FORTRAN_FOREIGN;
        dlerror(); /* the program's is not to tell of ours */
        return function;
    }
    name_of(name, "", entry, 0);
    fprintf(stderr, "rankclock: %s: undefined symbol\n", name);
    _exit(127);
}

struct rkc_fortran_target rkc_fortran_targets[RKC_FORTRAN_FORMS][RKC_MPI_FUNCTIONS];

void rkc_fortran_find(struct rkc_fortran_target *target, unsigned entry)
{
    unsigned found = 0;
    void *function = find(entry, &found);
    void (*next)(void);
    memcpy(&next, &function, sizeof next);
    target->found = found;
    atomic_store_explicit(&target->function, next, memory_order_release);
}

/* ---- variables that stand for constants ---- */

struct rkc_fortran_marks rkc_fortran_marks[2];

#ifdef OPEN_MPI
/* Common blocks, each of them. */
static void find_open_mpi(struct rkc_fortran_marks *marks)
{
    static const char *const bases[RKC_FORTRAN_MARKS] = {
        "mpi_fortran_in_place", "mpi_fortran_bottom", "mpi_fortran_status_ignore",
        "mpi_fortran_statuses_ignore"};
    for (int mark = 0; mark < RKC_FORTRAN_MARKS; mark++) {
        int n = 0;
        for (int i = 0; i < SPELLINGS; i++) {
            char name[NAME_MAX_BYTES];
            spell(name, bases[mark], i);
            marks->at[mark][n] = find_variable(name);
            n += marks->at[mark][n] != NULL;
        }
    }
}

#else
/* Pointers to what is in common blocks, once the first Fortran function has asked for them. */
static void find_mpich(struct rkc_fortran_marks *marks)
{
    static const char *const names[RKC_FORTRAN_MARKS] = {
        "MPIR_F_MPI_IN_PLACE", "MPIR_F_MPI_BOTTOM", "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE"};
    void *const *in_place = find_variable(names[RKC_FORTRAN_IN_PLACE]);
    for (int i = 0; i < SPELLINGS && in_place && !*in_place; i++) {
        char name[NAME_MAX_BYTES];
        spell(name, "mpirinitf", i);
        void *symbol = find_variable(name);
        void (*ask)(void);
        memcpy(&ask, &symbol, sizeof ask);
        if (ask)
            ask();
    }
    for (int mark = 0; mark < RKC_FORTRAN_MARKS; mark++) {
        void *const *pointer = find_variable(names[mark]);
        marks->at[mark][0] = pointer ? *pointer : NULL;
    }
}

/* Variables of a module. */
static void find_mpich_f08(struct rkc_fortran_marks *marks)
{
    static const char *const names[RKC_FORTRAN_MARKS] = {
        "MPIR_F08_MPI_IN_PLACE", "MPIR_F08_MPI_BOTTOM", "MPIR_F08_MPI_STATUS_IGNORE_OBJ",
        "MPIR_F08_MPI_STATUSES_IGNORE_OBJ"};
    for (int mark = 0; mark < RKC_FORTRAN_MARKS; mark++)
        marks->at[mark][0] = find_variable(names[mark]);
}
#endif

int rkc_fortran_is_one(const struct rkc_fortran_marks *marks, const void *address,
                       enum rkc_fortran_mark mark)
{
    for (int i = 0; i < RKC_FORTRAN_SPELLINGS && marks->at[mark][i]; i++)
        if (marks->at[mark][i] == address)
            return 1;
    return 0;
}

void rkc_fortran_find_marks(int f08)
{
    struct rkc_fortran_marks *marks = &rkc_fortran_marks[f08];
#ifdef OPEN_MPI
    find_open_mpi(marks);
#else
    if (f08)
        find_mpich_f08(marks);
    else
        find_mpich(marks);
#endif
    dlerror(); /* the program's is not to tell of ours */
    for (int mark = 0; mark < RKC_FORTRAN_MARKS; mark++)
        for (int i = 0; i < RKC_FORTRAN_SPELLINGS && marks->at[mark][i]; i++)
            marks->may[mark] |= rkc_fortran_bit(marks->at[mark][i]);
    marks->may_stand = marks->may[RKC_FORTRAN_IN_PLACE] | marks->may[RKC_FORTRAN_BOTTOM];
    atomic_store_explicit(&marks->ready, 1, memory_order_release);
}
