/* io_files.c - files as a whole, their views and what else is kept with them. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
static const char *name_of(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", every_folder(), name);
    return path;
}

static MPI_File file(void)
{
    MPI_File fh;
    PMPI_File_open(world, name_of("whole"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    return fh;
}

PROGRAM(whole_files)
{
    int mode = 0, flag = -1, size = 0;
    MPI_Offset bytes = -1;
    MPI_File fh;
    MPI_Info info;
    MPI_Group group;
    CALL(File_open, (world, name_of("whole"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    CALL(File_set_size, (fh, 100));
    CALL(File_preallocate, (fh, 200));
    CALL(File_get_size, (fh, &bytes));
    CHECK(bytes == 200);
    CALL(File_get_amode, (fh, &mode));
    CHECK(mode & MPI_MODE_RDWR);
    CALL(File_get_group, (fh, &group));
    PMPI_Group_size(group, &size);
    CHECK(size == RANKS);
    PMPI_Group_free(&group);
    CALL(File_set_atomicity, (fh, 0));
    CALL(File_get_atomicity, (fh, &flag));
    CHECK(flag == 0);
    CALL(File_get_info, (fh, &info));
    CALL(File_set_info, (fh, info));
    PMPI_Info_free(&info);
    CALL(File_sync, (fh));
    CALL(File_close, (&fh));
    PMPI_Barrier(world);
    if (me == 0)
        CALL(File_delete, (name_of("whole"), MPI_INFO_NULL));
    PMPI_Barrier(world);
}

PROGRAM(views)
{
    char representation[MPI_MAX_DATAREP_STRING] = "";
    int out[4] = {0};
    MPI_Offset at = -1;
    MPI_Datatype element, type;
    MPI_File fh = file();
    CALL(File_set_view, (fh, 64, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CALL(File_get_view, (fh, &at, &element, &type, representation));
    CHECK(at == 64 && strcmp(representation, "native") == 0);
    CALL(File_seek, (fh, 4 * me, MPI_SEEK_SET));
    CALL(File_get_position, (fh, &at));
    CHECK(at == 4 * me);
    CALL(File_get_byte_offset, (fh, at, &at));
    CHECK(at == 64 + 16 * me);
    MOVE(File_write, (fh, out, 4, MPI_INT, MPI_STATUS_IGNORE), 16, 0);
    PMPI_File_close(&fh);
}

static int handled;

static void handler(MPI_File *fh, int *code, ...)
{
    (void)fh, (void)code;
    handled++;
}

PROGRAM(errors_of_files)
{
    MPI_Errhandler own, got;
    MPI_File none, fh = file();
    CALL(File_create_errhandler, (handler, &own));
    CALL(File_set_errhandler, (fh, own));
    CALL(File_get_errhandler, (fh, &got));
    CALL(File_call_errhandler, (fh, MPI_ERR_OTHER));
    CHECK(handled == 1);
    REFUSED(File_open, (world, name_of("none"), MPI_MODE_RDONLY, MPI_INFO_NULL, &none));
    PMPI_Errhandler_free(&own);
    PMPI_Errhandler_free(&got);
    PMPI_File_close(&fh);
}

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    MPI_Aint lower;
    (void)extra;
    return PMPI_Type_get_extent(type, &lower, extent);
}
#endif

PROGRAM(representations)
{
    EXTENT extent = 0;
    MPI_File fh = file();
    CALL(C(File_get_type_extent), (fh, MPI_INT, &extent));
    CHECK(extent == 4);
    PMPI_File_close(&fh);
#ifndef EVERY_LARGE
    /* Open MPI's own I/O knows no representations but those of the standard. */
    if (every_is("Open MPI v4"))
        REFUSED(Register_datarep,
                ("every", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, NULL));
    else
        CALL(Register_datarep,
             ("every", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, NULL));
#else
    CALL(Register_datarep_c,
         ("every_c", MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, extent_of, NULL));
#endif
}

PROGRAMS(files) = {
#ifndef EVERY_LARGE
    P(whole_files),     P(views),     P(errors_of_files),
#endif
    P(representations), {NULL, NULL},
};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "io_files.c"
#endif
