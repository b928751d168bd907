#!/bin/sh
# LIMIT 1800
# The writer is a process of its own: whatever HDF5, memory allocator or sanitizer the program has, both
# files are right; the program does not notice that process; and where it cannot be started, images
# are left.
set -u

. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all "the sanitizers' libraries would have to come first"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
apps=$top_srcdir/tests/apps
library=$RKC_LIBDIR/librankclock-mpi.so

build() { # COMPILER OUTPUT ARGUMENT...
    build_with=$1 output=$2
    shift 2
    # shellcheck disable=SC2086 # a compiler may hold arguments
    $build_with -g -O1 -o "$output" "$@" >cc.log 2>&1
}

# Two ranks without the library, then with it, which is preloaded behind those in $before and before
# those in $behind: only the file tells the two apart.
before=
behind=
both() { # WHAT SETTING=VALUE... PROGRAM ARGUMENT...
    what=$1
    shift
    rm -rf own*.h5 run.* data-*
    start 60 2 LD_PRELOAD="$before$behind" "$@" >plain 2>plain.err
    plain_status=$?
    rm -rf own*.h5 data-*
    start 60 2 LD_PRELOAD="${before:+$before:}$library${behind:+:$behind}" RANKCLOCK_OUTPUT=run.h5 \
        RANKCLOCK_WRITER="$RKC_COMMAND" "$@" >out 2>err
    status=$?
    is "$status $(sort out)" "$plain_status $(sort plain)" "$what: the program is as it is alone"
    is "$(grep -v -e '^rankclock: wrote ' -e UCX err)" "$(grep -v UCX plain.err)" \
        "$what: nobody complains"
}

# There is one file, of all ranks, with its calls.
written() {
    "$top_builddir/tests/show_file" run.h5 >shown 2>&1
    is "$(echo run.*) $(head -n 1 shown)" "run.h5 file COMPLETE ranks 2" \
        "$what: there is one file, of all ranks"
    like "$(cat shown)" '^path (run)/MPI_Init.*visits 2 ' "$what: in which their calls are"
}

# --- programs with an HDF5 of their own ---

# The program's own file is whole, too: PROGRAMS' output says of each rank what it has read again.
own() { # WHAT SETTING=VALUE... PROGRAM
    both "$@"
    is "$(grep -c 'done' out)" 2 "$what: its own file is right"
    written
}

has_flags() { # KIND: those of an HDF5, by pkg-config, in $flags and $libs; its library in $own_library
    flags=$(pkg-config --cflags "hdf5-$1" 2>/dev/null) &&
        libs=$(pkg-config --libs-only-L "hdf5-$1" 2>/dev/null) || return
    # shellcheck disable=SC2086 # lists of words
    build "$MPICC" "own-$1" $flags "$apps/own_hdf5.c" $libs -lhdf5 || return
    own_library=$(ldd "own-$1" | sed -n 's/.*libhdf5[^ ]* => \([^ ]*\).*/\1/p' | head -n 1)
    [ -n "$own_library" ]
}

