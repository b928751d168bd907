/* gpu_region.h - what the end of a run has to know of GPU regions. */
#ifndef RKC_GPU_REGION_H
#define RKC_GPU_REGION_H

/* Why GPU regions have host times alone; NULL when there are none, or their driver is there. */
const char *rkc_gpu_missing(void);

#endif
