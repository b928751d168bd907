#!/bin/sh
# LIMIT 300
# Signals: what ends a program leaves its image, and ends it as it would without the library; what is
# the program's own is left alone.
set -u

. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all "the sanitizers have handlers of their own"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
# shellcheck disable=SC3045 # dash, bash and ksh know -c
ulimit -S -c 0
library=$RKC_LIBDIR/librankclock-mpi.so
program=$top_builddir/tests/apps/signals
spool=$RANKCLOCK_SPOOL
export RANKCLOCK_OUTPUT=run.h5 RANKCLOCK_WRITER="$RKC_COMMAND" RANKCLOCK_RUN_ID="signals-$$"
job=
leave() {
    [ -z "$job" ] || kill -9 "$job" 2>/dev/null
    for file in "$work"/pid.*; do
        [ ! -e "$file" ] || kill -9 "$(cat "$file")" 2>/dev/null
    done
    cd /
    rm -rf "$work" "$start_memory"
}
trap leave EXIT

# One process without a launcher, whose status tells the signal. PRELOAD is "" or the library.
alone() { # PRELOAD [SETTING=VALUE]... PROGRAM...
    preload=$1
    shift
    rm -rf run.h5* "$spool"/rankclock-*
    timeout -k 5 60 env LD_PRELOAD="$preload" "$@" >out 2>err </dev/null
    status=$?
}

# What a process says but for numbers and for our own lines.
messages() {
    grep -v -e '^rankclock: ' -e '/librankclock' -e '^ *[0-9]*  ' err | sed 's/0x[0-9a-f]*//g; s/[0-9 ]//g'
}

recovered() { # WANTED WHAT
    "$RKC_COMMAND" recover run.h5.partial -o recovered.h5 >recover.out 2>&1
    is "$(cat recover.out)" "recovered.h5: $1" "$2"
    rm -f recovered.h5
}

# --- whose handlers are there ---

alone "" "$program" see
[ "$status" -eq 0 ] || bail "the program fails alone: $(cat err)"
mv out plain
owners=$(sed -n 's/^between: //p' plain)
alone "$library" "$program" see
is "$status $(sed -n 's/^between: //p' out)" \
    "0 $(echo "$owners" | sed 's/TERM default/TERM librankclock/; s/XCPU default/XCPU librankclock/')" \
    "with an image behind a file those that others send are ours, where nobody else has them"
is "$(grep -v ^between out)" "$(grep -v ^between plain)" \
    "handlers of the program, forked children, the end: all is as without the library"
is "$(ls -d run.h5*)" run.h5 "and the run goes on to its end"
alone "$library" RANKCLOCK_SPOOL=off "$program" see
is "$(sed -n 's/^between: //p' out | sed 's/ USR1.*//')" \
    "TERM librankclock INT ignored XCPU librankclock QUIT signals SEGV librankclock BUS librankclock FPE librankclock ILL librankclock ABRT librankclock" \
    "without a file crashes are ours, too, and MPI's own handlers behind ours"
is "$(grep -v ^between out)" "$(grep -v ^between plain)" "without a file: else all is as before"

# --- crashes ---

for how in segv bus fpe ill abort; do
    alone "" "$program" die $how
    plain_status=$status plain_messages=$(messages)
    alone "$library" "$program" die $how
    is "$status $(messages)" "$plain_status $plain_messages" "$how: status and messages stay"
    is "$(ls -d run.h5* 2>/dev/null) $(find "$spool" -mindepth 1 -name '*.rkci' | wc -l)" " 1" \
        "$how: the image stays behind"
    alone "$library" RANKCLOCK_SPOOL=off "$program" die $how
    is "$status $(messages)" "$plain_status $plain_messages" "$how without a file: they stay as well"
    like "$(cat err)" "^rankclock: SIG[A-Z]*: what was measured is saved in $work/run.h5.partial; " \
        "$how without a file: the image is saved, which is said"
    recovered '1 of 1 ranks, ABORTED' "$how without a file: what ended so is aborted"
done
alone "$library" RANKCLOCK_SPOOL=off "$program" own
is "$status $(ls -d run.h5* 2>/dev/null)" "5 " \
    "a handler that the program sets later gets its signal as it was"

# Whether a process dumps its core, which a shell's status does not tell.
cat >dump.py <<'END'
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("dumped" if os.WCOREDUMP(os.waitpid(child.pid, 0)[1]) else "did not dump")
END
dump() { # PRELOAD HOW
    rm -rf run.h5* "$spool"/rankclock-*
    # shellcheck disable=SC3045 # dash, bash and ksh know -c
    (ulimit -S -c "$(ulimit -H -c)" && timeout -k 5 60 "${PYTHON:-python3}" dump.py env LD_PRELOAD="$1" \
        RANKCLOCK_SPOOL=off "$program" die "$2") 2>/dev/null
    rm -f core*
}
if [ "$(dump "" abort)" = dumped ]; then
    for how in segv abort QUIT; do
        is "$(dump "$library" $how) $(ls run.h5.partial 2>/dev/null)" "dumped rank-0.rkci" \
            "$how: after the image the core is dumped"
    done
