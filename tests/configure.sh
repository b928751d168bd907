#!/bin/sh
# LIMIT 180
# What configure is asked for and cannot give is an error that says what would do, never a
# silent loss; and of several MPIs it takes all from the one that CC is of.
set -u
. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# What this build has found is not for those that are tried here.
unset MPIRUN MPIFC MPICXX CXX PYTHON NVCC

# refused PATTERN WHAT ARGUMENT...
refused() {
    pattern=$1 what=$2
    shift 2
    "$top_srcdir/configure" "$@" >out 2>err
    [ $? -ne 0 ] && grep 'error:' err | grep -q -e "$pattern"
    ok $? "$what" err
}

without_mpi="--without-mpi CC=${CC%% *}"
# shellcheck disable=SC2086 # words
{
    refused '--with-hdf5=DIR' "a folder without HDF5" $without_mpi --with-hdf5="$work"
    refused 'CC=mpicc' "a compiler without MPI" CC="${CC%% *}"
    refused 'takes no folder' "a folder for MPI, which its compiler wrapper names" \
        --with-mpi="$work"
    refused '--with-cuda=DIR' "a folder without CUDA" $without_mpi --with-cuda="$work"
    refused 'unrecognized.*--with-rocm' "a part that there is not" --with-rocm
    refused 'unrecognized.*--enable-speed' "an option that there is not" --enable-speed
    refused 'nonsense' "a sanitizer that the compiler has not" $without_mpi \
        --enable-sanitizers=nonsense
}

# --- two MPIs: mpicc is the one's, all other plain names are the other's ---

# taken WHAT: what configure has taken for it, without its folder.
taken() {
    sed -n "s|^checking for the $1 of this MPI\.\.\. .*/||p" out
}

for this in mpich openmpi; do
    other=mpich
    [ $this = mpich ] && other=openmpi
    one=$(command -v mpicc.$this) && two=$(command -v mpicc.$other) || {
        skip 4 "there are no mpicc.mpich and mpicc.openmpi"
        continue
    }
    mkdir -p $this/alternatives $this/bin
    ln -s "$one" $this/alternatives/mpi
    ln -s ../alternatives/mpi $this/bin/mpicc
    for name in mpirun mpiexec mpif90 mpifort mpicxx mpic++; do
        ln -s "${two%/*}/$name.$other" $this/bin/$name
    done
    launcher=mpiexec.mpich
    [ $this = openmpi ] && launcher=mpirun.openmpi
    # It stops once it has found what there is of MPI.
    PATH=$work/$this/bin:$PATH refused '--with-hdf5=DIR' "mpicc links to mpicc.$this" \
        CC=mpicc --with-hdf5="$work"
    is "$(taken launcher)" $launcher "the launcher is that of $this"
    fortran=$(taken 'Fortran compiler') cxx=$(taken 'C++ compiler')
    like "${fortran:-none} ${cxx:-none}" "^\(mpif.*\.$this\|none\) \(mpi.*\.$this\|none\)\$" \
        "so are the compilers"
    if [ -n "$fortran" ]; then
        refused 'MPIFC\|compiles no Fortran' "the other's Fortran compiler" CC="$one" \
            MPIFC="mpif90.$other"
    else
        skip 1 "no Fortran compiler"
    fi
done
finish
