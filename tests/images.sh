#!/bin/sh
# LIMIT 300
# Where the images of running ranks lie, that they go at a proper end and stay after a kill, and how
# they become a file. /dev/shm is one of our own here, in a name space that goes with the test.
set -u

. "$top_srcdir/tests/tap.sh"
if [ "${1:-}" != inside ]; then
    for unshare in 'unshare -m' 'unshare -rm'; do
        $unshare mount -t tmpfs none /dev/shm 2>/dev/null && exec $unshare "$0" inside
    done
    skip_all "a /dev/shm of our own cannot be mounted here"
fi
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
shm() { # SIZE: mount an empty one
    umount /dev/shm 2>/dev/null
    mount -t tmpfs -o "size=$1,mode=1777" none /dev/shm || bail "cannot mount /dev/shm"
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
shm 64m
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
unset RANKCLOCK_SPOOL TMPDIR SLURM_TMPDIR # all is as users have it
# What the MPI shares would take the room.
mkdir "$work/segments"
export OMPI_MCA_btl_vader_backing_directory="$work/segments" UCX_POSIX_DIR="$work/segments"
rmdir /dev/shm/*
library=$RKC_LIBDIR/librankclock-mpi.so
export RANKCLOCK_WRITER="$RKC_COMMAND"
background=
leave() {
    [ -z "$background" ] || kill -9 "$background" 2>/dev/null
    for file in pid.*; do
        [ ! -e "$file" ] || kill -9 "$(cat "$file")" 2>/dev/null
    done
    cd /
    rm -rf "$work"
}
trap leave EXIT

# Ranks that never end: rank 0 waits for itself, the others for it.
cat >hang.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    char name[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    snprintf(name, sizeof name, "pid.%d", rank);
    if (rank == 0 && argc > 1 && atoi(argv[1]))
        MPI_Abort(MPI_COMM_WORLD, 3);
    FILE *file = fopen(name, "w");
    if (file) {
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
    if (rank == 0)
        MPI_Recv(name, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    else
        MPI_Bcast(name, 1, MPI_CHAR, 0, MPI_COMM_WORLD);
    return MPI_Finalize();
}
END
$MPICC -o hang hang.c 2>log || bail "cannot build hang.c: $(cat log)"

spooled() {
    find /dev/shm -type f | sed 's|.*/||' | sort
}

# Until a command succeeds, for a minute at most.
wait_for() { # COMMAND
    for _ in $(seq 600); do
        eval "$1" && break
        sleep 0.1
    done
}

has_ranks() { # RANKS
    [ "$(cat pid.* 2>/dev/null | wc -l)" -eq "$1" ]
}

# A command in the background until RANKS have written their ids.
begin() { # RANKS COMMAND...
    wanted=$1
    shift
    rm -f pid.*
    "$@" >out 2>err </dev/null &
    background=$!
    wait_for 'has_ranks "$wanted"'
}

kill_ranks() {
    # shellcheck disable=SC2046 # each is a word
    kill -9 $(cat pid.*)
    wait $background
    status=$?
    background=
    rm -f pid.*
}

hang() { # RANKS [SETTING=VALUE]...
    ranks=$1
    shift
    begin "$ranks" timeout -k 5 60 $MPIRUN -n "$ranks" env LD_PRELOAD="$library" \
        RANKCLOCK_OUTPUT="$work/hang.h5" "$@" ./hang
}

# --- who has one ---

LD_PRELOAD=$library sh -c 'ls /dev/shm; cat /dev/null | wc -c; exec ls /dev/shm' >out 2>err
is "$(cat out err)" 0 "shells and filters have no image"
ending=$top_builddir/tests/apps/ending
start 60 3 LD_PRELOAD="$library" RANKCLOCK_OUTPUT=run.h5 "$ending" finalize >out 2>err
like "$("$RKC_COMMAND" report run.h5)" 'COMPLETE (3/3 ranks)' "at a proper end there is a file"
is "$(spooled)" "" "and no image of any rank"
for case in c21b_exec_self c28b_fork c20_before_after; do
    start 60 2 LD_PRELOAD="$library" RANKCLOCK_OUTPUT=case.h5 \
        LD_LIBRARY_PATH="$RKC_LIBDIR" "$top_builddir/tests/cases/$case" >out 2>err
    is "$(cat out) $(spooled)" "OK " "$case leaves none"
done
start 60 2 LD_PRELOAD="$library" RANKCLOCK_OUTPUT=failed.h5 RANKCLOCK_WRITER=/nowhere "$ending" \
    finalize >out 2>err
