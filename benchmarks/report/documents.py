"""The JSON files that a report is made of: read, checked and sorted by what wrote them.

A file that cannot be read or that is not as its schema says is a failure in the report; none is
passed over.
"""

import dataclasses
import json
import math
import pathlib
import re
import shlex

import checks
from rows import Row
import units

BENCH = "cohom-bench/1"
NETLAB = "cohom-netlab/1"
ADVICE = "cohom-advice/1"


@dataclasses.dataclass
class Run:
    """One run of cohom-bench."""

    path: str
    job: str  # the folder that its file lies in
    facts: dict  # host, git, version, mpi, ranks, date, command, environment, topology or None
    rows: list

    @property
    def launch(self):
        """Return what a job of slurm/ says of nodes x tasks and launcher, e.g. ["4x1 srun"]."""
        told = str(self.facts["environment"].get("COHOM_JOB", ""))
        return [words for words in [told.removeprefix(self.job).strip()] if words]

    @property
    def shape(self):
        """Return nodes x ranks a node as text, e.g. "4x1", where a job of slurm/ says it."""
        words = " ".join(self.launch).split()
        return words[0] if words and re.fullmatch(r"(\d+\+)?\d+x\d+", words[0]) else None


@dataclasses.dataclass(frozen=True)
class Failed:
    """Something that was to be measured and was not, or cannot be believed."""

    path: str
    message: str
    command: str = ""
    exit_status: int | None = None
    host: str = ""
    date: str = ""


@dataclasses.dataclass(frozen=True)
class LabRun:
    """One run of netlab, which knows the links."""

    path: str
    document: dict

    @property
    def rate(self):
        """Return bits a second of a host's link; None: as fast as the machine."""
        return self.document["lab"]["shape"]["rate"]

    @property
    def changed(self):
        """Return whether its links changed in the run."""
        return bool(self.document.get("shapes_in_run"))

    @property
    def title(self):
        """Return how figures name its links."""
        lab = self.document["lab"]
        loss = f", {100 * lab['loss']:g}% lost" if lab["loss"] else ""
        spine = lab["shape"]["spine_rate"]
        levels = f", two levels, spine {units.rate_text(spine)}" if spine else ", two levels"
        return f"lab {lab['name']}, {lab['hosts']} hosts{levels if lab['two_level'] else ''}{loss}"


@dataclasses.dataclass
class Collection:
    """All that was found."""

    runs: list = dataclasses.field(default_factory=list)
    failed: list = dataclasses.field(default_factory=list)
    labs: list = dataclasses.field(default_factory=list)
    codec_bench: list = dataclasses.field(default_factory=list)  # (path, document)
    advice: list = dataclasses.field(default_factory=list)  # (path, document)

    @property
    def rows(self):
        """Return the rows of all runs."""
        return [row for run in self.runs for row in run.rows]


def collect(paths, link_rate=None):
    """Return what the files, and the files below the folders, hold.

    link_rate: bits a second, of rows that no run of netlab knows better.
    """
    found = Collection()
    for path in files_of(paths, found):
        try:
            document = json.loads(path.read_text(encoding="utf-8"), parse_constant=no_constant,
                                  parse_int=whole_number, parse_float=finite_number)
            checks.expect(isinstance(document, dict), "is no JSON object")
            sort_in(document, path, found)
        except OSError as error:
            found.failed.append(Failed(str(path), f"cannot be read: {error.strerror}"))
        except (ValueError, RecursionError) as error:  # wrong JSON, encoding or schema
            found.failed.append(Failed(str(path), str(error)))
    link_rows(found, link_rate)
    return found


def no_constant(name):
    """Refuse what is no JSON, though Python reads it."""
    raise ValueError(f"{name} is no JSON")


def whole_number(text):
    """Return a number that programs of today can have written."""
    checks.expect(len(text) < 20, f"{text[:20]}... is too large a number")
    return int(text)


def finite_number(text):
    """Return a number that is not so large that it reads as infinite."""
    checks.expect(math.isfinite(float(text)), f"{text[:20]} is too large a number")
    return float(text)


