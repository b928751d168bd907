/* A siglongjmp leaves two regions without ending them, once from code and once from a signal
 * handler. The end of the region around them closes them; what follows is right again.
 *
 * RUN np=2
 * REGION * outer visits=2 unclosed=0 parent=(run)
 * REGION * middle visits=2 unclosed=2 parent=outer
 * REGION * inner visits=2 unclosed=2 parent=middle
 * REGION * good visits=10 unclosed=0 parent=(run)
 * NOTES end_crossing count=4
 */
#include "case.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf rescue;

static void on_signal(int number)
{
    siglongjmp(rescue, number);
}

static void fall(int by_signal)
{
    region_begin("middle");
    region_begin("inner");
    if (by_signal)
        raise(SIGUSR1);
    siglongjmp(rescue, SIGUSR1);
}

static void attempt(int by_signal)
{
    region_begin("outer");
    int reason = sigsetjmp(rescue, 1);
    if (reason == 0)
        fall(by_signal);
    CHECK(reason == SIGUSR1);
    region_end("outer");
    for (int i = 0; i < 5; i++) {
        region_begin("good");
        region_end("good");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    signal(SIGUSR1, on_signal);
    attempt(0);
    attempt(1);
    case_done();
    MPI_Finalize();
    return 0;
}
