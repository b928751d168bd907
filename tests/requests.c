/* RANKS 2 */
/* requests.c - what nonblocking and persistent operations move, and when it is booked. */
#include "autoconf.h"

#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../pmpi/request.h"
#include "counters.h"
#include "tap.h"

enum { MANY = 100 };

static int me, peer;
static int in[MANY][8], out[8];

static void send_ints(int n, int tag)
{
    PMPI_Send(out, n, MPI_INT, peer, tag, MPI_COMM_WORLD);
}

static void receive(int tag, MPI_Request *request)
{
    MPI_Irecv(in[tag % MANY], 8, MPI_INT, peer, tag, MPI_COMM_WORLD, request);
}

static void is_idle(const char *what)
{
    is_int(atomic_load(&rkc_requests_active), 0, what);
}

/* ---- when and where ---- */

static void test_booking(void)
{
    MPI_Request request;
    rkc_begin("post");
    receive(1, &request);
    rkc_end("post");
    PMPI_Barrier(MPI_COMM_WORLD);
    send_ints(5, 1);
    is_int(counters_of("post", "MPI_Irecv").received, 0,
           "a receive has nothing until it completes");
    is_int(counters_of("post", "MPI_Irecv").sizes, 0, "and is no entry among the sizes");
    rkc_begin("complete");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    rkc_end("complete");
    struct counters post = counters_of("post", "MPI_Irecv");
    struct counters complete = counters_of("complete", "MPI_Wait");
    is_int(post.received, 20, "then what arrived belongs to the call that posted it");
    is_int(post.size[5], 1, "and is one entry of its size");
    is_int(complete.received, 0, "none of it to the call that completed it");
    is_int(post.completed, 1, "one request has completed");
    is_int(post.blocked, complete.ticks, "it was waited for as long as MPI_Wait took");
    ok(post.in_flight > post.blocked, "it was in flight for longer");
    is_int(request == MPI_REQUEST_NULL, 1, "the program sees a null request");
    is_idle("no request is left");
}

static void test_send(void)
{
    MPI_Request requests[MANY];
    rkc_begin("isend");
    for (int i = 0; i < MANY; i++)
        MPI_Isend(out, 2, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]);
    is_int(counters_of("isend", "MPI_Isend").sent, 8 * MANY, "a send counts when it is posted");
    for (int i = 0; i < MANY; i++)
        PMPI_Recv(in[i], 2, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    rkc_end("isend");
    struct counters isend = counters_of("isend", "MPI_Isend");
    is_int(isend.sent, 8 * MANY, "and not again when it completes");
    is_int(isend.completed, MANY, "requests that share a handle are counted one by one");
    is_int(isend.size[4], MANY, "each is an entry of its size");
    is_int(isend.blocked, counters_of("isend", "MPI_Waitall").ticks,
           "the time of MPI_Waitall is shared among them, to the last tick");
    is_idle("no send is left");
}

static void test_in_flight(void)
{
    MPI_Request request;
    rkc_begin("slow");
    int64_t before = (int64_t)rkc_clock_ticks();
    receive(1, &request);
    int64_t posted = (int64_t)rkc_clock_ticks();
    usleep(2000);
    send_ints(1, 1);
    int64_t waiting = (int64_t)rkc_clock_ticks();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int64_t after = (int64_t)rkc_clock_ticks();
    rkc_end("slow");
    int64_t in_flight = counters_of("slow", "MPI_Irecv").in_flight;
    ok(in_flight > waiting - posted, "time in flight lasts from the begin of the post");
    ok(in_flight < after - before, "to the end of the wait");
}

/* ---- every completion call ---- */

/* One request that completes at once between two null ones. */
static void arm(MPI_Request requests[3], int tag)
{
    requests[0] = requests[2] = MPI_REQUEST_NULL;
    receive(tag, &requests[1]);
    send_ints(3, tag);
    int flag = 0;
    while (!flag)
        MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
}

