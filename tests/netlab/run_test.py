"""Programs on a lab's hosts: what they say, what the links count, and that nothing outlives them.

The program is cohom-bench, given by the environment variable COHOM_BENCH.
"""

import json
import os
import pathlib
import signal
import subprocess
import tempfile

from lab_case import LabCase, main, processes, read_json

BENCH = os.environ.get("COHOM_BENCH", "build/bin/cohom-bench")
SLEEP = ["sleep", "123.25"]


def known_transports():
    """Return what this build of cohom has."""
    info = os.path.join(os.path.dirname(BENCH), "cohom-info")
    return {transport["name"] for transport in
            json.loads(subprocess.check_output([info, "--json"]))["transports"]}


class RunTest(LabCase):
    def test_a_real_program_sends_what_it_says(self):
        self.netlab("up", "--hosts", "3", "--rate", "400mbit")
        with tempfile.TemporaryDirectory() as folder:
            bench = [BENCH, "--quiet", "--codec", "raw", "--algorithm", "ring", "--size", "3M",
                     "--iterations", "2", "--warmup", "0", "--json", f"{folder}/rows"]
            self.assertIn("> ", self.netlab("run", "--json", f"{folder}/links", bench))
            (row,) = read_json(f"{folder}/rows")["results"]
            run = read_json(f"{folder}/links")
        # 400 Mbit/s carry 2 * 2/3 of 3 MiB in 84 ms; the bucket lets 256 KiB pass at once.
        self.assertGreater(row["time_s"]["min"], 0.9 * (4 * 2**20 - 2**18) * 8 / 400e6)
        self.assertEqual(run["schema"], "cohom-netlab/1")
        self.assertEqual((run["ranks"], run["exit_status"], run["mpi"]), (3, 0, "ob1"))
        self.assertEqual(len(run["links"]), 6)
        from_hosts = [link["bytes"] for link in run["links"] if "-h" in link["from"]]
        # The row's check and its timed calls, and as many native ones at least.
        self.assertGreater(min(from_hosts), 5 * row["wire_bytes_per_rank"])

    def test_ucx_below_mpi_and_below_cohom(self):
        if "ucx" not in known_transports():
            self.skipTest("cohom was built without UCX")
        self.netlab("up", "--hosts", "2")
        hashes = set()
        with tempfile.TemporaryDirectory() as folder:
            for layer, transport in (("ob1", "mpi"), ("ucx", "mpi"), ("ob1", "ucx"),
                                     ("ucx", "ucx")):
                bench = [BENCH, "--quiet", "--codec", "thc", "--algorithm", "ring", "--size", "1M",
                         "--transport", transport, "--iterations", "2", "--json", f"{folder}/rows"]
                # Two ranks a host: some messages take memory, and some the links.
                links = ["--json", f"{folder}/links"]
                self.netlab("run", "--mpi", layer, "-n", "4", *links, bench)
                (row,) = read_json(f"{folder}/rows")["results"]
                self.assertEqual(row["transport"], transport)
                hashes.add(row["result_hash"])
                self.assertEqual(read_json(f"{folder}/links")["mpi"], layer)
        self.assertEqual(len(hashes), 1)

    def test_rows_have_the_drops_beside_them(self):
        self.netlab("up", "--hosts", "2", "--rate", "100mbit", "--burst", "16k", "--latency", "1ms")
        with tempfile.TemporaryDirectory() as folder:
            bench = [BENCH, "--quiet", "--codec", "raw", "--algorithm", "ring", "--size", "1M",
                     "--iterations", "2", "--json", f"{folder}/rows"]
            self.netlab("run", "--json", f"{folder}/links", bench)
            (row,) = read_json(f"{folder}/rows")["results"]
            self.assertGreater(row["counters"]["drops"], 0)  # so short a queue must overflow
            self.assertLessEqual(row["counters"]["drops"], read_json(f"{folder}/links")["drops"])

    def test_more_ranks_than_hosts(self):
        self.netlab("up", "--hosts", "2")
        text = self.netlab("run", "-n", "4", ["hostname"])
        for host in ("h1", "h2"):
            self.assertEqual(text.splitlines().count(f"{self.name}-{host}"), 2, text)
        # Hosts have no cores of their own.
        threads = max(0, min(15, len(os.sched_getaffinity(0)) // 4 - 1))
        text = self.netlab("run", "-n", "4", ["sh", "-c", "echo threads=$COHOM_THREADS"])
        self.assertEqual(text.splitlines().count(f"threads={threads}"), 4, text)

    def test_another_program_may_start_mpirun(self):
        self.netlab("up", "--hosts", "2")
        text = self.netlab("run", "--with", "env STARTED=yes", ["sh", "-c", "echo is $STARTED"])
        self.assertEqual(text.splitlines().count("is yes"), 2, text)

    def test_exit_status_is_the_program_s(self):
        self.netlab("up", "--hosts", "1")
        self.assertIn("exit status 5", self.netlab("run", ["sh", "-c", "exit 5"], status=5))
        self.assertIn("--json", self.netlab("run", "--json", "/nowhere/x", ["true"], status=1))

    def test_interrupted_and_terminated_runs_leave_no_process(self):
        self.netlab("up", "--hosts", "2")
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start(*SLEEP)
            self.assertIn("a run is in progress", self.netlab("run", ["true"], status=1))
            self.assertIn("a run is in progress", self.netlab("rate", "1mbit", status=1))
            process.send_signal(number)
            process.wait(20)
            self.assertEqual(process.returncode, 130)
            self.assertEqual(processes.processes_of(self.name), [])

    def test_rate_may_change_in_a_run_which_says_so(self):
        self.netlab("up", "--hosts", "2", "--rate", "10gbit")
        self.netlab("rate", "1gbit")  # before it
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--json", f"{folder}/links"]
            wait = ["sh", "-c", f"until [ -e {folder}/go ]; do sleep 0.1; done"]
            process = self.start(*wait, flags=flags)
            self.netlab("rate", "--in-run", "200mbit")
            self.assertIn("rate 200mbit", self.netlab("status"))
            self.netlab("rate", "--in-run", "10gbit")
            pathlib.Path(folder, "go").touch()
            process.wait(20)
            shapes = [line.split("links became: ")[1] for line in process.stdout.read().splitlines()
                      if "links became: " in line]
            self.assertEqual([shape.split(",")[0] for shape in shapes],
                             ["rate 200mbit", "rate 10gbit"])
            self.assertEqual(read_json(f"{folder}/links")["shapes_in_run"], shapes)
            self.netlab("run", *flags, ["true"])
            self.assertEqual(read_json(f"{folder}/links")["shapes_in_run"], [])

    def test_killed_runs_end_too(self):
        self.netlab("up", "--hosts", "2")
        process = self.start(*SLEEP)
        process.kill()
        process.wait(20)
        self.wait_until(lambda: self.count_running(SLEEP) == 0, "ranks end with netlab run")
        self.netlab("down")
        self.assert_nothing_left()

    def test_down_ends_a_run(self):
        self.netlab("up", "--hosts", "2")
        process = self.start(*SLEEP)
        self.assertIn("processes ended", self.netlab("down"))
        process.wait(20)
        self.assertEqual(process.returncode, 1)
        # By then the lab is still there, half removed, or gone.
        self.assertRegex(process.stdout.read(), "exit status 1|went down during the run")
        self.assert_nothing_left()


if __name__ == "__main__":
    main(needs=["mpirun"])
