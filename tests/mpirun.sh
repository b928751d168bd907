#!/bin/sh
# mpirun.sh TEST - run an MPI test; its rank 0 prints the TAP.
#
# On four ranks, unless a line of the test's source begins with /* RANKS 2 */.
#
#   prove --exec tests/mpirun.sh build/tests/*.mpi

here=$(dirname "$0")
test=$1
source=$here/$(basename "${test%.*}").c
ranks=$(sed -n 's,^/\* RANKS \([0-9][0-9]*\).*,\1,p' "$source" | head -n 1)

if [ -z "${MPIRUN=mpirun}" ]; then
    echo "1..0 # SKIP no MPI launcher found by configure"
    exit 0
fi
# Found by Open MPI alone; MPICH neither minds root nor counts cores.
export OMPI_MCA_rmaps_base_oversubscribe="${OMPI_MCA_rmaps_base_oversubscribe-1}"
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# shellcheck disable=SC2086 # MPIRUN may hold arguments
exec "$here/limit.sh" "$test" $MPIRUN -n "${ranks:-4}"
