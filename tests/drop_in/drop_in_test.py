"""Programs that know nothing of cohom, started by cohom-exec.

usage: drop_in_test.py COHOM_EXEC PLAIN_APP TOOL MPIRUN...
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

EXEC, APP, TOOL, *LAUNCHER = sys.argv[1:]
# Else a rank may be ended before it has said anything.
RETURNS = {"PLAIN_APP_RETURNS": "1"}


class Done:
    """A job that is over."""

    def __init__(self, done):
        self.status, self.output, self.log = done.returncode, done.stdout, done.stderr
        self.text = f"exit status {self.status}\n{self.output}{self.log}"

    def made(self):
        """Return how many calls the program made."""
        return int(re.search(r"^calls (\d+)$", self.output, re.MULTILINE)[1])

    def counted(self, text=r"calls? of MPI_Allreduce(?: and MPI_Reduce_scatter_block)?:$"):
        """Return how many calls the summary counts, of all or behind which it has this text."""
        found = re.search(rf"(\d+) {text}", self.log, re.MULTILINE)
        return int(found[1]) if found else 0


class DropInTest(unittest.TestCase):
    def run_job(self, flags, *program, ranks=3, **variables):
        """Run a program under cohom-exec."""
        environment = {**os.environ, "COHOM_NATIVE": "never", **variables}
        return Done(subprocess.run(
            [EXEC, *flags, *LAUNCHER, str(ranks), *program], env=environment, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240))

    def run_app(self, flags, tolerance, *cases, **settings):
        return self.run_job(flags, APP, str(tolerance), *cases, **settings)

    def expect_counted(self, job):
        self.assertEqual(job.status, 0, job.text)
        self.assertEqual(job.counted(), job.made(), job.text)

    def test_without_rules_nothing_changes_and_one_line_says_so(self):
        job = self.run_app([], 0, "real", "native", "communicators")
        self.assertEqual(job.status, 0, job.text)
        self.assertEqual(job.log.count("the drop-in library changes nothing"), 1, job.text)
        self.assertNotIn("calls of MPI_Allreduce", job.log)

    def test_sums_by_each_codec(self):
        for codec, tolerance in (("exact", 0), ("raw", 0), ("thc", 0.3)):
            with self.subTest(codec):
                job = self.run_app(["--codec", codec], tolerance, "real", "native")
                self.expect_counted(job)
                self.assertEqual(job.counted(f'by "codec={codec}"'), 6, job.text)
                self.assertEqual(job.counted("left to MPI: another operation"), 3, job.text)
                self.assertEqual(job.counted("left to MPI: another type"), 2, job.text)
                self.assertEqual(job.counted("left to MPI: a communicator of one"), 1, job.text)
                self.assertEqual(job.counted("call of MPI_Iallreduce, which is MPI's"), 1, job.text)

    def test_parts_of_sums_where_a_rule_says_so(self):
        for codec, tolerance in (("exact", 0), ("raw", 0), ("thc", 0.3)):
            with self.subTest(codec):
                job = self.run_app(["--codec", codec], tolerance, "parts")
                self.expect_counted(job)
                left = "left to MPI: MPI_Reduce_scatter_block, and the rule"
                self.assertEqual(job.counted(left), 2, job.text)
                rule = f"codec={codec} reduce_scatter_block=yes"
                job = self.run_app([], tolerance, "parts", COHOM_DROP_IN=rule)
                self.expect_counted(job)
                self.assertEqual(job.counted(f'by "{rule}"'), 2, job.text)

    def test_mpi_refuses_wrong_arguments(self):
        alone = subprocess.run([*LAUNCHER, "3", APP, "0", "wrong"], check=False, timeout=240,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if re.search("Assertion failed in file src/mpi|/mpich-.*Assertion", alone.stdout):
            self.skipTest("this MPICH was built without checks of arguments, as Debian's is")
        self.assertEqual(alone.returncode, 0, alone.stdout)
        job = self.run_app(["--codec", "exact"], 0, "wrong")
        self.expect_counted(job)
        self.assertEqual(job.counted("left to MPI: a wrong count, buffer or"), 3, job.text)

    def test_each_program_of_a_job_has_the_library(self):
        job = self.run_job(["--codec=exact"], APP, "0", "real", ":", "-n", "1", APP, "0", "real",
                           ranks=1)
        self.expect_counted(job)

    def test_communicators_come_and_go(self):
        job = self.run_app(["--codec", "exact"], 0, "communicators", ranks=4)
        self.expect_counted(job)
        self.assertEqual(job.counted('by "codec=exact"'), 11, job.text)
        self.assertEqual(job.counted("left to MPI: a communicator between two"), 1, job.text)

    def test_keys_of_a_communicator_are_its_own(self):
        job = self.run_app([], 0, "keys")
        self.expect_counted(job)
        self.assertEqual(job.counted("by Info keys"), 4, job.text)
        self.assertEqual(job.counted("left to MPI: no rule"), 4, job.text)
        self.assertNotIn("nothing reads", job.log)

    def test_keys_of_others_change_none_of_them(self):
        job = self.run_app([], 0, "keys of others last")
        self.expect_counted(job)
        self.assertEqual(job.counted("by Info keys"), 2, job.text)

    def test_keys_that_are_refused_are_never_in_force(self):
        for rules in ("", "codec=exact bytes=1G:"):
            with self.subTest(rules):
                job = self.run_app([], 0, "refused keys", COHOM_DROP_IN=rules)
                self.assertEqual(job.status, 0, job.text)

    def test_threads_have_communicators_of_their_own(self):
        self.expect_counted(self.run_app(["--codec", "exact"], 0, "threads"))

    def test_the_first_rule_that_fits_decides(self):
        with tempfile.NamedTemporaryFile("w", suffix=".rules") as rules:
            rules.write("# short ones\ncodec=native bytes=:64K\n"
                        "codec=exact type=f64  # doubles\ncodec=raw ranks=4:\n")
            rules.flush()
            job = self.run_app(["--rules", rules.name], 0, "real")
        self.expect_counted(job)
        self.assertEqual(job.counted('by "codec=exact type=f64"'), 2, job.text)
        self.assertEqual(job.counted("left to MPI: codec=native"), 2, job.text)
        self.assertEqual(job.counted("left to MPI: no rule fits"), 2, job.text)

    def test_bypassed_calls_are_told_apart(self):
        # Two of "real" are of a few numbers, too.
        for cases, all_calls, bypassed in ((("real",), 6, 2), (("real", "short"), 9, 5)):
            with self.subTest(cases):
                job = self.run_app(["--codec", "thc"], 0.3, *cases)
                self.expect_counted(job)
                self.assertEqual(job.counted('by "codec=thc"'), all_calls, job.text)
                self.assertEqual(job.counted("uncompressed, as compressing does not pay"),
                                 bypassed, job.text)
        job = self.run_app(["--codec", "raw"], 0, "real", "short")
        self.assertNotIn("uncompressed", job.log)

    def test_wrong_rules_are_one_error(self):
        for rules, said in (("codec=exact bytes=64K", 'bytes=64K" should be a range'),
                            ("codek=exact", 'codek=exact" should be a condition'),
                            ("bytes=64K:", "should be a rule with codec=SPEC"),
                            ("codec=exact type=f16", "type=f32 or type=f64"),
                            ("codec=exact reduce_scatter_block=on", "should be yes or no"),
                            ("codec=exact codec=native", "the rule has another word"),
                            # Of a rule that fits no call, too.
                            ("codec=thc:bits=99 bytes=1G:", "should be a spec of a codec: "),
                            ("@/nothing/there", "cannot be read")):
            with self.subTest(rules):
                job = self.run_app([], 0, "real", COHOM_DROP_IN=rules, **RETURNS)
                self.assertNotEqual(job.status, 0, job.text)
                self.assertIn(said, job.log)

    def test_ranks_that_differ_are_an_error(self):
        """Rank 0 has other rules than the others, or it alone has some."""
        for other in ("codec=raw", ""):
            with self.subTest(other):
                script = f"[ $OMPI_COMM_WORLD_RANK$PMI_RANK = 0 ] || export COHOM_DROP_IN='{other}'"
                job = self.run_job(["--codec", "exact"], "sh", "-c", script + '; exec "$@"', "sh",
                                   APP, "0", "real", **RETURNS)
                self.assertNotEqual(job.status, 0, job.text)
                self.assertIn("differ between ranks", job.log)
        for case in ("different keys", "different keys first"):
            with self.subTest(case):
                job = self.run_app([], 0, case, **RETURNS)
                self.assertNotEqual(job.status, 0, job.text)
                self.assertIn("differ between ranks", job.log)

    def test_calls_that_differ_are_an_error_and_no_wrong_sum(self):
        job = self.run_app(["--codec", "exact"], 0, "counts", **RETURNS)
        self.assertNotEqual(job.status, 0, job.text)
        self.assertIn("ranks disagree on count (rank 0: 100003; the other 2: 100002)", job.log)

    def test_a_tool_behind_sees_what_stays_native(self):
        job = self.run_app(["--codec", "exact"], 0, "real", "native", LD_PRELOAD=TOOL)
        self.expect_counted(job)
        self.assertIn("the tool saw 6\n", job.output)

    def test_advice_changes_nothing_and_knows_the_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            self.advice(pathlib.Path(folder))

    def advice(self, folder):
        advise = str(pathlib.Path(EXEC).with_name("cohom-advise"))
        rules, found = folder / "rules", folder / "advice.json"
        done = Done(subprocess.run(
            [advise, "--codecs", "exact;thc;thk", "--write-rules", str(rules), f"--json={found}",
             *LAUNCHER, "3", APP, "0", "real", "real"], check=False,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240))
        self.assertEqual(done.status, 0, done.text)
        self.assertEqual(done.counted(r"calls of MPI_Allreduce on real numbers"), done.made())
        # A function of a file without names that others can see, and its line.
        kinds = re.findall(r"(\d+) calls of +(\w+ \w+) (f\d+), 3 ranks, .* s: .*\bsum\b.* at "
                           r"plain_app.cpp:\d+ in \w*plain_app$", done.log, re.MULTILINE)
        self.assertEqual(sorted(kinds)[-2:], [("4", "391 KiB", "f32"), ("4", "781 KiB", "f64")])
        self.assertEqual(len(re.findall(r"exact +[0-9.]+ times as fast, error 0\n", done.log)), 2)
        self.assertEqual(len(re.findall(r"thc +[0-9.]+ times as fast, error 0\.\d+\n", done.log)),
                         2, done.text)
        self.assertIn('did you mean thc', done.log)
        self.assertNotRegex(done.log, r"without loss.*\n *codec=thc")

        document = json.loads(found.read_text())
        self.assertEqual((document["schema"], document["calls"]), ("cohom-advice/1", done.made()))
        sites = sorted((site["bytes"], site["type"], site["calls"])
                       for site in document["sites"] if site["samples"])
        self.assertEqual(sites, [(400_012, "f32", 4), (800_024, "f64", 4)])
        for site in document["sites"]:
            for trial in site["trials"]:
                self.assertEqual(trial["refusal"] is None, trial["codec"] != "thk")
                self.assertEqual(trial["error"] == 0, trial["codec"] == "exact")
        # Without a comment's mark only what loses nothing.
        lines = [line for line in rules.read_text().splitlines() if not line.startswith("#")]
        lossless = document["rules"]["lossless"]
        self.assertEqual(lines, [lossless["rule"]] if lossless else [])
        job = self.run_app(["--rules", str(rules)], 0, "real")
        self.assertEqual(job.status, 0, job.text)

    def test_advice_that_cannot_be_written_is_no_failure_of_the_program(self):
        advise = str(pathlib.Path(EXEC).with_name("cohom-advise"))
        words = [*LAUNCHER, "2", APP, "0", "real"]
        refused = subprocess.run([advise, "--json", "/nowhere/x", *words], capture_output=True,
                                 text=True, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--json '/nowhere/x' should be a file in a folder", refused.stderr)
        late = subprocess.run([advise, "--json", "/dev/full", *words], capture_output=True,
                              text=True, check=False)
        self.assertEqual(late.returncode, 0, late.stderr)
        self.assertIn("COHOM_ADVISE_JSON, /dev/full: it is no regular file", late.stderr)

    def test_the_command_line_says_what_is_wrong(self):
        for flags, said in ((["--codec"], "--codec needs a spec"),
                            (["--codec", "thc;raw"], "should be one word"),
                            (["--rules", "/nothing"], "should be a file that can be read")):
            done = subprocess.run([EXEC, *flags], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
