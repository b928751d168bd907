/* region.h - name stretches of code; rankclock times them and counts their visits.
 *
 * A region is begun and ended on one thread and regions nest; the regions from
 * the outermost down make the call path under which a visit is booked. All
 * functions may be called before MPI_Init, after MPI_Finalize and in programs
 * without MPI; none makes an MPI call, prints on stdout or ends the program.
 * When recording is off (RANKCLOCK_ENABLE=off, a forked child, our own failure) they
 * do nothing. rankclock(3) has the whole table of guarantees.
 *
 * With RKC_DISABLE defined before this header is included, every name below
 * becomes nothing at all and the program needs no library.
 */
#ifndef RANKCLOCK_REGION_H
#define RANKCLOCK_REGION_H

#include <rankclock/status.h>

/* The longest region name, its terminating NUL included. */
#define RKC_NAME_MAX 256

/* Flags of rkc_region_mark. */
#define RKC_WAIT 1u /* the region waits for a device: its time is not useful work */

struct rkc_region; /* opaque; lives as long as the process */

/* Called through a pointer rather than a stub of the linker's, where the compiler can. */
#if defined(__has_attribute) && defined(__x86_64__)
#if __has_attribute(noplt)
#define RKC_DIRECT_ __attribute__((noplt))
#endif
#endif
#ifndef RKC_DIRECT_
#define RKC_DIRECT_
#endif

#ifndef RKC_DISABLE

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the library in use, as in "0.1.0". Constant; usable at any time. */
RKC_API const char *rkc_version(void);

/** Find or make the region of a name.
 *
 * @param name  UTF-8, shorter than RKC_NAME_MAX; copied
 *
 * @return a handle that stays valid until the process ends and is never freed.
 *   Never NULL: for a bad name (after one warning), a name that the filters
 *   exclude or when recording is off it is a handle that does nothing. Beyond
 *   8,192 names it is the region "(other)".
 *
 * Thread-safe. Takes no lock when the name is known. Cost: one hash of the name.
 */
RKC_API struct rkc_region *rkc_region_get(const char *name);

/** The same, remembering where in the program's source the region is.
 *
 * @param name  as for rkc_region_get
 * @param file  source file, or NULL; copied. The first place given is kept.
 * @param line  line in it, or 0
 *
 * @return as rkc_region_get
 */
RKC_API struct rkc_region *rkc_region_at(const char *name, const char *file, int line);

/** Begin a region on the calling thread: a child of the innermost open one.
 *
 * @param region  a handle from rkc_region_get; NULL does nothing
 *
 * Takes no lock and makes no system call but for a call path seen for the
 * first time. A nesting deeper than 256 is counted in the call path "(deep)".
 */
RKC_DIRECT_ RKC_API void rkc_region_begin(struct rkc_region *region);

/** End a region on the calling thread.
 *
 * @param region  the handle it was begun with
 *
 * If inner regions are still open they are ended with it, and noted; if the
 * region is not open on this thread nothing happens but a note in the file.
 */
RKC_DIRECT_ RKC_API void rkc_region_end(struct rkc_region *region);

/** Begin a region by name.
 *
 * @param name  UTF-8, shorter than RKC_NAME_MAX; copied on first use
 *
 * @return 0, or
 *   RKC_ENAME   name is NULL, empty or too long
 *   RKC_EOFF    recording is off or paused, or the name is filtered out
 *
 * Slower than by handle: the name is compared, or hashed, each time.
 */
RKC_DIRECT_ RKC_API int rkc_begin(const char *name);

/** End a region by name.
 *
 * @param name  the name it was begun with; another copy of the text will do
 *
 * @return 0, or
 *   RKC_ENAME     name is NULL, empty or too long
 *   RKC_ENOTOPEN  no region of this name is open on this thread
 *   RKC_EOFF      recording is off, or the name is filtered out
 */
RKC_DIRECT_ RKC_API int rkc_end(const char *name);

/** Tell what kind of region it is.
 *
 * @param region  a handle from rkc_region_get
 * @param flags   RKC_WAIT or 0; replaces earlier flags
 *
 * @return 0, or
 *   RKC_EARG  region is NULL or flags has unknown bits
 *
 * Thread-safe. Holds for the whole run, visits already made included.
 */
RKC_API int rkc_region_mark(struct rkc_region *region, unsigned flags);

