"""Boxes come up and go down; boxes of different names do not meet."""

import contextlib
import io
import os
import pathlib
import signal
import subprocess
import unittest
from unittest import mock

from box_case import BOX, BoxCase, lifecycle, main, state, tools
from slurmbox import config, supervisor


class BoxTest(BoxCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(subprocess.run, [BOX, "down", "--name", self.name], check=False,
                        stdout=subprocess.DEVNULL)

    def assert_nothing_left(self):
        self.assertEqual(lifecycle.supervisors(self.name), [])
        self.assertFalse(state.folder_of(self.name).exists())
        self.assertFalse(state.spool_of(self.name).exists())

    def test_up_twice_is_up_once(self):
        self.box("up", "--nodes", "2")
        before = lifecycle.supervisors(self.name)
        self.assertIn("already", self.box("up", "--nodes", "2"))
        self.assertEqual(lifecycle.supervisors(self.name), before)
        self.assertIn("other arguments (2 nodes on loopback)",
                      self.box("up", "--nodes", "3", status=1))

    def test_switches_get_nodes_in_blocks(self):
        self.assertEqual(config.tree(["n1", "n2", "n3", "n4", "n5"], 2).splitlines(), [
            "SwitchName=leaf1 Nodes=n1,n2,n3", "SwitchName=leaf2 Nodes=n4,n5",
            "SwitchName=spine Switches=leaf1,leaf2"])

    def test_down_ends_everything_and_may_be_repeated(self):
        self.box("up", "--nodes", "1")
        marker = f"31{os.getpid()}"  # seconds, as nobody else sleeps them
        self.box("exec", ["sbatch", "--output=/dev/null", "--wrap", f"srun sleep {marker}"])
        self.wait_until(lambda: _is_running(marker), "the job runs")
        self.assertIn("is down", self.box("down"))
        self.assertFalse(_is_running(marker))
        self.assert_nothing_left()
        self.assertIn("was not up", self.box("down"))

    def test_status_and_env(self):
        self.assertIn("is not up", self.box("status", status=1))
        self.assertIn("is not up", self.box("env", status=1))
        self.box("up", "--nodes", "2")
        self.assertIn("2 nodes on loopback", self.box("status"))
        text = subprocess.run(["sh", "-c", self.box("env") + "sinfo --noheader --format=%D"],
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual(text.split(), ["2"])

    def test_two_boxes_do_not_meet(self):
        self.box("up", "--nodes", "1")
        self.box("up", "--nodes", "2", name=self.other)
        self.assertIn("# other boxes: ", self.box("status"))
        for name, nodes in ((self.name, "1"), (self.other, "2")):
            text = self.box("exec", ["sinfo", "--noheader", "--format=%D"], name=name)
            self.assertEqual(text.split(), [nodes])
        self.box("down")
        self.assertIn("idle", self.box("status", name=self.other))

    def test_what_a_crash_left_is_cleared_away(self):
        self.box("up", "--nodes", "1")
        for process in lifecycle.supervisors(self.name):
            os.kill(process, signal.SIGKILL)
        self.wait_until(lambda: not lifecycle.supervisors(self.name), "the box is dead")
        self.assertIn("incomplete", self.box("status", status=1))
        self.box("up", "--nodes", "1")
        self.assertIn("idle", self.box("status"))

    def test_up_that_is_interrupted_leaves_nothing(self):
        process = subprocess.Popen([BOX, "up", "--name", self.name])
        self.wait_until(lambda: lifecycle.supervisors(self.name), "it is coming up")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 130)
        self.assert_nothing_left()


class SupervisorTest(unittest.TestCase):
    def test_what_is_waited_for_in_vain_is_told(self):
        for path, told in ((pathlib.Path(__file__), ""),
                           (pathlib.Path("/nowhere/munge.socket"), "munged made no munge.socket")):
            with (mock.patch.object(supervisor, "PATIENCE_SECONDS", 0),
                  contextlib.redirect_stdout(io.StringIO()) as output):
                supervisor.wait_for(path, "munged")
            self.assertEqual(output.getvalue()[:len("munged made no munge.socket")], told)


class RefusalTest(BoxCase):
    def test_without_root(self):
        with mock.patch("os.geteuid", return_value=1000):
            self.assertIn("need root", tools.why_not())

    def test_without_packages(self):
        with mock.patch("shutil.which", side_effect=lambda name, path: name != "slurmd" or None):
            self.assertIn("slurmd not found; install with: scripts/setup build slurm",
                          tools.why_not())

    def test_wrong_arguments(self):
        self.assertIn("from 1 to 64", self.box("up", "--nodes", "0", status=2))
        self.assertIn("should be a letter", self.box("up", name="a-b", status=2))
        self.assertIn("lab nowhere is not up", self.box("up", "--netlab", "nowhere", status=1))


def _is_running(seconds):
    for entry in os.listdir("/proc"):
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/sleep") and words[1] == seconds.encode():
                return True
        except OSError:  # no process, or it has ended meanwhile
            pass
    return False


if __name__ == "__main__":
    main()
