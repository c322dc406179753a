"""Packets that nobody should take: garbage of every length, replays, and right numbers from the wrong place."""

import struct
import subprocess
import sys
import time

from offload_case import AGGREGATOR, PORT, OffloadCase, main

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


class HostileTest(OffloadCase):
    def run_on(self, host, program, lines):
        """Run a Python program with these lines to read."""
        subprocess.run([*self.on(host), sys.executable, "-c", program], input="\n".join(lines),
                       text=True, check=True, timeout=60)

    def drops_of(self, aggregator, host, packets, program=SENDER):
        """Return the drops that these packets cause."""
        before = self.dropped(aggregator.status())
        self.run_on(host, program, [one.hex() for one in packets])
        after = self.dropped(aggregator.status())
        return {name: count - before.get(name, 0) for name, count in after.items()
                if count != before.get(name, 0)}

    def running(self):
        """Start an aggregator and workers that go on summing; returns the aggregator and the group."""
        self.up(2)
        aggregator, = self.aggregators()
        self.busy = self.workers(2, 1, "--calls", "3000", "--words", "300")
        self.assertTrue(self.busy)
        while not (groups := aggregator.status()["groups"]) or groups[0]["state"] != "open":
            pass
        return aggregator, groups[0]

    def test_garbage_of_every_length(self):
        aggregator, group = self.running()
        seed = bytes(range(256)) * 36
        lengths = [*range(200), *range(200, 8972, 13), 8971, 8972]
        garbage = [seed[length % 251:][:length] for length in lengths]
        self.assertEqual(self.drops_of(aggregator, "h1", garbage),
                         {"drop_malformed": len(lengths)})
        # A right header, and any number of bytes behind it but the right one.
        header = packet(group)[:56]
        tails = [header + seed[:length] for length in range(0, 8900, 7) if length != 32]
        self.assertEqual(self.drops_of(aggregator, "h1", tails), {"drop_source": len(tails)})
        self.assert_right(self.busy)

    def test_every_field(self):
        aggregator, group = self.running()
        for name, changed in [
                ("drop_malformed", {"magic": 0}), ("drop_version", {"version": 2}),
                ("drop_malformed", {"kind": 0}), ("drop_source", {"kind": 3}),
                ("drop_malformed", {"kind": 6}), ("drop_malformed", {"flags": 1}),
                ("drop_group", {"job": group["job"] + 1}), ("drop_group", {"group": 1}),
                ("drop_group", {"group": 0xffffffff}), ("drop_epoch", {"epoch": group["epoch"] - 1}),
                ("drop_epoch", {"epoch": group["epoch"] ^ 0x80000000}),
                ("drop_worker", {"worker": 2}), ("drop_worker", {"worker": 64}),
                ("drop_worker", {"worker": 65535}), ("drop_source", {}),
                ("drop_source", {"worker": 1}), ("drop_source", {"kind": 2}),
                ("drop_source", {"kind": 4}), ("drop_source", {"kind": 5})]:
            with self.subTest(changed=changed):
                self.assertEqual(self.drops_of(aggregator, "h1", [packet(group, **changed)]), {name: 1})
        self.assert_right(self.busy)

    def frames_of(self, host, work):
        """Return the frames that the host sends to the aggregator while the work is done."""
        listener = subprocess.Popen([*self.on(host), sys.executable, "-c", LISTENER], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(listener.stdout.close)
        self.addCleanup(listener.kill)
        self.assertEqual(listener.stdout.readline(), "listening\n")
        work()
        output = listener.communicate("\n", timeout=30)[0]
        return [bytes.fromhex(line) for line in output.split()]

    def test_replayed_packets(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = []

        def one_job():
            nonlocal workers
            workers = self.workers(2, 1, "--calls", "20", "--slots", "8")
            self.assert_right(workers)

        frames = self.frames_of("h1", one_job)
        self.assertGreater(len(frames), 100)
        # The same group still stands: what it has summed stays as it is, packet by packet.
        sums = aggregator.status()["groups"][0]["sums"]
        drops = self.drops_of(aggregator, "h1", frames, REPLAYER)
        self.assertEqual(aggregator.status()["groups"][0]["sums"], sums)
        self.assertGreater(drops["drop_old"], 0)
        self.assertLessEqual(set(drops), {"drop_old"})
        # The same job and workers in a new epoch.
        for worker in workers:
            worker.end()
        time.sleep(1.2)  # so long a number rests
        self.busy = self.workers(2, 1, "--calls", "2000")
        while not (groups := aggregator.status()["groups"]) or groups[0]["state"] != "open":
            pass
        drops = self.drops_of(aggregator, "h1", frames, REPLAYER)
        self.assertEqual(drops, {"drop_epoch": len(frames)})
        self.assert_right(self.busy)

    def test_control_channel(self):
        self.up(2)
        aggregator, = self.aggregators()
        program = f"""
import socket, os
for size in range(0, 300, 3):
    s = socket.create_connection(("switch", {PORT}))
    s.sendall(os.urandom(size))
    s.close()
s = socket.create_connection(("switch", {PORT}))
s.sendall((1 << 30).to_bytes(4, "little") + bytes(10))
assert s.recv(1) == b""
"""
        self.run_on("h1", program, [])
        self.assertGreater(aggregator.status()["bad_messages"], 50)
        self.assert_right(self.workers(2, 1, "--calls", "20"))

    def test_status_needs_the_token(self):
        self.up(2)
        self.aggregators()
        done = subprocess.run([*self.on("h1"), AGGREGATOR, "status", f"switch:{PORT}"], timeout=20,
                              capture_output=True, text=True, check=False,
                              env=self.environment("another"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("wrong token", done.stderr)


if __name__ == "__main__":
    main()
