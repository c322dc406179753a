"""Labs come up, change and go down; labs of different names do not meet."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from unittest import mock

from lab_case import NETLAB, LabCase, main, network, state


class LifecycleTest(LabCase):
    def test_up_twice_is_up_once(self):
        self.netlab("up", "--hosts", "2")
        before = network.namespaces_of(self.name)
        inodes = [os.stat(network.NAMESPACES / entry).st_ino for entry in before]
        self.assertIn("already", self.netlab("up", "--hosts", "2"))
        self.assertEqual([os.stat(network.NAMESPACES / entry).st_ino for entry in before], inodes)
        self.assertIn("other arguments (2 hosts", self.netlab("up", "--hosts", "3", status=1))
        self.assertIn("mtu 9000)", self.netlab("up", "--hosts", "2", "--mtu", "1500", status=1))

    def test_down_leaves_nothing_and_may_be_repeated(self):
        self.netlab("up", "--hosts", "2")
        self.assertIn("is down", self.netlab("down"))
        self.assert_nothing_left()
        self.assertIn("was not up", self.netlab("down"))

    def test_status_and_rate(self):
        self.assertIn("is not up", self.netlab("status", status=1))
        self.netlab("up", "--hosts", "2", "--two-level", "--rate", "1gbit")
        self.assertIn("rate 1gbit, burst 256k", self.netlab("status"))
        self.netlab("rate", "100mbit", "--spine-rate", "none")
        self.assertIn("rate 100mbit, burst 64k, queue 20ms, spine none", self.netlab("status"))
        text = subprocess.run(["tc", "-n", f"netlab-{self.name}-h1", "qdisc", "show", "dev",
                               "eth0"],
                              capture_output=True, text=True, check=True).stdout
        self.assertIn("tbf", text)
        self.assertIn("rate 100Mbit burst 64Kb lat 20ms", text)
        self.netlab("rate", "none")
        self.assertIn("rate none", self.netlab("status"))

    def test_what_a_crash_left_is_cleared_away(self):
        subprocess.run(["ip", "netns", "add", f"netlab-{self.name}-h1"], check=True)
        self.assertIn("incomplete", self.netlab("status", status=1))
        self.netlab("down")
        self.assert_nothing_left()
        subprocess.run(["ip", "netns", "add", f"netlab-{self.name}-h7"], check=True)
        self.netlab("up", "--hosts", "2")
        self.assertNotIn(f"netlab-{self.name}-h7", network.namespaces_of(self.name))

    def assert_broken(self, what):
        """Fail unless the lab is said to be broken, and `up` makes it anew."""
        for subcommand, arguments in (("status", []), ("run", [["true"]])):
            text = self.netlab(subcommand, *arguments, status=1)
            self.assertRegex(text,
                             f"netlab {subcommand}: lab {self.name} is broken: {what}; make it "
                             "anew with `netlab up`, or clear it away with `netlab down`\n$")
            self.assertNotIn(f"{self.name} is up", text)
        self.assertNotIn("already", self.netlab("up", "--hosts", "2"))
        self.netlab("status")
        self.assertEqual(self.netlab("exec", "h2", ["hostname"]).strip(), f"{self.name}-h2")

    def test_a_lab_that_lost_files_is_broken_and_made_anew(self):
        self.netlab("up", "--hosts", "2")
        hosts = state.folder_of(self.name) / "hosts1"
        hosts.unlink()
        self.assert_broken(f"{hosts} is gone")

    def test_a_lab_that_lost_a_namespace_is_broken_and_made_anew(self):
        self.netlab("up", "--hosts", "2")
        path = network.NAMESPACES / f"netlab-{self.name}-h2"
        subprocess.run(["umount", "--lazy", path], check=True)
        self.assert_broken(f"{path} is no namespace")

    def test_a_lab_that_lost_a_device_or_a_rate_is_broken_and_made_anew(self):
        self.netlab("up", "--hosts", "2")
        host = f"netlab-{self.name}-h1"
        subprocess.run(["tc", "-n", host, "qdisc", "del", "dev", "eth0", "root"], check=True)
        self.assert_broken(f"{self.name}-h1 > {self.name}-switch has lost its rate")
        subprocess.run(["ip", "-n", host, "link", "del", "eth0"], check=True)
        self.assert_broken(f"{self.name}-h1 has no device eth0")

    def test_a_broken_lab_in_use_is_left_alone(self):
        self.netlab("up", "--hosts", "2")
        (state.folder_of(self.name) / "hosts1").unlink()
        with state.locked(self.name, "run", ""):
            self.assertIn("a run is in progress", self.netlab("up", "--hosts", "2", status=1))

    def test_a_record_that_cannot_be_read_is_named(self):
        self.netlab("up", "--hosts", "2")
        record = state.folder_of(self.name) / "lab.json"
        record.write_text("{")
        for subcommand in ("status", "up"):
            self.assertIn(f"netlab {subcommand}: {record} cannot be read; end lab {self.name} with "
                          "`netlab down`", self.netlab(subcommand, status=1))
        self.netlab("down")
        self.assert_nothing_left()

    def test_a_lab_that_is_not_up_gets_no_files(self):
        for subcommand, argument in (("run", ["true"]), ("rate", "1gbit")):
            self.assertIn("is not up", self.netlab(subcommand, argument, status=1))
        self.assert_nothing_left()

    def test_a_failure_in_the_middle_of_up_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "tc"
            broken.write_text("#!/bin/sh\necho out of order >&2\nexit 1\n")
            broken.chmod(0o755)
            with mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}):
                self.assertRegex(self.netlab("up", status=1), "netlab up: tc .*: out of order")
        self.assert_nothing_left()

    def test_two_labs_do_not_meet(self):
        self.netlab("up", "--hosts", "2")
        self.netlab("up", "--hosts", "3", "--rate", "50mbit", name=self.other)
        self.assertRegex(self.netlab("status"), rf"# other labs: .*\b{self.other}\b")
        self.assertIn("2 hosts", self.netlab("status"))
        self.netlab("down")
        self.assertIn("3 hosts", self.netlab("status", name=self.other))

    def test_hosts_are_machines_of_their_own(self):
        self.netlab("up", "--hosts", "2")
        script = "hostname; ls /sys/class/net; ls -A /dev/shm | wc -l; grep h1 /etc/hosts"
        self.assertEqual(self.netlab("exec", "h2", ["sh", "-c", script]).split(),
                         [f"{self.name}-h2", "eth0", "lo", "0", "10.77.0.1", f"{self.name}-h1"])
        self.assertIn("has no host 'h9'", self.netlab("exec", "h9", ["true"], status=1))
        self.netlab("exec", "h1", ["sh", "-c", "exit 7"], status=7)
        self.netlab("exec", "h1", ["sh", "-c", "kill -9 $$"], status=137)

    def test_who_reads_the_output_may_go(self):
        self.netlab("up", "--hosts", "2")
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([NETLAB, "status", "--name", self.name], stdout=writer,
                              stderr=subprocess.PIPE, text=True, check=False)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, ""))

    def test_finds_tools_where_su_leaves_no_path_to_them(self):
        done = subprocess.run([sys.executable, NETLAB, "status", "--name", self.name],
                              env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
                              check=False)
        self.assertIn("is not up", done.stderr)

    def test_refuses_without_root(self):
        for subcommand in ("up", "counters"):
            done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", NETLAB,
                                   subcommand],
                                  capture_output=True, text=True, check=False)
            if "Permission denied" in done.stderr and "root" not in done.stderr:
                self.skipTest("nobody may not read the checkout")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"netlab {subcommand}: network namespaces need root", done.stderr)

    def test_refuses_without_a_tool(self):
        done = subprocess.run([sys.executable, NETLAB, "up", "--name", self.name], env={"PATH": ""},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "not found; install with: scripts/setup build netlab")


if __name__ == "__main__":
    main()
