#!/bin/sh
# LIMIT 1800
# Fortran's calls are counted like those of the same program in C, once each, by mpif.h, `use mpi`
# and `use mpi_f08`; and every entry point that the MPI has in Fortran is known.
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/rankclock-fortran.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
source=$top_srcdir/tests/fortran
library=$RKC_LIBDIR/librankclock-mpi.so
cd "$work" || exit 1

[ -n "${MPIFC:-}" ] || skip_all "no Fortran compiler of this MPI"
printf 'use mpi_f08\ncall MPI_Init()\nend\n' >try.f90
"$MPIFC" -o try try.f90 >log 2>&1 || skip_all "$MPIFC compiles no program that uses mpi_f08"

# ---- building ----

build() { # PROGRAM COMPILER ARGUMENT...
    built=$1
    shift
    "$@" -o "$built" >log 2>&1 || bail "cannot build $built: $(head -n 5 log)"
}

fortran_libraries=$(ldd try | awk '$1 ~ /^libmp/ { print $3 }')
for name in $fortran_libraries; do
    nm -D --defined-only "$name"
done | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u >mpi.names
large= openmp=-fopenmp programs="calls further polls"
grep -q '_large_$' mpi.names && large=-DLARGE
grep -q '^mpi_session_init_$' mpi.names && programs="$programs mpi4"
"$MPIFC" $openmp -o try try.f90 >log 2>&1 || openmp=
# Where nothing else is asked for, gfortran takes it amiss that buffers are of many types.
fortran="$MPIFC -w -std=legacy -ffree-line-length-none -I$source $openmp"
ways="mpif.h mpi mpi_f08"
for program in $programs; do
    build "$program-c" "$MPICC" -w $large $openmp "$source/$program.c"
    for way in $ways; do
        case $way in
        mpif.h) defined=-DMPIF_H ;;
        mpi) defined=-DMPI_MODULE ;;
        mpi_f08) defined="-DMPI_F08 $large" ;;
        esac
        build "$program-$way" $fortran $defined "$source/facts.f90" "$source/$program.F90"
    done
done
# What MPI starts is not to be measured.
printf '#!/bin/sh\nunset LD_PRELOAD\nexec ./further-c spawned\n' >spawned
chmod +x spawned

# ---- running ----

# run RANKS PROGRAM [ARGUMENT...]: what each function moved, in all ranks and by whom to whom, into
# $program.numbers; how often MPI_Test* and MPI_Win_test are called differs, but for polls.
run() {
    ranks=$1 program=$2
    shift
    uncounted='MPI_(Test(any|all|some)?|Win_test)$'
    case $program in polls*) uncounted='^$' ;; esac
    rm -rf run.h5* calls.data*
    start 60 "$ranks" LD_PRELOAD="$library" RANKCLOCK_OUTPUT="$work/run.h5" \
        RANKCLOCK_WRITER="$RKC_COMMAND" "./$@" >out 2>err
    status=$?
    # Ranks with sessions leave images.
    [ -e run.h5 ] || "$RKC_COMMAND" recover -o run.h5 run.h5.partial >/dev/null 2>&1
    {
        echo "status $status $(grep -c '^OK$' out)"
        grep -v '^OK$' out
        grep -v '^rankclock: wrote' err
        "$top_builddir/tests/show_file" run.h5 | awk -v uncounted="$uncounted" '
            /^file|^note/ { print }
            /^path/ && $2 !~ uncounted {
                line = $2
                for (i = 3; i < NF; i += 2)
                    if ($i ~ /^(visits|bytes_sent|bytes_received)$/)
                        line = line " " $i " " $(i + 1)
                    else if ($i ~ /^in_flight_ns$/ && $(i + 1) > 0)
                        line = line " in flight"
                    else if ($i ~ /^blocked_ns$/ && $(i + 1) > 0)
                        line = line " waited for"
                print line
            }'
        [ -z "$has_h5py" ] || "$PYTHON" -B -c "$print_matrix" run.h5
    } 2>&1 | sort >"$program.numbers"
}

has_h5py=
"${PYTHON:-python3}" -B -c 'import h5py' 2>/dev/null && has_h5py=1
print_matrix='
import sys, h5py
with h5py.File(sys.argv[1]) as file:
    matrix = file.get("mpi/matrix")
    columns = [matrix[name] for name in ("source", "target", "messages", "bytes")] if matrix else []
    for row in zip(*columns):
        print("matrix", *row)'

# as_in_c PROGRAM WAY GROUP...: whether the numbers of PROGRAM are those of C, and neither failed.
run_in_c=
as_in_c() {
    of=$1 by=$2
    shift 2
    if [ "$run_in_c" != "$of $*" ]; then
        run 3 "$of-c" "$@"
        run_in_c="$of $*"
    fi
    run 3 "$of-$by" "$@"
    grep -q 'status 0 1' "$of-$by.numbers" && cmp -s "$of-c.numbers" "$of-$by.numbers"
}

