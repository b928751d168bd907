#!/bin/sh
# Runs the benchmarks and prints one table: what rankclock costs, beside what it may cost.
#
#   run.sh [--quick] [--markdown]
#
# It measures the build below $top_builddir (.): the libraries in $RKC_LIBDIR, the command
# $RANKCLOCK, the benchmarks in tests/bench, MPI programs started by $MPIRUN. Exits 1 when
# something could not be run, 0 otherwise: a target that is missed is a row that says so.
#
# Every number is the least of many blocks (see bench.h), ours and the base taking turns.
# Lines "key ours base" gather in $work/results; the last awk keeps the least of each.

quick=
markdown=0
for option in "$@"; do
    case $option in
    --quick) quick=yes ;;
    --markdown) markdown=1 ;;
    *)
        echo 'usage: run.sh [--quick] [--markdown]' >&2
        exit 2
        ;;
    esac
done

# The file's path, or that of the program or module which libtool keeps beside it.
built() {
    if [ -f "${1%/*}/.libs/${1##*/}" ]; then
        echo "${1%/*}/.libs/${1##*/}"
    else
        echo "$1"
    fi
}

top=$(cd "${top_builddir:-.}" && pwd) || exit 1
bench=$top/tests/bench
libdir=$(cd "${RKC_LIBDIR:-$top/.libs}" && pwd) || exit 1
rankclock=$(built "${RANKCLOCK:-$top/tools/rankclock}")
mpirun=${MPIRUN:-mpirun}
case $rankclock in
/*) ;;
*) rankclock=$PWD/$rankclock ;;
esac

# What the user has set must not change what is measured; RANKCLOCK would even be understood.
for variable in $(env | sed -n 's/^\(RANKCLOCK[A-Z_]*\)=.*/\1/p'); do
    unset "$variable"
done
unset LD_PRELOAD BENCH_PRELOAD BENCH_WATCH
RANKCLOCK_WRITER=$rankclock RANKCLOCK_OUTPUT=bench.h5
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export RANKCLOCK_WRITER RANKCLOCK_OUTPUT LD_LIBRARY_PATH

if $mpirun --version 2>/dev/null | grep -q -e 'Open MPI' -e OpenRTE; then
    mpirun="$mpirun --oversubscribe --bind-to none"
fi
limit=
command -v timeout >/dev/null && limit='timeout 900'
pin=
if command -v taskset >/dev/null; then
    # The last core: the first one often serves the interrupts.
    pin="taskset -c $(taskset -cp $$ | sed 's/.*[^0-9]//')"
fi

if [ -n "$quick" ]; then
    rounds=2 blocks=21 life_rounds=3 merge_ranks=10000 gpu_visits=1000000
else
    rounds=5 blocks=51 life_rounds=15 merge_ranks=100000 gpu_visits=10000000
fi
fewer_ranks=$((merge_ranks / 10)) life_ranks=16 file_ranks=100000
images=10000 fewer_images=1000

