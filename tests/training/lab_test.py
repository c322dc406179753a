"""`training` as a user runs it: a model trained in some ways over the links of a lab."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "benchmarks" / name) for name in ("training", "netlab")]

import results  # noqa: E402
import tools  # noqa: E402
import training_data  # noqa: E402

TRAINING = str(ROOT / "benchmarks" / "training" / "training")
SKIPPED = 77  # CTest's


class LabTest(unittest.TestCase):
    def training(self, folder, *arguments, status=0):
        """Run it; returns what it printed."""
        done = subprocess.run(
            [TRAINING, "run", "--results", folder, "--size", "small", "--hosts", "2", "--steps",
             "6", "--evaluate", "3", *arguments], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_rows_are_trained_once(self):
        names = ("f32", "thc", "mpi", "powersgd", "thc@drop-in", "thc@daemon")
        ways = ["--ways", *names]
        with tempfile.TemporaryDirectory() as folder:
            self.training(folder, *ways)
            rows = {each["way"]: each for each in results.read(pathlib.Path(folder))}
            self.assertEqual(set(rows), set(names))
            for each in rows.values():
                self.assertTrue(each["same_weights"])
                self.assertEqual([point["step"] for point in each["curve"]], [3, 6])
                self.assertLess(each["curve"][1]["held_out"], each["curve"][0]["held_out"])
                if each["way"] != "powersgd":
                    self.assertGreater(each["communication_seconds"], 0)
            # All ranks' gradients are the same but for rounding by f32 and mpi.
            self.assertAlmostEqual(rows["f32"]["curve"][1]["held_out"],
                                   rows["mpi"]["curve"][1]["held_out"], places=4)
            for each in ("thc", "thc@drop-in", "thc@daemon"):
                self.assertLess(rows[each]["sent"], 0.5 * rows["f32"]["sent"])
            self.assertEqual(rows["thc@drop-in"]["curve"][1]["held_out"],
                             rows["thc@daemon"]["curve"][1]["held_out"])
            self.assertIn("all rows are there", self.training(folder, *ways))
            with tempfile.NamedTemporaryFile(suffix=".svg") as figure:
                shown = subprocess.run([TRAINING, "show", "--results", folder, "--figure",
                                        figure.name], text=True, capture_output=True, check=True)
                self.assertIn("| `thc` |", shown.stdout)
                self.assertIn("<svg", pathlib.Path(figure.name).read_text())

    def test_gradients_of_a_step_can_be_kept(self):
        import numpy

        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "gradients.npy"
            command = [TRAINING, "capture", str(file), "--model", "lstm", "--ranks", "2",
                       "--steps", "1"]
            subprocess.run([*command, "--size", "pairs"], check=True)
            gradients = numpy.load(file)
            self.assertEqual((gradients.shape, gradients.dtype), ((2, 5096736), numpy.float32))
            self.assertLess(numpy.count_nonzero(gradients[0]), 0.02 * gradients.shape[1])
            self.assertTrue((gradients[0] != gradients[1]).any())
            wrong = subprocess.run([*command, "--size", "huge"], text=True, capture_output=True,
                                   check=False)
            self.assertEqual((wrong.returncode, wrong.stderr),
                             (1, "training: --size huge: lstm has small, medium, large, pairs\n"))

    def test_wrong_arguments_begin_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("there should be one of lanes",
                          self.training(folder, "--ways", "thc@x", status=1))
            self.assertIn("needs names for buffers",
                          self.training(folder, "--ways", "signcount:error_feedback=on@daemon",
                                        status=1))
            self.assertIn("transformer has small, medium, large",
                          self.training(folder, "--size", "huge", status=1))


def why_not():
    """Return why nothing can be trained here, or nothing."""
    try:
        import torch  # noqa: F401
        training_data.read_bible()
    except (ImportError, training_data.Missing) as missing:
        return str(missing)
    return tools.why_not(tools.LAB_TOOLS)


if __name__ == "__main__":
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
