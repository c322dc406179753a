"""Running cohom-bench on the cores of this machine, or reading what was measured before; printing
and writing what follows from it.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import input_json
import output_file
import quality_report

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(bench, ranks, arguments):
    """Return cohom-bench's report without times, for words of its command line.

    Raises RuntimeError with the command and its output where it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.json"
        command = [str(word) for word in [ROOT / "scripts/with-env", "mpirun", "-n", ranks, bench,
                                          "--check-only", "--quiet", "--json", path, *arguments]]
        done = subprocess.run(command, check=False, text=True, cwd=ROOT, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return json.loads(path.read_text())


def add_source(parser):
    """Add the options that say where results come from, and where they go."""
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/bin/cohom-bench",
                        help="default build/bin/cohom-bench")
    parser.add_argument("--from", type=pathlib.Path, dest="source", metavar="JSON",
                        help="measure nothing, take the results of an earlier --json")
    parser.add_argument("--json", type=pathlib.Path, help="write all results to this file")


def present(program, options, measure, schema, tables, draw):
    """Measure or read, print the tables, write what the options ask for.

    tables(results) returns Markdown by name; draw(results, path) makes a figure. What cannot be
    read, measured or written ends the program with one line and exit status 1.
    """
    try:
        results = document_of(options, measure, schema)["results"]
        found = tables(results)
        print("\n\n".join(found.values()))
        if options.markdown:
            quality_report.replace_tables(options.markdown, found)
        if options.figure:
            draw(results, options.figure)
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"{program}: {error}")
    except (IndexError, KeyError, TypeError) as error:
        if options.source is None:
            raise
        sys.exit(f"{program}: --from {options.source}: its results have another shape: {error!r}")


def document_of(options, measure, schema):
    """Return what measure(options) does, or the document of --from; write it to --json.

    Raises ValueError where there is neither, RuntimeError where cohom-bench fails.
    """
    if options.source is None:
        if not options.bench.exists():
            raise ValueError(f"{options.bench} is missing; run scripts/build")
        document = measure(options)
    else:
        try:
            document = input_json.read(options.source, dict, ["schema"])
        except ValueError as error:
            raise ValueError(f"--from {error}") from None
        if document["schema"] != schema:
            raise ValueError(f"--from {options.source}: is no {schema}")
        if "results" not in document:
            raise ValueError(f"--from {options.source}: is not such a report: it has no 'results'")
    if options.json:
        output_file.write(options.json, json.dumps(document, indent=1) + "\n")
    return document
