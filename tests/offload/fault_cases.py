"""What all aggregators' workers live through: those who die and come back or do not belong."""

import signal
import time

from offload_case import OffloadCase, job_id
from serving import sleep_until

LONG = "100000000"  # calls: more than there is time for


class FaultCases(OffloadCase):
    """The cases; a class of its own for each kind of aggregator says what else is to be seen."""

    group_slots = 0  # of a group that asks for nothing

    def check_killed(self):
        """Look at what a killed aggregator left."""

    def check_back(self):
        """Look at what its successor made of that."""

    def check_stopped(self):
        """Look at what one left that was told to stop."""

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

    def test_a_worker_dies(self):
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
        self.assertEqual(status["free_slots"], status["slots"] - self.group_slots)
        # Survivors wait for a new worker 1, without slots.
        states = {group["job"]: group for group in status["groups"]}
        self.assertEqual(states[job_id(2)]["state"], "open")
        self.assertEqual(states.get(job_id(1), {"slots": 0})["slots"], 0)
        before = states[job_id(2)]["sums"]
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
            # Survivors may be waiting for another worker 3, without slots.
            self.assertTrue(sleep_until(lambda a=aggregator: a.status()["free_slots"] == 1024))

    def test_a_worker_stops_without_a_word(self):
        self.up(2)
        aggregator, = self.aggregators()
        workers = self.workers(2, 1, "--calls", LONG, "--lateness", "1500")
        self.wait_for_sums(aggregator)
        workers[1].process.send_signal(signal.SIGSTOP)
        self.assert_failed(workers[:1], "has not contributed within 1.5 s")
        self.assertTrue(sleep_until(lambda: aggregator.status()["free_slots"] == 1024))

    def test_an_aggregator_is_killed_and_comes_back(self):
        self.up(3)
        aggregator, = self.aggregators()
        # The second phase begins when the aggregator is back.
        workers = self.workers(3, 1, "--calls", LONG, "--phases", "2", "--later-calls", "40")
        self.wait_for_sums(aggregator)
        aggregator.end()
        self.assert_failed(workers, "the aggregator")
        self.check_killed()
        self.aggregators()
        self.check_back()
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
        self.check_stopped()

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
        aggregator, = self.aggregators("--jobs", "1", "--groups", "2", "--slots",
                                       str(self.group_slots + 6))
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
