"""What the tests of aggregators ask this host about a process that serves."""

import ipaddress
import os
import pathlib
import re
import struct
import time

LISTENING = "0A"  # in /proc/net/tcp

# UCX's magic number, and a message whose length UCX asserts to be another: ends who reads it.
LETHAL = struct.pack("<QBI", 0xCAFEBABE12345678, 0, 2 ** 32 - 1)


def sleep_until(condition, seconds=20):
    """Return whether the condition comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def child_of(parent):
    """Return the process that serves, a child of the one that was started (None: it is ending)."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:  # ended meanwhile
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            return int(path.parent.name)
    return None


def sockets_of(process):
    """Return the numbers of the sockets that a process has open."""
    sockets = set()
    for path in pathlib.Path(f"/proc/{process}/fd").iterdir():
        try:
            if found := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(path)):
                sockets.add(found[1])
        except OSError:  # closed meanwhile
            pass
    return sockets


def address_of(digits):
    """Return the address that /proc/net writes as words of the processor's order."""
    words = bytes.fromhex(digits)
    words = b"".join(words[i:i + 4][::-1] for i in range(0, len(words), 4))
    return str(ipaddress.ip_address(words))


def listening(process):
    """Return where a process listens for TCP: pairs of address and port."""
    sockets = sockets_of(process)
    places = set()
    for name in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{process}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in sockets:
                address, port = fields[1].split(":")
                places.add((address_of(address), int(port, 16)))
    return places
