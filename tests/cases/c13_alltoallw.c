/* MPI_Alltoallw has a type for every peer: two chars for rank 0, two ints for rank 1, two
 * doubles for rank 2. Sizing all by one of them is wrong (jeffhammond/mukautuva#13,
 * pmodels/mpich#6404).
 *
 * RUN np=3
 * EXPECT * MPI_Alltoallw calls=1 out=26
 * EXPECT * MPI_Ialltoallw calls=1 out=26
 * EXPECT 0 MPI_Alltoallw in=6
 * EXPECT 1 MPI_Alltoallw in=24
 * EXPECT 2 MPI_Alltoallw in=48
 * EXPECT 0 MPI_Ialltoallw in=6
 * EXPECT 1 MPI_Ialltoallw in=24
 * EXPECT 2 MPI_Ialltoallw in=48
 * EXPECT * MPI_Wait calls=1 out=0 in=0
 */
#include "case.h"

#include <stddef.h>

enum { N = 3 };

struct parcel {
    double doubles[2];
    int ints[2];
    char chars[2];
};

static void check_inbox(const char *inbox)
{
    int from_two_int;
    double from_one_double;

    memcpy(&from_two_int, inbox + 5 * sizeof(int), sizeof from_two_int);
    memcpy(&from_one_double, inbox + 3 * sizeof(double), sizeof from_one_double);
    CHECK(me != 0 || (inbox[3] == 'B' && inbox[5] == 'C'));
    CHECK(me != 1 || from_two_int == 102);
    CHECK(me != 2 || from_one_double == 1.5);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(N);
    MPI_Datatype types_out[N] = {MPI_CHAR, MPI_INT, MPI_DOUBLE}, types_in[N];
    int size_in = (int[]){sizeof(char), sizeof(int), sizeof(double)}[me];
    int twos[N] = {2, 2, 2}, places_in[N];
    int places_out[N] = {offsetof(struct parcel, chars), offsetof(struct parcel, ints),
                         offsetof(struct parcel, doubles)};
    struct parcel parcel = {{0, me + 0.5}, {0, 100 + me}, {'a', (char)('A' + me)}};
    char inbox[N * sizeof(struct parcel)] = "";
    MPI_Request request;

    for (int peer = 0; peer < N; peer++) {
        types_in[peer] = types_out[me];
        places_in[peer] = 2 * size_in * peer;
    }
    MPI_Alltoallw(&parcel, twos, places_out, types_out, inbox, twos, places_in, types_in,
                  MPI_COMM_WORLD);
    check_inbox(inbox);
    memset(inbox, 0, sizeof inbox);
    MPI_Ialltoallw(&parcel, twos, places_out, types_out, inbox, twos, places_in, types_in,
                   MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_inbox(inbox);
    case_done();
    MPI_Finalize();
    return 0;
}
