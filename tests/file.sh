#!/bin/sh
# A result file as others see it: h5py finds units and descriptions, and numbers that agree with
# each other; the writer answers its one line; the command survives files made to harm it.
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

make_file() {
    "$top_builddir/tests/make_file" "$@"
}

# --- the writer ---

make_file - 4 >stream || bail "cannot make a stream"
is "$("$RKC_COMMAND" write <stream | sed 's/=[0-9][0-9]*/=N/g')" \
    "$(printf 'ok stream.h5\twrite_ns=N fsync_ns=N')" "the writer answers with the name and times"
is "$("$RKC_COMMAND" write <stream | cut -f 1)" "ok stream.2.h5" "a taken name gets a number"
answer=$(head -c 5000 stream | "$RKC_COMMAND" write)
is "$? $answer" "1 error the stream ended before its last frame" "a stream cut short is an error"
answer=$(echo "no stream at all, but long enough" | "$RKC_COMMAND" write)
is "$? $answer" "1 error not a stream of this version of rankclock" "as is anything else"
mkdir sealed && make_file - 4 | sed 's/stream\.h5/no\/fil.h5/' >lost
is "$("$RKC_COMMAND" write <lost | cut -d : -f 2)" " No such file or directory" \
    "a folder that is not there is an error"
is "$(ls -A)" "$(printf 'lost\nsealed\nstream\nstream.2.h5\nstream.h5')" \
    "and no failure leaves a file"

SOURCE_DATE_EPOCH=1700000000 make_file one.h5 5 >made
SOURCE_DATE_EPOCH=1700000000 make_file two.h5 5 >made
cmp one.h5 two.h5 >differ
tap_report $? "two files of one run and one date are the same" <differ

# --- what h5py sees ---

make_file chunked.h5 600 60 >made || bail "cannot make a file"
make_file partial.h5 8 12 6 >made || bail "cannot make a file"
make_file --gpu gpu.h5 5000 >made || bail "cannot make a file"
make_file --gpu - 4 >stream && "$RKC_COMMAND" write <stream | grep -q ^ok ||
    bail "cannot make a file"
mv stream.3.h5 gpu_stream.h5
cat >look.py <<'EOP'
import sys
import h5py
import numpy as np

