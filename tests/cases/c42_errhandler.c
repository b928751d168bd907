/* The program's own error handler counts the errors. A tool that asks the MPI about a bad rank
 * or a null type raises more of them, or ends the job (nerscadmin/IPM#41).
 *
 * All three calls fail: each is a call, none moves a byte, each gives its own code back.
 *
 * RUN np=2
 * EXPECT * MPI_Send calls=2 out=0 in=0
 * EXPECT * MPI_Bcast calls=1 out=0 in=0
 * TOTAL * out=0 in=0
 */
#include "case.h"

static int n_errors, last_code;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    n_errors++;
    last_code = *code;
}

static void expect_error(int code, int class_wanted, int n_wanted)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(code, &class);
    CHECK(class == class_wanted && code == last_code && n_errors == n_wanted);
}

int main(int argc, char **argv)
{
    MPI_Errhandler counting;
    int number = 0;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    MPI_Comm_create_errhandler(on_error, &counting);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
    expect_error(MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD), MPI_ERR_RANK, 1);
    expect_error(MPI_Send(&number, 1, MPI_DATATYPE_NULL, 1 - me, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
                 2);
    expect_error(MPI_Bcast(&number, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, 3);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&counting);
    CHECK(n_errors == 3);
    case_done();
    MPI_Finalize();
    return 0;
}
