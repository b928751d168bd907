#!/bin/sh
# coverage.sh - every function that mpi.h declares is wrapped, or named with the reason why not.
#
# Reads the header as the compiler does and the built library, not our tables.

library=${RKC_LIBDIR:?}/librankclock-mpi.so
reasons=${top_srcdir:?}/pmpi/unwrapped.txt
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT

n=0
report()
{
    n=$((n + 1))
    echo "$1 $n - $2"
}

# The first name of MPI's that a parenthesis follows, statement by statement.
echo '#include <mpi.h>' >"$folder/header.c"
if ! $MPICC -E -P "$folder/header.c" >"$folder/header"; then
    echo "Bail out! $MPICC cannot read mpi.h"
    exit 1
fi
tr '\n;' ' \n' <"$folder/header" | awk '
    /^ *typedef/ { next }
    match($0, /[ *]MPI_[A-Z][A-Za-z0-9_]* *\(/) {
        name = substr($0, RSTART + 1, RLENGTH - 2)
        gsub(/ /, "", name)
        print name
    }' | sort -u >"$folder/declared"
nm -D --defined-only "$library" | awk '$3 ~ /^MPI_/ { sub(/@.*/, "", $3); print $3 }' |
    sort -u >"$folder/wrapped"
awk '!/^#/ && NF {print $1}' "$reasons" >"$folder/patterns"
grep -xEf "$folder/patterns" "$folder/declared" >"$folder/excused"
grep -vxEf "$folder/patterns" "$folder/declared" >"$folder/wanted"

# Any MPI since 3.0 has these and more.
if [ "$(grep -cxE 'MPI_(Send|Waitall|Iallreduce|Comm_split|Win_fence|File_open|Type_size_x)' \
    "$folder/wanted")" -eq 7 ] && [ "$(wc -l <"$folder/wanted")" -gt 300 ]; then
    report ok "mpi.h was understood"
else
    report "not ok" "mpi.h was understood"
fi

while read -r name; do
    if grep -qx "$name" "$folder/wrapped"; then
        report ok "$name is wrapped"
    else
        report "not ok" "$name is wrapped"
    fi
done <"$folder/wanted"

while read -r name; do
    if grep -qx "$name" "$folder/wrapped"; then
        report "not ok" "$name has a reason not to be wrapped, and is not"
    fi
done <"$folder/excused"

while read -r pattern reason; do
    case $pattern in
    '' | '#'*) continue ;;
    esac
    if [ -n "$reason" ]; then
        report ok "$pattern is not wrapped: $reason"
    else
        report "not ok" "$pattern is not wrapped for a reason"
    fi
done <"$reasons"
echo "1..$n"
