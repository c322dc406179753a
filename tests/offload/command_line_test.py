"""What cohom-aggregator says of options that do not fit, and of servers that are something else."""

import hmac
import os
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

AGGREGATOR = os.environ.get("COHOM_TEST_AGGREGATOR", "build/bin/cohom-aggregator")


TOKEN = "a secret of this test"


def message(kind, body):
    """Return a message of the control channel."""
    return struct.pack("<II", 8 + len(body), kind) + body


def receive(connection):
    """Return the kind and the fields of the next message."""
    size, kind = struct.unpack("<II", connection.recv(8, socket.MSG_WAITALL))
    return kind, connection.recv(size - 8, socket.MSG_WAITALL)


def answer_status(connection, text, token=TOKEN):
    """Do what an aggregator does: prove to know the token, and send a status."""
    client = receive(connection)[1][4:]
    nonce = bytes(32)
    connection.sendall(message(2, struct.pack("<I", 3) + nonce))
    assert receive(connection)[0] == 3
    proof = hmac.digest(token.encode(), b"cohom control 3 server\0" + client + nonce, "sha256")
    connection.sendall(message(4, proof))
    try:
        receive(connection)
        connection.sendall(message(13, struct.pack("<I", len(text)) + text))
        connection.recv(1)
    except (ConnectionError, struct.error):  # it has gone
        pass


def run(*arguments, token=TOKEN, stdout=subprocess.PIPE, **environment):
    """Return the exit status and what it says."""
    done = subprocess.run([AGGREGATOR, *arguments], stdout=stdout, stderr=subprocess.PIPE,
                          text=True, timeout=20, check=False,
                          env={**os.environ, "COHOM_AGGREGATOR_TOKEN": token, **environment})
    return done.returncode, (done.stdout or "") + done.stderr


