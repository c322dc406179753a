"""The figures of what was measured, for rows that are comparable."""

import re
import statistics

from charts import COLOURS, INK, Canvas, ticks
from checks import PHASES
from rows import by_series, largest
import units

EXACT = 1e-17  # errors of zero are drawn here, at the edge
MOST_LETTERS = 26  # in a line beside bars; with longer ones no room is left for the bars
MOST_CURVES = 12  # in one figure; more are drawn algorithm by algorithm


def draw_all(rows, number, palette):
    """Return the charts of one setting; those without any data are left out."""
    charts = []
    for part, some in parts(rows):
        name = f"{number}{part}"
        charts += [draw(some, name, palette) for draw in
                   (speedups, times_over_bytes, errors, wire_bytes, profiles)]
    return [chart for chart in charts if chart]


def parts(rows):
    """Return rows by what fits into one figure, each with the end of its name."""
    if len(by_series(rows)) <= MOST_CURVES:
        return [("", rows)]
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    return [(f"-{algorithm}", [row for row in rows if row["algorithm"] == algorithm])
            for algorithm in algorithms]


def medians(rows, x, y):
    """Return a curve: the median of y where several rows have one x."""
    points = {}
    for row in rows:
        if x(row) and y(row):
            points.setdefault(x(row), []).append(y(row))
    found = sorted((place, statistics.median(values)) for place, values in points.items())
    return [place for place, _ in found], [value for _, value in found]


def curves(canvas, rows, palette, x, y):
    """Draw one curve a series; returns whether there was any."""
    for name, group in by_series(rows).items():
        places, values = medians(group, x, y)
        if places:
            canvas.line(name, places, values,
                        **palette.style(group[0]["codec"], group[0]["algorithm"]))
    return bool(canvas.series)


