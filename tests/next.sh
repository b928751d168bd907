#!/bin/sh
# LIMIT 300
# Another PMPI tool beside the library, before it or behind, preloaded or linked: the program does
# what it does alone, and each of the two counts what it can see.
set -u

. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all "the sanitizers' libraries would have to come first"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
apps=$top_srcdir/tests/apps
library=$RKC_LIBDIR/librankclock-mpi.so
ranks=2
RANKCLOCK_OUTPUT=$work/run.h5 RANKCLOCK_WRITER=$RKC_COMMAND OTHER_TOOL=$work/other
LD_LIBRARY_PATH=$RKC_LIBDIR:$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export RANKCLOCK_OUTPUT RANKCLOCK_WRITER OTHER_TOOL LD_LIBRARY_PATH

build() { # OUTPUT ARGUMENT...
    output=$1
    shift
    # shellcheck disable=SC2086 # MPICC may hold arguments
    $MPICC -g -O1 -Wall -Wextra "$@" -o "$output" >cc.log 2>&1 || {
        sed 's/^/# /' cc.log
        bail "cannot build $output"
    }
}

build libother.so -shared -fPIC "$apps/other_tool.c"
build libchained.so -shared -fPIC -DCHAINED "$apps/other_tool.c"
build ring "$apps/ring.c"
# With stubs of its own for the functions whose address it takes.
build ring_stubs "$apps/ring.c" -fno-pie -no-pie
# In the order in which the functions are to be looked for.
build ring_holds_tool "$apps/ring.c" "$apps/other_tool.c" -ldl
build ring_tool "$apps/ring.c" -Wl,--no-as-needed -L. -lother
build ring_chained "$apps/ring.c" -Wl,--no-as-needed -L. -lchained
build ring_ours "$apps/ring.c" -Wl,--no-as-needed -L"$RKC_LIBDIR" -lrankclock-mpi
build ring_ours_tool "$apps/ring.c" -Wl,--no-as-needed -L"$RKC_LIBDIR" -lrankclock-mpi -L. -lother
build ring_tool_ours "$apps/ring.c" -Wl,--no-as-needed -L. -lchained -L"$RKC_LIBDIR" -lrankclock-mpi
mkdir copy
cp -L "$RKC_LIBDIR/librankclock-mpi.so" "$RKC_LIBDIR/librankclock.so.0" copy

run() { # PRELOAD PROGRAM
    rm -rf run.* other.*
    start 60 "$ranks" ${1:+LD_PRELOAD="$1"} "./$2" >out 2>err
    status=$?
}

shown() {
    "$top_builddir/tests/show_file" run.h5 2>&1
}

# How often a function was called, in all, and the bytes that it moved.
seen_of() { # FUNCTION
    shown | awk -v name="(run)/MPI_$1" '
        $1 == "path" && $2 == name {
            for (i = 3; i < NF; i += 2)
                got[$i] = $(i + 1)
        }
        END { printf "%s %d/%d/%d", substr(name, 11), got["visits"], got["bytes_sent"], \
                     got["bytes_received"] }'
}

seen() {
    echo "$(seen_of Init) $(seen_of Initialized) $(seen_of Send) $(seen_of Recv)" \
        "$(seen_of Allreduce) $(seen_of Finalize)"
}

seen_all="Init 2/0/0 Initialized 2/0/0 Send 14/112/0 Recv 14/0/112 Allreduce 6/48/48 Finalize 2/0/0"
other_all="Init 1 Initialized 2 Send 7 Recv 7 Allreduce 3 Pcontrol 1 Finalize 1"

# The program is as it is alone, and there is one file of all ranks.
well() { # WHAT
    is "$status $(sort out)" "$plain_status $(sort plain)" "$1: the program is as it is alone"
    is "$(grep -v '^rankclock: wrote' err | grep -v 'UCX')" "" "$1: nobody complains"
    is "$(echo run.*)" "run.h5" "$1: there is one file"
    like "$(shown)" "^file COMPLETE ranks $ranks\$" "$1: of all ranks"
}

other_saw() { # WANT WHAT
    for rank in 0 1; do
        is "$(cat "other.$rank" 2>&1)" "$1" "$2: the other tool's counts, rank $rank"
    done
}

