#!/bin/sh
# LIMIT 1800
# Run the programs of tests/cases, each the worst habit of some MPI program: plain, then with the
# library preloaded. Status and output must be the same, and the file must hold what the header
# of the program's source states (tests/cases/check.py has the words it is stated in).
#
#   tests/cases.sh [NAME...]    all cases, or those whose names begin with one of NAME: c04
#
# Environment, beside that of tests/env.sh:
#   CASES_BIN    folder of the built programs; tests/cases of the build if unset
#   CASES_KEEP   folder that keeps what the runs leave: output, files, images
#
# A case says how to run it in one line of its header:
#   RUN np=N | mpmd N:PROGRAM N:PROGRAM...   [rc=N[,N]|nonzero] [limit=SECONDS] [preload=job|first]
# rc is the status wanted of the launcher, or those of which it is one by chance; limit its time. The
# library is preloaded into all ranks; into the launcher too, for `job`; for `first` into the ranks of
# the first program alone, and they wait for the others no longer than a second.
# A word such as mpich:rc=9 is for the MPI that it names, by start.sh's names. What an MPI may do is
#   may=skip     fail at what the program is about, which then says SKIP and why on stdout
#   may=ucx      let UCX warn on stdout
set -u

NO_H5PY=77    # the status of check.py, and of the shell:
NO_PYTHON=127

