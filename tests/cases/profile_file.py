"""Read a profile file for the checks, and find what is wrong with it in itself."""

import re

import h5py
import numpy

STATUSES = ("COMPLETE", "PARTIAL", "ABORTED")
KINDS = ("user", "mpi", "root", "other")
STATES = ("running", "finalized", "aborted", "signal")
PROFILE_PARTS = ("sum", "min", "max", "sumsq", "min_rank", "max_rank", "ranks")
ABSENT = -1
RARE = ("in_flight_ns", "blocked_ns", "sampled_out", "unclosed")  # there if some call path has them


def text_of(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def texts_of(dataset):
    return [text_of(value) for value in dataset[()]]


class Profile:
    """What a file says: ranks, call paths with their names, metrics of each rank, notes."""

    def __init__(self, path):
        with h5py.File(path, "r") as file:
            self.attributes = {key: text_of(value) for key, value in file.attrs.items()}
            self.status = self.attributes.get("status", "")
            self.undescribed = find_undescribed(file)
            self.ranks = [int(rank) for rank in file["ranks/rank"][()]]
            self.columns = {key: file["ranks"][key][()] for key in file["ranks"]}
            self.rows = text_of(file["job/per_rank_rows"][()])
            self.missing = file["missing_ranks"][()]
            self.region_names = texts_of(file["regions/name"])
            self.region_kinds = texts_of(file["regions/kind"])
            self.parents = file["callpaths/parent"][()].tolist()
            self.regions = file["callpaths/region"][()].tolist()
            self.depths = file["callpaths/depth"][()].tolist()
            self.metrics = {key: file["per_rank"][key][()] for key in file["per_rank"]}
            self.reduced = {key: {part: group[part][()] for part in group}
                            for key, group in file["profile"].items()
                            if isinstance(group, h5py.Group)}
            self.transfers = {key: file["mpi/transfers"][key][()]
                              for key in ("callpath", "bytes_sent", "bytes_received")}
            self.notes = self.read_notes(file["notes"])
        self.names = [self.region_names[region] for region in self.regions]
        self.kinds = [self.region_kinds[region] for region in self.regions]

    def read_notes(self, group):
        """A note's region is a name, or an index into /regions with a negative one for none."""
        regions = group["region"][()].tolist()
        if group["region"].dtype.kind in "iu":
            regions = [self.region_names[region] if region >= 0 else "" for region in regions]
        rows = zip(texts_of(group["kind"]), map(text_of, regions), group["rank"][()].tolist(),
                   group["count"][()].tolist())
        return [dict(zip(("kind", "region", "rank", "count"), row)) for row in rows]

    def paths_of(self, name, kinds):
        return [path for path, kind in enumerate(self.kinds)
                if kind in kinds and name in (None, self.names[path])]

    def value(self, metric, rank, path):
        """A metric of one call path on one rank; what the rank has not measured is none."""
        if metric in RARE and metric not in self.metrics:
            return 0
        return max(0, int(self.metrics[metric][self.ranks.index(rank), path]))

    def wall_ns(self, rank):
        return int(self.columns["wall_ns"][self.ranks.index(rank)])


def find_undescribed(file):
    """The names of all objects that lack an attribute which explains them."""
    lacking = []

    def visit(name, item):
        wanted = ("units", "description") if isinstance(item, h5py.Dataset) else ("description",)
        lacking.extend(f"/{name} has no {key}" for key in wanted if key not in item.attrs)

    file.visititems(visit)
    return lacking


def header_faults(profile):
    faults = list(profile.undescribed)
    for key, pattern in (("rankclock_schema", r"1\.\d+"), ("writer", r"rankclock \S.*"),
                         ("status", "|".join(STATUSES)),
                         ("created", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")):
        value = profile.attributes.get(key)
        if value is None or not re.fullmatch(pattern, value):
            faults.append(f"attribute {key} of the file is {value!r}")
    if profile.rows != "all":
        faults.append(f"/job/per_rank_rows is {profile.rows!r} in a small run")
    return faults


def rank_faults(profile):
    faults = []
    n_ranks = len(profile.ranks)
    if sorted(set(profile.ranks)) != sorted(profile.ranks):
        faults.append(f"/ranks/rank names a rank twice: {profile.ranks}")
    for key, column in profile.columns.items():
        if len(column) != n_ranks:
            faults.append(f"/ranks/{key} has {len(column)} rows and not {n_ranks}")
    states = [text_of(state) for state in profile.columns["state"]]
    if any(state not in STATES for state in states):
        faults.append(f"/ranks/state holds {states}")
    if profile.status != "COMPLETE":
        return faults
    if any(state != "finalized" for state in states):
        faults.append(f"the file is COMPLETE and its ranks are {states}")
    if profile.ranks != list(range(n_ranks)) or profile.missing.size > 0:
        faults.append(f"the file is COMPLETE, its ranks are {profile.ranks} and "
                      f"{profile.missing.tolist()} are missing")
    return faults


def tree_faults(profile):
    faults = []
    named = list(zip(profile.region_names, profile.region_kinds))
    if len(set(named)) != len(named):
        faults.append("/regions holds a name of one kind twice")
    if any(name == "" or kind not in KINDS for name, kind in named):
        faults.append("/regions holds an empty name or an unknown kind")
    if profile.parents[:1] != [-1] or profile.names[:1] != ["(run)"] \
            or profile.kinds[:1] != ["root"] or profile.depths[:1] != [0]:
        faults.append("the first call path is not the root (run), of depth 0")
    for path in range(1, len(profile.parents)):
        parent = profile.parents[path]
        if not 0 <= parent < path:
            faults.append(f"call path {path} has the parent {parent}")
        elif profile.depths[path] != profile.depths[parent] + 1:
            faults.append(f"call path {path} has the depth {profile.depths[path]}")
    pairs = list(zip(profile.parents, profile.regions))
    if len(set(pairs)) != len(pairs):
        faults.append("two call paths have one parent and one region")
    return faults


def reduced_faults(key, rows, reduced, ranks):
    """Hold /profile/KEY against the rows of the ranks."""
    if sorted(reduced) != sorted(PROFILE_PARTS):
        return [f"/profile/{key} holds {', '.join(sorted(reduced))}"]
    have = rows != ABSENT
    some = have.any(axis=0)
    sums = numpy.where(have, rows, 0).sum(axis=0)
    squares = numpy.where(have, rows.astype(float) ** 2, 0).sum(axis=0)
    least = numpy.where(have, rows, numpy.iinfo(rows.dtype).max).min(axis=0)
    most = numpy.where(have, rows, numpy.iinfo(rows.dtype).min).max(axis=0)
    faults = []
    if not numpy.array_equal(reduced["ranks"], have.sum(axis=0)):
        faults.append(f"/profile/{key}/ranks is not the number of ranks that have it")
    for part, right in (("sum", sums), ("min", least), ("max", most)):
        if not numpy.array_equal(reduced[part], numpy.where(some, right, ABSENT)):
            faults.append(f"/profile/{key}/{part} is not that of /per_rank/{key}")
    if not numpy.allclose(reduced["sumsq"][some], squares[some], rtol=1e-12):
        faults.append(f"/profile/{key}/sumsq is not that of /per_rank/{key}")
    for part, right in (("min_rank", least), ("max_rank", most)):
        for path in numpy.flatnonzero(some):
            rank = int(reduced[part][path])
            if rank not in ranks or rows[ranks.index(rank), path] != right[path]:
                faults.append(f"/profile/{key}/{part} of call path {path} is {rank}")
                break
    return faults


def metric_faults(profile):
    faults = []
    shape = (len(profile.ranks), len(profile.parents))
    for key, rows in profile.metrics.items():
        if rows.shape != shape:
            faults.append(f"/per_rank/{key} is {rows.shape} and not {shape}")
        elif key not in profile.reduced:
            faults.append(f"/profile lacks {key}")
        elif rows.dtype.kind == "i":
            faults.extend(reduced_faults(key, rows, profile.reduced[key], profile.ranks))
            if (rows < ABSENT).any():
                faults.append(f"/per_rank/{key} holds a negative number")
            if key in RARE and (rows == ABSENT).all():
                faults.append(f"/per_rank/{key} holds nothing")
    for less, more in (("unclosed", "visits"), ("exclusive_ns", "inclusive_ns"),
                       ("visit_min_ns", "visit_max_ns")):
        rows = profile.metrics.get(less), profile.metrics.get(more)
        if less in RARE and rows[0] is None and less not in profile.reduced:
            continue
        if any(row is None or row.shape != shape for row in rows):
            faults.append(f"/per_rank lacks {less} or {more}")
        elif (rows[0][:, 1:] > rows[1][:, 1:]).any():
            path = 1 + int(numpy.argwhere(rows[0][:, 1:] > rows[1][:, 1:])[0][1])
            faults.append(f"{less} of {profile.names[path]!r} is above {more}")
    return faults


def transfer_faults(profile):
    faults = []
    for key in ("bytes_sent", "bytes_received"):
        by_path = numpy.zeros(len(profile.parents), dtype=numpy.int64)
        numpy.add.at(by_path, profile.transfers["callpath"], profile.transfers[key])
        reduced = numpy.maximum(profile.reduced[key]["sum"], 0)
        for path in numpy.flatnonzero(by_path != reduced)[:3]:
            faults.append(f"/mpi/transfers has {by_path[path]} {key} of {profile.names[path]}, "
                          f"/profile {reduced[path]}")
    return faults


def faults_of(profile):
    """All that is wrong with a file, whatever was measured."""
    faults = header_faults(profile)
    for find in (rank_faults, tree_faults, metric_faults, transfer_faults):
        try:
            faults.extend(find(profile))
        except (KeyError, IndexError) as error:
            faults.append(f"{find.__name__}: the file lacks {error}")
    return faults
