"""Sums made in switches are exact, whatever the network does to packets."""

import json

from offload_case import OffloadCase, main


class SumsTest(OffloadCase):
    def check(self, ranks, hosts, two_level, loss, *arguments):
        """Sum with these workers; returns the aggregators' states and the workers' results."""
        self.up(hosts, two_level, loss)
        aggregators = self.aggregators()
        workers = self.workers(ranks, 1, "--calls", "60", *arguments)
        results = self.assert_right(workers)
        states = [aggregator.status() for aggregator in aggregators]
        if loss != "0":
            self.assertGreater(sum(result["repeated"] for result in results), 0)
        # What comes late or twice may be dropped; nothing else is.
        for state in states:
            self.assertLessEqual(set(self.dropped(state)), {"drop_old", "drop_repeated_sum"})
        return states, results

    def test_2_workers(self):
        states, _ = self.check(2, 2, False, "0")
        self.assertEqual(self.dropped(states[0]), {})
        group = states[0]["groups"][0]
        self.assertEqual(group["contributions"], 2 * group["sums"])
        self.assertEqual(group["state"], "open")

    def test_3_workers_some_loss(self):
        self.check(3, 3, False, "0.5%", "--words", "6000")

    def test_4_workers_little_loss(self):
        self.check(4, 4, False, "0.1%", "--words", "20000")

    def test_4_workers_much_loss(self):
        self.check(4, 4, False, "2%")

    def test_8_workers_two_a_host_much_loss(self):
        self.check(8, 4, False, "2%")

    def test_2_levels(self):
        states, _ = self.check(4, 4, True, "0")
        self.assertEqual(states[1]["parent"], "10.77.0.251:47000")
        sums = states[0]["groups"][0]["sums"]
        self.assertEqual(states[1]["packets"]["passed_up"], sums)
        # Two workers of its own, and the leaf.
        self.assertEqual(states[0]["groups"][0]["contributions"], 3 * sums)

    def test_a_late_worker_is_no_failure(self):
        self.up(4, two_level=True)
        root, leaf = self.aggregators()
        workers = [self.worker(rank, 4, 1, "--calls", "4", "--silence", "500",
                               "--pause", "1500" if rank == 0 else "0") for rank in range(4)]
        self.assert_right(workers)
        self.assertGreater(leaf.status()["packets"]["passed_up_again"], 0)
        self.assertGreater(root.status()["packets"]["told_waiting"], 0)

    def test_2_levels_4_workers_little_loss(self):
        self.check(4, 4, True, "0.1%", "--words", "20000")

    def test_2_levels_5_workers_some_loss(self):
        self.check(5, 5, True, "0.5%", "--words", "6000")

    def test_2_levels_8_workers_much_loss(self):
        states, _ = self.check(8, 4, True, "2%")
        self.assertGreater(states[1]["packets"]["passed_up_again"], 0)

    def test_repeated_and_reordered_packets(self):
        states, _ = self.check(3, 3, False, "0", "--repeat", "0.1", "--reorder", "0.3", "--lose",
                               "0.01")
        packets = states[0]["packets"]
        repeated = packets["answered"] + packets["told_waiting"] + packets.get("drop_old", 0)
        self.assertGreater(repeated, 0)

    def test_packets_and_windows_of_all_sizes(self):
        for job, (payload, slots) in enumerate([(8, 4), (1000, 5), (8192, 64), (3072, 1)]):
            with self.subTest(payload=payload, slots=slots):
                self.check(2, 2, False, "0", "--payload", str(payload), "--slots", str(slots),
                           "--words", "300")
                self.doCleanups()
                self.setUp()

    def test_a_queue_shorter_than_what_is_under_way(self):
        self.up(4, rate="100mbit")
        self.aggregators()
        # 64 packets a call: half a megabyte, of which the queue holds three fifths. 42 ms at line
        # rate.
        workers = self.workers(4, 1, "--unchecked", "--words", "65536", "--calls", "20")
        results = [worker.result() for worker in workers]
        self.assertGreater(json.loads(self.netlab("counters"))["drops"], 0)
        # Losses that are found one by one, a timeout each, take seconds a call.
        for result in results:
            self.assertLess(result.get("call_seconds", 9), 2, result)

    def test_two_jobs_at_once(self):
        self.up(3, loss="0.1%")
        aggregator, = self.aggregators()
        first = self.workers(3, 1, "--calls", "60")
        second = self.workers(3, 2, "--calls", "60", "--group", "5")
        self.assert_right(first)
        self.assert_right(second)
        self.assertEqual(aggregator.status()["jobs"], 2)


if __name__ == "__main__":
    main()
