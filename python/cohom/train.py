"""Training programs that nobody changes: their gradients travel compressed.

    torchrun --nproc_per_node 4 -m cohom.train thc train.py --epochs 3
    COHOM_TORCH=thc torchrun --nproc_per_node 4 train.py --epochs 3

Each DistributedDataParallel that the program makes has its gradients compressed. The second form is
for PyTorch 2.5 or newer, which loads what installed packages offer it.
"""

import importlib.util
import os
import runpy
import sys

from ._native import Error
from .unchanged import compressing, install

_USAGE = """usage: python -m cohom.train CODEC PROGRAM [ARGUMENT...]
       python -m cohom.train CODEC -m MODULE [ARGUMENT...]

Runs a training program in Python. The gradients of its models of DistributedDataParallel are
compressed by CODEC, such as thc or packed:bits=5. Behind torchrun:
torchrun ... -m cohom.train CODEC PROGRAM
"""
_MISUSED = 2  # exit status


def _refuse(text: str) -> None:
    sys.stderr.write(f"cohom.train: {text}\n")
    sys.exit(_MISUSED)


def _finds(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that it should be in
        return False


def main() -> None:
    """Run a program in this process, as python would."""
    words = sys.argv[1:]
    if words[:1] in (["--help"], ["-h"]):
        sys.stdout.write(_USAGE)
        return
    by_name = words[1:2] == ["-m"]
    if not words:
        sys.stderr.write(_USAGE)
        sys.exit(_MISUSED)
    codec, program = words[0], "".join(words[1 + by_name:2 + by_name])
    try:
        install(codec)
    except (Error, ValueError) as error:
        _refuse(f"CODEC: {error}")
    if not program:
        _refuse(f"there is nothing behind '{' '.join(words)}'; it should be a program or module")
    if not by_name and not os.path.exists(program):
        _refuse(f"PROGRAM is '{program}'; it should be a file")
    if by_name and not _finds(program):
        _refuse(f"MODULE is '{program}'; it should be one that Python finds")
    os.environ["COHOM_TORCH"] = codec  # for processes that the program starts
    sys.argv = words[1 + by_name:]
    try:
        if by_name:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            if not sys.flags.safe_path:
                sys.path[0] = os.path.dirname(os.path.realpath(program))
            runpy.run_path(program, run_name="__main__")
    finally:
        if compressing.models == 0 and os.environ.get("RANK", "0") == "0":
            print("cohom: this process made no model whose gradients could be compressed; of those "
                  "that it started, a line of their own says which do", file=sys.stderr)


if __name__ == "__main__":
    main()
