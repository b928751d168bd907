// scopes.cpp - C++ regions, left in every way there is; tests/nompi.sh has what the file must hold.
#include <rankclock/rankclock.hpp>

#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

static void thrower(int depth)
{
    RKC_SCOPE("thrower");
    if (depth == 0)
        throw std::runtime_error("out of all of them");
    RKC_SCOPE("deeper");
    thrower(depth - 1);
}

static int ways_out(int way)
{
    RKC_SCOPE("ways out");
    for (int i = 0; i < 2; i++) {
        rankclock::scope turn("turn");
        if (way == 0)
            continue;
        if (way == 1)
            break;
        return way;
    }
    return 0;
}

static rankclock::region early("early"); // made before main

static int exceptions()
{
    int caught = 0;
    RKC_SCOPE("exceptions");
    for (int i = 0; i < 5; i++) {
        try {
            thrower(3);
        } catch (const std::runtime_error &) {
            caught++;
            RKC_SCOPE("caught");
        }
    }
    return caught;
}

int main()
{
    RKC_BEGIN("main");
    early.begin();
    early.end();
    int caught = exceptions();
    for (int way = 0; way < 3; way++)
        ways_out(way);

    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] {
            for (int j = 0; j < 100; j++) {
                RKC_SCOPE("in thread");
            }
        });
    for (std::thread &thread : threads)
        thread.join();

    const rankclock::region sampled("sampled", __FILE__, __LINE__);
    int bad = sampled.every(5) != 0 || sampled.mark(RKC_WAIT) != 0;
    for (int i = 0; i < 10; i++) {
        const rankclock::scope visit(sampled);
    }
#ifndef RKC_DISABLE
    bad += sampled.every(0) != RKC_EARG;
#endif
    RKC_END("main");
    std::printf("caught %d, bad %d\n", caught, bad);
    return 0;
}
