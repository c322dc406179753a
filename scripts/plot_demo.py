#!/usr/bin/python3
"""Draw what cohom-bench measured: speed, bytes on the wire and error, per codec.

Beside one machine's memory, --lab adds the speed on slow links. Ends with what was seen, in lines.
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

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
NATIVE_COLOUR = "#555555"
COLUMNS = ["codec", "input", "bytes", "speedup", "time_s", "vnmse", "wire_bytes_per_rank",
           "native_calls", "iterations"]
MARKERS = "osD^vP*X"
SMALLEST_ERROR = 1e-17  # errors of zero are drawn here, at the edge


def size_text(size, _position=None):
    """Return a number of bytes with a binary unit."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.3g} {unit}"
    return f"{size:.0f} B"


def input_name(text):
    """Return an input's short name: of a file, its stem."""
    return pathlib.Path(text).stem


def unique(values):
    """Return the values without repetitions, in their order."""
    return list(dict.fromkeys(values))


class Results:
    """The rows of a report, by codec, input and size."""

    def __init__(self, report):
        self.ranks = report["ranks"]
        self.mpi = report.get("mpi", "MPI")
        self.rows = report["results"]
        self.codecs = unique(row["codec"] for row in self.rows)
        self.inputs = unique(row["input"] for row in self.rows)
        self.sizes = sorted({row["bytes"] for row in self.rows})
        self.colours = {codec: COLOURS[i % len(COLOURS)] for i, codec in enumerate(self.codecs)}

    def select(self, **wanted):
        """Return the rows whose columns have the wanted values."""
        return [row for row in self.rows if all(row[key] == value for key, value in wanted.items())]

    def speedup(self, **wanted):
        """Return the median of the rows' speed-ups, each against native calls in between."""
        return statistics.median(row["speedup"] for row in self.select(**wanted))

    def fastest_first(self):
        """Return the codecs and their speed-ups for the largest vector."""
        speedups = {codec: self.speedup(bytes=self.sizes[-1], codec=codec) for codec in self.codecs}
        return sorted(speedups.items(), key=lambda item: -item[1])

    def timed(self, column, **wanted):
        """Return the median of a timing column in milliseconds."""
        return 1e3 * statistics.median(row[column]["median"] for row in self.select(**wanted))