is "$(ls failed.h5.partial) $(spooled)" "rank-0.rkci
rank-1.rkci " "nor do ranks that could save it elsewhere"
(cd /proc && start 60 2 LD_PRELOAD="$library" RANKCLOCK_OUTPUT=x.h5 RANKCLOCK_WRITER=/nowhere \
    TMPDIR=/proc "$ending" finalize >"$work/out" 2>"$work/err")
is "$(spooled | wc -l)" 2 "what can be saved nowhere stays"
like "$(cat err)" 'what was measured is left in /dev/shm/rankclock-.*rank-0.rkci on' "which is said"
rm -f /dev/shm/*

# --- killed ---

hang 2 RANKCLOCK_RUN_ID=first
is "$(spooled | sed 's/first\..*\.rank/first.WORLD.rank/')" "rankclock-first.WORLD.rank-0.rkci
rankclock-first.WORLD.rank-1.rkci" "while it runs each rank has one, by run, world and rank"
"$RKC_COMMAND" recover --list >list 2>&1
like "$(cat list)" '^first  *2/2 .* hang  */dev/shm  (2 still running)$' "recover --list tells of it"
"$RKC_COMMAND" recover --run first -o live.h5 >recover.out 2>&1
is "$? $(cat recover.out)" "0 live.h5: 2 of 2 ranks, PARTIAL" "a file can be made meanwhile"
are_there() { # Each where it is to be killed.
    rm -f there.h5
    "$RKC_COMMAND" recover --run first -o there.h5 >recover.out 2>&1
    "$RKC_COMMAND" report there.h5 >looked 2>&1
    grep -q MPI_Recv looked && grep -q MPI_Bcast looked
}
wait_for are_there
"$RKC_COMMAND" gather --run first gathered >gather.out 2>&1
is "$? $(ls gathered 2>/dev/null) $(spooled | wc -l)" "1  2" "gather leaves it alone"
kill_ranks
is "$(spooled | wc -l)" 2 "after SIGKILL they are there"
hang 3 RANKCLOCK_RUN_ID=second
kill_ranks
"$RKC_COMMAND" recover --list >list 2>&1
is "$(sed -n 's/^\(first\|second\)  *\([0-9/]*\) .*/\1 \2/p' list)" "first 2/2
second 3/3" "also beside those of another run"
"$RKC_COMMAND" recover /dev/shm -o both.h5 >recover.out 2>recover.err
is "$? $(cat recover.out)" "1 both.h5: 3 of 3 ranks, PARTIAL" \
    "recover makes a file of the folder, of the run that most are of"
is "$(wc -l <recover.err) $(grep -c 'and 1 more left out: of run first' recover.err)" "1 1" \
    "and says once that there is another"
"$RKC_COMMAND" recover --run first -o first.h5 >recover.out 2>&1
is "$? $(cat recover.out)" "0 first.h5: 2 of 2 ranks, PARTIAL" "or of the run wanted"
report=$("$RKC_COMMAND" report first.h5)
like "$report" 'PARTIAL' "its report says that it is partial"
like "$report" 'MPI_Recv' "and where the ranks were: one here"
like "$report" 'MPI_Bcast' "and one there"
is "$(spooled | wc -l)" 5 "recover removes nothing"
"$RKC_COMMAND" gather --run first gathered >gather.out 2>&1
is "$? $(ls gathered | wc -l) $(spooled | wc -l)" "0 2 5" "gather copies a run's"
"$RKC_COMMAND" gather --run first --move gathered >gather.out 2>&1
is "$? $(ls -A gathered | wc -l) $(spooled | grep -c second)" "0 2 3" \
    "or moves them; a copy takes the earlier one's place"
"$RKC_COMMAND" recover gathered -o gathered.h5 >recover.out 2>&1
is "$? $(cat recover.out)" "0 gathered.h5: 2 of 2 ranks, PARTIAL" \
    "and a file can be made of the copies"
