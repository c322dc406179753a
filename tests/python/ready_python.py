"""Programs of tests in processes that have PyTorch already, which takes seconds to import.

run_ready() does what a new interpreter would, but that PyTorch is imported: by a process that forks
for each program. What a program registers for its end runs as ever, which it would not in a process
of multiprocessing's.
"""

import functools
import json
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import types


def run_ready(words, environments, timeout):
    """Run python with these words in each environment; returns statuses, outputs and errors."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = [str(pathlib.Path(folder, f"{kind}-{number}"))
                   for number in range(len(environments)) for kind in ("out", "err")]
        server = _server()
        request = {"words": [str(word) for word in words], "environments": environments,
                   "outputs": outputs, "timeout": timeout, "folder": os.getcwd()}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        statuses = json.loads(server.stdout.readline())
        texts = [pathlib.Path(each).read_text(encoding="utf-8") for each in outputs]
    if None in statuses:
        raise subprocess.TimeoutExpired(words, timeout, *("".join(texts[i::2]) for i in (0, 1)))
    return list(zip(statuses, texts[::2], texts[1::2]))


@functools.cache
def _server():
    return subprocess.Popen([sys.executable, __file__], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _wait(children, deadline):
    """Return the children's statuses, and None for one that had to be killed."""
    statuses = []
    for child in children:
        ended, status = os.waitpid(child, os.WNOHANG)
        while not ended and time.monotonic() < deadline:
            time.sleep(0.01)
            ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            statuses.append(os.waitstatus_to_exitcode(status))
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            statuses.append(None)
    return statuses


def _program():
    """Fork for what is asked for, until a child returns: its words are the program."""
    for line in sys.stdin:
        request = json.loads(line)
        children = []
        for number, environment in enumerate(request["environments"]):
            child = os.fork()
            if child == 0:
                _become(request, environment, *request["outputs"][2 * number:2 * number + 2])
                return request["words"]
            children.append(child)
        print(json.dumps(_wait(children, time.monotonic() + request["timeout"])), flush=True)
    return None


def _become(request, environment, output, errors):
    """Make this process what a new one would be."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(environment)
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, output, os.O_WRONLY | os.O_CREAT),
                                (2, errors, os.O_WRONLY | os.O_CREAT)):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.path[0:1] = [folder for folder in environment.get("PYTHONPATH", "").split(":") if folder]


def _run(words):
    """Do as `python WORD...` does."""
    kind, rest = words[0], words[1:]
    if kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(sys.modules["__main__"]))
    elif kind == "-m":
        sys.argv = rest
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(words)
        sys.path.insert(0, os.path.dirname(kind))
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    import torch.distributed  # noqa: F401
    import torch.nn.parallel  # noqa: F401
    if (wanted := _program()) is not None:
        _run(wanted)
