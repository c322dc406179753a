"""One result, whoever sums: the same hash by all ways. The table that it prints is the proof.

The ways are a ring over MPI and over UCX, below MPI, a switch, a daemon, and two levels of either.

The program is cohom-bench, given by the environment variable COHOM_BENCH.
"""

import os
import subprocess
import tempfile

from offload_case import NETLAB, PORT, OffloadCase, main, read_json

BENCH = os.environ.get("COHOM_BENCH", "build/bin/cohom-bench")
WITH_UCX = not os.environ.get("COHOM_WHY_NO_UCX")
CODECS = ["thc", "signcount", "marsit", "sketch:cells=i64"]
RANKS = 4


class SameBitsTest(OffloadCase):
    def setUp(self):
        """Make a table without lines."""
        super().setUp()
        self.hashes = {}  # by who sums: those of the codecs

    def bench(self, who, algorithm, *arguments):
        """Run all codecs by an algorithm; add their hashes to the table."""
        with tempfile.TemporaryDirectory() as folder:
            codecs = [text for codec in CODECS for text in ("--codec", codec)]
            done = subprocess.run(
                [NETLAB, "run", "--name", self.name, "-n", str(RANKS), "--mca", "mca_base_env_list",
                 "COHOM_AGGREGATOR;COHOM_AGGREGATOR_TOKEN", "--", BENCH, "--quiet", *codecs,
                 "--algorithm", algorithm, "--size", "1M", "--steps", "2", "--check-only", "--json",
                 f"{folder}/rows", *arguments],
                capture_output=True, text=True, check=False, timeout=120,
                env={**self.environment(), "COHOM_AGGREGATOR": f"switch:{PORT}"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rows = read_json(f"{folder}/rows")["results"]
        self.hashes[who] = [row["result_hash"] for row in rows]
        for row in rows:
            self.assertEqual(row["algorithm"], algorithm)
            self.assertTrue(row["identical_across_ranks"], row)
            if algorithm == "offload":
                self.assertGreater(row["offload"]["offloaded"], 0, row)
                self.assertEqual((row["offload"]["repeated"], row["offload"]["declined"]), (0, 0),
                                 row)

    def bench_in_network(self, who):
        """Start aggregators on the switches, and let them sum."""
        aggregators = self.aggregators()
        self.bench(who, "offload")
        for aggregator in aggregators:
            aggregator.end()

    def bench_switches_and_daemons(self, levels):
        """Let both kinds sum, one after the other."""
        self.daemons = False
        self.bench_in_network(f"eBPF switch, {levels}")
        if WITH_UCX:
            self.daemons = True
            self.bench_in_network(f"daemon, {levels}")

    def test_whoever_sums(self):
        self.up(RANKS)
        self.bench("ring over MPI", "ring")
        if WITH_UCX:
            self.bench("ring over UCX", "ring", "--transport", "ucx")
        self.bench("fabric", "fabric")
        self.bench_switches_and_daemons("one level")
        self.netlab("down")
        self.up(RANKS, two_level=True)
        self.bench_switches_and_daemons("two levels")

        print("\n" + f"{'who sums':<26}" + "".join(f"{codec:<18}" for codec in CODECS))
        for who, hashes in self.hashes.items():
            print(f"{who:<26}" + "".join(f"{value:<18}" for value in hashes), flush=True)
        self.assertEqual(len(self.hashes), 7 if WITH_UCX else 4)
        for i, codec in enumerate(CODECS):
            self.assertEqual(len({hashes[i] for hashes in self.hashes.values()}), 1, codec)


if __name__ == "__main__":
    main(needs=["mpirun"])
