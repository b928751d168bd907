#!/bin/sh
# LIMIT 300
# Where images go when the file cannot be written: beside it, else to the working directory, else to
# $TMPDIR, else they stay in the spool; a line says where. Those of other runs are left alone.
set -u

# Folders that are full or read-only are mounts, which nobody else sees and which end with the test.
if [ -z "${RKC_MOUNTS-}" ]; then
    RKC_MOUNTS=no
    for as in -m -rm; do
        unshare $as mount -t tmpfs none /mnt 2>/dev/null || continue
        export RKC_MOUNTS=yes OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        exec unshare $as sh "$0"
    done
fi
. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all "the sanitizers' libraries would have to come first"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
ending=$top_builddir/tests/apps/ending
library=$RKC_LIBDIR/librankclock-mpi.so
mkdir "$work/here" "$work/out" "$work/tmp" "$work/spool"
chmod 700 "$work/spool"
cd "$work/here" || exit 1
"$CC" -shared -fPIC -O1 -o "$work/faults.so" "$top_srcdir/tests/faults.c" -ldl ||
    bail "cannot compile faults.c"

# Two ranks that end well, in some folder, with settings.
measured() { # FOLDER OUTPUT [SETTING=VALUE]...
    folder=$1 output=$2
    shift 2
    (cd "$folder" && start 60 2 LD_PRELOAD="$library" TMPDIR="$work/tmp" RANKCLOCK_OUTPUT="$output" \
        "$@" "$ending" finalize) >"$work/stdout" 2>"$work/stderr"
    is "$? $(grep -c done "$work/stdout")" "0 2" "$what: the program ends well"
}

said() {
    grep '^rankclock:' "$work/stderr"
}

# The images are in a folder, which is named once, and make a whole file.
saved() { # FOLDER [HOST]
    is "$(cd "$1" 2>/dev/null && echo *)" "rank-0.rkci rank-1.rkci" "$what: the images are in $1"
    is "$(said | grep -c "was measured is saved in $1${2:+ on $2}; .* rankclock recover $1 -o FILE")" 1 \
        "$what: which one line names"
    is "$("$RKC_COMMAND" recover "$1" -o "$work/recovered.h5" 2>&1)" \
        "$work/recovered.h5: 2 of 2 ranks" "$what: they are all that was measured"
    rm -rf "$1" "$work/recovered.h5"
}

host=$(uname -n)

what="no such folder"
measured "$work/here" "$work/none/run.h5"
saved "$work/here/run.h5.partial"
like "$(said)" "cannot create $work/none/run.h5: No such file or directory" "$what: that is said"

# shellcheck disable=SC2086 # MPIRUN may hold arguments
timeout 60 "$RKC_COMMAND" run -o "$work/none/run.h5" -- $MPIRUN -n 2 "$ending" finalize >"$work/stdout" \
    2>"$work/stderr"
like "$(cat "$work/stderr")" "^rankclock: wrote run.h5 (2 of 2 ranks) of what was saved of the run" \
    "rankclock run finds them there"
rm -rf "$work/here/run.h5"
rm -rf "$work/here/run.h5.partial"

