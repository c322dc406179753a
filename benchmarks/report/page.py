"""The page: one file of HTML that needs nothing else, neither scripts nor a network."""

import pathlib
import re

from advice_page import advice_section
from charts import Palette
from checks import PHASES
from figures import draw_all
from markup import details, element, figure, paragraph, section, table, text
from model_page import draw_models, model_section
from predictions import predictions_of
from rows import by_setting, by_shape
from summary import summary_section
import units

STYLE = pathlib.Path(__file__).with_name("style.css")
PARTS = [("summary", "Summary"), ("failed", "What failed"), ("advice", "Advice"),
         ("measurements", "Measurements"), ("links", "Links"), ("shapes", "Ranks a node"),
         ("runs", "Runs"), ("model", "Model, not a measurement")]

MOST_OPEN_RUNS = 8  # more are behind a line


def make_page(collection, alpha):
    """Return the HTML and the charts that are in it."""
    palette = Palette(*(list(dict.fromkeys(row[column] for row in collection.rows))
                        for column in ("codec", "algorithm")))
    settings = by_setting(collection.rows)
    measured = [draw_all(rows, number, palette)
                for number, rows in enumerate(settings.values(), 1)]
    predictions = predictions_of(collection, alpha)
    models = draw_models(predictions, palette)
    bodies = {
        "summary": summary_section(collection.rows),
        "failed": failures(collection.failed),
        "advice": advice_section(collection.advice),
        "measurements": "\n".join(
            setting_part(title, rows, charts)
            for (title, rows), charts in zip(settings.items(), measured)) or
        paragraph("No rows."),
        "links": links(collection.labs),
        "shapes": shapes(collection.rows),
        "runs": runs(collection),
        "model": model_section(predictions, models, alpha, figure)}
    sections = [section(name, title, bodies[name]) for name, title in PARTS]
    page = frame(head(collection), sections)
    return page, [chart for charts in [*measured, *models] for chart in charts]


def frame(top, sections):
    """Return the whole document. The policy forbids it to load anything."""
    anchors = "".join(f'<a href="#{name}">{text(title)}</a>' for name, title in PARTS)
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        "<title>cohom-report</title>", f"<style>{STYLE.read_text(encoding='utf-8')}</style>",
        "</head>", "<body>", top, f"<nav>{anchors}</nav>", *sections, "</body>", "</html>", ""])


def head(collection):
    """Return the title and what the page is about in one line."""
    dates = sorted(run.facts["date"] for run in collection.runs)
    when = f" from {dates[0]} to {dates[-1]}" if dates else ""
    return element("h1", "cohom: compressed allreduce, measured") + paragraph(
        f"{len(collection.rows)} rows of {len(collection.runs)} runs{when}; "
        f"{len(collection.failed)} failed.", "soft")


def failures(failed):
    """Return everything that failed, with its message."""
    if not failed:
        return paragraph("Nothing failed.")
    parts = []
    for failure in failed:
        status = "" if failure.exit_status is None else f" (exit status {failure.exit_status})"
        facts = [fact for fact in (failure.host, failure.date, failure.path) if fact]
        command = element("pre", failure.command) if failure.command else ""
        parts.append(f'<div class="failed">{element("pre", failure.message + status)}{command}'
                     f"{paragraph(', '.join(facts), 'soft')}</div>")
    return "\n".join(parts)


def setting_part(title, rows, charts):
    """Return figures and tables of rows that are comparable."""
    hosts = ", ".join(dict.fromkeys(row.run.facts["host"] for row in rows))
    figures = "\n".join(figure(chart) for chart in charts)
    parts = [element("h3", title), paragraph(f"Rank 0 on {hosts}.", "soft"),
             f'<div class="figures">{figures}</div>']
    profiled = [row for row in rows if row.profile]
    if profiled:
        parts.append(details("Where the time of each row goes", split_table(profiled), True))
    unformulated = list(dict.fromkeys(row.series for row in rows if not row["wire_bytes_formula"]))
    if unformulated:
        parts.append(paragraph(f"Without a formula for their bytes: {', '.join(unformulated)}.",
                               "soft"))
    return "\n".join([*parts, details(f"All {len(rows)} rows", row_table(rows))])


def split_table(rows):
    """Return each row's time above the wire's own, and what it went to."""
    lines = []
    for row in rows:
        wire, profile = row.wire_seconds, row.profile
        above = None if wire is None else row.seconds - wire
        lines.append([f"{row.series}, {row.size}", units.time_text(row.seconds),
                      *(None if time is None else units.time_text(time) for time in (wire, above)),
                      *(units.time_text(profile[phase]) for phase in [*PHASES, "processor"])])
    return paragraph("Time: median of the slowest rank. The link's own time: bytes of the busiest "
                     "rank over the rate. Phases are means over ranks and calls, so they add up "
                     "to the mean call, which a few slow calls make longer than the median; wait "
                     "contains the link's own time. processor: time on a core.", "soft") + table(
        ["row", "time", "link's own", "above it", *PHASES, "processor"], lines)


