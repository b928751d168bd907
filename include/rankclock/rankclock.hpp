/* rankclock.hpp - regions for C++11 and later, which end with their scope, exceptions included.
 *
 *   void step()
 *   {
 *       RKC_SCOPE("step");
 *       ...
 *   }
 *
 * All of region.h can be used beside it. With RKC_DISABLE defined before this header is
 * included nothing here does anything and the program needs no library.
 */
#ifndef RANKCLOCK_RANKCLOCK_HPP
#define RANKCLOCK_RANKCLOCK_HPP

#include <rankclock/rankclock.h>

namespace rankclock {

#ifndef RKC_DISABLE

/** A region's handle; see rkc_region_get. Cheap to copy; ends nothing when it goes. */
class region {
public:
    /** Find or make the region of a name, as rkc_region_at does. */
    explicit region(const char *name, const char *file = nullptr, int line = 0) noexcept
        : handle_(rkc_region_at(name, file, line))
    {
    }

    void begin() const noexcept { rkc_region_begin(handle_); }
    void end() const noexcept { rkc_region_end(handle_); }

    /** RKC_WAIT or 0; 0 or RKC_EARG, as rkc_region_mark. */
    int mark(unsigned flags) const noexcept { return rkc_region_mark(handle_, flags); }

    /** Time each n-th visit alone; 0 or RKC_EARG, as rkc_region_every. */
    int every(unsigned n) const noexcept { return rkc_region_every(handle_, n); }

    struct rkc_region *handle() const noexcept { return handle_; }

private:
    struct rkc_region *handle_;
};

/** One visit of a region, from here to the end of the enclosing block, however it is left.
 * It must go on the thread that it was made on. */
class scope {
public:
    explicit scope(const region &visited) noexcept : handle_(visited.handle()) { begin(); }
    explicit scope(struct rkc_region *handle) noexcept : handle_(handle) { begin(); }
    explicit scope(const char *name) noexcept : handle_(rkc_region_get(name)) { begin(); }
    ~scope() { rkc_region_end(handle_); }

    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

private:
    void begin() noexcept { rkc_region_begin(handle_); }

    struct rkc_region *handle_;
};

/** The same on the host and on a stream; see rkc_gpu_begin. */
class gpu_scope {
public:
    gpu_scope(const region &visited, void *stream) noexcept
        : handle_(visited.handle()), stream_(stream)
    {
        rkc_gpu_begin(handle_, stream_);
    }
    ~gpu_scope() { rkc_gpu_end(handle_, stream_); }

    gpu_scope(const gpu_scope &) = delete;
    gpu_scope &operator=(const gpu_scope &) = delete;

private:
    struct rkc_region *handle_;
    void *stream_;
};

#else

class region {
public:
    explicit region(const char *, const char * = nullptr, int = 0) noexcept {}
    void begin() const noexcept {}
    void end() const noexcept {}
    int mark(unsigned) const noexcept { return 0; }
    int every(unsigned) const noexcept { return 0; }
    struct rkc_region *handle() const noexcept { return nullptr; }
};

class scope {
public:
    explicit scope(const region &) noexcept {}
    explicit scope(struct rkc_region *) noexcept {}
    explicit scope(const char *) noexcept {}
    ~scope() {} /* so that a variable of this type is not called unused */

    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
};

class gpu_scope {
public:
    gpu_scope(const region &, void *) noexcept {}
    ~gpu_scope() {}

    gpu_scope(const gpu_scope &) = delete;
    gpu_scope &operator=(const gpu_scope &) = delete;
};

#endif

} // namespace rankclock

#ifndef RKC_DISABLE

#define RKC_CPP_PASTE2_(a, b) a##b
#define RKC_CPP_PASTE_(a, b) RKC_CPP_PASTE2_(a, b)

/** Time the rest of the enclosing block as the region `name`, a string that is the same at each
 * visit. A declaration; its handle is found at the first visit. */
#define RKC_SCOPE(name)                                                                       \
    static const ::rankclock::region RKC_CPP_PASTE_(rkc_region_, __LINE__)(name, __FILE__,    \
                                                                           __LINE__);         \
    const ::rankclock::scope RKC_CPP_PASTE_(rkc_scope_, __LINE__)(                            \
        RKC_CPP_PASTE_(rkc_region_, __LINE__))

/** The same on the host and on a stream, a CUstream or cudaStream_t. */
#define RKC_SCOPE_GPU(name, stream)                                                           \
    static const ::rankclock::region RKC_CPP_PASTE_(rkc_region_, __LINE__)(name, __FILE__,    \
                                                                           __LINE__);         \
    const ::rankclock::gpu_scope RKC_CPP_PASTE_(rkc_scope_, __LINE__)(                        \
        RKC_CPP_PASTE_(rkc_region_, __LINE__), stream)

#endif

#endif
