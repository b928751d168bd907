#!/bin/sh
# mpirun.sh TEST - run an MPI test; its rank 0 prints the TAP.
#
# On four ranks, unless a line of the test's source begins with /* RANKS 2 */.
#
#   prove --exec tests/mpirun.sh build/tests/*.mpi

here=$(dirname "$0")
test=$1
name=${test##*tests/} # it may be in a folder below
if [ -f "${test%"$name"}env.sh" ]; then
    # shellcheck source=tests/env.sh.in
    . "${test%"$name"}env.sh"
fi
if [ -z "${MPIRUN=mpirun}" ]; then
    echo "1..0 # SKIP no MPI launcher found by configure"
    exit 0
fi
source=$here/${name%.*}.c
ranks=$(sed -n 's,^/\* RANKS \([0-9][0-9]*\).*,\1,p' "$source" | head -n 1)
# shellcheck disable=SC2086 # MPIRUN may hold arguments
exec "$here/limit.sh" "$test" $MPIRUN -n "${ranks:-4}"
