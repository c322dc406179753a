"""The job file of an aggregator and its ranks, over the links of a lab."""

import json
import subprocess

from box_case import BOX, PLAIN_APP, ROOT, JobCase, main

import tools as lab_tools  # netlab's

NETLAB = str(ROOT / "benchmarks" / "netlab" / "netlab")
JOB = str(ROOT / "slurm" / "aggregator.sbatch")
SUBMIT = str(ROOT / "slurm" / "submit")
SMALL = {"SWEEP_INPUTS": "gauss", "SWEEP_SIZES": "256K", "SWEEP_FLAGS": "--iterations 2",
         "SWEEP_ALGORITHMS": "offload ring"}


class AggregatorTest(JobCase):
    def setUp(self):
        super().setUp()
        for program in (NETLAB, BOX):  # in the opposite order of their use
            self.addCleanup(subprocess.run, [program, "down", "--name", self.name], check=False,
                            stdout=subprocess.DEVNULL)
        subprocess.run([NETLAB, "up", "--name", self.name, "--hosts", "3"], check=True)
        self.box("up", "--netlab", self.name)

    def test_a_node_sums_for_two_others(self):
        settings = {**SMALL, "SWEEP_CODECS": "thc signcount", "SITE_NODES": "2"}
        self.wait_for(self.submit(SUBMIT, "aggregator", **settings), "COMPLETED")
        rows = self.rows("aggregator").values()
        self.assertEqual(len(rows), 4, self.output())
        self.assertEqual({row["ranks"] for row in rows}, {2})
        self.assertEqual({row["environment"]["COHOM_JOB"] for row in rows},
                         {"aggregator 1+2x1 srun"})
        results = [row["results"][0] for row in rows]
        for codec in ("thc", "signcount"):
            found = [result for result in results if result["codec"] == codec]
            self.assertEqual({result["algorithm"] for result in found}, {"offload", "ring"})
            self.assertEqual(len({result["result_hash"] for result in found}), 1)
        for result in results:
            if result["algorithm"] == "offload":
                self.assertGreater(result["offload"]["offloaded"], 2)
        status = json.loads((self.folder / "aggregator" / "aggregator.status").read_text())
        self.assertEqual((status["kind"], status["groups_admitted"]), ("daemon", 2))

        self.wait_for(self.submit(SUBMIT, "aggregator", **settings), "COMPLETED")
        self.assertIn("0 rows run, 0 of them failed, 4 were there already", self.output())

        # Slurm's munged in place of a token.
        self.wait_for(self.submit(SUBMIT, "aggregator", **{
            **settings, "SWEEP_CODECS": "raw", "SWEEP_ALGORITHMS": "offload",
            "AGGREGATOR_AUTH": "munge", "COHOM_LOG": "info"}), "COMPLETED")
        self.assertIn("1 rows run, 0 of them failed", self.output())
        self.assertIn("members prove themselves by munge",
                      (self.folder / "aggregator" / "aggregator.log").read_text())

        # A program's calls, too.
        rules = self.folder / "rules"
        rules.write_text("codec=exact algorithm=offload native=never\n")
        self.wait_for(self.submit(SUBMIT, "program_with_aggregator", "--", PLAIN_APP, "0", "real",
                                  SITE_NODES="2", PROGRAM_RULES=str(rules), COHOM_LOG="info"),
                      "COMPLETED")
        self.assertIn("codec exact by offload", self.output())
        self.assertRegex(self.output(), r" [1-9]\d* by \"codec=exact algorithm=offload")

        # The node of the aggregator is not forgotten, and mpirun would not know what is whose.
        self.wait_for(self.submit("sbatch", "--nodes=1", ":", "--nodes=2", JOB, **SMALL,
                                  SITE_LAUNCHERS="mpirun"), "FAILED")
        self.assertIn("'mpirun' should be srun", self.output())


if __name__ == "__main__":
    main(needs=lambda: lab_tools.why_not(lab_tools.LAB_TOOLS))