"$RKC_COMMAND" gather there >gather.out 2>&1
is "$? $(ls -d there 2>/dev/null)" "2 " "without a run or a job it asks for one"
rm -f /dev/shm/*
hang 2 SLURM_JOB_ID=4711
kill_ranks
SLURM_JOB_ID=4712 "$RKC_COMMAND" gather job >gather.out 2>&1
is "$? $(ls job 2>/dev/null)" "0 " "of another job it takes none"
SLURM_JOB_ID=4711 "$RKC_COMMAND" gather job >gather.out 2>&1
is "$? $(ls job 2>/dev/null | wc -l)" "0 2" "of its own all"
rm -f /dev/shm/*
hang 2 SLURM_JOB_ID=4713 SLURM_ARRAY_JOB_ID=4711 SLURM_ARRAY_TASK_ID=3
kill_ranks
"$RKC_COMMAND" gather --job 4711 array >gather.out 2>&1
is "$? $(ls array 2>/dev/null)" "0 " "an array's task is not its first one"
SLURM_JOB_ID=4713 "$RKC_COMMAND" gather epilog >gather.out 2>&1
is "$? $(ls epilog 2>/dev/null | wc -l)" "0 2" "it is found by the number that an epilog knows"
"$RKC_COMMAND" gather --job 4711_3 array >gather.out 2>&1
is "$? $(ls array 2>/dev/null | wc -l)" "0 2" "and by that which its user sees"
"$RKC_COMMAND" gather --job '' all >gather.out 2>&1
is "$? $(cat gather.out) $(ls all 2>/dev/null)" \
    "2 rankclock: gather: nothing after --job; see rankclock gather --help " \
    "an empty number is none, not all"
rm -f /dev/shm/*

# --- processes with ids of their own, as in a container ---

if unshare -pf --kill-child --mount-proc true 2>/dev/null; then
    begin 1 env RANKCLOCK_RUN_ID=inner unshare -pf --kill-child --mount-proc sh -c \
        "'$top_builddir/tests/apps/image_writer' notes & echo 1 >pid.0; wait"
    within() { # what gather finds, once there is an image
        for _ in $(seq 100); do
            spooled | grep -q rkci && break
            sleep 0.1
        done
        "$RKC_COMMAND" gather --run inner inner 2>&1
    }
    like "$(within)" '1 process still run' "a process in a container is known to live"
    kill -9 $background
    wait $background 2>/dev/null
    background=
    for _ in $(seq 100); do # until the kernel has ended it, too
        [ "$("$RKC_COMMAND" recover --list | grep -c 'still running')" -eq 0 ] && break
        sleep 0.1
    done
    is "$("$RKC_COMMAND" gather --run inner --move inner 2>&1) $(spooled)" "inner: 1 image " \
        "and, whatever process has its number here, to have ended"
    rm -f pid.*
else
    skip 2 "unshare -p is not permitted here"
fi

# --- rankclock run ---

begin 3 timeout -k 5 60 "$RKC_COMMAND" run -o killed.h5 -- $MPIRUN -n 3 ./hang
kill_ranks
is "$(grep -c '^rankclock: wrote killed.h5 (3 of 3 ranks, PARTIAL) of what was saved of the run$' err)" 1 \
    "rankclock run makes a file of what killed ranks left"
like "$("$RKC_COMMAND" report killed.h5 | head -n 1)" PARTIAL "which is partial"
is "$(ls killed.h5.partial | wc -l) $(spooled)" "3 " "the images are beside it, and no longer here"
timeout -k 5 60 "$RKC_COMMAND" run -o aborted.h5 -- $MPIRUN -n 3 ./hang 1 >out 2>err
like "$(cat err)" '^rankclock: wrote aborted.h5 (3 of 3 ranks, ABORTED)' \
    "after MPI_Abort it has the ranks that were ended, too"
is "$(spooled)" "" "of which nothing else is left"
begin 1 timeout -k 5 60 "$RKC_COMMAND" run -o alone.h5 -- sh -c "
    '$top_builddir/tests/apps/image_writer' notes & writer=\$!
    until tr -d '\\0' <notes | grep -q .; do sleep 0.1; done
    echo \$writer >pid.0; wait \$writer"
kill_ranks
is "$(grep -c '^rankclock: wrote alone.h5 (1 of 1 ranks, PARTIAL)' err) $(spooled)" "1 " \
    "so it is with a program without MPI"
# Killed when its file is there and its image not yet gone, or before the former: as if it were.
"$CC" -shared -fPIC -O1 -o faults.so "$top_srcdir/tests/faults.c" -ldl || bail "cannot compile faults.c"
cat >killer <<'END'
#!/bin/sh
for host in elsewhere $(uname -n); do
    : >".two.h5.$host.$$.0.tmp"
done
kill -9 "$(cat pid.0)"
END
chmod +x killer
writer=$top_builddir/tests/apps/image_writer
env FAULTS_FOLDER=/dev/shm FAULTS_FAIL=unlink:1 timeout -k 5 60 "$RKC_COMMAND" run -o late.h5 -- sh -c "
    LD_PRELOAD=$work/faults.so:\$LD_PRELOAD '$writer' notes 0.1" >out 2>err
is "$(cat err) $(spooled)" "rankclock: wrote late.h5 " \
    "an image of a process whose file is there goes with the run"
timeout -k 5 60 "$RKC_COMMAND" run -o two.h5 -- sh -c "'$writer' notes 0.1
    echo \$\$ >pid.0; RANKCLOCK_WRITER=$work/killer exec '$writer' notes 0.1" >out 2>err
is "$(grep -c '^rankclock: wrote two.*h5' err) $(ls two*.h5 | wc -l) $(spooled)" "2 2 " \
    "but not of one of another world, which was killed while it wrote its own"
is "$(find . -name '.two*' | sed 's/[0-9.]*tmp//')" "./.two.h5.elsewhere" \
    "of whose file nothing else is left; writers of other hosts may still be there"
rm -f pid.0 .two*
mkdir -m 700 /dev/shm/self.h5.partial
begin 2 timeout -k 5 60 env RANKCLOCK_SPOOL=/dev/shm/self.h5.partial "$RKC_COMMAND" run -o /dev/shm/self.h5 -- \
    $MPIRUN -n 2 ./hang
kill_ranks
is "$(grep -c '^rankclock: wrote /dev/shm/self.h5 (2 of 2 ranks, PARTIAL)' err) $(ls /dev/shm/self.h5.partial | wc -l)" \
    "1 2" "images that lie where they would be moved to stay there"
rm -r /dev/shm/self.h5*
begin 3 timeout -k 5 60 "$RKC_COMMAND" run -o other.h5 -- $MPIRUN -n 3 ./hang
mv /dev/shm/rankclock-*.rank-2.rkci "$work/elsewhere.rkci" # as if it were another node's
kill_ranks
like "$(cat err)" '^rankclock: wrote other.h5 (2 of 3 ranks, PARTIAL)' "what other nodes have is missing"
id=$(sed -n "s|^rankclock: of 1 rank nothing was found on this node; .*rankclock gather --run \(.*\) $work/other.h5.partial\$|\1|p" err)
mv elsewhere.rkci /dev/shm/elsewhere.rkci
"$RKC_COMMAND" gather --move --run "${id:-none}" other.h5.partial >gather.out 2>&1
"$RKC_COMMAND" recover other.h5.partial -o all.h5 >recover.out 2>&1
is "$? $(cat recover.out)" "0 all.h5: 3 of 3 ranks, PARTIAL" \
    "and can be added as the message says"
is "$(spooled)" "" "then nothing is left"

# --- no room ---

shm 64k
start 60 4 LD_PRELOAD="$library" RANKCLOCK_OUTPUT=small.h5 "$ending" finalize >out 2>err
is "$? $(grep -c 'recording in memory alone, .*/dev/shm: not enough room' err)" "0 1" \
    "in a /dev/shm of 64 KiB there is no image, which one rank says"