static void test_calls(void)
{
    MPI_Request requests[3];
    MPI_Status status, statuses[3];
    int index = -7, flag = 0, n = -7, indices[3] = {-7, -7, -7};
    rkc_begin("calls");

    arm(requests, 1);
    is_int(counters_of("calls", "MPI_Irecv").completed, 0,
           "MPI_Request_get_status completes nothing");
    MPI_Wait(&requests[1], &status);
    arm(requests, 2);
    while (!flag)
        MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
    arm(requests, 3);
    MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
    is_int(index, 1, "MPI_Waitany's index is passed on");
    arm(requests, 4);
    for (flag = 0; !flag;)
        MPI_Testany(3, requests, &index, &flag, &status);
    arm(requests, 5);
    MPI_Waitall(3, requests, statuses);
    is_int(statuses[1].MPI_TAG, 5, "MPI_Waitall's statuses are the program's");
    arm(requests, 6);
    for (flag = 0; !flag;)
        MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
    arm(requests, 7);
    MPI_Waitsome(3, requests, &n, indices, MPI_STATUSES_IGNORE);
    ok(n == 1 && indices[0] == 1 && indices[1] == -7, "MPI_Waitsome's indices are passed on");
    arm(requests, 8);
    for (n = 0; n == 0;)
        MPI_Testsome(3, requests, &n, indices, statuses);
    is_int(counters_of("calls", "MPI_Irecv").received, 8 * 12,
           "each of the eight calls completes a receive");
    is_int(counters_of("calls", "MPI_Irecv").completed, 8, "once");

    MPI_Waitany(3, requests, &index, &status);
    is_int(index, MPI_UNDEFINED, "null requests complete as MPI_UNDEFINED");
    MPI_Waitsome(3, requests, &n, indices, MPI_STATUSES_IGNORE);
    is_int(n, MPI_UNDEFINED, "in MPI_Waitsome, too");
    MPI_Testsome(3, requests, &n, indices, MPI_STATUSES_IGNORE);
    MPI_Testany(3, requests, &index, &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Wait(&requests[0], &status);
    rkc_end("calls");
    is_int(counters_of("calls", "MPI_Irecv").completed, 8, "and nothing else is counted");
    is_idle("no request is left by the calls");
}

/* More requests than have room on the stack, completed out of order. */
static void test_many(void)
{
    MPI_Request requests[MANY];
    int left = MANY, n, indices[MANY];
    rkc_begin("many");
    for (int i = 0; i < MANY; i++)
        receive(i, &requests[i]);
    for (int i = MANY - 1; i >= 0; i--)
        send_ints(1 + i % 4, i);
    while (left) {
        MPI_Waitsome(MANY, requests, &n, indices, MPI_STATUSES_IGNORE);
        left -= n;
    }
    rkc_end("many");
    struct counters irecv = counters_of("many", "MPI_Irecv");
    is_int(irecv.received, MANY / 4 * (4 + 8 + 12 + 16), "a hundred receives by MPI_Waitsome");
    is_int(irecv.completed, MANY, "complete once each");
    is_int(irecv.blocked, counters_of("many", "MPI_Waitsome").ticks,
           "and were waited for as long as the calls took");
}

/* ---- persistent ---- */

static void test_persistent(void)
{
    MPI_Request requests[2], never;
    MPI_Datatype pair;
    rkc_begin("init");
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Send_init(out, 2, pair, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in[0], 4, pair, peer, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Ssend_init(out, 1, pair, peer, 9, MPI_COMM_WORLD, &never);
    MPI_Type_free(&pair);
    rkc_end("init");

    for (int i = 0; i < 3; i++) {
        rkc_begin("start");
        if (i == 2)
            MPI_Startall(2, requests);
        else
            for (int k = 0; k < 2; k++)
                MPI_Start(&requests[k]);
        rkc_end("start");
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    is_int(counters_of("init", "MPI_Send_init").sizes, 0, "an init moves nothing");
    struct counters start = counters_of("start", "MPI_Start");
    is_int(start.sent, 2 * 16, "each start of a send counts, with the size at the init");
    is_int(start.received, 2 * 16, "and each completion of a receive, booked to its start");
    is_int(start.completed, 4, "four requests were started by MPI_Start");
    is_int(start.size[5], 4, "each is an entry of its size");
    is_int(counters_of("start", "MPI_Startall").sent, 16, "and two by MPI_Startall");
    is_int(counters_of("start", "MPI_Startall").received, 16, "booked there");
    is_idle("waiting for inactive ones completes nothing");
    is_int(atomic_load(&rkc_requests_held), 3, "they are kept until they are freed");
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Request_free(&never);
    is_int(atomic_load(&rkc_requests_held), 0, "and then forgotten");
    is_int(atomic_load(&rkc_image_header(rkc_private_image())->freed), 0,
           "an inactive one does not count as freed early");
}

/* ---- cancelled, freed, failed ---- */

static void test_cancelled(void)
{
    MPI_Request requests[2];
    rkc_begin("cancel");
    receive(50, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    receive(51, &requests[1]);
    send_ints(2, 51);
    int flag = 0;
    while (!flag)
        MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    rkc_end("cancel");
    struct counters irecv = counters_of("cancel", "MPI_Irecv");
    is_int(irecv.received, 8, "a receive cancelled in time brings nothing, one too late its data");
    is_int(irecv.sizes, 1, "and the first is no entry");
    is_idle("no cancelled request is left");
}

static void test_freed(void)
{
    struct rkc_image_header *header = rkc_image_header(rkc_private_image());
    MPI_Request request;
    rkc_begin("free");
    receive(60, &request);
    MPI_Request_free(&request);
    send_ints(1, 60);
    PMPI_Barrier(MPI_COMM_WORLD);
    receive(61, &request);
    send_ints(2, 61);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    rkc_end("free");
    is_int(atomic_load(&header->freed), 1, "a request freed while active is counted as such");
    is_int(counters_of("free", "MPI_Irecv").received, 8, "and what uses its handle next is right");
    is_idle("no freed request is left");
}

/* ---- collectives ---- */

static void test_collectives(void)
{
    MPI_Request requests[3];
    double x = 1, y;
    rkc_begin("collective");
    MPI_Iallreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(in[0], 3, MPI_INT, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    rkc_end("collective");
    struct counters reduce = counters_of("collective", "MPI_Iallreduce");
    struct counters bcast = counters_of("collective", "MPI_Ibcast");
    struct counters barrier = counters_of("collective", "MPI_Ibarrier");
    ok(reduce.sent == 8 && reduce.received == 8 && reduce.sizes == 1,
       "a nonblocking collective counts once");
    is_int(me == 1 ? bcast.sent : bcast.received, 12, "by the rules of the blocking one");
    is_int(me == 1 ? bcast.received : bcast.sent, 0, "in both directions");
    is_int(barrier.sizes, 0, "a nonblocking barrier is no entry");
    is_int(reduce.completed + bcast.completed + barrier.completed, 3,
           "all three have times in flight");
    is_int(reduce.blocked + bcast.blocked + barrier.blocked,
           counters_of("collective", "MPI_Waitall").ticks, "and share the time of MPI_Waitall");
}

#ifdef RKC_HAVE_MPI_PERSISTENT_COLLECTIVES
static void test_persistent_collectives(void)
{
    MPI_Request request;
    double x = 1, y;
    rkc_begin("persistent");
    MPI_Allreduce_init(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    rkc_end("persistent");
    MPI_Request_free(&request);
    struct counters start = counters_of("persistent", "MPI_Start");
    ok(start.sent == 16 && start.received == 16 && start.sizes == 2,
       "a persistent collective counts at each start");
}
#else
static void test_persistent_collectives(void)
{
    skip(1, "this MPI has no persistent collectives");
}
#endif

/* ---- while recording is paused ---- */

static void test_paused(void)
{
    MPI_Request request, planned;
    rkc_begin("pause");
    receive(80, &request);
    rkc_pause();
    MPI_Recv_init(in[2], 8, MPI_INT, peer, 81, MPI_COMM_WORLD, &planned);
    send_ints(2, 80);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    rkc_resume();
    is_int(counters_of("pause", "MPI_Irecv").received, 8,
           "a request completed during a pause is booked to its post");
    is_int(counters_of("pause", "MPI_Irecv").blocked, 0, "and was not waited for");
    MPI_Start(&planned);
    send_ints(3, 81);
    MPI_Wait(&planned, MPI_STATUS_IGNORE);
    rkc_end("pause");
    is_int(counters_of("pause", "MPI_Start").received, 12,
           "a persistent request made during a pause counts when it is started after it");
    MPI_Request_free(&planned);
}

/* ---- the table ---- */

/* Two requests of one handle and the order in which they complete. */
static uint64_t first_of_two(uint64_t key)
{
    struct rkc_request request = {.ticks = 1, .flags = RKC_REQUEST_ACTIVE}, first, second;
    rkc_request_add(key, &request);
    request.ticks = 2;
    rkc_request_add(key, &request);
    int found = rkc_request_complete(key, &first) && rkc_request_complete(key, &second);
    return found && first.ticks + second.ticks == 3 ? first.ticks : 0;
}

static void test_table(void)
{
    enum { KEYS = 100000 };
    struct rkc_request request = {.flags = RKC_REQUEST_ACTIVE}, taken;
    int wrong = 0;
    for (uint64_t key = 1; key <= KEYS; key++) {
        request.ticks = key;
        rkc_request_add(key << 4, &request);
    }
    for (uint64_t key = KEYS; key; key--)
        wrong += !rkc_request_complete(key << 4, &taken) || taken.ticks != key;
    is_int(wrong, 0, "a hundred thousand requests are found again");
    for (uint64_t key = 1; key <= KEYS; key++)
        wrong += rkc_request_complete(key << 4, &taken);
    is_int(wrong, 0, "and only once");
    is_int(first_of_two(48), 2, "with one thread the newest request of a handle completes first");
    rkc_mpi_concurrent = 1;
    is_int(first_of_two(48), 1, "with several the oldest, since a handle is soon used again");
    rkc_mpi_concurrent = 0;
    is_int(atomic_load(&rkc_requests_held), 0, "the table is empty again");
}

static void test_full(void)
{
    struct rkc_image_header *header = rkc_image_header(rkc_private_image());
    struct rkc_request request = {.flags = RKC_REQUEST_ACTIVE}, taken;
    for (uint64_t key = 1; key <= RKC_REQUESTS_MAX + 5; key++)
        rkc_request_add(key << 4, &request);
    is_int(atomic_load(&header->untracked), 5,
           "requests beyond the limit are counted as untracked");
    for (uint64_t key = 1; key <= RKC_REQUESTS_MAX; key++)
        rkc_request_complete(key << 4, &taken);
    is_int(atomic_load(&rkc_requests_held), 0, "and those within it can complete");
}

/* ---- threads ---- */

enum { ROUNDS = 2000, THREADS = 2 };

static MPI_Request handed;

static void *wait_for_it(void *arg)
{
    (void)arg;
    MPI_Wait(&handed, MPI_STATUS_IGNORE);
    return NULL;
}

/* By MPI_Testall: threads that wait at the same time can hang in Open MPI 4.1 by itself. */
static void *exchange(void *arg)
{
    int tag = 1000 + (int)(intptr_t)arg, data[8];
    rkc_begin("thread");
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request requests[2];
        MPI_Irecv(data, 8, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 1 + i % 8, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[1]);
        for (int flag = 0; !flag;)
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    }
    rkc_end("thread");
    return NULL;
}

static void test_threads(void)
{
    pthread_t thread[THREADS];
    rkc_mpi_set_threads(MPI_THREAD_MULTIPLE);
    rkc_begin("hand over");
    receive(90, &handed);
    send_ints(4, 90);
    pthread_create(&thread[0], NULL, wait_for_it, NULL);
    pthread_join(thread[0], NULL);
    rkc_end("hand over");
    is_int(counters_of("hand over", "MPI_Irecv").received, 16,
           "a receive completed by another thread belongs to the thread that posted it");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, exchange, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    int64_t bytes = THREADS * (ROUNDS / 8) * 4 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8);
    is_int(counters_of("thread", "MPI_Irecv").received, bytes,
           "threads that exchange at the same time lose no byte received");
    is_int(counters_of("thread", "MPI_Isend").sent, bytes, "nor sent");
    is_int(counters_of("thread", "MPI_Irecv").completed, THREADS * ROUNDS, "nor a completion");
    is_int(atomic_load(&rkc_requests_held), 0, "nor leave a request behind");
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    peer = 1 - me;
    if (me != 0)
        tap_silence();
    rkc_mpi_concurrent = 0; /* until test_threads */
    test_booking();
    test_send();
    test_in_flight();
    test_calls();
    test_many();
    test_persistent();
    test_cancelled();
    test_freed();
    test_collectives();
    test_persistent_collectives();
    test_paused();
    test_table();
    test_full();
    if (level == MPI_THREAD_MULTIPLE)
        test_threads();
    else
        skip(5, "this MPI has no MPI_THREAD_MULTIPLE");
    counters_end();
    return done_testing();
}
