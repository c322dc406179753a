"""What is remembered of a box between commands, in files that vanish when the machine stops."""

import contextlib
import dataclasses
import fcntl
import pathlib
import shutil

import record
from slurmbox.failure import Failure

FOLDER = pathlib.Path("/run/cohom-slurmbox")
# Scripts of jobs are run from here, which systems forbid below /run.
SPOOL = pathlib.Path("/var/spool/cohom-slurmbox")


@dataclasses.dataclass(frozen=True)
class Box:
    """Everything that `up` was asked for."""

    name: str
    nodes: int
    netlab: str | None = None  # the lab whose hosts are the nodes
    port: int = 0  # the controller's; nodes have the next ones
    switches: int | None = None  # that Slurm is told of; none: its network is flat

    def __str__(self):
        """Return one line that says what it is."""
        switches = f" at {self.switches} switches" if self.switches else ""
        place = f"in lab {self.netlab}" if self.netlab else "on loopback"
        return f"{self.nodes} nodes {place}{switches}"


def folder_of(name):
    """Return where configuration, keys, sockets and logs of the box lie."""
    return FOLDER / name


def spool_of(name):
    """Return where the box's daemons keep what belongs to jobs."""
    return SPOOL / name


def save(box):
    """Remember the box: from now on it is up."""
    record.write(folder_of(box.name) / "box.json", box)


def load(name):
    """Return the box, or nothing when none of this name was completed."""
    path = folder_of(name) / "box.json"
    try:
        fields = record.read(path)
        return fields and Box(**fields)
    except TypeError:
        raise Failure(f"box {name} is another version's; end it with `box down`") from None
    except ValueError:
        raise Failure(f"{path} cannot be read; end box {name} with `box down`") from None


def names():
    """Return the names of all boxes of which there is a folder."""
    if not FOLDER.is_dir():
        return []
    return sorted(entry.name for entry in FOLDER.iterdir() if entry.is_dir())


def forget(name):
    """Remove all files of the box."""
    for folder in (folder_of(name), spool_of(name)):
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def changing():
    """Hold the lock of commands that make and remove boxes; these wait for one another."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
