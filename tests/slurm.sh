#!/bin/sh
# LIMIT 600
# Jobs of a real Slurm, by the scripts of tools/slurm/ as they are: four nodes, job arrays, requeue,
# steps, heterogeneous jobs, and jobs that are cancelled, killed or short of time, of which all that
# was measured has to become a file.
#
# Its daemons are this test's own: the nodes are name spaces of this machine, with a host name and a
# /dev/shm each, and share processors, network and disk. Two jobs of each kind are cancelled; the long
# form cancels 25, and waits for a time limit to strike:
#
#   make check TESTS=tests/slurm.sh RKC_SLURM_CANCELS=25 RKC_TEST_TIMEOUT=1800
set -u

. "$top_srcdir/tests/tap.sh"
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || skip_all "only root can start Slurm's daemons"
for program in munged slurmctld slurmd srun runuser ss; do
    command -v $program >/dev/null 2>&1 ||
        skip_all "no $program: Slurm, munge, util-linux and iproute2 are not installed"
done
unshare -u -m true 2>/dev/null || skip_all "unshare is not permitted here"
cancels=${RKC_SLURM_CANCELS:-2}
work=$(mktemp -d) || exit 1
chmod 755 "$work"
. "$top_srcdir/tests/start.sh"
# The nodes have their own /dev/shm, in which it is as users have it.
unset RANKCLOCK_SPOOL OMPI_MCA_btl_vader_backing_directory SLURM_TMPDIR
case $mpi in
openmpi) SLURM_MPI_TYPE=pmix ;;
mpich) SLURM_MPI_TYPE=pmi2 ;;
*) skip_all "by which --mpi srun starts the ranks of $MPIRUN is not known" ;;
esac
export SLURM_MPI_TYPE

# --- Slurm, and all that it has to start, where any user can read it ---

# In a session of its own, which goes on when this shell is killed; and then somebody else does it.
# shellcheck disable=SC2016 # for that shell
clean='bash "$1/tests/slurm/stop" -r "$2/slurm" 2>/dev/null; rm -rf "$2" "$3"'
setsid sh -c "while kill -0 $$ 2>/dev/null; do sleep 1; done; $clean" \
    sh "$top_srcdir" "$work" "$start_memory" </dev/null >/dev/null 2>&1 &
guard=$!
leave() {
    cd /
    setsid sh -c "$clean" sh "$top_srcdir" "$work" "$start_memory" </dev/null >/dev/null 2>&1 &
    wait $!
    kill $guard
}
trap leave EXIT
trap 'exit 1' HUP INT PIPE TERM
if ! bash "$top_srcdir/tests/slurm/start" -n 4 -c 4 -k 10 -d "$work/slurm" >"$work/env" 2>"$work/why"
then
    skip_all "Slurm does not start: $(head -n 1 "$work/why")"
fi
. "$work/env"
# Over TCP some 3 of 100 of its jobs crash or hang when they start on a busy machine, without us, too:
# all nodes have one address here.
if [ "$mpi" = openmpi ] && ompi_info 2>/dev/null | grep -q 'MCA pml: ucx'; then
    export OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any
    export UCX_TLS=tcp,self UCX_NET_DEVICES=lo
fi
srun --mpi=list 2>&1 | grep -qw "$SLURM_MPI_TYPE" ||
    skip_all "this Slurm has no --mpi=$SLURM_MPI_TYPE"

mkdir -p "$work/bin" "$work/lib"
cp -P "$RKC_LIBDIR"/librankclock.so* "$RKC_LIBDIR"/librankclock-mpi.so* "$work/lib"
cp "$RKC_COMMAND" "$work/bin/rankclock"
cp "$top_builddir/tests/apps/ending" "$work/bin/ending"
cp "$top_builddir/tests/apps/ending" "$work/bin/other"
printf '#!/bin/sh\nexec %s "$@"\n' "$MPIRUN" >"$work/bin/mpirun"
chmod 755 "$work/bin/mpirun"
PATH=$work/bin:$PATH
library=$work/lib/librankclock-mpi.so
scripts=$top_srcdir/tools/slurm

# Ranks that go on until they are ended, or ROUNDS times; busy.RANK, with the process's id, says that
# they do.
cat >"$work/busy.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void mark(int rank)
{
    char name[32], made[32];
    snprintf(name, sizeof name, "busy.%d", rank);
    snprintf(made, sizeof made, ".busy.%d", rank);
    FILE *file = fopen(made, "w");
    if (file) {
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
        rename(made, name);
    }
}
int main(int argc, char **argv)
{
    int rank, one = 1, sum, rounds = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; rounds == 0 || i < rounds; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        usleep(2000);
        if (i == 2)
            mark(rank);
    }
    return MPI_Finalize();
}
END
$MPICC -o "$work/bin/busy" "$work/busy.c" 2>"$work/why" ||
    bail "cannot build busy.c: $(cat "$work/why")"

