"""Finds and ends what runs in a lab's namespaces."""

import os
import signal
import time

from network import NAMESPACES, namespaces_of

PATIENCE_SECONDS = 3


def _identities(namespaces):
    """Return what the kernel calls the namespaces."""
    found = set()
    for namespace in namespaces:
        try:
            status = os.stat(NAMESPACES / namespace)
        except FileNotFoundError:
            continue
        found.add((status.st_dev, status.st_ino))
    return found


def shell_status(returncode):
    """Return the exit status by which a shell calls what subprocess returned."""
    return 128 - returncode if returncode < 0 else returncode


def processes_of(name):
    """Return the ids of all processes in the lab's namespaces."""
    return _processes_in(namespaces_of(name))


def _processes_in(namespaces):
    wanted = _identities(namespaces)
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            status = os.stat(f"/proc/{entry}/ns/net")
        except OSError:  # it has ended meanwhile
            continue
        if (status.st_dev, status.st_ino) in wanted:
            found.append(int(entry))
    return found


def _signal_all(namespaces, number):
    for process in _processes_in(namespaces):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def end_all(name):
    """End all processes in the lab's namespaces; returns how many there were."""
    return _end(namespaces_of(name))


def end_on_hosts(lab):
    """End all processes on the lab's hosts. Those on its switches, such as aggregators, stay."""
    return _end([host.namespace for host in lab.host_nodes])


def _end(namespaces):
    count = len(_processes_in(namespaces))
    if count:
        _signal_all(namespaces, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while _processes_in(namespaces):
        if time.monotonic() > deadline:
            _signal_all(namespaces, signal.SIGKILL)
        time.sleep(0.02)
    return count
