"""What the tests of netlab share: the command, and a lab that is gone when the test is over."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "benchmarks" / "netlab"))

import host  # noqa: E402
import loss  # noqa: E402
import network  # noqa: E402
import processes  # noqa: E402
import state  # noqa: E402
import tools  # noqa: E402

NETLAB = str(ROOT / "benchmarks" / "netlab" / "netlab")
SKIPPED = 77  # CTest's


class LabCase(unittest.TestCase):
    """Names of labs have the process id in them, so that tests of several checkouts do not meet."""

    def setUp(self):
        """Choose names and make sure that the labs go."""
        self.name = f"t{os.getpid()}"
        self.other = f"u{os.getpid()}"
        for name in (self.name, self.other):
            self.addCleanup(subprocess.run, [NETLAB, "down", "--name", name], check=False,
                            stdout=subprocess.DEVNULL)

    def netlab(self, subcommand, *arguments, name=None, status=0):
        """Run netlab; returns its output and its errors. A list of arguments goes behind `--`."""
        tail = ["--", *arguments[-1]] if arguments and isinstance(arguments[-1], list) else []
        flags = arguments[:-1] if tail else arguments
        done = subprocess.run([NETLAB, subcommand, "--name", name or self.name, *flags, *tail],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def start(self, *command, flags=()):
        """Start `netlab run` of a command on all hosts; returns the process once all ranks run."""
        process = subprocess.Popen([NETLAB, "run", "--name", self.name, *flags, "--", *command],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_until(lambda: self.count_running(command) == 2, "both ranks run")
        return process

    def count_running(self, command):
        """Return how many processes of the lab run exactly this command."""
        wanted = "\0".join(command) + "\0"
        count = 0
        for process in processes.processes_of(self.name):
            try:
                count += pathlib.Path(f"/proc/{process}/cmdline").read_text() == wanted
            except OSError:  # it has ended meanwhile
                pass
        return count

    def wait_until(self, condition, what):
        """Wait for a condition; fail when it takes too long."""
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"not within 20 s: {what}")
            time.sleep(0.05)

    def assert_nothing_left(self, name=None):
        """Fail when anything of the lab is still there."""
        self.assertEqual(network.namespaces_of(name or self.name), [])
        self.assertEqual([path for path in state.FOLDER.iterdir()
                          if path.name.split(".")[0] == (name or self.name)], [])


def main(needs=(), wants_loss=False):
    """Run the tests of the calling file, or say why they cannot run here."""
    reason = tools.why_not([*tools.LAB_TOOLS, *needs]) or (loss.why_not() if wants_loss else None)
    if reason is None:
        reason = why_no_namespaces()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    # Shells start what is in the background deaf to Ctrl-C, and so would be all that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main(verbosity=2)


def why_no_namespaces():
    """Return why root cannot make network namespaces here, as in many containers."""
    probe = subprocess.run(["unshare", "--net", "--uts", "--ipc", "--mount", "true"],
                           capture_output=True, text=True, check=False)
    return f"no namespaces: {probe.stderr.strip()}" if probe.returncode else None


def read_json(path):
    """Return what a run wrote."""
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
