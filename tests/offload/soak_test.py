"""Random calls through a switch while all around them fails at random: no wrong sum, no hang.

COHOM_SOAK_SECONDS (300) says how long, COHOM_SOAK_SEED what is drawn; both are printed.
"""

import json
import os
import random
import subprocess
import threading
import time

from offload_case import NETLAB, PORT, TOKEN, OffloadCase, main
from soak_faults import Faults

PROGRAM = os.environ.get("COHOM_OFFLOAD_SOAK", "build/tests/offload/offload_soak")
SECONDS = float(os.environ.get("COHOM_SOAK_SECONDS", "300"))
SEED = int(os.environ.get("COHOM_SOAK_SEED", random.SystemRandom().randrange(2**31)))
HANG_SECONDS = 60
HANG_STATUS = 3


class SoakTest(OffloadCase):
    def start_job(self):
        """Start the job whose sums must stay right, until its standard input is closed.

        Its lines of JSON come into self.results.
        """
        self.results = []
        job = subprocess.Popen(
            [NETLAB, "run", "--name", self.name, "--mca", "mca_base_env_list",
             "COHOM_AGGREGATOR_TOKEN",
             "-n", "4", "--", os.path.abspath(PROGRAM), "--aggregator", f"switch:{PORT}",
             "--seed", str(SEED), "--hang-seconds", str(HANG_SECONDS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.environment(TOKEN))
        reader = threading.Thread(target=self.read, args=[job.stdout])
        reader.start()
        # The last cleanup comes first: the job ends, then its output, then who reads it.
        self.addCleanup(job.stdout.close)
        self.addCleanup(reader.join)
        self.addCleanup(job.wait)
        self.addCleanup(job.terminate)
        self.addCleanup(job.stdin.close)
        return job

    def read(self, output):
        """Print what the job prints, and keep what it counts."""
        for line in output:
            print(f"           {line}", end="", flush=True)
            if line.startswith("{"):
                self.results.append(json.loads(line))

    def test_faults_of_all_kinds(self):
        print(f"soak of {SECONDS:g} s, seed {SEED} (COHOM_SOAK_SEED={SEED} draws the same again)")
        self.up(4, loss="2%")
        # Each kind takes place in time.
        faults = Faults(self, SEED, max_pause=min(3, SECONDS / 20))
        self.addCleanup(faults.end)
        job = self.start_job()
        end = time.monotonic() + SECONDS
        # The job ends after the faults: with it netlab ends all that runs on the hosts, and so
        # would what a fault runs there.
        faults.go_on_while(lambda: job.poll() is None and time.monotonic() < end)
        job.stdin.close()
        job.wait(timeout=2 * HANG_SECONDS)
        hangs = int(job.returncode == HANG_STATUS)
        result = self.results[-1] if self.results else {}
        fallen_back = result.get("declined", 0) + result.get("repeated", 0)
        print(f"calls {result.get('calls')}, offloaded {result.get('offloaded')}, "
              f"fallen back {fallen_back} (of these in the middle: {result.get('repeated')}), "
              f"wrong sums {result.get('wrong')}, hangs {hangs}")
        print("faults: " + ", ".join(f"{kind} {count}" for kind, count in faults.counts.items()))
        self.assertEqual(job.returncode, 0)
        self.assertEqual(result["wrong"], 0)
        self.assertGreater(result["offloaded"], 0)
        self.assertGreater(fallen_back, 0)
        self.assertNotIn(0, faults.counts.values(), "a kind of fault never took place")


if __name__ == "__main__":
    main(needs=["mpirun"])