# within SECONDS COMMAND...: until it succeeds, asked ten times a second.
within() {
    within_tries=$(($1 * 10))
    shift
    until "$@"; do
        within_tries=$((within_tries - 1))
        [ "$within_tries" -gt 0 ] || return 1
        sleep 0.1
    done
}

is_over() { # JOB: an array with all of its tasks
    scontrol show job "$1" >"$work/states" 2>&1 && grep -q JobState= "$work/states" &&
        ! grep -qE 'JobState=(PENDING|CONFIG|RUNNING|SUSPEND|COMPLETING|REQUEU)' "$work/states"
}

are_busy() { # RANKS
    [ "$(find . -maxdepth 1 -name 'busy.*' | wc -l)" -eq "$1" ]
}

kill_ranks() {
    # shellcheck disable=SC2046 # numbers
    kill -KILL $(cat busy.*)
}

submit() { # OPTION... SCRIPT [ARGUMENT...]: $job is its number
    job=$(timeout 60 sbatch --parsable "$@" 2>"$work/why") || bail "sbatch: $(cat "$work/why")"
}

clear_nodes() {
    timeout 60 srun -Q --mpi=none -N 4 -n 4 sh -c 'rm -f /dev/shm/rankclock-*'
}

# As submit, until all its ranks are at work: Open MPI's jobs may hang as they start, here and without
# the library as well. Such a one is ended, and nothing of it kept.
submit_busy() { # RANKS OPTION... SCRIPT [ARGUMENT...]
    busy_ranks=$1
    shift
    for _ in 1 2 3; do
        submit "$@"
        within 40 are_busy "$busy_ranks" && return
        echo "# job $job: not all ranks start" >&2
        scancel "$job"
        within 60 is_over "$job"
        clear_nodes
        rm -rf ./*.partial ./*.h5 ./busy.*
    done
}

# What a job has left on the nodes, and in *.partial here, becomes a file; $made says what is in it.
collect() { # JOB FILE
    timeout 60 srun -Q --mpi=none -N 4 -n 4 rankclock gather --move --job "$1" "gathered-$1" \
        >gather.out 2>&1 || cat gather.out
    find . -maxdepth 2 -name '*.rkci' >images
    # shellcheck disable=SC2046 # the names have no blanks
    made=$(rankclock recover $(cat images) -o "$2" 2>recover.err)
}

status() { # FILE: "COMPLETE (8/8 ranks)"
    rankclock report "$1" 2>&1 | sed -n '1s/.* \([A-Z]* ([0-9/]* ranks)\)$/\1/p'
}

job_line() { # FILE: "Job 3.0"
    rankclock report "$1" 2>&1 | sed -n '2s/  .*//p'
}

nodes() { # FILE: the node of each rank
    rankclock report --ranks "$1" | awk '/finalized|running|signal/ { print $1, $2 }' | sort -n |
        awk '{ printf "%s%s", sep, $2; sep = " " }'
}

enter() { # NAME: a folder of its own
    mkdir "$work/$1"
    cd "$work/$1" || exit 1
}

# --- jobs that end well ---

# All of them at once, begun again where one hangs as it starts; see submit_busy.
begin_all() {
    submit -N 4 --ntasks-per-node=2 "$scripts/mpirun.sbatch" ending finalize
    mpirun_job=$job
    submit -N 4 --ntasks-per-node=2 "$scripts/srun.sbatch" ending finalize
    srun_job=$job
    submit -N 2 --ntasks-per-node=2 -J limited "$scripts/time-limit.sbatch" ending finalize
    limit_job=$job
    submit -a 1-3 --ntasks-per-node=2 "$scripts/array.sbatch" ending finalize
    array_job=$job

    # Two steps at once, of one name; two programs in one step; the library without rankclock run.
    cat >steps.conf <<'END'
0-3 ending finalize
4-7 other finalize
END
    cat >steps.sh <<END
#!/bin/sh
for name in step.h5 step.h5; do
    srun --exact -N 2 -n 2 --export="ALL,LD_PRELOAD=$library,RANKCLOCK_OUTPUT=\$name" ending finalize &
done
wait
rankclock run -o multi.h5 -- srun --multi-prog steps.conf
case $mpi in
openmpi) mpirun -x LD_PRELOAD=$library -x RANKCLOCK_OUTPUT=plain.h5 ending finalize ;;
mpich) mpirun -genv LD_PRELOAD $library -genv RANKCLOCK_OUTPUT plain.h5 ending finalize ;;
esac
END
    submit -N 4 --ntasks-per-node=2 -o steps.out steps.sh
    steps_job=$job
    cat >parts.sh <<'END'
