/* comm_processes.c - processes that are spawned, and groups that meet.
 *
 * What goes to another world is no message to a rank of this one. */
#include "autoconf.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "every.h"

/* MPICH on UCX has none of this: it opens no port, and refuses whatever else needs one. */
static int is_alone(void)
{
    char port[MPI_MAX_PORT_NAME];
    if (PMPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS) {
        PMPI_Close_port(port);
        return 0;
    }
    every_check(every_is("MPICH"), "a port can be opened");
    return 1;
}

/* Greet the first of those that were spawned, which answers. */
static void greet(MPI_Comm *spawned)
{
    int word = 5;
    if (me == 0) {
        MOVE(Send, (&word, 1, MPI_INT, 0, 1, *spawned), 4, 0);
        MESSAGE(OTHER_WORLD, 4);
        MOVE(Recv, (&word, 1, MPI_INT, 0, 2, *spawned, MPI_STATUS_IGNORE), 0, 4);
        CHECK(word == 6);
    }
    CALL(Comm_disconnect, (spawned));
}

int every_spawned(MPI_Comm parent)
{
    int rank, word;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        PMPI_Recv(&word, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
        word++;
        PMPI_Send(&word, 1, MPI_INT, 0, 2, parent);
    }
    PMPI_Comm_disconnect(&parent);
    every_end();
    return 0;
}

PROGRAM(spawned_processes)
{
    int codes[1];
    MPI_Comm spawned, parent;
    CALL(Comm_get_parent, (&parent));
    CHECK(parent == MPI_COMM_NULL);
    if (is_alone()) {
        REFUSED(Comm_spawn,
                (every_command, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, world, &spawned, codes));
        return;
    }
    CALL(Comm_spawn, (every_command, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, world, &spawned, codes));
    greet(&spawned);
}

PROGRAM(processes_of_two_commands)
{
    char *commands[2] = {every_command, every_command};
    const int numbers[2] = {1, 1};
    const MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    int codes[2];
    MPI_Comm spawned;
    if (is_alone()) {
        REFUSED(Comm_spawn_multiple,
                (2, commands, MPI_ARGVS_NULL, numbers, infos, 0, world, &spawned, codes));
        return;
    }
    CALL(Comm_spawn_multiple,
         (2, commands, MPI_ARGVS_NULL, numbers, infos, 0, world, &spawned, codes));
    greet(&spawned);
}

/* Ranks 0 and 1 meet 2 and 3. */
PROGRAM(groups_that_meet)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int low = me < 2, rank, out[4] = {0}, in[4];
    MPI_Comm half, both;
    if (is_alone()) {
        REFUSED(Comm_accept, ("nowhere", MPI_INFO_NULL, 0, MPI_COMM_SELF, &both));
        REFUSED(Comm_connect, ("nowhere", MPI_INFO_NULL, 0, MPI_COMM_SELF, &both));
        return;
    }
    PMPI_Comm_split(world, low, 0, &half);
    PMPI_Comm_rank(half, &rank);
    if (me == 0)
        PMPI_Open_port(MPI_INFO_NULL, port);
    PMPI_Bcast(port, sizeof port, MPI_CHAR, 0, world);
    if (low)
        CALL(Comm_accept, (port, MPI_INFO_NULL, 0, half, &both));
    else
        CALL(Comm_connect, (port, MPI_INFO_NULL, 0, half, &both));
    MOVE(Sendrecv, (out, 2, MPI_INT, rank, 0, in, 4, MPI_INT, rank, 0, both, MPI_STATUS_IGNORE), 8,
         8);
    MESSAGE((me + 2) % RANKS, 8);
    CALL(Comm_disconnect, (&both));
    if (me == 0)
        PMPI_Close_port(port);
    PMPI_Comm_free(&half);
}

/* A socket between ranks 0 and 1; -1 on the others. */
static int wire(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = -1, listening;
    if (me == 0) {
        listening = socket(AF_INET, SOCK_STREAM, 0);
        bind(listening, (struct sockaddr *)&address, sizeof address);
        listen(listening, 1);
        getsockname(listening, (struct sockaddr *)&address, &length);
        PMPI_Send(&address, sizeof address, MPI_BYTE, 1, 0, world);
        fd = accept(listening, NULL, NULL);
        close(listening);
    } else if (me == 1) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        PMPI_Recv(&address, sizeof address, MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
            CHECK(!"the ranks are connected");
    }
    return fd;
}

PROGRAM(joined_processes)
{
    int fd = wire(), out = 1, in = 0;
    MPI_Comm both;
    if (me > 1)
        return;
    if (is_alone()) {
        REFUSED(Comm_join, (fd, &both));
        close(fd);
        return;
    }
    CALL(Comm_join, (fd, &both));
    MOVE(Sendrecv, (&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, both, MPI_STATUS_IGNORE), 4, 4);
    MESSAGE(1 - me, 4);
    CHECK(in == 1);
    CALL(Comm_disconnect, (&both));
    close(fd);
}

PROGRAMS(processes) = {
    P(spawned_processes), P(processes_of_two_commands), P(groups_that_meet), P(joined_processes),
    {NULL, NULL},
};