like "$("$RKC_COMMAND" report small.h5)" 'COMPLETE (4/4 ranks)' "and the run is measured"
mkdir tmp
mount -t tmpfs -o size=64m none tmp
start 60 4 LD_PRELOAD="$library" RANKCLOCK_OUTPUT=other.h5 TMPDIR="$work/tmp" "$ending" finalize \
    >out 2>err
is "$(grep -c 'in memory' err)" 0 "unless there is another folder"
umount -l tmp

shm 18m
hang 16
is "$(spooled | grep -c "rkci$" | awk '{ print ($1 >= 1 && $1 <= 8) }')" 1 \
    "16 ranks take 2 of 18 MiB, the rest is left to others"
kill_ranks
rm -f /dev/shm/*
start 60 16 LD_PRELOAD="$library" RANKCLOCK_OUTPUT=sixteen.h5 "$ending" finalize >out 2>err
like "$? $("$RKC_COMMAND" report sixteen.h5)" 'COMPLETE (16/16 ranks)' "and are measured, all of them"
is "$(spooled)" "" "and leave nothing"

shm 18m
begin 1 timeout -k 5 60 env LD_PRELOAD="$library" RANKCLOCK_OUTPUT="$work/grown.h5" \
    "$top_builddir/tests/apps/signals" work 8
wait_for "grep -q 'cannot grow' err" # its threads come one after another
like "$(cat err)" 'cannot grow beyond .*: going on in memory' "an image may outgrow its file"
kill -SEGV "$(cat pid.0)"
wait $background
background=
rm -f pid.0
is "$("$top_builddir/tests/image_reader" show grown.h5.partial/rank-0.rkci | grep -c other) $(spooled)" \
    "1000 " "then it is saved when the program crashes, all of it, and its file goes"
umount /dev/shm

finish