/** Time only every n-th visit of a region on each thread; count them all.
 *
 * @param region  a handle from rkc_region_get
 * @param n       1 times every visit (the default); 10 every tenth, the first included
 *
 * @return 0, or
 *   RKC_EARG  region is NULL or n is 0
 *
 * A visit that is not timed is transparent: regions inside it hang from the
 * nearest recorded one. The file keeps the visits, those left out, and the time
 * of those measured; what the report extrapolates from them is marked "~".
 */
RKC_API int rkc_region_every(struct rkc_region *region, unsigned n);

/** Stop recording in the whole process, from each thread's next begin on.
 *
 * Regions that are open end normally; MPI calls are not recorded either. Calls
 * do not nest. MPI_Pcontrol(0) does the same.
 */
RKC_API void rkc_pause(void);

/** Record again, from each thread's next begin on. MPI_Pcontrol(1) does the same. */
RKC_API void rkc_resume(void);

/* The handle of a place in the source, found at its first visit. A race of two threads
 * there is harmless: both find the same. */
static inline struct rkc_region *rkc_site_(struct rkc_region **site, const char *name,
                                           const char *file, int line)
{
    struct rkc_region *region = __atomic_load_n(site, __ATOMIC_ACQUIRE);
    if (!region) {
        region = rkc_region_at(name, file, line);
        __atomic_store_n(site, region, __ATOMIC_RELEASE);
    }
    return region;
}

/* A handle's first word is 0 when it records nothing; then there is nothing to call. */
static inline int rkc_records_(const struct rkc_region *region)
{
    return region && *(const unsigned *)(const void *)region;
}

static inline void rkc_region_begin_(struct rkc_region *region)
{
    if (rkc_records_(region))
        rkc_region_begin(region);
}

static inline void rkc_region_end_(struct rkc_region *region)
{
    if (rkc_records_(region))
        rkc_region_end(region);
}

#ifdef __cplusplus
}
#endif

/* Calls alone: the functions still have their addresses. */
#define rkc_region_begin(region) rkc_region_begin_(region)
#define rkc_region_end(region) rkc_region_end_(region)

/** Begin the region `name`, a string that is the same at each visit. A statement. */
#define RKC_BEGIN(name)                                                            \
    do {                                                                           \
        static struct rkc_region *rkc_here_;                                       \
        rkc_region_begin(rkc_site_(&rkc_here_, name, __FILE__, __LINE__));         \
    } while (0)

/** End the region `name`. A statement. */
#define RKC_END(name)                                                              \
    do {                                                                           \
        static struct rkc_region *rkc_here_;                                       \
        rkc_region_end(rkc_site_(&rkc_here_, name, __FILE__, __LINE__));           \
    } while (0)

#ifndef __cplusplus
static inline struct rkc_region *rkc_scope_begin_(struct rkc_region *region)
{
    rkc_region_begin(region);
    return region;
}

static inline void rkc_scope_end_(struct rkc_region **region)
{
    rkc_region_end(*region);
}

#define RKC_SCOPE_AT_(name, line)                                                  \
    static struct rkc_region *rkc_site_##line##_;                                  \
    __attribute__((unused, cleanup(rkc_scope_end_)))                               \
    struct rkc_region *rkc_scope_##line##_ =                                       \
        rkc_scope_begin_(rkc_site_(&rkc_site_##line##_, name, __FILE__, line))
#define RKC_SCOPE_(name, line) RKC_SCOPE_AT_(name, line)

/** Time the rest of the enclosing block as the region `name`, however it is left
 * (return, break, goto). A declaration. C++: see rankclock.hpp. */
#define RKC_SCOPE(name) RKC_SCOPE_(name, __LINE__)
#endif

#else /* RKC_DISABLE */

/* Nothing, as a value that may be ignored. */
#ifdef __GNUC__
__attribute__((always_inline))
#endif
static inline int rkc_disabled_(void)
{
    return RKC_OK;
}

#define RKC_BEGIN(name) ((void)0)
#define RKC_END(name) ((void)0)
#define RKC_SCOPE(name) ((void)0)
#define rkc_version() "disabled"
#define rkc_region_get(name) ((struct rkc_region *)0)
#define rkc_region_at(name, file, line) ((struct rkc_region *)0)
#define rkc_region_begin(region) ((void)(region))
#define rkc_region_end(region) ((void)(region))
#define rkc_begin(name) rkc_disabled_()
#define rkc_end(name) rkc_disabled_()
#define rkc_region_mark(region, flags) ((void)(region), rkc_disabled_())
#define rkc_region_every(region, n) ((void)(region), rkc_disabled_())
#define rkc_pause() ((void)0)
#define rkc_resume() ((void)0)

#endif /* RKC_DISABLE */

#endif
