#!/usr/bin/env python3
"""Say which includes between the rooms of the project are not allowed."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A room is a folder with those below it that have no row. It may include itself, the public headers
# and the rooms of its row, which stand above it: so there are no cycles.
ROOMS = """
include/cohom
kernels/core
kernels/device_runtime     kernels/core
kernels/merge              kernels/core kernels/device_runtime
kernels/thc                kernels/core kernels/device_runtime
kernels/packed             kernels/core kernels/device_runtime kernels/thc
kernels/sign               kernels/core kernels/device_runtime kernels/thc
kernels/sample             kernels/core kernels/device_runtime kernels/sign
kernels/sparse             kernels/core kernels/device_runtime
kernels/sketch             kernels/core kernels/device_runtime
kernels/exact              kernels/core kernels/device_runtime
kernels                    kernels/core
kernels/table              kernels
src/base
src/memory                 src/base kernels/device_runtime
src/schedule
src/agreement              src/base kernels/table
src/topology               src/base src/agreement
src/codecs/common          src/base src/memory kernels
src/codecs/raw             src/base src/memory src/codecs/common kernels
src/codecs/thc             src/base src/memory src/codecs/common kernels
src/codecs/packed          src/base src/memory src/codecs/common kernels
src/codecs/signcount       src/base src/memory src/codecs/common kernels
src/codecs/marsit          src/base src/memory src/codecs/common kernels
src/codecs/sparse          src/base src/memory src/codecs/common kernels
src/codecs/sparse_thc      src/base src/memory src/codecs/common src/codecs/thc kernels
src/codecs/sketch          src/base src/memory src/codecs/common kernels
src/codecs/exact           src/base src/memory src/codecs/common kernels
src/codecs/sparse_exact    src/base src/memory src/codecs/common src/codecs/exact kernels
src/codecs/lowrank         src/base src/memory src/codecs/common kernels
src/codecs/parts           src/codecs/common kernels
src/codecs/topk            src/base src/memory src/codecs/common src/codecs/sparse kernels
src/codecs                 src/base src/memory src/codecs kernels
src/executor               src/base src/memory src/schedule src/agreement src/codecs/common \
                           kernels/table
src/transport              src/base src/agreement src/topology src/codecs/common
src/node_window            src/base src/agreement src/transport
src/aggregation/net        src/base
src/aggregation/auth       src/base
src/aggregation/protocol   src/base src/aggregation/net src/aggregation/auth kernels/core
src/aggregation/client     src/base src/aggregation/net src/aggregation/auth \
                           src/aggregation/protocol
kernels/ebpf               src/aggregation/protocol
src/plan                   src/base src/memory src/schedule src/agreement src/codecs \
                           src/executor src/transport
src/call                   src/base src/memory src/agreement src/topology src/plan
src/rounds                 src/base src/memory src/agreement src/codecs/common src/executor \
                           src/plan src/call kernels/table
src/api                    src/base src/memory src/codecs/exact src/plan src/call src/rounds
src/testing                src/base src/topology src/node_window src/aggregation/client \
                           kernels/table
ucx_transport              src/base src/topology src/transport src/aggregation
mpi_ext/base               src/base src/topology
mpi_ext/transport          src/base src/agreement src/topology src/transport src/node_window \
                           mpi_ext/base
src/aggregation/server     src/base src/aggregation kernels/table ucx_transport
mpi_ext/job                src/base src/aggregation mpi_ext/base
mpi_ext/api                src/base src/call src/aggregation/client mpi_ext
mpi_ext/drop_in            src/base src/memory mpi_ext
"""


def table():
    """Return the rooms, in order, and what each may include (a folder stands for all above it)."""
    rooms = {}
    for line in ROOMS.split("\n"):
        if line:
            room, *allowed = line.split()
            for folder in allowed:
                if not any(above == folder or above.startswith(folder + "/") for above in rooms):
                    sys.exit(f"rooms: {room} may include {folder}, which does not stand above it")
            rooms[room] = allowed
    return rooms


def room_of(path, rooms):
    """Return the innermost room of a file; None: it is in none."""
    return max((room for room in rooms if path.startswith(room + "/")), key=len, default=None)


def target_of(text):
    """Return the file that an include names; None: one that a build makes."""
    for folder in ("", "src/"):
        if (ROOT / (folder + text)).is_file():
            return folder + text
    return None


def complaints():
    """Return a line for each include that is not allowed, and each file without a room."""
    rooms = table()
    above = {room: list(rooms)[:number] for number, room in enumerate(rooms)}
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others",
                            "--exclude-standard", *{room.split("/")[0] for room in rooms}],
                           check=True, capture_output=True, text=True).stdout.split("\n")
    found = []
    for name in sorted(set(names)):
        path = ROOT / name
        if path.suffix not in (".cpp", ".hpp", ".h", ".c") or not path.exists():
            continue
        room = room_of(name, rooms)
        if room is None:
            found.append(f"{name}: is in no room of scripts/rooms.py")
            continue
        allowed = {other for other in above[room] for folder in rooms[room]
                   if other == folder or other.startswith(folder + "/")} | {room, "include/cohom"}
        for text in re.findall(r'^ *# *include "([^"]+)"', path.read_text(), re.M):
            target = target_of(text)
            if target is None and text.endswith(".skel.h"):
                continue
            if target is None:
                found.append(f'{name}: "{text}" is to be written from the root, or from src')
            elif (other := room_of(target, rooms)) not in allowed:
                found.append(f"{name}: {room} may not include {other} ({text})")
    return found


if __name__ == "__main__":
    lines = complaints()
    print(*lines, sep="\n", end="\n" if lines else "")
    sys.exit(1 if lines else 0)
