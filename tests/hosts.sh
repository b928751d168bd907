#!/bin/sh
# LIMIT 300
# Several hosts whose shells start with an empty environment: hosts are name spaces of their own on
# this machine, and the remote shell is a script.
set -u

. "$top_srcdir/tests/tap.sh"
unshare -u -m true 2>/dev/null || skip_all "unshare is not permitted here"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
[ "$mpi" != other ] || skip_all "how $MPIRUN starts ranks on other hosts is not known"
cd "$work" || exit 1
# A folder that the other hosts have not; what they have goes with them.
unset OMPI_MCA_btl_vader_backing_directory RANKCLOCK_SPOOL
heat=$top_builddir/tests/apps/heat

# Like ssh to another machine: nothing of our environment, its own name and /dev/shm.
cat >agent <<'END'
#!/bin/sh
[ "$1" != -x ] || shift
host=$1
shift
exec env -i PATH="$PATH" unshare -u -m sh -c "hostname $host; mount -t tmpfs none /dev/shm; $*"
END
chmod +x agent
cat >show <<'END'
#!/bin/sh
library=${LD_PRELOAD##*/}
echo "$(hostname) $1 ${library%%.so*} ${RANKCLOCK_RUN_ID:+id} ${RANKCLOCK_OUTPUT##*/} ${OTHER-}"
END
chmod +x show

# The hosts for one rank each, for two, for one each in two parts; an option that hands on OTHER.
if [ "$mpi" = openmpi ]; then
    network="--mca plm_rsh_agent $work/agent --mca btl_tcp_if_include lo"
    network="$network --mca oob_tcp_if_include lo"
    three="--host fake1:2,fake2:2,fake3:2" each="--map-by node"
    first="--host fake2:1" second="--host fake3:1"
    other="--mca mca_base_env_list OTHER=1"
else
    # Hydra has the hosts of all parts in one list.
    network="-launcher ssh -launcher-exec $work/agent -iface lo"
    three="-hosts fake1:2,fake2:2,fake3:2" each="-ppn 1"
    first="-hosts fake2:1,fake3:1" second=
    other="-genv OTHER 1"
fi

# on_hosts OPTION... : rankclock run with the launcher on three hosts, from the first of them.
on_hosts() {
    unshare -u sh -c 'hostname fake1; exec "$@"' sh "$RKC_COMMAND" run -o hosts.h5 -- "$@" 2>err
}

is "$(on_hosts $MPIRUN $network $three -n 3 $each ./show a | sort)" \
    "fake1 a librankclock-mpi id hosts.h5 
fake2 a librankclock-mpi id hosts.h5 
fake3 a librankclock-mpi id hosts.h5 " "every host has the library and the variables"
two="$first -n 1 ./show a : $second -n 1 ./show b"
is "$(on_hosts $MPIRUN $network $two | sort)" \
    "fake2 a librankclock-mpi id hosts.h5 
fake3 b librankclock-mpi id hosts.h5 " "in each part of the command"
is "$(on_hosts $MPIRUN $network $other $first -n 1 ./show a)" \
    "fake2 a librankclock-mpi id hosts.h5 1" "beside a list of the user's"

mkdir elsewhere
(
    cd elsewhere || exit 1
    on_hosts $MPIRUN $network $three -n 6 "$heat" -n 64 -s 50 >out
    echo $? >status
)
is "$(cat elsewhere/status)" 0 "a program runs on three hosts"
# Open MPI's launcher may lose a race with its agents, which does no harm.
is "$(grep -v 'plm:rsh: Warning: setpgid(' elsewhere/err)" "rankclock: wrote hosts.h5" \
    "and its file is named"
like "$("$RKC_COMMAND" report elsewhere/hosts.h5)" 'COMPLETE (6/6 ranks)$' "which holds all ranks"
like "$("$RKC_COMMAND" report elsewhere/hosts.h5)" '3 nodes, 6 ranks' "on three nodes"
"$RKC_COMMAND" report --ranks elsewhere/hosts.h5 >ranks
is "$(awk '/finalized/ { print $1, $2 }' ranks | sort)" \
    "0 fake1
1 fake1
2 fake2
3 fake2
4 fake3
5 fake3" "each rank on its own"

# --- a rank without us, of which those on other hosts learn by a mark in the folder of the images ---

sums=$top_builddir/tests/apps/sums
cat >some <<END
#!/bin/sh
[ "\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" != 1 ] || unset LD_PRELOAD
exec "$sums"
END
chmod +x some
begin=$(date +%s)
on_hosts $MPIRUN $network $three -n 4 ./some >out
is "$? $(grep -c 'has ended' out)" "0 4" "a rank of four on two hosts runs without us: it ends as it should"
is "$(sed -n 's/^rankclock: \(.*\): what was measured is saved in .*hosts.h5.partial; .*/\1/p' err)" \
    "rank 1 on fake1 runs without rankclock" "its host is named, once"
is "$(ls hosts.h5.partial)" "rank-0.rkci
rank-2.rkci
rank-3.rkci" "those on the other host have left their images, too"
ok "$([ $(($(date +%s) - begin)) -lt 120 ]; echo $?)" "long before their patience ends"
finish
