"""What is remembered of a lab between commands, in files that vanish when the machine stops."""

import contextlib
import fcntl
import os
import pathlib
import shutil

import record
from failure import Failure
from topology import Lab, Shape, address, switch_address

FOLDER = pathlib.Path("/run/cohom-netlab")


def folder_of(name):
    """Return where everything about the lab lies."""
    return FOLDER / name


def save(lab):
    """Remember the lab: from now on it is up."""
    record.write(folder_of(lab.name) / "lab.json", lab)


def load(name):
    """Return the lab, or nothing when none of this name was completed."""
    path = folder_of(name) / "lab.json"
    try:
        fields = record.read(path)
        return fields and Lab(**{**fields, "shape": Shape(**fields["shape"])})
    except (TypeError, KeyError):
        raise Failure(f"lab {name} is another version's; end it with `netlab down`") from None
    except ValueError:
        raise Failure(f"{path} cannot be read; end lab {name} with `netlab down`") from None


def begin_run(name):
    """Forget the shapes that links of a lab got during an earlier run."""
    _shapes_in_run(name).write_text("", encoding="ascii")


def add_shape_in_run(lab):
    """Remember the links' new shape for the report of a run that may be in progress."""
    with _shapes_in_run(lab.name).open("a", encoding="ascii") as file:
        file.write(f"{lab.shape}\n")


def shapes_in_run(name):
    """Return what the links became since begin_run(), as text, in order."""
    try:
        return _shapes_in_run(name).read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        raise Failure(f"lab {name} went down during the run") from None


def _shapes_in_run(name):
    return folder_of(name) / "shapes-in-run"


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
    """Return whether an open file is what lies at the path: remove_locks() may come between."""
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
