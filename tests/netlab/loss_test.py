"""Switches lose packets with the probability asked for, and count them."""

import json
import threading

from lab_case import LabCase, main

PACKETS = 4000
# One frame a packet, so that every one is lost or not by itself.
SENDER = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range({PACKETS}):
    s.sendto(bytes(100), ("10.77.0.2", 5000))
    if i % 100 == 99: __import__("time").sleep(0.002)
"""
STREAM_BYTES = 40 << 20
LISTENER = f"""
import socket
s = socket.create_server(("", 5001))
c, _ = s.accept()
left = {STREAM_BYTES}
while left: left -= len(c.recv(1 << 20))
"""
STREAMER = f"""
import socket, time
for _ in range(100):
    try:
        s = socket.create_connection(("10.77.0.2", 5001))
        break
    except OSError: time.sleep(0.05)
s.sendall(bytes({STREAM_BYTES}))
s.shutdown(socket.SHUT_WR)
s.recv(1)
"""


class LossTest(LabCase):
    def lost(self):
        """Return the lost packets so far."""
        return json.loads(self.netlab("counters"))["lost"]

    def test_as_many_as_asked_for(self):
        self.netlab("up", "--hosts", "2", "--rate", "none", "--loss", "10%")
        self.netlab("exec", "h1", ["python3", "-c", SENDER])
        expected, deviation = PACKETS * 0.1, (PACKETS * 0.1 * 0.9) ** 0.5
        self.assertAlmostEqual(self.lost(), expected, delta=6 * deviation)

    def test_two_levels_lose_twice_between_leaves(self):
        self.netlab("up", "--hosts", "2", "--rate", "none", "--two-level", "--loss", "10%")
        self.netlab("exec", "h1", ["python3", "-c", SENDER])
        self.assertAlmostEqual(self.lost(), PACKETS * 0.19, delta=6 * (PACKETS * 0.16) ** 0.5)

    def test_a_stream_loses_frames_one_by_one(self):
        self.netlab("up", "--hosts", "2", "--rate", "none", "--loss", "1%")
        listener = threading.Thread(
            target=lambda: self.netlab("exec", "h2", ["python3", "-c", LISTENER]))
        listener.start()
        self.netlab("exec", "h1", ["python3", "-c", STREAMER])
        listener.join()
        frames = STREAM_BYTES / 8948  # of 9000 bytes with their headers
        self.assertGreater(self.lost(), frames * 0.01 * 0.45)

    def test_none_without_the_flag(self):
        self.netlab("up", "--hosts", "2", "--rate", "none")
        self.netlab("exec", "h1", ["python3", "-c", SENDER])
        self.assertEqual(self.lost(), 0)


if __name__ == "__main__":
    main(wants_loss=True)
