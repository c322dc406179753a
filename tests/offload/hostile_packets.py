"""Packets that nobody should take, and the programs on a lab's hosts that send and record packets.

Where a function has a `host`, it is what runs a command there (OffloadCase.on).
"""

import socket
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
# Sends what it reads, a line "HOST PORT BYTES" each, over TCP connections.
CALLER = """
import socket, sys
for line in sys.stdin:
    host, port, data = line.split(" ")
    try:
        with socket.create_connection((host, int(port)), timeout=5) as s:
            s.sendall(bytes.fromhex(data))
    except OSError:
        pass  # thrown out before the end, or nobody is there any more
"""
# Keeps the frames that the host sends to the aggregator, until standard input ends; then prints
# them.
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
# The same, with the host's own MAC address as their sender's.
FORGER = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
mac = s.getsockname()[4]
for line in sys.stdin:
    frame = bytes.fromhex(line)
    s.send(frame[:6] + mac + frame[12:])
"""
HEADER = struct.Struct("<IBBBBQQQHHHHIIIIQ")
FIELDS = ("magic", "version", "kind", "merge", "flags", "job", "epoch", "key", "group", "worker",
          "slot", "words", "use", "offset", "reduction", "round", "call")


def header_of(frame):
    """Return the header of a frame, field by field."""
    return dict(zip(FIELDS, HEADER.unpack_from(frame, 42), strict=True))


def packet(known, **changes):
    """Return a packet of the group's worker 0 with what is known of it, and some fields changed."""
    fields = {"magic": 0x61686f63, "version": 2, "kind": 1, "merge": 0, "flags": 0,
              "job": known["job"], "epoch": known["epoch"], "key": known["key"], "group": 0,
              "worker": 0, "slot": 0, "words": 4, "use": 0, "offset": 0,
              "reduction": 0, "round": 0, "call": 0} | changes
    return HEADER.pack(*fields.values()) + bytes(32)


def forged(frame, source="own", back=False, words=0, **changes):
    """Return a frame like this one of a worker's, with another packet in it.

    It comes from that worker, as the frame does, from another (address, port), or from an address
    that nobody has (None). Or it goes back to the worker, as if the receiver answered.
    """
    mac, place, target = frame[0:6], frame[26:30] + frame[34:36], frame[30:34] + frame[36:38]
    if back:
        mac, place, target = frame[6:12], target, place
    if source is None:
        source = ("10.77.0.99", PORT)
    if source != "own":
        place = socket.inet_aton(source[0]) + struct.pack(">H", source[1])
    header = header_of(frame) | changes | {"words": words}
    packet_bytes = HEADER.pack(*header.values()) + b"\x41" * (8 * words)
    udp = place[4:] + target[4:] + struct.pack(">HH", 8 + len(packet_bytes), 0) + packet_bytes
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0)
    ip += place[:4] + target[:4]
    check = sum(struct.unpack(">10H", ip))
    check = ~(check % 0xffff) & 0xffff
    return mac + bytes(6) + b"\x08\x00" + ip[:10] + struct.pack(">H", check) + ip[12:] + udp


def call_on(host, calls):
    """Let a host send bytes over TCP: (address, port, bytes), a connection each."""
    run_on(host, CALLER, [f"{address} {port} {data.hex()}" for address, port, data in calls])


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
