"""The first process of a box: starts its daemons and waits for them. With it all of the box ends.

usage: supervisor.py FOLDER, the box's, with the command lines in daemons.json

It is number 1 in a namespace of process ids, so the kernel ends whatever jobs have started, too.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

PATIENCE_SECONDS = 30


def start(folder, name, command):
    """Start one daemon; what it prints is kept."""
    with open(folder / f"{name}.out", "ab") as output:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT)


def wait_for(path, what):
    """Wait until a file is there; says so when it takes too long."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            print(f"{what} made no {path.name} in {PATIENCE_SECONDS} s", flush=True)
            return
        time.sleep(0.02)


def main():
    """Start all and reap whatever ends: orphans of jobs as well."""
    folder = pathlib.Path(sys.argv[1])
    commands = json.loads((folder / "daemons.json").read_text())
    for name, command in commands:
        start(folder, name, command)
        if name == "munged":  # the others end at once when they cannot authenticate
            wait_for(folder / "munge.socket", name)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    main()
