#!/bin/sh
# image_live.sh - what others find in a process's image: while it runs, after it was killed, and
# when the folder has no room for it.
#
# RKC_QUICK=1 kills fewer processes.
# LIMIT 240
set -u
. "$top_srcdir/tests/tap.sh"

writer=$top_builddir/tests/apps/image_writer
reader=$top_builddir/tests/image_reader
show_file=$top_builddir/tests/show_file
lives=200 watch_s=3
if [ -n "${RKC_QUICK:-}" ]; then
    lives=20 watch_s=1
fi

unset LD_PRELOAD
for name in $(env | sed -n 's/^\(RANKCLOCK_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/rankclock-live.XXXXXX") || exit 1
spool=$(mktemp -d /dev/shm/rankclock-live.XXXXXX 2>/dev/null) || spool=$work/spool
small=$work/small
child=
leave() {
    [ -n "$child" ] && kill -9 "$child" 2>/dev/null
    umount "$small" 2>/dev/null
    rm -rf "$work" "$spool"
}
trap leave EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$spool" "$small"
export RANKCLOCK_OUTPUT="$work/run.h5" RANKCLOCK_WRITER="$RKC_COMMAND"

start() { # [ARGUMENT]...: the writer in the background; its image is in $image
    "$writer" "$work/notes" "$@" 2>"$work/err" &
    child=$!
    # The program notes each visit.
    for _ in $(seq 300); do
        image=$(ls "$spool"/*.rkci 2>/dev/null) && tr -d '\0' <"$work/notes" | grep -q . && break
        sleep 0.1
    done
}

images() { # that are left in a folder
    find "$1" -name '*.rkci*' | wc -l
}

# --- while it runs ---

export RANKCLOCK_SPOOL="$spool"
start
ls -l "$image" >"$work/out" 2>&1
grep -q '^-rw-------' "$work/out"
ok $? "the spool folder holds the image, for its owner alone" "$work/out"
"$reader" watch "$image" "$watch_s" >"$work/out" 2>&1
ok $? "read while it is written, nothing is torn and no count falls" "$work/out"

# --- after it was killed ---

kill -9 "$child"
wait "$child" 2>/dev/null
child=
"$reader" show "$image" >"$work/out" 2>&1
status=$?
grep -q '^live 0, state 0, threads 2$' "$work/out" || status=1
ok $status "after SIGKILL the image is whole, and nobody's" "$work/out"
"$reader" spoil "$image" "$spool" 400 >"$work/out" 2>&1
ok $? "copies of it cut short or damaged in 400 ways are read without harm" "$work/out"
rm -f "$image"

"$reader" kill "$writer" "$spool" "$lives" >"$work/out" 2>&1
ok $? "$lives processes killed at random: no image has less than they noted, or much more" "$work/out"
rm -f "$spool"/*.rkci

# --- at a proper end ---

"$writer" "$work/notes" 0.2 >"$work/out" 2>&1
status=$?
[ -s "$work/run.h5" ] || status=1
[ "$(images "$spool")" -eq 0 ] || status=1
ok $status "a program that ends leaves a file and no image" "$work/out"

RANKCLOCK_WRITER=/nowhere RANKCLOCK_OUTPUT="$work/kept.h5" "$writer" "$work/notes" 0.1 \
    >"$work/out" 2>&1
status=$?
"$reader" show "$work/kept.h5.partial/pid-"*.rkci >>"$work/out" 2>&1 || status=1
grep -q 'rankclock recover' "$work/out" || status=1
ok $status "without a writer the image is kept, and the message names rankclock recover" "$work/out"

# --- no room ---

others=3000
run_cramped() { # COMMAND, then a run with more regions than there is room for; all must be there
    rm -rf "$work"/run.h5*
    ($1 && exec "$writer" "$work/notes" 0.1 "$others") >"$work/out" 2>&1
    status=$?
    "$show_file" "$work/run.h5" >"$work/shown" 2>>"$work/out" || status=1
    grep '^note' "$work/shown" >>"$work/out" && status=1
    [ "$(grep -c '^path (run)/other [0-9]* .* visits 1 ' "$work/shown")" -eq "$others" ] || status=1
    [ "$(grep -c 'going on in memory' "$work/out")" -eq 1 ] || status=1
    return $status
}

# 512 KiB or 1 MiB is not enough for the image; nor for the file, whose writer lifts the limit.
rule="beyond the file size limit the image goes on in memory, and all is in the file"
printf '#!/bin/sh\nulimit -S -f unlimited\nexec "%s" "$@"\n' "$RKC_COMMAND" >"$work/writer"
chmod +x "$work/writer"
RANKCLOCK_WRITER=$work/writer
run_cramped 'ulimit -S -f 1024'
ok $? "$rule" "$work/out"
RANKCLOCK_WRITER=$RKC_COMMAND

# All but 16 MiB are taken.
rule="in a tmpfs without more room the image goes on in memory, and all is in the file"
if mount -t tmpfs -o size=17m none "$small" 2>/dev/null; then
    RANKCLOCK_SPOOL=$small
    run_cramped true
    ok $? "$rule" "$work/out"
    umount "$small"
else
    skip 1 "cannot mount a tmpfs"
fi

RANKCLOCK_SPOOL=$work/nowhere "$writer" "$work/notes" 0.1 >"$work/out" 2>&1
status=$?
[ "$(grep -c 'recording in memory alone.*nowhere: No such' "$work/out")" -eq 1 ] || status=1
ok $status "with a spool folder that is not there it records in memory and says so" "$work/out"

finish
