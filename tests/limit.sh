#!/bin/sh
# limit.sh TEST [LAUNCHER [ARGUMENT]...] - run TEST, or LAUNCHER on it, and end it after its limit.
#
# The limit is RKC_TEST_TIMEOUT seconds (300); a test that needs more says so in its source, in a
# line that begins with /* LIMIT 900 */ or # LIMIT 900.

test=$1
shift
case $test in
*.sh) source=$test ;;
*)
    name=${test##*tests/} # it may be in a folder below
    source=$(dirname "$0")/${name%.*}.c
    ;;
esac
limit=${RKC_TEST_TIMEOUT:-120}
own=$(sed -n 's,^\(/\*\|#\) LIMIT \([0-9][0-9]*\).*,\2,p' "$source" | head -n 1)
if [ "${own:-0}" -gt "$limit" ]; then
    limit=$own
fi
case $test in
*.t) export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=1" ;;
esac

# Images of what is killed lie where they are removed with the rest.
RANKCLOCK_SPOOL=$(mktemp -d /dev/shm/rankclock-test.XXXXXX 2>/dev/null) ||
    RANKCLOCK_SPOOL=$(mktemp -d "${TMPDIR:-/tmp}/rankclock-test.XXXXXX") || exit 1
export RANKCLOCK_SPOOL
trap 'rm -rf "$RANKCLOCK_SPOOL"' EXIT
trap 'exit 1' HUP INT TERM

timeout -k 5 "$limit" "$@" "$test"
status=$?
if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    echo "Bail out! not finished after $limit s"
fi
exit "$status"
