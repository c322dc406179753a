"""Finds and ends what runs in a lab's namespaces."""

import os
import signal
import time

from network import NAMESPACES, namespaces_of

PATIENCE_SECONDS = 3


def _identities(name):
    """Return what the kernel calls the lab's namespaces."""
    found = set()
    for namespace in namespaces_of(name):
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
    wanted = _identities(name)
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


def _signal_all(name, number):
    for process in processes_of(name):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def end_all(name):
    """End all processes in the lab's namespaces; returns how many there were."""
    count = len(processes_of(name))
    if count:
        _signal_all(name, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while processes_of(name):
        if time.monotonic() > deadline:
            _signal_all(name, signal.SIGKILL)
        time.sleep(0.02)
    return count
