#!/usr/bin/python3
"""Compare the bytes of cohom's codecs for sparse vectors, by formula and as counted.

Runs cohom-bench --check-only on vectors whose values lie anywhere, independently
on every rank, and draws what the busiest rank sends in a ring, relative to the
vector, beside lines of what theory says. A rank's density is on the axis; the
union of n ranks has 1 - (1 - density)^n.

Run it where matplotlib is (Debian's /usr/bin/python3), after scripts/build. 64
ranks on a few cores take minutes. The tables in the Markdown file replace what
stands between its lines "<!-- NAME: begin -->" and "<!-- NAME: end -->".
"""

import argparse
import math
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of backend)

import bench_run
import quality_report

import figure_file  # noqa: E402  (bench_run knows the folder)

SCHEMA = "cohom-sparse-bytes/1"
ELEMENTS = 1 << 20
DENSITIES = {4: [1e-4, 1e-3, 1e-2, 0.1, 0.5], 8: [1e-4, 1e-3, 1e-2, 0.1, 0.5],
             64: [1e-4, 1e-3, 1e-2]}
BLOCK = 512  # of the upper level of an index
PROBES = 10  # of a filter with at most 1/1024 of false positives
GAMMA = 1.3  # cells for each element of the union


def union(density, ranks):
    """Return the share of the elements that are not zero on some rank."""
    return 1 - (1 - density)**ranks


def two_level(density, ranks):
    """Return index bits and values an element: blocks that are empty on all ranks are not named."""
    return union(density, ranks * BLOCK), union(density, ranks)


def flat(density, ranks):
    """Return index bits and values an element: a bit an element."""
    return 1, union(density, ranks)


def bloom(density, ranks):
    """Return index bits and values an element: a filter of all ranks' values, and its ghosts."""
    values = union(density, ranks)
    bits = ranks * density * PROBES / math.log(2)
    if bits >= 1:
        return 1, values
    ghosts = (1 - math.exp(-PROBES * values / bits))**PROBES * (1 - values)
    return bits, values + ghosts


def sum_lane(ranks):
    """Return the bits of thc's sums: the first lane that holds 30 from every rank."""
    return next(width for width in (8, 12, 16, 21, 32) if 30 * ranks < 2**width)


# Heads of columns, for tables of 100 columns; else the codec's own name.
HEADS = {"sparse:index=flat": "flat", "sparse:index=bloom": "bloom", "sketch:cells=f32": "f32"}
# label, codec, its index, bits of a value by ranks, colour, marker
CURVES = [
    ("raw", "raw", lambda density, ranks: (0, 1), lambda ranks: 32, "#555555", "."),
    ("sparse:index=flat", "sparse:index=flat", flat, lambda ranks: 32, "#56b4e9", "v"),
    ("sparse", "sparse", two_level, lambda ranks: 32, "#0072b2", "o"),
    ("sparse:index=bloom", "sparse:index=bloom", bloom, lambda ranks: 32, "#009e73", "^"),
    ("sketch", "sketch", two_level, lambda ranks: 64 * GAMMA, "#d55e00", "s"),
    ("sketch:cells=f32", "sketch:cells=f32", two_level, lambda ranks: 32 * GAMMA, "#e69f00", "D"),
    ("sparse+thc (lossy)", "sparse+thc", two_level, sum_lane, "#cc79a7", "x"),
]


def formula(index, value_bits, density, ranks):
    """Return bytes that a rank sends in a ring over the bytes of its vector."""
    named, values = index(density, ranks)
    return 2 * (ranks - 1) / ranks * (named + values * value_bits(ranks)) / 32


def run_bench(options, ranks, density):
    """Return cohom-bench's rows of all codecs at one density."""
    arguments = ["--input", f"sparse:{density:.6f}", "--size", 4 * ELEMENTS, "--algorithm", "ring"]
    for _, codec, *_ in CURVES:
        arguments += ["--codec", codec]
    return bench_run.run(options.bench, ranks, arguments)


