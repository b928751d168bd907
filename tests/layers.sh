#!/bin/sh
# What may include what, and what the built libraries need and show. The layers are those of
# the README: a file includes its own level or below.
set -u
. "$top_srcdir/tests/tap.sh"
cd "$top_srcdir" || exit 1

# check WHAT: passes when nothing was written to $found.
found=$(mktemp) || exit 1
trap 'rm -f "$found"' EXIT
check() {
    [ ! -s "$found" ]
    ok $? "$1" "$found"
    : >"$found"
}

# The level of a file of src/ by its name without folder and ending; public headers are 0.
level() {
    case $1 in
    apart | autoconf | rankclock/* | clock | config | identity | line | log | schema | schema_tables | stats | status | utf8)
        echo 0 ;;
    buffer | calltree | collect* | fold | hot | image | index | local* | numbers | pack* | profile* | spool | thread | view | \
        sink/sink | gpu/*) echo 1 ;;
    await | devices | rank_rows | finish | gather* | gpu_region | link | mark | mpi_blocks | neighbors* | peers | reader* | reduce | region | runtime | save | signals | node_page | sink/* | \
        names | publish | spawn | stream | unstream | pipe | job | hdf5*) echo 2 ;;
    *) echo "? $1" ;;
    esac
}

# Lines "FILE INCLUDED" for includes that are not the system's.
includes() {
    sed -n 's,^#include "\(.*\)",\1,p; s,^#include <\(rankclock/.*\)>,\1,p' "$1"
}

for file in src/*.[ch] src/*/*.[ch]; do
    name=${file#src/}
    own=$(level "${name%.[ch]}")
    case $own in '?'*) echo "$file has no level: add it to tests/layers.sh" >>"$found" ;; esac
    for header in $(includes "$file"); do
        needs=$(level "${header%.h}")
        [ "$needs" -le "$own" ] 2>/dev/null ||
            echo "$file (level $own) includes $header (level $needs)" >>"$found"
    done
done
check "a file of src/ includes its own level or below"

grep -l '<mpi\.h>' src/*.[ch] src/*/*.[ch] tools/*.[ch] include/rankclock/* >>"$found"
check "only pmpi/ sees mpi.h"

grep -l '<hdf5' src/*.[ch] src/*/*.[ch] pmpi/* tools/*.[ch] include/rankclock/* |
    grep -v -e '^src/sink/hdf5' -e '^src/reader' >>"$found"
check "only the HDF5 sink and the reader see hdf5.h"

grep -l '<cuda' src/*.[ch] src/*/*.[ch] pmpi/* tools/*.[ch] include/rankclock/* >>"$found"
check "no header of CUDA is needed"

for file in tools/info.c tools/report*.[ch]; do
    for header in $(includes "$file"); do
        case $header in
        autoconf.h | rankclock/*) ;;
        pmpi/*.def) ;; # the rows alone, which need no header of MPI's
        *) [ -e "tools/$header" ] || echo "$file includes $header" >>"$found" ;;
        esac
    done
done
check "what shows files sees nothing of the library but its public headers"

wc -l $(git ls-files '*.c' '*.h' '*.hpp' 2>/dev/null || ls src/*.[ch] src/*/*.[ch] pmpi/*.[ch] tools/*.[ch]) |
    awk '$2 != "total" && $1 > 600 { print $2, "has", $1, "lines" }' >>"$found"
check "no file has more than 600 lines"

for list in src/librankclock.ld pmpi/librankclock-mpi.ld; do
    for name in $(sed -n 's/^ *\*(\.text\.\([A-Za-z0-9_]*\) .*/\1/p' "$list"); do
        grep -q -w -e "$name" -e "${name#MPI_}" src/*.[ch] src/*/*.[ch] pmpi/*.[ch] pmpi/*.def ||
            echo "$list names $name, which there is not" >>"$found"
    done
done
check "what the linker puts first are functions that there are"

# make takes the log of tests/x.t for that of tests/x.sh, and runs one of them.
sed -n 's,^\ttests/\([a-z0-9_/]*\)\.\(t\|mpi\|sh\)\( .\)*$,\1,p' tests/local.mk | sort | uniq -d |
    sed 's/$/ is the name of several tests/' >>"$found"
check "no two tests have one name"

needed() {
    readelf -d "$RKC_LIBDIR/$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -v -E '^(libc\.so|ld-linux|libpthread\.so|libdl\.so|librt\.so|libasan|libubsan|libm\.so|libgcc_s)'
}

# unwanted LIBRARY ALLOWED-PATTERN
needs_only() {
    [ -e "$RKC_LIBDIR/$1" ] || return 0
    needed "$1" | grep -v -E "$2" | sed "s/^/$1 needs /" >>"$found"
}

needs_only librankclock.so '^$'
check "librankclock needs the C library alone"
needs_only librankclock-mpi.so '^(librankclock\.so|libmpi)'
check "librankclock-mpi needs MPI and librankclock"
for library in librankclock librankclock-mpi; do
    [ ! -e "$RKC_LIBDIR/$library.so" ] ||
        nm -D "$RKC_LIBDIR/$library.so" | grep -E ' [A-Za-z] (H5|cu[A-Z])' >>"$found"
done
check "nothing that is loaded into a program touches HDF5 or CUDA"
if [ -e "$RKC_LIBDIR/librankclock-mpi.so" ]; then
    needed librankclock-mpi.so | grep -q '^libmpi' || echo "libmpi is not needed" >>"$found"
fi
check "librankclock-mpi brings MPI along, for programs that open MPI locally"

nm -D --defined-only "$RKC_LIBDIR/librankclock.so" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' |
    grep -v '^rkc_' >>"$found"
check "librankclock shows nothing but rkc_ names"
readelf -d "$RKC_LIBDIR/librankclock.so" | grep -q 'FLAGS_1.*NODELETE' ||
    echo "librankclock.so may be unloaded" >>"$found"
check "librankclock stays loaded once it is"

finish
