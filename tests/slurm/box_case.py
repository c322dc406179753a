"""What the tests of slurm share: the command, and boxes that are gone when the test is over."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "slurm"))

from slurmbox import lifecycle, state, tools  # noqa: E402

BOX = str(ROOT / "slurm" / "box")
PLAIN_APP = str(ROOT / "build" / "tests" / "drop_in_plain_app")  # knows nothing of cohom
SKIPPED = 77  # CTest's
PATIENCE_SECONDS = 100
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")


def box_command(subcommand, *arguments, name):
    """Return the command line of box; a list at the end goes behind `--`."""
    tail = ["--", *arguments[-1]] if arguments and isinstance(arguments[-1], list) else []
    flags = arguments[:-1] if tail else arguments
    return [BOX, subcommand, "--name", name, *flags, *tail]


class BoxCase(unittest.TestCase):
    """Names of boxes have the process id in them, so that tests of two checkouts do not meet."""

    name = f"t{os.getpid()}"
    other = f"u{os.getpid()}"

    def setUp(self):
        """Make sure that the other box goes."""
        self.addCleanup(subprocess.run, [BOX, "down", "--name", self.other], check=False,
                        stdout=subprocess.DEVNULL)

    def box(self, subcommand, *arguments, name=None, status=0):
        """Run box; returns its output and its errors."""
        done = subprocess.run(box_command(subcommand, *arguments, name=name or self.name),
                              capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def wait_until(self, condition, what):
        """Wait for a condition; fail when it takes too long."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"not within {PATIENCE_SECONDS} s: {what}")
            time.sleep(0.1)


class JobCase(BoxCase):
    """Jobs of one test write to one folder."""

    def setUp(self):
        """Make the folder."""
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def submit(self, *command, **settings):
        """Submit a job from the folder, with these variables; returns its number."""
        environment = {**os.environ, "SITE_RESULTS": str(self.folder), **settings}
        done = subprocess.run(box_command("exec", [*command], name=self.name), env=environment,
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.split()[-1]

    def state_of(self, number):
        """Return the state of a job."""
        fields = self.box("exec", ["scontrol", "show", "job", number]).split()
        return next(field.split("=")[1] for field in fields if field.startswith("JobState="))

    def wait_for(self, number, expected):
        """Wait until a job is over; fail unless it ended in the expected state."""
        self.wait_until(lambda: self.state_of(number) in OVER, f"job {number} is over")
        self.assertEqual(self.state_of(number), expected, self.output())

    def output(self):
        """Return what all jobs wrote."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.out")))

    def rows(self, job):
        """Return the rows of a job by name."""
        return {path.name: json.loads(path.read_text())
                for path in sorted((self.folder / job).glob("*.json"))}


def main(needs=lambda: None):
    """Run the tests of the calling file, or say why they cannot run here."""
    reason = tools.why_not() or needs()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
