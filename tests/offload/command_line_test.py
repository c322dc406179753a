"""What cohom-aggregator says of options that do not fit, and of servers that are something else."""

import os
import socket
import subprocess
import threading
import unittest

AGGREGATOR = os.environ.get("COHOM_AGGREGATOR_PROGRAM", "build/bin/cohom-aggregator")


def run(*arguments, token="a secret of this test"):
    """Return the exit status and what it says."""
    done = subprocess.run([AGGREGATOR, *arguments], capture_output=True, text=True, timeout=20, check=False,
                          env={**os.environ, "COHOM_AGGREGATOR_TOKEN": token})
    return done.returncode, done.stdout + done.stderr


class CommandLineTest(unittest.TestCase):
    def test_what_does_not_fit(self):
        for arguments, text in [
                (("--ebpf", "--listen", "127.0.0.1:47000"), "--ports is missing"),
                (("--listen", "127.0.0.1:47000", "--ports", "lo"), "--ports are for --ebpf"),
                (("--listen", "127.0.0.1"), "it should be HOST:PORT"),
                (("--listen", "127.0.0.1:47000", "--slots", "3"), "--slots: Value 3 not in range"),
                (("--parent", "127.0.0.1:47000"), "--listen HOST:PORT is missing")]:
            with self.subTest(arguments=arguments):
                status, said = run(*arguments)
                self.assertEqual(status, 2, said)
                self.assertIn(text, said)

    def test_no_token(self):
        status, said = run("--listen", "127.0.0.1:47000", token="")
        self.assertEqual(status, 2)
        self.assertIn("COHOM_AGGREGATOR_TOKEN is not set", said)

    def test_status_of_something_else(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            def greet():
                with server.accept()[0] as connection:
                    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                    connection.recv(1000)
            threading.Thread(target=greet, daemon=True).start()
            address = f"127.0.0.1:{server.getsockname()[1]}"
            status, said = run("status", address)
        self.assertEqual(status, 1)
        self.assertIn(f"aggregator {address}: what came is no control message", said)


if __name__ == "__main__":
    unittest.main()
