#!/bin/sh
# LIMIT 900
# How a result file gets its name: by link(2), never over another file, whole or not at all. The
# writer is killed at each of its steps, each write fails once, and what is then left is nothing
# half-written, and an image of each rank.
set -u

. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all "the sanitizers' libraries would have to come first"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
ending=$top_builddir/tests/apps/ending
library=$RKC_LIBDIR/librankclock-mpi.so

"$CC" -shared -fPIC -O1 -o faults.so "$top_srcdir/tests/faults.c" -ldl || bail "cannot compile faults.c"
"$CC" -O1 -I"$top_srcdir/include" -o nompi "$top_srcdir/tests/apps/nompi.c" -L"$RKC_LIBDIR" \
    -Wl,-rpath,"$RKC_LIBDIR" -lrankclock -pthread || bail "cannot compile nompi.c"
cat >writer <<END
#!/bin/sh
LD_PRELOAD=$work/faults.so exec "$RKC_COMMAND" "\$@"
END
chmod +x writer
mkdir out
FAULTS_FOLDER=$work/out RANKCLOCK_OUTPUT=$work/out/run.h5
export FAULTS_FOLDER RANKCLOCK_OUTPUT

# One process, with settings; ./nompi steps ends well whatever becomes of the file.
single() { # SETTING=VALUE...
    env RANKCLOCK_WRITER="$work/writer" "$@" timeout 60 ./nompi steps >stdout 2>stderr
    status=$?
    [ "$status" -eq 0 ] || echo "the program's status is $status" >>faults
}

is_whole() { # FILE
    "$RKC_COMMAND" info "$1" >info 2>&1 && grep -q 'status  *COMPLETE' info
}

fault() {
    echo "$*" >>faults
}

no_faults() { # WHAT
    tap_report "$([ ! -s faults ]; echo $?)" "$1" <faults
    : >faults
}
: >faults

# --- names ---

for i in 1 2 3 4 5 6 7 8 9 10; do
    env RANKCLOCK_VERBOSE=0 RANKCLOCK_WRITER="$RKC_COMMAND" ./nompi steps >"stdout.$i" 2>"stderr.$i" &
done
wait
is "$(ls -A out | wc -l | tr -d ' ') $(cat stderr.*)" "10 " "ten runs that end at once have ten files"
for file in out/*; do
    is_whole "$file" || fault "$file is not whole"
done
no_faults "each of which is whole"
rm -f out/*

slurm() { # SETTING=VALUE...: a process of a batch job
    env RANKCLOCK_OUTPUT="$work/out/run-%j-%r.h5" RANKCLOCK_WRITER="$RKC_COMMAND" "$@" ./nompi steps \
        2>stderr
}
slurm SLURM_JOB_ID=77 SLURM_RESTART_COUNT=0
slurm SLURM_JOB_ID=77 SLURM_RESTART_COUNT=1
slurm SLURM_JOB_ID=79 SLURM_ARRAY_JOB_ID=78 SLURM_ARRAY_TASK_ID=1
slurm SLURM_JOB_ID=78 SLURM_ARRAY_JOB_ID=78 SLURM_ARRAY_TASK_ID=2
is "$(cd out && echo *)" "run-77-r1.h5 run-77.h5 run-78_1.h5 run-78_2.h5" \
    "a requeued job and the tasks of an array have names of their own"
rm -f out/*

for i in a b; do
    start 100 2 LD_PRELOAD="$library" "$ending" finalize >"stdout.$i" 2>"stderr.$i" &
done
wait
is "$(cd out && ls -A)" "run.2.h5
run.h5" "two jobs that end at once have two files"
for file in out/*; do
    "$RKC_COMMAND" info "$file" >info 2>&1 || fault "$file cannot be read"
    grep -q 'COMPLETE' info || fault "$file is not complete"
done
no_faults "each of which is complete"
rm -f out/*

start 100 2 LD_PRELOAD="$library" SLURM_JOB_ID=77 SLURM_STEP_ID=4 "$ending" finalize >stdout 2>stderr
"$RKC_COMMAND" info out/run.h5 >info 2>&1
is "$(sed -n 's/^ *job_\(id\|step\) */\1 /p' info)" "id 77" \
    "within a job a launcher's ranks know its number, and do not take the launcher's step for theirs"