work=$(mktemp -d "${TMPDIR:-/tmp}/rankclock-bench.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
: >results
failed=0

# Runs a command, adding its output to the file `out`; a failure is told and remembered.
attempt() {
    if ! $limit "$@" >>out 2>err; then
        echo "run.sh: failed: $*" >&2
        sed 's/^/    /' err >&2
        failed=1
        return 1
    fi
}

# A run that recorded has left a file; without one its numbers are worth nothing.
check_file() {
    for file in *.h5; do
        [ -f "$file" ] || file=
    done
    if [ -z "$file" ]; then
        echo "run.sh: $1 left no result file" >&2
        failed=1
    fi
    rm -f -- *.h5
}

# Adds the lines "key ours base" in `out` to the results, each key behind a prefix.
keep() {
    sed "s/^/$1/" out >>results
    rm -f out
}

measure_regions() {
    region="$bench/region_bench -b $blocks -f $(built "$bench/floor_shared.so")"
    round=0
    while [ $((round += 1)) -le "$rounds" ]; do
        attempt $pin $region control flat nested siblings name_flat name_nested name_copied \
            name_siblings floor_flat floor_nested floor_siblings floor_name
        attempt $region control_threads threads_same threads_apart floor_threads
        attempt $pin env RANKCLOCK_ENABLE=off $region off_handle off_name
        attempt $pin $region memory
        keep region.
    done
}

# The same pairs and memory with the image behind a file and without one, in turn; a key for each.
measure_spool() {
    round=0
    while [ $((round += 1)) -le "$rounds" ]; do
        for setting in off auto; do
            spooled="env RANKCLOCK_SPOOL=$setting $bench/region_bench -b $blocks"
            attempt $pin $spooled flat nested siblings
            attempt $pin $spooled memory
            mv out spool.$setting
        done
        awk 'FILENAME == "spool.auto" { ours[$1] = $2; next } { print "spool." $1, ours[$1], $2 }' \
            spool.auto spool.off >>results
    done
}

# On the double of CUDA's driver, whatever the machine has: what a GPU costs is for
# tests/gpu/check.
measure_gpu() {
    gpu="env LD_LIBRARY_PATH=$top/tests/fakecuda/.libs:$LD_LIBRARY_PATH $bench/gpu_bench -b $blocks"
    round=0
    while [ $((round += 1)) -le "$rounds" ]; do
        attempt $pin $gpu
        keep gpu.
    done
    attempt $pin $gpu -v $gpu_visits
    grep gpu_visits out >visits
    mv visits out
    keep gpu.
}

measure_mpi() {
    rm -f -- *.h5
    round=0
    while [ $((round += 1)) -le "$rounds" ]; do
        for tool in floor ours; do
            library=$libdir/librankclock-mpi.so
            [ $tool = floor ] && library=$(built "$bench/floor_pmpi.so")
            attempt env BENCH_PRELOAD="$library" $mpirun -n 1 $pin "$bench/life_watch" \
                "$bench/mpi_bench" -b "$blocks"
            [ $tool = floor ] || check_file mpi_bench
            attempt env BENCH_PRELOAD="$library" OMPI_MCA_mpi_yield_when_idle=1 \
                $mpirun -n 2 $pin "$bench/life_watch" "$bench/poll_bench" -b "$blocks"
            [ $tool = floor ] || check_file poll_bench
            keep $tool.
        done
    done
}

# Fortran's calls, against what the floor adds to the same of C.
measure_fortran() {
    rm -f -- *.h5
    round=0
    while [ $((round += 1)) -le "$rounds" ]; do
        attempt env BENCH_PRELOAD="$libdir/librankclock-mpi.so" $mpirun -n 1 $pin "$bench/life_watch" \
            "$bench/fortran_bench" -b "$blocks"
        [ ! -s out ] || check_file fortran_bench
        keep ours.
    done
    grep -q '^ours\.fortran_' results || return
    sed -n 's/^floor\.\(iprobe\|testany\|barrier\|allreduce\|requests\)/floor.fortran_\1/p' results >floors
    cat floors >>results
}

# What it costs to look for a GPU of which there is none, against not to: each call asks whether it
# is time to, each millisecond one looks. In turn, with the base against itself.
measure_looks() {
    rm -f -- *.h5
    round=0
    while [ $((round += 1)) -le "$rounds" ]; do
        for setting in off auto off; do
            attempt env BENCH_PRELOAD="$libdir/librankclock-mpi.so" RANKCLOCK_GPU=$setting \
                $mpirun -n 1 $pin "$bench/life_watch" "$bench/mpi_bench" -b "$blocks" \
                send_recv requests
            check_file mpi_bench
            [ -f look.off ] && [ $setting = off ] && setting=again
            mv out look.$setting
        done
        awk '{ ns[FILENAME, $1] = $2 }
            END {
                print "look.control", ns["look.again", "send_recv"], ns["look.off", "send_recv"]
                print "look.send_recv", ns["look.auto", "send_recv"], ns["look.off", "send_recv"]
                print "look.requests", ns["look.auto", "requests"], ns["look.off", "requests"]
            }' look.off look.auto look.again >>results
        rm -f look.*
    done
}

# One run of life_bench; prints medians over ranks: finalize in ms, init in ms, and, of the
# ranks that do not write, the peak memory in KiB.
live() {
    attempt env BENCH_PRELOAD="$1" RANKCLOCK_VERBOSE=2 $mpirun -n $life_ranks \
        "$bench/life_watch" "$bench/life_bench" || return 1
    for column in 5 3 6; do
        awk -v c=$column '$1 == "life" && (c != 6 || $2 != 0) { print c == 6 ? $c : $c / 1e6 }' \
            out | sort -n | awk '{ v[NR] = $1 } END { printf "%s ", v[int((NR + 1) / 2)] }'
    done
    rm -f out
}

measure_life() {
    rm -f -- *.h5
    round=0
    while [ $((round += 1)) -le "$life_rounds" ]; do
        plain=$(live '') && again=$(live '') && ours=$(live "$libdir/librankclock-mpi.so") &&
            off=$(export RANKCLOCK_SPOOL=off && live "$libdir/librankclock-mpi.so")
        if [ $? -ne 0 ]; then
            failed=1
            break
        fi
        sed -n 's/.*finalize phases ns: //p' err | tr ' ' '\n' |
            awk -F= '{ print "phase." $1, $2 / 1e6, "-" }' >>results
        check_file life_bench
        echo "$plain $again $ours $off" | awk '{
            print "life.control", $4, $1
            print "life.finalize", $7, $1
            print "life.init", $8, $2
            print "life.memory", $9, $3
            print "life.spool_finalize", $7, $10
            print "life.spool_init", $8, $11
            print "life.spool_memory", $9, $12
        }' >>results
    done
}

