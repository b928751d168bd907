/* A rank forks, twice: one child goes through regions and exits with a status, one becomes
 * another program, which has the library preloaded too. Neither is a rank: they leave no trace
 * in the file, no image and no word, and their parent sees the statuses they left.
 *
 * RUN np=2
 * REGION * parent visits=2 unclosed=0
 * REGION * child visits=0
 * VISITS * user=2
 * EXPECT * MPI_Barrier calls=1
 * STDERR <=1
 */
#include "case.h"

#include <sys/wait.h>
#include <unistd.h>

static int status_of(pid_t child)
{
    int status = -1;

    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    region_begin("parent");
    pid_t worker = fork();
    if (worker == 0) {
        for (int i = 0; i < 1000; i++) {
            region_begin("child");
            region_end("child");
        }
        region_begin("child");
        exit(5);
    }
    CHECK(status_of(worker) == 5);
    region_end("parent");

    region_begin("parent");
    pid_t other = fork();
    if (other == 0) {
        execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL);
        _exit(127);
    }
    CHECK(status_of(other) == 6);
    region_end("parent");
    MPI_Barrier(MPI_COMM_WORLD);
    case_done();
    MPI_Finalize();
    return 0;
}
