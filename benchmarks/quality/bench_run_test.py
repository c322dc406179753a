"""Tests of how the programs here read, print and write, with results that nobody measured."""

import argparse
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import bench_run

SCHEMA = "a-schema/1"
MARKS = "before\n<!-- t: begin -->\nold\n<!-- t: end -->\nbehind\n"


def tables(results):
    """Return a table by its name."""
    return {"t": f"| {results[0]} |"}


class PresentTest(unittest.TestCase):
    def setUp(self):
        """Make a folder with a Markdown file."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.markdown = self.folder / "a.md"
        self.markdown.write_text(MARKS, encoding="utf-8")
        self.drawn = []

    def present(self, *flags, measure=lambda options: {"schema": SCHEMA, "results": ["new"]}):
        """Run a program with these flags; returns what it prints."""
        parser = argparse.ArgumentParser()
        bench_run.add_source(parser)
        parser.add_argument("--markdown", type=pathlib.Path)
        parser.add_argument("--figure", type=pathlib.Path)
        options = parser.parse_args(["--bench", __file__, *map(str, flags)])
        with contextlib.redirect_stdout(io.StringIO()) as output:
            bench_run.present("program", options, measure, SCHEMA, tables,
                              lambda results, path: self.drawn.append((results, path)))
        return output.getvalue()

    def refusal(self, *flags, **measure):
        """Return the one line that a program ends with."""
        with self.assertRaises(SystemExit) as end:
            self.present(*flags, **measure)
        self.assertTrue(end.exception.code.startswith("program: "), end.exception.code)
        return end.exception.code

    def test_prints_and_writes_what_is_asked_for(self):
        self.assertEqual(self.present(), "| new |\n")
        self.assertEqual((self.markdown.read_text(), self.drawn), (MARKS, []))
        path = self.folder / "a.json"
        self.present("--json", path, "--markdown", self.markdown, "--figure", "a.png")
        self.assertEqual(self.markdown.read_text(), MARKS.replace("old", "| new |"))
        self.assertEqual(self.drawn, [(["new"], pathlib.Path("a.png"))])
        self.assertEqual(self.present("--from", path, measure=None), "| new |\n")

    def test_what_cannot_be_done_is_one_line(self):
        def failing(_options):
            raise RuntimeError("mpirun -n 4 cohom-bench")

        other = self.folder / "other.json"
        other.write_text(json.dumps({"schema": "another/1"}), encoding="utf-8")
        bare = self.folder / "bare.md"
        bare.write_text("no marks", encoding="utf-8")
        self.assertIn("mpirun -n 4", self.refusal(measure=failing))
        self.assertIn("is missing; run scripts/build", self.refusal("--bench", "nowhere"))
        self.assertIn("other.json: is no a-schema/1", self.refusal("--from", other))
        for results in ([], 7, {}):
            other.write_text(json.dumps({"schema": SCHEMA, "results": results}), encoding="utf-8")
            self.assertIn("other.json: its results have another shape",
                          self.refusal("--from", other))
        self.assertIn("nowhere/a.json", self.refusal("--json", "nowhere/a.json"))
        self.assertIn("nowhere.md", self.refusal("--markdown", "nowhere.md"))
        self.assertIn("bare.md has no lines '<!-- t: begin -->'",
                      self.refusal("--markdown", bare))


if __name__ == "__main__":
    unittest.main()