absolute() {
    case $1 in
    /*) echo "$1" ;;
    *) echo "$PWD/$1" ;;
    esac
}

here=$(cd "$(dirname "$0")" && pwd) || exit 1
# shellcheck source=tests/tap.sh
. "$here/tap.sh"
bin=$(absolute "${CASES_BIN:-${top_builddir:-.}/tests/cases}")
libdir=$(absolute "${RKC_LIBDIR:-${top_builddir:-.}/.libs}")
library=$libdir/librankclock-mpi.so
command=$(absolute "${RKC_COMMAND:-${top_builddir:-.}/tools/rankclock}")
for needed in "$library" "$command"; do
    [ -r "$needed" ] || bail "there is no $needed: build first, and source tests/env.sh"
done

# shellcheck disable=SC3045 # dash, bash and ksh know -c; a core file would count as left behind
ulimit -c 0 2>/dev/null

work=$(mktemp -d "${TMPDIR:-/tmp}/rankclock-cases.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/start.sh
. "$here/start.sh"
mkdir -p "$work/fortran"
keep=$work/runs
[ -n "${CASES_KEEP:-}" ] && keep=$(absolute "$CASES_KEEP")

for python in "${PYTHON:-/usr/bin/python3}" /usr/bin/python3 python3; do
    "$python" -B -c 'import h5py' 2>/dev/null && break
done

have_fortran() {
    [ -n "${MPIFC:-}" ] || return
    [ -e "$work/fortran/try" ] && return
    printf 'use mpi\nend\n' >"$work/fortran/try.f90"
    (cd "$work/fortran" && "$MPIFC" -o try try.f90) >/dev/null 2>&1
}

find_program() { # NAME: its path in $program; 1 and a fault if there is none
    program=$bin/$1
    [ -x "$program" ] && return 0
    if [ -r "$here/cases/$1.f90" ]; then
        program=$work/fortran/$1
        [ -x "$program" ] && return 0
        (cd "$work/fortran" && "$MPIFC" -o "$1" "$here/cases/$1.f90") >"$work/log" 2>&1 && return 0
        cat "$work/log" >>"$faults"
    fi
    echo "$program is not built" >>"$faults"
    return 1
}

find_all_programs() {
    for part in $parts; do
        find_program "${part#*:}" || return 1
    done
}

# Sets $limit, $rc_wanted, $preload and $parts (N:PROGRAM ...) from the RUN line of a source.
read_run_line() { # SOURCE NAME
    limit=30 rc_wanted=0 preload=ranks may= parts=
    # shellcheck disable=SC2013 # the words are wanted
    for word in $(sed -n 's/^[ !]*\** *RUN //p' "$1"); do
        case $word in
        openmpi:* | mpich:*)
            [ "${word%%:*}" = "$mpi" ] || continue
            word=${word#*:}
            ;;
        esac
        case $word in
        np=*) parts=${word#np=}:$2 ;;
        rc=*) rc_wanted=${word#rc=} ;;
        limit=*) limit=${word#limit=} ;;
        preload=*) preload=${word#preload=} ;;
        may=*) may=${word#may=} ;;
        [0-9]*:*) parts="$parts $word" ;;
        mpmd) ;;
        *) echo "RUN knows no $word" >>"$faults" ;;
        esac
    done
}

# Run the program's parts in an empty folder, into $dir/MODE.out and .err; status in $rc.
launch() { # plain|tool
    mode=$1
    paths=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    set --
    colon=
    for part in $parts; do
        find_program "${part#*:}"
        set -- "$@" $colon "${part%%:*}"
        case $mode:$preload:$colon in
        tool:ranks:* | tool:first:)
            set -- "$@" LD_PRELOAD="$library" LD_LIBRARY_PATH="$paths" \
                RANKCLOCK_OUTPUT="$dir/out/run.h5" RANKCLOCK_WRITER="$command"
            ;;
        esac
        set -- "$@" "$program"
        colon=:
    done
    (
        cd "$dir/cwd" || exit
        if [ "$mode:$preload" = tool:job ]; then
            export LD_PRELOAD="$library" LD_LIBRARY_PATH="$paths" \
                RANKCLOCK_OUTPUT="$dir/out/run.h5" RANKCLOCK_WRITER="$command"
        fi
        start "$limit" "$@"
    ) >"$dir/$mode.out" 2>"$dir/$mode.err"
    rc=$?
    if [ "$may" = ucx ]; then
        sed -i '/ UCX  WARN  /d' "$dir/$mode.out"
    fi
}

is_wanted() { # STATUS
    case $rc_wanted:,$rc_wanted, in
    nonzero:*) [ "$1" -ne 0 ] ;;
    *,"$1",*) ;;
    *) return 1 ;;
    esac
}

check_plain() {
    case $rc in
    124 | 137) echo "plain: it did not end within $limit s" ;;
    *) is_wanted "$rc" || echo "plain: status $rc where $rc_wanted was wanted" ;;
    esac
    [ "$(cat "$dir/plain.out")" = OK ] || echo "plain: stdout is not the one line OK"
}

check_tool() {
    case $rc:$rc_wanted in
    "$plain_rc":*) ;;
    124:* | 137:*) echo "with the library it did not end within $limit s" ;;
    *:*,*) is_wanted "$rc" || echo "with the library the status is $rc, of $rc_wanted" ;;
    *) echo "with the library the status is $rc, without it $plain_rc" ;;
    esac
    cmp -s "$dir/plain.out" "$dir/tool.out" || {
        echo "with the library stdout is another:"
        head -n 5 "$dir/tool.out"
    }
    # When Hydra ends a job, the last words of its ranks may be lost.
    if [ ! -s "$dir/plain.err" ] && { [ "$mpi" != mpich ] || [ "$rc_wanted" = 0 ]; } &&
        grep -qv "^rankclock" "$dir/tool.err"; then
        echo "with the library others write to stderr:"
        grep -v "^rankclock" "$dir/tool.err" | head -n 5
    fi
    for left in "$dir"/cwd/* "$dir"/cwd/.[!.]*; do
        [ ! -e "$left" ] || echo "left in the working folder: ${left##*/}"
    done
}

