"""A stranger on a rack's host, who knows all of a job but its keys: no sum in, nothing out."""

import os
import secrets
import subprocess

import hostile_packets
from hostile_packets import FORGER, forged, header_of
from offload_case import PORT, OffloadCase, main
from serving import sleep_until

CONTRIBUTION, SUM, WAITING, HELLO, ANSWER = range(1, 6)
PARENT = "10.77.0.251"
GUESSES = 500


class ForgedSumsTest(OffloadCase):
    """Ranks on h1 and h2 below the root, on h3 below the leaf; a stranger on h4 below the leaf."""

    def forge(self, frames):
        """Send these from h4."""
        hostile_packets.run_on(self.on("h4"), FORGER, [frame.hex() for frame in frames])

    def hide_parent(self, hidden):
        """Lose what the leaf says to its parent, so that it is not answered, or lose it no more."""
        rule = ["to", PARENT, "ipproto", "udp", "dport", str(PORT), "blackhole"]
        subprocess.run([*self.on("leaf2"), "ip", "rule", "add" if hidden else "del", "pref", "1",
                        *(rule if hidden else [])], check=True, timeout=20)

    def drops_of(self, frames):
        """Return what the leaf makes of these frames: its counters of drops."""
        before = self.dropped(self.leaf.status())
        self.forge(frames)
        after = self.dropped(self.leaf.status())
        return {name: count - before.get(name, 0) for name, count in after.items()
                if count != before.get(name, 0)}

    def keys(self, known):
        """Return keys that a stranger may try: none, another member's, and guesses."""
        return [0, known["key"], *(secrets.randbits(64) for _ in range(GUESSES))]

    def start(self):
        """Start all but the parent's answers; returns a hello of h3."""
        self.up(4, two_level=True)
        self.root, self.leaf = self.aggregators()
        self.hide_parent(True)
        self.ranks = []

        def join():
            self.ranks = self.workers(3, int.from_bytes(os.urandom(7)), "--calls", "1500",
                                      "--words", "300", "--pause", "4")
            self.assertTrue(sleep_until(lambda: self.leaf.status()["packets"]["greeted"] > 0))

        return hostile_packets.frames_of(self.on("h3"), join)[0]

    def test_a_stranger_with_all_numbers_but_the_keys(self):
        hello = self.start()
        known = header_of(hello)
        # While the leaf waits for its parent's answer, from the stranger's own address and from the
        # parent's.
        answers = [forged(hello, source=source, kind=ANSWER, key=key, call=0,
                          use=secrets.randbits(32), offset=secrets.randbits(32))
                   for source in (None, (PARENT, PORT)) for key in self.keys(known)]
        self.assertEqual(self.drops_of(answers), {"drop_key": len(answers)})
        self.assertEqual(self.leaf.status()["packets"]["parent_learnt"], 0)
        self.assertEqual(self.leaf.status()["groups"][0]["state"], "greeting")

        self.hide_parent(False)
        self.assertTrue(sleep_until(lambda: (
            lambda groups: groups and groups[0]["sums"] > 20)(self.leaf.status()["groups"])))
        packets = [forged(hello, source=source, kind=kind, key=key, words=words, use=use,
                          slot=use % 64)
                   for use, key in enumerate(key for key in self.keys(known) if key != known["key"])
                   for kind, source, words in [(SUM, (PARENT, PORT), 4), (CONTRIBUTION, "own", 4),
                                               (HELLO, "own", 0), (WAITING, (PARENT, PORT), 0),
                                               (ANSWER, (PARENT, PORT), 0)]]
        self.assertEqual(self.drops_of(packets), {"drop_key": len(packets)})
        # Straight to the worker, as if the leaf had sent them.
        sums = [forged(hello, back=True, kind=SUM, key=secrets.randbits(64), words=4,
                       slot=slot % 64)
                for slot in range(GUESSES)]
        self.forge(sums)
        results = self.assert_right(self.ranks)
        self.assertEqual([result["foreign"] for result in results], [0, 0, GUESSES])
        self.assertEqual(self.leaf.status()["packets"]["parent_learnt"], 1)


if __name__ == "__main__":
    main()
