#!/bin/sh
# LIMIT 180
# 64 ranks on whatever cores there are finish and are reported.
set -u
. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1

# shellcheck disable=SC2086 # MPIRUN may hold arguments
"$RKC_COMMAND" run -o many.h5 -- $MPIRUN -n 64 "$top_builddir/tests/apps/heat" -n 256 -s 20 \
    >out 2>err
ok $? "64 ranks of the heat equation finish" err
[ -e many.h5 ]
ok $? "and write their file" err
"$RKC_COMMAND" report many.h5 >report.txt 2>&1
ok $? "which is reported" report.txt
like "$(head -n 1 report.txt)" 'COMPLETE (64/64 ranks)' "with all ranks"
is "$(awk 'length > 100' report.txt)" "" "in 100 columns"
is "$(awk 'END { print (NR <= 40) }' report.txt)" 1 "and 40 lines"
finish