def look(name):
    file = h5py.File(name, "r")
    bad = []
    def described(path, thing):
        if not thing.attrs.get("description", b"").decode():
            bad.append(path + " has no description")
        if isinstance(thing, h5py.Dataset) and not thing.attrs.get("units", b"").decode():
            bad.append(path + " has no units")
        for attribute in thing.attrs.values():
            if np.asarray(attribute).nbytes >= 4096:
                bad.append(path + " has a large attribute")
        if isinstance(thing, h5py.Dataset) and thing.dtype.kind == "S":
            for text in np.atleast_1d(thing[()]):
                text.decode("utf-8")
    file.visititems(described)
    described("/", file)

    def check(what, holds):
        if not np.all(holds):
            bad.append(what)

    ranks, paths = len(file["ranks/rank"]), len(file["callpaths/parent"])
    tables = ["ranks", "nodes", "regions", "callpaths", "mpi/transfers", "mpi/waits", "mpi/matrix",
              "notes"]
    for table in tables + [table for table in ("devices", "device_use") if table in file]:
        lengths = {len(file[table][column]) for column in file[table]}
        check(table + " has columns of one length", len(lengths) == 1)
    parent = file["callpaths/parent"][:]
    depth = file["callpaths/depth"][:]
    check("parents come first", parent < np.arange(paths))
    check("depth follows", depth[1:] == depth[parent[1:]] + 1)
    check("nodes exist", file["ranks/node"][:] < len(file["nodes/name"]))

    # Metrics of ranks add up to those over ranks.
    for metric in file["per_rank"]:
        rows = file["per_rank"][metric][:]
        stats = file["profile"][metric]
        check(metric + " has a row for each rank", rows.shape == (ranks, paths))
        check(metric + " says what is absent", file["per_rank"][metric].attrs["absent"] == -1)
        there = rows != -1
        n = there.sum(axis=0)
        some = n > 0
        zeros = np.where(there, rows, 0)
        check(metric + " ranks", stats["ranks"][:] == n)
        check(metric + " sum", stats["sum"][:] == np.where(some, zeros.sum(axis=0), -1))
        low = np.where(there, rows, np.iinfo(np.int64).max)
        high = np.where(there, rows, -1)
        check(metric + " min", stats["min"][:] == np.where(some, low.min(axis=0), -1))
        check(metric + " max", stats["max"][:] == high.max(axis=0))
        number = file["ranks/rank"][:]
        check(metric + " min_rank",
              stats["min_rank"][:] == np.where(some, number[low.argmin(axis=0)], -1))
        check(metric + " max_rank",
              stats["max_rank"][:] == np.where(some, number[high.argmax(axis=0)], -1))
        squares = (zeros.astype(float) ** 2).sum(axis=0)
        check(metric + " sumsq", np.isclose(stats["sumsq"][some], squares[some]))
        check(metric + " sumsq is NaN where absent", np.isnan(stats["sumsq"][~some]))

    for metric in file["profile"]:
        ranks_that_have = file["profile"][metric].get("ranks") \
            if isinstance(file["profile"][metric], h5py.Group) else None
        if ranks_that_have is not None:
            check(metric + " is there for a rank that has it", ranks_that_have[:].any())

    # Device time is the ranks' and their devices' alone.
    has_device_time = "device_ns" in file["profile"]
    for name in "devices", "device_use", "ranks/device", "ranks/device_ns":
        check(name + " is there with device time", (name in file) == has_device_time)
    if has_device_time:
        use = {column: file["device_use"][column][:] for column in file["device_use"]}
        number = file["ranks/rank"][:]
        check("devices have nodes", file["devices/node"][:] < len(file["nodes/name"]))
        check("devices are used", np.unique(use["device"]) == np.arange(len(file["devices/node"])))
        check("ranks use devices", np.isin(use["rank"], number))
        check("by their nodes", file["devices/node"][:][use["device"]] ==
              file["ranks/node"][:][np.searchsorted(number, use["rank"])])
        check("what is covered is no more than the sum", use["covered_ns"] <= use["device_ns"])
        of_ranks = np.where(np.isin(number, use["rank"]), 0, -1)
        np.add.at(of_ranks, np.searchsorted(number, use["rank"]), use["device_ns"])
        check("device time of ranks", file["ranks/device_ns"][:] == of_ranks)
        rows = file["per_rank/device_ns"][:]
        check("which is that of their regions", of_ranks ==
              np.where((rows != -1).any(axis=1), np.where(rows == -1, 0, rows).sum(axis=1), -1))
        names = {"GPU-%08x-0000-0000-0000-000000000000" % node
                 for node in range(len(file["nodes/name"]))}
        check("devices have names", {uuid.decode() for uuid in file["devices/uuid"][:]} == names)
        visits = file["profile/device_visits/sum"][:]
        lost = file["profile/device_captured/sum"][:]
        check("visits have device time or a reason", (visits == -1) |
              (visits + np.maximum(lost, 0) == file["profile/visits/sum"][:]))

    # Inclusive time is exclusive time and that of the call paths below.
    def over_ranks(metric):
        values = file["profile"][metric]["sum"][:]
        return np.where(values == -1, 0, values)

    def names_of(name):
        return np.flatnonzero(file["regions/name"][:][file["callpaths/region"][:]] == name.encode())
    below = over_ranks("exclusive_ns")
    for path in range(paths - 1, 0, -1):
        below[parent[path]] += below[path]
    check("inclusive time", below == over_ranks("inclusive_ns"))
    check("useful time", over_ranks("inclusive_ns") ==
          over_ranks("useful_ns") + over_ranks("mpi_ns"))
    check("visits are in the histogram",
          file["profile/histogram"][:].sum(axis=1) == over_ranks("visits"))
    edges = file["profile/histogram_edges_ns"][:]
    check("edges rise", (np.diff(edges) >= 0) & (edges[:-1] < edges[-1]))

    # Whatever memory it lies in, what is moved is what is counted.
    def of_path(table, column):
        sums = np.zeros(paths, dtype=np.int64)
        np.add.at(sums, file[table]["callpath"][:], np.maximum(file[table][column][:], 0))
        return sums
    where = np.unique(file["mpi/transfers/callpath"][:])
    for column, metric in ("calls", "visits"), ("bytes_sent", "bytes_sent"), \
                          ("bytes_received", "bytes_received"), ("ns", "inclusive_ns"), \
                          ("blocked_ns", "blocked_ns"), ("in_flight_ns", "in_flight_ns"):
        check("transfers agree on " + column,
              of_path("mpi/transfers", column)[where] == over_ranks(metric)[where])
    kinds = {(sent.decode(), received.decode()) for sent, received in
             zip(file["mpi/transfers/send_kind"][:], file["mpi/transfers/recv_kind"][:])}
    host = {("none", "host"), ("host", "none"), ("host", "host")}
    device = {("host", "none"), ("device", "none"), ("none", "device"), ("host", "host")}
    check("memory kinds", kinds == (device if has_device_time else host))
    check("devices have a number", (file["mpi/transfers/send_kind"][:] == b"device") ==
          (file["mpi/transfers/send_device"][:] >= 0))

    # The ranks of a communicator wait for the one with the least time.
    waits = {column: file["mpi/waits"][column][:] for column in file["mpi/waits"]}
    where = waits["callpath"]
    for column, stat in ("sum_ns", "sum"), ("least_ns", "min"), ("most_ns", "max"), \
                        ("awaited_rank", "min_rank"), ("ranks", "ranks"):
        check("waits agree on " + column,
              waits[column] == file["profile/inclusive_ns"][stat][:][where])
    whole = waits["ranks"] == waits["comm_size"]
    check("waiting is what is above the least", waits["wait_ns"] == np.where(
        whole, waits["sum_ns"] - waits["ranks"] * waits["least_ns"], -1))
    check("and is known where all ranks are there", whole == (file.attrs["status"] == b"COMPLETE"))

    # The matrix has what ranks sent.
    matrix = {column: file["mpi/matrix"][column][:] for column in file["mpi/matrix"]}
    check("messages come from ranks", np.isin(matrix["source"], file["ranks/rank"][:]))
    check("and go to ranks", (matrix["target"] >= 0) & (matrix["target"] < file["job/ranks"][()]))
    sent = file["per_rank/bytes_sent"][:, names_of("MPI_Isend")].sum(axis=1)
    of_ranks = np.zeros(ranks, dtype=np.int64)
    np.add.at(of_ranks, np.searchsorted(file["ranks/rank"][:], matrix["source"]), matrix["bytes"])
    check("their bytes are those of the calls", of_ranks == sent)
    check("so is their number", matrix["messages"].sum() ==
          over_ranks("visits")[names_of("MPI_Isend")].sum())

    missing = file["missing_ranks"][:]
    check("missing ranks have a pair", missing.shape[1:] == (2,))
    lost = int((missing[:, 1] - missing[:, 0] + 1).sum())
    check("ranks and missing ranks are all", ranks + lost == file["job/ranks"][()])
    complete = file.attrs["status"].decode() == "COMPLETE"
    check("the status tells of missing ranks", complete == (lost == 0))
    return bad

