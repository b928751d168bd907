#!/bin/sh
# LIMIT 300
# Ways to use MPI: from C++, from Python, from a plugin, through functions taken by hand. The program
# does what it does alone; each call that can be seen is counted once, with its bytes.
set -u

. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all "the sanitizers' libraries would have to come first"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
apps=$top_srcdir/tests/apps
library=$RKC_LIBDIR/librankclock-mpi.so
RANKCLOCK_OUTPUT=$work/run.h5 RANKCLOCK_WRITER=$RKC_COMMAND
export RANKCLOCK_OUTPUT RANKCLOCK_WRITER

# Run two ranks without the library, then with it: nothing but the file is to tell the two apart.
both() { # WHAT PROGRAM ARGUMENT...
    what=$1
    shift
    start 60 2 "$@" >plain 2>plain.err
    plain_status=$?
    rm -rf run.*
    start 60 2 LD_PRELOAD="$library" "$@" >out 2>err
    is "$? $(sort out)" "$plain_status $(sort plain)" "$what: the program is as it is alone"
    is "$plain_status $(wc -l <plain)" "0 2" "$what: it works"
    is "$(grep -v -e '^rankclock: wrote' -e UCX err)" "$(grep -v UCX plain.err)" \
        "$what: nobody complains"
}

# Visits, and bytes sent and received, of these functions in the one file of all ranks.
counted() { # FUNCTIONS WANT
    "$top_builddir/tests/show_file" run.h5 >shown 2>&1
    is "$(echo run.*) $(head -n 1 shown)" "run.h5 file COMPLETE ranks 2" \
        "$what: there is one file, of all ranks"
    is "$(awk -v functions="$1" '
        $1 == "path" {
            for (i = 3; i < NF; i += 2)
                sum[$2, $i] += $(i + 1)
        }
        END {
            n = split(functions, name, " ")
            for (i = 1; i <= n; i++) {
                path = "(run)/MPI_" name[i]
                printf "%s%d/%d/%d", (i > 1 ? " " : ""), sum[path, "visits"],
                       sum[path, "bytes_sent"], sum[path, "bytes_received"]
            }
        }' shown)" "$2" "$what: each call is counted once, with its bytes"
}

build() { # COMPILER OUTPUT ARGUMENT...
    compiler=$1 output=$2
    shift 2
    # shellcheck disable=SC2086 # a compiler may hold arguments
    $compiler -g -O1 "$@" -o "$output" >cc.log 2>&1
}

ring="Init Initialized Send Recv Allreduce Pcontrol Finalize"
ring_counts="2/0/0 2/0/0 14/112/0 14/0/112 6/48/48 2/0/0 2/0/0"

# --- C++: C's functions, and the classes that MPI-3.0 removed and Open MPI 4 still has ---

echo 'int main() {}' >try.cpp
if [ -n "$CXX" ] && build "$CXX" try try.cpp; then
    build "$MPICC" ring -x c++ -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX "$apps/ring.c" ||
        bail "cannot build ring.c as C++: $(cat cc.log)"
    both "C++" ./ring
    counted "$ring" "$ring_counts"
else
    skip 5 "no C++ compiler"
fi

cat >classes.cpp <<'END'
#include <mpi.h>
#include <cstdio>
int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    MPI::Intracomm &world = MPI::COMM_WORLD;
    int rank = world.Get_rank(), in = 0, sum = 0;
    for (int i = 0; i < 5; i++) {
        world.Sendrecv(&rank, 1, MPI::INT, 1 - rank, 0, &in, 1, MPI::INT, 1 - rank, 0);
        world.Allreduce(&in, &sum, 1, MPI::INT, MPI::SUM);
    }
    MPI::Intracomm copy = world.Dup();
    copy.Barrier();
    copy.Free();
    std::printf("%d %d\n", in, sum);
    MPI::Finalize();
}
END
mpicxx=$(echo "$MPICC" | sed 's/mpicc/mpicxx/')
if [ "$mpicxx" != "$MPICC" ] && build "$mpicxx" classes classes.cpp; then
    both "MPI's classes in C++" ./classes
    counted "Init Sendrecv Allreduce Comm_dup Barrier Comm_free Finalize" \
        "2/0/0 10/40/40 10/40/40 2/0/0 2/0/0 2/0/0 2/0/0"
else
    skip 5 "this MPI has no classes for C++"
fi

# --- a plugin, and functions that are taken by hand ---