rm -f out/*

# --- file systems without links ---

no_links=link:1
no_renames="$no_links,noreplace:22"
for faults in "$no_links" link:13 link:38 link:95 "$no_renames" link:1,noreplace:38 linked:17; do
    echo other >out/run.h5
    single FAULTS_FAIL="$faults" FAULTS_LOG=log
    [ "$(cat out/run.h5)" = other ] || fault "the file that had the name is another"
    [ "$(ls -A out)" = "run.2.h5
run.h5" ] || fault "there is $(ls -A out)"
    is_whole out/run.2.h5 || fault "run.2.h5 is not whole"
    no_faults "a file system where $faults: the next name is taken"
    rm -rf out/*
done

# Ten at once there, too.
rm -f stderr.*
for i in 1 2 3 4 5 6 7 8 9 10; do
    env RANKCLOCK_VERBOSE=0 RANKCLOCK_WRITER="$work/writer" FAULTS_FAIL="$no_renames" ./nompi steps \
        >"stdout.$i" 2>"stderr.$i" &
done
wait
is "$(ls -A out | wc -l | tr -d ' ') $(cat stderr.*)" "10 " "without links ten runs have ten files, too"
rm -f out/*

# --- killed at each step ---

# What may be there after the writer's end: a whole file, or an image; and the file that had the name.
sound() { # STEP
    [ "$(cat out/run.h5)" = other ] || fault "step $1: the file that had the name is another"
    rest=$(ls -A out | grep -v -x -e run.h5 -e run.2.h5 -e run.h5.partial)
    [ -z "$rest" ] || fault "step $1: there is $rest"
    if [ -e out/run.2.h5 ]; then
        is_whole out/run.2.h5 || fault "step $1: run.2.h5 is not whole"
    else
        ls out/run.h5.partial/*.rkci >images 2>&1 || fault "step $1: there is neither file nor image"
    fi
    if [ "$killed" = yes ]; then
        ls out/run.h5.partial/*.rkci >images 2>&1 || fault "step $1: there is no image"
        grep -q "^rankclock: .*saved in $work/out/run.h5.partial; " stderr ||
            fault "step $1: nobody says where the image is: $(cat stderr)"
    fi
}

killed_at_each_step() { # FAULTS SIGNAL
    step=0
    killed=yes
    while [ "$killed" = yes ] && [ "$step" -lt 100 ]; do
        step=$((step + 1))
        rm -rf out log
        mkdir out
        echo other >out/run.h5
        single FAULTS_FAIL="$1" FAULTS_KILL="$step" FAULTS_SIGNAL="$2" FAULTS_LOG=log
        # Where it was not killed at this step, it went on to another or ended.
        [ -e log ] && [ "$(tail -n 1 log | cut -d ' ' -f 1)" -eq "$step" ] || killed=no
        # The last step of a writer that was not killed is the same: it has then said so.
        grep -q '^rankclock: wrote ' stderr && killed=no
        sound "$step"
    done
    [ "$step" -gt 12 ] || fault "only $step steps"
}

for faults in none:0 "$no_links" "$no_renames"; do
    killed_at_each_step "$faults" 9
    no_faults "killed at each of $((step - 1)) steps ($faults): a whole file or an image, nothing else"
done
"$RKC_COMMAND" recover out/run.h5.partial -o recovered.h5 >stdout 2>&1

# Signals that are sent to every process of a job.
for signal in 1 2 3 10 12 14 15 24; do
    rm -rf out
    mkdir out
    single FAULTS_KILL=9 FAULTS_SIGNAL=$signal
    [ "$(ls -A out)" = run.h5 ] && is_whole out/run.h5 || fault "signal $signal: there is $(ls -A out)"
done
no_faults "signals to the whole job do not end the writer"

# Under MPI: nothing is lost.
rm -rf out
mkdir out
FAULTS_KILL=13
export FAULTS_KILL
start 100 4 LD_PRELOAD="$library" RANKCLOCK_WRITER="$work/writer" "$ending" finalize >stdout 2>stderr
is "$? $(grep -c done stdout)" "0 4" "ranks whose writer is killed end well"
unset FAULTS_KILL
is "$(ls -A out | grep -v -x run.h5)" run.h5.partial "nothing half-written is left"
is "$(cd out/run.h5.partial && echo *)" "rank-0.rkci rank-1.rkci rank-2.rkci rank-3.rkci" \
    "each leaves its image"
like "$(cat stderr)" 'the writer process \(ended early\|did not answer\)' "it is said why"
rm -f out/run.h5

# Whoever started the writer is killed, too: the next who looks is told.
: >out/.run.h5.host.123.0.tmp
: >out/.run.h5.12.tmp
"$RKC_COMMAND" recover out/run.h5.partial >stdout 2>stderr
is "$? $(cat stdout)" "0 out/run.h5: 4 of 4 ranks" "and recover makes the file"
is "$(sed 's/ is what .*//' stderr)" "rankclock: out/.run.h5.host.123.0.tmp" \
    "recover names what a writer has left"