measure_signals() {
    round=0
    while [ $((round += 1)) -le "$rounds" ]; do
        attempt env BENCH_PRELOAD="$libdir/librankclock-mpi.so" RANKCLOCK_RUN_ID=bench$$ \
            "$bench/signal_bench"
        keep signal.
    done
    rm -f /dev/shm/rankclock-bench$$.* # of what was ended
}

measure_scale() {
    attempt $pin "$bench/merge_bench" -r $fewer_ranks
    fewer_kib=$(awk '$1 == "merge_root" { print $2 }' out)
    rm -f out
    attempt $pin "$bench/merge_bench" -r $merge_ranks
    awk -v base="${fewer_kib:--}" \
        '{ print "scale." $1, $2, $1 == "merge_root" ? base : "-" }' out >>results
    rm -f out
    attempt "$bench/file_bench" -r $file_ranks -p 100 "$rankclock" "$work/many.h5" || return
    grep '^file_write' out | sed 's/^/scale./' >>results
    rm -f out
    echo "scale.file_mib $(wc -c <many.h5 | awk '{ print $1 / 1048576 }') -" >>results
    round=0
    while [ $((round += 1)) -le 3 ]; do
        attempt env BENCH_WATCH="$work/watch" "$bench/life_watch" "$rankclock" report many.h5
    done
    awk '{ print "scale.report_s", $2 / 1e9, "-"; print "scale.report_mib", $3 / 1024, "-" }' \
        watch >>results
    rm -f out many.h5
}

# One image of a rank, by its copies a job's: recover_images RANKS writes the key, seconds and peak MiB.
recover_images() {
    mkdir images
    if attempt "$top/tests/image_copy" -r 0 -s "$1" -n "$1" bench.h5.partial/rank-0.rkci images; then
        rm -f watch
        attempt env BENCH_WATCH="$work/watch" "$bench/life_watch" "$rankclock" recover images \
            -o recovered.h5 && awk -v n="$1" '{ print n, $2 / 1e9, $3 / 1024 }' watch >>recovered
    fi
    rm -rf images recovered*.h5 out
}

measure_recovery() {
    rm -rf bench.h5.partial recovered
    attempt env BENCH_PRELOAD="$libdir/librankclock-mpi.so" RANKCLOCK_SPOOL=off \
        RANKCLOCK_WRITER=/nowhere $mpirun -n 1 "$bench/life_watch" "$bench/life_bench" 16 || return
    rm -f out
    recover_images $fewer_images
    recover_images $images
    awk -v fewer=$fewer_images '
        $1 == fewer { s = $2; mib = $3; next }
        { print "scale.recover_s", $2, s; print "scale.recover_mib", $3, mib }' recovered >>results
}

