# start.sh - start MPI programs in the same way under every MPI. Sourced after tap.sh, by tests that
# run ranks and have set $work, a folder that they remove; without a launcher they are skipped.
#
# $mpi is openmpi, mpich (those that start ranks by Hydra) or other: for what differs between them.

[ -n "${MPIRUN:-}" ] || skip_all "no MPI launcher found by configure"
case $($MPIRUN --version 2>&1 </dev/null) in
*'Open MPI'* | *OpenRTE* | *PRRTE*) mpi=openmpi ;;
*HYDRA* | *MPICH* | *MVAPICH* | *'Intel(R) MPI'*) mpi=mpich ;;
*) mpi=other ;;
esac

# Settings of the caller's own would change what is measured.
unset LD_PRELOAD
for start_name in $(env | sed -n 's/^\(RANKCLOCK_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$start_name"
done

# Ranks that are killed leave shared memory and images behind: they lie where they are removed with
# the rest.
start_memory=$(mktemp -d /dev/shm/rankclock-test.XXXXXX 2>/dev/null) || start_memory=$work/memory
trap 'rm -rf "$work" "$start_memory"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$start_memory"
OMPI_MCA_btl_vader_backing_directory=$start_memory RANKCLOCK_SPOOL=$start_memory
export OMPI_MCA_btl_vader_backing_directory RANKCLOCK_SPOOL

# start_repair STDERR: where Open MPI's launcher has crashed as it left PMIx, after the job's end
# (openpmix/openpmix#2508), take what it, timeout and the shell say of that away and print the status
# of the job.
start_repair() {
    sed -i -e '/\*\*\* Process received signal \*\*\*$/,/\*\*\* End of error message \*\*\*$/d' \
        -e '/^timeout: the monitored command dumped core$/d' -e '/^Segmentation fault/d' "$1"
    awk '/^with errorcode [0-9]+\.$/ { status = int($3) }
         /^ *Exit code: +[0-9]+$/ { status = $3 }
         / exited on signal [0-9]+/ { sub(/.* exited on signal /, ""); status = 128 + int($0) }
         END { print status + 0 }' "$1"
}

# start SECONDS RANKS [SETTING=VALUE]... PROGRAM [ARGUMENT]... [: RANKS ...]...
#
# The job ends after that time at the latest; its status is the launcher's, 124 or 137 if it had to
# be ended. What it says on stderr comes at its end. Each part has settings of its own, which no launcher has to know of: env makes them.
start() {
    start_limit=$1
    shift
    start_left=$# start_next=ranks
    while [ "$start_left" -gt 0 ]; do
        case $start_next:$1 in
        ranks:*)
            set -- "$@" -n "$1" env
            start_next=words
            ;;
        words::)
            set -- "$@" :
            start_next=ranks
            ;;
        *) set -- "$@" "$1" ;;
        esac
        shift
        start_left=$((start_left - 1))
    done
    start_stderr=$(mktemp "$work/.stderr.XXXXXX") || return 1
    # shellcheck disable=SC2086 # MPIRUN may hold arguments
    timeout -k 5 "$start_limit" $MPIRUN "$@" </dev/null 2>"$start_stderr"
    start_status=$?
    if [ "$start_status" -eq 139 ] && grep -q '(PMIx_server_finalize+' "$start_stderr"; then
        start_status=$(start_repair "$start_stderr")
    fi
    cat "$start_stderr" >&2
    rm -f "$start_stderr"
    return "$start_status"
}