# --- each write fails ---

fails_at_each() { # CALL ERRNO TEXT
    step=0
    failed=yes
    while [ "$failed" = yes ] && [ "$step" -lt 100 ]; do
        step=$((step + 1))
        rm -rf out log
        mkdir out
        single FAULTS_FAIL="$1:$2:$step" FAULTS_LOG=log
        [ "$(grep -c " $1 " log)" -ge "$step" ] || failed=no
        case $failed:$(ls -A out) in
        no:run.h5) is_whole out/run.h5 || fault "step $step: run.h5 is not whole" ;;
        yes:run.h5.partial)
            ls out/run.h5.partial/*.rkci >images 2>&1 || fault "step $step: there is no image"
            grep -q "$3" stderr || fault "step $step: it is not said why: $(cat stderr)"
            ;;
        *) fault "step $step: there is $(ls -A out)" ;;
        esac
        # The first failure of a write may leave HDF5 in a state in which it ends at once.
        [ "$(grep -c '^rankclock' stderr)" -eq "$([ $failed = yes ] && echo 2 || echo 1)" ] ||
            fault "step $step: it is said in other than one line and one: $(cat stderr)"
    done
    [ "$step" -gt "$4" ] || fault "only $step steps"
}

fails_at_each write 28 'No space left on device' 3
no_faults "a full disk at each of $((step - 1)) writes: an image, and nothing else"
fails_at_each write 122 'Disk quota exceeded' 3
no_faults "a quota at each of $((step - 1)) writes: an image, and nothing else"
fails_at_each fsync 5 'Input/output error' 1
no_faults "an error at each fsync: an image, and nothing else"
fails_at_each open 122 'Disk quota exceeded' 1
no_faults "a quota of files: an image, and nothing else"

# --- locks ---

# 1.10.7 and later do as the setting says; none can fail the run.
for error in 38:ENOSYS 37:ENOLCK 524:ENOTSUPP; do
    for setting in '' TRUE BEST_EFFORT FALSE; do
        rm -rf out
        mkdir out
        if [ -n "$setting" ]; then
            single FAULTS_FAIL="flock:${error%:*}" HDF5_USE_FILE_LOCKING=$setting
        else
            single FAULTS_FAIL="flock:${error%:*}"
        fi
        [ "$(ls -A out)" = run.h5 ] && is_whole out/run.h5 ||
            fault "HDF5_USE_FILE_LOCKING=$setting: there is $(ls -A out): $(cat stderr)"
        told=$(grep -c 'knows no locks' stderr)
        [ "$told" -eq 0 ] || [ "$setting" = TRUE ] || [ "$setting" = BEST_EFFORT ] ||
            fault "HDF5_USE_FILE_LOCKING=$setting: told of locks in vain: $(cat stderr)"
        [ "$setting" != TRUE ] || [ "$told" -eq 1 ] || fault "not told: $(cat stderr)"
    done
    no_faults "flock fails with ${error#*:}: the file is written"
done
rm -rf out log
mkdir out
single FAULTS_LOG=log
is "$(grep -c flock log)" 0 "nothing is locked unless it is asked for"
rm -rf out log
mkdir out
single FAULTS_LOG=log HDF5_USE_FILE_LOCKING=TRUE
if grep -q flock log; then
    is "$(cd out && echo *) $(grep -c 'knows no locks' stderr)" "run.h5 0" "where it is asked for, it is"
else
    skip 1 "this HDF5 does not lock by flock"
fi

finish
