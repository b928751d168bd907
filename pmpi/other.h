/* other.h - a program that opens an MPI of its own, in which this library stands before that of
 * another.
 *
 * The library needs the MPI that it is built for, so that programs which open that one late are
 * seen; preloaded, it has brought it along before the program opened another, and names that both
 * have lead to the wrong one: the program's calls, and those of its own MPI to itself.
 */
#ifndef RKC_PMPI_OTHER_H
#define RKC_PMPI_OTHER_H

/** Find the MPI that the program has opened, if nobody but this library needs the one that this
 * library is linked with; and let all names of MPI that were bound until now lead to that one.
 *
 * Called once, at the first call that comes here.
 *
 * @return the handle of its object, or NULL where there is none
 */
void *rkc_mpi_other_find(void);

/* The file that it was found in, or NULL. */
const char *rkc_mpi_other_file(void);

#endif
