#!/bin/sh
# LIMIT 900
# Two builds of the same source in two places install the same files, byte for byte.
set -u

: "${top_srcdir:?} ${top_builddir:?}"
# shellcheck source=tests/tap.sh
. "$top_srcdir/tests/tap.sh"
unset MAKEFLAGS MAKELEVEL
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ln -s "$top_srcdir" "$work/source"

# build_and_install NAME SOURCE EPOCH: in $work/NAME, configured as the build under test is.
build_and_install() {
    mkdir -p "$work/$1" && cd "$work/$1" || return
    root=$work/$1/root source=$2
    export SOURCE_DATE_EPOCH="$3"
    eval "set -- CC='$MPICC' $("$top_builddir/config.status" --config)"
    "$source/configure" "$@" --disable-dependency-tracking >log 2>&1 &&
        make -j 2 install DESTDIR="$root" >>log 2>&1
    status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 20 log
    fi
    return "$status"
}

is "$(build_and_install first "$top_srcdir" 1000000000)" "" "it builds and installs"
is "$(build_and_install the-second "$work/source" 2000000000)" "" \
    "it does in another folder, from a source under another name, at another time"
unlike "$(find "$work/first/root" -name 'librankclock.so')" '^$' "the library is installed"
is "$(diff -r "$work/first/root" "$work/the-second/root" 2>&1)" "" "what is installed is the same"
finish