#!/bin/sh
rankclock run -o parts.h5 -- srun ending finalize : other finalize
END
    submit -o parts.out -N 1 --ntasks-per-node=2 : -N 2 --ntasks-per-node=3 parts.sh
    parts_job=$job
}
are_over() {
    for job in $mpirun_job $srun_job $limit_job $array_job $steps_job $parts_job; do
        within 60 is_over "$job" && continue
        echo "# job $job does not end"
        scancel "$mpirun_job" "$srun_job" "$limit_job" "$array_job" "$steps_job" "$parts_job"
        within 60 is_over "$job"
        clear_nodes
        return 1
    done
}
for try in 1 2 3; do
    enter "ends-$try"
    begin_all
    are_over && break
done

file=rankclock-ending-$mpirun_job.h5
is "$(status "$file")" "COMPLETE (8/8 ranks)" "mpirun: one file of all ranks"
is "$(nodes "$file")" "n1 n1 n2 n2 n3 n3 n4 n4" "mpirun: each rank on its node"
is "$(job_line "$file")" "Job $mpirun_job" \
    "mpirun: the job is known, the launcher's step is not taken for the ranks'"
file=rankclock-ending-$srun_job.h5
is "$(status "$file")" "COMPLETE (8/8 ranks)" "srun: one file of all ranks"
is "$(nodes "$file")" "n1 n1 n2 n2 n3 n3 n4 n4" "srun: each rank on its node"
is "$(job_line "$file")" "Job $srun_job.0" "srun: job and step are known"
is "$(status "limited-$limit_job.h5") $(ls -d limited*.partial 2>/dev/null)" "COMPLETE (4/4 ranks) " \
    "with time to spare time-limit.sbatch does no more than srun.sbatch"
for task in 1 2 3; do
    file=rankclock-ending-${array_job}_$task.h5
    is "$(status "$file") $(job_line "$file")" "COMPLETE (2/2 ranks) Job ${array_job}_$task.0" \
        "array: task $task has a file of its own"
done
is "$(status step.h5) $(status step.2.h5)" "COMPLETE (2/2 ranks) COMPLETE (2/2 ranks)" \
    "two steps at once have a file each"
is "$({ job_line step.h5 && job_line step.2.h5; } | sort | tr '\n' ' ')" \
    "Job $steps_job.0 Job $steps_job.1 " "and are told apart"
is "$(status multi.h5) $(nodes multi.h5)" "COMPLETE (8/8 ranks) n1 n1 n2 n2 n3 n3 n4 n4" \
    "srun --multi-prog: two programs are one run"
is "$(status plain.h5)" "COMPLETE (8/8 ranks)" "mpirun with the library in LD_PRELOAD alone"
is "$(status parts.h5) $(job_line parts.h5)" "COMPLETE (8/8 ranks) Job $parts_job.0" \
    "a heterogeneous job: its parts are one run"

# --- jobs that are cancelled in the middle ---

# cancel SCRIPT: start ranks, cancel their job, collect; said if they are not all in the file.
cancel() {
    enter "cancel-$1-$round"
    submit_busy 8 -N 4 --ntasks-per-node=2 "$scripts/$1.sbatch" busy
    scancel "$job"
    within 60 is_over "$job" || echo "the job does not end"
    collect "$job" whole.h5
    case $made in
    'whole.h5: 8 of 8 ranks, PARTIAL' | 'whole.h5: 8 of 8 ranks, ABORTED') ;;
    *) echo "made: $made $(cat recover.err)" ;;
    esac
    rankclock report whole.h5 >report 2>&1 && grep -q Allreduce report || cat report
}
for launcher in srun mpirun; do
    round=0
    : >"$work/bad-$launcher"
    while [ "$round" -lt "$cancels" ]; do
        round=$((round + 1))
        cancel $launcher >"$work/said"
        sed "s/^/$launcher, job $job: /" "$work/said" >>"$work/bad-$launcher"
    done
    [ ! -s "$work/bad-$launcher" ]
    ok $? "$launcher: of $cancels of $cancels cancelled jobs all that was measured is in a file" \
        "$work/bad-$launcher"
done
left() { # on the nodes
    srun -Q --mpi=none -N 4 -n 4 find /dev/shm -name '*.rkci'
}
is "$(left)" "" "then no image is left on any node"