# The table's rows: key | text | kind | target. Kinds: `ratio` and `growth`, ours over the base;
# `added`, what our process adds over what the floor's adds; `most`, ours itself; `plus`, ours
# less the base; `control`, the base over itself; `info`, no target.
list_rows() {
    cat <<EOF
|Regions: ns for a begin and its end; base: two bare clock reads||
region.control|control: the base against itself|control|
region.control_threads|control, two threads|control|
region.flat|by handle, flat|ratio|1.2
region.nested|by handle, nested 4 deep|ratio|1.2
region.siblings|by handle, 1000 siblings in turn|ratio|1.3
region.threads_same|two threads, one region|ratio|1.3
region.threads_apart|two threads, a region each|ratio|1.3
region.name_flat|by name, flat|ratio|1.5
region.name_nested|by name, nested 4 deep|ratio|1.5
region.name_copied|by name, ended by a copy of the text|info|
region.name_siblings|by name, 1000 siblings in turn|info|
region.off_handle|off at run time, by handle; base: empty loop|most|3 ns
region.off_name|off at run time, by name; base: empty loop|info|
region.memory|memory of 200 call paths, KiB|most|1024 KiB
region.floor_flat|the floor, flat|info|
region.floor_nested|the floor, nested 4 deep|info|
region.floor_siblings|the floor, 1000 siblings in turn|info|
region.floor_threads|the floor, two threads|info|
region.floor_name|the floor by name, flat|info|
|The image behind a file in /dev/shm, ns for a begin and its end; base: in memory alone||
spool.flat|by handle, flat|ratio|1.05
spool.nested|by handle, nested 4 deep|ratio|1.05
spool.siblings|by handle, 1000 siblings in turn|ratio|1.05
spool.memory|memory of 200 call paths, KiB|info|
|GPU regions, ns, on the double of the driver: no GPU; base: two records||
gpu.gpu_pair|a region|plus|150 ns
gpu.gpu_hollow|a region, where the driver's calls do nothing|info|
gpu.gpu_calls|a region; base: all calls of the driver it needs|info|
gpu.gpu_memory|memory of a pending visit, bytes|most|64 bytes
gpu.gpu_visits|growth over $gpu_visits visits, KiB|most|64 KiB
|MPI calls: ns added, one rank; base: ns the floor adds||
ours.control|control: PMPI_Iprobe against itself, ns|control|
comm_rank|Comm_rank|info|
iprobe|Iprobe|added|1.5
testany|Testany, 8 requests, none done|added|1.5
barrier|Barrier|added|1.5
allreduce|Allreduce of 8 bytes|added|1.5
send_recv|Send and Recv of 8 bytes|added|1.5
requests|8 Isend, 8 Irecv, Waitall|added|3
poll|Testany, two ranks on a core: a poll of each|info|
|The same of Fortran, by mpif.h or the module mpi; base: ns the floor adds in C||
fortran_iprobe|Iprobe|added|2
fortran_testany|Testany, 8 requests, none done|added|2
fortran_barrier|Barrier|added|2
fortran_allreduce|Allreduce of 8 bytes|info|
fortran_requests|8 Isend, 8 Irecv, Waitall|info|
|MPI calls where there is no GPU, ns; base: RANKCLOCK_GPU=off||
look.control|control: Send and Recv, off against itself|control|
look.send_recv|Send and Recv of 8 bytes|ratio|1.02
look.requests|8 Isend, 8 Irecv, Waitall|ratio|1.02
|A whole run of $life_ranks ranks: median rank, ms; base: without rankclock||
life.control|control: finalize without rankclock, twice|control|
life.finalize|finalize, report file written|plus|20 ms
life.init|init|info|
life.memory|peak memory of a rank that does not write, KiB|plus|1024 KiB
life.spool_finalize|finalize; base: RANKCLOCK_SPOOL=off|info|
life.spool_init|init; base: RANKCLOCK_SPOOL=off|info|
life.spool_memory|peak memory, KiB; base: RANKCLOCK_SPOOL=off|info|
phase.wait|finalize of rank 0: waiting for the ranks|info|
phase.spawn|finalize of rank 0: starting the writer|info|
phase.collect|finalize of rank 0: collecting|info|
phase.reduce|finalize of rank 0: reducing|info|
phase.write|finalize of rank 0: writing and fsync|info|
phase.total|finalize of rank 0: all of it|info|
|SIGTERM to one rank, 8 threads at work in 1000 call paths each||
signal.sigterm|from the signal until the image is written, ms|most|20 ms
signal.sigterm_kib|the image, KiB|info|
|Scale||
scale.merge_seconds|merge of $merge_ranks ranks, 500 call paths each, s|info|
scale.merge_root|memory of its root, KiB; base: $fewer_ranks ranks|growth|1.1
scale.file_write|writing $file_ranks ranks, 100 call paths each, s|info|
scale.file_mib|that file, MiB|info|
scale.report_s|report on that file, s|most|2 s
scale.report_mib|report on that file: peak memory, MiB|most|256 MiB
scale.recover_s|recovery of $images images, s; base: $fewer_images|info|
scale.recover_mib|recovery: peak memory, MiB; base: $fewer_images|most|256 MiB
EOF
}

