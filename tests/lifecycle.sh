#!/bin/sh
# LIMIT 300
# From MPI_Init to MPI_Finalize: the program does what it does without the library, each call of
# the life cycle is counted once, and there is one file of all ranks.
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
library=$RKC_LIBDIR/librankclock-mpi.so
ending=$top_builddir/tests/apps/ending
RANKCLOCK_OUTPUT=run.h5
export RANKCLOCK_OUTPUT

plain() { # RANKS WAY...
    ranks=$1
    shift
    start 100 "$ranks" "$ending" "$@" >plain.out 2>plain.err
    plain_status=$?
}

# The same with the library; what was left before is gone.
measured() { # RANKS WAY...
    ranks=$1
    shift
    rm -rf run.*
    start 100 "$ranks" LD_PRELOAD="$library" "$ending" "$@" >out 2>err
    status=$?
}

said() {
    grep '^rankclock:' err
}

# The visits of all call paths of a region, over all ranks, and how many ranks have them.
cat >visits.py <<'END'
import sys
import h5py
file = h5py.File(sys.argv[1], "r")
names = [name.decode() for name in file["regions/name"][:]]
mine = [i for i, region in enumerate(file["callpaths/region"][:]) if names[region] == sys.argv[2]]
visits = file["profile/visits"]
print(sum(int(visits["sum"][i]) for i in mine), max([int(visits["ranks"][i]) for i in mine] + [0]))
END
visits_are() { # NAME WANT WHAT
    if "$PYTHON" -B -c 'import h5py' 2>/dev/null; then
        is "$("$PYTHON" -B visits.py run.h5 "$1" 2>&1)" "$2" "$3"
    else
        skip 1 "no Python with h5py"
    fi
}

ranks_are() { # N WHAT
    like "$("$RKC_COMMAND" report run.h5 2>&1)" "COMPLETE ($1/$1 ranks)" "$2"
}

# --- what it looks for meanwhile ---

"$MPICC" -rdynamic -o looks "$top_srcdir/tests/apps/looks.c" -ldl || bail "cannot compile looks.c"
for setting in "auto looked" "off did not look"; do
    start 100 1 LD_PRELOAD="$library" RANKCLOCK_GPU="${setting%% *}" ./looks >out 2>err
    is "$(cat out)" "${setting#* }" "RANKCLOCK_GPU=${setting%% *}: whether a driver has come"
done

# --- all ranks finalize ---

for n in 1 2 5 16; do
    plain $n finalize
    measured $n finalize
    is "$status" "$plain_status" "$n ranks: the status is the program's"
    is "$(sort out)" "$(sort plain.out)" "$n ranks: so is stdout"
    is "$(said)" "rankclock: wrote $work/run.h5" "$n ranks: stderr names the file, once"
    ranks_are $n "$n ranks: which has all ranks"
    is "$(echo run.*)" "run.h5" "$n ranks: nothing else is left"
    visits_are work "$((10 * n)) $n" "$n ranks: it has the program's region"
    visits_are MPI_Init "$n $n" "$n ranks: MPI_Init is counted once for each rank"
    visits_are MPI_Finalize "$n $n" "$n ranks: so is MPI_Finalize"
    visits_are MPI_Allreduce "$n $n" "$n ranks: so is a call in between"
done
info=$("$RKC_COMMAND" info run.h5)
like "$info" ' mpi_library  *[^ ]' "the file names the MPI library"
like "$info" ' mpi_standard  *[34]\.[0-9]$' "and the standard"
like "$info" ' thread_level  *MPI_THREAD_SINGLE$' "and the thread level"
like "$info" ' launcher  *[^ ]' "and the launcher"

# --- beside what the program has left; with 2000 call paths the profiles are too large to gather ---

for n in 0 2000; do
    for way in names pending handler attribute; do
        plain 5 $way $n
        measured 5 $way $n
        is "$status" "$plain_status" "$way, $n more regions: the status is the program's"
        # MPICH's UCX tells of the receives, with numbers that change.
        [ "$way $n" = "attribute 2000" ] || is "$(sort out | grep -v UCX)" \
            "$(sort plain.out | grep -v UCX)" \
            "$way, $n more regions: so is stdout"
        ranks_are 5 "$way, $n more regions: the file has all ranks"
    done
done
is "$(grep -c 'copies 1$' out)" 5 \
    "an attribute of MPI_COMM_WORLD is copied once, if the profiles are too large"
visits_are "part 1999" "5 5" "then the file has all call paths, too"

plain 2 thread
measured 2 thread
is "$status $(sort out)" "$plain_status $(sort plain.out)" \
    "MPI_Init_thread gives the level that it gives without the library"
visits_are MPI_Init_thread "2 2" "MPI_Init_thread is counted"

plain 2 twice
measured 2 twice
is "$status" "$plain_status" "a second MPI_Finalize does what it does without the library"
ranks_are 2 "and the file of the first is there"

(
    RANKCLOCK_VERBOSE=2
    export RANKCLOCK_VERBOSE
    measured 3 finalize
)
is "$(grep -c 'finalize phases ns: wait=[0-9]* spawn=[0-9]* collect=[0-9]* reduce=[0-9]* write=[0-9]* total=[0-9]*$' err)" \
    1 "RANKCLOCK_VERBOSE=2 tells the times of the phases, once"

# --- settings ---

(
    RANKCLOCK_MPI=off
    export RANKCLOCK_MPI
    measured 3 finalize
)
ranks_are 3 "without MPI calls there is a file of all ranks, too"
visits_are work "30 3" "with the program's regions"
visits_are MPI_Allreduce "0 0" "and no call"

(
    RANKCLOCK_ENABLE=off
    export RANKCLOCK_ENABLE
    measured 3 finalize
)
is "$(said) $(ls run.* 2>/dev/null)" " " "when it is off nothing is said or left"

# --- control ---

measured 2 control
visits_are work "30 2" "what is done between MPI_Pcontrol(0) and (1) is not recorded"
visits_are MPI_Pcontrol "2 2" "nor is the call that resumes"

(
    RANKCLOCK_PCONTROL=ipm
    export RANKCLOCK_PCONTROL
    measured 2 phases
)
visits_are phase "2 2" "IPM's form of MPI_Pcontrol makes a region"
visits_are work "34 2" "and its (0) does not pause"

measured 2 snapshot
is "$(ls run.h5.partial)" "rank-0.rkci
rank-1.rkci" "MPI_Pcontrol(2) leaves an image of each rank"
"$RKC_COMMAND" recover run.h5.partial -o run.h5 >/dev/null 2>recover.err
is "$?" 0 "which is a file to be recovered"
visits_are work "20 2" "with what was measured until then"

# --- another MPI ---

cat >other.c <<'END'
#include <string.h>
int PMPI_Get_library_version(char *version, int *length)
{
    strcpy(version, OTHER " v9.9\nof nowhere");
    *length = (int)strlen(version);
    return 0;
}
END
other="Open MPI"
[ "$mpi" != openmpi ] || other="Nobody's MPI"
"$CC" -shared -fPIC -DOTHER="\"$other\"" -o other.so other.c || bail "cannot compile other.c"
plain 2 finalize
library="$work/other.so $library"
measured 2 finalize
is "$status $(sort out)" "$plain_status $(sort plain.out)" \
    "under an MPI of another kind the program runs as it does without the library"
like "$(said)" "program has $other v9.9: recording is off\$" "which says so"
is "$(ls run.* 2>/dev/null)" "" "and writes nothing"

finish
