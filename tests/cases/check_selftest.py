"""Show that check.py passes a right file and fails on each thing that is wrong.

The file is made by hand: two ranks, call paths (run), MPI_Init, step, step/MPI_Send and, on
rank 1 alone, step/MPI_Irecv and step/odd. Rank 0 sends 3 times 40 bytes to rank 1.
"""

import os
import tempfile

import h5py
import numpy

ROOT, INIT, STEP, SEND, IRECV, ODD = range(6)
NONE = -1
PARENTS = [-1, ROOT, ROOT, STEP, STEP, STEP]
NAMES = ["(run)", "MPI_Init", "step", "MPI_Send", "MPI_Irecv", "odd"]
KINDS = ["root", "mpi", "user", "mpi", "mpi", "user"]
ROWS = {
    "visits": [[1, 1, 2, 3, NONE, NONE], [1, 1, 2, 0, 3, 1]],
    "inclusive_ns": [[900, 100, 500, 60, NONE, NONE], [950, 110, 520, 0, 30, 7]],
    "exclusive_ns": [[300, 100, 440, 60, NONE, NONE], [320, 110, 490, 0, 30, 7]],
    "visit_min_ns": [[900, 100, 240, 10, NONE, NONE], [950, 110, 250, 0, 9, 7]],
    "visit_max_ns": [[900, 100, 260, 30, NONE, NONE], [950, 110, 270, 0, 11, 7]],
    "unclosed": [[0, 0, 0, 0, NONE, NONE], [0, 0, 0, 0, 0, 1]],
    "bytes_sent": [[0, 0, 0, 120, NONE, NONE], [0, 0, 0, 0, 0, 0]],
    "bytes_received": [[0, 0, 0, 0, NONE, NONE], [0, 0, 0, 0, 120, 0]],
}

RIGHT = """
EXPECT 0 MPI_Send calls=3 out=120 in=0
EXPECT 1 MPI_Send calls=0
EXPECT 1 MPI_Irecv calls>=1 out=0 in=100..130
EXPECT * MPI_Init calls=1
EXPECT all MPI_Init calls=2
EXPECT * MPI_Barrier calls=0
TOTAL 0 out=120 in=0
TOTAL all out=120 in=120
REGION * step visits=2 unclosed=0 parent=(run) inclusive<=wall
REGION 1 odd visits=1 unclosed=1 parent=step
REGION 0 odd visits=0
REGION all step visits=4 ranks=2
REGION all odd visits=1 ranks=1
REGION * x{255} visits=0
REGION * MPI_Send visits=0
VISITS 0 user=2
VISITS 1 user=3
NOTES unclosed region=odd count=1
NOTES unclosed
NOTES depth count=0
CALLPATHS 6
CALLPATHS <=6
STATUS COMPLETE
FILES 1
IMAGES 0
STDERR 1
"""

WRONG = """
EXPECT 0 MPI_Send calls=2
EXPECT 0 MPI_Send calls=4
EXPECT 0 MPI_Send calls>=4
EXPECT 0 MPI_Send calls<=2
EXPECT 0 MPI_Send calls=4..9
EXPECT 0 MPI_Send calls=3 out=119
EXPECT 0 MPI_Send calls=3 in=1
EXPECT * MPI_Send calls=3
EXPECT 0,1 MPI_Send calls=3
EXPECT all MPI_Send calls=6
EXPECT 1 MPI_Irecv in=0
EXPECT 0 MPI_Irecv calls=3
EXPECT 2 MPI_Init calls=1
EXPECT * MPI_Barrier calls>=1
EXPECT * step calls=2
EXPECT 0 MPI_Send cals=3
EXPECT x MPI_Send calls=3
EXPECT 0 MPI_Send calls=three
EXPECT MPI_Send calls=3
EXPECTED 0 MPI_Send calls=3
TOTAL 0 out=119
TOTAL 1 in=0
TOTAL * out=120
REGION * step visits=3
REGION 1 odd unclosed=0
REGION 1 odd visits=1 parent=(run)
REGION * odd visits=1
REGION all odd ranks=2
REGION * missing visits=1
REGION * MPI_Send visits=3
VISITS 0 user=3
NOTES unclosed count=2
NOTES unclosed region=step
NOTES depth
CALLPATHS 5
CALLPATHS <=5
STATUS PARTIAL
FILES 0
FILES 2
IMAGES 1
STDERR 0
STDERR 2..9
WORLD ranks=3
"""


def describe(item):
    item.attrs["description"] = "made by hand"
    if isinstance(item, h5py.Dataset):
        item.attrs["units"] = "1"


def put(group, name, values):
    if isinstance(values, list) and values and isinstance(values[0], str):
        length = max(len(value.encode()) for value in values)
        values = numpy.array([value.encode() for value in values],
                             dtype=h5py.string_dtype("utf-8", length))
    describe(group.create_dataset(name, data=values))


def put_columns(file, name, columns):
    group = file.create_group(name)
    for key, values in columns.items():
        put(group, key, values)