print_table() {
    list_rows | awk -F'|' -v markdown=$markdown '
        FILENAME == "results" {
            split($0, f, /[ \t]+/)
            if (!(f[1] in ours) || f[2] < ours[f[1]])
                ours[f[1]] = f[2] + 0
            if (f[3] != "-" && (!(f[1] in base) || f[3] + 0 < base[f[1]]))
                base[f[1]] = f[3] + 0
            next
        }
        function number(x) {
            return x >= 1000 || x == int(x) ? sprintf("%.0f", x) : sprintf("%.2f", x)
        }
        function line(a, b, c, d, e, f) {
            if (markdown)
                printf "| %s | %s | %s | %s | %s | %s |\n", a, b, c, d, e, f
            else
                printf "%-48s %9s %9s %6s  %-19s %s\n", a, b, c, d, e, f
        }
        BEGIN { noise = 0.02 }
        $1 == "" {
            if (markdown) {
                printf "\n**%s**\n\n", $2
                line("", "ours", "base", "ratio", "target", "")
                line("---", "---:", "---:", "---:", "---", "---")
            } else {
                printf "\n%s\n", $2
                line("", "ours", "base", "ratio", "target", "")
            }
            next
        }
        {
            found = $1 in ours
            a = found ? ours[$1] : ""
            b = $1 in base ? base[$1] : ""
            if (("ours." $1) in ours && ("floor." $1) in ours) {
                found = 1
                a = ours["ours." $1] - base["ours." $1]
                b = ours["floor." $1] - base["floor." $1]
            }
            if (!found) {
                line($2, "-", "-", "-", "", "not run")
                missing = 1
                next
            }
            ratio = b > 0 ? a / b : 0
            target = verdict = ""
            if ($3 == "control") {
                target = "within 2 %"
                good = ratio > 1 - noise && ratio < 1 + noise
                noisy = noisy || !good
                verdict = good ? "ok" : "noisy"
            } else if ($3 != "info") {
                what = $3 == "most" ? a : $3 == "plus" ? a - b : ratio
                target = ($3 == "plus" ? "<= base + " : "<= ") $4 \
                         ($3 == "most" || $3 == "plus" ? "" : " x")
                verdict = what <= $4 + 0 ? "ok" : "over"
                # Nothing that records costs less than half of the least it can cost.
                if (($3 == "ratio" || $3 == "added") && ratio < 0.5) {
                    verdict = "not recording"
                    missing = 1
                }
            }
            line($2, number(a), b == "" ? "-" : number(b), b > 0 ? sprintf("%.2f", ratio) : "-",
                 target, verdict)
        }
        END {
            if (noisy)
                print "\nThe machine was too noisy: a control is off by more than 2 %."
            exit missing
        }' results -
}

measure_regions
measure_spool
measure_gpu
measure_mpi
measure_fortran
measure_looks
measure_life
measure_signals
measure_scale
measure_recovery
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
cat <<EOF
rankclock benchmarks, $(date -u '+%Y-%m-%d %H:%M UTC')
Machine: ${processor:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN) cores, $(uname -sr), load $(cut -d " " -f 1 /proc/loadavg)
MPI: $($mpirun --version 2>&1 | head -n 1)
Method: least of $blocks blocks in each of $rounds processes ($life_rounds for whole runs), ours
and the base in turn; a control row beyond 2 % means a machine too noisy to judge.
EOF
print_table || failed=1
exit $failed
