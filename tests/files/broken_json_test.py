#!/usr/bin/python3
"""What programs say of JSON files that are broken: one line that names the file."""

import contextlib
import io
import json
import os
import pathlib
import runpy
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
BROKEN = {"truncated": b'{"schema": "cohom-bench/1", "results": [{', "binary": b"\xff\xfe\0{}",
          "deep": b"[" * 100000, "list": b"[1, 2]", "other": b'{"a": 1}'}
BROKEN_ROWS = {name: b'{"schema": "cohom-bench/1", "ranks": 2, "results": ' + results + b"}"
               for name, results in (("number", b"7"), ("numbers", b"[1]"),
                                     ("columns", b'[{"codec": "raw"}]'))}
CURVE = {"codec": "raw", "steps": [0, 10], "bytes": [0, 4000], "losses": [1, None], "last": 0.5}
WRONG_CURVES = {
    "it is no object": 1,
    "it has no 'bytes'": {key: value for key, value in CURVE.items() if key != "bytes"},
    "its losses are no list of numbers": {**CURVE, "losses": 1},
    "its steps are no list of numbers": {**CURVE, "steps": [0, "x"]},
    "it has 2 steps and 1 losses": {**CURVE, "losses": [1]},
    "it has no last step": {**CURVE, "steps": [], "bytes": [], "losses": []},
    "its last loss is no number above 0": {**CURVE, "last": None}}


def run(program, *arguments):
    """Run a program in this process: to import its libraries anew each time takes half a second."""
    words = [str(program), *map(str, arguments)]
    output, errors, status = io.StringIO(), io.StringIO(), 0
    with (mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(output),
          mock.patch.object(sys, "path", [str(pathlib.Path(words[0]).parent), *sys.path]),
          contextlib.redirect_stderr(errors)):
        try:
            runpy.run_path(words[0], run_name="__main__")
        except SystemExit as end:
            status = end.code or 0
            if isinstance(status, str):
                print(status, file=sys.stderr)
                status = 1
    return types.SimpleNamespace(returncode=status, stdout=output.getvalue(),
                                 stderr=errors.getvalue())


class BrokenJsonTest(unittest.TestCase):
    """Each program with each kind of broken file."""

    def setUp(self):
        """Make a folder."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def each(self, *command, contents):
        """Yield the kind, the file, and the program that was run with it."""
        for kind, content in {**contents, "missing": None}.items():
            path = self.folder / f"{kind}.json"
            if content is not None:
                path.write_bytes(content)
            yield kind, path, run(*(path if word is None else word for word in command))

    def refuse(self, *command, contents=None):
        """Check that a program ends with one line that names the file."""
        for kind, path, done in self.each(*command, contents=contents or BROKEN):
            with self.subTest(kind):
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(str(path), done.stderr)

    def test_plot_demo(self):
        """The picture of scripts/demo."""
        self.refuse(ROOT / "scripts/plot_demo.py", None, self.folder / "demo.png",
                    contents={**BROKEN, **BROKEN_ROWS})

    def test_plot_times(self):
        """The picture of the README."""
        self.refuse(ROOT / "scripts/plot_times.py", None, "-o", self.folder / "times.png",
                    contents={**BROKEN, **BROKEN_ROWS})

    def test_plot_times_of_no_rows(self):
        """One line says that no row is by an algorithm, or that vectors differ."""
        folder = ROOT / "docs/results/two-cores/json/1gbit"
        for said, words in (("no row of 67108864 bytes is by tree",
                             [folder / "dense.json", "--algorithm", "tree"]),
                            ("there are several inputs",
                             [folder / "dense.json", folder / "sparse.json"])):
            done = run(ROOT / "scripts/plot_times.py", *words, "-o", self.folder / "times.png")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            self.assertIn(said, done.stderr)

    def test_convergence(self):
        """Curves of an earlier run."""
        self.refuse(ROOT / "benchmarks/convergence/convergence.py", "--read", None)

    def read_curves(self, curves):
        """Return the file of a report with these curves, and what convergence.py does with it."""
        path = self.folder / "curves.json"
        report = {"title": "a", "ranks": 8, "parameters": 10, "curves": curves}
        path.write_text(json.dumps([report]), encoding="utf-8")
        program = ROOT / "benchmarks/convergence/convergence.py"
        return path, run(program, "--read", path)

    def test_curves_of_convergence(self):
        """One line says which curve is wrong, and what of it."""
        _, done = self.read_curves(7 * [CURVE])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        path, done = self.read_curves([CURVE])
        self.assertEqual(done.stderr, f"convergence.py: {path}: is not such a report: report 1: "
                                      "its curves are no list of 7\n")
        for said, curve in WRONG_CURVES.items():
            with self.subTest(said):
                path, done = self.read_curves([CURVE, curve, *5 * [CURVE]])
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertEqual(done.stderr, f"convergence.py: {path}: is not such a report: "
                                              f"report 1, curve 2: {said}\n")

    def test_quality(self):
        """Results of an earlier run."""
        self.refuse(ROOT / "benchmarks/quality/quality.py", "--from", None)

    def test_field_table(self):
        """Reports of cohom-bench for a table of docs/quality.md."""
        self.refuse(ROOT / "benchmarks/quality/field_table.py", None,
                    contents={**BROKEN, **BROKEN_ROWS})

    def test_smpi_check(self):
        """What cohom-scale wrote: keys of networks and rows, and networks that there are."""
        network = dict.fromkeys(
            ("name", "ranks_a_node", "nodes_a_leaf", "uplinks", "link_gbit_s", "latency_us",
             "hop_us", "overhead_us", "adapter_gap_us", "copy_gb_s", "memory_gb_s",
             "memory_latency_us"), 1) | {"name": "fat"}
        row = dict.fromkeys(("network", "ranks", "bytes", "codec", "algorithm", "alone", "traces"),
                            1)
        cut = {key: value for key, value in network.items() if key != "hop_us"}
        for said, document in (
                ("it has no 'networks'", {"results": [row]}),
                ("its networks are no list of networks", {"networks": [1], "results": [row]}),
                ("network 2 has no 'hop_us'", {"networks": [network, cut], "results": [row]}),
                ("row 1 has no 'network'", {"networks": [network], "results": [{}]}),
                ("row 1: its network 'far' is none of fat",
                 {"networks": [network], "results": [{**row, "network": "far"}]})):
            with self.subTest(said):
                self.program("smpirun", "exit 1\n")
                scale = self.program("cohom-scale", 'while [ "$1" != --json ]; do shift; done\n'
                                     f"cat > \"$2\" <<'END'\n{json.dumps(document)}\nEND\n")
                with mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"):
                    done = run(ROOT / "benchmarks/scale/smpi_check", "--scale", scale)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1),
                                 done.stderr)
                self.assertIn(said, done.stderr)

    def program(self, name, lines):
        """Make a program of the shell, and return its path."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{lines}", encoding="utf-8")
        path.chmod(0o700)
        return path

    def test_report(self):
        """The page names them among what failed; a path that is not there is an error."""
        page = self.folder / "page.html"
        for kind, path, done in self.each(ROOT / "benchmarks/report/cohom-report", None, "-o", page,
                                          contents=BROKEN):
            with self.subTest(kind):
                self.assertNotIn("Traceback", done.stderr)
                if kind != "missing":
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(path.name, page.read_text(encoding="utf-8"))
                else:
                    self.assertIn(str(path), done.stderr + page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