# compare PROGRAM WAY GROUP...: all groups in one run; where the numbers differ, each in one of its
# own, and not at all where MPI itself cannot do it, whose Fortran may have faults of its own.
compare() {
    what="$2, $(echo "$*" | cut -d' ' -f3-): what C moves, in as many calls"
    if as_in_c "$@"; then
        ok 0 "$what"
    elif [ $# -gt 3 ]; then
        alone_of=$1 alone_by=$2
        shift 2
        for alone; do
            compare "$alone_of" "$alone_by" "$alone"
        done
    elif ! start 60 3 "./$1-$2" "$3" >out 2>&1; then
        skip 1 "$2, $3: this MPI fails without the library, too"
    else
        diff "$1-c.numbers" "$1-$2.numbers" >difference
        ok 1 "$what" difference
    fi
}

all() { # PROGRAM GROUP...
    all_of=$1
    shift
    for all_by in $ways; do
        compare "$all_of" "$all_by" "$@"
    done
}

# Apart are those in which one of the MPIs tested fails.
all calls requests messages persistent collective nonblocking neighbors graphs windows files texts \
    errors
all calls neighbors_w
if [ -n "$large" ]; then
    compare calls mpi_f08 large
fi
all further nothing bottom in_place rings epochs memory accesses splits
all further processes ports
all polls asked
is "$(sed -n 's,^(run)/MPI_\(.*probe\|Test[a-z]*\).* visits,\1,p' polls-mpi_f08.numbers)" \
    "Improbe 906
Iprobe 906
Test 906
Testall 906
Testany 1938
Testsome 906" "mpi_f08, polls: each is counted once"
if [ -n "$openmp" ]; then
    all further threads
    # 20 rounds in each of 4 threads of 3 ranks; thread t of rank r sends t + r integers, then t.
    is "$(grep -E 'MPI_(Isend|Irecv|Allreduce|Sendrecv|Waitall) ' further-mpi_f08.numbers)" \
        "(run)/MPI_Allreduce bytes_received 960 bytes_sent 960 visits 240
(run)/MPI_Irecv waited for bytes_received 3360 bytes_sent 0 in flight visits 240
(run)/MPI_Isend waited for bytes_received 0 bytes_sent 3360 in flight visits 240
(run)/MPI_Sendrecv bytes_received 2400 bytes_sent 2400 visits 240
(run)/MPI_Waitall visits 240" "mpi_f08, threads: each call of each is counted once"
fi
case $programs in
*mpi4*)
    all mpi4 partitioned planned planned_rows exchanges
    all mpi4 sessions
    for group in planned_rows_w environment psets; do
        all mpi4 $group
    done
    ;;
*) skip 1 "this MPI has no sessions" ;;
esac

# ---- ends ----

rm -rf run.*
start 60 2 LD_PRELOAD="$library" RANKCLOCK_OUTPUT="$work/run.h5" RANKCLOCK_WRITER="$RKC_COMMAND" \
    ./calls-mpi_f08 abort >out 2>err
"$RKC_COMMAND" recover -o run.h5 run.h5.partial >/dev/null 2>&1
like "$("$top_builddir/tests/show_file" run.h5 2>&1)" '^file ABORTED' "MPI_Abort leaves what there is"

# ---- languages together ----

build mixed.o "$MPICC" -c "$source/mixed.c"
build mixed $fortran "$source/mixed.f90" mixed.o
run 1 mixed
is "$(grep -E 'status|MPI_(Send|Irecv|Wait|Init) ' mixed.numbers)" \
    "(run)/MPI_Init visits 1
(run)/MPI_Irecv waited for bytes_received 28 bytes_sent 0 in flight visits 2
(run)/MPI_Send bytes_received 0 bytes_sent 28 visits 2
(run)/MPI_Wait visits 2
status 0 1" "Fortran and C complete what the other has posted"

build opened "${CC:-cc}" "$source/opened.c" -ldl
build libopened.so $fortran -shared -fPIC "$source/opened_calls.f90"
run 2 opened "$work/libopened.so"
is "$(grep -E 'MPI_(Init|All)' opened.numbers)" \
    "(run)/MPI_Allgather bytes_received 16 bytes_sent 16 visits 2
(run)/MPI_Allreduce bytes_received 32 bytes_sent 32 visits 2
(run)/MPI_Init visits 2" "a library in Fortran that was opened for its opener alone counts"

build libnamesake.so "$MPICC" -shared -fPIC "$source/namesake_library.c"
build namesake "$MPICC" "$source/namesake.c" -L. -lnamesake -Wl,-rpath,"$work"
run 1 namesake
is "$(grep -E 'status|MPI_' namesake.numbers)" \
    "(run)/MPI_Comm_rank visits 1
(run)/MPI_Finalize visits 1
(run)/MPI_Init visits 1
status 0 1" "functions of a library in C that have such names are its own"

# ---- coverage ----

nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u >our.names
awk '!/^#/ && NF { print $1 }' "$top_srcdir/pmpi/unwrapped.txt" >patterns
grep -E '^mpix?_[a-z0-9_]+$|^MPIX?_[A-Z0-9_]+$' mpi.names | while read -r name; do
    # As the reasons have it: without what the ways of MPI and compilers add.
    plain=$(echo "$name" | tr A-Z a-z | sed 's/_f08\(ts\)\{0,1\}\(_large\)\{0,1\}_$//; s/_*$//')
    echo "$plain" | grep -qxEf patterns || echo "$name"
done >wanted
grep -vxFf our.names wanted >missing
[ "$(wc -l <wanted)" -gt 1000 ] && [ ! -s missing ]
ok $? "all $(wc -l <wanted) names of functions are defined" missing

modules=
for folder in $("$MPIFC" -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-[IJ]//p' | sort -u); do
    for name in mpi mpi_base mpi_f08 mpi_f08_interfaces; do
        [ -r "$folder/$name.mod" ] && modules="$modules $folder/$name.mod"
    done
done
if [ -n "$modules" ] && [ -n "$has_h5py" ]; then
    # shellcheck disable=SC2086 # several
    "$PYTHON" -B "$source/rows.py" "$top_srcdir/pmpi/fortran.def" "$top_srcdir/pmpi/fortran_coll.def" \
        -- $modules >rows 2>&1
    [ "$(wc -l <rows)" -eq 1 ] && [ "$(cat rows)" -gt 300 ]
    ok $? "each has as many arguments as its row says: $(tail -n 1 rows) compared" rows
else
    skip 1 "no modules of gfortran, or no Python"
fi
finish
