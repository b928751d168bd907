#!/usr/bin/env python3
"""rows.py - compare the numbers of arguments in fortran.def with what a compiler knows.

    rows.py ROWS... -- MODULE.mod...

Reads the modules that gfortran made of MPI's interfaces. Prints a line for each function whose row
has another number, and at the end how many were compared.
"""
import gzip
import re
import sys


def tokens(text):
    return re.findall(r"'[^']*'|[()]|[^\s()]+", text)


def parse(words):
    """The lists in a module; its symbols are a number, three texts, a number and a list each."""
    stack = [[]]
    for word in words:
        if word == '(':
            stack.append([])
        elif word == ')':
            inner = stack.pop()
            stack[-1].append(inner)
        else:
            stack[-1].append(word)
    return stack[0]


def symbols(tree):
    """Number, name and description of each symbol."""
    for part in tree:
        if not isinstance(part, list):
            continue
        for i in range(len(part) - 5):
            if (isinstance(part[i], str) and part[i].isdigit()
                    and isinstance(part[i + 1], str) and part[i + 1].startswith("'")
                    and isinstance(part[i + 5], list) and len(part[i + 5]) > 5):
                yield part[i], part[i + 1].strip("'"), part[i + 5]


def interfaces(path):
    """For each procedure its number of arguments, hidden lengths included."""
    with gzip.open(path, 'rt') as file:
        file.readline()
        known = {number: (name, about) for number, name, about in symbols(parse(tokens(file.read())))}
    found = {}
    for name, about in known.values():
        if 'PROCEDURE' not in about[0] or 'SUBROUTINE' not in about[0]:
            continue
        formal = about[5] if isinstance(about[5], list) else []
        if not formal:
            continue
        texts = sum(1 for number in formal
                    if number in known and known[number][1][2][:1] == ['CHARACTER'])
        found[name.lower()] = len(formal) + texts
    return found


def rows(path):
    """Function, whether large-count, and number of arguments."""
    with open(path) as file:
        for line in file:
            row = re.match(r'(FORTRAN|COLLECTIVE|BY_HAND|CPTR)(_TEXTS?)?(_LARGE)?(_C)?'
                           r'\((\w+), (\d+)', line)
            if row:
                kind, _, large, both, name, n = row.groups()
                forms = ['large'] if large else ['plain', 'large'] if both else ['plain']
                if kind == 'CPTR':
                    forms = ['cptr']
                for form in forms:
                    yield 'mpi_' + name.lower(), form, int(n)


def main():
    split = sys.argv.index('--')
    known = {}
    for path in sys.argv[split + 1:]:
        known.update(interfaces(path))
    ends = {'plain': ('', '_f08', '_f08ts'), 'large': ('_f08_large', '_f08ts_large'),
            'cptr': ('_cptr',)}
    compared = 0
    for path in sys.argv[1:split]:
        for name, form, n in rows(path):
            for end in ends[form]:
                wanted = known.get(name + end)
                # MPICH's has ierror, which the standard's has not; it is not looked at.
                if wanted is not None and name != 'mpi_pcontrol':
                    compared += 1
                    if wanted != n:
                        print('%s%s has %d arguments, its row %d' % (name, end, wanted, n))
    print(compared)


main()
