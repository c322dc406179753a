"""Daemons on the switches of a lab: right sums, those who die and come back, those who do not belong."""

import ipaddress
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from offload_case import PORT, OffloadCase, main_of_daemons, sleep_until

LONG = "100000000"  # calls: more than there is time for
LISTENING = "0A"  # in /proc/net/tcp

# Sends garbage of many lengths to each of the ports.
NOISE = """
import os, socket, sys
for place in sys.argv[1:]:
    host, port = place.split(":")
    for size in [*range(0, 64), *range(64, 9000, 97)]:
        s = socket.create_connection((host, int(port)), timeout=5)
        try:
            s.sendall(os.urandom(size) if size % 2 else bytes(size))
        except OSError:
            pass  # thrown out before the end
        s.close()
"""


class DaemonTest(OffloadCase):
    daemons = True

    def wait_for_sums(self, aggregator, groups=1):
        """Wait until all groups sum."""
        self.assertTrue(sleep_until(lambda: (
            lambda known: len(known) == groups and all(group["sums"] > 50 for group in known))(
                aggregator.status()["groups"])), aggregator.status())

    def assert_failed(self, workers, text):
        """Fail unless all of them have learnt why their group is gone."""
        for worker in workers:
            result = worker.result()
            self.assertIn(text, result.get("failure", ""), result)

    def check(self, ranks, hosts, two_level, *arguments):
        """Sum with these workers; returns the aggregators' states."""
        self.up(hosts, two_level)
        aggregators = self.aggregators()
        self.assert_right(self.workers(ranks, 1, "--calls", "60", *arguments))
        states = [aggregator.status() for aggregator in aggregators]
        for state in states:
            self.assertEqual(state["kind"], "daemon")
            self.assertEqual(self.dropped(state), {})
        return states

    def test_2_workers(self):
        state, = self.check(2, 2, False)
        group, = state["groups"]
        self.assertEqual(group["contributions"], 2 * group["sums"])
        self.assertEqual((group["state"], group["slots"]), ("open", 64))
        self.assertEqual(group["payload_bytes"], 57344)

    def test_5_workers(self):
        self.check(5, 5, False, "--words", "60000")

    def test_8_workers_two_a_host_and_small_messages(self):
        self.check(8, 4, False, "--message", "1000", "--slots", "5")

    def test_2_levels(self):
        root, leaf = self.check(4, 4, True, "--words", "20000")
        sums = root["groups"][0]["sums"]
        self.assertEqual(leaf["packets"]["passed_up"], sums)
        # Two workers of its own, and the leaf.
        self.assertEqual(root["groups"][0]["contributions"], 3 * sums)

    def test_2_levels_8_workers(self):
        self.check(8, 4, True)

    def test_a_late_worker_is_no_failure(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = [self.worker(rank, 2, 1, "--calls", "3", "--silence", "500",
                               "--pause", "1500" if rank == 0 else "0") for rank in range(2)]
        self.assert_right(workers)
        self.assertGreater(aggregator.status()["packets"]["told_waiting"], 0)

    def test_two_jobs_at_once_of_which_one_loses_a_worker(self):
        self.up(3)
        aggregator, = self.aggregators()
        workers = self.workers(3, 1, "--calls", LONG)
        others = self.workers(3, 2, "--calls", LONG)
        self.wait_for_sums(aggregator, 2)
        self.assertEqual(aggregator.status()["jobs"], 2)
        start = time.monotonic()
        workers[1].process.kill()
        self.assert_failed([workers[0], workers[2]], "worker 1 has left")
        self.assertLess(time.monotonic() - start, 3)
        status = aggregator.status()
        self.assertEqual(status["free_slots"], status["slots"] - 64)
        before = {group["job"]: group for group in status["groups"]}[2]["sums"]
        self.assertTrue(sleep_until(
            lambda: max(group["sums"] for group in aggregator.status()["groups"]) > before + 50))
        self.assertTrue(all(worker.process.poll() is None for worker in others))

    def test_a_worker_behind_a_leaf_dies(self):
        self.up(4, two_level=True)
        root, leaf = self.aggregators()
        workers = self.workers(4, 1, "--calls", LONG)
        self.wait_for_sums(root)
        workers[3].process.kill()
        self.assert_failed(workers[:3], "has left")
        for aggregator in (root, leaf):
            self.assertTrue(sleep_until(lambda a=aggregator: a.status()["free_slots"] == 1024))

    def test_a_worker_stops_without_a_word(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = self.workers(2, 1, "--calls", LONG, "--lateness", "1500")
        self.wait_for_sums(aggregator)
        workers[1].process.send_signal(signal.SIGSTOP)
        self.assert_failed(workers[:1], "has not contributed within 1.5 s")
        self.assertTrue(sleep_until(lambda: aggregator.status()["free_slots"] == 1024))

    def test_a_daemon_stops_without_a_word(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = self.workers(2, 1, "--calls", LONG, "--silence", "1000")
        self.wait_for_sums(aggregator)
        aggregator.process.send_signal(signal.SIGSTOP)
        self.assert_failed(workers, "silent for 1.0 s")

    def test_a_daemon_is_killed_and_comes_back(self):
        self.up(3)
        aggregator, = self.aggregators()
        # The second phase begins when the daemon is back.
        workers = self.workers(3, 1, "--calls", LONG, "--phases", "2", "--later-calls", "40")
        self.wait_for_sums(aggregator)
        aggregator.end()
        self.assert_failed(workers, "the aggregator")
        self.aggregators()
        self.assert_right(workers)

    def test_a_parent_is_killed_and_comes_back(self):
        self.up(4, two_level=True)
        root, leaf = self.aggregators()
        workers = self.workers(4, 1, "--calls", LONG, "--phases", "2", "--later-calls", "40")
        self.wait_for_sums(leaf)
        root.end()
        self.assert_failed(workers, "the aggregator")
        self.aggregator("leaf1")
        self.assert_right(workers)

    def test_a_clean_stop(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = self.workers(2, 1, "--calls", LONG)
        self.wait_for_sums(aggregator)
        aggregator.process.send_signal(signal.SIGTERM)
        self.assertEqual(aggregator.process.wait(timeout=10), 0)
        self.assert_failed(workers, "the aggregator was stopped")

    def test_it_sleeps_when_there_is_nothing_to_sum(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = self.workers(2, 1, "--calls", "20")
        self.assert_right(workers)  # they stay in their group
        before = self.processor_seconds(aggregator)
        time.sleep(2)
        self.assertLess(self.processor_seconds(aggregator) - before, 0.1)

    @staticmethod
    def processor_seconds(aggregator):
        """Return how long the daemon ran on a processor."""
        fields = pathlib.Path(f"/proc/{aggregator.process.pid}/stat").read_text().rsplit(")", 1)[1]
        ticks = [int(field) for field in fields.split()[11:13]]
        return sum(ticks) / os.sysconf("SC_CLK_TCK")

    def test_a_wrong_token(self):
        self.up(2)
        aggregator, = self.aggregators()
        for token in ("another secret", "a secret of this tesT", ""):
            worker, = self.workers(1, 1, "--seconds-to-form", "1", token=token)
            self.assertIn("wrong token", worker.result()["failure"])
        self.assertEqual(aggregator.status()["wrong_tokens"], 3)
        self.assertEqual(aggregator.status()["groups_admitted"], 0)

    def test_limits(self):
        self.up(2)
        aggregator, = self.aggregators("--jobs", "1", "--groups", "2", "--slots", "70")
        first = self.workers(2, 1, "--calls", LONG)
        self.wait_for_sums(aggregator)
        other_job, = self.workers(1, 2, "--seconds-to-form", "1")
        self.assertIn("no resources: all 1 jobs", other_job.result()["failure"])
        # The rest of the slots is less than what a group gets by default, and enough.
        second = self.workers(2, 1, "--group", "1", "--calls", "20")
        self.assert_right(second)
        self.assertEqual(aggregator.status()["free_slots"], 0)
        third, = self.workers(1, 1, "--group", "2", "--seconds-to-form", "1")
        self.assertIn("no resources: all 2 groups", third.result()["failure"])
        self.assertTrue(all(worker.process.poll() is None for worker in first))

    def places_of(self, aggregator):
        """Return where the daemon listens, HOST:PORT: its control channel, and UCX on each device."""
        process = aggregator.process.pid
        sockets = set()
        for path in pathlib.Path(f"/proc/{process}/fd").iterdir():
            try:
                if found := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(path)):
                    sockets.add(found[1])
            except OSError:  # closed meanwhile
                pass
        places = set()
        for line in pathlib.Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in sockets:
                host, port = (int(part, 16) for part in fields[1].split(":"))
                places.add(f"{ipaddress.ip_address(host.to_bytes(4, 'little'))}:{port}")
        return places

    def test_garbage_on_all_its_ports(self):
        self.up(2)
        aggregator, = self.aggregators()
        busy = self.workers(2, 1, "--calls", "2000", "--words", "300")
        self.wait_for_sums(aggregator)
        places = self.places_of(aggregator)
        self.assertGreaterEqual(len(places), 2)
        self.assertIn(f"10.77.0.251:{PORT}", places)
        subprocess.run([*self.on("switch"), sys.executable, "-c", NOISE, *places], check=True,
                       timeout=60)
        self.assertGreater(aggregator.status()["bad_messages"], 20)
        self.assert_right(busy)
        self.assert_right(self.workers(2, 2, "--calls", "20"))


if __name__ == "__main__":
    main_of_daemons()
