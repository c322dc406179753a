"""The hosts on which models are trained, and the aggregator on their switch."""

import json
import os
import pathlib
import secrets
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NETLAB = str(HERE.parent / "netlab" / "netlab")
LIBRARY = pathlib.Path(os.environ.get("COHOM_PYTHON_LIBRARY")
                       or ROOT / "build" / "lib" / "libcohom_python.so").resolve()
PROGRAMS = LIBRARY.parents[1] / "bin"
FIRST_HOST = "10.77.0.1"
HOST_DEVICE = "eth0"
AGGREGATOR = "switch:47000"
SECONDS_TO_LISTEN = 30


class Lab:
    """Hosts with links, for as long as it is entered."""

    def __init__(self, hosts, rate):
        self.name, self._hosts, self._rate = "training", hosts, rate

    def __enter__(self):
        """Make it."""
        if subprocess.run([NETLAB, "up", "--name", self.name, "--hosts", str(self._hosts),
                           "--rate", self._rate], check=False).returncode != 0:
            sys.exit(1)  # it has said why
        return self

    def __exit__(self, *_):
        """Remove it."""
        subprocess.run([NETLAB, "down", "--name", self.name], check=True,
                       stdout=subprocess.DEVNULL)

    def run(self, way, arguments):
        """Train in a way by worker.py with one rank a host; returns whether all went well."""
        spec, _, suffix = way.partition("@")
        settings = {"PYTHONPATH": ROOT / "python", "COHOM_PYTHON_LIBRARY": LIBRARY,
                    "GLOO_SOCKET_IFNAME": HOST_DEVICE, "OMP_NUM_THREADS": 1,
                    "PYTHONDONTWRITEBYTECODE": 1}
        if suffix in ("", "lanes"):
            return self._worker(settings, arguments)
        rule = f"codec={spec} native=never"
        if suffix == "drop-in":
            return self._worker(settings, arguments, rule)
        token = secrets.token_hex(16)  # of this row's aggregator, which is the lab's alone
        settings |= {"COHOM_AGGREGATOR": AGGREGATOR, "COHOM_AGGREGATOR_TOKEN": token}
        with _Aggregator(self.name, suffix, self._hosts, token) as aggregator:
            if not aggregator.listens():
                print("training: the aggregator does not listen", file=sys.stderr)
                return False
            trained = self._worker(settings, arguments, f"{rule} algorithm=offload")
            sums = aggregator.sums()
        print(f"  the aggregator made {sums} sums", flush=True)
        return trained and sums > 0  # else ranks have summed in its place

    def _worker(self, settings, arguments, rule=""):
        """Run worker.py; with a rule, in front of MPI's own allreduce."""
        with_drop_in = ["--with", str(PROGRAMS / "cohom-exec")] if rule else []
        return subprocess.run(
            [NETLAB, "run", "--name", self.name, *with_drop_in, "--", "env",
             *(f"{name}={value}" for name, value in settings.items()), "/usr/bin/python3",
             str(HERE / "worker.py"), "--address", FIRST_HOST, "--device", HOST_DEVICE,
             *arguments], check=False,
            env=os.environ | ({"COHOM_DROP_IN": rule} if rule else {})).returncode == 0


class _Aggregator:
    """One on the switch, for as long as it is entered: a daemon, or the kernel of the switch."""

    def __init__(self, lab, kind, hosts, token):
        ports = ",".join(f"h{number}" for number in range(1, hosts + 1))
        self._on_switch = [NETLAB, "exec", "--name", lab, "switch", "--"]
        self._flags = ["--ebpf", "--ports", ports] if kind == "switch" else []
        self._environment = os.environ | {"COHOM_AGGREGATOR_TOKEN": token}
        self._program = str(PROGRAMS / "cohom-aggregator")

    def __enter__(self):
        """Start it."""
        self._process = subprocess.Popen(
            [*self._on_switch, self._program, "--listen", AGGREGATOR, *self._flags],
            env=self._environment)
        return self

    def listens(self):
        """Wait until it does; returns whether it does in time."""
        deadline = time.monotonic() + SECONDS_TO_LISTEN
        while self._process.poll() is None and time.monotonic() < deadline:
            if self._status() is not None:
                return True
            time.sleep(0.2)
        return False

    def sums(self):
        """Return how many sums it has sent to all ranks."""
        status = self._status()
        return 0 if status is None else status["packets"]["spread"]

    def _status(self):
        """Return what it says of itself, or None."""
        try:
            done = subprocess.run(
                [*self._on_switch, self._program, "status", "--json", AGGREGATOR], check=False,
                env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                timeout=SECONDS_TO_LISTEN)
        except subprocess.TimeoutExpired:
            return None
        return json.loads(done.stdout) if done.returncode == 0 else None

    def __exit__(self, *_):
        """End it."""
        self._process.terminate()
        self._process.wait()
