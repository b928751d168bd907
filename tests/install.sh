#!/bin/sh
# LIMIT 300
# What make install puts down works from where it lies: libraries by pkg-config, the command,
# the writer beside the library, the manual pages.
set -u
. "$top_srcdir/tests/tap.sh"
unset MAKEFLAGS MAKELEVEL
command -v pkg-config >/dev/null 2>&1 || skip_all "no pkg-config"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

make -C "$top_builddir" install DESTDIR="$work/root" >"$work/install.log" 2>&1
ok $? "make install" "$work/install.log"
prefix=$(sed -n 's/^prefix = //p' "$top_builddir/Makefile")
root=$work/root$prefix
PKG_CONFIG_PATH=$root/lib/pkgconfig
export PKG_CONFIG_PATH
flags() {
    pkg-config --define-variable=prefix="$root" "$@"
}

cat >"$work/prog.c" <<'PROGRAM'
#include <rankclock/rankclock.h>
int main(void)
{
    for (int i = 0; i < 3; i++) {
        RKC_SCOPE("work");
    }
    return 0;
}
PROGRAM
cd "$work" || exit 1
# shellcheck disable=SC2046 # the flags are words
$CC $(flags --cflags rankclock) prog.c $(flags --libs rankclock) -o prog >cc.log 2>&1
ok $? "a program builds with the flags of rankclock.pc" cc.log
LD_LIBRARY_PATH=$root/lib ./prog >out 2>err
ok $? "it runs with the installed library"
[ -e rankclock-prog.h5 ]
ok $? "whose writer is found beside it"
"$root/bin/rankclock" report rankclock-prog.h5 >report.txt 2>&1 && grep -q '^work' report.txt
ok $? "the installed command reports it"

cat >mpi.c <<'PROGRAM'
#include <mpi.h>
#include <rankclock/rankclock.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    RKC_BEGIN("solve");
    MPI_Barrier(MPI_COMM_WORLD);
    RKC_END("solve");
    return MPI_Finalize();
}
PROGRAM
# shellcheck disable=SC2046
$MPICC $(flags --cflags rankclock-mpi) mpi.c $(flags --libs rankclock-mpi) -o mpi >cc.log 2>&1
ok $? "an MPI program builds with the flags of rankclock-mpi.pc" cc.log
LD_LIBRARY_PATH=$root/lib timeout 60 $MPIRUN -n 2 ./mpi >out 2>err && [ -e rankclock-mpi.h5 ]
ok $? "linked, not preloaded, it writes its file" err
# shellcheck disable=SC2086 # MPIRUN may hold arguments
timeout 60 "$root/bin/rankclock" run -o run.h5 -- $MPIRUN -n 2 "$top_builddir/tests/apps/heat" \
    -n 100 -s 50 >out 2>err && [ -e run.h5 ]
ok $? "the installed command finds the library to preload, and that its writer" err

for page in man1/rankclock.1 man3/rankclock.3 man7/rankclock.7; do
    [ -e "$root/share/man/$page" ]
    ok $? "$page is installed"
done
for header in rankclock.h region.h status.h reader.h rankclock.hpp; do
    [ -e "$root/include/rankclock/$header" ]
    ok $? "$header is installed"
done
documents=$root/share/doc/rankclock/slurm
for script in "$top_srcdir"/tools/slurm/*; do
    cmp -s "$script" "$documents/${script##*/}"
    ok $? "slurm/${script##*/} is installed"
done
if command -v shellcheck >/dev/null 2>&1; then
    shellcheck "$documents"/* >shellcheck.log 2>&1
    ok $? "shellcheck has nothing against these" shellcheck.log
else
    skip 1 "no shellcheck"
fi
make -C "$top_builddir" uninstall DESTDIR="$work/root" >"$work/uninstall.log" 2>&1
left=$(find "$work/root" -type f)
[ -z "$left" ]
ok $? "make uninstall leaves no file behind"
finish
