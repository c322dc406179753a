"""Boxes come up and go down; what a crash has left is cleared away."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from slurmbox import config, state
from slurmbox.failure import Failure
from slurmbox.place import place_of, with_port

SUPERVISOR = str(pathlib.Path(__file__).with_name("supervisor.py"))
PATIENCE_SECONDS = 90  # a busy machine takes its time
POLL_SECONDS = 0.1
LOG_LINES = 5


def supervisors(name):
    """Return the processes that hold the box called so, whether or not its files are there."""
    wanted = f"{SUPERVISOR}\0{state.folder_of(name)}\0"
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and wanted in pathlib.Path(f"/proc/{entry}/cmdline").read_text():
                found.append(int(entry))
        except (OSError, UnicodeDecodeError):  # it has ended meanwhile, or is none of ours
            pass
    return found


def loaded(name):
    """Return the box; refuse when it is not up."""
    box = state.load(name)
    if box and supervisors(name):
        return box
    if box or supervisors(name) or state.folder_of(name).exists():
        raise Failure(f"box {name} is incomplete; clear it away with `box down`")
    raise Failure(f"box {name} is not up; see `box up --help`")


def up(box):
    """Bring the box up; returns whether that changed anything.

    A box that is up with other arguments is left alone: somebody's jobs may be running in it.
    """
    with state.changing():
        existing = state.load(box.name)
        if existing and supervisors(box.name):
            if dataclasses.replace(existing, port=box.port) == box:
                return False
            raise Failure(f"box {box.name} is up already, with other arguments ({existing}); "
                          "end it with `box down`")
        _clear(box.name)
        try:
            box = with_port(box)
            _start(box)
            _wait_until_idle(box)
            state.save(box)
        except BaseException:
            _clear(box.name)
            raise
    return True


def _start(box):
    place = place_of(box)
    folder = state.folder_of(box.name)
    folder.mkdir(parents=True)
    config.write(box, place)
    (folder / "daemons.json").write_text(json.dumps(config.daemons(box, place)))
    with open(folder / "supervisor.out", "wb") as output:
        subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                          sys.executable, SUPERVISOR, str(folder)], start_new_session=True,
                         stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd="/")


def _wait_until_idle(box):
    command = place_of(box).client(["sinfo", "--noheader", "--Node", "--format=%T"])
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        states = done.stdout.split()
        if states == ["idle"] * box.nodes:
            return
        if time.monotonic() > deadline or not supervisors(box.name):
            raise Failure(f"nodes of box {box.name} take no jobs "
                          f"({', '.join(states) or done.stderr.strip()}); its logs end with\n"
                          + _logs(state.folder_of(box.name)))
        time.sleep(POLL_SECONDS)


def _logs(folder):
    """Return the last lines of what the daemons wrote."""
    lines = []
    for path in sorted([*folder.glob("*.log"), *folder.glob("*.out")]):
        tail = path.read_text(errors="replace").splitlines()[-LOG_LINES:]
        lines += [f"  {path.name}: {line}" for line in tail]
    return "\n".join(lines)


def down(name):
    """End all that runs in the box and remove it, also what a crash has left of it.

    Returns whether there was anything.
    """
    with state.changing():
        return _clear(name)


def _clear(name):
    existed = bool(supervisors(name)) or state.folder_of(name).exists()
    for process in supervisors(name):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
    while supervisors(name):
        time.sleep(POLL_SECONDS)
    state.forget(name)
    return existed
