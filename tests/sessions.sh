#!/bin/sh
# A program that uses MPI by sessions does what it does alone. Its ranks share no end: each leaves
# what it has measured when it exits, and rankclock recover makes one file of it.
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
library=$RKC_LIBDIR/librankclock-mpi.so
RANKCLOCK_OUTPUT=$work/run.h5 RANKCLOCK_WRITER=$RKC_COMMAND
export RANKCLOCK_OUTPUT RANKCLOCK_WRITER

echo '#include <mpi.h>
MPI_Session session;' >has.c
$MPICC -c has.c -o has.o 2>/dev/null || skip_all "this MPI has no sessions"
$MPICC -g -Wall -Wextra "$top_srcdir/tests/apps/sessions.c" -o sessions -ldl 2>cc.log ||
    bail "cannot build sessions.c: $(cat cc.log)"

run() { # RANKS [HOW]
    ranks=$1
    shift
    start 60 "$ranks" ./sessions "$@" >plain 2>plain.err
    plain_status=$?
    rm -rf run.*
    start 60 "$ranks" LD_PRELOAD="$library" ./sessions "$@" >out 2>err
    status=$?
    # The first rank that leaves without an end may take the other along, before it has printed.
    [ "${1:-}" = open ] && for file in out plain; do
        : >$file
    done
    is "$status $(sort out)" "$plain_status $(sort plain)" \
        "${1:-closed}: the program is as it is alone"
}

said() {
    grep '^rankclock:' err
}

recovered() {
    "$RKC_COMMAND" recover run.h5.partial -o run.h5 >recover.out 2>&1
    ok $? "${1:-closed}: its images are a file to be recovered" recover.out
}

# Visits, and bytes sent and received.
seen() { # CALL-PATH...
    "$top_builddir/tests/show_file" run.h5 >shown 2>&1
    for path; do
        awk -v path="(run)/$path" '
            $1 == "path" && $2 == path {
                for (i = 3; i < NF; i += 2)
                    got[$i] = $(i + 1)
            }
            END { printf "%d/%d/%d ", got["visits"], got["bytes_sent"], got["bytes_received"] }
        ' shown
    done
}

status_of() {
    "$top_builddir/tests/show_file" run.h5 2>&1 | head -n 1
}

run 2
is "$(echo run.*)" "run.h5.partial" "closed: there are images"
is "$(said)" "rankclock: ranks with MPI sessions end one by one: what was measured is saved in \
$work/run.h5.partial; make a file of it with rankclock recover $work/run.h5.partial -o FILE" \
    "closed: which one rank says, and what to do"
recovered
is "$(status_of)" "file COMPLETE ranks 2" "closed: nothing is missing"
is "$(seen MPI_Session_init round/MPI_Session_init round/MPI_Sendrecv round/MPI_Allreduce \
    MPI_Session_finalize round late)" "2/0/0 4/0/0 20/160/160 4/16/16 2/0/0 4/0/0 2/0/0 " \
    "closed: each call of all rounds is counted once, and what comes after"
info=$("$RKC_COMMAND" info run.h5)
like "$info" ' mpi_library  *[^ ]' "closed: the file names the MPI library"
like "$info" ' thread_level  *MPI_THREAD' "closed: and the thread level"

run 2 open
is "$(echo run.*)" "run.h5.partial" "open: there are images"
like "$(said)" "ended without MPI_Session_finalize" "open: the reason is said"
recovered open
like "$(status_of)" "^file PARTIAL ranks [12]\$" "open: the file is of an unfinished run"

run 2 init
is "$(echo run.*)" "run.h5" "init: MPI_Finalize writes the file"
is "$(status_of)" "file COMPLETE ranks 2" "init: of all ranks"
is "$(seen MPI_Session_init round/MPI_Sendrecv MPI_Init MPI_Finalize)" \
    "2/0/0 20/160/160 2/0/0 2/0/0 " "init: with what was measured in sessions"

run 2 abort
recovered abort
like "$(status_of)" "^file ABORTED" "abort: what was measured is saved"

finish
