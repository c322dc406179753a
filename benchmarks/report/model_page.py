"""The model's part of the page: its inputs, its formulas, its curves and tables."""

import math

from algorithms import ALPHA, MODELLED
from charts import INK, Canvas, ticks
from markup import details, element, paragraph, table
from model import LINK_RATES, RANKS, paying_rates
from predictions import NATIVES
from rates import SIZES
import units

CAUTION = ("This part is a model, not a measurement. It takes measured codec rates and the bytes "
           "of the wire formulas, assumes the rest, and knows nothing of congestion, stragglers "
           "or memory.")
FORMULAS = [
    *((name, row.latency, row.wire, row.work) for name, row in MODELLED.items()),
    ("native ring", f"2(n-1) {ALPHA}", "2A of the vector", "A add"),
    ("native Rabenseifner", f"2 L {ALPHA}", "2A of the vector", "A add")]
HEAD = ["codec \N{MIDDLE DOT} algorithm", *(f"{n} ranks" for n in RANKS)]
NATIVE_STYLES = {"ring": {"linestyle": "-", "marker": "x"},
                 "Rabenseifner": {"linestyle": "--", "marker": "+"}}


def draw_models(predictions, palette):
    """Return the charts of every group of predictions."""
    return [[chart for some, end in parts(group) for chart in
             [*(draw_times(group, some, rate, f"{number}{end}", palette) for rate in LINK_RATES),
              draw_crossovers(group, some, f"{number}{end}", palette)] if chart]
            for number, group in enumerate(predictions.groups, 1)]


def parts(group):
    """Return the cases by algorithm, each with the end of its figures' names."""
    algorithms = list(dict.fromkeys(case.row["algorithm"] for case in group.cases))
    return [([case for case in group.cases if case.row["algorithm"] == algorithm],
             f"-{algorithm}") for algorithm in algorithms]


def draw_times(group, cases, link_rate, name, palette):
    """Predicted time against ranks for one link rate."""
    link = units.rate_text(link_rate)
    canvas = Canvas(f"model-{link_rate / 1e9:.0f}gbit-{name}",
                    f"MODEL: time at {link}, {group.size}, {group.dtype}", height=2.6)
    for case in cases:
        costs = [(ranks, case.cost(ranks)) for ranks in RANKS]
        points = [(ranks, cost.seconds(link_rate, False)) for ranks, cost in costs if cost]
        canvas.line(case.row.series, *zip(*points),
                    **palette.style(case.row["codec"], case.row["algorithm"]))
    for native in NATIVES:
        times = [group.native(native, ranks).seconds(link_rate, False) for ranks in RANKS]
        canvas.line(f"native {native}", RANKS, times, color=INK, **NATIVE_STYLES[native])
    canvas.scales(y="time")
    ticks(canvas.axes, RANKS, "ranks")
    canvas.axes.set_xlabel("ranks")
    return canvas.finish("Predicted, not measured; no work overlaps with the wire.")


def draw_crossovers(group, cases, name, palette):
    """Highest link rate at which each codec pays, against ranks."""
    curves = {}
    for case in codecs(cases):
        points = [(ranks, highest) for ranks in RANKS
                  if (highest := highest_rate(group, case, ranks)) not in (None, math.inf)]
        if points:
            curves[case] = points
    if not curves:
        return None
    canvas = Canvas(f"model-crossover-{name}",
                    f"MODEL: link rate beyond which a codec stops paying, {group.size}",
                    height=2.6)
    for case, points in curves.items():
        canvas.line(case.row.series, *zip(*points),
                    **palette.style(case.row["codec"], case.row["algorithm"]))
    for rate in LINK_RATES:
        canvas.axes.axhline(rate, color=INK, linewidth=0.5, linestyle=":")
    ticks(canvas.axes, LINK_RATES, "rate", "y")
    ticks(canvas.axes, RANKS, "ranks")
    canvas.axes.set_xlabel("ranks")
    return canvas.finish("Predicted, against the native ring, without overlap; dotted lines are "
                         "the link rates of this model. Where a codec pays at all rates or at "
                         "none, nothing is drawn; the table says which.")


def highest_rate(group, case, ranks):
    """Return the highest link rate at which a codec pays; None where it never does."""
    cost = case.cost(ranks)
    found = paying_rates(cost, group.native("ring", ranks), False) if cost else []
    return found[-1][1] if found else None


def codecs(cases):
    """Return the cases that compress."""
    return [case for case in cases if case.row["codec"] != "raw"]


def model_section(predictions, charts, alpha, figure_html):
    """Return the HTML of the model."""
    body = [paragraph(CAUTION, "caution")]
    if predictions.groups:
        body += inputs(predictions, alpha)
    else:
        body.append(paragraph("No row has what the model needs."))
    for group, drawn in zip(predictions.groups, charts):
        body.append(element("h3", f"{group.size} of {group.dtype}"))
        body += [figure_html(chart) for chart in drawn]
        body += [crossover_table(group, native) for native in NATIVES]
        body += [time_table(group, rate) for rate in LINK_RATES]
    body += beside_measurements(predictions)
    if predictions.left_out:
        body.append(element("h3", "Not modelled"))
        body.append(table(["codec \N{MIDDLE DOT} algorithm", "why"],
                          list(predictions.left_out.items())))
    return "\n".join(body)


