#!/usr/bin/python3
"""Check what a run has left against what the header of its program states.

    check.py [--mpi NAME] PROGRAM.c FOLDER STDERR [RECOVERED]
                             the MPI that ran it, the program's source, the folder that the run
                             wrote into, the file that holds its stderr, the file made of its images
    check.py --self-test     check this checker: it must fail on what is wrong

Says nothing and returns 0 if all holds; else one line for each fault and 1; 77 without h5py.

The lines of a header that count begin with one of these words. RANKS is a rank, ranks by comma,
`*` for every rank, `all` for the sum over them. N is a number; with `..`, `>=`, `<=` a range.

    RUN ...                                         for tests/cases.sh, not read here
    EXPECT RANKS MPI_Send [calls=N] [out=N] [in=N]  calls and bytes of an MPI function
    TOTAL RANKS [out=N] [in=N]                      bytes of all functions together
    REGION RANKS NAME [visits=N] [unclosed=N] [parent=NAME] [ranks=N] [inclusive<=wall]
                                                    a region of the program, on all call paths
    VISITS RANKS user=N                             of all the program's regions together, what
                                                    overflowed included
    NOTES KIND [region=NAME] [count=N]              sum of the counts in /notes
    CALLPATHS N                                     in the file
    STATUS TEXT                                     of the file; COMPLETE where none is given
    FILES N|any                                     files written; 1 where none is given
    IMAGES N|any                                    saved images; 0 where none is given
    STDERR N                                        lines of the library's on stderr
    WORLD ranks=N                                   what follows is of the file with N ranks
    RECOVERED                                       what follows is of the file made of images

A line `mpich:IMAGES 1` counts under the MPI alone that it names, mpich or openmpi: for what the
standard leaves to them. Names in double quotes may hold blanks, and `x{255}` is x 255 times. Only EXPECT's functions are
regions of kind mpi. Each file is also checked in itself: that it describes itself, that its
call paths are a tree, and that the sums over ranks are those of the per-rank rows.
"""

import glob
import math
import os
import re
import shlex
import sys

try:
    import h5py
    import profile_file
except ImportError:
    h5py = None

WORDS = {"EXPECT", "TOTAL", "REGION", "VISITS", "NOTES", "CALLPATHS", "STATUS", "FILES",
         "IMAGES", "STDERR", "WORLD", "RECOVERED"}
METRICS = {"calls": "visits", "out": "bytes_sent", "in": "bytes_received", "visits": "visits",
           "unclosed": "unclosed", "user": "visits"}
MPIS = {"mpich", "openmpi"}
NO_H5PY = 77
MOST_FAULTS = 25


class BadLine(Exception):
    """A header states something that this program does not understand."""


class Range:
    """What a number must be: `=5`, `>=2`, `<=8`, `=1..2`, `any`."""

    def __init__(self, text):
        match = re.fullmatch(r"(=|>=|<=)?(\d+)(?:\.\.(\d+))?", text)
        if text == "any":
            self.low, self.high = 0, math.inf
        elif match is None or (match[3] and match[1] not in (None, "=")):
            raise BadLine(f"{text!r} is no number or range")
        else:
            number = int(match[2])
            self.low = 0 if match[1] == "<=" else number
            self.high = math.inf if match[1] == ">=" else int(match[3] or number)

    def holds(self, number):
        return self.low <= number <= self.high


class Line:
    """One line of a header: its words, and its `key=value` terms as ranges or texts."""

    def __init__(self, text):
        self.text = text
        self.word, *rest = shlex.split(text)
        self.places = []
        self.ranges = {}
        self.parent = self.region = None
        self.within_wall = False
        for item in rest:
            self.add(item)

    def add(self, item):
        match = re.fullmatch(r"([a-z]+)((?:=|>=|<=)\S.*)", item, re.DOTALL)
        if match is None:
            self.places.append(item)
        elif match[1] in ("parent", "region"):
            setattr(self, match[1], match[2][1:])
        elif item == "inclusive<=wall":
            self.within_wall = True
        else:
            self.ranges[match[1]] = Range(match[2])

    def need(self, n_places, *keys):
        if len(self.places) != n_places:
            raise BadLine(f"{self.word} takes {n_places} words before its terms")
        for key in self.ranges:
            if key not in keys:
                raise BadLine(f"{self.word} knows no {key}=")

    def name(self):
        """The second place, a name, with `x{255}` spelled out."""
        match = re.fullmatch(r"(.)\{(\d+)\}", self.places[1])
        return match[1] * int(match[2]) if match else self.places[1]