else
    skip 3 "no core is dumped here"
fi

# --- who has handlers of its own before MPI_Init ---

cat >script.py <<'END'
import ctypes, faulthandler, os, signal, sys, time
way = sys.argv[1]
if way == "faulthandler":
    faulthandler.enable()
from mpi4py import MPI
if way == "later":
    faulthandler.enable()
if way != "interrupt":
    ctypes.string_at(8)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGTERM))
END
python=${PYTHON:-python3}
ask='import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())'
case $mpi:$("$python" -B -c "$ask" 2>/dev/null | head -n 1) in
openmpi:*'Open MPI'* | mpich:*MPICH*)
    for way in interrupt faulthandler later; do
        alone "" "$python" -B script.py $way
        plain="$status $(cat out) $(grep -c '^Fatal Python error: Segm' err)"
        alone "$library" RANKCLOCK_SPOOL=off "$python" -B script.py $way
        is "$status $(cat out) $(grep -c '^Fatal Python error: Segm' err)" "$plain" \
            "Python, $way: as without the library"
    done
    ;;
*) skip 3 "no mpi4py for this MPI" ;;
esac

# --- programs built with sanitizers ---

# A program's end, with what its sanitizer says and what of ours it leaves.
checked() { # SETTING HOW
    alone "" "$1" "./checked-$sanitizer" die "$2"
    echo "$status $(sed -n 's/.*ERROR: \([A-Za-z]*Sanitizer: [A-Z]*\).*/\1/p' err) $(ls run.h5.partial 2>/dev/null)"
}

# Crashes are the sanitizer's, without a file, too, and whoever stands in its place: under MPICH UCX.
# What MPI does on stacks of its threads must not be taken for races, which it is by chance.
export ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=ignore_noninstrumented_modules=1
for compiler in gcc clang; do
    rm -f checked-*
    for sanitizer in address thread undefined; do
        what="$compiler's $sanitizer sanitizer"
        # shellcheck disable=SC2086 # the compiler may hold arguments
        if ! env OMPI_CC=$compiler MPICH_CC=$compiler $MPICC -fsanitize=$sanitizer -g -o "checked-$sanitizer" \
            "$top_srcdir/tests/apps/signals.c" -Wl,--no-as-needed -L"$RKC_LIBDIR" -lrankclock-mpi \
            -lrankclock -Wl,-rpath,"$RKC_LIBDIR" -ldl -lpthread >log 2>&1; then
            skip 3 "$what is not here"
            continue
        fi
        is "$(checked RANKCLOCK_SPOOL=off segv)" "$(checked RANKCLOCK_ENABLE=off segv)" \
            "$what has its crash as before, and for itself"
        is "$(checked RANKCLOCK_SPOOL=off abort)" "134  " "$what: so it is with abort()"
        images=rank-0.rkci
        [ $sanitizer != thread ] || images= # whose handlers may never come to their signal
        is "$(checked RANKCLOCK_SPOOL=off TERM)" "143  $images" "$what: SIGTERM leaves ${images:-no image}"
    done
    # That of threads keeps signals from handlers, and has a clone() of its own.
    what="$compiler's thread sanitizer"
    alone "" RANKCLOCK_ENABLE=off ./checked-thread see
    if [ "$status" -ne 0 ]; then
        skip 2 "$what does not bear this MPI"
        continue
    fi
    plain="$status $(grep -c Sanitizer: err) $(grep -v ^between out)"
    alone "" ./checked-thread see
    is "$status $(grep -c Sanitizer: err) $(grep -v ^between out)" "$plain" \
        "$what: handlers of the program, forked children, the end: all is as before"
    is "$(ls -d run.h5*)" run.h5 "$what: and a file is written"
done
unset ASAN_OPTIONS TSAN_OPTIONS

# --- signals that others send ---

for signal in TERM INT XCPU QUIT; do
    alone "" "$program" die $signal
    plain_status=$status
    alone "$library" "$program" die $signal
    is "$status $(grep -c "^rankclock: SIG$signal: " err)" "$plain_status 1" \
        "SIG$signal, to a thread that we do not know: the status stays"
    is "$(find "$spool" -mindepth 1 -name 'rankclock-*' | wc -l)" 0 "SIG$signal: its image is saved, and no longer in the spool"
    recovered '1 of 1 ranks, PARTIAL' "SIG$signal: what ended so is partial"
done

# --- many ranks, at work in threads ---

# Start ranks, and wait until they are at work.
begin() { # RANKS WAY HOW [SETTING=VALUE]...
    ranks=$1 way=$2 how=$3
    shift 3
    rm -rf pid.* stop run.h5* "$spool"/rankclock-*
    # shellcheck disable=SC2086 # MPIRUN may hold arguments
    timeout -k 5 100 $MPIRUN -n "$ranks" env LD_PRELOAD="$library" "$@" "$program" "$way" "$how" \
        >out 2>err </dev/null &
    job=$!
    await "$ranks" "pid.*"
}

