#!/bin/sh
# LIMIT 180
# What configure is asked for and cannot give is an error that says what would do, never a
# silent loss.
set -u
. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# refused PATTERN WHAT ARGUMENT...
refused() {
    pattern=$1 what=$2
    shift 2
    "$top_srcdir/configure" "$@" >out 2>err
    [ $? -ne 0 ] && grep 'error:' err | grep -q -e "$pattern"
    ok $? "$what" err
}

refused '--with-hdf5=DIR' "a folder without HDF5" CC="$MPICC" --with-hdf5="$work"
refused 'CC=mpicc' "a compiler without MPI" CC="$CC"
refused 'takes no folder' "a folder for MPI, which its compiler wrapper names" --with-mpi="$work"
refused '--with-cuda=DIR' "a folder without CUDA" CC="$MPICC" --with-cuda="$work"
refused 'unrecognized.*--with-rocm' "a part that there is not" --with-rocm
refused 'unrecognized.*--enable-speed' "an option that there is not" --enable-speed
refused 'nonsense' "a sanitizer that the compiler has not" CC="$MPICC" --enable-sanitizers=nonsense
finish