named() { # FILE WHAT
    like "$("$RKC_COMMAND" info run.h5 2>&1)" " other_tools .*$1" "$2: it is named in the file"
}

run "" ring
plain_status=$status
sort out >plain
is "$status $(wc -l <plain)" "0 2" "alone, the program runs"

for program in ring ring_stubs; do
    run "$library" $program
    well "$program, without another tool"
    is "$(seen)" "$seen_all" "$program, without another tool: our counts"
    unlike "$("$RKC_COMMAND" info run.h5 2>&1)" " other_tools .*[a-z]" \
        "$program, without another tool: none is named"
done

# --- we stand first: both see all ---

run "$library $work/libother.so" ring
well "preloaded behind us"
is "$(seen)" "$seen_all" "preloaded behind us: our counts"
other_saw "$other_all" "preloaded behind us"
named libother.so "preloaded behind us"

for program in ring_tool ring_chained; do
    run "$library" $program
    well "$program, we are preloaded"
    is "$(seen)" "$seen_all" "$program, we are preloaded: our counts"
    other_saw "$other_all" "$program, we are preloaded"
    named "lib\(other\|chained\).so" "$program, we are preloaded"
done

run "" ring_ours_tool
well "both linked, we first"
is "$(seen)" "$seen_all" "both linked, we first: our counts"
other_saw "$other_all" "both linked, we first"
named libother.so "both linked, we first"

# --- it stands first, and hands on to who is next; what it calls itself are calls like others ---

seen_all=$(echo "$seen_all" | sed 's,Initialized 2/,Initialized 16/,')

run "$work/libchained.so $library" ring
well "preloaded before us"
is "$(seen)" "$seen_all" "preloaded before us: our counts"
other_saw "$other_all" "preloaded before us"
named libchained.so "preloaded before us"

run "$work/libchained.so" ring_ours
well "preloaded, we are linked"
is "$(seen)" "$seen_all" "preloaded, we are linked: our counts"
other_saw "$other_all" "preloaded, we are linked"
named libchained.so "preloaded, we are linked"

run "" ring_tool_ours
well "both linked, it first"
is "$(seen)" "$seen_all" "both linked, it first: our counts"
other_saw "$other_all" "both linked, it first"

# --- it stands first, and calls MPI past us: nothing is seen of what it wraps. That the run ends
# is seen all the same; 7 x 2 are calls of its own ---

run "$work/libother.so $library" ring
well "preloaded before us, calling PMPI_"
is "$(seen)" "Init 0/0/0 Initialized 0/0/0 Send 0/0/0 Recv 0/0/0 Allreduce 0/0/0 Finalize 2/0/0" \
    "preloaded before us, calling PMPI_: what it wraps is not seen"
is "$(seen_of Type_size) $(seen_of Comm_size)" "Type_size 14/0/0 Comm_size 2/0/0" \
    "preloaded before us, calling PMPI_: what it does not wrap is"
other_saw "$other_all" "preloaded before us, calling PMPI_"
named libother.so "preloaded before us, calling PMPI_"

run "$work/libother.so" ring_ours
well "preloaded, calling PMPI_, we are linked"
is "$(seen_of Type_size) $(seen_of Comm_size)" "Type_size 14/0/0 Comm_size 2/0/0" \
    "preloaded, calling PMPI_, we are linked: what it does not wrap is seen"
other_saw "$other_all" "preloaded, calling PMPI_, we are linked"

run "$library" ring_holds_tool
well "part of the program"
is "$(seen_of Type_size) $(seen_of Comm_size)" "Type_size 14/0/0 Comm_size 2/0/0" \
    "part of the program: what it does not wrap is seen"
other_saw "$other_all" "part of the program"
named "the program itself" "part of the program"

# --- two others ---

run "$work/libchained.so $library $work/libother.so" ring
well "one before, one behind"
is "$(seen)" "$seen_all" "one before, one behind: our counts"
named "libchained.so, libother.so" "one before, one behind"

# --- two of us ---

seen_all=$(echo "$seen_all" | sed 's,Initialized 16/,Initialized 2/,')

run "$library $work/copy/librankclock-mpi.so" ring
well "two of us"
is "$(seen)" "$seen_all" "two of us: each call is counted once"
run "$library" ring_ours
well "linked and preloaded"
is "$(seen)" "$seen_all" "linked and preloaded: each call is counted once"

finish
