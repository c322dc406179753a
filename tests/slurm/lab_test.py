"""A box whose nodes are the hosts of a netlab lab."""

import subprocess

from box_case import BOX, ROOT, JobCase, main

import tools as lab_tools  # netlab's

NETLAB = str(ROOT / "benchmarks" / "netlab" / "netlab")
SWEEP = str(ROOT / "slurm" / "allreduce_sweep.sbatch")


class LabTest(JobCase):
    def setUp(self):
        super().setUp()
        for program in (NETLAB, BOX):  # in the opposite order of their use
            self.addCleanup(subprocess.run, [program, "down", "--name", self.name], check=False,
                            stdout=subprocess.DEVNULL)
        subprocess.run([NETLAB, "up", "--name", self.name, "--hosts", "2"], check=True)

    def test_jobs_run_over_the_links(self):
        self.assertIn("has 2 hosts",
                      self.box("up", "--netlab", self.name, "--nodes", "3", status=1))
        self.assertIn("--switches 3: the box has 2 nodes",
                      self.box("up", "--netlab", self.name, "--switches", "3", status=1))
        self.box("up", "--netlab", self.name, "--switches", "2")
        self.assertIn("box exec", self.box("env", status=1))
        before = self.sent()
        self.wait_for(self.submit("sbatch", "--nodes=2", SWEEP, SITE_LAUNCHERS="srun mpirun",
                                  SWEEP_CODECS="raw", SWEEP_ALGORITHMS="ring", SWEEP_SIZES="1M",
                                  SWEEP_INPUTS="gauss", SWEEP_FLAGS="--iterations 2"), "COMPLETED")
        rows = self.rows("allreduce_sweep")
        self.assertEqual({row["host"] for row in rows.values()}, {f"{self.name}-h1"})
        self.assertEqual([row["ranks"] for row in rows.values()], [2, 2])
        self.assertEqual([row["topology"] for row in rows.values()],
                         [{"nodes": 2, "switches": 2}] * 2)
        payload = sum(row["results"][0]["wire_bytes_all_ranks"] for row in rows.values())
        self.assertGreater(self.sent() - before, 2 * payload)  # two iterations

    def sent(self):
        """Return how many bytes the hosts have sent."""
        text = subprocess.run([NETLAB, "status", "--name", self.name], capture_output=True,
                              text=True, check=True).stdout
        return sum(int(line.split()[4]) for line in text.splitlines() if "> " in line
                   and line.startswith(f"# {self.name}-h"))


if __name__ == "__main__":
    main(needs=lambda: lab_tools.why_not(lab_tools.LAB_TOOLS))