# --- one that is requeued ---

enter requeued
cat >again.sh <<END
#!/bin/sh
srun --export=ALL,LD_PRELOAD=$library busy \${SLURM_RESTART_COUNT:+20}
END
submit_busy 4 -N 2 --ntasks-per-node=2 --requeue -o again.out again.sh
scontrol requeue "$job"
is_pending() { # and no longer ending
    squeue -h -j "$job" -o %t | grep -q PD
}
within 60 is_pending || echo "# it is not requeued"
sleep 2 # it cannot start again in the second in which its credential was revoked
scontrol update "jobid=$job" StartTime=now
within 60 is_over "$job" || echo "# it does not end"
file=rankclock-busy-$job-r1.h5
is "$(status "$file") $(job_line "$file")" "COMPLETE (4/4 ranks) Job $job.0" \
    "requeue: the second time has a file of its own"
like "$(rankclock report "$file")" 'restart r1' "which tells that it is that"
collect "$job" first.h5
like "$made" '^first.h5: 4 of 4 ranks, \(PARTIAL\|ABORTED\)$' \
    "and what the first had measured is not mixed with it"

# --- those that run short of time ---

enter short
submit_busy 8 -N 4 --ntasks-per-node=2 "$scripts/time-limit.sbatch" busy
scancel --batch --signal=USR1 "$job"
within 60 is_over "$job" || echo "# it does not end"
like "$(status "measured-$job.h5")" '^\(PARTIAL\|ABORTED\) (8/8 ranks)$' \
    "time-limit.sbatch makes a file of all nodes' ranks"
is "$(ls ./*.h5)" "./measured-$job.h5" "one"
if [ "$cancels" -ge 25 ]; then
    enter limit
    submit -t 1 --signal=B:USR1@20 -N 4 --ntasks-per-node=2 "$scripts/time-limit.sbatch" busy
    within 180 is_over "$job" || echo "# it does not end"
    like "$(status "measured-$job.h5")" '^\(PARTIAL\|ABORTED\) (8/8 ranks)$' \
        "so it does when Slurm says that the limit is near"
fi

# --- the epilog, for a user whose ranks are killed ---

enter epilog
chmod 777 .
user=nobody
sed "s|^COMMAND=.*|COMMAND=$work/bin/rankclock|" "$scripts/epilog.sh" >"$work/bin/epilog.sh"
chmod 755 "$work/bin/epilog.sh"
echo "Epilog=$work/bin/epilog.sh" >>"$SLURM_CONF"
scontrol reconfigure
# Task 0: its number is the number of rounds.
submit_busy 8 -N 4 --ntasks-per-node=2 -a 0 --uid=$user "$scripts/array.sbatch" busy
kill_ranks
touch ids
within 60 is_over "$job" || echo "# it does not end"
is "$(ls -d ./*.h5)" "./rankclock-$job.h5
./rankclock-busy-${job}_0.h5" "the epilog makes a file, rankclock run one of its own node's ranks"
like "$(status "rankclock-$job.h5")" '^\(PARTIAL\|ABORTED\) (8/8 ranks)$' \
    "the epilog's has those of all nodes"
is "$(find . -mindepth 1 -uid 0 -newer ids -printf '%p ')" "" "all of it is the user's, nothing root's"
is "$(left)" "" "no image is left on any node"

enter root
submit_busy 2 -N 2 --ntasks-per-node=1 "$scripts/srun.sbatch" busy
kill_ranks
within 60 is_over "$job" || echo "# it does not end"
is "$(ls -d rankclock-[0-9]* 2>/dev/null)" "" "root's own jobs are left alone"

# --- as in a container: a /dev/shm of its own, the node's under another name ---

enter container
mkdir shm
cat >container.sh <<'END'
#!/bin/sh
export RANKCLOCK_SPOOL="$PWD/shm"
exec unshare -m sh -c 'mount --bind /dev/shm shm && mount -t tmpfs none /dev/shm && exec "$@"' sh "$@"
END
chmod +x container.sh
submit_busy 2 -N 2 --ntasks-per-node=1 "$scripts/srun.sbatch" ./container.sh busy
kill_ranks
within 60 is_over "$job" || echo "# it does not end"
collect "$job" whole.h5
like "$made" '^whole.h5: 2 of 2 ranks, \(PARTIAL\|ABORTED\)$' \
    "a container that has the node's /dev/shm leaves the images there"
[ "$tap_failed" -eq 0 ] || tail -n 20 "$work"/*/*.out | sed 's/^/# /'
finish
