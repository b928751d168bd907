/* A program with files and an HDF5 of its own, of whatever kind; for the shell tests.
 *
 * With a parallel HDF5 all ranks write one file, own.h5; else each its own, own-RANK.h5, that stays
 * open until the process exits. What was written is read again. A program that was built with
 * -DUSE_SHIM calls HDF5 through a library between, whose source this is with -DSHIM. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { N = 1000 };

int own_write(const char *name, int rank, int size);
int own_libraries(void);

#ifndef USE_SHIM

static hid_t create(const char *name)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#ifdef H5_HAVE_PARALLEL
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
#endif
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    return file;
}

/* Write and read N values of this rank; 0 when all is well. */
int own_write(const char *name, int rank, int size)
{
    double values[N], again[N];
    hid_t file = create(name);
    hsize_t all = (hsize_t)size * N, first = (hsize_t)rank * N, n = N;
    for (int i = 0; i < N; i++)
        values[i] = rank + i / 1000.0;
    hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL);
    hid_t set = H5Dcreate2(file, "values", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT,
                           H5P_DEFAULT);
    int bad = H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) < 0;
    bad |= H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, again) < 0;
    bad |= memcmp(values, again, sizeof values) != 0;
    H5Sclose(space);
    H5Sclose(memory);
    bad |= H5Dclose(set) < 0;
#ifdef H5_HAVE_PARALLEL
    bad |= H5Fclose(file) < 0;
#endif
    return bad;
}

#endif

#ifndef SHIM

/* How many HDF5 libraries are in the process. */
int own_libraries(void)
{
    char line[4096];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        n += strstr(line, "libhdf5") && strstr(line, " r-xp ");
    if (maps)
        fclose(maps);
    return n;
}

int main(int argc, char **argv)
{
    char name[64] = "own.h5";
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifndef H5_HAVE_PARALLEL
    snprintf(name, sizeof name, "own-%d.h5", rank);
#endif
    int bad = own_write(name, rank, size);
    MPI_Finalize();
    printf("rank %d %s, %d HDF5\n", rank, bad ? "failed" : "done", own_libraries());
    return bad;
}

#endif
