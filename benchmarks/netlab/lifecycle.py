"""Labs come up, change their rate and go down; what a crash has left is cleared away."""

import contextlib
import dataclasses
import time

import counters
import loss
import network
import processes
import shaping
import state
from failure import Broken, Failure

IN_PROGRESS = "a run is in progress in lab {}"


def changing(name):
    """Hold the lock of commands that change the lab."""
    return state.locked(name, "change", f"another netlab command is at work on lab {name}")


def is_up(lab):
    """Return whether all the lab's namespaces are there."""
    return {node.namespace for node in lab.nodes} <= set(network.namespaces_of(lab.name))


def goes_down(lab, seconds):
    """Return whether the lab is gone, or going within some seconds."""
    end = time.monotonic() + seconds
    while is_up(lab):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def check(lab):
    """Refuse a lab that lacks what programs need to come to its hosts."""
    for switch in range(len(lab.switch_nodes)):
        if not state.hosts_file(lab, switch).is_file():
            raise Broken(lab.name, f"{state.hosts_file(lab, switch)} is gone")
    for node in lab.nodes:
        if not network.is_alive(node.namespace):
            raise Broken(lab.name, f"{network.NAMESPACES / node.namespace} is no namespace")


def _is_whole(lab):
    """Return whether nothing of the lab is broken; refuse if a broken one is in use."""
    try:
        check(lab)
        counters.read(lab)
    except Broken:
        if state.is_locked(lab.name, "run"):
            raise Failure(IN_PROGRESS.format(lab.name)) from None
        return False
    return True


def up(lab):
    """Bring the lab up; returns whether that changed anything.

    A lab that is up with other arguments is left alone: somebody may be measuring in it. What is
    incomplete or broken is made anew.
    """
    with changing(lab.name):
        existing = state.load(lab.name)
        if existing and is_up(existing) and _is_whole(existing):
            if existing == lab:
                return False
            raise Failure(f"lab {lab.name} is up already, with other arguments ({existing}); "
                          "change its rate with `netlab rate`, or end it with `netlab down`")
        _clear(lab.name)
        try:
            _make(lab)
        except BaseException:
            _clear(lab.name)
            state.remove_locks(lab.name)
            raise
    return True


def _make(lab):
    folder = state.make_folder(lab)
    network.create(lab)
    shaping.shape(lab)
    if lab.loss:
        program = folder / "loss.o"
        loss.compile_program(lab.loss, program)
        loss.attach(lab, program)
    state.save(lab)


def _clear(name):
    ended = processes.end_all(name)
    existed = bool(network.namespaces_of(name)) or state.folder_of(name).exists()
    network.remove(name)
    state.forget(name)
    return existed, ended


def down(name):
    """End all that runs in the lab and remove it, also what a crash has left of it.

    Returns whether there was anything, and how many processes were ended.
    """
    with changing(name):
        cleared = _clear(name)
        state.remove_locks(name)
        return cleared


def reshape(name, shape, in_run=False):
    """Give the lab's links another shape; refuse during a run, unless `in_run` says otherwise."""
    with contextlib.nullcontext() if in_run else running(name), changing(name):
        lab = dataclasses.replace(loaded(name), shape=shape)
        state.add_shape_in_run(lab)
        shaping.shape(lab)
        state.save(lab)
    return lab


def running(name):
    """Hold the lock of a run: what two runs measure at once would be neither's."""
    loaded(name)  # before a file of its lock is made for a lab that is not there
    return state.locked(name, "run", IN_PROGRESS.format(name))


def loaded(name):
    """Return the lab; refuse when it is not up, or broken."""
    lab = state.load(name)
    if lab and is_up(lab):
        check(lab)
        return lab
    if network.namespaces_of(name):
        raise Failure(f"lab {name} is incomplete; make it anew with `netlab up`, or clear it away "
                      "with `netlab down`")
    raise Failure(f"lab {name} is not up; see `netlab up --help`")
