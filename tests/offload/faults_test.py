"""Workers and aggregators die and come back; those who do not belong get nowhere."""

import subprocess
import sys

import fault_cases
from offload_case import AGGREGATOR, main


class FaultsTest(fault_cases.FaultCases):
    group_slots = 256

    def check_killed(self):
        self.assertIn("cohom_aggregate", self.filters("switch", "h1"))

    def check_back(self):
        self.assertEqual(self.filters("switch", "h1").count(" id "), 1)

    def check_stopped(self):
        self.assertEqual(self.filters("switch", "h1"), "")

    def test_a_second_aggregator_is_refused(self):
        self.up(2)
        self.aggregators()
        with self.assertRaisesRegex(AssertionError, "port 10.77.0.251:47000"):
            self.aggregators()

    def test_a_port_that_is_served_is_refused(self):
        self.up(2)
        aggregator, = self.aggregators()
        self.assertIn("port h1 has a cohom-aggregator already", self.start_beside())
        # One that was killed holds nothing.
        aggregator.end()
        self.aggregators()

    def test_a_user_without_rights_cannot_keep_a_port(self):
        self.up(2)
        names = ["\0cohom-aggregator/h1", "\0cohom-aggregator/h2"]
        program = f"""
import os, socket, sys
os.setgid(65534), os.setuid(65534)
sockets = []
for name in {names!r}:
    sockets.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    sockets[-1].bind(name)
print("mine", flush=True)
sys.stdin.read()
"""
        with subprocess.Popen([*self.on("switch"), sys.executable, "-c", program], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as squatter:
            try:
                self.assertEqual(squatter.stdout.readline(), "mine\n")
                self.aggregators()
            finally:
                squatter.kill()

    def start_beside(self):
        """Return why there is no second aggregator on port h1, at another address."""
        done = subprocess.run([*self.on("switch"), AGGREGATOR, "--ebpf", "--ports", "h1",
                               "--listen", "10.77.0.251:47001"], capture_output=True, text=True,
                              timeout=20, check=False, env=self.environment())
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def test_a_group_that_does_not_form(self):
        self.up(2)
        aggregator, = self.aggregators("--patience", "1")
        worker = self.worker(0, 2, 1, "--seconds-to-form", "3")
        self.assertIn("lock failed (retry): 1 of 2 workers have come", worker.result()["failure"])
        self.assertEqual(aggregator.status()["groups_admitted"], 0)


if __name__ == "__main__":
    main()
