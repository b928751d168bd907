"""Copies of a shared library as others build it, for tests of two of them in one process.

elf_edit.py unversion FROM TO      its symbols without versions
elf_edit.py rename FROM TO NAME    another SONAME, no longer than its own

The status is 77 where the library is of a kind that it does not know."""
import struct
import sys

SHT_DYNAMIC, SHT_GNU_VERSYM = 6, 0x6FFFFFFF
DT_NULL, DT_SONAME = 0, 14
SHN_UNDEF, VER_NDX_GLOBAL = 0, 1


def refuse(why):
    print(why, file=sys.stderr)
    sys.exit(77)


def sections(data):
    """Of each section: type, offset, size, the section it is about."""
    if data[:6] != b"\x7fELF\x02\x01":
        refuse("not a little-endian ELF file of 64 bits")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry, n = struct.unpack_from("<HH", data, 0x3A)
    found = []
    for i in range(n):
        _, kind, _, _, offset, size, about = struct.unpack_from("<IIQQQQI", data, table + i * entry)
        found.append((kind, offset, size, about))
    return found


def of_kind(found, kind):
    wanted = [section for section in found if section[0] == kind]
    if len(wanted) != 1:
        refuse("no section of type %#x" % kind)
    return wanted[0]


def unversion(data):
    found = sections(data)
    _, versions, size, about = of_kind(found, SHT_GNU_VERSYM)
    _, symbols, _, _ = found[about]
    for i in range(1, size // 2):
        (defined,) = struct.unpack_from("<H", data, symbols + 24 * i + 6)
        if defined != SHN_UNDEF:
            struct.pack_into("<H", data, versions + 2 * i, VER_NDX_GLOBAL)


def rename(data, name):
    found = sections(data)
    _, dynamic, size, about = of_kind(found, SHT_DYNAMIC)
    _, strings, _, _ = found[about]
    for at in range(dynamic, dynamic + size, 16):
        tag, value = struct.unpack_from("<qQ", data, at)
        if tag == DT_NULL:
            break
        if tag == DT_SONAME:
            begin = strings + value
            old = data.index(b"\0", begin) - begin
            if len(name) > old:
                refuse("the name is longer than the one that there is")
            data[begin:begin + old] = name.encode().ljust(old, b"\0")
            return
    refuse("it has no SONAME")


with open(sys.argv[2], "rb") as file:
    content = bytearray(file.read())
if sys.argv[1] == "unversion":
    unversion(content)
else:
    rename(content, sys.argv[4])
with open(sys.argv[3], "wb") as file:
    file.write(content)