def measure(options):
    """Return what the transport counted, for all ranks, densities and codecs."""
    results, facts = [], {}
    for ranks in options.ranks:
        for density in DENSITIES.get(ranks, DENSITIES[64]):
            report = run_bench(options, ranks, density)
            facts = {key: report[key] for key in ("git", "version", "mpi", "date")}
            for row in report["results"]:
                if not row["identical_across_ranks"]:
                    raise RuntimeError(f"{row['codec']}: ranks have different results")
                results.append({"ranks": ranks, "density": density, "codec": row["codec"],
                                "union": row["union_density"],
                                "share": row["wire_bytes_per_rank"] / (4 * ELEMENTS)})
            print(f"{ranks} ranks, density {density}", file=sys.stderr, flush=True)
    return {"schema": SCHEMA, **facts, "elements": ELEMENTS, "results": results}


def over_theory(row):
    """Return what was counted over what theory says."""
    _, _, index, value_bits, *_ = next(curve for curve in CURVES if curve[1] == row["codec"])
    return row["share"] / formula(index, value_bits, row["density"], row["ranks"])


def table(results, cell):
    """Return as Markdown what `cell` makes of each row, a line for ranks and density."""
    lines = {}
    for row in results:
        line = lines.setdefault((row["ranks"], row["density"]),
                                [row["ranks"], f"{row['density']:g}", f"{row['union']:.2g}"])
        line.append(cell(row))
    head = ["ranks", "density", "union"]
    head += [f"`{HEADS.get(codec, codec)}`" for _, codec, *_ in CURVES]
    return quality_report.markdown(head, lines.values())


def tables(results):
    """Return both tables: bytes over the vector's, and over theory."""
    return {"bytes": table(results, lambda row: f"{row['share']:.2g}"),
            "over theory": table(results, lambda row: f"{over_theory(row):.2f}")}


def draw(results, path):
    """Draw bytes over density, one panel a number of ranks: lines by formula, counted points."""
    all_ranks = list(dict.fromkeys(row["ranks"] for row in results))
    figure, grid = plt.subplots(1, len(all_ranks), figsize=(5.2 * len(all_ranks), 4.6),
                                layout="constrained", squeeze=False, sharey=True)
    line = [10**(exponent / 40) for exponent in range(-180, 1)]
    for axes, ranks in zip(grid.flat, all_ranks):
        for label, codec, index, value_bits, colour, marker in CURVES:
            axes.plot(line, [formula(index, value_bits, density, ranks) for density in line],
                      color=colour, linewidth=1.2)
            rows = [row for row in results if (row["ranks"], row["codec"]) == (ranks, codec)]
            axes.plot([row["density"] for row in rows], [row["share"] for row in rows], marker,
                      color=colour, label=label, markersize=5)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(1e-3, 6)
        axes.set_title(f"{ranks} ranks", fontsize="medium")
        axes.set_xlabel("density of a rank's vector")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    grid[0, 0].set_ylabel("bytes a rank sends / bytes of the vector")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0),
                  ncols=len(CURVES), frameon=False)
    figure.suptitle("bytes of a ring over density, values anywhere: by formula, and as counted")
    figure_file.save(figure, path, dpi=90, bbox_inches="tight")
    plt.close(figure)


def parse_arguments():
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", nargs="+", type=int, default=[4, 8, 64], metavar="N",
                        help="default 4 8 64")
    bench_run.add_source(parser)
    parser.add_argument("--markdown", type=pathlib.Path,
                        help="replace the table in this file, e.g. docs/sparse.md")
    parser.add_argument("--figure", type=pathlib.Path, help="e.g. docs/sparse.png")
    options = parser.parse_args()
    if min(options.ranks) < 2:
        parser.error(f"--ranks {min(options.ranks)} should be at least 2")
    return options


def main():
    """Measure or read, print, write."""
    bench_run.present("sparse_bytes", parse_arguments(), measure, SCHEMA,
                      tables, draw)


if __name__ == "__main__":
    main()
