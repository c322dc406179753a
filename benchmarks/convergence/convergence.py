#!/usr/bin/python3
"""Train with every codec, draw loss against steps and bytes, and fill in the table of the docs.

Runs cohom-convergence under mpirun on four problems: a noisy quadratic and logistic regression of
digits, each with ranks that see the same kind of data and with ranks that do not. Needs Debian's
python3-matplotlib. From the root of the sources, after scripts/build:

    . scripts/env.sh
    benchmarks/convergence/convergence.py --json build/convergence.json \\
        --figure docs/convergence.png --markdown docs/convergence.md
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import matplotlib

import curve_checks

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of backend)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import figure_file  # noqa: E402
import input_json  # noqa: E402
import output_file  # noqa: E402

CODECS = ["raw", "thc", "marsit:compensation=on", "marsit:compensation=on,period=100",
          "marsit:compensation=on,period=none", "signcount:error_feedback=on",
          "signcount:vote=majority"]
LABELS = ["raw", "thc", "marsit, period 10", "marsit, period 100", "marsit, no period",
          "signcount, feedback", "signcount, majority"]
COLOURS = ["black", "tab:gray", "tab:blue", "tab:cyan", "tab:red", "tab:green", "tab:orange"]
PROBLEMS = [("quadratic, equal ranks", ["--problem", "quadratic"], 0.01, 1500),
            ("quadratic, ranks that differ",
             ["--problem", "quadratic", "--heterogeneous"], 0.01, 1500),
            ("digits, shares drawn at random", ["--problem", "digits"], 0.1, 600),
            ("digits, shares sorted by class",
             ["--problem", "digits", "--heterogeneous"], 0.1, 600)]
# Heads of the table's columns, by title.
HEADS = {"quadratic, equal ranks": "quadratic, equal",
         "quadratic, ranks that differ": "quadratic, differ",
         "digits, shares drawn at random": "digits, random",
         "digits, shares sorted by class": "digits, sorted"}
BEGIN, END = "<!-- losses: begin -->", "<!-- losses: end -->"


def measure(ranks, program):
    """Return one report a problem."""
    reports = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        for title, arguments, rate, steps in PROBLEMS:
            command = ["mpirun", "-n", str(ranks), program, *arguments, "--rate", str(rate),
                       "--steps", str(steps), "--json", str(path)]
            for codec in CODECS:
                command += ["--codec", codec]
            subprocess.run(command, check=True)
            reports.append({"title": title, **json.loads(path.read_text())})
    return reports


def read(path):
    """Return the reports of an earlier run. Raises ValueError with one line that names the file."""
    reports = input_json.read(path, list, ["title", "ranks", "parameters", "curves"])
    try:
        curve_checks.check(reports, len(CODECS))
    except ValueError as error:
        raise ValueError(f"{path}: is not such a report: {error}") from None
    return reports


def draw(reports, path):
    """Draw a row of panels against steps, and one against bytes."""
    figure, axes = plt.subplots(2, len(reports), figsize=(4.2 * len(reports), 7))
    for column, report in enumerate(reports):
        for curve, label, colour in zip(report["curves"], LABELS, COLOURS):
            megabytes = [sent / 1e6 for sent in curve["bytes"]]
            style = {"color": colour, "label": label, "linewidth": 1.2}
            axes[0, column].plot(curve["steps"], curve["losses"], **style)
            axes[1, column].plot(megabytes[1:], curve["losses"][1:], **style)  # a log axis has no 0
        axes[0, column].set_title(report["title"], fontsize=10)
        axes[0, column].set_xlabel("step")
        axes[1, column].set_xlabel("MB sent by a rank")
        axes[1, column].set_xscale("log")
        for row in range(2):
            axes[row, column].set_yscale("log")
            axes[row, column].grid(alpha=0.3)
    for row in range(2):
        axes[row, 0].set_ylabel("loss")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=len(labels), fontsize=9)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure_file.save(figure, path, dpi=80)


def table(reports):
    """Return the Markdown table of losses over the last tenth, and of bytes."""
    heads = [HEADS.get(report["title"], report["title"]) for report in reports]
    lines = ["| codec | bits a value | " + " | ".join(heads) + " |",
             "| --- " * (len(reports) + 2) + "|"]
    for index, label in enumerate(LABELS):
        first = reports[0]
        curve = first["curves"][index]
        share = 2 * (1 - 1 / first["ranks"]) * first["parameters"] * curve["steps"][-1]
        cells = [f"{report['curves'][index]['last']:.3g}"
                 f" ({report['curves'][index]['last'] / report['curves'][0]['last']:.2f})"
                 for report in reports]
        bits = 8 * curve["bytes"][-1] / share
        lines.append(f"| {label} | {bits:.2f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def fill_in(path, text):
    """Put the text between the marks of a Markdown file."""
    page = path.read_text()
    if BEGIN not in page or END not in page:
        sys.exit(f"convergence.py: {path} has no lines {BEGIN} and {END}")
    before, rest = page.split(BEGIN)
    output_file.write(path, before + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1])


def main():
    """Measure, or read what was measured, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--program", default="build/bin/cohom-convergence")
    parser.add_argument("--read", type=pathlib.Path, help="report of an earlier run to draw")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--figure", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    if options.read:
        try:
            reports = read(options.read)
        except ValueError as error:
            sys.exit(f"convergence.py: {error}")
    else:
        reports = measure(options.ranks, options.program)
    print(table(reports))
    try:
        if options.json:
            output_file.write(options.json, json.dumps(reports, indent=1) + "\n")
        if options.figure:
            draw(reports, options.figure)
        if options.markdown:
            fill_in(options.markdown, table(reports))
    except OSError as error:
        sys.exit(f"convergence.py: {error.filename}: cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
