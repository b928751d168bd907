#!/bin/sh
# nompi.sh - programs without MPI: the file that each leaves at its end, and what is in it.
set -u
. "$top_srcdir/tests/tap.sh"

unset LD_PRELOAD
for name in $(env | sed -n '/^RANKCLOCK_SPOOL=/d; s/^\(RANKCLOCK_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/rankclock-nompi.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
export RANKCLOCK_WRITER="$RKC_COMMAND"
export LD_LIBRARY_PATH="$RKC_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
apps=$top_srcdir/tests/apps
warnings='-Wall -Wextra -Wshadow -Werror'

fault() {
    echo "$*" >>"$work/faults"
}

build() { # COMPILER OUTPUT ARGUMENT...
    compiler=$1 output=$2
    shift 2
    # shellcheck disable=SC2086 # they may hold arguments
    $compiler -g $warnings -I"$top_srcdir/include" "$@" -o "$work/$output" >"$work/faults" 2>&1
}

# Run a program in a folder of its own, where nothing may be printed but what WANT_OUT says, and
# show its file, if there must be one, in $work/shown.
run() { # STATUS FILES PROGRAM [ARGUMENT]...
    want_status=$1 want_files=$2
    shift 2
    rm -rf "$work/run"
    mkdir "$work/run"
    : >"$work/faults"
    : >"$work/shown"
    (cd "$work/run" && exec "$@") >"$work/stdout" 2>"$work/stderr"
    status=$?
    [ "$status" -eq "$want_status" ] || fault "status $status, not $want_status"
    [ "$(cat "$work/stdout")" = "${want_out:-}" ] || fault "it printed: $(cat "$work/stdout")"
    files=$(find "$work/run" -type f | wc -l)
    [ "$files" -eq "$want_files" ] || fault "it left $files files: $(ls "$work/run")"
    for file in "$work/run"/*.h5; do
        [ -e "$file" ] || continue
        "$top_builddir/tests/show_file" "$file" >>"$work/shown" 2>>"$work/faults" ||
            fault "$file cannot be read"
    done
}

has() { # LINES PATTERN: the file shown has so many that match
    found=$(grep -c -e "$2" "$work/shown")
    [ "$found" -eq "$1" ] || fault "$found lines, not $1, match: $2"
}

visits() { # CALL-PATH VISITS [PATTERN of what follows in its line]
    has 1 "^path (run)/$1 .*visits $2 ${3:-}"
}

said() { # LINES PATTERN: stderr has so many that match
    found=$(grep -c -e "$2" "$work/stderr")
    [ "$found" -eq "$1" ] || fault "$found lines of stderr, not $1, match: $2"
}

check() { # RULE
    status=0
    if [ -s "$work/faults" ]; then
        status=1
        sed 's/^/  /' "$work/shown" "$work/stderr" >>"$work/faults"
    fi
    ok $status "$1" "$work/faults"
}

build "$CC" nompi "$apps/nompi.c" -L"$RKC_LIBDIR" -lrankclock -lpthread -ldl
ok $? "a C program builds without a warning" "$work/faults"
[ -x "$work/nompi" ] || bail "there is nothing to run"
nompi=$work/nompi

# --- the file ---

run 0 1 "$nompi" steps
has 1 '^file COMPLETE ranks 1$'
has 1 '^rank 0 finalized threads 1 open -$'
visits main 1
visits main/step 3
visits main/step/halo 6 '.*timed 6$'
visits main/step/halo/pack 6
has 0 '^note'
has 1 '^region step user .*nompi.c [0-9]*$'
said 1 '^rankclock: wrote .*/rankclock-nompi.h5$'
said 1 ''
check "at exit a program without MPI leaves one file, complete, as rank 0 of one"

run 0 0 "$nompi" nothing
said 0 ''
check "one without a region leaves none"

RANKCLOCK_VERBOSE=0 run 0 1 "$nompi" steps
said 0 ''
check "with RANKCLOCK_VERBOSE=0 nothing is said"

run 42 1 "$nompi" exit
visits main 1
visits main/fatal 1
has 2 '^note unclosed 1 '
has 1 '^rank 0 finalized threads 1 open (run)/main/fatal$'
check "exit keeps its status, and its open regions are noted"

NOMPI_CONSTRUCTOR=1 run 0 1 "$nompi" around
visits constructor 1
visits step 3
visits 'at exit' 1
check "regions before main and in atexit handlers are recorded"

run 0 1 "$nompi" moves
visits step 3
check "the file goes where the program began, though it went elsewhere and closed its files"

RANKCLOCK_OUTPUT=not/there/x.h5 run 0 1 "$nompi" steps
said 1 'rankclock recover'
[ "$(find "$work/run/x.h5.partial" -name '*.rkci' | wc -l)" -eq 1 ] || fault "no image in $work/run"
check "where the file cannot be written the image is kept, and how to recover it said"

# --- settings ---

RANKCLOCK_ENABLE=off run 0 0 "$nompi" steps
said 0 ''
check "with RANKCLOCK_ENABLE=off nothing happens"

RANKCLOCK_INCLUDE='step,pa*' run 0 1 "$nompi" steps
visits step 3
visits step/pack 6
has 0 '^path (run)/main'
has 0 'halo .*visits'
check "with RANKCLOCK_INCLUDE what is not named is left out"

RANKCLOCK_EXCLUDE='halo' run 0 1 "$nompi" steps
visits main/step/pack 6
has 0 '^path.*halo'
check "with RANKCLOCK_EXCLUDE what is named is left out"

RANKCLOCK_OUTPUT='a-%n-%p-%j.h5' RANKCLOCK_MODE=0640 run 0 1 "$nompi" steps
ls -l "$work/run" >"$work/stderr"
said 1 '^-rw-r----- .* a-nompi-[0-9][0-9]*[.]h5$'
check "RANKCLOCK_OUTPUT and RANKCLOCK_MODE name the file and its permissions"

RANKCLOCK_GPU_SYNC=1 run 0 1 "$nompi" steps
"$RKC_COMMAND" info "$work/run"/*.h5 | grep -q 'perturbing *RANKCLOCK_GPU_SYNC$' ||
    fault "the file does not name RANKCLOCK_GPU_SYNC"
has 0 'device_'
has 0 '^device '
check "RANKCLOCK_GPU_SYNC is said to perturb; without GPU regions nothing is there of a device"

RANKCLOCK_CLOCK=gettime run 0 1 "$nompi" steps
visits main/step/halo/pack 6 '.*timed 6$'
check "with RANKCLOCK_CLOCK=gettime the same is recorded"

RANKCLOCK_VERBOSE=loud RANKCLOCK_SPOOOL=/tmp run 0 1 "$nompi" steps
visits main 1
said 1 'RANKCLOCK_VERBOSE="loud" is ignored'
said 1 'RANKCLOCK_SPOOOL is not a variable'
check "settings that are wrong are told, once, and the run goes on"

run 0 1 "$nompi" paused
visits step 6
check "what is begun while paused is left out"

run 0 1 "$nompi" sampled
visits step 30 '.*timed 15$'
has 1 '^path (run)/step .* sampled_out 15 '
visits step/halo 30
visits halo 30
has 1 '^note sampled 15 step$'
check "a sampled region's visits all count, half of them are timed"

# --- threads and processes ---

run 0 1 "$nompi" threads
visits thread 4
visits thread/step 12
has 1 '^path (run)/thread .* unclosed 2 '
visits stays 1
has 1 '^path (run)/stays/busy '
has 1 '^rank 0 finalized threads 5 '
check "threads that ended and one that did not are in the file"

run 0 1 "$nompi" main_ends_first
visits main 1
visits thread/step 3
check "a process that goes on without its first thread leaves its file at its end"

run 0 1 "$nompi" forks
visits main 1
has 0 step
check "forked children add nothing, and write nothing"

run 0 2 "$nompi" runs
has 2 '^file COMPLETE ranks 1$'
visits parent 1
visits main 1
check "a program that it runs has a file of its own"

build "$CC" opened "$apps/opened.c" -lpthread -ldl
run 0 1 "$work/opened"
visits opened 1
check "opened by hand and closed again it harms no thread"

# --- RKC_DISABLE and C++ ---

: >"$work/faults"
for optimized in -O0 -O2; do
    build "$CC" disabled $optimized -DRKC_DISABLE "$apps/disabled.c" || break
    nm "$work/disabled" | grep rkc_ >>"$work/faults"
    run 0 0 "$work/disabled"
done
check "with RKC_DISABLE a C program needs no library and has no name of it"

build "$CC" enabled "$apps/disabled.c" -L"$RKC_LIBDIR" -lrankclock
run 0 1 "$work/enabled"
visits begun 1
visits begun/region 1
check "without it the same program is recorded"

if [ -n "${CXX:-}" ] && echo 'int main() {}' >"$work/try.cpp" &&
    $CXX "$work/try.cpp" -o "$work/try" 2>/dev/null; then
    build "$CXX" scopes -std=c++11 "$apps/scopes.cpp" -L"$RKC_LIBDIR" -lrankclock -lpthread
    want_out='caught 5, bad 0' run 0 1 "$work/scopes"
    visits main/exceptions 1
    visits main/exceptions/thrower 5
    visits main/exceptions/thrower/deeper/thrower/deeper/thrower 5
    visits main/exceptions/caught 5
    has 0 unclosed
    has 0 '^note end_'
    check "C++ regions end when exceptions leave them"

    visits 'main/ways out' 3
    visits 'main/ways out/turn' 4
    visits main/early 1
    visits 'in thread' 400
    visits main/sampled 10 '.*timed 2$'
    check "and in every other way"

    : >"$work/faults"
    for optimized in -O0 -O2; do
        build "$CXX" disabled -std=c++11 $optimized -DRKC_DISABLE -x c++ "$apps/disabled.c" || break
        nm "$work/disabled" | grep rkc_ >>"$work/faults"
        build "$CXX" scopes -std=c++11 $optimized -DRKC_DISABLE "$apps/scopes.cpp" -lpthread ||
            break
        nm "$work/scopes" | grep rkc_ >>"$work/faults"
        want_out='caught 5, bad 0' run 0 0 "$work/scopes"
    done
    check "with RKC_DISABLE a C++ program needs no library and has no name of it"
else
    skip 3 "no C++ compiler"
fi

finish
