#!/usr/bin/python3
"""Draw the times of cohom-bench's largest vector beside native, with speed-up, bytes and error.

From the root of the sources, the picture of the README:

    scripts/plot_times.py docs/results/two-cores/json/1gbit/{dense,offload}.json \\
        --algorithm direct --algorithm offload --title "1 Gbit/s, four hosts" -o docs/gigabit.png
"""

import argparse
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of backend)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "benchmarks"))
import figure_file  # noqa: E402
import input_json  # noqa: E402

COLUMNS = ["codec", "algorithm", "input", "bytes", "speedup", "time_s", "native_time_s", "vnmse",
           "wire_bytes_per_rank"]
COLOURS = ["#0072b2", "#009e73", "#d55e00", "#cc79a7", "#e69f00", "#56b4e9"]
NATIVE_COLOUR = "#555555"


def rows_of(paths, algorithms):
    """Return the rows of the largest vector that are by one of the algorithms (none: by any).

    Raises ValueError with one line where there are none, or the reports differ in their vectors.
    """
    rows, names = [], " ".join(str(path) for path in paths)
    for path in paths:
        report = input_json.read(path, dict, ["schema", "results"], COLUMNS)
        if report["schema"] != "cohom-bench/1" or not report["results"]:
            raise ValueError(f"{path} has no results of schema cohom-bench/1")
        rows += report["results"]
    if any(row["time_s"] is None for row in rows):
        raise ValueError(f"{names}: there are rows without a time")
    largest = max(row["bytes"] for row in rows)
    rows = [row for row in rows if row["bytes"] == largest
            and (not algorithms or row["algorithm"] in algorithms)]
    if not rows:
        raise ValueError(f"{names}: no row of {largest} bytes is by {', '.join(algorithms)}")
    if len({row["input"] for row in rows}) > 1:
        raise ValueError(f"{names}: there are several inputs, which do not belong in one picture")
    return rows


def error_of(row):
    """Return the error in words."""
    rounded = row.get("correctly_rounded")
    return f"vNMSE {row['vnmse']:.1e}" if rounded is None else f"{100 * rounded:.0f}% right"


def draw(rows, title, path):
    """Draw a bar a row, below that of native."""
    codecs = list(dict.fromkeys(row["codec"] for row in rows))
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    rows = sorted(rows, key=lambda row: (codecs.index(row["codec"]),
                                         algorithms.index(row["algorithm"])))
    natives = [1e3 * row["native_time_s"]["median"] for row in rows]
    native = statistics.median(natives)
    figure, axes = plt.subplots(figsize=(10, 0.32 * len(rows) + 1.7), layout="constrained")
    axes.barh(0, native, 0.7, color=NATIVE_COLOUR, label="best native allreduce")
    axes.text(native, 0, f" {native:.0f} ms ({min(natives):.0f} to {max(natives):.0f})",
              va="center", fontsize="small")
    for place, row in enumerate(rows, 1):
        time = 1e3 * row["time_s"]["median"]
        number = algorithms.index(row["algorithm"])
        first = all(other["algorithm"] != row["algorithm"] for other in rows[:place - 1])
        axes.barh(place, time, 0.7, color=COLOURS[number % len(COLOURS)],
                  label=row["algorithm"] if first else None)
        digits = 1 if row["speedup"] > 2 else 2
        axes.text(time, place, f" {time:.0f} ms, {row['speedup']:.{digits}f} x as fast, "
                               f"{row['wire_bytes_per_rank'] / 2**20:.1f} MiB, {error_of(row)}",
                  va="center", fontsize="small")
    axes.set_yticks(range(len(rows) + 1), ["native", *(row["codec"] for row in rows)])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.5 * max(native, *(1e3 * row["time_s"]["median"] for row in rows)))
    axes.set_xlabel("milliseconds a call")
    axes.set_title(f"allreduce of {rows[0]['bytes'] >> 20} MiB of a gradient" +
                   (f", {title}" if title else ""))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -1.5 / len(rows)), frameon=False,
                ncol=1 + len(algorithms))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    figure_file.save(figure, path, dpi=100)


def main():
    """Read the reports, draw, write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=pathlib.Path, help="JSON of cohom-bench")
    parser.add_argument("--algorithm", action="append", default=[], metavar="NAME",
                        help="rows of this one alone; may be repeated")
    parser.add_argument("--title", default="", help="where it was measured")
    parser.add_argument("-o", dest="picture", type=pathlib.Path, required=True,
                        help="PNG, PDF or SVG to write")
    options = parser.parse_args()
    try:
        draw(rows_of(options.reports, options.algorithm), options.title, options.picture)
    except ValueError as error:
        sys.exit(f"plot_times: {error}")
    except OSError as error:
        sys.exit(f"plot_times: {error.filename}: cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
