/* numa.c - on machines with one node only, the system may say -1, or not have the files at all. */
#include "autoconf.h"

#include "gpu/numa.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *rkc_numa_root = "/sys";

/* A number and nothing behind it, or -1. */
static int number(const char *text)
{
    int value, used = -1;
    return sscanf(text, "%9d %n", &value, &used) == 1 && used > 0 && !text[used] && value >= 0
               ? value
               : -1;
}

static int read_number(const char *path)
{
    char text[32];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    return number(text);
}

int rkc_numa_of_device(const char *bus_id)
{
    unsigned domain, bus, device, function;
    char path[256];
    int saved = errno, node = -1;
    if (sscanf(bus_id, "%8x:%2x:%2x.%1x", &domain, &bus, &device, &function) == 4) {
        snprintf(path, sizeof path, "%s/bus/pci/devices/%04x:%02x:%02x.%x/numa_node", rkc_numa_root,
                 domain, bus, device, function);
        node = read_number(path);
    }
    errno = saved;
    return node;
}

/* The first entry nodeN of a folder. */
static int find_node(const char *path)
{
    const struct dirent *entry;
    int node = -1;
    DIR *folder = opendir(path);
    if (!folder)
        return -1;
    while (node < 0 && (entry = readdir(folder)))
        if (strncmp(entry->d_name, "node", 4) == 0)
            node = number(entry->d_name + 4);
    closedir(folder);
    return node;
}

int rkc_numa_of_cpu(int cpu)
{
    char path[256];
    int saved = errno;
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d", rkc_numa_root, cpu);
    int node = cpu < 0 ? -1 : find_node(path);
    errno = saved;
    return node;
}