problems = [name + ": " + problem for name in sys.argv[1:] for problem in look(name)]
print("\n".join(problems) or "good")
EOP
if ${PYTHON:-/usr/bin/python3} -c 'import h5py' 2>/dev/null; then
    for file in stream.h5 chunked.h5 partial.h5 gpu.h5 gpu_stream.h5; do
        is "$(${PYTHON:-/usr/bin/python3} look.py $file 2>&1)" good \
            "$file explains itself and its numbers agree"
    done
else
    skip 5 "no h5py"
fi

"$top_builddir/tests/show_file" gpu_stream.h5 >shown
is "$(grep -c -e '^device 1 node001 GPU-00000001-.* 0000:3b:00.0 NVIDIA H200$' \
    -e '^use rank 3 device 1 index 0 covered_ns 780000000 device_ns 780000000$' shown)" 2 \
    "devices travel through the writer"
is "$(grep -c -e '^transfer (run)/step/halo/MPI_Isend device 0 none -1 calls 400 sent 26214400 ' \
    -e '^wait (run)/MPI_Barrier size 4 first 0 ranks 4 calls 1 wait_ns 180000000 awaited 0$' \
    -e '^pair 3 0 messages 100 bytes 6553600$' shown)" 3 "so do transfers, waits and pairs of ranks"

# --- files made to harm ---

for find in "$top_srcdir"/tests/hostile/*.h5.gz; do
    name=$(basename "$find" .gz)
    gzip -dc "$find" >"$name"
    for tool in info report; do
        "$RKC_COMMAND" $tool "$name" >out 2>err
        is "$? $(wc -l <err) $(grep -c "^rankclock: $name[: ]" err) $(wc -c <out)" "2 1 1 0" \
            "$tool $name: one line, which names it, and status 2"
    done
done
mkdir harmed
"$RKC_COMMAND" run -o harmed/run.h5 -- cp crash-read.h5 harmed/run.h5 2>err
is "$(grep -c '^rankclock: .*harmed/run\.h5 is damaged or hostile: reading it ended by signal ' err)" 1 \
    "so does run, which reads what the program has made"
is "$(grep -c '^rankclock: the program left no file; ' err)" 1 "and looks at the other files still"

finish
