#!/bin/sh
# LIMIT 300
# A job that meets its time limit: the launcher gets SIGTERM, and SIGKILL later. It ends as it does
# without the library, whatever its ranks are in, and as soon (C69 of the field's cases).
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1

# meet_limit SIGNAL [SETTING=VALUE]... - the end of a job whose ranks hang, in $status and $seconds.
# timeout hands the signal on to the launcher alone, and ends it 40 s later: some machines are busy.
meet_limit() {
    signal=$1
    shift
    rm -f hangs.*
    # shellcheck disable=SC2086 # MPIRUN may hold arguments
    timeout --foreground -k 40 100 $MPIRUN -n 2 env "$@" \
        "$top_builddir/tests/apps/ending" hang "$work" >out 2>err </dev/null &
    job=$!
    tries=0
    while [ ! -e hangs.0 ] || [ ! -e hangs.1 ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || break
        sleep 0.1
    done
    begin=$(date +%s)
    kill -"$signal" "$job"
    wait "$job" 2>/dev/null
    status=$?
    seconds=$(($(date +%s) - begin))
    # Ranks that outlive their launcher are ended by it, or by what it left behind, soon.
    tries=0
    while pgrep -f "hang $work" >/dev/null && [ "$tries" -lt 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    left=$(pgrep -f "hang $work" | wc -l)
    pkill -KILL -f "hang $work"
}

for signal in TERM INT; do
    meet_limit $signal
    [ -e hangs.1 ] || bail "the program does not come to where it is to hang"
    plain_status=$status plain_left=$left plain_out=$(tr -d 0-9 <out)
    meet_limit $signal LD_PRELOAD="$RKC_LIBDIR/librankclock-mpi.so" RANKCLOCK_OUTPUT=run.h5 \
        RANKCLOCK_WRITER="$RKC_COMMAND" RANKCLOCK_SPOOL=off
    ok "$([ -e hangs.1 ]; echo $?)" "SIG$signal: both ranks hang with the library, too"
    # Hydra may hear of its ranks' ends before its own, or not: without the library, too.
    case $mpi:$status in
    mpich:0 | mpich:2 | mpich:15) status=$plain_status plain_out=$(tr -d 0-9 <out) ;;
    esac
    is "$status" "$plain_status" "SIG$signal: the launcher's status is what it is without"
    ok "$([ "$seconds" -le 30 ]; echo $?)" "SIG$signal: the job ends in time"
    is "$left" "$plain_left" "SIG$signal: no more ranks are left"
    is "$(tr -d 0-9 <out)" "$plain_out" "SIG$signal: so is stdout, but for numbers"
    unlike "$(cat out)" rankclock "SIG$signal: nothing of ours is there"
    is "$(ls run.h5 2>/dev/null)" "" "SIG$signal: there is no file that says it is whole"
done
finish
