"""A daemon as a process on this host: what ends it, what fills it, and that it is back at once."""

import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from serving import LETHAL, child_of, listening, sleep_until

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ports import free_port  # noqa: E402

AGGREGATOR = os.environ.get("COHOM_TEST_AGGREGATOR", "build/bin/cohom-aggregator")
MEMBER = os.environ.get("COHOM_TEST_HOSTILE_MEMBER", "build/tests/offload/hostile_member")
WORKER = os.environ.get("COHOM_OFFLOAD_WORKER", "build/tests/offload/offload_worker")
SKIPPED = 77


class DaemonProcess(unittest.TestCase):
    """One daemon on the loopback device."""

    def setUp(self):
        """Find it a port."""
        self.place = f"127.0.0.1:{free_port()}"
        self.environment = {**os.environ, "COHOM_AGGREGATOR_TOKEN": "a secret of this test",
                            "UCX_TLS": "tcp,self"}
        for name in ("COHOM_UCX_NET_DEVICES", "UCX_NET_DEVICES"):
            self.environment.pop(name, None)

    def start(self, *arguments, memory=None, program=AGGREGATOR, before=None, **settings):
        """Start it and wait until it serves."""
        def prepare():
            if memory is not None:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            if before is not None:
                before()
        self.log = tempfile.TemporaryFile("w+")
        settings = {"stderr": self.log, **settings}
        self.process = subprocess.Popen([program, "--listen", self.place, *arguments],
                                        stdout=subprocess.PIPE, text=True, env=self.environment,
                                        preexec_fn=prepare, **settings)
        self.addCleanup(self.end)
        self.assertIn("cohom-aggregator: daemon", self.process.stdout.readline())

    def end(self):
        """End it if it runs, and show what a failure would be understood by."""
        if (ended := self.process.poll()) is None:
            self.process.kill()
        if not self.log.closed:
            self.log.seek(0)
            print(f"the daemon {'ran' if ended is None else f'had ended with {ended}'} and said:",
                  self.log.read(), file=sys.stderr)
            self.log.close()
        self.process.wait()
        self.process.stdout.close()
        self.place = f"127.0.0.1:{free_port()}"

    def status(self, *arguments):
        """Return what `cohom-aggregator status --json` says."""
        done = subprocess.run([AGGREGATOR, "status", "--json", self.place, *arguments],
                              capture_output=True, text=True, check=True, env=self.environment,
                              timeout=20)
        return json.loads(done.stdout)

    def server(self):
        """Return the process that serves: the child."""
        return child_of(self.process.pid)

    def peak_of(self, process):
        """Return the most memory that a process has had, in MiB."""
        text = pathlib.Path(f"/proc/{process}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024

    def member(self, *arguments, timeout=120):
        """Return what became of a member that does what no rank does."""
        done = subprocess.run([MEMBER, self.place, *arguments], capture_output=True, text=True,
                              env=self.environment, timeout=timeout, check=False)
        return done.stdout

    def assert_it_sums(self):
        """Fail unless two ranks get right sums."""
        workers = [subprocess.Popen([WORKER, "--connect", self.place, "--job", "1", "--ranks", "2",
                                     "--rank", str(rank), "--calls", "20"], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True, env=self.environment)
                   for rank in range(2)]
        results = [json.loads(worker.stdout.readline()) for worker in workers]
        for worker in workers:
            worker.stdin.close()
            worker.wait()
            worker.stdout.close()
        for result in results:
            self.assertEqual(result.get("wrong"), 0, result)


class DaemonProcessTest(DaemonProcess):
    """What ends a daemon, and what fills it."""

    def test_ucx_listens_on_one_device(self):
        self.start()
        places = listening(self.server())
        self.assertGreaterEqual(len(places), 2)
        self.assertEqual({address for address, _ in places}, {"127.0.0.1"})

    def test_it_warns_where_ucx_listens_on_all_devices(self):
        for address, warns in (("0.0.0.0", True), ("127.0.0.1", False)):
            self.place = f"{address}:{free_port()}"
            with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
                self.start(stderr=log)
                log.seek(0)
                self.assertEqual("UCX listens on all devices" in log.read(), warns)
            self.end()

    def test_it_is_back_at_once(self):
        self.start()
        for restart in range(1, 4):
            server = self.server()
            control = int(self.place.split(":")[1])
            for address, port in listening(self.server()):
                if port != control:
                    with socket.create_connection((address, port), timeout=5) as lethal:
                        lethal.sendall(LETHAL)
            self.assertTrue(sleep_until(lambda s=server: self.server() not in (None, s)))
            self.assertEqual(self.status()["restarts"], restart)
        self.assert_it_sums()
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(timeout=20), 0)

    def test_both_end_together(self):
        self.start()
        server = self.server()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.assertTrue(sleep_until(lambda: not pathlib.Path(f"/proc/{server}").exists()))
        # And the port is free for the next.
        self.start()
        self.assertEqual(self.status()["restarts"], 0)

    def test_it_is_back_whatever_its_parent_lacks_or_ignores(self):
        self.start(before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        server = self.server()
        files = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
        # No more descriptors, so no pipe to a child.
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (3, files[1]))
        os.kill(server, signal.SIGKILL)
        self.assertTrue(sleep_until(lambda: self.server() is None))
        time.sleep(0.5)
        self.assertIsNone(self.server())
        self.assertIsNone(self.process.poll())
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, files)
        self.assertTrue(sleep_until(lambda: self.server() is not None))
        self.assert_it_sums()

    def test_a_crash_leaves_no_tokens(self):
        def cores():
            limits = pathlib.Path(f"/proc/{self.server()}/limits").read_text()
            return re.search(r"core file size +(\S+)", limits)[1]
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]

        def allow():
            resource.setrlimit(resource.RLIMIT_CORE, (most, most))
        self.start(before=allow)
        self.assertIn(cores(), ("0", "1"))  # bytes
        self.end()
        self.environment["COHOM_AGGREGATOR_CORES"] = "1"
        self.start(before=allow)
        self.assertEqual(cores(), "unlimited" if most == resource.RLIM_INFINITY else str(most))

    def of_its_probe(self, *names):
        """Return what files of /proc say of the probe, which ends 2 s after the last address."""
        for _ in range(10):
            self.assert_it_sums()
            probe = child_of(self.server())
            try:
                texts = [pathlib.Path(f"/proc/{probe}/{name}").read_text() for name in names]
            except OSError:  # it has ended meanwhile
                continue
            if all(texts):  # one that has ended and whom nobody waited for yet has no environment
                return texts
        return self.fail("no probe was seen")

    def test_a_probe_has_no_tokens(self):
        # What it would have, were it not for these: a core file, and the tokens in it.
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        self.environment["COHOM_AGGREGATOR_CORES"] = "1"
        self.environment["COHOM_AGGREGATOR_OPERATOR_TOKEN"] = "another secret of this test"
        self.start(before=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)))
        limits, variables = self.of_its_probe("limits", "environ")
        expected = "0" if most == 0 else "1"  # byte; programs that take cores take those of limit 0
        self.assertRegex(limits, rf"core file size +{expected} +{expected} ")
        self.assertNotIn("secret", variables)
        self.assertIn("UCX_TLS=tcp,self", variables)

    def test_what_is_wrong_from_the_start_is_not_repeated(self):
        self.environment["UCX_TLS"] = "nosuch"
        done = subprocess.run([AGGREGATOR, "--listen", self.place], capture_output=True, text=True,
                              env=self.environment, timeout=20, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("cohom-aggregator: UCX"), 1, done.stderr)

    def test_the_owner_of_a_job_sees_its_groups_alone(self):
        self.start()
        numbers = {}
        for job in ("1", "2"):
            worker = subprocess.Popen([WORKER, "--connect", self.place, "--job", job,
                                       "--calls", "1"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env=self.environment)
            self.addCleanup(worker.communicate)
            self.assertEqual(json.loads(worker.stdout.readline()).get("wrong"), 0)
            numbers[job] = int(subprocess.run([WORKER, "--job", job, "--print-job"], text=True,
                                              capture_output=True, check=True).stdout)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/keys"

            def groups_of(*jobs):
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                          encoding="ascii") as file:
                    file.writelines(job.rjust(2, "0").ljust(64, "0") + "\n" for job in jobs)
                return [group["job"] for group in self.status("--job-key-file", path)["groups"]]
            self.assertEqual(groups_of("1"), [numbers["1"]])
            self.assertEqual(groups_of("2"), [numbers["2"]])
            self.assertEqual(groups_of("3"), [])
            self.assertEqual(groups_of("3", "2", "1"), [numbers["2"], numbers["1"]])
        self.assertNotIn("groups", self.status())

    def test_addresses_that_end_processes(self):
        self.start()
        count = os.environ.get("COHOM_HOSTILE_ADDRESSES", "12")
        self.assertRegex(self.member("addresses", count, "7", timeout=600), r"[1-9]\d* refused")
        self.assertEqual(self.status()["restarts"], 0)
        self.assert_it_sums()

    def test_a_program_found_in_path_has_its_own_probe(self):
        """Whatever lies in the folder that it is started in."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            planted, ran = path / "cohom-ucx-probe", path / "ran"
            planted.write_text(f"#!/bin/sh\ntouch {ran}\n", encoding="utf-8")
            planted.chmod(0o755)
            self.environment.pop("COHOM_PROBE_PROGRAM", None)
            self.environment["PATH"] = f"{pathlib.Path(AGGREGATOR).parent.absolute()}:/usr/bin:/bin"
            with open(path / "log", "w", encoding="utf-8") as log:
                self.start(program=pathlib.Path(AGGREGATOR).name, cwd=folder, stderr=log)
            self.assertRegex(self.member("addresses", "6", "7"), r"[1-9]\d* refused")
            self.assertFalse(ran.exists())
            self.assertNotIn("untried", (path / "log").read_text(encoding="utf-8"))
            self.assertEqual(self.status()["restarts"], 0)
            self.process.kill()
            self.process.wait()

    def test_ucx_takes_no_variable_of_ours_for_its_own(self):
        probe = pathlib.Path(AGGREGATOR).with_name("cohom-ucx-probe")
        self.environment["COHOM_PROBE_PROGRAM"] = str(probe)
        with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
            self.start(stderr=log)
            self.assert_it_sums()
            log.seek(0)
            self.assertNotIn("environment variable", log.read())

    def test_a_member_that_takes_no_sums(self):
        self.start()
        server = self.server()
        before = self.peak_of(server)
        said = self.member("flood", "400000")
        self.assertIn("without taking its sums", said)
        self.assertLess(self.peak_of(server) - before, 64)  # MiB: of 22 GB that were asked for
        self.assertEqual(self.server(), server)
        self.assert_it_sums()

    def test_a_hello_of_a_gigabyte(self):
        """UCX keeps it for whoever sends it, up to the limit; then it is the connection that goes.

        Also where the address space has no place for it.
        """
        for memory in (None, 1 << 30):
            self.start("--memory", "100", memory=memory)
            server = self.server()
            before = peak = self.peak_of(server)
            with subprocess.Popen([MEMBER, self.place, "hello", "1100"], stdout=subprocess.PIPE,
                                  text=True, env=self.environment) as member:
                self.addCleanup(member.kill)
                while self.server() == server and member.poll() is None:
                    try:
                        peak = self.peak_of(server)
                    except (OSError, TypeError):
                        break
                    time.sleep(0.01)
                said = member.communicate(timeout=60)[0]
            self.assertIn("a hello of 1100 MiB", said)
            self.assertLess(peak - before, 100)
            self.assertTrue(sleep_until(lambda: self.server() is not None))
            self.assert_it_sums()
            self.assertLessEqual(self.status()["restarts"], 1)
            self.end()


if __name__ == "__main__":
    if os.environ.get("COHOM_WHY_NO_UCX"):
        print(f"skipped: {os.environ['COHOM_WHY_NO_UCX']}")
        sys.exit(SKIPPED)
    unittest.main()
