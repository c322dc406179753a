"""Ports for the servers that tests start."""

import errno
import pathlib
import random
import socket

EPHEMERAL = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port():
    """Return a port that nobody has, and that the kernel gives nobody who asks for any port.

    UCX and MPI ask for such ports all the time, in the tests that run beside this one.
    """
    first, last = map(int, EPHEMERAL.read_text(encoding="ascii").split())
    ports = range(10000, 65536)
    others = [port for port in ports if not first <= port <= last]
    while True:
        port = random.choice(others or ports)
        try:
            with socket.create_server(("", port)):
                return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