check_files() { # SOURCE
    recovered=
    if grep -q '^ \* RECOVERED' "$1"; then
        recovered=$dir/recovered.h5
        "$command" recover -o "$recovered" "$dir"/out/*.partial >"$dir/recover.out" 2>&1 ||
            echo "recover: status $?: $(head -n 5 "$dir/recover.out")"
    fi
    "$python" -B "$here/cases/check.py" --mpi "$mpi" "$1" "$dir/out" "$dir/tool.err" \
        ${recovered:+"$recovered"} 2>&1
    checked=$?
    case $checked in
    0 | 1 | "$NO_H5PY") ;;
    "$NO_PYTHON") checked=$NO_H5PY ;;
    *) echo "check.py ended with status $checked" ;;
    esac
}

make_folders() { # NAME
    dir=$keep/$1
    faults=$dir/faults
    rm -rf "$dir"
    mkdir -p "$dir/cwd" "$dir/out"
    : >"$faults"
    checked=0
}

conclude() { # NAME
    if [ -s "$faults" ]; then
        grep "^rankclock" "$dir/tool.err" 2>/dev/null | head -n 10 | sed 's/^/stderr: /' >>"$faults"
    elif [ "$checked" -eq $NO_H5PY ]; then
        skip 1 "$1 ran as without the library, but its file cannot be checked without h5py"
        return
    fi
    [ ! -s "$faults" ]
    tap_report $? "$1" <"$faults"
    [ -n "${CASES_KEEP:-}" ] || rm -rf "$dir"
}

run_case() { # NAME SOURCE
    make_folders "$1"
    case $2 in
    *.f90)
        if ! have_fortran; then
            skip 1 "$1: no Fortran compiler of this MPI"
            return
        fi
        ;;
    esac
    read_run_line "$2" "$1"
    if find_all_programs; then
        launch plain
        plain_rc=$rc
        if [ "$may" = skip ] && grep -q '^SKIP ' "$dir/plain.out"; then
            skip 1 "$1: $(sed -n '/^SKIP /{s///p;q;}' "$dir/plain.out")"
            return
        fi
        check_plain >>"$faults"
        launch tool
        check_tool >>"$faults"
        check_files "$2" >>"$faults"
    fi
    conclude "$1"
}

# The library is preloaded into programs that know no MPI - shells, filters, those that fail -
# and must not be noticed (darshan-hpc/darshan#989, #833).
run_no_mpi() { # NAME
    make_folders "$1"
    script='echo one; echo two | sed s/w/o/; ls -d /; (true && false) || cat /nowhere; exit 3'
    (cd "$dir/cwd" && exec timeout 30 sh -c "$script") \
        >"$dir/plain.out" 2>"$dir/plain.err" </dev/null
    plain_rc=$?
    (cd "$dir/cwd" && LD_PRELOAD=$library LD_LIBRARY_PATH=$libdir \
        RANKCLOCK_OUTPUT=$dir/out/run.h5 RANKCLOCK_WRITER=$command \
        exec timeout 30 sh -c "$script") \
        >"$dir/tool.out" 2>"$dir/tool.err" </dev/null
    rc=$? rc_wanted=3 limit=30
    {
        [ $plain_rc -eq 3 ] || echo "plain: status $plain_rc where 3 was wanted"
        check_tool
        cmp -s "$dir/plain.err" "$dir/tool.err" || {
            echo "with the library stderr is another:"
            head -n 5 "$dir/tool.err"
        }
        [ -z "$(ls -A "$dir/out")" ] || echo "left behind: $(ls -A "$dir/out")"
    } >>"$faults"
    conclude "$1"
}

wanted() { # NAME, and what the caller named
    name=$1
    shift
    [ $# -eq 0 ] && return 0
    for start in "$@"; do
        case $name in
        "$start"*) return 0 ;;
        esac
    done
    return 1
}

list_cases() {
    echo c21_no_mpi
    grep -l '^[ !]*\** *RUN ' "$here"/cases/c*.c "$here"/cases/c*.f90 |
        sed 's|.*/||; s|\.[a-z0-9]*$||'
}

make_folders check
"$python" -B "$here/cases/check.py" --self-test >"$faults" 2>&1
status=$?
case $status in
"$NO_H5PY" | "$NO_PYTHON") skip 1 "there is no python3 with h5py to check files with" ;;
*) tap_report $status "check.py passes what is right and fails on all that is wrong" <"$faults" ;;
esac

n_run=0
for name in $(list_cases | LC_ALL=C sort); do
    wanted "$name" "$@" || continue
    n_run=$((n_run + 1))
    if [ "$name" = c21_no_mpi ]; then
        run_no_mpi "$name"
    else
        run_case "$name" "$(ls "$here/cases/$name".c "$here/cases/$name".f90 2>/dev/null)"
    fi
done
[ $n_run -gt 0 ] || bail "no case is named $*"
finish
