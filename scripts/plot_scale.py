#!/usr/bin/python3
"""Draw the times of cohom-scale over ranks beside native's, a panel a network and size.

From the root of the sources, the picture of docs/scale.md:

    scripts/plot_scale.py docs/results/scale/{fat,fat8,eth10,eth10x8,fato4,fat8o4}-*.json \\
        --algorithm auto -o docs/scale.png
"""

import argparse
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of backend)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "benchmarks"))
import figure_file  # noqa: E402
import input_json  # noqa: E402

COLUMNS = ["network", "ranks", "bytes", "codec", "asked_algorithm", "alone"]
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
NATIVE_COLOUR = "#555555"


def rows_of(paths, algorithm):
    """Return the rows of all reports that were asked to go by the algorithm.

    Raises ValueError with one line where there are none.
    """
    rows = []
    for path in paths:
        report = input_json.read(path, dict, ["schema", "results"], COLUMNS)
        if report["schema"] != "cohom-scale/1":
            raise ValueError(f"{path} has no results of schema cohom-scale/1")
        rows += [row for row in report["results"] if row["asked_algorithm"] == algorithm]
    if not rows:
        raise ValueError(f"no row is by {algorithm}")
    return rows


def draw_panel(axes, rows, title):
    """Draw one line a codec, and native's."""
    codecs = list(dict.fromkeys(row["codec"] for row in rows))
    native = sorted({(row["ranks"], row["alone"]["native_us"]) for row in rows})
    axes.plot(*zip(*native), color=NATIVE_COLOUR, linewidth=2.5, label="best native")
    for number, codec in enumerate(codecs):
        points = sorted((row["ranks"], row["alone"]["time_us"]) for row in rows
                        if row["codec"] == codec)
        axes.plot(*zip(*points), color=COLOURS[number % len(COLOURS)], marker="o", markersize=3,
                  label=codec)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title(title, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#dddddd", linewidth=0.6)


def draw(rows, path):
    """Draw a row of panels a size, a column a network."""
    networks = list(dict.fromkeys(row["network"] for row in rows))
    sizes = sorted({row["bytes"] for row in rows})
    figure, panels = plt.subplots(len(sizes), len(networks), squeeze=False, sharex=True,
                                  figsize=(2.3 * len(networks) + 0.6, 2.5 * len(sizes) + 0.5),
                                  layout="constrained")
    for line, size in zip(panels, sizes):
        for axes, network in zip(line, networks):
            chosen = [row for row in rows if row["network"] == network and row["bytes"] == size]
            if chosen:
                draw_panel(axes, chosen, f"{network}, {size >> 20} MiB")
        line[0].set_ylabel("microseconds a call")
    for axes in panels[-1]:
        axes.set_xlabel("ranks")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="upper center",
                  bbox_to_anchor=(0.5, 0), ncol=6, frameon=False)
    figure_file.save(figure, path, dpi=100, bbox_inches="tight")


def main():
    """Read the reports, draw, write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=pathlib.Path, help="JSON of cohom-scale")
    parser.add_argument("--algorithm", default="auto", metavar="NAME",
                        help="rows that were asked to go by this one (default: auto)")
    parser.add_argument("-o", dest="picture", type=pathlib.Path, required=True,
                        help="PNG, PDF or SVG to write")
    options = parser.parse_args()
    try:
        draw(rows_of(options.reports, options.algorithm), options.picture)
    except ValueError as error:
        sys.exit(f"plot_scale: {error}")
    except OSError as error:
        sys.exit(f"plot_scale: {error.filename}: cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
