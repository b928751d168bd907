#!/bin/sh
# For administrators: an epilog that keeps what the killed ranks of measured programs have left in
# /dev/shm. Set COMMAND, and in slurm.conf: Epilog=/etc/slurm/epilog.d/rankclock.sh
#
# slurmd runs it as root on each node when a job has ended. Everything is done as the job's user, to
# whom the images belong: root would trust what a user made. On each node the images go to
# rankclock-JOB.partial in the folder that the job was submitted from; the node on which those of all
# ranks are together makes rankclock-JOB.h5 of them. Where no rank was killed nothing is done.
#
# It ends within two minutes and always with status 0, for an epilog that fails drains the node. In
# jobs of thousands of nodes each of them reads what all have left: set RECOVER=no there, and leave
# "rankclock recover FOLDER" to the user.

COMMAND=/usr/local/bin/rankclock
RECOVER=yes

PATH=/usr/sbin:/usr/bin:/sbin:/bin # slurmd gives none
export PATH
[ -n "${SLURM_JOB_USER:-}" ] && [ "${SLURM_JOB_UID:-0}" -ne 0 ] || exit 0
[ -n "${SLURM_JOB_ID:-}" ] && [ -n "${SLURM_JOB_WORK_DIR:-}" ] || exit 0

# The parts of a heterogeneous job have numbers of their own beside that of the whole.
timeout -k 5 110 runuser -u "$SLURM_JOB_USER" -- env -i PATH="$PATH" \
    sh -s "$COMMAND" "$RECOVER" "$SLURM_JOB_WORK_DIR" "${SLURM_HET_JOB_ID:-$SLURM_JOB_ID}" \
    "$SLURM_JOB_ID" <<'AS_USER'
command=$1 recover=$2 job=$4 own=$5
umask 077
cd "$3" && [ -x "$command" ] || exit
folder=rankclock-$job.partial
"$command" gather --move --job "$job" "$folder"
[ "$own" = "$job" ] || "$command" gather --move --job "$own" "$folder"
[ "$recover" = yes ] && [ -d "$folder" ] || exit

# Of each run whose images are all there the file is made once. Those of the job's first node may be in
# a folder that rankclock run has made.
images() {
    "$command" recover --list "$@" | awk '{ split($2, n, "/"); print $1, n[1], n[2] }'
}
images "$folder" | while read -r run _; do
    images ./*.partial | awk -v run="$run" '$1 == run && $2 >= $3 && $3 > 0 { all = 1 }
        END { exit !all }' &&
        mkdir "$folder/.made-$(printf %s "$run" | tr -c A-Za-z0-9._- _)" 2>/dev/null &&
        "$command" recover --run "$run" -o "rankclock-$job.h5" ./*.partial
done
AS_USER
exit 0
