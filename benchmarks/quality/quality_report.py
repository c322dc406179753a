"""Tables and the figure of what quality.py measured."""

import math
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of backend)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import figure_file  # noqa: E402
import output_file  # noqa: E402

COLUMNS = 4  # of panels in the figure
LEAST_ERROR = 1e-15  # smaller ones are drawn here, at the edge
# label, beginning of the codec, algorithm, colour, line and marker
CURVES = [
    ("packed, direct", "packed:bits=", "direct", "#0072b2", "-o"),
    ("packed, ring", "packed:bits=", "ring", "#56b4e9", "--o"),
    ("DynamiQ-like, direct", "dynamiq-like:bits=", "direct", "#e69f00", "--s"),
    ("DynamiQ-like, ring", "dynamiq-like:bits=", "ring", "#d55e00", "-s"),
    ("MXFP8, ring", "mxfp8", "ring", "#555555", "D"),
    ("thc, direct", "thc", "direct", "#009e73", "^"),
    ("thc:levels=full, ring", "thc:levels=full", "ring", "#cc79a7", "v"),
]
# Methods, with a budget of 5 bits where they have one: head of the column (d: direct, r: ring),
# codec and algorithm.
METHODS = [
    ("packed d", "packed:bits=5", "direct"),
    ("packed r", "packed:bits=5", "ring"),
    ("DynamiQ r", "dynamiq-like:bits=5", "ring"),
    ("DynamiQ d", "dynamiq-like:bits=5", "direct"),
    ("MXFP8 r", "mxfp8", "ring"),
    ("thc d", "thc", "direct"),
    ("full r", "thc:levels=full", "ring"),
]
CALL_WORDS = 25  # every call's agreement
PACKED_WORDS = 1 + 64  # packed's own: a maximum, and 128 counters


class Results:
    """Results by input, ranks, codec and algorithm, in the order of their measuring."""

    def __init__(self, rows):
        self._rows = {(row["input"], row["ranks"], row["codec"], row["algorithm"]): row
                      for row in rows}
        self.vectors = list(dict.fromkeys((row["input"], row["ranks"]) for row in rows))
        self.ranks = list(dict.fromkeys(row["ranks"] for row in rows))

    def get(self, name, ranks, codec, algorithm):
        """Return one result."""
        return self._rows[name, ranks, codec, algorithm]

    def curve(self, name, ranks, beginning, algorithm):
        """Return the results of a codec, or of all whose names begin so and end in a number."""
        return [row for (an_input, n, codec, an_algorithm), row in self._rows.items()
                if (an_input, n, an_algorithm) == (name, ranks, algorithm)
                and (codec == beginning or beginning.endswith("=") and codec.startswith(beginning))]


def markdown(head, rows):
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(map(str, cells)) + " |"
                     for cells in [head, ["---"] * len(head), *rows])


def agreement_bits(ranks, elements):
    """Return bits a value of packed's agreement: recursive doubling of all ranks."""
    samples = min(512, elements // 32 // 16)
    words = CALL_WORDS + PACKED_WORDS + (2 + (32 + samples + 1) // 2 if samples >= 16 else 0)
    hops = math.log2(ranks)  # exact for powers of two alone
    return words * 64 * ranks * hops / (2 * (ranks - 1) * elements)


def stem(name):
    """Return an input's name without the suffix of a file, for tables of 100 columns."""
    return pathlib.Path(name).stem


def errors(results):
    """Return the table of the errors of all methods."""
    lines = [[stem(name), ranks] +
             [f"{results.get(name, ranks, *method)['vnmse']:.1e}" for _, *method in METHODS]
             for name, ranks in results.vectors]
    return markdown(["input", "ranks"] + [head for head, *_ in METHODS], lines)


def bits(results):
    """Return the table of the bits a value, all in, of all methods."""
    lines = []
    for name, ranks in results.vectors:
        cells = [results.get(name, ranks, *method) for _, *method in METHODS]
        lines.append([stem(name), ranks, cells[0]["elements"]] +
                     [f"{cell['bits']:.2f}" for cell in cells])
    return markdown(["input", "ranks", "d"] + [head for head, *_ in METHODS], lines)


def at_equal_bits(results, budgets, with_agreement=False):
    """Return the table of packed's error over that of DynamiQ-like with as many bits all in."""
    head = ["input", "ranks"]
    for budget in budgets:
        head += [f"bits={budget}", "/ ring", "/ direct"]
    lines = []
    for name, ranks in results.vectors:
        line = [stem(name), ranks]
        for codec in (f"packed:bits={budget}" for budget in budgets):
            ours = results.get(name, ranks, codec, "direct")
            line.append(f"{ours['bits']:.2f}")
            for schedule in ("ring", "direct"):
                theirs = results.get(name, ranks, f"dynamiq-like:as={codec}", schedule)
                line.append(f"{ours['vnmse'] / theirs['vnmse']:.2g}")
        if with_agreement:
            line.append(f"{agreement_bits(ranks, ours['elements']):.2f}")
        lines.append(line)
    return markdown(head + ["agreement"] * with_agreement, lines)


def tables(measured):
    """Return all tables by the name they have in the Markdown file."""
    results = Results(measured)
    return {"errors": errors(results), "bits": bits(results),
            "4 and 5 bits": at_equal_bits(results, (4, 5)),
            "6 and 8 bits": at_equal_bits(results, (6, 8), with_agreement=True)}


def replace_tables(path, new):
    """Put tables between their marks in a Markdown file.

    Raises ValueError, and changes nothing, where a mark is missing.
    """
    text = path.read_text()
    for name, table in new.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        head, found_begin, rest = text.partition(begin)
        _, found_end, tail = rest.partition(end)
        if not (found_begin and found_end):
            raise ValueError(f"{path} has no lines '{begin.strip()}' and '{end}'")
        text = head + begin + table + "\n" + end + tail
    output_file.write(path, text)


def draw(measured, path):
    """Draw error over bits of the first number of ranks, one panel an input."""
    results = Results(measured)
    ranks = results.ranks[0]
    names = [name for name, n in results.vectors if n == ranks]
    figure, grid = plt.subplots(-(-len(names) // COLUMNS), min(COLUMNS, len(names)),
                                figsize=(16, 3.5 * -(-len(names) // COLUMNS)),
                                layout="constrained", squeeze=False)
    for axes, name in zip(grid.flat, names):
        for label, codec, algorithm, colour, style in CURVES:
            rows = results.curve(name, ranks, codec, algorithm)
            axes.plot([row["bits"] for row in rows],
                      [max(row["vnmse"], LEAST_ERROR) for row in rows],
                      style, color=colour, label=label, markersize=5)
        axes.set_yscale("log")
        axes.set_title(pathlib.Path(name).stem, fontsize="medium")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    for axes in grid.flat[len(names):]:
        axes.axis("off")
    for axes in grid[:, 0]:
        axes.set_ylabel("vNMSE of the sum")
    for axes in grid[-1]:
        axes.set_xlabel("bits a value, all in")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=len(CURVES),
                  frameon=False)
    figure.suptitle(f"error of an allreduce over the bits it sends, {ranks} ranks")
    figure_file.save(figure, path, dpi=100, bbox_inches="tight")
    plt.close(figure)