what="a name for a folder"
measured "$work/here" "$work/out/"
like "$(said)" "not the name of a file" "$what: that is said"
rm -rf "$work"/here/*.partial "$work"/out/*.partial "$work"/out/.partial

what="a long name"
long=$(printf '%0240d' 0)
measured "$work/here" "$work/out/$long-long.h5" RANKCLOCK_WRITER=/bin/false
saved "$work/out/$(printf '%0220d' 0).partial"

# --- folders that refuse ---

# The quota is that of a shim in the ranks and in the writer.
cat >"$work/writer" <<END
#!/bin/sh
LD_PRELOAD=$work/faults.so exec "$RKC_COMMAND" "\$@"
END
chmod +x "$work/writer"
for call in write mkdir open; do
    what="a quota ($call)"
    measured "$work/here" "$work/out/run.h5" LD_PRELOAD="$work/faults.so:$library" \
        FAULTS_FOLDER="$work/out" FAULTS_FAIL="open:122,$call:122" RANKCLOCK_WRITER="$work/writer"
    saved "$work/here/run.h5.partial"
    like "$(said)" "$work/out/run.h5: Disk quota exceeded" "$what: that is said"
    is "$(ls -A "$work/out")" "" "$what: nothing is left there"
done

if [ "$RKC_MOUNTS" = yes ]; then
    mkdir "$work/full" "$work/sealed"
    mount -t tmpfs -o size=256k,mode=755 none "$work/full"
    cat /dev/zero >"$work/full/filler" 2>/dev/null
    mount -t tmpfs -o size=256k,mode=755 none "$work/sealed"
    mount -o remount,ro "$work/sealed"
    trap 'cd /; umount "$work/full" "$work/sealed"; rm -rf "$work" "$start_memory"' EXIT

    what="a full folder"
    measured "$work/here" "$work/full/run.h5"
    saved "$work/here/run.h5.partial"
    like "$(said)" "$work/full/run.h5: No space left on device" "$what: that is said"
    is "$(ls -A "$work/full")" filler "$what: nothing is left there"

    what="a read-only folder"
    measured "$work/here" "$work/sealed/run.h5"
    saved "$work/here/run.h5.partial"
    like "$(said)" "$work/sealed/run.h5: Read-only file system" "$what: that is said"

    what="a full working directory"
    measured "$work/full" run.h5
    saved "$work/tmp/run.h5.partial" "$host"
    is "$(ls -A "$work/full")" filler "$what: nothing is left there"

    what="a full disk, a read-only working directory"
    measured "$work/sealed" "$work/full/run.h5"
    saved "$work/tmp/run.h5.partial" "$host"

    what="nowhere"
    measured "$work/sealed" run.h5 TMPDIR="$work/full" RANKCLOCK_SPOOL=off
    like "$(said)" "and what was measured cannot be saved in $work/sealed/run.h5.partial: Read-only file system" \
        "$what: that is said"
    is "$(said | grep -c 'cannot be saved') $(said | wc -l | tr -d ' ')" "2 3" \
        "$what: once by each rank, and once by the writer"
    is "$(ls -A "$work/full" "$work/sealed")" "$work/full:
filler

$work/sealed:" "$what: and nothing is left"

    what="nowhere but in the spool"
    measured "$work/sealed" run.h5 TMPDIR="$work/full" RANKCLOCK_SPOOL="$work/spool"
    is "$(find "$work/spool" -type f | wc -l | tr -d ' ')" 2 "$what: they stay there"
    find "$work/spool" -type f | while read -r image; do
        said | grep -c "is left in $image on $host; "
    done >"$work/found"
    is "$(sort -u "$work/found") $(said | wc -l | tr -d ' ')" "1 3" \
        "$what: which is said, once by each rank, after the writer's line"
    # shellcheck disable=SC2046 # names without spaces
    is "$("$RKC_COMMAND" recover $(find "$work/spool" -type f) -o "$work/recovered.h5" 2>&1)" \
        "$work/recovered.h5: 2 of 2 ranks" "$what: they are all that was measured"
    rm -f "$work/recovered.h5" "$work"/spool/*
else
    skip 30 "file systems cannot be mounted here"
fi

# --- other runs' images ---

what="images of an earlier run"
measured "$work/here" run.h5 RANKCLOCK_WRITER=/bin/false
what="a second run"
measured "$work/here" run.h5 RANKCLOCK_WRITER=/bin/false
saved "$work/here/run.2.h5.partial"
what="a third run"
rm "$work/here/run.h5.partial/.run" # as where there are no symbolic links
measured "$work/here" run.h5 RANKCLOCK_WRITER=/bin/false
is "$(cd "$work/here" && echo *)" "run.2.h5.partial run.h5.partial" "$what: it has another folder"
rm -rf "$work/here/run.2.h5.partial"
is "$("$RKC_COMMAND" recover "$work/here/run.h5.partial" -o "$work/recovered.h5" 2>&1)" \
    "$work/recovered.h5: 2 of 2 ranks" "the images of the first are as they were"
rm -rf "$work/here/run.h5.partial"

finish
