"""Tables and the figure of what was trained."""

import json
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

SCHEMA = "cohom-training/1"
BASIS = "f32"  # what speed-ups compare with, and whose loss is to be reached
NOTHING = "-"
ROUNDING = 1e-4  # nats, by which losses differ when the same numbers are added in another order


def read(folder):
    """Return all rows of a folder. Raises ValueError for what is none."""
    rows = []
    for path in sorted(folder.glob("*.json")):
        try:
            row = json.loads(path.read_text())
            if row["schema"] != SCHEMA:
                raise ValueError(f"its schema is {row['schema']}")
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: not a row of training: {error}") from None
        rows.append(row)
    if not rows:
        raise ValueError(f"{folder}: no rows there; `training run` makes them")
    return rows


def groups(rows):
    """Return lists of rows by model, size, links and mini-batch; each by way, in their order."""
    found = {}
    for row in rows:
        key = tuple(row[name] for name in ("model", "size", "ranks", "rate", "steps", "examples"))
        found.setdefault(key, {}).setdefault(row["way"], []).append(row)
    return found


def median_of(rows, value):
    """Return the median over seeds, or none where a row has none."""
    values = [value(row) for row in rows]
    return None if None in values else statistics.median(values)


def loss_to_reach(ways):
    """Return the held-out loss that the slowest learner of uncompressed seeds ended with."""
    return max((row["curve"][-1]["held_out"] + ROUNDING for row in ways.get(BASIS, [])),
               default=None)


def until(row, loss, what):
    """Return the seconds or bytes at which a row first has that held-out loss, between points.

    None if it never has.
    """
    before = {"seconds": 0.0, "sent": 0.0, "held_out": None}
    for now in row["curve"]:
        if now["held_out"] <= loss:
            if before["held_out"] is None:
                return now[what]
            share = (before["held_out"] - loss) / (before["held_out"] - now["held_out"])
            return before[what] + share * (now[what] - before[what])
        before = now
    return None


def cell(value, form):
    """Return a number as text."""
    return NOTHING if value is None else format(value, form)


def ratio(above, below):
    """Return a quotient where both are known."""
    return None if above is None or not below else above / below


def spread(rows):
    """Return final held-out losses as median and range over seeds."""
    finals = sorted(row["curve"][-1]["held_out"] for row in rows)
    text = f"{statistics.median(finals):.3f}"
    return text if len(finals) == 1 else f"{text} ({finals[0]:.3f} to {finals[-1]:.3f})"


def table(key, ways):
    """Return one group as Markdown."""
    model, size, ranks, rate, steps, examples = key
    any_row = next(iter(ways.values()))[0]
    alone = median_of(ways.get("none", []), lambda row: row["step_seconds"]) \
        if "none" in ways else None
    basis = ways.get(BASIS)
    basis_step = median_of(basis, lambda row: row["step_seconds"]) if basis else None
    basis_communication = median_of(basis, lambda row: row["communication_seconds"]) \
        if basis else None
    goal = loss_to_reach(ways)
    basis_goal = median_of(basis, lambda row: until(row, goal, "seconds")) if basis else None
    share = ratio(basis_step - alone, basis_step) if alone and basis_step else None
    lines = [
        f"**{model} {size}**: {any_row['parameters'] / 1e6:.1f} million parameters, {ranks} ranks, "
        f"links of {rate}, {examples} examples a rank and step, {steps} steps, "
        f"{max(map(len, ways.values()))} seeds, torch {any_row['torch']}. "
        + (f"Communication is {share:.0%} of a step of `{BASIS}`. " if share is not None else "")
        + (f"Loss to reach: {goal:.3f}." if goal is not None else ""),
        "",
        "| way | ms a step | examples/s | x | ms to sum all gradients, alone | x "
        "| MB a rank and step | s to the loss | x | final held-out loss | same weights |",
        "|---|" + "---:|" * 8 + "---|---|"]
    for way, rows in ways.items():
        step = median_of(rows, lambda row: row["step_seconds"])
        communication = median_of(rows, lambda row: row["communication_seconds"])
        seconds = median_of(rows, lambda row: until(row, goal, "seconds")) \
            if goal is not None else None
        sent = median_of(rows, lambda row: row["sent"] / row["ranks"] / row["steps"])
        lines.append("| " + " | ".join([
            f"`{way}`", cell(step * 1e3, ".0f"), cell(examples * ranks / step, ".0f"),
            cell(ratio(basis_step, step), ".2f"),
            cell(communication and communication * 1e3, ".0f"),
            cell(ratio(basis_communication, communication), ".2f"), cell(sent / 1e6, ".1f"),
            cell(seconds, ".1f"), cell(ratio(basis_goal, seconds), ".2f"),
            NOTHING if way == "none" else spread(rows),
            "no" if not all(row["same_weights"] for row in rows) else "yes"]) + " |")
    return "\n".join(lines)


def tables(rows):
    """Return all groups as Markdown."""
    return [table(key, ways) for key, ways in groups(rows).items()]


def draw(rows, path):
    """Draw held-out loss over time and over bytes, a group a line of pictures."""
    import figure_file
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = groups(rows)
    figure, axes = pyplot.subplots(len(found), 2, figsize=(11, 4 * len(found)), squeeze=False)
    for (key, ways), (over_time, over_bytes) in zip(found.items(), axes):
        for way, of_way in ways.items():
            if way == "none":
                continue
            points = [row["curve"] for row in of_way]
            loss = [statistics.median(p["held_out"] for p in at) for at in zip(*points)]
            for axis, name, unit in ((over_time, "seconds", 1), (over_bytes, "sent", 1e9)):
                axis.plot([statistics.median(p[name] for p in at) / unit for at in zip(*points)],
                          loss, marker=".", label=way)
        over_time.set(title="{} {}, {} ranks, {}".format(*key), xlabel="seconds of training",
                      ylabel="held-out loss, nats")
        over_bytes.set(xlabel="GB on the links", xscale="log")
        over_time.legend(fontsize="small")
    figure.tight_layout()
    figure_file.save(figure, path)
