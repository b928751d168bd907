/* The program handles SIGTERM and SIGUSR1 itself, as those do that save their state when the
 * batch system warns them: its handlers stay in place and run once each, and the run ends in
 * good order (Lightning-AI/pytorch-lightning#15022, ROCm/spur#546). MPICH takes SIGUSR1 for itself
 * in MPI_Init: there the program sets its handler once more.
 *
 * RUN np=2
 * REGION * loop visits=1 unclosed=0 parent=(run)
 * EXPECT * MPI_Barrier calls=1
 */
#include "case.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t n_terms, n_users;

static void on_signal(int number)
{
    if (number == SIGTERM)
        n_terms++;
    else
        n_users++;
}

static void (*handler_of(int number))(int)
{
    struct sigaction action;

    sigaction(number, NULL, &action);
    return action.sa_handler;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    MPI_Init(&argc, &argv);
    case_whoami(2);
#ifdef MPICH_VERSION
    sigaction(SIGUSR1, &action, NULL);
#endif
    CHECK(handler_of(SIGTERM) == on_signal && handler_of(SIGUSR1) == on_signal);
    region_begin("loop");
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGTERM);
    for (int i = 0; i < 1000 && (n_terms == 0 || n_users == 0); i++)
        usleep(1000);
    region_end("loop");
    CHECK(n_terms == 1 && n_users == 1);
    CHECK(handler_of(SIGTERM) == on_signal && handler_of(SIGUSR1) == on_signal);
    MPI_Barrier(MPI_COMM_WORLD);
    case_done();
    MPI_Finalize();
    return 0;
}