def put_metric(file, key, rows):
    rows = numpy.array(rows, dtype=numpy.int64)
    have = rows != NONE
    least = numpy.where(have, rows, 1 << 60)
    put_columns(file, f"profile/{key}", {
        "sum": numpy.where(have, rows, 0).sum(axis=0), "min": least.min(axis=0),
        "max": rows.max(axis=0), "sumsq": numpy.where(have, rows * 1.0, 0.0).__pow__(2).sum(axis=0),
        "min_rank": least.argmin(axis=0), "max_rank": rows.argmax(axis=0),
        "ranks": have.sum(axis=0)})
    put(file, f"per_rank/{key}", rows)


def write_sample(path):
    integers = numpy.zeros((0, 2), dtype=numpy.int64)
    with h5py.File(path, "w") as file:
        file.attrs.update({"rankclock_schema": "1.0", "writer": "rankclock 0.1.0",
                           "status": "COMPLETE", "created": "2024-01-31T12:00:00Z"})
        put_columns(file, "job", {"per_rank_rows": numpy.bytes_("all")})
        put_columns(file, "ranks", {"rank": [0, 1], "wall_ns": [1000, 1000],
                                    "state": ["finalized", "finalized"]})
        put(file, "missing_ranks", integers)
        put_columns(file, "regions", {"name": NAMES, "kind": KINDS})
        put_columns(file, "callpaths", {"parent": PARENTS, "region": list(range(6)),
                                        "depth": [0, 1, 1, 2, 2, 2]})
        for key, rows in ROWS.items():
            put_metric(file, key, rows)
        put_columns(file, "mpi/transfers", {"callpath": [SEND, IRECV], "bytes_sent": [120, 0],
                                            "bytes_received": [0, 120]})
        put_columns(file, "notes", {"kind": ["unclosed"], "region": ["odd"], "rank": [1],
                                    "count": [1], "text": ["one region was open at the end"]})
        for name in ("profile", "per_rank", "mpi"):
            describe(file[name])
        file.visititems(lambda _, item: describe(item))


def set_value(file, name, index, value):
    file[name][index] = value


def remove(file, name):
    del file[name]


DAMAGES = {
    "no units": lambda file: file["ranks/rank"].attrs.pop("units"),
    "no description": lambda file: file["mpi"].attrs.pop("description"),
    "another schema": lambda file: file.attrs.modify("rankclock_schema", "2.0"),
    "no date": lambda file: file.attrs.pop("created"),
    "a rank that still runs": lambda file: set_value(file, "ranks/state", 1, b"running"),
    "an unknown state": lambda file: set_value(file, "ranks/state", 1, b"asleep"),
    "a rank twice": lambda file: set_value(file, "ranks/rank", 1, 0),
    "a parent after its child": lambda file: set_value(file, "callpaths/parent", STEP, SEND),
    "a wrong depth": lambda file: set_value(file, "callpaths/depth", SEND, 1),
    "a root of another name": lambda file: set_value(file, "regions/name", ROOT, b"(x)"),
    "an unknown kind": lambda file: set_value(file, "regions/kind", INIT, b"mip"),
    "a call path twice": lambda file: set_value(file, "callpaths/region", ODD, SEND),
    "a wrong sum": lambda file: set_value(file, "profile/visits/sum", STEP, 5),
    "a wrong minimum": lambda file: set_value(file, "profile/inclusive_ns/min", STEP, 0),
    "a wrong maximum": lambda file: set_value(file, "profile/inclusive_ns/max", STEP, 501),
    "a wrong square": lambda file: set_value(file, "profile/inclusive_ns/sumsq", STEP, 1.0),
    "a wrong rank of the minimum": lambda file: set_value(file, "profile/visits/min_rank", SEND, 0),
    "a wrong rank of the maximum": lambda file: set_value(file, "profile/visits/max_rank", SEND, 1),
    "a wrong number of ranks": lambda file: set_value(file, "profile/visits/ranks", ODD, 2),
    "unclosed above visits": lambda file: set_value(file, "per_rank/unclosed", (1, ODD), 2),
    "unclosed in one place": lambda file: remove(file, "per_rank/unclosed"),
    "nothing unclosed": lambda file: set_value(file, "per_rank/unclosed", slice(None), -1),
    "no reduced metric": lambda file: remove(file, "profile/bytes_sent"),
    "no part of a metric": lambda file: remove(file, "profile/visits/max"),
    "no visits": lambda file: remove(file, "per_rank/visits"),
    "no notes": lambda file: remove(file, "notes"),
    "a region longer than the run": lambda file: set_value(file, "ranks/wall_ns", 1, 519),
    "a transfer too large": lambda file: set_value(file, "mpi/transfers/bytes_sent", 0, 121),
    "a transfer elsewhere": lambda file: set_value(file, "mpi/transfers/callpath", 0, STEP),
}


