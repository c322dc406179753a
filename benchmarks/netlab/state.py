"""What is remembered of a lab between commands, in files that vanish when the machine stops."""

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import shutil

from failure import Failure
from topology import Lab, Shape, address, switch_address

FOLDER = pathlib.Path("/run/cohom-netlab")


def folder_of(name):
    """Return where everything about the lab lies."""
    return FOLDER / name


def save(lab):
    """Remember the lab: from now on it is up."""
    path = folder_of(lab.name) / "lab.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(dataclasses.asdict(lab), indent=1) + "\n")
    partial.rename(path)


def load(name):
    """Return the lab, or nothing when none of this name was completed."""
    try:
        fields = json.loads((folder_of(name) / "lab.json").read_text())
    except FileNotFoundError:
        return None
    return Lab(**{**fields, "shape": Shape(**fields["shape"])})


def forget(name):
    """Remove all files of the lab."""
    shutil.rmtree(folder_of(name), ignore_errors=True)


def make_folder(lab):
    """Make the lab's folder, with the lists of hosts that its nodes see as /etc/hosts.

    All nodes have a name, and `switch` is whatever switch is nearest.
    """
    folder = folder_of(lab.name)
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{address(i)} {host.name}" for i, host in enumerate(lab.host_nodes)]
    names += [f"{switch_address(i)} {switch.name}" for i, switch in enumerate(lab.switch_nodes)]
    for i in range(len(lab.switch_nodes)):
        nearest = f"{switch_address(i)} switch"
        hosts_file(lab, i).write_text("\n".join(["127.0.0.1 localhost", *names, nearest]) + "\n")
    return folder


def hosts_file(lab, switch):
    """Return the list of hosts of the nodes at switch number `switch`."""
    return folder_of(lab.name) / f"hosts{switch + 1}"


@contextlib.contextmanager
def locked(name, what, message):
    """Hold one of the lab's locks; refuse with the message when another command holds it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.{what}"
    while True:
        with open(path, "w", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Failure(message) from None
            if not _is_still(path, file):
                continue
            yield
            return


def _is_still(path, file):
    """Return whether the open file is what lies at the path: remove_locks() may have come between."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def remove_locks(name):
    """Remove the files of the lab's locks, while holding the one of changes."""
    for what in ("run", "change"):
        (FOLDER / f"{name}.{what}").unlink(missing_ok=True)


def is_locked(name, what):
    """Return whether some command holds the lock."""
    try:
        with locked(name, what, ""):
            return False
    except Failure:
        return True
