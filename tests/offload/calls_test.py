"""Whole calls over aggregators on a lab's switches: a ring's bits, whatever sums, or when it dies.

The program is cohom-bench, given by the environment variable COHOM_BENCH.
"""

import os
import pathlib
import signal
import subprocess
import tempfile

from offload_case import AGGREGATOR, NETLAB, PORT, OffloadCase, main_of_daemons, read_json
from serving import sleep_until

BENCH = os.environ.get("COHOM_BENCH", "build/bin/cohom-bench")
WITH_ENV = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "with-env"
RANKS_OF_A_TREE = int(os.environ.get("COHOM_TEST_TREE_RANKS", "4"))
CODECS = ["thc", "thc:levels=full", "signcount", "marsit", "sketch"]


class CallsTest(OffloadCase):
    daemons = True

    def setUp(self):
        """Make a folder for results."""
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.rows_file = f"{folder.name}/rows"

    def start_bench(self, ranks, *arguments, address=f"switch:{PORT}", tail=()):
        """Start cohom-bench on the hosts, which know this aggregator."""
        environment = self.environment()
        environment["COHOM_AGGREGATOR"] = address
        process = subprocess.Popen(
            [NETLAB, "run", "--name", self.name, "-n", str(ranks), "--mca", "mca_base_env_list",
             "COHOM_AGGREGATOR;COHOM_AGGREGATOR_TOKEN", "--", BENCH, "--quiet", "--json",
             self.rows_file, *arguments, *tail],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def rows_of(self, process):
        """Return the rows of cohom-bench, which should end well."""
        output, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, output)
        return read_json(self.rows_file)["results"]

    def assert_ring_bits(self, rows, calls_at_least=3):
        """Fail unless every codec has one result, and all calls that were to be offloaded were."""
        for codec in {row["codec"] for row in rows}:
            same = [row for row in rows if row["codec"] == codec]
            self.assertEqual({row["algorithm"] for row in same}, {"ring", "offload"})
            self.assertEqual(len({row["result_hash"] for row in same}), 1, codec)
        for row in rows:
            if row["algorithm"] == "offload":
                self.assertGreaterEqual(row["offload"]["offloaded"], calls_at_least, row)
                self.assertEqual((row["offload"]["repeated"], row["offload"]["declined"]), (0, 0),
                                 row)

    def bench_all_codecs(self, ranks, **options):
        """Run all codecs by both ways; returns the rows."""
        flags = [text for codec in CODECS for text in ("--codec", codec)]
        return self.rows_of(self.start_bench(ranks, *flags, "--algorithm", "ring,offload", "--size",
                                             "300K", "--steps", "4", "--check-only", **options))

    def test_bits_of_a_ring(self):
        self.up(4)
        aggregator, = self.aggregators()
        for ranks in (2, 3, 8):
            with self.subTest(ranks=ranks):
                self.assert_ring_bits(self.bench_all_codecs(ranks))
        self.assertEqual(self.dropped(aggregator.status()), {})

    def test_bits_of_a_ring_on_two_levels(self):
        self.up(4, two_level=True)
        root, leaf = self.aggregators()
        self.assert_ring_bits(self.bench_all_codecs(RANKS_OF_A_TREE))
        self.assertGreater(leaf.status()["packets"]["passed_up"], 0)
        self.assertEqual(self.dropped(root.status()), {})

    def test_a_daemon_that_is_a_part_of_the_job(self):
        self.up(3)
        # Hosts know the names of hosts; mpirun puts the fourth process on the first.
        rows = self.bench_all_codecs(3, address="", tail=[":", "-n", "1", AGGREGATOR])
        self.assert_ring_bits(rows)

    def test_a_daemon_is_killed_and_comes_back(self):
        self.up(3)
        aggregator, = self.aggregators()
        process = self.start_bench(3, "--codec", "thc", "--algorithm", "offload", "--size", "64K",
                                   "--warmup", "1", "--iterations", "4000")
        self.assertTrue(sleep_until(lambda: self.sums(aggregator) > 200, 60))
        aggregator.process.send_signal(signal.SIGKILL)
        aggregator.end()
        aggregator, = self.aggregators()
        self.assertTrue(sleep_until(lambda: self.sums(aggregator) > 200, 60), aggregator.status())
        row, = self.rows_of(process)
        # Repeated are calls in the middle of which it was; most of the time native ones run.
        self.assertGreaterEqual(row["offload"]["declined"], 1)
        self.assertGreater(row["offload"]["offloaded"], 100)

    @staticmethod
    def sums(aggregator):
        """Return how many sums the groups of an aggregator have."""
        return sum(group["sums"] for group in aggregator.status()["groups"])

    def test_two_jobs_at_once(self):
        self.up(4)
        aggregator, = self.aggregators()
        arguments = ["--quiet", "--codec", "thc", "--algorithm", "offload,ring", "--size", "256K"]
        # The longer one: what else runs in the lab ends with it.
        first = self.start_bench(4, *arguments, "--iterations", "450")
        self.assertTrue(sleep_until(lambda: self.sums(aggregator) > 20, 60))
        # netlab runs one job at a time; the other one's ranks are on one host.
        second = subprocess.run(
            [*self.on("h2"), str(WITH_ENV), "mpirun", "-n", "2", BENCH, *arguments,
             "--iterations", "75", "--json", f"{self.rows_file}2"], check=False, timeout=150,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**self.environment(), "COHOM_AGGREGATOR": f"switch:{PORT}"})
        self.assertEqual(second.returncode, 0, second.stdout)
        self.assert_ring_bits(read_json(f"{self.rows_file}2")["results"])
        self.assert_ring_bits(self.rows_of(first))
        self.assertEqual(aggregator.status()["groups_admitted"], 2)


if __name__ == "__main__":
    main_of_daemons()
