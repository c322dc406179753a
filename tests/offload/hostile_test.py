"""Packets that nobody should take: garbage, replays, and right numbers from the wrong place."""

import subprocess
import time

import hostile_packets
from hostile_packets import HEADER, REPLAYER, SENDER, header_of, packet
from offload_case import AGGREGATOR, PORT, OffloadCase, main
from serving import sleep_until


class HostileTest(OffloadCase):
    def drops_of(self, aggregator, host, packets, program=SENDER):
        """Return the drops that these packets cause."""
        before = self.dropped(aggregator.status())
        hostile_packets.run_on(self.on(host), program, [one.hex() for one in packets])
        after = self.dropped(aggregator.status())
        return {name: count - before.get(name, 0) for name, count in after.items()
                if count != before.get(name, 0)}

    def running(self):
        """Start an aggregator and workers that go on summing; return it and worker 0's header."""
        self.up(2)
        aggregator, = self.aggregators()

        def start():
            self.busy = self.workers(2, 1, "--calls", "3000", "--words", "300")
            self.assertTrue(sleep_until(lambda: [
                group for group in aggregator.status()["groups"] if group["state"] == "open"]))

        # Only whoever sees the packets knows as much.
        frames = hostile_packets.frames_of(self.on("h1"), start)
        return aggregator, header_of(frames[0])

    def test_garbage_of_every_length(self):
        aggregator, group = self.running()
        seed = bytes(range(256)) * 36
        lengths = [*range(200), *range(200, 8972, 13), 8971, 8972]
        garbage = [seed[length % 251:][:length] for length in lengths]
        self.assertEqual(self.drops_of(aggregator, "h1", garbage),
                         {"drop_malformed": len(lengths)})
        # A right header, and any number of bytes behind it but the right one.
        header = packet(group)[:HEADER.size]
        tails = [header + seed[:length] for length in range(0, 8900, 7) if length != 32]
        self.assertEqual(self.drops_of(aggregator, "h1", tails), {"drop_source": len(tails)})
        self.assert_right(self.busy)

    def test_every_field(self):
        aggregator, group = self.running()
        for name, changed in [
                ("drop_malformed", {"magic": 0}), ("drop_version", {"version": 1}),
                ("drop_malformed", {"kind": 0}), ("drop_source", {"kind": 3}),
                ("drop_malformed", {"kind": 6}), ("drop_malformed", {"flags": 1}),
                ("drop_group", {"job": group["job"] + 1}), ("drop_group", {"group": 1}),
                ("drop_group", {"group": 0xffff}), ("drop_epoch", {"epoch": group["epoch"] ^ 1}),
                ("drop_epoch", {"epoch": group["epoch"] ^ 1 << 63}),
                ("drop_worker", {"worker": 2}), ("drop_worker", {"worker": 64}),
                ("drop_worker", {"worker": 65535}), ("drop_source", {}),
                ("drop_key", {"worker": 1}), ("drop_source", {"kind": 2}),
                ("drop_source", {"kind": 4}), ("drop_source", {"kind": 5}),
                ("drop_key", {"key": group["key"] ^ 1}), ("drop_key", {"key": 0}),
                ("drop_key", {"key": group["key"] ^ 1 << 63, "kind": 4})]:
            with self.subTest(changed=changed):
                self.assertEqual(self.drops_of(aggregator, "h1", [packet(group, **changed)]),
                                 {name: 1})
        self.assert_right(self.busy)

    def test_replayed_packets(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = []

        def one_job():
            nonlocal workers
            workers = self.workers(2, 1, "--calls", "20", "--slots", "8")
            self.assert_right(workers)

        frames = hostile_packets.frames_of(self.on("h1"), one_job)
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
        hostile_packets.run_on(self.on("h1"), program, [])
        self.assertGreater(aggregator.status()["bad_messages"], 50)
        self.assert_right(self.workers(2, 1, "--calls", "20"))

    def test_status_needs_the_token(self):
        self.up(2)
        self.aggregators()
        environment = self.environment("another secret")
        del environment["COHOM_AGGREGATOR_OPERATOR_TOKEN"]
        done = subprocess.run([*self.on("h1"), AGGREGATOR, "status", f"switch:{PORT}"], timeout=20,
                              capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("wrong token", done.stderr)


if __name__ == "__main__":
    main()
