#!/bin/sh
# LIMIT 300
# Ranks that were started without us, wherever they are in the world: the program's sums and its end
# are what they are without the library, nobody waits for one that is seen to be without us, nor for
# longer than RANKCLOCK_FINALIZE_TIMEOUT for one that is not, also one who comes after the others have
# given up, and the images make a file that names who is missing.
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
sums=$top_builddir/tests/apps/sums

start 60 4 "$sums" >plain.out 2>plain.err || bail "the program fails without the library"
sort plain.out >plain.sorted

# A process of a rank with MPI and without us, which starts the program with us.
mpi_file=$(ldd "$sums" | sed -n 's/.*libmpi[^ ]* => \([^ ]*\).*/\1/p' | head -n 1)
cat >shell <<'END'
#!/bin/sh
preload=$1
shift
LD_PRELOAD=$preload "$@"
exit
END
chmod +x shell
mkdir elsewhere

# mixed TIMEOUT PART... - each is WHOSE:RANKS, with :SECONDS where they come late. It is ours, other
# (without us), off (told to leave it off), or ours with its image in memory alone, in a folder of
# its own (elsewhere), or started by a shell that has MPI.
mixed() {
    timeout=$1
    shift
    parts=$*
    set --
    colon=
    for part in $parts; do
        whose=${part%%:*} rest=${part#*:}
        ranks=${rest%%:*} late=${rest#"$ranks"}
        set -- "$@" $colon "$ranks"
        ours=$RKC_LIBDIR/librankclock-mpi.so
        case $whose in
        off) set -- "$@" RANKCLOCK_ENABLE=off ;;
        memory | shell) set -- "$@" RANKCLOCK_SPOOL=off ;;
        elsewhere) set -- "$@" RANKCLOCK_SPOOL="$work/elsewhere" ;;
        esac
        [ "$whose" = other ] ||
            set -- "$@" RANKCLOCK_OUTPUT=run.h5 RANKCLOCK_WRITER="$RKC_COMMAND" \
                RANKCLOCK_FINALIZE_TIMEOUT="$timeout"
        case $whose in
        other) ;;
        shell) set -- "$@" LD_PRELOAD="$mpi_file" ./shell "$ours" ;;
        *) set -- "$@" LD_PRELOAD="$ours" ;;
        esac
        set -- "$@" "$sums" ${late#:}
        colon=:
    done
    rm -rf run.* recovered.h5
    begin=$(date +%s)
    start 120 "$@" >out 2>err
    status=$?
    seconds=$(($(date +%s) - begin))
}

# Without the words of MPICH's UCX on a message that a rank without us has not taken.
results_are_right() { # WHAT
    sed '/ UCX  WARN  unexpected tag-receive /d' out 2>/dev/null | sort >sorted
    grep 'UCX  WARN  object' out >>sorted
    is "$status $(cat sorted)" "0 $(cat plain.sorted)" "$1: the results and the end are the same"
    is "$(grep -v '^rankclock' err)" "$(cat plain.err)" "$1: so is stderr, but for our own line"
}

images_are() { # RANKS WHAT
    is "$(cd run.h5.partial 2>/dev/null && echo rank-*)" \
        "$(for rank in $1; do printf 'rank-%s.rkci ' "$rank"; done | sed 's/ $//')" "$2"
}

# Ranks that are not ours, or late: images of the others, the reason, and what is made of them.
in_time="not all ranks came to MPI_Finalize in time"
left() { # RANKS MISSING WHAT [REASON]
    results_are_right "$3"
    ok "$([ "$seconds" -le 100 ]; echo $?)" "$3: it ends within 100 s"
    images_are "$1" "$3: each of ours leaves its image"
    is "$(sed -n 's/^\(rankclock: .*\): what was measured is saved in .*run.h5.partial; .*/\1/p' err)" \
        "rankclock: ${4:-$in_time}" "$3: which is said once, with the reason"
    is "$(grep -c '^rankclock' err)" 1 "$3: and nothing else is said"
    "$RKC_COMMAND" recover run.h5.partial -o recovered.h5 >recover.out 2>&1
    ok $? "$3: a file is made of them" recover.out
    "$RKC_COMMAND" info recovered.h5 >info 2>&1
    is "$(sed -n 's/^  missing ranks  *//p' info)" "$2" "$3: that names who is missing"
    "$RKC_COMMAND" report recovered.h5 >report 2>&1
    of=$(echo "$1" | wc -w | tr -d ' ')
    like "$(head -n 1 report)" "PARTIAL ($of/4 ranks" "$3: as its report does"
}

host=$(uname -n)
mixed 600 other:1 ours:3
left "1 2 3" 0 "rank 0 is seen not to be ours" "rank 0 on $host runs without rankclock"
mixed 600 ours:1 other:1:2 off:1 ours:1:8
left "0 3" 1-2 "two are seen not to be, one is late" "ranks 1-2 on $host run without rankclock"
mixed 1 other:1 ours:3
left "1 2 3" 0 "rank 0 is not ours"
mixed 1 ours:1 other:1 ours:2
left "0 2 3" 1 "rank 1 is not ours"
mixed 1 ours:3 other:1
left "0 1 2" 3 "the last is not ours"
mixed 1 ours:1 other:3
left "0" 1-3 "one alone is ours"
mixed 1 other:2 ours:1 other:1
left "2" "0-1, 3" "one in the middle is ours"

# --- and some are late: at MPI_Finalize the others have given up ---

mixed 1 ours:2 other:1 ours:1:4
left "0 1 3" 2 "one is not ours, another late"
mixed 1 ours:3 other:1:4
left "0 1 2" 3 "the one that is not ours is late"
mixed 1 ours:1:4 other:1 ours:2
left "0 2 3" 1 "rank 0 is late"

mixed 1 ours:3 ours:1:4
results_are_right "all are ours, one late"
images_are "0 1 2 3" "all are ours, one late: each leaves its image"
"$RKC_COMMAND" recover run.h5.partial -o recovered.h5 >recover.out 2>&1
like "$("$RKC_COMMAND" report recovered.h5 2>&1)" "COMPLETE (4/4 ranks" \
    "all are ours, one late: the file that is made of them is complete"
mixed 30 ours:3 ours:1:2
results_are_right "one is late, but in time"
is "$(ls -d run.*) $(grep -c 'wrote .*run.h5' err)" "run.h5 1" "one is late, but in time: there is a file"

# --- and all are ours, but some have no image that the others see, for as long as it takes to be sure ---

mixed 600 ours:1 memory:1:10 elsewhere:1:10 shell:1:11
results_are_right "some cannot be seen"
is "$(ls -dA run.* .rankclock* 2>/dev/null)" "run.h5" "some cannot be seen: they are waited for, and there is a file"
is "$(grep '^rankclock' err)" "rankclock: wrote $work/run.h5" "some cannot be seen: nothing else is said"
finish
