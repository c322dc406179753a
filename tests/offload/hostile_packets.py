"""Packets that nobody should take, and the programs on a lab's hosts that send and record packets.

Where a function has a `host`, it is what runs a command there (OffloadCase.on).
"""

import struct
import subprocess
import sys

from offload_case import PORT

# Sends what it reads, a packet a line in hex, from the host's own socket.
SENDER = f"""
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 11, 1)
for line in sys.stdin:
    s.sendto(bytes.fromhex(line), ("switch", {PORT}))
"""
# Keeps the frames that the host sends to the aggregator, until standard input ends; then prints them.
LISTENER = f"""
import select, socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
s.bind(("eth0", 0))
print("listening", flush=True)
frames = []
while True:
    ready, _, _ = select.select([s, sys.stdin], [], [])
    if s not in ready: break
    frame, place = s.recvfrom(65536)
    if place[2] == 4 and frame[23] == 17 and frame[36:38] == ({PORT}).to_bytes(2, "big"):
        frames.append(frame)
for frame in frames: print(frame.hex())
"""
REPLAYER = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
for line in sys.stdin: s.send(bytes.fromhex(line))
"""
HEADER = struct.Struct("<IBBBBQIIHHHHIIIIQ")


def packet(state, **changes):
    """Return a packet like those of the group's worker 0, but for some fields."""
    fields = {"magic": 0x61686f63, "version": 1, "kind": 1, "merge": 0, "flags": 0, "job": state["job"],
              "group": 0, "epoch": state["epoch"], "worker": 0, "slot": 0, "words": 4, "parity": 0,
              "use": 0, "offset": 0, "reduction": 0, "round": 0, "call": 0} | changes
    return HEADER.pack(*fields.values()) + bytes(32)


def run_on(host, program, lines):
    """Run a Python program with these lines to read."""
    subprocess.run([*host, sys.executable, "-c", program], input="\n".join(lines), text=True,
                   check=True, timeout=60)


def frames_of(host, work):
    """Return the frames that the host sends to the aggregator while the work is done."""
    with subprocess.Popen([*host, sys.executable, "-c", LISTENER], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as listener:
        try:
            said = listener.stdout.readline()
            if said != "listening\n":
                raise OSError(f"the listener says: {said}")
            work()
            output = listener.communicate("\n", timeout=30)[0]
        finally:
            listener.kill()
    return [bytes.fromhex(line) for line in output.split()]
