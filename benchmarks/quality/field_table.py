#!/usr/bin/python3
"""Make the table of the error-bounded field from reports of cohom-bench.

The reports are of runs such as

    mpirun -n 4 build/bin/cohom-bench --input field --size 16M --algorithm direct \\
        --codec packed:abs_error=1e-4 --codec packed:abs_error=1e-4,predict=delta --json out.json

Prints the table, and puts it between the lines "<!-- field: begin -->" and
"<!-- field: end -->" of a Markdown file.
"""

import argparse
import pathlib
import sys

import quality
import quality_report

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import input_json  # noqa: E402

UNCOMPRESSED = 32  # bits of float32
COLUMNS = ["input", "codec", "elements", "wire_bytes_all_ranks", "max_abs_error", "time_s",
           "native_time_s"]


def cells(report, row):
    """Return one line of the table."""
    ranks = report["ranks"]
    bits = quality.all_in_bits(row["wire_bytes_all_ranks"], ranks, row["elements"])
    return [row["codec"], ranks, f"{bits:.1f}", f"{UNCOMPRESSED / bits:.2f}",
            f"{row['max_abs_error']:.4g}", f"{1e3 * row['time_s']['median']:.4g}",
            f"{1e3 * row['native_time_s']['median']:.3g}"]


def table(reports):
    """Return the Markdown table of the reports' rows of input field."""
    head = ["codec", "ranks", "bits a value, all in", "ratio", "largest error of the sum",
            "ms", "native ms"]
    lines = [cells(report, row) for report in reports for row in report["results"]
             if row["input"] == "field" and row["wire_bytes_all_ranks"] and row["time_s"]]
    if not lines:
        raise ValueError("no timed rows of input field")
    return quality_report.markdown(head, lines)


def main():
    """Read the reports, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=pathlib.Path, help="JSON of cohom-bench")
    parser.add_argument("--markdown", type=pathlib.Path,
                        help="replace the table in this file, e.g. docs/quality.md")
    options = parser.parse_args()
    try:
        found = table([input_json.read(path, dict, ["ranks", "results"], COLUMNS)
                       for path in options.reports])
        print(found)
        if options.markdown:
            quality_report.replace_tables(options.markdown, {"field": found})
    except (OSError, ValueError) as error:
        sys.exit(f"field_table: {error}")


if __name__ == "__main__":
    main()
