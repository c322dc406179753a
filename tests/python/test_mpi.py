"""Under mpirun, over mpi4py."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

pytest.importorskip("mpi4py")


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_under_mpirun(ranks):
    done = subprocess.run(
        [str(ROOT / "scripts" / "with-env"), "mpirun", "-n", str(ranks), sys.executable,
         str(HERE / "mpi_program.py")], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "21 right\n"
