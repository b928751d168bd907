#!/bin/sh
# Lists the functions of a library that a run went through, as its linker script has them:
#
#   used.sh CALLGRIND-OUTPUT LIBRARY.so
#
# The output is that of one rank that does not write the file, of
#   valgrind --tool=callgrind --compress-strings=no tests/bench/life_bench
# with librankclock-mpi preloaded and the ranks of `make bench`.
if [ $# -ne 2 ]; then
    echo 'usage: used.sh CALLGRIND-OUTPUT LIBRARY.so' >&2
    exit 2
fi
{
    nm "$2" | awk '$2 ~ /^[tT]$/ { print "has", $3 }'
    sed -n 's/^c\{0,1\}fn=\([^ ]*\).*/ran \1/p' "$1"
} | sed "s/[.'].*//" | sort -u | LC_ALL=C sort -k 2 | awk '
    $1 == "has" { has = $2 }
    $1 == "ran" && $2 == has && has !~ /^_/ { printf "    *(.text.%s .text.%s.*)\n", has, has }'
