"""Tests of what cohom-report reads: nothing is passed over."""

import unittest

from report_case import FolderCase, bench, bench_row, netlab

import documents


class CollectTest(FolderCase):
    def only_failure(self, *paths):
        """Return the one failure that collecting gives."""
        failed = documents.collect(paths or [self.folder]).failed
        self.assertEqual(len(failed), 1, failed)
        return failed[0]

    def test_merges_the_files_below_folders(self):
        self.write("a/1.json", bench(bench_row()))
        self.write("b/2.json", bench(bench_row(), bench_row(codec="raw")))
        found = documents.collect([self.folder, self.folder / "a/1.json"])
        self.assertEqual([run.job for run in found.runs], ["a", "b"])
        self.assertEqual((len(found.rows), found.failed), (3, []))

    def test_what_cannot_be_read_is_a_failure(self):
        self.assertIn("No such file", self.only_failure(self.folder / "missing.json").message)
        self.assertIn("without any", self.only_failure().message)
        for content, message in (("", "Expecting value"), ("{", "Expecting"), ("[1]", "no JSON"),
                                 ('{"schema": "x"}', "'x' is none of"), ("NaN", "NaN is no JSON"),
                                 ('{"a": 1e400}', "1e400 is too large"),
                                 ("[" * 100000, "recursion")):
            path = self.write("x.json", content)
            self.assertIn(message, self.only_failure(path).message)
        path.write_bytes(b"\xff\xfe{}")
        self.assertIn("decode", self.only_failure(path).message)

    def test_what_is_not_as_its_schema_says_is_a_failure(self):
        broken = bench(bench_row())
        del broken["results"][0]["codec"]
        for document, message in (
                (broken, "row 1 has no codec"),
                (bench(bench_row(bytes="1M")),
                 "row 1: bytes is '1M', which should be a whole number"),
                (bench(bench_row(bytes=True)), "row 1: bytes is True"),
                (bench(bench_row(bytes=-4)), "row 1: bytes is -4"),
                (bench(bench_row(bytes=10**400)), "is too large a number"),
                (bench(bench_row(elements=0)), "row 1: 0 elements have 1048576 bytes"),
                (bench(bench_row(dtype="i32")), "row 1: dtype is 'i32', not one of f16, bf16"),
                (bench(bench_row(algorithm="../x")), "row 1: algorithm is '../x'"),
                (bench(bench_row(wire_bytes_per_rank=-5)), "row 1: wire_bytes_per_rank is -5"),
                (bench(bench_row(wire_bytes_formula_by_ranks={"8": -1})), "by_ranks is"),
                (bench(bench_row(agreement_rounds="x")), "agreement_rounds is 'x'"),
                (bench(bench_row(agreement_rounds=-1)), "agreement_rounds is -1"),
                (bench(bench_row(time_s={})), "row 1: time_s has no min"),
                (bench(bench_row(time_s={"min": 0, "median": 0, "p99": 1})),
                 "row 1: time_s: median is 0, which should be positive"),
                (bench(bench_row(vnmse="x")), "vnmse is 'x', which should be a number or null"),
                (bench(bench_row(profile_s={"agree": 1})), "profile_s has no encode"),
                (bench(bench_row(wire_bytes_formula_by_ranks={"x": 1})), "by_ranks is"),
                (bench(ranks=0), "ranks is 0"),
                (netlab(links=[{}]), "link 1 has no from"),
                (netlab(command=[]), "the command is empty"),
                ({"benchmarks": [{"name": "a"}], "context": {}}, "has no bytes_per_second"),
                ({"failed": {}}, "failed has no message"),
                ({"failed": {"message": "m"}, "host": 7}, "host is 7, which should be a text"),
                ({"failed": {"message": "m", "exit_status": "x"}}, "exit_status is 'x', which")):
            self.assertIn(message, self.only_failure(self.write("x.json", document)).message)

    def test_a_recorded_failure_keeps_its_message(self):
        path = self.write("x.json", {"schema": "any", "command": ["srun", "a b"], "host": "n7",
                                     "failed": {"message": "out of memory", "exit_status": 9}})
        failed = self.only_failure(path)
        self.assertEqual((failed.message, failed.exit_status, failed.command, failed.host),
                         ("out of memory", 9, "srun 'a b'", "n7"))

    def test_results_that_differ_by_rank_are_failures_and_no_rows(self):
        self.write("x.json", bench(bench_row(identical_across_ranks=False), bench_row()))
        self.assertIn("ranks have different results", self.only_failure().message)
        self.assertEqual(len(documents.collect([self.folder]).rows), 1)

    def test_interrupted_and_failed_runs_are_failures(self):
        self.assertIn("before its first row",
                      self.only_failure(self.write("x.json", bench())).message)
        failed = self.only_failure(self.write("x.json", netlab(exit_status=3)))
        self.assertEqual(failed.exit_status, 3)

        (self.folder / "x.json").unlink()
        self.write("y.json", bench(bench_row()))
        self.write("x.json.partial", "{")
        self.assertIn("was being written", self.only_failure().message)

    def test_rows_get_the_links_of_their_own_run(self):
        self.write("x.json", bench(bench_row()))
        self.write("other.json", bench(bench_row(), command="cohom-bench --codec raw"))
        self.write("links.json", netlab())
        rows = {row.run.path.rsplit("/", 1)[1]: row
                for row in documents.collect([self.folder], 5e9).rows}
        self.assertEqual(rows["x.json"].link_rate, 1e9)
        self.assert_close(rows["x.json"].wire_seconds, 400000 * 8 / 1e9)
        self.assertEqual(rows["other.json"].link_rate, 5e9)
        self.assertIsNone(rows["other.json"].lab)

    def test_rows_over_links_that_changed_are_failures(self):
        self.write("one/x.json", bench(bench_row()))
        self.write("one/links.json", netlab(shapes_in_run=["rate 200mbit"]))
        self.write("two/x.json", bench(bench_row()))
        self.write("two/links.json", netlab())
        found = documents.collect([self.folder], 5e9)
        self.assertEqual({row.run.job: row.link_rate for row in found.rows}, {"two": 1e9})
        (failed,) = found.failed
        self.assertRegex(failed.path + failed.message, "one/x.json.*changed during the run")

    def test_one_command_over_several_links(self):
        for name, rate in (("slow", 10**8), ("fast", 10**9)):
            self.write(f"{name}/x.json", bench(bench_row()))
            lab = netlab()
            lab["lab"]["shape"]["rate"] = rate
            self.write(f"{name}/links.json", lab)
        found = documents.collect([self.folder])
        self.assertEqual({run.job: run.rows[0].link_rate for run in found.runs},
                         {"slow": 1e8, "fast": 1e9})
        self.assertEqual(found.failed, [])
        self.write("apart/x.json", bench(bench_row()))
        found = documents.collect([self.folder], 5e9)
        self.assertEqual({run.job: run.rows[0].link_rate for run in found.runs},
                         {"slow": 1e8, "fast": 1e9, "apart": 5e9})
        (failed,) = found.failed
        self.assertRegex(failed.message, "its links are not known.*links.json, .*links.json")

    def test_labs_with_a_slow_spine_are_told_apart(self):
        one = netlab()["lab"]
        shape = {**one["shape"], "spine_rate": 5 * 10**8}
        for lab, title in ((one, "lab lab, 4 hosts"),
                           ({**one, "two_level": True, "shape": shape},
                            "lab lab, 4 hosts, two levels, spine 500 Mbit/s"),
                           ({**one, "two_level": True, "loss": 0.001},
                            "lab lab, 4 hosts, two levels, 0.1% lost")):
            self.assertEqual(documents.LabRun("x.json", netlab(lab=lab)).title, title)


if __name__ == "__main__":
    unittest.main()