# Wait for N files by a pattern, each with something in it.
await() { # N PATTERN
    for _ in $(seq 300); do
        [ "$(find . -path "./$2" -type f -size +0 | wc -l)" -ge "$1" ] && return
        sleep 0.1
    done
}

ended() {
    wait "$job"
    status=$?
    job=
    rm -f pid.*
}

# What each of the threads had done is in its image.
whole() { # WHAT
    for image in run.h5.partial/*.rkci; do
        "$top_builddir/tests/image_reader" work "$image" || echo "in $image"
    done >work.out 2>&1
    is "$(cat work.out)" "" "$1"
}

begin 3 work 8
# shellcheck disable=SC2046 # each is a word
kill -TERM $(cat pid.*)
ended
is "$(ls run.h5.partial)" "rank-0.rkci
rank-1.rkci
rank-2.rkci" "SIGTERM to all ranks: each leaves its image"
whole "in the middle of what 8 threads do: the images are whole, no visit is torn"
is "$(grep -c '^rankclock: SIGTERM' err) $(grep -c '^rankclock: ' err)" "1 1" "which one rank says for all"
is "$(find "$spool" -mindepth 1 -name 'rankclock-*')" "" "and nothing else is left of the run"
recovered '3 of 3 ranks, PARTIAL' "a file made of them is partial"

begin 2 work 8
# shellcheck disable=SC2046
kill -TERM $(cat pid.*)
# shellcheck disable=SC2046
kill -XCPU $(cat pid.*) 2>/dev/null
# shellcheck disable=SC2046
kill -TERM $(cat pid.*) 2>/dev/null
ended
is "$(find run.h5.partial -name '*.rkci' | wc -l) $(grep -c '^rankclock: ' err)" "2 1" \
    "another signal, and the same once more, while one is acted upon: nothing is saved twice"
whole "nor cut short"

begin 3 work 2 RANKCLOCK_SPOOL=off
# shellcheck disable=SC2046
kill -TERM $(cat pid.*)
ended
is "$(find run.h5.partial -name '*.rkci' | wc -l)" 3 \
    "without a file behind them: no rank is taken along by the first that ends"
is "$(find /dev/shm -maxdepth 1 -name "rankclock-$RANKCLOCK_RUN_ID*")" "" "and nothing is left, either"

# --- who has saved waits for the others of its node ---

# Rank 1 comes to its signal when rank 0 is seen to wait; else it is the launcher's, which ends the
# job when rank 0 has ended. A shell between the launcher and the ranks does not keep them apart.
printf '#!/bin/sh\n"$@"\nexit\n' >between
chmod +x between
"$CC" -shared -fPIC -O1 -o hold.so "$top_srcdir/tests/hold.c" || bail "cannot compile hold.c"
rm -f held
begin 2 late held LD_PRELOAD="$work/hold.so:$library" HOLD_SAVED="$work/run.h5.partial/rank-0.rkci" \
    HOLD_HELD="$work/held" "$work/between"
# shellcheck disable=SC2046
kill -TERM $(cat pid.*)
ended
is "$(ls run.h5.partial)" "rank-0.rkci
rank-1.rkci" "a rank that has saved does not end before another, which is late, has saved"
begin 2 late never
# shellcheck disable=SC2046
kill -TERM $(cat pid.*)
ended
is "$(ls run.h5.partial) $((status == 124))" "rank-0.rkci 0" "but nobody waits for one that does not come"

# --- snapshots ---

snap() { # N: to all ranks, until there are N images
    # shellcheck disable=SC2046
    kill -USR1 $(cat pid.*)
    await "$1" "run.h5.partial/*.rkci"
}
begin 2 work 2 RANKCLOCK_SIGNAL=USR1
snap 2
whole "with RANKCLOCK_SIGNAL=USR1 that signal saves what there is"
recovered '2 of 2 ranks, PARTIAL' "of which a file can be made"
rm run.h5.partial/*.rkci
snap 2
is "$(find run.h5.partial -name '*.rkci' | wc -l)" 2 "and the next one saves again"
touch stop
ended
is "$status $(grep -c done out) $(grep '^rankclock' err)" \
    "0 2 rankclock: SIGUSR1: what was measured is saved in $work/run.h5.partial; make a file of it with rankclock recover $work/run.h5.partial -o FILE
rankclock: wrote $work/run.h5" "the run goes on to its end"
like "$("$RKC_COMMAND" report run.h5)" 'COMPLETE (2/2 ranks)' "and its file is whole"

alone "$library" RANKCLOCK_SIGNAL=TERM "$program" see
is "$(grep -c '^rankclock: RANKCLOCK_SIGNAL="TERM" is ignored: it must be USR1, USR2 or off$' err)" 1 \
    "a signal that cannot be had is named"

finish
