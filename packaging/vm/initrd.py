#!/usr/bin/env python3
"""Packs files for the kernel to start from: initrd.py OUTPUT PLACE=FILE...; a FILE that is `/` is an empty folder."""

import sys
from pathlib import Path


def entry(number, name, mode, data=b""):
    """Returns a file in cpio's "newc" form."""
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return padded(head) + padded(data)


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def main(output, words):
    entries, folders = [], set()
    for place, file in (word.split("=", 1) for word in words):
        parents = [str(parent) for parent in reversed(Path(place).parents) if str(parent) != "."]
        for folder in parents + ([place] if file == "/" else []):
            if folder not in folders:
                folders.add(folder)
                entries.append((folder, 0o40755, b""))
        if file != "/":
            entries.append((place, 0o100755, Path(file).read_bytes()))
    packed = b"".join(entry(number, *item) for number, item in enumerate(entries, 1))
    Path(output).write_bytes(packed + entry(0, "TRAILER!!!", 0))


main(sys.argv[1], sys.argv[2:])
