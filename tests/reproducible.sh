#!/bin/sh
# LIMIT 1800
# Two builds of the same source in two places install the same files, byte for byte: this build, and one
# in another folder, from a source under another name, at another time.
set -u

: "${top_srcdir:?} ${top_builddir:?}"
# shellcheck source=tests/tap.sh
. "$top_srcdir/tests/tap.sh"
unset MAKEFLAGS MAKELEVEL
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ln -s "$top_srcdir" "$work/source"

# install_it FOLDER ROOT: make what is missing in a build, and install it.
install_it() {
    make -j 2 -C "$1" install DESTDIR="$2" >"$work/log" 2>&1
    status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 20 "$work/log"
    fi
    return "$status"
}

# Configured as this build is.
build_again() {
    mkdir -p "$work/again" && cd "$work/again" || return
    export SOURCE_DATE_EPOCH=2000000000
    eval "set -- CC='$MPICC' $("$top_builddir/config.status" --config)"
    "$work/source/configure" "$@" --disable-dependency-tracking >configure.log 2>&1 || {
        tail -n 20 configure.log
        return 1
    }
    install_it . "$work/again.root"
}

is "$(install_it "$top_builddir" "$work/first.root")" "" "this build installs"
is "$(build_again)" "" "and it builds and installs elsewhere"
unlike "$(find "$work/first.root" -name 'librankclock.so')" '^$' "the library is installed"
is "$(diff -r "$work/first.root" "$work/again.root" 2>&1)" "" "what is installed is the same"
finish
