"""What is remembered between commands: a file that is there as a whole or not at all."""

import dataclasses
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import output_file


def write(path, value):
    """Write the fields of a dataclass's value."""
    output_file.write(path, json.dumps(dataclasses.asdict(value), indent=1) + "\n")


def read(path):
    """Return the fields, or nothing when there is no such file."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