def read_header(path, mpi):
    """The lines of the program's first comment that state something, for this MPI."""
    lines = []
    with open(path, encoding="utf-8") as source:
        for raw in source:
            if not re.match(r"/\*| \*|!", raw):
                break
            text = re.sub(r"^(/\*| \*/?|!)\s*", "", raw).strip()
            first = text.split(" ")[0]
            if first == "RUN":
                continue
            under, _, word = first.rpartition(":")
            if under and word in WORDS:
                if under not in MPIS:
                    raise BadLine(f"{under!r} is the name of no MPI")
                if under != mpi:
                    continue
                first, text = word, text[len(under) + 1:]
            if first in WORDS:
                lines.append(Line(text))
            elif re.fullmatch(r"[A-Z]{4,}", first):
                raise BadLine(f"{first} begins a line and is none of the words known")
    return lines


def select_ranks(text, profile):
    """The groups of ranks that a line speaks of, each to be held against its terms."""
    if text == "*":
        return [[rank] for rank in profile.ranks]
    if text == "all":
        return [profile.ranks]
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise BadLine(f"{text!r} names no ranks")
    return [[int(rank)] for rank in text.split(",")]


def check_numbers(line, profile, paths, faults):
    """Hold the sums over some call paths against the terms of a line."""
    for ranks in select_ranks(line.places[0], profile):
        missing = [rank for rank in ranks if rank not in profile.ranks]
        if missing:
            faults.append(f"{line.text}: the file has no rank {missing[0]}")
            continue
        found = {key: sum(profile.value(METRICS[key], rank, path)
                          for rank in ranks for path in paths)
                 for key in line.ranges if key in METRICS}
        if "ranks" in line.ranges:
            found["ranks"] = sum(any(profile.value("visits", rank, path) > 0 for path in paths)
                                 for rank in ranks)
        wrong = [f"{key}={number}" for key, number in found.items()
                 if not line.ranges[key].holds(number)]
        if wrong:
            whose = f"rank {ranks[0]}" if len(ranks) == 1 else "all ranks"
            faults.append(f"{line.text}: {whose}: {', '.join(wrong)}")


def check_expect(line, profile, faults):
    line.need(2, "calls", "out", "in")
    if not line.places[1].startswith("MPI_"):
        raise BadLine(f"{line.places[1]!r} is no MPI function")
    check_numbers(line, profile, profile.paths_of(line.places[1], ("mpi",)), faults)


def check_total(line, profile, faults):
    line.need(1, "out", "in")
    check_numbers(line, profile, range(len(profile.parents)), faults)


def check_visits(line, profile, faults):
    line.need(1, "user")
    check_numbers(line, profile, profile.paths_of(None, ("user", "other")), faults)


def check_region(line, profile, faults):
    line.need(2, "visits", "unclosed", "ranks")
    paths = profile.paths_of(line.name(), ("user", "other"))
    check_numbers(line, profile, paths, faults)
    for ranks in select_ranks(line.places[0], profile):
        for rank, path in ((rank, path) for rank in ranks for path in paths):
            if profile.value("visits", rank, path) == 0:
                continue
            parent = profile.names[profile.parents[path]]
            if line.parent is not None and parent != line.parent:
                faults.append(f"{line.text}: rank {rank}: below {parent!r}")
            inclusive, wall = profile.value("inclusive_ns", rank, path), profile.wall_ns(rank)
            if line.within_wall and not 0 <= inclusive <= wall:
                faults.append(f"{line.text}: rank {rank}: {inclusive} ns of {wall} ns")


def check_notes(line, profile, faults):
    line.need(1, "count")
    wanted = line.ranges.get("count", Range(">=1"))
    count = sum(note["count"] for note in profile.notes if note["kind"] == line.places[0]
                and line.region in (None, note["region"]))
    if not wanted.holds(count):
        kinds = ", ".join(f"{note['kind']} of {note['region']!r} on rank {note['rank']}: "
                          f"{note['count']}" for note in profile.notes[:8])
        faults.append(f"{line.text}: count={count}; first notes: {kinds or 'none'}")


def check_callpaths(line, profile, faults):
    line.need(1)
    if not Range(line.places[0]).holds(len(profile.parents)):
        faults.append(f"{line.text}: {len(profile.parents)}")


def check_status(line, profile, faults):
    line.need(1)
    if profile.status != line.places[0]:
        faults.append(f"{line.text}: the file says {profile.status}")


