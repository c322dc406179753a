"""What the tables of `training` say of its rows."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "benchmarks" / "training"))

import results  # noqa: E402

TRAINING = str(ROOT / "benchmarks" / "training" / "training")


def row(way, seed, losses, seconds, **others):
    """Return a row of training with one point a step."""
    curve = [{"step": n + 1, "seconds": seconds * (n + 1), "sent": 1000.0 * (n + 1), "loss": loss,
              "held_out": loss} for n, loss in enumerate(losses)]
    return {"schema": results.SCHEMA, "model": "digits", "size": "small", "way": way, "seed": seed,
            "steps": len(losses), "ranks": 4, "rate": "1gbit", "torch": "1.13", "parameters": 1000,
            "examples": 32, "curve": curve, "step_seconds": seconds, "sent": 1000.0 * len(losses),
            "same_weights": True, "communication_seconds": None, **others}


class ResultsTest(unittest.TestCase):
    def test_time_to_a_loss_lies_between_points(self):
        one = row("f32", 1, [4.0, 3.0, 2.0], 10.0)
        self.assertEqual(results.until(one, 4.0, "seconds"), 10.0)
        self.assertEqual(results.until(one, 2.5, "seconds"), 25.0)
        self.assertEqual(results.until(one, 2.5, "sent"), 2500.0)
        self.assertIsNone(results.until(one, 1.9, "seconds"))

    def test_speed_ups_compare_with_uncompressed_and_with_its_slowest_seed(self):
        rows = [row("none", 1, [4.0, 4.0], 5.0, same_weights=False),
                row("f32", 1, [4.0, 2.0], 10.0, communication_seconds=6.0),
                row("f32", 2, [4.0, 2.5], 10.0, communication_seconds=6.0),
                row("f32", 3, [4.0, 2.25], 10.0, communication_seconds=6.0),
                row("thc", 1, [4.0, 2.0], 8.0, communication_seconds=2.0)]
        (text,) = results.tables(rows)
        self.assertIn("Communication is 50% of a step of `f32`. Loss to reach: 2.500.", text)
        cells = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
                 for line in text.splitlines() if line.startswith("| `")}
        # 2.5 lies 3 quarters of the way behind 8 s; in the median of f32: 18.6 s.
        self.assertEqual(cells["`thc`"], ["8000", "16", "1.25", "2000", "3.00", "0.0", "14.0",
                                          "1.33", "2.000", "yes"])
        self.assertEqual(cells["`f32`"][-2:], ["2.250 (2.000 to 2.500)", "yes"])
        self.assertEqual(cells["`none`"][-2:], ["-", "no"])

    def test_a_file_that_is_no_row_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for content, why in (("{}", "schema"), ("[1]", "row"), ("{", "row"),
                                 (json.dumps({"schema": "other/1"}), "other/1")):
                (pathlib.Path(folder) / "wrong.json").write_text(content)
                done = subprocess.run([TRAINING, "show", "--results", folder], text=True,
                                      capture_output=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, f"^training: .*wrong.json: .*{why}")
                self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
