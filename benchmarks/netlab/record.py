"""What is remembered between commands: a file that is there as a whole or not at all."""

import dataclasses
import json


def write(path, value):
    """Write the fields of a dataclass's value."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(dataclasses.asdict(value), indent=1) + "\n")
    partial.rename(path)


def read(path):
    """Return the fields, or nothing when there is no such file."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
