#!/bin/sh
# LIMIT 240
# tests/gpu/check itself, on the double: it judges every rule, says that this is no GPU, builds what
# it needs, and tells a driver that is otherwise. What it finds here says nothing of any hardware.
set -u
. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all 'they fork, and end processes by signals'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
check=$top_srcdir/tests/gpu/check
LD_LIBRARY_PATH=$RKC_FAKECUDA/.libs
export LD_LIBRARY_PATH

known=$(sed -n 's/^RULE(\([A-Z0-9]*\),.*/\1/p' "$top_srcdir/tests/gpu/rules.def" | sort)
"$check" -b "$top_builddir" -o all >out 2>err
status=$?
unconfirmed=$(grep -c '^double: refuted' all)
is "$status" "$([ "$unconfirmed" -eq 0 ] && echo 0 || echo 1)" "it ends with 1 if a rule is refuted"
is "$(cat out)" "$(cat all)" "and keeps what it prints"
is "$(grep -c -e 'confirmed ' -e 'refuted ' -e 'not testable ' -e 'measured ' all)" \
    "$(grep -c '^double: ' all)" "each line of which says that it is of the double"
like "$(sed -n 2p all)" 'THIS IS THE TEST DOUBLE OF THE DRIVER, NOT A GPU' "as does its head"
verdict='\(confirmed\|refuted\|not testable\)'
judged=$(sed -n "s/^double: $verdict  *\([A-Z][0-9]*\) .*/\2/p" all | sort)
is "$judged" "$known" "every rule is judged once"
# Those about time may fail on a machine that is busy.
is "$(grep -e '^double: refuted' all | grep -v -e ' [SFPR][0-9]* ' -e ' O2 ' -e ' D7 ')" "" \
    "the double is as rankclock assumes"
is "$(grep -c '^double: not testable' all)" 4 "but for what needs two devices"
like "$(cat all)" '^double: measured .*cuEventRecord, timed: [0-9]* ns' "calls are measured"
like "$(cat all)" '^double: measured .*ratio [0-9.]* ' "and a region against two records"
is "$(sed -n 's/^| \([A-Z][0-9]*\) |.*/\1/p' "$top_srcdir/tests/gpu/RESULTS.md" | sort)" "$known" \
    "RESULTS.md has every rule"

FAKECUDA_DEVICES=2 "$check" -b "$top_builddir" -o two X16 X17 K12 O3 >out 2>err
is "$? $(grep -c '^double: confirmed' two)" "0 4" "with two devices these are tried, too"
FAKECUDA_FAIL=cuStreamIsCapturing:999 "$check" -b "$top_builddir" -o other X8 >out 2>err
is "$?" 1 "a driver that is otherwise is refuted"
like "$(cat other)" '^double: refuted  *X8 .*: 999 ' "with what it did"
FAKECUDA_DEVICES=0 "$check" -b "$top_builddir" -o none >out 2>err
is "$? $(ls none 2>/dev/null)" "77 " "without a device there is nothing to be tried"

CC=$CC CFLAGS=-O0 "$check" -b "$work" -o built D1 R9 >out 2>err
ok $? "it builds the programs where there are none" err
like "$(cat built)" '^rankclock [0-9.]*, built by ' "and says so"
finish
