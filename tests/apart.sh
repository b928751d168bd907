#!/bin/sh
# LIMIT 60
# Where the code lies: what not every rank runs in mappings of its own, also in a program that has
# nothing to do with MPI, and what a rank that polls runs through in one page from its beginning.
set -u

. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all "the sanitizers' libraries would have to come first"
library=$RKC_LIBDIR/librankclock-mpi.so

polls=$(nm -D --defined-only "$library" |
    sed -n 's/^\([0-9a-f]*\) T MPI_\(Test\|Testany\|Iprobe\)\(@.*\)*$/\1 \2/p' | sort)
like "$polls" '000 Testany$' "a poll's code begins a page"
is "$(echo "$polls" | sed 's/... .*//' | uniq -c | awk '{ print $1 }')" 3 \
    "and that of others lies in the same"

# Executable mappings of a file that the kernel is told to treat apart, by smaps.
apart() {
    awk -v file="$1" '
        /^[0-9a-f]+-/ { ours = index($0, file) && $2 ~ /x/ }
        /^VmFlags:/ && ours && / nh( |$)/ { n++ }
        END { print n + 0 }' smaps
}

if ! nm "$RKC_LIBDIR/librankclock.so" | grep -q rkc_used_end; then
    skip 3 "the linker does not put functions where they are wanted"
elif ! [ -d /sys/kernel/mm/transparent_hugepage ]; then
    skip 3 "this kernel has no huge pages that could be declined"
else
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    cd "$work" || exit 1
    LD_PRELOAD=$library cat /proc/self/smaps >smaps 2>err
    ok $? "a program that has nothing to do with MPI ends well" err
    is "$(apart librankclock.so)" 1 "what is rarely run of librankclock is apart"
    is "$(apart librankclock-mpi.so)" 1 "and of librankclock-mpi"
fi
finish