build "$MPICC" ring.so -shared -fPIC -Dmain=ring "$apps/ring.c" && build "$CC" loader "$apps/loader.c" ||
    bail "cannot build: $(cat cc.log)"
for how in local global; do
    both "a plugin, loaded with $how names" ./loader $how ./ring.so
    counted "$ring" "$ring_counts"
done
like "$("$RKC_COMMAND" report run.h5)" '^TOP PAIRS .* | of [0-9.]*[kB]*$' \
    "of ranks on one node the report says nothing of what goes between nodes"
mpi=$(ldd "$library" | awk '$1 ~ /^libmpi/ { print $3; exit }')
both "functions taken from MPI's own object" ./loader handle "$mpi"
is "$(echo run.*)" "run.*" "functions taken from MPI's own object: the library is never called"

# --- Python ---

cat >script.py <<'END'
import sys
from array import array
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, peer = world.rank, 1 - world.rank
data, got = bytearray(80), bytearray(80)
total, one = array("d", [0] * 3), array("d", [rank] * 3)
for i in range(6):
    if rank == 0:
        world.Send([data, MPI.BYTE], dest=peer, tag=i)
        world.Recv([got, MPI.BYTE], source=peer, tag=i)
    else:
        world.Recv([got, MPI.BYTE], source=peer, tag=i)
        world.Send([data, MPI.BYTE], dest=peer, tag=i)
for i in range(4):
    request = world.Irecv([got, 50, MPI.BYTE], source=peer)
    world.Isend([data, 40, MPI.BYTE], dest=peer).Wait()
    request.Wait()
world.Allreduce([one, MPI.DOUBLE], [total, MPI.DOUBLE])
world.Barrier()
sys.stdout.write(f"{rank} {list(total)}\n")
END
# Threads with messages of their own; and objects that Python packs.
cat >threads.py <<'END'
import sys
import threading
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, peer = world.rank, 1 - world.rank
comms = [world.Dup() for _ in range(4)]
failures = []

def work(thread):
    comm, data, got = comms[thread], bytearray([thread] * 100), bytearray(100)
    for i in range(25):
        request = comm.Irecv([got, 100, MPI.BYTE], source=peer)
        comm.Send([data, 10 * (thread + 1), MPI.BYTE], dest=peer)
        request.Wait()
        if got[0] != thread:
            failures.append(thread)
        comm.Allreduce(MPI.IN_PLACE, [data, 4, MPI.BYTE], op=MPI.MAX)

threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
thing = {"name": "x" * 5000, "list": list(range(100))}
for i in range(3):
    if rank == 0:
        world.ssend(thing, dest=peer, tag=i)
        same = world.recv(source=peer, tag=i) == thing
    else:
        same = world.recv(source=peer, tag=i) == thing
        world.ssend(thing, dest=peer, tag=i)
world.Barrier()
multiple = MPI.Query_thread() == MPI.THREAD_MULTIPLE
packed = len(MPI.pickle.dumps(thing))
sys.stdout.write(f"{rank} {multiple} {failures} {same} {packed}\n")
END
cat >version.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    return puts(text) < 0;
}
END
python=${PYTHON:-python3}
build "$MPICC" version version.c || bail "cannot build version.c: $(cat cc.log)"
ask='import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())'
of_python=$("$python" -B -c "$ask" 2>/dev/null)
if [ -z "$of_python" ]; then
    skip 11 "no mpi4py"
elif [ "$(./version | head -n 1)" != "$(echo "$of_python" | head -n 1)" ]; then
    skip 11 "mpi4py is built for another MPI: $(echo "$of_python" | head -n 1)"
else
    both "Python" "$python" -B script.py
    counted "Init_thread Send Recv Isend Irecv Wait Allreduce Barrier Finalize" \
        "2/0/0 12/960/0 12/0/960 8/320/0 8/0/320 16/0/0 2/48/48 2/0/0 2/0/0"

    both "Python's threads and objects" "$python" -B threads.py
    packed=$(awk 'NR == 1 { print $NF }' plain)
    is "$(sort plain)" "0 True [] True $packed
1 True [] True $packed" "$what: the threads may call MPI at once, and get what is theirs"
    # 25 rounds in each of 4 threads of 2 ranks, with 10, 20, 30 and 40 bytes; and 3 objects.
    counted "Send Irecv Wait Allreduce Ssend Mrecv Mprobe Recv" \
        "200/5000/0 200/0/5000 200/0/0 200/800/800 6/$((6 * packed))/0 6/0/$((6 * packed)) 6/0/0 0/0/0"
fi

finish
