/* numa.h - which NUMA node devices and processors are near to. */
#ifndef RKC_GPU_NUMA_H
#define RKC_GPU_NUMA_H

/* Where the system tells: /sys. Tests change it. */
extern const char *rkc_numa_root;

/* The node of a device by its PCI bus id, in either case; -1 where the system does not tell. Keeps
 * errno, as does the next. */
int rkc_numa_of_device(const char *bus_id);

/* The node of a processor; -1 where the system does not tell. */
int rkc_numa_of_cpu(int cpu);

#endif
