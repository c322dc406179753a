"""Slurm in a box: its controller and nodes as processes of one machine, or of a netlab lab."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "netlab"))
