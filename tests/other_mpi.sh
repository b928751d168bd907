#!/bin/sh
# LIMIT 120
# The library for one MPI is preloaded into programs that open another one late, as Python does: they run
# as they do without it, and one line says why nothing was recorded.
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
library=$RKC_LIBDIR/librankclock-mpi.so

# The compiler and the launcher of the other MPI.
case $mpi in
openmpi) other_cc=mpicc.mpich other_run=mpiexec.mpich ;;
*) other_cc=mpicc.openmpi other_run=mpirun.openmpi ;;
esac
command -v $other_cc >/dev/null && command -v $other_run >/dev/null ||
    skip_all "there is no $other_cc or no $other_run"

cat >opened.c <<'END'
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
/* Pointers to MPI's functions are bound otherwise than calls are, and a library that is opened later
 * than this one after that. */
int (*const barrier)(MPI_Comm) = MPI_Barrier;
static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}
int go(void)
{
    int rank, size, sum = 0, got = -1, up = 1, again, there[2];
    MPI_Status status;
    MPI_Request request;
    MPI_Datatype pair;
    MPI_Comm comm;
    MPI_Op op;
    MPI_Initialized(&up); /* as mpi4py does, too */
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int here[2] = {rank, size};
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Isend(here, 1, pair, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
    MPI_Recv(there, 1, pair, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, pair, &got);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    barrier(comm);
    MPI_Comm_rank(comm, &again);
    int (*more)(MPI_Comm *) = NULL;
    void *later = dlopen("./later.so", RTLD_LAZY | RTLD_LOCAL);
    if (later)
        *(void **)&more = dlsym(later, "more");
    if (!more || more(&comm) != 2)
        again = -1;
    printf("rank %d of %d: up %d, sum %d, %d of %d from %d, %d\n", rank, size, up, sum, got, there[1],
           status.MPI_SOURCE, again);
    fflush(stdout);
    MPI_Type_free(&pair);
    MPI_Comm_free(&comm);
    return MPI_Finalize();
}
END
cat >later.c <<'END'
#include <mpi.h>
int more(MPI_Comm *comm)
{
    int one = 1, sum = 0;
    MPI_Comm same;
    MPI_Comm_dup(*comm, &same);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, same);
    MPI_Comm_free(&same);
    return sum;
}
END
cat >opener.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    const char *way = argc > 2 ? argv[2] : "";
    int flags = strstr(way, "lazy") ? RTLD_LAZY : RTLD_NOW;
    void *library = dlopen(argv[1], flags | (strstr(way, "global") ? RTLD_GLOBAL : RTLD_LOCAL));
    int (*go)(void) = NULL;
    if (library)
        *(void **)&go = dlsym(library, "go");
    if (!go) {
        printf("%s\n", dlerror());
        return 3;
    }
    return go();
}
END
$other_cc -shared -fPIC -o opened.so opened.c >log 2>&1 &&
    $other_cc -shared -fPIC -o later.so later.c >log 2>&1 &&
    $other_cc -shared -fPIC -Wl,-z,now,-z,relro -o fixed.so opened.c >log 2>&1 &&
    "$CC" -o opener opener.c -ldl >log 2>&1 || bail "the programs cannot be built: $(cat log)"

run() { # NAME [SETTING=VALUE]... COMMAND...
    name=$1
    shift
    timeout -k 5 60 $other_run -n 2 env "$@" >"$name.out" 2>"$name.err" </dev/null
    echo "$? $(sort "$name.out")" >"$name"
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

for way in opened:now opened:lazy opened:lazy-global fixed:now; do
    run plain ./opener "./${way%:*}.so" "${way#*:}"
    like "$(cat plain)" '^0 rank 0 of 2: up 0, sum 1, 1 of 2 from 1, 1$' "$way: the program runs"
    run measured LD_PRELOAD="$library" RANKCLOCK_OUTPUT=run.h5 ./opener "./${way%:*}.so" "${way#*:}"
    is "$(cat measured)" "$(cat plain)" "$way: so it does with the library for another MPI"
    is "$(grep -c '^rankclock: built for .* has .*libmpi.*: recording is off$' measured.err) $(
        grep -c . measured.err)" "1 1" "$way: which one rank says, and nothing else is said"
    is "$(ls -d run.* 2>/dev/null)" "" "$way: there is no file"
done

cat >script.py <<'END'
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
comm = world.Split(0, -world.rank)
numbers = (world.rank, world.size, world.allreduce(world.rank), comm.bcast(world.rank))
os.write(1, ("%d %d %d %d\n" % numbers).encode())
END
python=${PYTHON:-python3}
ask='import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())'
case $mpi:$("$python" -B -c "$ask" 2>/dev/null) in
mpich:*'Open MPI'* | openmpi:*MPICH*)
    run plain "$python" -B script.py
    like "$(cat plain)" "^0 0 2 1 1" "a script in Python runs"
    run measured LD_PRELOAD="$library" RANKCLOCK_OUTPUT=run.h5 "$python" -B script.py
    is "$(cat measured) $(grep -c 'recording is off$' measured.err)" "$(cat plain) 1" "and so with the library"
    ;;
*) skip 2 "no mpi4py for the other MPI" ;;
esac

finish