def files_of(paths, found):
    """Return the files without repetitions; what is no file is a failure."""
    files = []
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            below = sorted(path.rglob("*.json"))
            for partial in sorted(path.rglob("*.json.partial")):
                found.failed.append(Failed(str(partial), "was being written when its job ended"))
            if not below:
                found.failed.append(Failed(str(path), "is a folder without any .json file"))
            files += below
        else:
            files.append(path)
    return list({path.resolve(): path for path in files}.values())


def sort_in(document, path, found):
    """Put one document where it belongs; raises ValueError where it belongs nowhere."""
    if "failed" in document:
        checks.check_failed(document)
        found.failed.append(failure_of(document, path))
    elif document.get("schema") == BENCH:
        checks.check_bench(document)
        add_bench(document, path, found)
    elif document.get("schema") == NETLAB:
        checks.check_netlab(document)
        add_lab(document, path, found)
    elif document.get("schema") == ADVICE:
        checks.check_advice(document)
        found.advice.append((str(path), document))
    elif "benchmarks" in document and "context" in document:
        checks.check_codec_bench(document)
        found.codec_bench.append((str(path), document))
    else:
        raise ValueError(f"schema {document.get('schema')!r} is none of {BENCH}, {NETLAB}, "
                         f"{ADVICE} and Google Benchmark's")


def failure_of(document, path):
    """Return what a job wrote about a command that failed."""
    failed = document["failed"]
    return Failed(str(path), failed["message"], command_text(document.get("command", "")),
                  failed.get("exit_status"), document.get("host", ""), document.get("date", ""))


def add_bench(document, path, found):
    """Take the rows of cohom-bench; those with wrong results are failures."""
    facts = {key: document[key] for key in checks.FACTS} | {"topology": document.get("topology")}
    run = Run(str(path), path.resolve().parent.name, facts, [])
    for values in document["results"]:
        row = Row(values, run)
        if row.identical:
            run.rows.append(row)
        else:
            found.failed.append(Failed(
                str(path), f"{row.series}, {row.size}: ranks have different results",
                facts["command"], None, facts["host"], facts["date"]))
    found.runs.append(run)
    if not document["results"]:
        found.failed.append(Failed(str(path), "ended before its first row", facts["command"],
                                   None, facts["host"], facts["date"]))


def add_lab(document, path, found):
    """Take the links of netlab; a program that failed in it is a failure."""
    found.labs.append(LabRun(str(path), document))
    if document["exit_status"] != 0:
        found.failed.append(Failed(str(path), "a program failed in the lab",
                                   command_text(document["command"]), document["exit_status"]))


def command_text(command):
    """Return a command as one line."""
    return command if isinstance(command, str) else shlex.join(map(str, command))


def link_rows(found, link_rate):
    """Tell every run the links that it went over: those of the netlab run of the same command.

    Rows of a run whose links changed are those of no rate, and go.
    """
    for run in found.runs:
        labs = labs_of(run, found.labs)
        if any(lab.changed for lab in labs):
            run.rows.clear()
            found.failed.append(Failed(run.path, "its links changed during the run",
                                       run.facts["command"]))
            continue
        lab = labs[0] if len(labs) == 1 else None
        if len(labs) > 1:
            found.failed.append(Failed(
                run.path, "its links are not known, as several runs of netlab have its command: "
                f"{', '.join(lab.path for lab in labs)}; keep each beside its rows, in a folder "
                "of its own", run.facts["command"]))
        for row in run.rows:
            row.lab = lab
            row.link_rate = lab.rate if lab else link_rate


def labs_of(run, labs):
    """Return the netlab runs of a run's command; of several, those beside its file if any are."""
    same = [lab for lab in labs if program_and_flags(lab) == run.facts["command"]]
    beside = [lab for lab in same if folder_of(lab) == folder_of(run)]
    return beside if len(same) > 1 and beside else same


def program_and_flags(lab):
    """Return a netlab run's command as cohom-bench writes its own, without the program's folder."""
    program, *words = map(str, lab.document["command"])
    return " ".join([pathlib.Path(program).name, *words])


def folder_of(run):
    """Return the folder of a run's file."""
    return pathlib.Path(run.path).resolve().parent
