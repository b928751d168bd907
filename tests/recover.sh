#!/bin/sh
# LIMIT 120
# Images become a file: of a run that aborted, of one that left without MPI_Finalize, with
# ranks missing, with images that do not belong; and what is said of bad arguments.
set -u
. "$top_srcdir/tests/tap.sh"
[ -n "$PYTHON" ] || skip_all "no Python with h5py"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1

# run NAME RANKS PROGRAM [ARGUMENT]...: preloaded, its image folder NAME.h5.partial
run() {
    name=$1 ranks=$2
    shift 2
    start 60 "$ranks" LD_PRELOAD="$RKC_LIBDIR/librankclock-mpi.so" \
        RANKCLOCK_OUTPUT="$work/$name.h5" RANKCLOCK_WRITER="$RKC_COMMAND" "$@" \
        >"$name.out" 2>"$name.err"
}

# look FILE EXPRESSION: true when the Python expression over the file f is
look() {
    "$PYTHON" - "$1" "$2" <<'PYTHON'
import sys
import h5py
f = h5py.File(sys.argv[1], "r")
names = [name.decode() for name in f["/regions/name"][:]]
status = f.attrs["status"]
status = status.decode() if isinstance(status, bytes) else str(status)
def calls(function):
    paths = [i for i, r in enumerate(f["/callpaths/region"][:]) if names[r] == function]
    return sum(int(f["/profile/visits/sum"][i]) for i in paths)
sys.exit(0 if eval(sys.argv[2]) else 1)
PYTHON
}

cases=$top_builddir/tests/cases
run left 2 "$cases/c22_exit"
[ -e left.h5.partial/rank-0.rkci ] && [ -e left.h5.partial/rank-1.rkci ]
ok $? "a program that leaves without MPI_Finalize leaves an image of each rank"
[ "$(grep -c 'without MPI_Finalize' left.err)" -eq 1 ]
ok $? "and one line about it for all ranks"
"$RKC_COMMAND" recover left.h5.partial >recover.out 2>recover.err
ok $? "recover takes the folder and calls the file as the run would have"
[ -e left.h5 ] && look left.h5 'status == "PARTIAL" and calls("MPI_Allreduce") == 2'
ok $? "the file is PARTIAL and has the calls of both ranks"
"$RKC_COMMAND" report left.h5 | head -n 1 | grep -q PARTIAL
ok $? "the report says so in its first line"

"$RKC_COMMAND" recover left.h5.partial >recover.out 2>&1 && [ -e left.2.h5 ]
ok $? "a second recovery overwrites nothing"
rm left.h5.partial/rank-1.rkci
"$RKC_COMMAND" recover left.h5.partial -o one.h5 >recover.out 2>&1
ok $? "a rank that is missing does not stop it"
look one.h5 'f["/missing_ranks"][:].tolist() == [[1, 1]] and calls("MPI_Allreduce") == 1'
ok $? "and is named in the file"

run aborted 3 "$cases/c23_abort"
[ -e aborted.h5.partial/rank-0.rkci ]
ok $? "MPI_Abort leaves the image of the rank that called it"
"$RKC_COMMAND" recover aborted.h5.partial -o aborted.h5 >recover.out 2>&1
look aborted.h5 'status == "ABORTED" and calls("MPI_Abort") == 1'
ok $? "its file is ABORTED"

run other 1 "$cases/c22_exit"
rm -rf left.h5.partial
run left 2 "$cases/c22_exit"
cp other.h5.partial/rank-0.rkci left.h5.partial/another.rkci
head -c 3000 left.h5.partial/rank-0.rkci >left.h5.partial/cut.rkci
echo "no image" >left.h5.partial/text.rkci
"$RKC_COMMAND" recover left.h5.partial -o mixed.h5 >recover.out 2>recover.err
[ $? -eq 1 ] && look mixed.h5 'len(f["/ranks/rank"]) == 2'
ok $? "images of another run, cut short or no images at all are left out, the rest is used"
[ "$(wc -l <recover.err)" -eq 3 ] && grep -q another.rkci recover.err && grep -q cut.rkci recover.err &&
    grep -q text.rkci recover.err
ok $? "with one line for each that names it"

for size in 4096 9000 20000 40000 70000; do
    head -c $size other.h5.partial/rank-0.rkci >"cut-$size.rkci"
    "$RKC_COMMAND" recover "cut-$size.rkci" -o "cut-$size.h5" >recover.out 2>recover.err
    [ $? -le 2 ] || echo "# status $? at $size bytes"
    [ $? -le 2 ] && [ "$(wc -l <recover.err)" -le 2 ]
    ok $? "an image cut to $size bytes gives a file or one clear line"
done

"$RKC_COMMAND" recover >recover.out 2>recover.err
[ $? -eq 2 ] && [ "$(wc -l <recover.err)" -eq 1 ]
ok $? "no argument: one line, status 2"
"$RKC_COMMAND" recover /nowhere/at/all -o x.h5 >recover.out 2>recover.err
[ $? -eq 2 ] && grep -q /nowhere/at/all recover.err
ok $? "a folder that is not there is named, status 2"
mkdir empty
"$RKC_COMMAND" recover empty -o x.h5 >recover.out 2>recover.err
[ $? -eq 2 ] && grep -q empty recover.err && [ ! -e x.h5 ]
ok $? "an empty folder is named, nothing is written"
"$RKC_COMMAND" recover other.h5.partial -o /nowhere/x.h5 >recover.out 2>recover.err
[ $? -eq 1 ] && grep -q /nowhere recover.err
ok $? "an output that cannot be created is named, status 1"
finish