CHECKS = {"EXPECT": check_expect, "TOTAL": check_total, "REGION": check_region,
          "VISITS": check_visits, "NOTES": check_notes, "CALLPATHS": check_callpaths,
          "STATUS": check_status}


def read_profiles(paths, faults):
    """All files that can be read, each checked in itself."""
    profiles = []
    for path in paths:
        try:
            profiles.append(profile_file.Profile(path))
        except (OSError, KeyError, IndexError, TypeError, ValueError) as error:
            faults.append(f"{os.path.basename(path)} cannot be read: {error}")
        else:
            faults.extend(profile_file.faults_of(profiles[-1]))
    return profiles


def check_content(lines, n_ranks, profiles, faults):
    """Hold one file, the one of n_ranks ranks or the only one, against its lines."""
    whose = "file" if n_ranks is None else f"file of {n_ranks} ranks"
    profiles = [profile for profile in profiles if n_ranks in (None, len(profile.ranks))]
    if len(profiles) != 1:
        faults.append(f"{len(profiles)} readable files where one {whose} was wanted")
        return
    if not any(line.word == "STATUS" for line in lines):
        lines = [Line("STATUS COMPLETE")] + lines
    for line in lines:
        try:
            CHECKS[line.word](line, profiles[0], faults)
        except KeyError as error:
            faults.append(f"{line.text}: the file lacks {error}")


def check_folder(lines, folder, stderr, faults):
    """Hold the names and numbers of the files, and stderr, against their lines."""
    stated = {"FILES": "1", "IMAGES": "0", "STDERR": "any"}
    for line in lines:
        if line.word in stated:
            line.need(1)
            stated[line.word] = line.places[0]
    files = glob.glob(os.path.join(folder, "*.h5"))
    images = glob.glob(os.path.join(folder, "*.partial", "rank-*.rkci"))
    with open(stderr, encoding="utf-8", errors="replace") as text:
        said = [raw for raw in text if raw.startswith("rankclock")]
    found = {"FILES": len(files), "IMAGES": len(images), "STDERR": len(said)}
    for word, number in found.items():
        if not Range(stated[word]).holds(number):
            faults.append(f"{word} {stated[word]}: {number}")
    known = set(files + images + [os.path.dirname(image) for image in images])
    # The marks of the run that has saved them, and of why.
    known.update(os.path.join(os.path.dirname(image), mark) for image in images[:1]
                 for mark in (".run", ".without"))
    for base, folders, others in os.walk(folder):
        for name in folders + others:
            path = os.path.join(base, name)
            if path not in known:
                faults.append(f"left behind: {os.path.relpath(path, folder)}")
    return files


def sections_of(lines):
    """The lines on the content of each file, as pairs of the line that names it and they."""
    sections = [(None, [])]
    for line in lines:
        if line.word in ("WORLD", "RECOVERED"):
            line.need(0, "ranks")
            sections.append((line, []))
        elif line.word in CHECKS:
            sections[-1][1].append(line)
    if len(sections) > 1 and not sections[0][1]:
        sections.pop(0)
    return sections


def check_run(source, folder, stderr, recovered=None, mpi=None):
    """All faults of one run. Of several files nothing is wanted but what WORLD lines say."""
    faults = []
    lines = read_header(source, mpi)
    files = check_folder(lines, folder, stderr, faults)
    if h5py is None:
        return faults
    profiles = read_profiles(files, faults)
    for start, of_section in sections_of(lines):
        if start is None:
            if of_section or len(files) == 1:
                check_content(of_section, None, profiles, faults)
        elif start.word == "WORLD":
            check_content(of_section, start.ranges["ranks"].low, profiles, faults)
        else:
            of_images = read_profiles([recovered] if recovered else [], faults)
            check_content(of_section, None, of_images, faults)
    return faults


def main(arguments):
    mpi = None
    if arguments[:1] == ["--mpi"]:
        mpi, arguments = arguments[1], arguments[2:]
    if arguments == ["--self-test"]:
        if h5py is None:
            return NO_H5PY
        import check_selftest
        faults = check_selftest.faults_of(check_run)
    elif len(arguments) in (3, 4):
        try:
            faults = check_run(*arguments, mpi=mpi)
        except BadLine as error:
            faults = [f"{arguments[0]}: {error}"]
    else:
        print(__doc__.split("\n\n")[1])
        return 2
    for fault in faults[:MOST_FAULTS]:
        print(fault)
    if len(faults) > MOST_FAULTS:
        print(f"and {len(faults) - MOST_FAULTS} more")
    if faults:
        return 1
    return NO_H5PY if h5py is None else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