def draw_speed(axes, results):
    """Time of one call over the vector's size, and the speed-up over native for the largest."""
    native = [results.timed("native_time_s", bytes=size) for size in results.sizes]
    axes.plot(results.sizes, native, "--", color=NATIVE_COLOUR, label="native MPI_Allreduce")
    for codec in results.codecs:
        times = [results.timed("time_s", bytes=size, codec=codec) for size in results.sizes]
        speedup = results.speedup(bytes=results.sizes[-1], codec=codec)
        axes.plot(results.sizes, times, "-o", color=results.colours[codec],
                  label=f"{codec}: {speedup:.2f} x native at {size_text(results.sizes[-1])}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(results.sizes, [size_text(size) for size in results.sizes], rotation=30)
    axes.minorticks_off()
    axes.set_xlabel("vector")
    axes.set_ylabel("milliseconds a call")
    axes.set_title(f"shared memory, {results.ranks} ranks, native=auto")
    axes.legend(fontsize="small", frameon=False)


def draw_lab(axes, results, link):
    """Speed-up over the best native allreduce for the largest vector."""
    size = results.sizes[-1]
    for place, codec in enumerate(results.codecs):
        speedup = results.speedup(bytes=size, codec=codec)
        axes.bar(place, speedup, 0.6, color=results.colours[codec])
        axes.annotate(f"{speedup:.3g} x\n{results.timed('time_s', bytes=size, codec=codec):.0f} ms",
                      (place, speedup), xytext=(0, 3), textcoords="offset points", ha="center",
                      fontsize="small")
    native = results.timed("native_time_s", bytes=size)
    axes.axhline(1, linestyle="--", color=NATIVE_COLOUR,
                 label=f"best native allreduce, {native:.0f} ms")
    axes.set_xticks(range(len(results.codecs)), results.codecs, fontsize="small")
    axes.set_ylim(0, 1.25 * max(speedup for _, speedup in results.fastest_first()))
    axes.set_ylabel("times as fast as native")
    axes.set_title(f"{results.ranks} hosts, {link}, {size_text(size)}")
    axes.legend(fontsize="small", frameon=False)


def draw_bytes(axes, results):
    """Bytes the busiest rank sent for the largest vector."""
    size = results.sizes[-1]
    native = 2 * (results.ranks - 1) / results.ranks * size
    for position, codec in enumerate(results.codecs):
        row = results.select(bytes=size, codec=codec)[0]
        sent = row["wire_bytes_per_rank"]
        if sent is None:
            continue
        axes.bar(position, sent / 2**20, 0.6, color=results.colours[codec])
        axes.annotate(f"{size_text(sent)}\n{sent / native:.2f} of native", (position, sent / 2**20),
                      xytext=(0, 3), textcoords="offset points", ha="center", fontsize="small")
    axes.axhline(native / 2**20, linestyle="--", color=NATIVE_COLOUR,
                 label="uncompressed ring, 2(n-1)/n")
    axes.set_xticks(range(len(results.codecs)), results.codecs, fontsize="small")
    axes.set_ylim(0, 1.3 * native / 2**20)
    axes.set_ylabel("MiB sent by a rank")
    axes.set_title(f"bytes on the wire for {size_text(size)}")
    axes.legend(fontsize="small", frameon=False)


def draw_errors(axes, results):
    """Error of the largest vector's sum, for every input."""
    size = results.sizes[-1]
    for number, name in enumerate(results.inputs):
        rows = [results.select(bytes=size, codec=codec, input=name)[0] for codec in results.codecs]
        axes.scatter(range(len(rows)), [max(row["vnmse"] or 0, SMALLEST_ERROR) for row in rows],
                     marker=MARKERS[number % len(MARKERS)], s=45, alpha=0.8,
                     color=[results.colours[row["codec"]] for row in rows])
    axes.set_yscale("log")
    axes.set_xticks(range(len(results.codecs)), results.codecs)
    axes.margins(x=0.2, y=0.15)
    axes.set_ylabel("squared error / squared norm (vNMSE)")
    axes.set_title("error of the sum, per input")
    shapes = [plt.Line2D([], [], linestyle="", color=NATIVE_COLOUR, label=input_name(name),
                         marker=MARKERS[number % len(MARKERS)])
              for number, name in enumerate(results.inputs)]
    axes.legend(handles=shapes, fontsize="small", frameon=False)


def draw(memory, lab, link, path):
    """Draw three panels, or four with a lab."""
    panels = 3 if lab is None else 4
    figure, axes = (plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained") if lab is None else
                    plt.subplots(2, 2, figsize=(12, 9), layout="constrained"))
    axes = list(axes.flat)
    if lab is not None:
        draw_lab(axes[0], lab, link)
    draw_speed(axes[panels - 3], memory)
    draw_bytes(axes[panels - 2], memory)
    draw_errors(axes[panels - 1], memory)
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
    figure.suptitle(f"allreduce of gradients beside {memory.mpi}")
    figure_file.save(figure, path, dpi=100)


def percent(error):
    """Return the size of an error beside its vector's, of the ratio of their energies."""
    return f"{100 * error**0.5:.3g}%"


def say(memory, lab, link, why_no_lab):
    """Print what was seen: on links, in memory, and what it costs."""
    if lab is None:
        print(f"Links: not measured ({why_no_lab}). Compressing pays there: docs/demo.png shows "
              "how much on four hosts with links of 1 Gbit/s.")
    else:
        size = size_text(lab.sizes[-1])
        words = [f"{codec} {speedup:.3g} x" for codec, speedup in lab.fastest_first()]
        print(f"Links ({lab.ranks} hosts, {link}, {size}), as fast as the best native allreduce: "
              f"{', '.join(words)}.")
    native = sum(2 * row["native_calls"] > row["iterations"] for row in memory.rows)
    speedups = sorted(row["speedup"] for row in memory.rows)
    print(f"Shared memory ({memory.ranks} ranks): auto took native in {native} of "
          f"{len(memory.rows)} rows; {speedups[0]:.2f} x to {speedups[-1]:.3g} x, median "
          f"{statistics.median(speedups):.2f} x.")
    errors = [f"{codec} {percent(max(row['vnmse'] or 0 for row in memory.select(codec=codec)))}"
              for codec in memory.codecs]
    print(f"Error of the sum, at most, beside the sum's norm: {', '.join(errors)}.")


def results_of(path):
    """Return the results in a report.

    Raises ValueError with one line that names the file.
    """
    report = input_json.read(path, dict, ["schema", "ranks", "results"], COLUMNS)
    if report.get("schema") != "cohom-bench/1" or not report["results"]:
        raise ValueError(f"{path} has no results of schema cohom-bench/1")
    if any(row["time_s"] is None for row in report["results"]):
        raise ValueError(f"{path} has rows without a time")
    return Results(report)


def main():
    """Read the reports, draw, write the picture, say what was seen."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=pathlib.Path, help="JSON of cohom-bench on one machine")
    parser.add_argument("picture", type=pathlib.Path, help="PNG, PDF or SVG to write")
    parser.add_argument("--lab", type=pathlib.Path, help="JSON of cohom-bench on slow links")
    parser.add_argument("--link", default="slow links", help="what they are, in words")
    parser.add_argument("--no-lab", default="no report of them", help="why there is none, in words")
    options = parser.parse_args()
    try:
        memory = results_of(options.report)
        lab = results_of(options.lab) if options.lab else None
        draw(memory, lab, options.link, options.picture)
        say(memory, lab, options.link, options.no_lab)
    except ValueError as error:
        sys.exit(f"plot_demo: {error}")
    except OSError as error:
        sys.exit(f"plot_demo: {error.filename}: cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
