"""What goes wrong during the soak: each kind of fault at random, and how often it took place."""

import collections
import dataclasses
import os
import pathlib
import random
import signal
import tempfile
import time

import hostile_packets
import lab_case
import loss
import shaping
from offload_case import PORT, job_id
from serving import LETHAL, child_of, listening, sleep_until

JOB = 2  # of the workers that are killed
LOSSES = [0.001, 0.005, 0.01, 0.02]
RATES = [100, 200, 500, 1000]  # Mbit/s
MOST_REPLAYED = 400
MOST_BEGINNINGS = 5  # of the other job, one after the other
WITH_DAEMONS = not os.environ.get("COHOM_WHY_NO_UCX")


class Faults:
    """The faults of one lab with one switch, an aggregator on it, and a job that must not mind."""

    def __init__(self, case, seed, max_pause):
        """Start the aggregator and the other job. `case`: an OffloadCase whose lab is up with loss.

        Between two faults are up to `max_pause` seconds.
        """
        self.case, self.random, self.max_pause = case, random.Random(seed), max_pause
        self.lab = lab_case.state.load(case.name)
        self.counts = collections.Counter({name: 0 for name in self.kinds()})
        if WITH_DAEMONS:
            self.counts["daemon_in_its_place"] = 0
        self.start = time.monotonic()
        self.hosts = [node.name.removeprefix(f"{case.name}-") for node in self.lab.host_nodes]
        self.frames = []
        self.losing = False
        folder = tempfile.TemporaryDirectory()
        case.addCleanup(folder.cleanup)
        self.programs = {share: pathlib.Path(folder.name) / f"loss{share}.o" for share in LOSSES}
        for share, program in self.programs.items():
            loss.compile_program(share, program)
        self.aggregator, = case.aggregators()
        self.workers = []
        self.start_workers()
        loss.detach(self.lab)  # what `up` asked for: hosts that send frame by frame

    @staticmethod
    def kinds():
        """Return the names of all kinds of faults: of the methods that do them."""
        return ["change_loss", "kill_aggregator", "stop_aggregator", "kill_worker", "kill_workers",
                "send_garbage", "call_with_garbage", "replay_packets", "change_rate"]

    def go_on_while(self, condition):
        """Do one fault of each kind in random order, again and again, with pauses between them.

        A kind that is not possible yet (it returns None) is put off until the next time around.
        """
        deck, put_off = [], []
        while condition():
            if not deck:
                deck, put_off = self.random.sample(self.kinds(), len(self.kinds())) + put_off, []
            kind = deck.pop()
            what = getattr(self, kind)()
            if what is None:
                put_off.append(kind)
                continue
            self.counts[kind] += 1
            print(f"{time.monotonic() - self.start:7.1f} s  {kind}: {what}", flush=True)
            self.pause(condition, self.random.uniform(0.3, self.max_pause))

    @staticmethod
    def pause(condition, seconds):
        """Sleep, but not longer than the condition holds."""
        end = time.monotonic() + seconds
        while condition() and time.monotonic() < end:
            time.sleep(0.1)

    def change_loss(self):
        """Switch the switches' loss on, or off again."""
        self.losing = not self.losing
        if not self.losing:
            loss.detach(self.lab)
            return "none"
        share = self.random.choice(LOSSES)
        loss.attach(self.lab, self.programs[share])
        return f"{share:.1%} of packets"

    def change_rate(self):
        """Give all links another rate."""
        rate = self.random.choice(RATES)
        shape = dataclasses.replace(self.lab.shape, rate=rate * 10**6)
        self.lab = dataclasses.replace(self.lab, shape=shape)
        shaping.shape(self.lab)
        return f"{rate} Mbit/s"

    def kill_aggregator(self):
        """Kill the aggregator outright; its program stays on the ports."""
        self.aggregator.end()
        return self.restart_aggregator()

    def stop_aggregator(self):
        """Stop the aggregator in order."""
        self.aggregator.process.send_signal(signal.SIGTERM)
        status = self.aggregator.process.wait(timeout=20)
        self.case.assertEqual(status, 0, self.aggregator.process.stderr.read() if status else "")
        self.aggregator.end()
        return self.restart_aggregator()

    def restart_aggregator(self):
        """Start it again after a while; returns how long that was."""
        seconds = self.random.uniform(0, 1.5)
        time.sleep(seconds)
        # Every second time another kind takes its place.
        self.case.daemons = not self.case.daemons and WITH_DAEMONS
        self.counts["daemon_in_its_place"] += self.case.daemons
        self.aggregator, = self.case.aggregators()
        self.start_workers()
        who = "a daemon" if self.case.daemons else "the switch"
        return f"{who} is back after {seconds:.1f} s"

    def start_workers(self):
        """Start the other job's workers."""
        for worker in self.workers:
            worker.end()
        self.failures = []  # what they say of theirs
        self.workers = self.case.workers(3, JOB, "--calls", "100000000", "--words", "300",
                                         "--pause", "10")

    def workers_sum(self):
        """Return whether the other job is under way."""
        return any(group["job"] == job_id(JOB) and group["sums"] > 0
                   for group in self.aggregator.status()["groups"])

    def wait_for_workers(self):
        """Wait until the other job is under way.

        On a busy machine it may fail: the aggregator says nothing for seconds. Then it begins anew.
        """
        for _ in range(MOST_BEGINNINGS):
            self.case.assertTrue(
                sleep_until(lambda: self.workers_sum() or self.failure_of_workers(), 60),
                f"the other job neither sums nor fails: {self.aggregator.status()}, workers' exit "
                f"status: {[worker.process.poll() for worker in self.workers]}")
            if not self.failures:
                return
            print(f"           the other job begins anew: {self.failures}", flush=True)
            self.start_workers()
        self.case.fail(f"the other job failed {MOST_BEGINNINGS} times in a row")

    def failure_of_workers(self):
        """Return whether workers of the other job have said what failed; keep it."""
        for line in filter(None, (worker.line_if_any() for worker in self.workers)):
            self.case.assertIn('"failure"', line, "a worker has ended otherwise")
            self.failures.append(line)
        return bool(self.failures)

    def kill_worker(self):
        """Kill one worker of the other job in the middle; then it begins anew."""
        self.wait_for_workers()
        victim = self.random.choice(self.workers)
        victim.process.kill()
        time.sleep(self.random.uniform(0, 0.5))
        self.start_workers()
        return "of another job"

    def kill_workers(self):
        """Kill several workers of the other job within a few milliseconds; then it begins anew."""
        self.wait_for_workers()
        victims = self.random.sample(self.workers, self.random.choice([2, 3]))
        for victim in victims:
            victim.process.kill()
            time.sleep(self.random.uniform(0, 0.01))
        self.start_workers()
        return f"{len(victims)} of another job"

    def call_with_garbage(self):
        """Send bytes to each TCP port of the aggregator: any; to UCX those that end who reads."""
        started = self.aggregator.process.pid
        server = child_of(started)
        places = sorted(listening(server or started))
        lethal = self.random.random() < 0.5 and len(places) > 1
        calls = [(*place, LETHAL if lethal and place[1] != PORT
                  else self.random.randbytes(self.random.randrange(9000)))
                 for place in places for _ in range(1 if lethal else 20)]
        hostile_packets.call_on(self.case.on(self.random.choice(self.hosts)), calls)
        if lethal:
            self.case.assertTrue(sleep_until(lambda: child_of(started) not in (None, server), 10),
                                 "the daemon is not back")
            self.start_workers()
        return f"{len(places)} ports" + (", lethal" if lethal else "")

    def send_garbage(self):
        """Send packets of any content, and such that are right but for one thing."""
        groups = self.aggregator.status()["groups"]
        packets = [self.random.randbytes(self.random.randrange(8973)) for _ in range(50)]
        for group in groups:
            # The status tells neither.
            group |= {"epoch": self.random.getrandbits(64), "key": self.random.getrandbits(64)}
            packets += [hostile_packets.packet(group, **{field: self.random.getrandbits(16)})
                        for field in ("group", "worker", "slot", "use", "offset", "call", "words")]
            packets.append(hostile_packets.packet(group,
                                                  worker=self.random.randrange(group["workers"])))
        self.random.shuffle(packets)
        self.send(hostile_packets.SENDER, self.random.choice(self.hosts), packets)
        return f"{len(packets)} packets"

    def replay_packets(self):
        """Record what a host sends to the switch, and send packets of now or earlier once more.

        Returns None where there are none: a daemon is in the switch's place, and was from the
        beginning.
        """
        if not self.case.daemons:
            self.record_packets()
        if not self.frames:
            return None
        replayed = 0
        for of_host, frames in self.random.sample(self.frames, min(2, len(self.frames))):
            some = self.random.sample(frames, min(MOST_REPLAYED, len(frames)))
            self.send(hostile_packets.REPLAYER, of_host, some)
            replayed += len(some)
        return f"{replayed} packets"

    def record_packets(self):
        """Keep what one of the hosts that send anything sends; daemons are sent no such packets."""
        self.wait_for_workers()
        for host in self.random.sample(self.hosts, len(self.hosts)):
            recorded = hostile_packets.frames_of(self.case.on(host), lambda: time.sleep(0.3))
            if recorded:
                self.frames = (self.frames + [(host, recorded)])[-5:]
                return

    def send(self, program, host, packets):
        """Let a host send packets."""
        hostile_packets.run_on(self.case.on(host), program, [packet.hex() for packet in packets])

    def end(self):
        """End what runs beside the job."""
        for worker in self.workers:
            worker.end()