def speedups(rows, name, palette):
    """Speed-up over the best native allreduce against size."""
    rows = [row for row in rows if row.seconds and row["bytes"]]
    if not rows:
        return None
    canvas = Canvas(f"speedup-{name}", "speed-up over native")
    curves(canvas, rows, palette, lambda row: row["bytes"], lambda row: row["speedup"])
    sizes = sorted({row["bytes"] for row in rows})
    canvas.line("native = 1", [sizes[0], sizes[-1]], [1, 1], color=INK, linestyle="-")
    canvas.scales(y="number")
    ticks(canvas.axes, sizes[::-(-len(sizes) // 7)], "size")
    canvas.axes.set_xlabel("vector")
    canvas.axes.set_ylabel("times as fast")
    return canvas.finish("Median time of the best native allreduce over the codec's, measured in "
                         "turn. Above the line it is faster than native.")


def times_over_bytes(rows, name, palette):
    """Time against the busiest rank's bytes, with the link's bound."""
    rows = [row for row in rows if row.seconds and row["wire_bytes_per_rank"]]
    if not rows:
        return None
    canvas = Canvas(f"time-{name}", "time against bytes on the wire")
    curves(canvas, rows, palette, lambda row: row["wire_bytes_per_rank"], lambda row: row.seconds)
    canvas.line("native, 2(n-1)/n of the vector",
                *medians(rows, lambda row: row.native_bytes, lambda row: row.native_seconds),
                color=INK, marker="x", linestyle="--")
    caption = "Median time of the slowest rank against what the busiest rank sent. "
    rate = rows[0].link_rate
    if rate:
        sent = [value for row in rows for value in (row["wire_bytes_per_rank"], row.native_bytes)
                if value]
        ends = [min(sent), max(sent)]
        canvas.line(f"bound of the link, {units.rate_text(rate)}", ends,
                    [8 * end / rate for end in ends], color=INK, linewidth=0.8)
        caption += "Below the line, bytes over the link's rate, lie only bursts."
    else:
        caption += "The links' rate is not known, so no bound is drawn."
    canvas.scales(x="size", y="time")
    canvas.axes.set_xlabel("bytes of the busiest rank")
    canvas.axes.set_ylabel("a call")
    return canvas.finish(caption)


def errors(rows, name, palette):
    """Error against bytes per value, of the largest vectors."""
    rows = [row for row in largest(rows)
            if row["vnmse"] is not None and row.bytes_a_value and not row["bypass"]]
    if not rows:
        return None
    canvas = Canvas(f"error-{name}", f"error against bytes, {largest_size(rows)}")
    for row in rows:
        style = palette.style(row["codec"], row["algorithm"]) | {"linestyle": ""}
        canvas.line(row.series, [row.bytes_a_value], [max(row["vnmse"], EXACT)], **style)
    canvas.axes.margins(0.1)
    canvas.scales(y="number")
    canvas.axes.set_xlim(left=0)
    canvas.axes.set_xlabel("bytes a value and hop, all in")
    canvas.axes.set_ylabel("vNMSE of the sum")
    return canvas.finish("Squared error of the sum over the exact sum's squared norm, against the "
                         "bytes of all ranks over 2(n-1) times the values: an uncompressed ring of "
                         f"f32 has 4. Errors of zero stand at {EXACT:g}.")


def wire_bytes(rows, name, palette):
    """Counted bytes against the formula's."""
    rows = [row for row in rows if row["wire_bytes_formula"] and row["wire_bytes_per_rank"]]
    if not rows:
        return None
    canvas = Canvas(f"wire-{name}", "bytes on the wire, counted and by formula")
    curves(canvas, rows, palette, lambda row: row["wire_bytes_formula"],
           lambda row: row["wire_bytes_per_rank"])
    found = [row["wire_bytes_formula"] for row in rows]
    canvas.line("counted = formula", [min(found), max(found)], [min(found), max(found)], color=INK,
                linestyle="-", zorder=1)
    canvas.scales(x="size", y="size")
    canvas.axes.set_xlabel("formula")
    canvas.axes.set_ylabel("counted")
    return canvas.finish("Bytes of the busiest rank, as the transport counted them. Ranks also "
                         "exchange words about errors, which shows with small vectors.")


def profiles(rows, name, _palette):
    """Where the time of calls goes, of the largest vectors."""
    rows = [row for row in largest(rows) if row.profile][::-1]
    if not rows:
        return None
    labels = [in_lines(row.series) for row in rows]
    lines = max(label.count("\n") + 1 for label in labels)
    canvas = Canvas(f"profile-{name}", f"where the time goes, {largest_size(rows)}",
                    height=1.4 + (0.07 + 0.15 * lines) * len(rows))
    lefts = [0.0] * len(rows)
    for phase, colour in zip(PHASES, COLOURS):
        widths = [1e3 * row.profile[phase] for row in rows]
        canvas.bars(phase, range(len(rows)), widths, lefts, colour)
        lefts = [left + width for left, width in zip(lefts, widths)]
    bounds = [(1e3 * row.wire_seconds, place) for place, row in enumerate(rows)
              if row.wire_seconds]
    if bounds:
        canvas.line("the link's own time", *zip(*bounds), color=INK, linestyle="", marker="|",
                    markersize=13, markeredgewidth=2)
    canvas.axes.set_yticks(range(len(rows)), labels)
    canvas.axes.grid(axis="y", visible=False)
    canvas.axes.set_xlabel("ms a call, mean over calls and ranks")
    return canvas.finish("Times on the wall. Waiting for messages (wait) contains the link's own "
                         "time, and where ranks share cores the work of other ranks.")


def in_lines(label):
    """Return a label in lines that are not too long; specs of codecs break after a comma."""
    lines = [""]
    for piece in re.findall(f"[^,: ]{{1,{MOST_LETTERS - 1}}}[,: ]?|[,: ]", label):
        if len(lines[-1] + piece) > MOST_LETTERS:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def largest_size(rows):
    """Return the sizes of these rows as a title has them."""
    sizes = list(dict.fromkeys(row.size for row in sorted(rows, key=lambda row: row["bytes"])))
    return sizes[0] if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
