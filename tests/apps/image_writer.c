/* image_writer.c - a program without MPI that visits regions on two threads and keeps count itself.
 *
 *   image_writer NOTES [SECONDS [OTHERS]]
 *
 * After each end of a region it counts the visit in NOTES, a file of NOTED numbers for each thread
 * that another process can read after this one was killed. It ends after SECONDS, or when killed.
 * Before all that it visits OTHERS more regions once, so that its image grows.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <rankclock/rankclock.h>

/* In the order in which tests/image_reader.c names their call paths. */
enum { STEP, HALO, PACK, COMPUTE, FLUX, NOTED };
enum { THREADS = 2, FLUXES = 4 };

static struct rkc_region *region[NOTED];
static double end_s;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void finish(_Atomic int64_t *note, int which)
{
    rkc_region_end(region[which]);
    atomic_store_explicit(&note[which], note[which] + 1, memory_order_release);
}

static void step(_Atomic int64_t *note)
{
    rkc_region_begin(region[STEP]);
    rkc_region_begin(region[HALO]);
    rkc_region_begin(region[PACK]);
    finish(note, PACK);
    finish(note, HALO);
    rkc_region_begin(region[COMPUTE]);
    for (int i = 0; i < FLUXES; i++) {
        rkc_region_begin(region[FLUX]);
        finish(note, FLUX);
    }
    finish(note, COMPUTE);
    finish(note, STEP);
}

static void *work(void *note)
{
    for (int64_t i = 1; end_s == 0 || i % 64 || now_s() < end_s; i++)
        step(note);
    return NULL;
}

static void visit_others(int n)
{
    char name[32];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "other %d", i);
        rkc_begin(name);
        rkc_end(name);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[NOTED] = {"step", "halo", "pack", "compute", "flux"};
    size_t bytes = sizeof(int64_t) * NOTED * THREADS;
    pthread_t other;
    int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) {
        fputs("usage: image_writer NOTES [SECONDS [OTHERS]]\n", stderr);
        return 2;
    }
    _Atomic int64_t *note = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (note == MAP_FAILED)
        return 2;
    if (argc > 2)
        end_s = now_s() + atof(argv[2]);
    visit_others(argc > 3 ? atoi(argv[3]) : 0);
    for (int i = 0; i < NOTED; i++)
        region[i] = rkc_region_get(names[i]);
    if (pthread_create(&other, NULL, work, (void *)(note + NOTED)) != 0)
        return 2;
    work((void *)note);
    pthread_join(other, NULL);
    return 0;
}