class Stage:
    """A folder with a file, a header and a stderr, to be checked again and again."""

    def __init__(self, base, check_run):
        self.check_run = check_run
        self.header = os.path.join(base, "case.c")
        self.stderr = os.path.join(base, "stderr")
        self.folder = os.path.join(base, "out")
        self.file = os.path.join(self.folder, "run.h5")
        os.mkdir(self.folder)
        with open(self.stderr, "w", encoding="utf-8") as text:
            text.write("something else\nrankclock: a word\n")
        write_sample(self.file)

    def complaints(self, lines, *recovered, mpi=None):
        with open(self.header, "w", encoding="utf-8") as text:
            text.write("/* A case.\n" + "".join(f" * {line}\n" for line in lines) + " */\n")
        try:
            return self.check_run(self.header, self.folder, self.stderr, *recovered, mpi=mpi)
        except Exception as error:
            if type(error).__name__ != "BadLine":
                raise
            return [str(error)]

    def damaged_complaints(self, damage):
        with h5py.File(self.file, "r+") as file:
            damage(file)
        complaints = self.complaints(["FILES 1", "REGION * step inclusive<=wall"])
        write_sample(self.file)
        return complaints


def lines_of(text):
    return text.strip().split("\n")


def several_faults(stage):
    """Of two files each is checked in itself; a line on content wants one, or a WORLD."""
    faults = []
    second = os.path.join(stage.folder, "run.2.h5")
    write_sample(second)
    faults += [f"two right files: {line}" for line in stage.complaints(["FILES 2"])]
    for wrong in (["FILES 1"], ["FILES 2", "TOTAL 0 out=120"], ["FILES 2", "WORLD ranks=2"]):
        if not stage.complaints(wrong):
            faults.append(f"passed with two files: {wrong}")
    with h5py.File(second, "r+") as file:
        set_value(file, "profile/visits/sum", STEP, 5)
    if not stage.complaints(["FILES any"]):
        faults.append("not seen: a wrong file of two")
    os.remove(second)
    return faults


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def recovered_faults(stage):
    """A file made of images is held against the lines after RECOVERED, and none else."""
    faults = []
    path = os.path.join(os.path.dirname(stage.folder), "recovered.h5")
    lines = ["TOTAL 0 out=120", "RECOVERED", "STATUS PARTIAL", "EXPECT 0 MPI_Send calls=3"]
    write_sample(path)
    with h5py.File(path, "r+") as file:
        file.attrs["status"] = "PARTIAL"
    faults += [f"a right recovered file: {line}" for line in stage.complaints(lines, path)]
    for wrong in (lines[:-1] + ["EXPECT 0 MPI_Send calls=2"], lines[:2], lines[1:2]):
        if not stage.complaints(wrong, path):
            faults.append(f"passed: {wrong}")
    if not stage.complaints(lines):
        faults.append("not seen: no recovered file")
    return faults


def mpi_faults(stage):
    """A line that names an MPI counts under that one alone."""
    faults = []
    lines = ["FILES 1", "mpich:TOTAL 0 out=120", "openmpi:TOTAL 0 out=119"]
    faults += [f"a line of MPICH's: {line}" for line in stage.complaints(lines, mpi="mpich")]
    if not stage.complaints(lines, mpi="openmpi"):
        faults.append("not seen: a wrong line of Open MPI's")
    if not stage.complaints(["FILES 1", "mpitch:TOTAL 0 out=120"], mpi="mpich"):
        faults.append("not seen: an MPI that there is not")
    return faults


def folder_faults(stage):
    """What lies beside the file is seen as well, and a file that is no HDF5, and no file."""
    images = os.path.join(stage.folder, "run.h5.partial")
    os.mkdir(images)
    write(os.path.join(images, "rank-1.rkci"), b"")
    faults = [f"an image: {line}" for line in stage.complaints(["IMAGES 1"])]
    if not stage.complaints(["FILES 1"]):
        faults.append("not seen: an image")
    write(os.path.join(stage.folder, ".run.h5.x"), b"")
    if stage.complaints(["IMAGES 1"]) != ["left behind: .run.h5.x"]:
        faults.append("not seen: a file left behind")
    write(stage.file, b"no HDF5")
    if not any("cannot be read" in line for line in stage.complaints(["IMAGES 1"])):
        faults.append("not seen: a file that cannot be read")
    os.remove(stage.file)
    if not any("0 readable files" in line for line in stage.complaints(
            ["FILES any", "IMAGES 1", "EXPECT * MPI_Init calls=1"])):
        faults.append("not seen: no file at all")
    return faults


def faults_of(check_run):
    with tempfile.TemporaryDirectory() as base:
        stage = Stage(base, check_run)
        faults = [f"a right file: {line}" for line in stage.complaints(lines_of(RIGHT))]
        faults += [f"passed: {line}" for line in lines_of(WRONG) if not stage.complaints([line])]
        faults += [f"not seen: {what}" for what, damage in DAMAGES.items()
                   if not stage.damaged_complaints(damage)]
        faults += several_faults(stage) + mpi_faults(stage)
        return faults + recovered_faults(stage) + folder_faults(stage)