def row_table(rows):
    """Return all rows with what was measured."""
    columns = ["codec \N{MIDDLE DOT} algorithm", "vector", "time", "min", "p99", "native", "by",
            "speed-up", "sent, busiest", "formula", "counted / formula", "bytes a value", "vNMSE",
            "max error", "hash", "in the network", ""]
    lines = []
    for row in rows:
        sent, formula = row["wire_bytes_per_rank"], row["wire_bytes_formula"]
        times, native = row["time_s"] or {}, row["native_time_s"] or {}
        lines.append([
            row.series, row.size,
            *(units.time_text(times[key]) if times else None for key in ("median", "min", "p99")),
            units.time_text(native["median"]) if native else None, native.get("algorithm"),
            units.number_text(row["speedup"]),
            *(None if size is None else units.size_text(size) for size in (sent, formula)),
            f"{sent / formula:.4f}" if sent is not None and formula else None,
            *(units.number_text(value) for value in
              (row.bytes_a_value, row["vnmse"], row["max_abs_error"])),
            row["result_hash"],
            ", ".join(f"{name} {count}" for name, count in row.counters.items()),
            f"sent raw: {'too small' if row.ranks > 1 else 'one rank'}" if row["bypass"] else ""])
    return table(columns, lines)


def links(labs):
    """Return what netlab's links carried and dropped."""
    parts = []
    for lab in labs:
        document = lab.document
        rate = units.rate_text(lab.rate) if lab.rate else "as fast as the machine"
        parts.append(paragraph(
            f"{lab.title}: {rate}; {document['mpi']}, {document['ranks']} ranks, "
            f"{document['seconds']:.1f} s, load {document['load_average']:.1f} before; "
            f"{document['drops']} dropped, {document['lost']} lost."))
        parts.append(table(["link", "bytes", "packets", "drops", "lost"], [
            [f"{link['from']} > {link['to']}", *(link[key] for key in
                                                 ("bytes", "packets", "drops", "lost"))]
            for link in document["links"]]))
    return "\n".join(parts) or paragraph("No JSON of netlab run was given.")


def shapes(rows):
    """Return the times of rows that were measured with several numbers of ranks a node."""
    parts = []
    for title, lines in by_shape(rows).items():
        names = sorted({shape for line in lines.values() for shape in line}, key=shape_order)
        parts += [element("h3", title), table(
            ["codec \N{MIDDLE DOT} algorithm", "vector", *names],
            [[series, units.size_text(size), *(shape_cell(line.get(name)) for name in names)]
             for (series, size), line in sorted(lines.items(), key=lambda item: item[0])])]
    if not parts:
        return paragraph("No row was measured with several numbers of nodes or ranks a node.")
    return "\n".join([paragraph("Columns are nodes x ranks a node. Median times, and how many "
                                "times as fast as native.", "soft"), *parts])


def shape_order(name):
    """Return what sorts shapes by their numbers."""
    return [int(number) for number in re.findall(r"\d+", name)]


def shape_cell(row):
    """Return a row's time and speed-up."""
    if row is None or row.seconds is None:
        return None
    speedup = "" if row["speedup"] is None else f" ({units.number_text(row['speedup'])})"
    return units.time_text(row.seconds) + speedup


def runs(collection):
    """Return hosts, versions and command lines."""
    parts = [bench_run(run) for run in collection.runs]
    parts += [codec_bench_run(path, document) for path, document in collection.codec_bench]
    body = "\n".join(parts) or paragraph("None.")
    return body if len(parts) <= MOST_OPEN_RUNS else details(f"All {len(parts)} runs", body)


def bench_run(run):
    """Return what is known of one run of cohom-bench."""
    facts = run.facts
    environment = " ".join(f"{key}={value}" for key, value in facts["environment"].items())
    return described(facts["command"], [
        ("host", facts["host"]), ("links", run.rows[0].link_title if run.rows else None),
        ("ranks", facts["ranks"]), ("topology", topology_text(facts["topology"])),
        ("cohom", f"{facts['version']}, {facts['git']}"),
        ("MPI", facts["mpi"]), ("date", facts["date"]), ("environment", environment),
        ("file", run.path)])


def topology_text(topology):
    """Return what the ranks knew of their nodes and switches; None in older files."""
    if not topology:
        return None
    found = [f"{topology[what]} {what}" for what in ("nodes", "switches") if topology.get(what)]
    return ", ".join(found) or None


def codec_bench_run(path, document):
    """Return what is known of one run of codec_bench."""
    context = document["context"]
    return described(context.get("executable"), [
        ("host", context.get("host_name")), ("date", context.get("date")),
        ("instruction set", context.get("isa")), ("file", path)])


def described(command, pairs):
    """Return a command with facts about it."""
    listed = "".join(element("dt", key) + element("dd", value) for key, value in pairs)
    return f"{element('pre', command)}<dl>{listed}</dl>"
