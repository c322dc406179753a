"""Tests of the page, and of the command as a user meets it, without a browser."""

import re
import subprocess
import unittest
from unittest import mock
import warnings

from matplotlib.figure import Figure

from report_case import ROOT, FolderCase, bench, bench_row, netlab

import charts
import documents
import figures
import page

COHOM_REPORT = str(ROOT / "benchmarks" / "report" / "cohom-report")


class PageTest(FolderCase):
    def report(self, *arguments, status=0):
        """Run cohom-report; returns the page, or its message where it fails."""
        output = self.folder / "out" / "r.html"
        output.parent.mkdir(exist_ok=True)
        done = subprocess.run([COHOM_REPORT, "-o", str(output), *map(str, arguments)],
                              capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr if status else output.read_text(encoding="utf-8")

    def page(self, path):
        """Return the page of results, made without the command, and without its PNG files."""
        savefig = Figure.savefig

        def save_drawing(figure, target, **options):
            if options["format"] == "svg":
                savefig(figure, target, **options)

        with mock.patch.object(Figure, "savefig", save_drawing):
            return page.make_page(documents.collect([path]), 5e-6)[0]

    def test_figures_are_in_the_page_and_beside_it(self):
        self.write("j/x.json", bench(bench_row(), bench_row(bytes=1 << 22, elements=1 << 20)))
        text = self.report(self.folder / "j", "--link", "1gbit")
        names = re.findall(r'<figure id="([^"]*)"', text)
        self.assertEqual(names[:5], ["speedup-1", "time-1", "error-1", "wire-1", "profile-1"])
        self.assertEqual(sum(name.startswith("model-") for name in names), 5)
        for name in names:
            png = (self.folder / "out" / "r-png" / f"{name}.png").read_bytes()
            self.assertTrue(png.startswith(b"\x89PNG"))
        self.assertIn("bound of the link, 1 Gbit/s", text)
        identifiers = re.findall(r'\bid="([^"]*)"', text)
        self.assertEqual(len(identifiers), len(set(identifiers)))

    def test_advice_is_a_table_by_call_site(self):
        trials = [{"codec": "thc", "seconds": 0.5, "error": 0.01, "refusal": None},
                  {"codec": "thk", "seconds": None, "error": None, "refusal": "unknown <b>"}]
        site = {"site": "step at solver.cpp:42 in app", "type": "f32", "bytes": 1 << 20, "ranks": 4,
                "calls": 30, "seconds": 2.0, "samples": 2, "native_seconds": 1.0, "trials": trials}
        document = {"schema": documents.ADVICE, "run_seconds": 8.0, "calls": 30, "seconds": 2.0,
                    "sites": [site], "rules": {"lossless": None, "lossy": {
                        "rule": "codec=thc bytes=1048576:1048577", "saved_seconds": 1.0}}}
        self.write("advice.json", document)
        text = self.page(self.folder / "advice.json")
        for words in ("30 calls of MPI_Allreduce on real numbers took 2 s of 8 s (25%)",
                      "Without loss: no codec saves", "codec=thc bytes=1048576:1048577",
                      "step at solver.cpp:42 in app", "2 x, error 0.01", "not: unknown &lt;b&gt;"):
            self.assertIn(words, text)
        trials[0]["seconds"] = 0
        self.write("advice.json", document)
        self.assertIn("thc has neither a time nor a refusal",
                      self.page(self.folder / "advice.json"))

    def test_rows_of_different_settings_are_not_drawn_together(self):
        self.write("x.json", bench(bench_row(), bench_row(dtype="f64"), bench_row(input="mixture"),
                                   bench_row(op="mean")))
        self.write("y.json", bench(bench_row(), ranks=8))
        self.write("k/z.json", bench(bench_row()))
        text = self.page(self.folder)
        self.assertEqual(len(re.findall(r'<figure id="speedup-', text)), 6)

    def test_begins_with_the_fastest_rows_and_where_native_wins(self):
        self.write("x.json", bench(
            bench_row(bytes=1 << 16, speedup=0.5), bench_row(speedup=4.0),
            bench_row(algorithm="direct", speedup=5.0),
            bench_row(codec="raw", algorithm="direct", vnmse=1e-15, speedup=0.9),
            bench_row(codec="exact", vnmse=0.0, speedup=0.8),
            bench_row(codec="marsit", vnmse=1.1, speedup=20.0)))
        text = self.page(self.folder)
        part = text.partition('<section id="summary">')[2].partition("</section>")[0]
        self.assertLess(text.index('<section id="summary"'), text.index('<section id="failed"'))
        rows = [re.findall("<t[hd]>([^<]*)</t[hd]>", line) for line in part.split("<tr>")[1:]]
        dot, dash = "\N{MIDDLE DOT}", "\N{EN DASH}"
        self.assertEqual(rows, [
            ["error", "64 KiB", "1 MiB"],
            ["rounding alone", dash, f"native (raw {dot} direct, 0.9 x)"],
            ["up to 15%", f"native (thc {dot} ring, 0.5 x)", f"thc {dot} direct, 5 x"],
            ["above 15%", dash, f"marsit {dot} ring, 20 x"]])
        self.assertIn("Native is the fastest at 64 KiB. Native is faster than 3 of 6 rows.", part)

    def test_summary_of_rows_without_times(self):
        self.write("x.json", bench(bench_row(speedup=None, time_s=None, native_time_s=None,
                                             profile_s=None)))
        self.assertIn("No row has a time beside native", self.page(self.folder))

    def test_launchers_of_a_job_are_not_drawn_together(self):
        for launcher in ("srun", "mpirun"):
            self.write(f"sweep/{launcher}.json", bench(bench_row(), environment={
                "COHOM_JOB": f"sweep 4x1 {launcher}"}))
        settings = [", ".join(row.setting) for row in documents.collect([self.folder]).rows]
        self.assertEqual([text.partition(", 4 ranks")[0] for text in settings],
                         ["job sweep, 4x1 mpirun", "job sweep, 4x1 srun"])

    def test_shapes_of_a_job_stand_side_by_side(self):
        for shape, ranks, seconds in (("4x1", 4, 2e-3), ("4x2", 8, 3e-3), ("4x16", 64, 5e-3)):
            self.write(f"sweep/{shape}.json", bench(
                bench_row(time_s={"min": seconds, "median": seconds, "p99": seconds}),
                ranks=ranks, environment={"COHOM_JOB": f"sweep {shape} srun"},
                topology={"nodes": 4, "switches": 2}))
        self.write("other/x.json", bench(bench_row(), environment={
            "COHOM_JOB": "other 4x1 srun"}))
        text = self.page(self.folder)
        part = text.partition('id="shapes"')[2].partition("</section>")[0]
        self.assertEqual(re.findall(r"\d+x\d+(?=</th>)", part), ["4x1", "4x2", "4x16"])
        self.assertEqual(re.findall(r"[235] ms \(3\)", part), ["2 ms (3)", "3 ms (3)", "5 ms (3)"])
        self.assertEqual(re.findall(r"<h3>job (\w+, \w+)", part), ["sweep, srun"])
        self.assertEqual(re.findall(r"<dd>(\d nodes.*?)</dd>", text), ["4 nodes, 2 switches"] * 3)

    def test_long_specs_leave_room_for_bars(self):
        spec = "sparse+thc:levels=full,error_feedback=on,index=bloom"
        self.assertEqual(figures.in_lines(f"{spec} \N{MIDDLE DOT} ring").split("\n"), [
            "sparse+thc:levels=full,", "error_feedback=on,", "index=bloom \N{MIDDLE DOT} ring"])
        self.assertEqual(figures.in_lines("x" * 60).replace("\n", ""), "x" * 60)
        self.write("x.json", bench(bench_row(codec=spec)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of matplotlib, about what does not fit
            self.page(self.folder)

    def test_titles_and_labels_lie_within_their_figures(self):
        drawn = []
        finish = charts.Canvas.finish
        rows = [bench_row(bytes=1 << 30, elements=1 << 28), bench_row(dtype="bf16")]
        with mock.patch.object(charts.Canvas, "finish", autospec=True, side_effect=(
                lambda canvas, caption: drawn.append(canvas) or finish(canvas, caption))):
            self.page(self.write("x.json", bench(*rows)))
        self.assertIn("MODEL: link rate beyond which a codec stops paying, 1 GiB",
                      [canvas.title for canvas in drawn])
        for canvas in drawn:
            box = canvas.figure.get_tightbbox()
            with self.subTest(canvas.name):
                self.assertGreaterEqual(min(box.x0, box.y0), 0)
                self.assertLessEqual(box.x1, canvas.figure.get_figwidth())
                self.assertLessEqual(box.y1, canvas.figure.get_figheight())

    def test_the_model_s_link_rates_are_named_beside_its_curves(self):
        self.write("x.json", bench(bench_row()))
        figure = self.page(self.folder).partition('<figure id="model-crossover')[2]
        named = re.findall(r">([^<]*)</text>", figure.partition("</figure>")[0])
        for rate in (10, 25, 100, 400):
            self.assertIn(f"{rate} Gbit/s", named)

    def test_many_curves_are_drawn_by_algorithm(self):
        rows = [bench_row(codec=f"thc:seed={seed}", algorithm=algorithm)
                for seed in range(7) for algorithm in ("ring", "direct")]
        text = self.page(self.write("x.json", bench(*rows)))
        for name in ("speedup-1-ring", "speedup-1-direct"):
            self.assertIn(f'<figure id="{name}"', text)

    def test_a_row_a_file_is_one_setting_with_all_its_runs(self):
        for number in range(9):
            self.write(f"job/{number}.json", bench(bench_row(bytes=1 << 14 + number)))
        text = self.page(self.folder)
        self.assertEqual(len(re.findall(r'<figure id="speedup-', text)), 1)
        self.assertIn("All 9 runs", text)

    def test_failures_and_links_are_told(self):
        self.write("f.json", {"schema": "cohom-bench/1", "command": "srun <b>",
                              "failed": {"message": "no <memory>", "exit_status": 9}})
        self.write("broken.json", "{")
        self.write("lab.json", netlab())
        text = self.page(self.folder)
        for part in ("no &lt;memory&gt; (exit status 9)", "srun &lt;b&gt;", "broken.json",
                     "No rows.", "2 failed", "lab-h1 &gt; lab-switch", "3 dropped"):
            self.assertIn(part, text)

    def test_rows_without_times_bytes_or_formula_have_what_they_have(self):
        untimed = {"time_s": None, "native_time_s": None, "speedup": None}
        rows = [bench_row(**untimed), bench_row(wire_bytes_per_rank=None, codec="raw",
                                                wire_bytes_all_ranks=None, algorithm="fabric"),
                bench_row(codec="packed", wire_bytes_formula=None, vnmse=None),
                bench_row(bytes=0, elements=0, vnmse=0, wire_bytes_per_rank=0,
                          wire_bytes_all_ranks=0, wire_bytes_formula=0)]
        for row in rows:
            del row["profile_s"]
        text = self.page(self.write("x.json", bench(*rows)))
        self.assertIn("Without a formula for their bytes: packed", text)
        self.assertNotIn('id="profile-1"', text)
        self.page(self.write("x.json", bench(bench_row(wire_bytes_per_rank=0), ranks=1)))

    def test_needs_no_network(self):
        text = self.page(self.write("x.json", bench(bench_row())))
        self.assertIn("default-src 'none'", text)
        self.assertEqual(re.findall(r"<script|<link|<img|@import|\bsrc=", text), [])
        addresses = set(re.findall(r'https?://[^"\s<]*', text))
        self.assertLessEqual(addresses, {"http://www.w3.org/2000/svg",
                                         "http://www.w3.org/1999/xlink"})

    def test_a_wrong_command_line_is_one_message(self):
        path = self.write("x.json", bench(bench_row()))
        for arguments, message in ((["--link", "10"], "should be a rate like 1gbit"),
                                   (["--alpha", "nan"], "should be a number of microseconds"),
                                   (["--output", path / "r.html"], "cannot be written")):
            self.assertIn(message, self.report(path, *arguments, status=2))


if __name__ == "__main__":
    unittest.main()
