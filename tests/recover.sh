#!/bin/sh
# LIMIT 240
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
# The launcher ends a rank as soon as another is gone, which may be before it has saved its image, more
# so on a machine that is busy: run until both have.
run_left() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        rm -rf left.h5.partial
        run left 2 "$cases/c22_exit"
        [ -e left.h5.partial/rank-0.rkci ] && [ -e left.h5.partial/rank-1.rkci ] && break
    done
}

run_left
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
run_left
cp other.h5.partial/rank-0.rkci left.h5.partial/another.rkci
head -c 3000 left.h5.partial/rank-0.rkci >left.h5.partial/cut.rkci
echo "no image" >left.h5.partial/text.rkci
"$RKC_COMMAND" recover left.h5.partial -o mixed.h5 >recover.out 2>recover.err
[ $? -eq 1 ] && look mixed.h5 'len(f["/ranks/rank"]) == 2'
ok $? "images of another run, cut short or no images at all are left out, the rest is used"
[ "$(wc -l <recover.err)" -eq 3 ] && grep -q another.rkci recover.err && grep -q cut.rkci recover.err &&
    grep -q text.rkci recover.err
ok $? "with one line for each that names it"

# --- images that do not belong, made of one that does ---

image=$work/image.rkci
copy=$top_builddir/tests/image_copy
"$copy" -t 0 left.h5.partial/rank-0.rkci "$image"
"$RKC_COMMAND" info mixed.h5 >info
run_id=$(sed -n 's/^  run_id  *//p' info) world_id=$(sed -n 's/^  world_id  *//p' info)
# world FOLDER RANK...: images of these ranks of 4
world() {
    folder=$1
    shift
    mkdir "$folder"
    for rank in "$@"; do
        "$copy" -s 4 -r "$rank" "$image" "$folder/rank-$rank.rkci"
    done
}
# recover FOLDER: its file is FOLDER.h5; the status, what was said and how many lines of complaint
recover() {
    timeout 60 "$RKC_COMMAND" recover "$1" -o "$1.h5" >recover.out 2>recover.err
    echo "$? $(cat recover.out), $(wc -l <recover.err)"
}
said() { # PATTERN
    grep -c "^rankclock: $1\$" recover.err
}

world twice 0 1 2 3
"$copy" -s 4 -r 1 -p 999999 -c 1000000 "$image" twice/later.rkci
"$copy" -s 4 -r 2 -p 999999 "$image" twice/same.rkci
is "$(recover twice)" "1 twice.h5: 4 of 4 ranks, PARTIAL, 2" "of two images of a rank one is taken"
is "$(said 'twice/rank-1.rkci is left out: twice/later.rkci is of rank 1, too, and was written to longer')" 1 \
    "that which was written to longer, and this is said"
is "$(said 'twice/same.rkci is left out: twice/rank-2.rkci is of rank 2, too, and comes first')" 1 \
    "else the first"
rm twice/later.rkci twice/same.rkci
"$copy" -s 4 -r 1 -c 1000000 "$image" twice/later.rkci
rm twice.h5
is "$(recover twice)" "0 twice.h5: 4 of 4 ranks, PARTIAL, 0" \
    "of one process that was killed between saving and the end the later is taken, and nothing said"

world sizes 0 1 2
"$copy" -s 2000000000 -r 3 "$image" sizes/more.rkci
"$copy" -s 4 -r 4 "$image" sizes/beyond.rkci
is "$(recover sizes)" "1 sizes.h5: 3 of 4 ranks, PARTIAL, 2" "the size of the world is what most images say"
is "$(said 'sizes/more.rkci is left out: it says that it is rank 3 of 2000000000, most images are of 4 ranks') \
$(said 'sizes/beyond.rkci is left out: it says that it is rank 4 of 4, most images are of 4 ranks')" "1 1" \
    "the others are left out"

