"""What tests of the switch path share: a lab, aggregators on its switches, workers on its hosts."""

import json
import os
import pathlib
import select
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "netlab"))

import lab_case  # noqa: E402
from lab_case import NETLAB, SKIPPED, LabCase, read_json  # noqa: E402

AGGREGATOR = os.environ.get("COHOM_TEST_AGGREGATOR", "build/bin/cohom-aggregator")
WORKER = os.environ.get("COHOM_OFFLOAD_WORKER", "build/tests/offload/offload_worker")
PORT = 47000
TOKEN = "a secret of this test"
OPERATOR_TOKEN = "a secret of its operator"


def job_id(number):
    """Return the number by which aggregators know the job that workers call `number`."""
    done = subprocess.run([WORKER, "--job", str(number), "--print-job"], capture_output=True,
                          text=True, check=True, timeout=20)
    return int(done.stdout)


class Aggregator:
    """A cohom-aggregator on one of the lab's switches; with ports it is the kernel's program."""

    def __init__(self, case, switch, arguments, ports=None):
        """Start it and wait until it serves."""
        self.case, self.switch = case, switch
        plane = ["--ebpf", "--ports", ports] if ports else []
        self.process = subprocess.Popen(
            [*case.on(switch), AGGREGATOR, *plane, "--listen",
             f"{case.switch_address(switch)}:{PORT}", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=case.environment())
        case.addCleanup(self.end)
        line = self.process.stdout.readline()
        kind = "ebpf" if ports else "daemon"
        case.assertIn(f"cohom-aggregator: {kind}", line,
                      self.process.stderr.read() if not line else "")

    def end(self):
        """End it if it runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def status(self):
        """Return what `cohom-aggregator status --json` says."""
        done = subprocess.run([*self.case.on(self.switch), AGGREGATOR, "status", "--json",
                               f"switch:{PORT}"], capture_output=True, text=True, check=True,
                              env=self.case.environment(), timeout=20)
        return json.loads(done.stdout)


class Worker:
    """A worker on one of the hosts; it stays until it is released."""

    def __init__(self, case, host, arguments, token):
        """Start it."""
        self.case = case
        # Its results are all it says: no cohom-ucx-probe lies beside it, which is warned of.
        environment = {**case.environment(token), "COHOM_LOG": "off"}
        self.process = subprocess.Popen([*case.on(host), WORKER, "--connect", f"switch:{PORT}",
                                         *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=environment)
        case.addCleanup(self.end)

    def result(self):
        """Return what its next phase came to."""
        line = self.process.stdout.readline()
        try:
            return json.loads(line)
        except ValueError:
            self.case.fail(f"a worker says: {line}{self.process.stdout.read()}")

    def line_if_any(self):
        """Return a line that it has printed, such as the result of a phase that is over; or none."""
        ready, _, _ = select.select([self.process.stdout], [], [], 0)
        return self.process.stdout.readline().strip() if ready else ""

    def end(self):
        """Let it go, whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class OffloadCase(LabCase):
    """Labs whose switches sum: their kernels or, in a class that says so, daemons on them."""

    daemons = False

    def up(self, hosts, two_level=False, loss="0", rate="1gbit"):
        """Bring the lab up."""
        self.hosts, self.two_level = hosts, two_level
        self.netlab("up", "--hosts", str(hosts), "--rate", rate, "--loss", loss,
                    *(["--two-level"] if two_level else []))

    def environment(self, token=TOKEN):
        """Return the environment of aggregators and workers."""
        return {**os.environ, "COHOM_AGGREGATOR_TOKEN": token,
                "COHOM_AGGREGATOR_OPERATOR_TOKEN": OPERATOR_TOKEN, "UCX_TLS": "tcp,self"}

    def on(self, node):
        """Return what runs a command on a node, without netlab's process around it."""
        lab = lab_case.state.load(self.name)
        return lab_case.host.command_on(lab, lab_case.host.find(lab, node), [])

    @staticmethod
    def switch_address(switch):
        """Return the address of a switch."""
        return "10.77.0.252" if switch == "leaf2" else "10.77.0.251"

    def aggregators(self, *arguments):
        """Start one on each switch; with two levels leaf2's is the child of leaf1's."""
        if not self.two_level:
            return [self.aggregator("switch", *arguments)]
        parent = f"{self.switch_address('leaf1')}:{PORT}"
        return [self.aggregator("leaf1", *arguments),
                self.aggregator("leaf2", "--parent", parent, *arguments)]

    def aggregator(self, switch, *arguments):
        """Start the one of a switch."""
        ports = [f"h{i + 1}" for i in range(self.hosts)]
        if self.two_level:
            first = (self.hosts + 1) // 2
            ports = (ports[:first] if switch == "leaf1" else ports[first:]) + ["spine"]
        return Aggregator(self, switch, arguments, None if self.daemons else ",".join(ports))

    def workers(self, ranks, job, *arguments, token=TOKEN):
        """Start ranks on the hosts by turns."""
        return [self.worker(rank, ranks, job, *arguments, token=token) for rank in range(ranks)]

    def worker(self, rank, ranks, job, *arguments, token=TOKEN):
        """Start one rank."""
        return Worker(self, f"h{rank % self.hosts + 1}",
                      ["--job", str(job), "--rank", str(rank), "--ranks", str(ranks), *arguments],
                      token)

    def assert_right(self, workers):
        """Fail unless all workers have right sums of everything; returns what they say."""
        results = [worker.result() for worker in workers]
        for result in results:
            self.assertEqual(result.get("wrong"), 0, result)
            self.assertGreater(result["words"], 0)
        return results

    def dropped(self, status):
        """Return the counters of drops that are not zero."""
        return {name: count for name, count in status["packets"].items()
                if name.startswith("drop_") and count}

    def filters(self, switch, port):
        """Return the programs on a port of a switch."""
        done = subprocess.run([*self.on(switch), "tc", "filter", "show", "dev", port, "ingress"],
                              capture_output=True, text=True, check=True)
        return done.stdout


def main(needs=()):
    """Run the tests of the calling file, or say why they cannot run here."""
    if os.environ.get("COHOM_WHY_NO_EBPF"):
        print(f"skipped: no eBPF program in this build: {os.environ['COHOM_WHY_NO_EBPF']}")
        sys.exit(SKIPPED)
    lab_case.main(needs, wants_loss=True)


def main_of_daemons():
    """Run the calling file's tests, which want no eBPF program, or say why they cannot run here."""
    if os.environ.get("COHOM_WHY_NO_UCX"):
        print(f"skipped: {os.environ['COHOM_WHY_NO_UCX']}")
        sys.exit(SKIPPED)
    lab_case.main()


__all__ = ["AGGREGATOR", "NETLAB", "PORT", "TOKEN", "OffloadCase", "job_id", "main",
           "main_of_daemons", "read_json"]
