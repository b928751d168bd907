/* The few MPI calls that are allowed before MPI_Init and after MPI_Finalize: a tool has no rank
 * yet, or has given its tables back (llnl/Caliper#392, #584, pghysels/STRUMPACK#25).
 *
 * What is called after MPI_Finalize cannot be in the file and must do no harm.
 *
 * RUN np=2
 * EXPECT * MPI_Initialized calls=2
 * EXPECT * MPI_Get_version calls=1
 * EXPECT * MPI_Init calls=1
 * EXPECT * MPI_Barrier calls=1
 */
#include "case.h"

static int version(void)
{
    int major = 0, minor = 0;

    MPI_Get_version(&major, &minor);
    return major;
}

int main(int argc, char **argv)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int initialized = 1, finalized = 1, length = 0;

    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    MPI_Get_library_version(text, &length);
    CHECK(!initialized && !finalized && length > 0 && version() >= 3);

    MPI_Init(&argc, &argv);
    case_whoami(2);
    MPI_Initialized(&initialized);
    CHECK(initialized);
    double before = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Wtime() >= before);
    MPI_Finalize();

    MPI_Finalized(&finalized);
    MPI_Initialized(&initialized);
    if (!finalized || !initialized || version() < 3)
        return 1;
    case_done();
    return 0;
}
