#!/bin/sh
# LIMIT 300
# An end that does not go well: ranks that come late or never, a writer that fails. Nobody waits
# for longer than RANKCLOCK_FINALIZE_TIMEOUT, the program's own end is as it is without the
# library, and what cannot be written is left as images.
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
library=$RKC_LIBDIR/librankclock-mpi.so
ending=$top_builddir/tests/apps/ending

# Run with the library and settings, SECONDS at most; what was left before is gone.
measured() { # SECONDS RANKS WAY... [-- SETTING=VALUE...]
    limit=$1 ranks=$2
    shift 2
    words=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    [ $# -gt 0 ] && shift
    rm -rf run.*
    begin=$(date +%s)
    # shellcheck disable=SC2086 # a way has several words
    start "$limit" "$ranks" LD_PRELOAD="$library" RANKCLOCK_OUTPUT=run.h5 "$@" "$ending" $words \
        >out 2>err
    status=$?
    seconds=$(($(date +%s) - begin))
}

# Without the library; the status is in $plain.
plain() { # RANKS WAY...
    start 100 "$1" "$ending" "$2" >plain.out 2>plain.err
    plain=$?
}

said() {
    grep '^rankclock:' err
}

images() {
    (cd run.h5.partial 2>/dev/null && echo *)
}

recovered() { # WANTED WHAT
    "$RKC_COMMAND" recover run.h5.partial -o recovered.h5 >/dev/null 2>&1
    like "$("$RKC_COMMAND" report recovered.h5 2>&1)" "$1" "$2"
    rm -f recovered.h5
}

all="rank-0.rkci rank-1.rkci rank-2.rkci rank-3.rkci"
saved="^rankclock: not all ranks came to MPI_Finalize in time: .*saved in $work/run.h5.partial; "

# --- late, too late, never ---

# A job that says something after half a minute goes on beside the others; the last checks are its own.
# Rank 0 is late, too, and its image in memory alone.
ours="LD_PRELOAD=$library RANKCLOCK_OUTPUT=run.h5"
mkdir quiet
# shellcheck disable=SC2086 # two settings
(cd quiet && start 100 1 $ours RANKCLOCK_SPOOL=off "$ending" two-late 35 : \
    3 $ours "$ending" two-late 35 >out 2>err) &
quiet=$!

measured 100 4 late 1.5
is "$status $(said)" "0 rankclock: wrote $work/run.h5" "a rank that comes late is waited for"

measured 100 4 late 4 -- RANKCLOCK_FINALIZE_TIMEOUT=1
is "$status $(grep -c done out)" "0 4" "a rank that comes too late lets the program end well"
is "$(images)" "$all" "every rank then has left its image, the late one too"
like "$(said)" "$saved" "which is said"
is "$(said | wc -l | tr -d ' ')" 1 "once"
recovered 'COMPLETE (4/4 ranks)' "from these the whole file can be made"

# All are killed at once: a launcher that ends would wake the rank that stopped.
rm -rf run.*
start 100 4 LD_PRELOAD="$library" RANKCLOCK_OUTPUT=run.h5 RANKCLOCK_FINALIZE_TIMEOUT=2 \
    "$ending" stop "$work" >out 2>err &
tries=0
until [ "$(ls run.h5.partial/rank-*.rkci 2>/dev/null | wc -l)" -ge 3 ] || [ "$tries" -ge 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
pkill -KILL -f "stop $work"
wait $! 2>/dev/null
is "$(images)" "rank-0.rkci rank-2.rkci rank-3.rkci" \
    "when a rank stops for good the others leave their images"
recovered 'PARTIAL (3/4 ranks' "from which a file without it can be made"

measured 100 4 finalize -- RANKCLOCK_FINALIZE_TIMEOUT=0
is "$status $(grep -c done out)" "0 4" "a timeout of 0 is a good end, too"

# --- without MPI_Finalize ---

for way in exit _exit; do
    plain 4 $way
    measured 100 4 $way
    # Hydra takes that of the rank it hears of first: the others end by SIGKILL, which it sends.
    if [ "$mpi" = mpich ]; then
        like "$plain $status" '^[39] [39]$' "a rank that leaves by $way: the status is 3 or 9"
    else
        is "$status" "$plain" "a rank that leaves by $way: the status is as without the library"
    fi
    ok=1
    [ "$seconds" -lt 60 ] || ok=0
    is "$ok" 1 "nobody waits for it ($way)"
done
measured 100 4 exit
like "$(images)" rank-1.rkci "the image of a rank that calls exit is left"
like "$(said)" 'the program ended without MPI_Finalize: ' "and the reason is said"

for way in abort abort-before; do
    plain 2 $way
    measured 100 2 $way
    is "$status" "$plain" "MPI_Abort ($way): the status is as without the library"
done
measured 100 2 abort
like "$(images)" rank-1.rkci "MPI_Abort: the image of the rank that calls it is left"
like "$(said)" 'the program called MPI_Abort: ' "and the reason is said"
recovered ABORTED "a file made of it says aborted"

# --- the writer ---

writer_fails() { # PATTERN WHAT
    is "$status $(grep -c done out)" "0 4" "$2: the program ends well"
    is "$(images)" "$all" "$2: every rank has left its image"
    like "$(said)" "$1" "$2: the reason is said"
    is "$(said | wc -l | tr -d ' ')" 2 "$2: in one line, and one for the images"
}

measured 100 4 finalize -- RANKCLOCK_WRITER=/nowhere/rankclock
writer_fails 'cannot start /nowhere/rankclock: ' "no writer"
recovered 'COMPLETE (4/4 ranks)' "no writer: the file can be made later"

measured 100 4 finalize -- RANKCLOCK_WRITER=/bin/false
writer_fails 'the writer process \(ended early\|did not answer\)' "a writer that ends"

cat >full <<'END'
#!/bin/sh
cat >/dev/null
echo "error cannot write run.h5: No space left on device"
END
cat >mute <<'END'
#!/bin/sh
exec sleep 90
END
chmod +x full mute
measured 100 4 finalize -- RANKCLOCK_WRITER="$work/full"
writer_fails 'cannot write run.h5: No space left on device' "a full disk"

measured 100 4 finalize -- RANKCLOCK_WRITER="$work/mute" RANKCLOCK_FINALIZE_TIMEOUT=2
writer_fails 'the writer process did not ' "a writer that hangs"
[ "$seconds" -lt 60 ]
is "$?" 0 "a writer that hangs: it is not waited for beyond the timeout"

measured 100 2 finalize -- RANKCLOCK_OUTPUT=/proc/run.h5 TMPDIR="$work"
is "$status $(grep -c done out)" "0 2" "a folder that cannot be written to: the program ends well"
is "$(ls run.h5.partial)" "rank-0.rkci
rank-1.rkci" "the images are left in the folder for temporary files"

wait $quiet
known="rank 1 is in late; rank 0 has no image on $(uname -n)"
is "$(grep '^rankclock:' quiet/err)" "rankclock: not all ranks are in MPI_Finalize after 30 s ($known): the others wait for 600 s in all (RANKCLOCK_FINALIZE_TIMEOUT)
rankclock: wrote $work/quiet/run.h5" "after half a minute one rank says what is known of those awaited"
is "$(ls -A quiet)" "err
out
run.h5" "and there is nothing but the file"

finish
