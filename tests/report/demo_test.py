#!/usr/bin/python3
"""The picture that scripts/plot_demo.py draws of cohom-bench's reports, and the lines under it."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PLOT = pathlib.Path(__file__).resolve().parents[2] / "scripts/plot_demo.py"


def report(ranks, *rows):
    """Return a file's content: rows of codec, bytes, time, native's time, native calls of 10."""
    return json.dumps({"schema": "cohom-bench/1", "ranks": ranks, "mpi": "an MPI", "results": [
        {"codec": codec, "input": "gradients.npy", "bytes": size, "speedup": native / time,
         "time_s": {"median": time}, "native_time_s": {"median": native}, "vnmse": 0.0004,
         "wire_bytes_per_rank": size / 4, "native_calls": native_calls, "iterations": 10}
        for codec, size, time, native, native_calls in rows]})


class DemoTest(unittest.TestCase):
    """The program as scripts/demo starts it."""

    def setUp(self):
        """Write what was measured in memory, two sizes, and in a lab."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "memory.json").write_text(report(
            2, ("thc", 2**16, 1.0, 2.0, 0), ("thc", 2**24, 1.0, 1.0, 10),
            ("marsit", 2**16, 1.0, 0.5, 4), ("marsit", 2**24, 1.0, 0.98, 9)), encoding="ascii")
        (self.folder / "lab.json").write_text(report(
            4, ("thc", 2**24, 0.05, 0.25, 0), ("marsit", 2**24, 0.02, 0.26, 0)), encoding="ascii")

    def lines(self, *arguments):
        """Return the lines that the program prints, once it has drawn a picture."""
        picture = self.folder / "demo.png"
        done = subprocess.run(
            [sys.executable, PLOT, self.folder / "memory.json", picture, *arguments], check=True,
            stdout=subprocess.PIPE, text=True)
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")
        return done.stdout.splitlines()

    def test_with_a_lab(self):
        """The lab comes first, the fastest codec first in it."""
        links, memory, error = self.lines("--lab", self.folder / "lab.json", "--link", "1 Gbit/s")
        self.assertEqual(links, "Links (4 hosts, 1 Gbit/s, 16 MiB), as fast as the best native "
                                "allreduce: marsit 13 x, thc 5 x.")
        self.assertEqual(memory, "Shared memory (2 ranks): auto took native in 2 of 4 rows; "
                                 "0.50 x to 2 x, median 0.99 x.")
        self.assertEqual(error, "Error of the sum, at most, beside the sum's norm: thc 2%, "
                                "marsit 2%.")

    def test_without_root(self):
        """Why there is no lab, and what it would show."""
        links, _, _ = self.lines("--no-lab", "a lab needs root")
        self.assertIn("not measured (a lab needs root)", links)
        self.assertIn("docs/demo.png", links)


if __name__ == "__main__":
    unittest.main()
