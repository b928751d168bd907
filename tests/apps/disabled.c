/* disabled.c - uses all of region.h; built with RKC_DISABLE it must need no library. Also C++. */
#ifdef __cplusplus
#include <rankclock/rankclock.hpp>
#else
#include <rankclock/rankclock.h>
#endif

static int scoped(void)
{
    RKC_SCOPE("scoped");
    return rkc_begin("by name") ? 1 : rkc_end("by name");
}

int main(void)
{
    struct rkc_region *region = rkc_region_get("region");
    RKC_BEGIN("begun");
    rkc_region_begin(region);
    rkc_region_end(region);
    rkc_begin("by name");
    rkc_end("by name");
    rkc_region_mark(region, RKC_WAIT);
    rkc_region_every(region, 3);
    rkc_pause();
    rkc_resume();
    RKC_END("begun");
    region = rkc_region_at("place", __FILE__, __LINE__);
    if (scoped())
        RKC_BEGIN("branch");
    else
        RKC_END("branch");
    (void)region;
    return rkc_version()[0] == 0;
}
