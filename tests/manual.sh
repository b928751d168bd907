#!/bin/sh
# The manual pages are whole: every public function, every subcommand, every variable.
set -u

. "$top_srcdir/tests/tap.sh"
man=$top_srcdir/tools/man
include=$top_srcdir/include/rankclock
rules=$(mktemp) && manual=$(mktemp) || exit 1
trap 'rm -f "$rules" "$manual"' EXIT

listed=$(sed -e '1,/printed by `rankclock config --man`\.$/d' "$man/rankclock.7" |
    sed -e 1d -e '/^\.El$/,$d')
is "$listed" "$("$RKC_COMMAND" config --man)" \
    "rankclock(7) has the variables as rankclock config --man prints them"
for header in region gpu status reader; do
    # Declarations, some of which go on for several lines.
    functions=$(tr '\n' ' ' <"$include/$header.h" |
        grep -oE 'RKC_API [a-z][^;(#]*[ *]rkc_[a-z_0-9]*\(' |
        sed -E 's/.*[ *](rkc_[a-z_0-9]*)\($/\1/')
    missing=$(for name in $functions; do
        grep -q "^\.Fn $name " "$man/rankclock.3" || echo "$name"
    done)
    is "$missing" "" "rankclock(3) has every function of $header.h"
    like "$functions" '^rkc_' "of which there are some"
done
for name in $("$RKC_COMMAND" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    is "$(grep -c "^\.Ss $name$" "$man/rankclock.1")" 1 "rankclock(1) has the subcommand $name"
done
# Rules as lines "NAME text", however they are broken.
"$RKC_COMMAND" report --explain | sed -e '1,/^RULES/d' | tr '\n' ' ' |
    sed -e 's/   *\([VW][0-9][0-9]*\)  */\n\1 /g' -e 's/  */ /g' | sed -e 1d -e 's/ *$//' >"$rules"
sed -e '1,/^The verdict is the first/d' -e '/^\.El/,$d' "$man/rankclock.1" |
    sed -e 's/^\.It /@/' | tr '\n@' ' \n' | sed -e 1d -e 's/  */ /g' -e 's/ *$//' >"$manual"
is "$(cat "$manual")" "$(cat "$rules")" "rankclock(1) has the rules as rankclock report --explain prints them"
like "$(wc -l <"$rules")" '^ *2[0-9]$' "of which there are some"
if command -v mandoc >/dev/null; then
    for page in rankclock.1 rankclock.3 rankclock.7; do
        # Pages of other packages need not be installed.
        is "$(mandoc -T lint "$man/$page" 2>/dev/null | grep -v 'referenced manual not found')" "" \
            "mandoc finds nothing in $page"
    done
else
    skip 3 "no mandoc"
fi
finish