for kind in serial "$mpi"; do
    if ! has_flags "$kind"; then
        skip 25 "no hdf5-$kind by pkg-config"
        continue
    fi
    own "$kind HDF5" "./own-$kind"
    is "$(grep -c ', 1 HDF5' out)" 2 "$what: it has no other in its process"
    name=$(basename "$own_library")
    soname=$(readelf -d "$own_library" 2>/dev/null | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    : "${soname:=$name}"

    # As clusters build it: symbols without versions, which a second HDF5 would be bound to.
    mkdir "bare-$kind"
    if ! "$PYTHON" -B "$top_srcdir/tests/elf_edit.py" unversion "$own_library" "bare-$kind/$soname" 2>why
    then
        skip 20 "no copy without symbol versions: $(cat why)"
        continue
    fi
    ln -s "$soname" "bare-$kind/libhdf5.so"
    # shellcheck disable=SC2086 # a list of words
    build "$MPICC" "bare-$kind/own" $flags "$apps/own_hdf5.c" "bare-$kind/$soname" \
        -Wl,-rpath,"$work/bare-$kind" || bail "cannot link with a copy of HDF5: $(cat cc.log)"
    own "$kind HDF5 without versions" "bare-$kind/own"
    own "$kind HDF5 without versions, by LD_LIBRARY_PATH" LD_LIBRARY_PATH="$work/bare-$kind" \
        "bare-$kind/own"

    # One library deeper.
    # shellcheck disable=SC2086 # a list of words
    build "$MPICC" "bare-$kind/libshim.so" -shared -fPIC -DSHIM $flags "$apps/own_hdf5.c" \
        "bare-$kind/$soname" -Wl,-rpath,"$work/bare-$kind" &&
        build "$MPICC" "bare-$kind/deeper" -DUSE_SHIM $flags "$apps/own_hdf5.c" "bare-$kind/libshim.so" \
            -Wl,-rpath,"$work/bare-$kind" -Wl,--allow-shlib-undefined ||
        bail "cannot link a library with a copy of HDF5: $(cat cc.log)"
    own "$kind HDF5 without versions, in a library" "bare-$kind/deeper"

    # Of another SONAME.
    mkdir "other-$kind"
    other=$(printf '%s' "$soname" | sed 's/^libhdf5/libhdfx/')
    "$PYTHON" -B "$top_srcdir/tests/elf_edit.py" rename "bare-$kind/$soname" "other-$kind/$other" "$other" ||
        bail "cannot rename a library"
    # shellcheck disable=SC2086 # a list of words
    build "$MPICC" "other-$kind/own" $flags "$apps/own_hdf5.c" "other-$kind/$other" \
        -Wl,-rpath,"$work/other-$kind" || bail "cannot link with a renamed HDF5: $(cat cc.log)"
    own "$kind HDF5 of another name" "other-$kind/own"
done

# What the program finds by LD_LIBRARY_PATH under the name of the writer's HDF5 may be of another
# version, of which this one has not one function.
mkdir foreign
for name in $(ldd "$RKC_COMMAND" | sed -n 's/.*\(libhdf5[^ ]*\) => .*/\1/p'); do
    echo 'int nothing;' >nothing.c
    build "$CC" "foreign/$name" -shared -fPIC -Wl,-soname,"$name" nothing.c ||
        bail "cannot link a library: $(cat cc.log)"
done
habits=$top_builddir/tests/apps/habits
both "another HDF5 in LD_LIBRARY_PATH" LD_LIBRARY_PATH="$work/foreign" "$habits" none
written

# Python: mpi4py, and a parallel h5py if it is of this MPI.
python=${PYTHON:-/usr/bin/python3}
start 60 2 "$python" "$apps/own_h5py.py" >plain 2>plain.err
if [ "$(sort plain)" = "rank 0 done
rank 1 done" ]; then
    own "mpi4py and h5py" "$python" "$apps/own_h5py.py"
else
    skip 5 "no mpi4py and parallel h5py for this MPI"
fi

# --- allocators and sanitizers ---

find_library() { # NAME: its path, as the compiler finds it
    found=$("$CC" -print-file-name="$1")
    case $found in
    /*) return 0 ;;
    esac
    found=$(ldconfig -p 2>/dev/null | sed -n "s,.* $1 .*=> ,,p; s,^.$1 .*=> ,,p" | head -n 1)
    [ -n "$found" ]
}

allocators() { # NAME...: the first that is there
    for name; do
        find_library "$name" && return 0
    done
    return 1
}

for allocator in 'jemalloc libjemalloc.so.2 libjemalloc.so' \
    'tcmalloc libtcmalloc.so.4 libtcmalloc_minimal.so.4 libtcmalloc.so libtcmalloc_minimal.so'; do
    # shellcheck disable=SC2086 # a list of words
    if ! allocators ${allocator#* }; then
        skip 17 "no ${allocator%% *}"
        continue
    fi
    before=$found
    both "${allocator%% *} preloaded" "$habits" none
    written
    if [ -x own-serial ]; then
        own "${allocator%% *} and an HDF5 of its own" ./own-serial
    else
        skip 5 "no serial HDF5 by pkg-config"
    fi
    before=
    behind=$found
    both "${allocator%% *} preloaded last" "$habits" none
    written
    behind=
    if build "$MPICC" "linked-${allocator%% *}" "$apps/ending.c" "$found" -Wl,--no-as-needed -ldl; then
        both "${allocator%% *} linked" "./linked-${allocator%% *}" finalize
        written
    else
        skip 4 "cannot link with $found"
    fi
done

# MPI itself leaks.
leaks=ASAN_OPTIONS=detect_leaks=0
for compiler in gcc clang; do
    if ! OMPI_CC=$compiler MPICH_CC=$compiler build "$MPICC" "asan-$compiler" -fsanitize=address \
        -fno-omit-frame-pointer "$apps/ending.c" -ldl; then
        skip 11 "no address sanitizer by $compiler"
        continue
    fi
    runtime=$(ldd "asan-$compiler" | sed -n 's/.*libasan[^ ]* => \([^ ]*\).*/\1/p')
    before=$runtime
    both "$compiler's address sanitizer" "$leaks" "./asan-$compiler" finalize
    written
    both "$compiler's address sanitizer, 3000 regions" "$leaks" "./asan-$compiler" names 3000
    written
    before=
    # Linked, as one that cares for the order would be.
    if OMPI_CC=$compiler MPICH_CC=$compiler build "$MPICC" "asan-linked-$compiler" -fsanitize=address \
        "$apps/ending.c" -ldl -L"$RKC_LIBDIR" -Wl,--no-as-needed -lrankclock-mpi -lrankclock \
        -Wl,-rpath,"$RKC_LIBDIR"; then
        rm -rf run.*
        start 60 2 "$leaks" RANKCLOCK_OUTPUT=run.h5 RANKCLOCK_WRITER="$RKC_COMMAND" \
            "./asan-linked-$compiler" finalize >out 2>err
        is "$? $(grep -v '^rankclock: wrote' err)" "0 " "$compiler's address sanitizer, linked: it ends well"
        what="$compiler's address sanitizer, linked"
        written
    else
        skip 3 "cannot link: $(tail -n 1 cc.log)"
    fi
done

# --- programs that look, and some that hinder ---

both "a program that waits for any child" "$habits" wait
written
is "$(sort -u out)" "sum 2, 1 children, 1 signals" "$what: it finds its own alone"
both "stdin, stdout and stderr are data files" "$habits" closed
is "$plain_status $status" "0 0" "$what: which are untouched"
written
both "nobody reads stderr" sh -c '{ { "$0" none; echo "status $?" >&3; } 2>&1 >&3 | exec true; } 3>&1' "$habits"
like "$(cat out)" 'status 0' "$what: the program ends well"
written
for closed in '<&-' '>&-' '<&- >&-' '<&- >&- 2>&-'; do
    both "a program started with $closed" sh -c "exec '$habits' none $closed"
    written
done

refused() { # PATTERN: what is said of it, beside that every rank has left its image
    is "$(cd run.h5.partial 2>/dev/null && echo *)" "rank-0.rkci rank-1.rkci" "$what: images are left"
    like "$(cat err)" "^rankclock: cannot start .*: $1\$" "$what: it is said why"
    is "$("$RKC_COMMAND" recover run.h5.partial -o recovered.h5 2>&1)" "recovered.h5: 2 of 2 ranks" \
        "$what: nothing is lost"
    rm -f recovered.h5
}

hindered() { # WHAT WRITER WAY
    what=$1
    rm -rf run.*
    start 60 2 LD_PRELOAD="$library" RANKCLOCK_OUTPUT=run.h5 RANKCLOCK_WRITER="$2" "$habits" "$3" >out 2>err
    is "$? $(sort -u out)" "0 sum 2, 0 children, 0 signals" "$what: the program ends well"
}

for way in exec:EPERM:'Operation not permitted' process:EAGAIN:'Resource temporarily unavailable'; do
    hindered "no ${way%%:*} any more" "$RKC_COMMAND" "no-${way%%:*}"
    if grep -q 'cannot refuse' out; then
        skip 3 "no seccomp filter here"
    else
        refused "${way##*:}"
    fi
done
echo nonsense >nonsense
hindered "a writer that may not be executed" "$work/nonsense" none
refused 'Permission denied'
chmod +x nonsense
hindered "a writer that is no program" "$work/nonsense" none
refused 'Exec format error'
printf '#!/nowhere/sh\n' >nonsense
hindered "a writer whose interpreter is not there" "$work/nonsense" none
refused 'No such file or directory'
hindered "a writer that is a folder" "$work" none
refused 'Permission denied'
ln -s loop loop
hindered "a writer that is a loop of links" "$work/loop" none
refused 'Too many levels of symbolic links'

finish
