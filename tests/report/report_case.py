"""What the tests of cohom-report share: documents as the programs write them."""

import json
import math
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "benchmarks" / "report"))

COMMAND = "cohom-bench --codec thc --json out.json"


def bench_row(**columns):
    """Return a row of cohom-bench; 1 MiB of thc in a ring of four ranks unless told otherwise."""
    times = {"min": 0.9e-3, "median": 1e-3, "p99": 2e-3}
    row = {"bytes": 1 << 20, "elements": 1 << 18, "codec": "thc", "algorithm": "ring",
           "bypass": False, "dtype": "f32", "op": "sum", "input": "gauss", "in_place": False,
           "nonblocking": False, "steps": 1, "agreement_rounds": 1, "time_s": times,
           "native_time_s": {**times, "median": 3e-3, "algorithm": "default"}, "speedup": 3.0,
           "wire_bytes_per_rank": 400000, "wire_bytes_all_ranks": 1600000,
           "wire_bytes_formula": 393216, "wire_bytes_formula_by_ranks": {"8": 458752},
           "vnmse": 0.01, "max_abs_error": 1.0, "identical_across_ranks": True,
           "result_hash": "0123456789abcdef",
           "profile_s": {"agree": 1e-4, "encode": 1e-4, "merge": 1e-4, "decode": 1e-4,
                         "wire": 1e-4, "wait": 3e-4, "other": 0.0, "processor": 5e-4}}
    return {**row, **columns}


def bench(*rows, **facts):
    """Return a report of cohom-bench."""
    return {"schema": "cohom-bench/1", "host": "n1", "git": "abc", "version": "0.1.0",
            "mpi": "Open MPI", "ranks": 4, "date": "2026-01-02T03:04:05Z", "command": COMMAND,
            "environment": {}, "results": list(rows), **facts}


def netlab(**facts):
    """Return what netlab writes about the run of COMMAND."""
    return {"schema": "cohom-netlab/1", "mpi": "openmpi", "ranks": 4,
            "command": ["build/bin/" + COMMAND.split()[0], *COMMAND.split()[1:]],
            "exit_status": 0, "seconds": 2.5, "load_average": 0.1, "drops": 3, "lost": 0,
            "lab": {"name": "lab", "hosts": 4, "two_level": False, "loss": 0.0, "mtu": 1500,
                    "shape": {"rate": 10**9, "spine_rate": None, "burst": 1, "latency": 1}},
            "links": [{"from": "lab-h1", "to": "lab-switch", "bytes": 7, "packets": 2,
                       "drops": 3, "lost": 0}], **facts}


class CloseCase(unittest.TestCase):
    """A test of numbers, some of which are tiny."""

    def assert_close(self, found, expected):
        """Fail unless two numbers are the same but for rounding."""
        self.assertTrue(math.isclose(found, expected, rel_tol=1e-9), f"{found} != {expected}")


class FolderCase(CloseCase):
    """A test with a folder of its own."""

    def setUp(self):
        """Make the folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        """Write a document, or text as it is; returns its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content),
                        encoding="utf-8")
        return path
