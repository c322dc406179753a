"""A daemon that takes munge's credentials: whom it admits, and what it says to the others."""

import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from command_line_test import message, receive
from daemon_process_test import AGGREGATOR, WORKER, DaemonProcess, free_port
from serving import sleep_until

SKIPPED = 77
BEGIN, CHALLENGE, REFUSED, STATUS_REQUEST, STATUS, CREDENTIAL = 1, 2, 5, 12, 13, 15
NOBODY = "65534"


def text_of(side, client, server):
    """Return what a credential of a handshake is for."""
    return b"cohom control 3 munge " + side + client + server


class MungeTest(DaemonProcess):
    """One munged with a key of its own, and daemons that know its socket."""

    def setUp(self):
        """Start munged."""
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        key = self.folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.socket = self.folder / "socket"
        self.start_munged()
        self.environment.pop("COHOM_AGGREGATOR_TOKEN")
        self.environment |= {"COHOM_AGGREGATOR_AUTH": "munge",
                             "COHOM_MUNGE_SOCKET": str(self.socket)}

    def start_munged(self):
        """Start it and wait for its socket."""
        path = self.folder
        self.munged = subprocess.Popen(
            ["munged", "--foreground", "--force", "--num-threads=2", f"--key-file={path}/key",
             f"--socket={self.socket}", f"--pid-file={path}/pid", f"--log-file={path}/log",
             f"--seed-file={path}/seed"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.stop_munged)
        self.assertTrue(sleep_until(self.socket.exists))

    def stop_munged(self):
        """End it if it runs."""
        if self.munged.poll() is None:
            self.munged.send_signal(signal.SIGCONT)
            self.munged.terminate()
        self.munged.wait()

    def credential(self, text, user=None):
        """Return what munged says for this user, or for another one."""
        return subprocess.run(["munge", f"--socket={self.socket}"], input=text, check=True,
                              user=user, capture_output=True).stdout.strip()

    def begin(self):
        """Return a connection that has its challenge, and both nonces."""
        connection = socket.create_connection(self.place.split(":"), timeout=10)
        self.addCleanup(connection.close)
        client = os.urandom(32)
        connection.sendall(message(BEGIN, struct.pack("<I", 3) + client))
        kind, fields = receive(connection)
        self.assertEqual(kind, CHALLENGE)
        return connection, client, fields[4:]

    def propose(self, credential_of):
        """Return a connection on which a credential was sent."""
        connection, client, server = self.begin()
        self.server_text = text_of(b"server", client, server)
        credential = credential_of(text_of(b"client", client, server))
        connection.sendall(message(CREDENTIAL, struct.pack("<I", len(credential)) + credential))
        return connection

    def handshake(self, credential_of):
        """Return the kind and the fields of the answer to a credential."""
        return receive(self.propose(credential_of))

    def worker(self, **environment):
        """Return what a rank says that wants to be summed for."""
        done = subprocess.run([WORKER, "--connect", self.place, "--calls", "5",
                               "--seconds-to-form", "2"],
                              input="", capture_output=True, text=True, check=False, timeout=30,
                              env={**self.environment, **environment})
        return done.stdout + done.stderr

    def test_ranks_of_this_user_are_admitted(self):
        with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
            self.environment["COHOM_LOG"] = "info"
            self.start(stderr=log)
            self.assert_it_sums()
            log.seek(0)
            said = log.read()
        user = os.geteuid()
        users = "user 0" if user == 0 else f"users {user} and 0"
        self.assertIn(f"members prove themselves by munge, as {users}", said)
        # Who runs it is its operator.
        self.assertEqual(self.status()["groups"], [])

    def test_the_aggregator_proves_itself_too(self):
        self.start()
        connection = self.propose(self.credential)
        kind, fields = receive(connection)
        self.assertEqual(kind, CREDENTIAL)
        found = subprocess.run(["unmunge", f"--socket={self.socket}", "--metadata=/dev/null"],
                               input=fields[4:], capture_output=True, check=True).stdout
        self.assertEqual(found, self.server_text)
        connection.sendall(message(STATUS_REQUEST, bytes(96)))
        self.assertEqual(receive(connection)[0], STATUS)

    def assert_refused(self, why, credential_of):
        """Fail unless it is refused so."""
        kind, fields = self.handshake(credential_of)
        self.assertEqual(kind, REFUSED)
        self.assertIn(why, fields.decode())

    def test_other_users_are_refused(self):
        self.start("--munge-users", NOBODY)
        self.assert_refused(f"user {os.geteuid()} may not use this aggregator", self.credential)
        self.assertIn(f"wrong user: user {os.geteuid()} may not use", self.worker())

    @unittest.skipIf(os.geteuid() != 0, "munged is to be asked as another user")
    def test_without_a_list_there_are_this_user_and_root(self):
        self.start()
        self.assert_refused(f"user {NOBODY} may not use this aggregator (--munge-users)",
                            lambda text: self.credential(text, user=int(NOBODY)))
        self.process.kill()
        self.end()
        self.start("--munge-users", "any")
        connection = self.propose(lambda text: self.credential(text, user=int(NOBODY)))
        self.assertEqual(receive(connection)[0], CREDENTIAL)
        # Who is no operator is told totals.
        connection.sendall(message(STATUS_REQUEST, bytes(96)))
        self.assertNotIn(b'"groups"', receive(connection)[1])

    def test_an_aggregator_of_another_user_is_none(self):
        self.start()
        self.assertIn(f"it runs as user {os.geteuid()}, and is to run as user {NOBODY}",
                      self.worker(COHOM_AGGREGATOR_MUNGE_USERS=NOBODY))
        self.assertIn('"wrong":0', self.worker(COHOM_AGGREGATOR_MUNGE_USERS="any"))

    def test_a_credential_serves_once(self):
        self.start()
        used = []

        def remembered(text):
            used.append(self.credential(text))
            return used[-1]

        def seen_by_munged(text):
            credential = self.credential(text)
            subprocess.run(["unmunge", f"--socket={self.socket}"], input=credential, check=True,
                           capture_output=True)
            return credential
        self.assertEqual(self.handshake(remembered)[0], CREDENTIAL)
        self.assert_refused("Replayed credential", lambda _: used[0])
        self.assert_refused("Replayed credential", seen_by_munged)
        # One that nobody has used, but for another handshake.
        old = self.credential(text_of(b"client", bytes(32), bytes(32)))
        self.assert_refused("a credential of munge for another handshake", lambda _: old)
        self.assert_refused("a credential of munge for another handshake",
                            lambda text: self.credential(text.replace(b"client", b"server")))
        self.assert_refused("munge: ", lambda _: b"MUNGE:nonsense:")
        self.assert_refused("it should have at most 1024", lambda _: b"x" * 1025)
        self.assertEqual(self.status()["wrong_tokens"], 6)

    def test_tokens_and_credentials_do_not_mix(self):
        self.start()
        token = {"COHOM_AGGREGATOR_AUTH": "token", "COHOM_AGGREGATOR_TOKEN": "a secret"}
        self.assertIn("wrong token: this aggregator takes credentials of munge, and no token "
                      "(COHOM_AGGREGATOR_AUTH=munge)", self.worker(**token))
        self.process.kill()
        self.end()
        self.environment |= token
        self.start()
        self.assertIn("wrong token: this aggregator takes a token, and no credentials of munge "
                      "(COHOM_AGGREGATOR_AUTH=token)", self.worker(COHOM_AGGREGATOR_AUTH="munge"))

    def test_munged_that_ends_and_comes_back(self):
        self.start()
        kind, fields = self.handshake(lambda text: (self.credential(text), self.stop_munged())[0])
        self.assertEqual(kind, REFUSED)
        self.assertIn("munge: ", fields.decode())
        self.assertIn("COHOM_AGGREGATOR_AUTH is 'munge': munge: ", self.worker())
        self.start_munged()
        self.assert_it_sums()
        self.assertEqual(self.status()["restarts"], 0)

    def test_a_leaf_and_its_parent(self):
        self.start("--munge-users", str(os.geteuid()))
        parent = self.place
        place = f"127.0.0.1:{free_port()}"
        leaf = subprocess.Popen([AGGREGATOR, "--listen", place, "--parent", parent], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                env=self.environment)
        self.addCleanup(leaf.communicate)
        self.addCleanup(leaf.kill)
        self.assertIn(f"parent {parent}", leaf.stdout.readline())
        self.place = place
        self.assert_it_sums()
        self.place = parent
        self.assertEqual(self.status()["groups_admitted"], 1)

    def test_a_stuck_munged_keeps_nobody_else_waiting(self):
        self.start()

        def stopped(text):
            credential = self.credential(text)
            self.munged.send_signal(signal.SIGSTOP)
            return credential
        stuck = self.propose(stopped)
        start = time.monotonic()
        self.begin()
        self.assertLess(time.monotonic() - start, 1)
        self.assertEqual(stuck.recv(1), b"")  # after the 2 s of a handshake
        self.munged.send_signal(signal.SIGCONT)
        self.assert_it_sums()

    def test_what_does_not_fit(self):
        def said(*arguments, **environment):
            done = subprocess.run([AGGREGATOR, "--listen", self.place, *arguments], text=True,
                                  timeout=20, check=False, capture_output=True,
                                  env={**self.environment, **environment})
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            return done.stderr
        nowhere = str(self.folder / "nowhere")
        for what, arguments, text in (
                ({"COHOM_MUNGE_SOCKET": nowhere}, ("--auth", "munge"),
                 "--auth is 'munge': munge: "),
                ({"COHOM_MUNGE_SOCKET": nowhere}, (), "COHOM_AGGREGATOR_AUTH is 'munge': munge: "),
                ({}, ("--auth", "kerberos"), "--auth is 'kerberos'; it should be token or munge"),
                ({}, ("--munge-users", "root,no such"), "'no such' is no user here"),
                ({"COHOM_AGGREGATOR_MUNGE_USERS": "0,"}, (),
                 "COHOM_AGGREGATOR_MUNGE_USERS is '0,', and '' is no user here"),
                ({}, ("--token-file", "x"),
                 "--token-file is 'x', and COHOM_AGGREGATOR_AUTH is 'munge'"),
                ({}, ("--auth", "token", "--munge-users", "root"),
                 "it should come with --auth munge")):
            with self.subTest(arguments=arguments, what=what):
                self.assertIn(text, said(*arguments, **what))


if __name__ == "__main__":
    if os.environ.get("COHOM_WHY_NO_UCX") or os.environ.get("COHOM_WHY_NO_MUNGE"):
        print(f"skipped: {os.environ.get('COHOM_WHY_NO_UCX') or os.environ['COHOM_WHY_NO_MUNGE']}")
        sys.exit(SKIPPED)
    if not all(shutil.which(program) for program in ("munged", "munge", "unmunge")):
        print("skipped: no munged; install with: scripts/setup slurm")
        sys.exit(SKIPPED)
    unittest.main()
