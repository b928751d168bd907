/* io_accesses.c - reading and writing: at a place, by the own and by the common pointer, one by one
 * and together, in one call, in two and by requests.
 *
 * The file holds 64 bytes of each rank, one rank's after the other's. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
enum { N = 16, BYTES = N * (int)sizeof(int) };

static int out[N], in[2 * N];

/* A file that all may read and write, with `bytes` in it. */
static MPI_File file(int bytes)
{
    char name[400];
    MPI_File fh;
    memset(out, 0, sizeof out);
    snprintf(name, sizeof name, "%s/data", every_folder());
    every_check(PMPI_File_open(world, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) ==
                    MPI_SUCCESS,
                "a file is opened");
    PMPI_File_set_size(fh, 0);
    PMPI_File_set_size(fh, bytes);
    PMPI_File_seek(fh, me * BYTES, MPI_SEEK_SET);
    PMPI_Barrier(world);
    return fh;
}
#endif

PROGRAM(writes)
{
    MPI_Status status;
    MPI_Offset at = me * BYTES;
    MPI_File fh = file(0);
    MOVE(C(File_write), (fh, out, 3, MPI_INT, MPI_STATUS_IGNORE), 12, 0);
    MOVE(C(File_write), (fh, out, 0, MPI_INT, &status), 0, 0);
    MOVE(C(File_write_at), (fh, at, out, 4, MPI_INT, &status), 16, 0);
    MOVE(C(File_write_all), (fh, out, 5, MPI_INT, MPI_STATUS_IGNORE), 20, 0);
    MOVE(C(File_write_at_all), (fh, at, out, N, MPI_INT, &status), BYTES, 0);
    PMPI_File_close(&fh);
}

/* What the file gave: behind its end there is nothing. */
PROGRAM(reads)
{
    MPI_Status status;
    MPI_Offset at = me * BYTES;
    MPI_File fh = file(RANKS * BYTES);
    MOVE(C(File_read), (fh, in, 3, MPI_INT, MPI_STATUS_IGNORE), 0, 12);
    MOVE(C(File_read_at), (fh, at, in, 4, MPI_INT, &status), 0, 16);
    MOVE(C(File_read_all), (fh, in, 5, MPI_INT, MPI_STATUS_IGNORE), 0, 20);
    MOVE(C(File_read_at_all), (fh, at, in, N, MPI_INT, &status), 0, BYTES);
    MOVE(C(File_read_at), (fh, RANKS * BYTES - 20, in, N, MPI_INT, &status), 0, 20);
    PMPI_File_close(&fh);
}

PROGRAM(accesses_in_two_calls)
{
    MPI_Status status;
    MPI_Offset at = me * BYTES;
    MPI_File fh = file(RANKS * BYTES);
    CALL(C(File_write_all_begin), (fh, out, 3, MPI_INT));
    MOVE(File_write_all_end, (fh, out, MPI_STATUS_IGNORE), 12, 0);
    CALL(C(File_write_at_all_begin), (fh, at, out, 4, MPI_INT));
    MOVE(File_write_at_all_end, (fh, out, &status), 16, 0);
    CALL(C(File_read_all_begin), (fh, in, 5, MPI_INT));
    MOVE(File_read_all_end, (fh, in, MPI_STATUS_IGNORE), 0, 20);
    CALL(C(File_read_at_all_begin), (fh, at, in, 6, MPI_INT));
    MOVE(File_read_at_all_end, (fh, in, &status), 0, 24);
    PMPI_File_close(&fh);
}

PROGRAM(accesses_by_requests)
{
    MPI_Request request;
    MPI_Offset at = me * BYTES;
    MPI_File fh = file(RANKS * BYTES);
    POST(C(File_iwrite), (fh, out, 1, MPI_INT, &request), 4, 0);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    POST(C(File_iwrite_at), (fh, at, out, 2, MPI_INT, &request), 8, 0);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    POST(C(File_iwrite_all), (fh, out, 3, MPI_INT, &request), 12, 0);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    POST(C(File_iwrite_at_all), (fh, at, out, 4, MPI_INT, &request), 16, 0);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    POST(C(File_iread), (fh, in, 5, MPI_INT, &request), 0, 20);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    POST(C(File_iread_at), (fh, at, in, 6, MPI_INT, &request), 0, 24);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    POST(C(File_iread_all), (fh, in, 7, MPI_INT, &request), 0, 28);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    POST(C(File_iread_at_all), (fh, at, in, 8, MPI_INT, &request), 0, 32);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    /* Open MPI never completes a request that the file's end cuts short. */
    if (!every_is("Open MPI v4")) {
        POST(C(File_iread_at), (fh, RANKS * BYTES - 20, in, N, MPI_INT, &request), 0, 20);
        CALL(Wait, (&request, MPI_STATUS_IGNORE));
    }
    PMPI_File_close(&fh);
}

PROGRAM(common_pointer)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Offset at = -1;
    MPI_File fh = file(0);
    MOVE(C(File_write_shared), (fh, out, 3, MPI_INT, MPI_STATUS_IGNORE), 12, 0);
    MOVE(C(File_write_ordered), (fh, out, 4, MPI_INT, &status), 16, 0);
    CALL(C(File_write_ordered_begin), (fh, out, 5, MPI_INT));
    MOVE(File_write_ordered_end, (fh, out, MPI_STATUS_IGNORE), 20, 0);
    POST(C(File_iwrite_shared), (fh, out, 6, MPI_INT, &request), 24, 0);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    PMPI_Barrier(world);
    CALL(File_get_position_shared, (fh, &at));
    CHECK(at == RANKS * 72);
    PMPI_Barrier(world);
    CALL(File_seek_shared, (fh, 0, MPI_SEEK_SET));
    MOVE(C(File_read_shared), (fh, in, 3, MPI_INT, MPI_STATUS_IGNORE), 0, 12);
    MOVE(C(File_read_ordered), (fh, in, 4, MPI_INT, &status), 0, 16);
    CALL(C(File_read_ordered_begin), (fh, in, 5, MPI_INT));
    MOVE(File_read_ordered_end, (fh, in, MPI_STATUS_IGNORE), 0, 20);
    POST(C(File_iread_shared), (fh, in, 6, MPI_INT, &request), 0, 24);
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    PMPI_File_close(&fh);
}

PROGRAMS(accesses) = {
    P(writes),         P(reads),     P(accesses_in_two_calls), P(accesses_by_requests),
    P(common_pointer), {NULL, NULL},
};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "io_accesses.c"
#endif