def inputs(predictions, alpha):
    """Return the model's inputs and formulas."""
    rows = [[case.row.series, case.row["dtype"], case.row.size,
             *(rate_cell(case, seconds) for seconds in
               (case.rates.agree, case.rates.encode, case.rates.merge, case.rates.decode)),
             case.rates.source]
            for group in predictions.groups for case in group.cases]
    adds = [f"{group.size} of {group.dtype}: " + units.speed_text(
        SIZES[group.dtype] / group.add_seconds if group.add_seconds else math.inf) +
        f" ({group.add_source})" for group in predictions.groups]
    rates = ", ".join(units.rate_text(rate) for rate in LINK_RATES)
    return [
        element("h3", "Inputs"),
        paragraph(f"\N{GREEK SMALL LETTER ALPHA} = {units.time_text(alpha)} a message (assumed; "
                  f"cohom-report --alpha). \N{GREEK SMALL LETTER BETA} = 1 / {rates}. "
                  "\N{GREEK SMALL LETTER GAMMA}, measured, in GB/s of the vector:"),
        table(["codec \N{MIDDLE DOT} algorithm", "type", "vector", "agree", "encode", "a merge",
               "decode", "from"], rows),
        paragraph(f"Native additions: {'; '.join(adds)}."),
        *(byte_table(group) for group in predictions.groups),
        element("h3", "Formulas"),
        paragraph("time = latency + wire bytes \N{GREEK SMALL LETTER BETA} + work; with full "
                  "overlap latency + the larger of the two. A = (n-1)/n, L = log2 n, n ranks. "
                  "Agreements of a codec add L \N{GREEK SMALL LETTER ALPHA} each. A merge takes "
                  "longer as sums get wider. After Thakur, Rabenseifner and Gropp (2005); one "
                  "port a rank, full duplex; tree without pipelining over segments."),
        table(["algorithm", "latency", "wire bytes", "work"], FORMULAS)]


def byte_table(group):
    """Return the bytes that go into the model."""
    rows = [[case.row.series, *(byte_cell(case.cost(ranks)) for ranks in RANKS)]
            for case in group.cases]
    rows.append(["native", *(byte_cell(group.native("ring", ranks)) for ranks in RANKS)])
    return details(f"Wire bytes on the longest way, {group.size} of {group.dtype}",
                   table(HEAD, rows))


def byte_cell(cost):
    """Return the bytes of a cost."""
    return "cannot run" if cost is None else units.size_text(cost.wire_bytes)


def rate_cell(case, seconds):
    """Return a rate in bytes of the vector a second."""
    return units.speed_text(SIZES[case.row["dtype"]] / seconds if seconds else math.inf)


def crossover_table(group, native):
    """Return where each codec pays against a native algorithm."""
    rows = [[case.row.series, *(paying_text(case.cost(ranks), group.native(native, ranks))
                                for ranks in RANKS)] for case in codecs(group.cases)]
    return details(f"Link rates at which codecs pay against native {native}: without overlap; "
                   "with full overlap", table(HEAD, rows),
                   native == "ring")


def paying_text(codec, native):
    """Return the link rates at which a codec pays, without and with overlap."""
    if codec is None:
        return "cannot run"
    return "; ".join(intervals_text(paying_rates(codec, native, overlap))
                     for overlap in (False, True))


def intervals_text(intervals):
    """Return ranges of link rates."""
    return " and ".join(interval_text(*interval) for interval in intervals) or "never"


def interval_text(lowest, highest):
    """Return one range of link rates."""
    if highest == math.inf:
        return "always" if lowest == 0 else f"above {units.rate_text(lowest)}"
    below = f"below {units.rate_text(highest)}"
    return below if lowest == 0 else f"above {units.rate_text(lowest)}, {below}"


def time_table(group, link_rate):
    """Return predicted times for one link rate."""
    rows = [[case.row.series, *(times_text(case.cost(ranks), link_rate) for ranks in RANKS)]
            for case in group.cases]
    rows += [[f"native {native}", *(times_text(group.native(native, ranks), link_rate)
                                    for ranks in RANKS)] for native in NATIVES]
    return details(f"Predicted times at {units.rate_text(link_rate)}: without overlap; with full "
                   "overlap", table(HEAD, rows))


def times_text(cost, link_rate):
    """Return a time without and with overlap."""
    if cost is None:
        return "cannot run"
    return "; ".join(units.time_text(cost.seconds(link_rate, overlap))
                     for overlap in (False, True))


def beside_measurements(predictions):
    """Return predictions for the ranks and links that were measured, to judge the model by."""
    rows = []
    for group in predictions.groups:
        for case in group.cases:
            row = case.row
            if row.link_rate and row.seconds:
                cost = case.cost(row.ranks)
                predicted = cost.seconds(row.link_rate, False)
                rows.append([row.series, row.size, row["dtype"], row.ranks, row.link_title,
                             times_text(cost, row.link_rate), units.time_text(row.seconds),
                             units.number_text(row.seconds / predicted)])
    if not rows:
        return [paragraph("No measured row has a known link rate, so the model stands unchecked.")]
    return [element("h3", "The model beside measurements"),
            table(["codec \N{MIDDLE DOT} algorithm", "vector", "type", "ranks", "links",
                   "predicted", "measured", "measured / predicted"], rows)]
