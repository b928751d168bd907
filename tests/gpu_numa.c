/* Which NUMA nodes devices and ranks are at, by a folder made to look like /sys; and that the image
 * has it, on the double of libcuda.so.1. */
#include "autoconf.h"

#include "gpu_double.h"

#include <rankclock/rankclock.h>

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "gpu/numa.h"
#include "runtime.h"
#include "tap.h"

static char root[] = "/tmp/gpu_numa.XXXXXX";

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
    char command[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(command, sizeof command, format, values);
    va_end(values);
    if (system(command) != 0)
        exit(1);
}

static void put_device(const char *bus_id, const char *text)
{
    run("mkdir -p %s/bus/pci/devices/%s && printf %%b '%s' >%s/bus/pci/devices/%s/numa_node", root,
        bus_id, text, root, bus_id);
}

static void put_cpu(int cpu, const char *entries)
{
    run("mkdir -p %s/devices/system/cpu/cpu%d && cd %s/devices/system/cpu/cpu%d && mkdir %s", root,
        cpu, root, cpu, entries);
}

static void test_devices(void)
{
    put_device("0000:3b:00.0", "1\\n");
    put_device("10000:01:00.1", "12\\n");
    put_device("0000:02:00.0", "-1\\n");
    put_device("0000:03:00.0", "one\\n");
    put_device("0000:04:00.0", "");
    put_device("0000:05:00.0", "1 2\\n");
    put_device("0000:06:00.0", "99999999999\\n");
    errno = E2BIG;
    is_int(rkc_numa_of_device("0000:3B:00.0"), 1, "a device's node is found by its bus id");
    is_int(rkc_numa_of_device("0000:3b:00.0"), 1, "in either case");
    is_int(rkc_numa_of_device("00000000:3B:00.0"), 1, "and with a long domain");
    is_int(rkc_numa_of_device("10000:01:00.1"), 12, "or a large one");
    is_int(rkc_numa_of_device("0000:02:00.0"), -1, "a system may say that there is none");
    is_int(rkc_numa_of_device("0000:07:00.0"), -1, "or not know the device");
    is_int(rkc_numa_of_device("0000:03:00.0") + rkc_numa_of_device("0000:04:00.0") +
               rkc_numa_of_device("0000:05:00.0") + rkc_numa_of_device("0000:06:00.0"),
           -4, "what is no number is none");
    is_int(rkc_numa_of_device("") + rkc_numa_of_device("../../../x"), -2, "nor is an empty name");
    is_int(errno, E2BIG, "errno stays");
}

static void test_cpus(void)
{
    put_cpu(4, "cache node1 topology");
    put_cpu(5, "cache node node1x");
    put_cpu(6, "node12");
    errno = E2BIG;
    is_int(rkc_numa_of_cpu(4), 1, "a processor's node is an entry of its folder");
    is_int(rkc_numa_of_cpu(6), 12, "by number");
    is_int(rkc_numa_of_cpu(5), -1, "not everything is one");
    is_int(rkc_numa_of_cpu(7) + rkc_numa_of_cpu(-1), -2, "a processor may not be there");
    is_int(errno, E2BIG, "errno stays");
    rkc_numa_root = "/nowhere";
    is_int(rkc_numa_of_cpu(4) + rkc_numa_of_device("0000:3b:00.0"), -2, "nor any of it");
    rkc_numa_root = root;
}

/* The block of the only device. */
static const struct rkc_device_block *device_block(void)
{
    struct rkc_view view;
    const struct rkc_block *block = NULL;
    int broken = 0;
    rkc_view_own(&view, rkc_private_image());
    while ((block = rkc_view_next(&view, block, &broken)))
        if (block->kind == RKC_BLOCK_DEVICE)
            return (const void *)block;
    return NULL;
}

static void test_image(void)
{
    cpu_set_t one;
    int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    run("rm -rf %s/devices/system/cpu", root);
    put_cpu(cpu, "node5");
    gpu_set_up(1);
    snprintf(fakecuda_device(0)->pci_bus_id, sizeof fakecuda_device(0)->pci_bus_id, "0000:3B:00.0");
    struct rkc_region *region = rkc_region_get("kernel");
    rkc_gpu_begin(region, NULL);
    rkc_gpu_end(region, NULL);
    const struct rkc_device_block *block = device_block();
    ok(block != NULL, "a device that is used is in the image");
    is_int(block ? block->numa_node : -2, 1, "with the node that it is near to");
    is_int(block ? block->rank_numa_node : -2, 5, "and that where the process ran");
    rkc_private_stop(RKC_STATE_FINALIZED);
    rkc_private_done();
}

int main(void)
{
    if (!mkdtemp(root))
        return 1;
    rkc_numa_root = root;
    test_devices();
    test_cpus();
    test_image();
    run("rm -rf %s", root);
    return done_testing();
}