world kinds 0 1 2 3
"$copy" -l 2 "$image" kinds/layout.rkci
"$copy" -i "$(printf 'other\n\033[2J')" -r 0 "$image" kinds/run.rkci
mkfifo kinds/fifo.rkci
mkdir kinds/folder.rkci
ln -s /dev/zero kinds/device.rkci
ln -s nowhere kinds/nowhere.rkci
: >kinds/empty.rkci
layout=$(sed -n 's/^ *RKC_IMAGE_LAYOUT = \([0-9]*\),$/\1/p' "$top_srcdir/src/image.h")
is "$(recover kinds)" "1 kinds.h5: 4 of 4 ranks, PARTIAL, 7" \
    "what is no image, or of another version or run, is left out with a line for each"
is "$(sort recover.err)" "rankclock: cannot open kinds/nowhere.rkci: No such file or directory
rankclock: kinds/device.rkci is not an image of rankclock
rankclock: kinds/empty.rkci is too short to be an image of rankclock
rankclock: kinds/fifo.rkci is not an image of rankclock
rankclock: kinds/folder.rkci is not an image of rankclock
rankclock: kinds/layout.rkci was written by another version of rankclock (layout 2, this one reads $layout)
rankclock: kinds/run.rkci is left out: of run other??[2J, most images are of run $run_id" \
    "which says why, and no command to the terminal"
for what in fifo folder device; do
    timeout 60 "$RKC_COMMAND" recover "kinds/$what.rkci" -o none.h5 >recover.out 2>recover.err
    [ $? -eq 2 ] && [ "$(wc -l <recover.err)" -le 2 ] && [ ! -e none.h5 ]
    ok $? "a $what alone gives status 2 and no file" recover.err
done

world unknown 0 2 3
"$copy" -s -1 -r -1 "$image" unknown/pid-7.rkci
is "$(recover unknown)" "0 unknown.h5: 4 of 4 ranks, PARTIAL, 1" "an image that does not know its rank is used"
is "$(said 'unknown/pid-7.rkci does not know its rank: it counts as rank 1, of which there is nothing else')" 1 \
    "as one that is missing, which is said"
mkdir pids
for pid in 7 8 9; do
    "$copy" -s -1 -r -1 -p $pid "$image" pids/pid-$pid.rkci
done
is "$(recover pids)" "0 pids.h5: 3 of 3 ranks, PARTIAL, 0" "where none knows, they are numbered"

world spawned 0 1 2 3
for rank in 0 1; do
    "$copy" -w children -s 2 -r $rank "$image" spawned/child-$rank.rkci
done
is "$(recover spawned)" "0 spawned.h5: 4 of 4 ranks, PARTIAL
spawned.2.h5: 2 of 2 ranks, PARTIAL, 0" "a spawned world has a file of its own"

# STATE SIGNAL WORD: what the file is where rank 1 ended so and the others were finalized
for how in '1 0 ' '0 0 , PARTIAL' '2 0 , ABORTED' '3 11 , ABORTED' '3 7 , ABORTED' '3 8 , ABORTED' \
    '3 4 , ABORTED' '3 6 , ABORTED' '3 15 , PARTIAL' '3 2 , PARTIAL'; do
    # shellcheck disable=SC2086 # three words
    set -- $how
    rm -rf ended ended.h5
    mkdir ended
    "$copy" -t 1 -s 2 -r 0 "$image" ended/rank-0.rkci
    "$copy" -t "$1" -g "$2" -s 2 -r 1 "$image" ended/rank-1.rkci
    is "$(recover ended)" "0 ended.h5: 2 of 2 ranks${3:+, }${4:-}, 0" \
        "a rank in state $1, signal $2: ${4:-COMPLETE}"
done

mkdir full && chmod 500 full
if [ "$(id -u)" -ne 0 ]; then
    timeout 60 "$RKC_COMMAND" recover twice -o full/x.h5 >recover.out 2>recover.err
    [ $? -eq 1 ] && grep -q 'full/x.h5' recover.err
    ok $? "an output that must not be written is named, status 1" recover.err
    chmod 000 kinds/layout.rkci
    is "$(recover kinds | wc -l) $(grep -c 'cannot open kinds/layout.rkci: Permission denied' recover.err)" \
        "1 1" "as is an image that must not be read"
else
    skip 2 "root may do all"
fi

# --- images that change while they are read ---

cat >swap.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
/* From the time AT on that it is opened, swap.rkci is what the file SWAP is. */
static const char *swapped(const char *path)
{
    static int times;
    return strstr(path, "/swap.rkci") && ++times >= atoi(getenv("AT")) ? getenv("SWAP") : path;
}
int open(const char *path, int flags, int mode)
{
    int (*next)(const char *, int, int) = (int (*)(const char *, int, int))dlsym(RTLD_NEXT, "open");
    return next(swapped(path), flags, mode);
}
int open64(const char *path, int flags, int mode)
{
    int (*next)(const char *, int, int) = (int (*)(const char *, int, int))dlsym(RTLD_NEXT, "open64");
    return next(swapped(path), flags, mode);
}
END
if "$CC" -shared -fPIC -D_FORTIFY_SOURCE=0 -o swap.so swap.c -ldl 2>log; then
    world swaps 0 1 3
    "$copy" -s 4 -r 2 "$image" swaps/swap.rkci
    "$copy" -i "$run_id" -w "$world_id" -t 0 -s 4 -r 2 aborted.h5.partial/rank-0.rkci another-program
    "$copy" -s 4 -r 1 "$image" another-rank
    for what in nowhere another-program another-rank; do
        for at in 3 4; do
            rm -f swaps.h5
            # shellcheck disable=SC2030,SC2031 # for these alone
            is "$(export LD_PRELOAD="$work/swap.so" AT=$at SWAP=$what && recover swaps)" \
                "1 swaps.h5: 3 of 4 ranks, PARTIAL, 1" "when it becomes $what for reading $at, it is left out"
            look swaps.h5 'f["/ranks/rank"][:].tolist() == [0, 1, 3] and calls("MPI_Allreduce") == 3'
            ok $? "and the rest is there once"
        done
    done
else
    skip 12 "no shared object can be made: $(head -n 1 log)"
fi

mkdir folder
for output in folder . /dev/null; do
    timeout 60 "$RKC_COMMAND" recover twice -o $output >recover.out 2>recover.err
    [ $? -eq 2 ] && grep -q "not the name of a file: $output;" recover.err
    ok $? "an output that is no file is refused: $output" recover.err
done

# --- gather ---

# gathered WANTED...: what gather says and does with these arguments
gathered() {
    timeout 60 "$RKC_COMMAND" gather "$@" >gather.out 2>gather.err
    echo "$? $(cat gather.out), $(wc -l <gather.err)"
}
world left-here 0 1 2
"$copy" -i mine left-here/rank-0.rkci left-here/mine.rkci
is "$(gathered --run "$run_id" --from left-here there) $(ls there | wc -l)" "0 there: 3 images, 0 3" \
    "gather copies the images of a run"
is "$(gathered --run "$run_id" --from there --move there) $(ls there | wc -l)" "0 there: 3 images, 0 3" \
    "what lies in the folder already stays there"
ln -s there again
is "$(gathered --run "$run_id" --from again --move there) $(ls there | wc -l)" "0 there: 3 images, 0 3" \
    "by whatever name"
is "$(gathered --run "$run_id" --from left-here --move twice.h5) $(ls left-here | wc -l)" \
    "1 twice.h5: 0 images, 1 4" "where nothing can be put nothing is lost, and one line says it"
like "$(cat gather.err)" 'cannot move left-here/rank-0.rkci and 2 more to twice.h5: Not a directory$' \
    "with what and why"
is "$(gathered --run "$run_id" --from left-here --move there) $(ls left-here)" "0 there: 3 images, 0 mine.rkci" \
    "those of other runs are left alone"

# --- many ---

mkdir many
"$copy" -s 2000 -r 0 -n 2000 "$image" many
rm many/rank-77.rkci many/rank-78.rkci
is "$(recover many)" "0 many.h5: 1998 of 2000 ranks, PARTIAL, 0" "so it is with thousands"
look many.h5 'f["/missing_ranks"][:].tolist() == [[77, 78]] and len(f["/ranks/rank"]) == 1998'
ok $? "each has its row"

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
