"""The job files as a user submits them: what they measure, what they skip, what they record."""

import re
import shutil
import subprocess

from box_case import BOX, OVER, PLAIN_APP, ROOT, JobCase, box_command, main

SWEEP = str(ROOT / "slurm" / "allreduce_sweep.sbatch")
SUBMIT = str(ROOT / "slurm" / "submit")
SMALL = {"SWEEP_INPUTS": "gauss", "SWEEP_SIZES": "64K", "SWEEP_FLAGS": "--iterations 2"}


class JobsTest(JobCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(subprocess.run, [BOX, "down", "--name", cls.name], check=False,
                            stdout=subprocess.DEVNULL)
        subprocess.run(box_command("up", name=cls.name), check=True)

    def test_sweep_with_each_launcher_and_rows_that_fail(self):
        settings = {**SMALL, "SITE_LAUNCHERS": "srun mpirun", "SWEEP_CODECS": "raw thk thc:bits=4",
                    "SWEEP_ALGORITHMS": "ring"}
        self.wait_for(self.submit("sbatch", SWEEP, **settings), "FAILED")
        rows = self.rows("allreduce_sweep")
        self.assertEqual(len(rows), 6, self.output())
        for launcher in ("srun", "mpirun"):
            for codec in ("raw", "thc:bits=4"):
                row = self.only(rows, codec.replace(":", "-") + "-ring-64K-gauss-4x1-" + launcher)
                self.assertEqual((row["schema"], row["ranks"]), ("cohom-bench/1", 4))
                self.assertEqual([result["codec"] for result in row["results"]], [codec])
                self.assertEqual(row["environment"]["COHOM_JOB"], f"allreduce_sweep 4x1 {launcher}")
            row = self.only(rows, f"thk-ring-64K-gauss-4x1-{launcher}")
            self.assertEqual(row["schema"], "cohom-failed/1")
            self.assertIn("did you mean thc", row["failed"]["message"])
            self.assertEqual(row["failed"]["exit_status"], 2)
            self.assertIn("cohom-bench --codec thk --algorithm ring", row["command"])
        self.assertIn("6 rows run, 2 of them failed, 0 were there already", self.output())

        self.wait_for(self.submit("sbatch", SWEEP, **settings), "FAILED")
        self.assertIn("2 rows run, 2 of them failed, 4 were there already", self.output())

    def test_sweep_over_ranks_a_node(self):
        settings = {**SMALL, "SWEEP_CODECS": "raw", "SWEEP_ALGORITHMS": "ring", "SITE_NODES": "2",
                    "SITE_LAUNCHERS": "srun mpirun", "SWEEP_TASKS_PER_NODE": "2 1"}
        self.wait_for(self.submit(SUBMIT, "allreduce_sweep", **settings), "COMPLETED")
        rows = self.rows("allreduce_sweep")
        self.assertEqual(len(rows), 4, self.output())
        for launcher in ("srun", "mpirun"):
            for shape, ranks in (("2x1", 2), ("2x2", 4)):
                row = self.only(rows, f"raw-ring-64K-gauss-{shape}-{launcher}")
                self.assertEqual(row["ranks"], ranks)
                self.assertEqual(row["environment"]["COHOM_JOB"],
                                 f"allreduce_sweep {shape} {launcher}")
        self.wait_for(self.submit("sbatch", "--nodes=2", SWEEP, **settings), "FAILED")
        self.assertIn("SWEEP_TASKS_PER_NODE: '2' should be a number from 1 to 1", self.output())

    def test_sweep_that_goes_as_cohom_tune_finds_out(self):
        settings = {**SMALL, "SWEEP_CODECS": "raw thc", "SWEEP_ALGORITHMS": "auto",
                    "SITE_NODES": "2", "SWEEP_TUNE": "yes"}
        self.wait_for(self.submit(SUBMIT, "allreduce_sweep", **settings), "COMPLETED")
        (decisions,) = (self.folder / "allreduce_sweep").glob("decisions-2x1-srun-*.txt")
        lines = [line for line in decisions.read_text().splitlines() if not line.startswith("#")]
        self.assertEqual(lines[0], "cohom-decisions 2")
        self.assertEqual({line.split()[1] for line in lines[1:]}, {"raw", "thc"}, lines)
        rows = self.rows("allreduce_sweep")
        self.assertEqual(len(rows), 2, self.output())
        for row in rows.values():
            self.assertEqual(row["environment"]["COHOM_DECISIONS"], str(decisions))
            (result,) = row["results"]
            (way,) = [line.split()[-1] for line in lines[1:] if line.split()[1] == result["codec"]]
            self.assertEqual(result["native_calls"] > 0, way == "native", lines)
        self.wait_for(self.submit(SUBMIT, "allreduce_sweep", **{**settings, "SWEEP_TUNE": "no"}),
                      "FAILED")
        self.assertIn("SWEEP_TUNE: 'no' should be yes or nothing", self.output())

    def test_a_program_that_nobody_changed(self):
        settings = {"SITE_NODES": "2", "SITE_TASKS_PER_NODE": "2", "COHOM_NATIVE": "never"}
        words = ("--", PLAIN_APP, "0", "real")
        rules = self.folder / "rules"  # where the job is submitted
        rules.write_text("codec=exact type=f64\n")
        self.wait_for(self.submit(SUBMIT, "program", *words, **settings, PROGRAM_RULES="rules"),
                      "COMPLETED")
        made = int(re.search(r"^calls (\d+)$", self.output(), re.MULTILINE)[1])
        self.assertIn(f" {made} calls of MPI_Allreduce:", self.output())
        self.assertRegex(self.output(), r" [1-9]\d* by \"codec=exact type=f64\"")
        self.wait_for(self.submit(SUBMIT, "program", "--job-name=advice", *words, **settings,
                                  SITE_LAUNCHERS="mpirun", PROGRAM_ADVISE="exact;raw"), "COMPLETED")
        self.assertRegex(self.output(), r"advice: \d+ calls of MPI_Allreduce on real numbers")
        for wrong, why in (({"PROGRAM_ADVISE": "yes", "PROGRAM_CODEC": "thc"}, "leave out"),
                           ({"SITE_LAUNCHERS": "srun mpirun"}, "should be srun or mpirun for a")):
            self.wait_for(self.submit(SUBMIT, "program", *words, **{**settings, **wrong}), "FAILED")
            self.assertIn(why, self.output())

    def only(self, rows, beginning):
        """Return the one row whose name begins like this."""
        found = [row for name, row in rows.items() if name.startswith(beginning)]
        self.assertEqual(len(found), 1, f"{beginning}: {list(rows)}")
        return found[0]

    def test_cancelled_sweep_goes_on(self):
        settings = {**SMALL, "SWEEP_CODECS": "raw thc", "SWEEP_SIZES": "64K 256K",
                    "SITE_NODES": "3"}
        folder = self.folder / "allreduce_sweep"
        number = self.submit(SUBMIT, "allreduce_sweep", **settings)
        self.wait_until(lambda: self.rows("allreduce_sweep"), "a row is there")
        self.wait_until(lambda: (folder / "row.running").exists() or len(self.rows(
            "allreduce_sweep")) > 1, "the next one runs")
        self.box("exec", ["scancel", number])
        self.wait_for(number, "CANCELLED")
        before = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
        self.assertLess(len(before), 8, "it was cancelled too late to see anything")
        self.assertTrue(all("results" in row for row in self.rows("allreduce_sweep").values()))

        self.wait_for(self.submit(SUBMIT, "allreduce_sweep", **settings), "COMPLETED")
        self.assertEqual(len(self.rows("allreduce_sweep")), 8)
        self.assertEqual({path: path.stat().st_mtime_ns for path in before}, before)
        self.assertIn(f"{8 - len(before)} rows run, 0 of them failed, {len(before)} were there",
                      self.output())
        self.assertTrue(all(row["ranks"] == 3 for row in self.rows("allreduce_sweep").values()))

    def test_sweep_out_of_time_records_no_failures(self):
        number = self.submit("sbatch", SWEEP, **{**SMALL, "SWEEP_SIZES": "64K 1M"})
        self.wait_until(lambda: self.rows("allreduce_sweep"), "a row is there")
        self.box("exec", ["scontrol", "update", f"JobId={number}", "EndTime=now+4"])
        self.wait_until(lambda: self.state_of(number) in OVER, "its time is over")
        self.assertIn("submit it again to go on", self.output())
        self.assertTrue(all("results" in row for row in self.rows("allreduce_sweep").values()))

    def test_rows_that_hang_and_launchers_that_do_not_match(self):
        settings = {**SMALL, "SWEEP_CODECS": "raw", "SWEEP_ALGORITHMS": "ring"}
        self.wait_for(self.submit("sbatch", "--job-name=slow", SWEEP, SITE_ROW_SECONDS="3",
                                  **{**settings, "SWEEP_FLAGS": "--iterations 1000000"}), "FAILED")
        self.wait_for(self.submit("sbatch", "--job-name=alone", SWEEP, **settings,
                                  SITE_SRUN="--mpi=pmix --ntasks=1"), "FAILED")
        self.wait_for(self.submit("sbatch", SWEEP, **settings, SITE_LAUNCHERS="srun ssh"), "FAILED")
        (slow,), (alone,) = self.rows("slow").values(), self.rows("alone").values()
        self.assertEqual(slow["failed"]["message"], "ended after SITE_ROW_SECONDS=3")
        self.assertIn("ran with 1 of 4 ranks", alone["failed"]["message"])
        self.assertIn("'ssh' should be srun or mpirun", self.output())
        self.assertEqual(self.rows("allreduce_sweep"), {})

    def test_a_copy_of_a_job_file_wants_to_know_its_checkout(self):
        copy = str(shutil.copy(SWEEP, self.folder / "mine.sbatch"))
        self.wait_for(self.submit("sbatch", copy), "FAILED")
        self.assertIn("is no checkout of cohom; set COHOM_ROOT", self.output())
        self.wait_for(self.submit("sbatch", copy, **SMALL, SWEEP_CODECS="raw",
                                  SWEEP_ALGORITHMS="ring", COHOM_ROOT=str(ROOT)), "COMPLETED")

    def test_a_site_s_file_says_what_is_measured_unless_the_environment_does(self):
        (self.folder / "mine.env").write_text(
            ': "${SWEEP_CODECS:=thc}" "${SWEEP_ALGORITHMS:=tree}"\n'
            f'. "{ROOT}/slurm/site.env"\n')
        self.wait_for(self.submit("sbatch", SWEEP, **SMALL, SITE_ENV="./mine.env",
                                  SWEEP_CODECS="raw"), "COMPLETED")
        (row,) = self.rows("allreduce_sweep").values()
        self.assertEqual([(result["codec"], result["algorithm"]) for result in row["results"]],
                         [("raw", "tree")])

    def test_codecs_of_a_node(self):
        settings = {"NODE_BENCHMARKS": "memcpy/256K|merge/(or|max)/256K",
                    "NODE_FLAGS": "--benchmark_min_time=0.001"}
        self.wait_for(self.submit(SUBMIT, "codec_node", **settings), "COMPLETED")
        rows = self.rows("codec_node")
        names = [entry["name"] for row in rows.values() for entry in row["benchmarks"]]
        self.assertEqual(sorted(names), ["memcpy/256K", "merge/max/256K", "merge/or/256K"])
        self.assertEqual(len(rows), 3)
        self.wait_for(self.submit(SUBMIT, "codec_node", **settings), "COMPLETED")
        self.assertIn("0 rows run, 0 of them failed, 3 were there already", self.output())


if __name__ == "__main__":
    main()
