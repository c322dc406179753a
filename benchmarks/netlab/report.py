"""What a run has done to the links, as a table and as JSON."""

import dataclasses
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import counters
import output_file
import topology
from failure import Failure

SCHEMA = "cohom-netlab/1"


@dataclasses.dataclass
class Run:
    """One program that has ended."""

    lab: topology.Lab
    mpi: str
    ranks: int
    command: list
    exit_status: int
    seconds: float
    load_average: float  # of the machine in the minute before
    counts: dict
    shapes: list  # that the links got meanwhile, as text


def table(counts):
    """Return lines with the counts of every link and their sum."""
    titles = ["link", "bytes", "packets", "drops", "lost"]
    total = counters.total(counts)
    rows = [[link.title, *map(str, dataclasses.astuple(count))] for link, count in counts.items()]
    rows = [titles, *rows, ["all", *map(str, dataclasses.astuple(total))]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(titles))]
    return "".join("# " + "  ".join(
        [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in
                                     zip(row[1:], widths[1:])]) + "\n" for row in rows)


def text(run):
    """Return the lines that stand below a program's output."""
    status = f", exit status {run.exit_status}" if run.exit_status else ""
    changed = "".join(f"# during the run the links became: {shape}\n" for shape in run.shapes)
    return (f"# netlab {run.lab.name}: {run.lab}; {run.mpi}, {run.ranks} ranks, "
            f"{run.seconds:.1f} s, load {run.load_average:.1f} before{status}\n" +
            changed + table(run.counts))


def opened(path):
    """Return the file that --json names; refuses now rather than after the run."""
    try:
        return output_file.OutputFile(path)
    except OSError as error:
        raise Failure(f"--json {path}: cannot be written: {error.strerror}") from None


def write_json(run, file):
    """Write the same to a file that was opened."""
    total = counters.total(run.counts)
    document = {
        "schema": SCHEMA,
        "lab": dataclasses.asdict(run.lab),
        "mpi": run.mpi,
        "ranks": run.ranks,
        "command": run.command,
        "exit_status": run.exit_status,
        "seconds": run.seconds,
        "load_average": run.load_average,
        "links": [{"from": link.sender.name, "to": link.receiver.name, **dataclasses.asdict(count)}
                  for link, count in run.counts.items()],
        "drops": total.drops,
        "lost": total.lost,
        "shapes_in_run": run.shapes,
    }
    try:
        file.write(json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise Failure(f"--json {file.path}: cannot be written: {error.strerror}") from None
