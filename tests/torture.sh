#!/bin/sh
# LIMIT 600
# Runs that come to bad ends, at instants drawn by chance: what their ranks had noted themselves is in
# what is left of them, no sums disagree, nothing hangs and nothing else stays behind. A few of each
# kind here; make torture does many.
#
# RKC_TORTURE=N  N runs of each kind of SIGKILL, a tenth of that of the other kinds
# RKC_SEED=S     the seed; that which a failure names, with RKC_TORTURE=1, draws the same again
# RKC_KINDS=...  these kinds alone; see tests/torture.c
set -u

. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all "programs that crash are for the sanitizers, then"
if [ "${1:-}" != inside ]; then
    for unshare in 'unshare -m' 'unshare -rm'; do
        $unshare mount -t tmpfs none /dev/shm 2>/dev/null && exec $unshare "$0" inside
    done
fi
own=no
if [ "${1:-}" = inside ]; then
    if [ "$(id -u)" -eq 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    mount -t tmpfs -o size=512m,mode=1777 none /dev/shm || bail "cannot mount /dev/shm"
    own=yes
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
ulimit -c 0 # programs crash here

mkdir "$work/job" "$start_memory/spool" "$start_memory/mpi"
memory=$start_memory/mpi
"$CC" -shared -fPIC -O1 -o "$work/faults.so" "$top_srcdir/tests/faults.c" -ldl ||
    bail "cannot compile faults.c"
cat >"$work/writer" <<END
#!/bin/sh
LD_PRELOAD=$work/faults.so exec "$RKC_COMMAND" "\$@"
END
chmod +x "$work/writer"

seed=${RKC_SEED:-$(date +%s)}
kills=${RKC_TORTURE:-3}
others=$(((kills + 9) / 10))
fulls=$((others > 3 ? others : 3))

torture() { # RUNS KINDS WHAT [OPTION]...
    runs=$1 kinds=$2 what=$3
    shift 3
    wanted=
    for kind in $kinds; do
        case " ${RKC_KINDS:-$kind} " in
        *" $kind "*) wanted="$wanted $kind" ;;
        esac
    done
    [ -n "$wanted" ] || return
    # shellcheck disable=SC2086 # kinds are words
    "$top_builddir/tests/torture" -n "$runs" -s "$seed" "$@" "$work/job" "$start_memory/spool" "$memory" \
        "$top_builddir/tests/apps/victim" $wanted >"$work/out" 2>&1
    ok $? "$what" "$work/out"
    sed -n 's/^\([a-z-]*: [0-9]* runs, .*\)/# \1/p' "$work/out"
}

echo "# seed $seed"
torture "$kills" "kill-rank kill-ranks kill-all" \
    "SIGKILL to one rank, to all, to all and the launcher and its helpers"
torture "$others" limit "SIGTERM, and SIGKILL a second later"
torture "$others" segv "a thread writes to nowhere"
torture "$others" "overflow overflow-alt overflow-thread overflow-thread-alt" \
    "a stack overflows, the main one or a thread's, with an alternate stack for signals or without"
torture "$others" abort "abort() in a collective"
RANKCLOCK_FINALIZE_TIMEOUT=1
export RANKCLOCK_FINALIZE_TIMEOUT
torture "$others" never "a rank never comes to MPI_Finalize"
unset RANKCLOCK_FINALIZE_TIMEOUT
RANKCLOCK_WRITER=$work/writer
export RANKCLOCK_WRITER
torture "$fulls" full "the disk is full at a write of the writer, and from then on" -w 6
unset RANKCLOCK_WRITER

if [ "$own" = yes ]; then
    rm -rf "$start_memory" /dev/shm/mpich_shar_tmp* # MPICH's, of ranks killed before all had them
    is "$(ls -A /dev/shm)" "" "nothing is left in /dev/shm"
else
    skip 1 "/dev/shm is not our own here"
fi
finish
