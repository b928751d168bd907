/* misc_external.c - requests and statuses that the program makes itself. */
#include "autoconf.h"

#include "every.h"

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    status->MPI_SOURCE = 0;
    status->MPI_TAG = 0;
    MPI_Status_set_cancelled(status, 0);
    return MPI_Status_set_elements(status, MPI_BYTE, 3);
}

static int release(void *extra)
{
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

/* It moves nothing that MPI knows of, and what its callbacks call is part of the wait. */
PROGRAM(request_of_the_program)
{
    int released = 0, count = -1;
    MPI_Status status;
    MPI_Request request;
    CALL(Grequest_start, (query, release, cancel, &released, &request));
    CALL(Grequest_complete, (request));
    CALL(Wait, (&request, &status));
    CHECK(released == 1);
    PMPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == 3);
}

PROGRAM(statuses)
{
    int flag = -1, count = -1;
    MPI_Status status = {0};
    CALL(Status_set_elements, (&status, MPI_INT, 3));
    PMPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3);
    CALL(Status_set_elements_x, (&status, MPI_INT, 4));
    PMPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 4);
    CALL(Status_set_cancelled, (&status, 1));
    PMPI_Test_cancelled(&status, &flag);
    CHECK(flag);
}

PROGRAMS(external) = {P(request_of_the_program), P(statuses), {NULL, NULL}};
