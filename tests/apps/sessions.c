/* MPI by sessions, without MPI_Init and MPI_Finalize, on two ranks. Two rounds of one session each,
 * and one that lasts longer than both, for not every MPI can begin again after its last; each round
 * sends and receives 5 MPI_Sendrecv of 8 bytes and sums one int by MPI_Allreduce.
 *   sessions [HOW]    HOW: open   the long session is never finalized
 *                          init   MPI_Init and MPI_Finalize lie around the second round
 *                          abort  rank 0 calls MPI_Abort in the second round
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me = -1;

static void call(const char *function, const char *name)
{
    int (*found)(const char *);
    *(void **)&found = dlsym(RTLD_DEFAULT, function);
    if (found)
        found(name);
}

static MPI_Session begin(const char *tag, MPI_Comm *comm)
{
    MPI_Session session;
    MPI_Group group;
    int ranks;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(*comm, &me);
    MPI_Comm_size(*comm, &ranks);
    if (ranks != 2)
        exit(3);
    return session;
}

static void end(MPI_Session session, MPI_Comm comm)
{
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

static void use(const char *tag, const char *how)
{
    int one = 1, sum = 0;
    MPI_Comm comm;
    call("rkc_begin", "round");
    MPI_Session session = begin(tag, &comm);
    if (strcmp(how, "abort") == 0 && me == 0)
        MPI_Abort(comm, 7);
    for (int i = 0; i < 5; i++) {
        double out = me, in = -1;
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, 1 - me, i, &in, 1, MPI_DOUBLE, 1 - me, i, comm,
                     MPI_STATUS_IGNORE);
        if (in != 1 - me)
            exit(3);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != 2)
        exit(3);
    end(session, comm);
    call("rkc_end", "round");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Comm comm;
    MPI_Session session = begin("all", &comm);
    use("one", "");
    if (strcmp(how, "init") == 0)
        MPI_Init(NULL, NULL);
    use("two", how);
    if (strcmp(how, "init") == 0)
        MPI_Finalize();
    MPI_Barrier(comm);
    if (strcmp(how, "open") != 0)
        end(session, comm);
    call("rkc_begin", "late");
    call("rkc_end", "late");
    printf("rank %d done\n", me);
    return 0;
}
