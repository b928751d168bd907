#!/bin/sh
# All of this build is of one MPI, that of its compiler: the library, the programs of the tests, those
# of the Fortran and C++ compilers, and the launcher, whichever others the machine has.
set -u
. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1

# The file of the MPI that the loader finds for each of the files; nothing for those without MPI.
mpi_of() {
    for file; do
        ldd "$file" 2>/dev/null
    done | sed -n 's/^[[:space:]]*libmpi\(ch\)\{0,1\}\.so[^ ]* => \([^ ]*\).*/\2/p'
}

cat >who.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(text, &length);
    for (int i = 0; i < length; i++)
        if (text[i] == '\n' || text[i] == '\t')
            text[i] = ' ';
    printf("%d ranks of %s\n", size, text);
    return MPI_Finalize();
}
END
cp who.c who.cc
cat >who.f90 <<'END'
use mpi
integer :: error
call MPI_Init(error)
call MPI_Finalize(error)
end
END

# shellcheck disable=SC2086 # a compiler with flags
$MPICC -o who who.c >log 2>&1 || bail "$MPICC cannot build a program: $(cat log)"
want=$(mpi_of who)
like "$want" '^/.*libmpi.*\.so' "programs of $MPICC have an MPI"
is "$(mpi_of "$RKC_LIBDIR/librankclock-mpi.so")" "$want" "which is the library's, too"
mpi_of "$top_builddir"/tests/*.mpi "$top_builddir"/tests/apps/* "$top_builddir"/tests/cases/* >found
is "$(sort -u found)" "$want" "and that of all programs of the tests"
[ "$(wc -l <found)" -gt 40 ]
ok $? "of which there are many" found
for language in "Fortran:${MPIFC:-}:f90" "C++:${MPICXX:-}:cc"; do
    compiler=${language#*:} name=${language%%:*}
    if [ -n "${compiler%:*}" ]; then
        ${compiler%:*} -o who-other "who.${compiler##*:}" >log 2>&1
        is "$(mpi_of who-other)" "$want" "and that of the programs that ${compiler%:*} makes"
    else
        skip 1 "no $name compiler of this MPI"
    fi
done

start 60 2 ./who >out 2>err
is "$(cut -d ' ' -f 1-2 out)" "2 ranks
2 ranks" "its launcher starts ranks that know of each other"
version=$(sed -n '1s/^[^0-9]*[0-9]* ranks of [^0-9]*\([0-9][0-9.]*\).*/\1/p' out)
like "$($MPIRUN --version 2>&1)" "$version" "and is of the same version, $version"
like "$(tail -n 1 out)" "ranks of $(sed -n 's/^#define RKC_MPI_LIBRARY "\(.*\)"/\1/p' \
    "$top_builddir/autoconf.h")" "which is that which configure has found"

# Tests compare what a job ends with: the launcher's own faults are not to be among it.
cat >crashing <<'END'
#!/bin/sh
echo 'with errorcode 7.' >&2
echo '[vm:06768] *** Process received signal ***
[vm:06768] Signal: Segmentation fault (11)
[vm:06768] [ 1] /lib/x86_64-linux-gnu/libpmix.so.2(PMIx_server_finalize+0xb08)[0x7f060147d118]
[vm:06768] *** End of error message ***' >&2
kill -SEGV $$
END
chmod +x crashing
(MPIRUN=$work/crashing && start 60 2 ./who >out 2>err)
is "$? $(cat err)" "7 with errorcode 7." "where it crashes at its end the job has the status it had"

# The library makes a file with it, which names it.
start 60 2 LD_PRELOAD="$RKC_LIBDIR/librankclock-mpi.so" RANKCLOCK_OUTPUT=run.h5 \
    RANKCLOCK_WRITER="$RKC_COMMAND" ./who >out 2>err
if [ -x "$RKC_COMMAND" ]; then
    like "$("$RKC_COMMAND" info run.h5 2>&1)" " mpi_library  *[^ ].*[ v]$version" \
        "the file of a run with it names it"
    "$RKC_COMMAND" report run.h5 >report 2>&1
    like "$(sed -n 3p report)" "^[^?]*[ v]$version" "as its report does"
else
    skip 2 "no rankclock command"
fi
finish
