"""Daemons on a lab's switches: right sums, those who die and come back, those who do not belong."""

import os
import pathlib
import signal
import time

import fault_cases
import hostile_packets
from fault_cases import LONG
from offload_case import PORT, main_of_daemons
from serving import LETHAL, child_of, listening, sleep_until


class DaemonTest(fault_cases.FaultCases):
    daemons = True
    group_slots = 64

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

    @staticmethod
    def server_of(aggregator):
        """Return the process that serves."""
        return child_of(aggregator.process.pid)

    def test_a_daemon_stops_without_a_word(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = self.workers(2, 1, "--calls", LONG, "--silence", "1000")
        self.wait_for_sums(aggregator)
        os.kill(self.server_of(aggregator), signal.SIGSTOP)
        self.assert_failed(workers, "silent for 1.0 s")

    def test_workers_die_over_and_over(self):
        """A sum that is sent to a worker that has just died must not end the daemon.

        Where UCX handles several events a look, one in 15 such deaths ends a daemon, which 30 of
        them show.
        """
        self.up(4, two_level=True)
        root, leaf = self.aggregators()
        for job in range(1, 31):
            workers = self.workers(4, job, "--calls", LONG)
            self.wait_for_sums(root)
            workers[3].process.kill()
            self.assert_failed(workers[:3], "has left")
            for worker in workers:
                worker.end()
            for aggregator in (root, leaf):
                self.assertIsNone(aggregator.process.poll())
                self.assertTrue(sleep_until(lambda a=aggregator: a.status()["groups"] == []))

    def test_it_sleeps_when_there_is_nothing_to_sum(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = self.workers(2, 1, "--calls", "20")
        self.assert_right(workers)  # they stay in their group
        before = self.processor_seconds(aggregator)
        time.sleep(2)
        self.assertLess(self.processor_seconds(aggregator) - before, 0.1)

    def processor_seconds(self, aggregator):
        """Return how long the daemon ran on a processor."""
        process = self.server_of(aggregator)
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1]
        ticks = [int(field) for field in fields.split()[11:13]]
        return sum(ticks) / os.sysconf("SC_CLK_TCK")

    def test_bytes_that_end_the_process_end_nothing_else(self):
        """Thirteen bytes from anybody at a port of UCX: jobs go on without it until it is back."""
        self.up(2)
        aggregator, = self.aggregators()
        workers = self.workers(2, 1, "--calls", LONG, "--phases", "2", "--later-calls", "40")
        self.wait_for_sums(aggregator)
        server = self.server_of(aggregator)
        hostile_packets.call_on(self.on("h1"), [(*place, LETHAL) for place in listening(server)
                                                if place[1] != PORT])
        self.assert_failed(workers, "the aggregator")
        self.assertTrue(sleep_until(lambda: self.server_of(aggregator) not in (None, server), 3))
        self.assert_right(workers)
        state = aggregator.status()
        self.assertEqual(state["restarts"], 1)
        aggregator.process.send_signal(signal.SIGTERM)
        self.assertEqual(aggregator.process.wait(timeout=10), 0)

    def test_garbage_on_all_its_ports(self):
        self.up(2)
        aggregator, = self.aggregators()
        busy = self.workers(2, 1, "--calls", "2000", "--words", "300")
        self.wait_for_sums(aggregator)
        places = listening(self.server_of(aggregator))
        self.assertGreaterEqual(len(places), 2)
        self.assertIn(("10.77.0.251", PORT), places)
        # UCX listens on the device of --listen, whatever others there are.
        self.assertEqual({address for address, _ in places}, {"10.77.0.251"})
        sizes = [*range(64), *range(64, 9000, 97)]
        hostile_packets.call_on(self.on("switch"), [
            (*place, os.urandom(size) if size % 2 else bytes(size))
            for place in places for size in sizes])
        self.assertGreater(aggregator.status()["bad_messages"], 20)
        self.assert_right(busy)
        self.assert_right(self.workers(2, 2, "--calls", "20"))


if __name__ == "__main__":
    main_of_daemons()
