/* The clock of the host, real or virtual, and that of the devices. */
#include "double.h"

#include <time.h>

int64_t fake_real_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void fake_wake_at(int64_t ns)
{
    if (ns < fake.wake_ns)
        fake.wake_ns = ns;
}

static void sleep_unlocked(int64_t ns)
{
    struct timespec pause = {0, ns};
    fake_unlock();
    nanosleep(&pause, NULL);
    fake_lock();
}

void fake_wait(int (*is_done)(void *object), void *object)
{
    const int64_t poll_ns = 50000; /* for what another thread or process does */
    for (;;) {
        fake.wake_ns = INT64_MAX;
        if (is_done(object))
            return;
        int64_t left_ns = fake.wake_ns - fake_now();
        if (fake.wake_ns == INT64_MAX || (left_ns > poll_ns && !fake.is_virtual))
            sleep_unlocked(poll_ns);
        else if (left_ns > 0 && fake.is_virtual)
            fake.virtual_ns = fake.wake_ns;
        else if (left_ns > 0)
            sleep_unlocked(left_ns);
    }
}

void fakecuda_virtual_clock(int on)
{
    fake_lock();
    fake.is_virtual = on;
    fake_unlock();
}

void fakecuda_advance(uint64_t ns)
{
    fake_lock();
    fake.virtual_ns += (int64_t)ns;
    fake_unlock();
}

int64_t fakecuda_now(void)
{
    fake_lock();
    int64_t now_ns = fake_now();
    fake_unlock();
    return now_ns;
}

void fakecuda_gpu_clock(int64_t offset_ns, double drift_ppm, uint32_t tick_ns)
{
    fake_lock();
    fake.gpu_offset_ns = offset_ns;
    fake.gpu_drift_ppb = (int64_t)(drift_ppm * 1000);
    fake.gpu_tick_ns = tick_ns ? tick_ns : 1;
    fake_unlock();
}