class CommandLineTest(unittest.TestCase):
    def test_what_does_not_fit(self):
        for arguments, text in [
                (("--ebpf", "--listen", "127.0.0.1:47000"), "--ports is missing"),
                (("--listen", "127.0.0.1:47000", "--ports", "lo"), "--ports are for --ebpf"),
                (("--listen", "127.0.0.1:47000", "--patience", "nan"), "no number of seconds"),
                (("--ebpf", "--listen", "127.0.0.1:47000", "--ports", "a,,b"),
                 "--ports: 'a,,b' has an empty item"),
                (("--listen", "127.0.0.1"), "it should be HOST:PORT"),
                (("--listen", "127.0.0.1:47000", "--slots", "3"),
                 "cohom-aggregator: --slots: Value 3 not in range"),
                (("--listen", "127.0.0.1:47000", "--sluts", "3"),
                 "cohom-aggregator: The following arguments were not expected:"),
                (("--listen", "127.0.0.1:47000", "--slots", "8", "--group-slots", "9"),
                 "--group-slots is 9, and --slots is 8"),
                (("--listen", "127.0.0.1:47000", "--payload", "12"),
                 "--payload is 12; it should be a multiple of 8"),
                (("--parent", "127.0.0.1:47000"), "--listen HOST:PORT is missing"),
                (("--listen", "127.0.0.1:47000", "--parent", "127.0.0.1:47000"),
                 "an aggregator is not its own parent"),
                (("--listen", "0.0.0.0:47000", "--parent", "127.0.0.1:47000"),
                 "an aggregator is not its own parent"),
                (("--listen", "127.0.0.1:47000", "--ebpf", "--ports", "lo", "--memory", "64"),
                 "--memory is 64, and is for a daemon")]:
            with self.subTest(arguments=arguments):
                status, said = run(*arguments)
                self.assertEqual(status, 2, said)
                self.assertIn(text, said)

    def test_no_token(self):
        status, said = run("--listen", "127.0.0.1:47000", token="")
        self.assertEqual(status, 2)
        self.assertIn("COHOM_AGGREGATOR_TOKEN is not set", said)

    def test_tokens_that_are_none(self):
        for token, why in (("\n\n", "it is too short"), ("ab", "it is too short"),
                           ("x" * 1025, "it is too long"), (" " * 20, "it is blank"),
                           ("two lines\nof it", "it has a control character")):
            with self.subTest(token=token[:20]), tempfile.NamedTemporaryFile("w") as file:
                status, said = run("--listen", "127.0.0.1:47000", token=token)
                self.assertEqual(status, 2, said)
                self.assertIn(f"COHOM_AGGREGATOR_TOKEN: {why}", said)
                file.write(token + "\n")
                file.flush()
                status, said = run("--listen", "127.0.0.1:47000", "--token-file", file.name,
                                   token="")
                self.assertEqual(status, 2, said)
                self.assertIn("--token-file is '" + file.name, said)
        status, said = run("--listen", "127.0.0.1:47000", COHOM_AGGREGATOR_OPERATOR_TOKEN=TOKEN)
        self.assertEqual(status, 2, said)
        self.assertIn("every member would be an operator", said)

    def test_misspelt_variables(self):
        _, said = run("status", "127.0.0.1:1", COHOM_AGGREGATOR_TOKN="x")
        self.assertIn("COHOM_AGGREGATOR_TOKN; did you mean COHOM_AGGREGATOR_TOKEN", said)

    def test_status_to_a_full_disk(self):
        with open("/dev/full", "w", encoding="utf8") as full:
            status, said = self.status_of(b'{"groups":[],"packets":{"a":1}}', "--json",
                                          stdout=full)
        self.assertEqual(status, 1, said)
        self.assertIn("standard output: cannot be written: No space left on device", said)

    def test_help_to_a_full_disk(self):
        with open("/dev/full", "w", encoding="utf8") as full:
            status, said = run("--help", stdout=full)
        self.assertEqual(status, 1, said)
        self.assertIn("standard output: cannot be written", said)

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

    def status_of(self, text, *arguments, token=TOKEN, stdout=subprocess.PIPE):
        """Return what `status` makes of an answer."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            def serve():
                with server.accept()[0] as connection:
                    connection.settimeout(10)
                    answer_status(connection, text, token)
            threading.Thread(target=serve, daemon=True).start()
            return run("status", f"127.0.0.1:{server.getsockname()[1]}", *arguments,
                       stdout=stdout)

    def test_answers_that_are_no_status(self):
        for text in (b"{", b"3", b'{"groups": 3, "packets": 1}', b'{"a":1}', b"\xff\xfe", b"",
                     b'{"groups":[{"job":"x"}],"packets":{}}', b"[" * 500000,
                     b'{"a":' * 100000 + b"1" + b"}" * 100000):
            with self.subTest(text=text[:40]):
                status, said = self.status_of(text)
                self.assertEqual(status, 1, said)
                self.assertIn("what came is no status of a cohom-aggregator", said)

    def test_no_control_characters(self):
        text = (b'{"a\\u001b[31m":"\\u009b\\u0007x",'
                b'"groups":[{"job":1,"group":1,"state":"\\u001b]0;owned\\u0007RED",'
                b'"joined":1,"workers":1,"slots":1,"payload_bytes":1,"contributions":1,"sums":1}],'
                b'"packets":{"\\u001b":1}}')
        for arguments in ((), ("--json",)):
            status, said = self.status_of(text, *arguments)
            self.assertEqual(status, 0, said)
            self.assertIn("owned", said)
            self.assertEqual([c for c in said if not (" " <= c <= "~" or c == "\n")], [])

    def test_a_server_without_the_token(self):
        status, said = self.status_of(b'{"packets":{}}', token="another")
        self.assertEqual(status, 1)
        self.assertIn("it does not know the token", said)

    def test_token_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/token"
            with open(path, "w", encoding="utf8") as file:
                file.write("a secret\n")
            link = f"{folder}/link"
            os.symlink(path, link)
            os.mkfifo(f"{folder}/pipe", 0o600)
            os.chmod(path, 0o640)
            for name, why in ((path, "others may use it; it should have mode 600"),
                              (link, "it is a symbolic link"), (folder, "it is no regular file"),
                              (f"{folder}/pipe", "it is no regular file"),
                              (f"{folder}/none", "No such file")):
                status, said = run("--listen", "127.0.0.1:47000", "--token-file", name)
                self.assertEqual(status, 2, said)
                self.assertIn(f"--token-file is '{name}': {why}", said)
            os.chmod(path, 0o600)
            # It is taken: what is wrong is something else.
            for arguments, environment in ((["--token-file", path], {}),
                                           ([], {"COHOM_AGGREGATOR_TOKEN_FILE": path})):
                status, said = run("--listen", "127.0.0.1:47000", "--ports", "lo", *arguments,
                                   token="", **environment)
                self.assertIn("--ports are for --ebpf", said)
            status, said = run("--listen", "127.0.0.1:47000", COHOM_AGGREGATOR_TOKEN_FILE=path)
            self.assertIn("are both set", said)
            with open(path, "w", encoding="utf8"):
                pass
            self.assertIn("it is empty",
                          run("--listen", "127.0.0.1:47000", "--token-file", path)[1])

    def test_job_key_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/keys"
            for text, mode, why in (("a token\n", 0o600, "line 1 is no key of a job"),
                                    ("", 0o600, "it is empty"),
                                    ("0" * 64 + "\n", 0o640, "others may use it")):
                with open(path, "w", encoding="ascii") as file:
                    file.write(text)
                os.chmod(path, mode)
                status, said = run("status", "--job-key-file", path, "127.0.0.1:9")
                self.assertEqual(status, 2, said)
                self.assertIn(f"--job-key-file is '{path}': {why}", said)
            status, said = run("status", "--job-key-file", path, "--operator-token-file", path,
                               "127.0.0.1:9")
            self.assertEqual(status, 2, said)
            self.assertIn("one of them should be given", said)


if __name__ == "__main__":
    unittest.main()
