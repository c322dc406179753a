"""What the measurements come to: the fastest row of each class of errors, and where native wins."""

from markup import element, paragraph, table
from rows import by_setting
import units

# Error of the sum beside its norm, squared, below which a row is in the class.
CLASSES = [(1e-12, "rounding alone"), (1e-4, "up to 1%"), (0.0225, "up to 15%"),
           (float("inf"), "above 15%")]


def summary_section(rows):
    """Return a table for each setting."""
    timed = [row for row in rows if row["speedup"] is not None and row["vnmse"] is not None]
    if not timed:
        return paragraph("No row has a time beside native's.")
    parts = [paragraph("The fastest row of each class of errors (of the sum, beside its norm), and "
                       "how many times as fast as the best native allreduce it is. Where no row is "
                       "faster the cell begins with native.", "soft")]
    for title, group in by_setting(timed).items():
        parts += [element("h3", title), class_table(group), paragraph(native_text(group))]
    return "\n".join(parts)


def error_class(row):
    """Return the name of the row's class; an error that is no number is in the last."""
    return next((name for bound, name in CLASSES if row["vnmse"] < bound), CLASSES[-1][1])


def class_table(rows):
    """Return the fastest row by class and size."""
    sizes = sorted({row["bytes"] for row in rows})
    lines = []
    for _, name in CLASSES:
        members = [row for row in rows if error_class(row) == name]
        if members:
            lines.append([name, *(cell([row for row in members if row["bytes"] == size])
                                  for size in sizes)])
    return table(["error", *(units.size_text(size) for size in sizes)], lines)


def fastest(rows):
    """Return the row with the largest speed-up."""
    return max(rows, key=lambda row: row["speedup"])


def cell(rows):
    """Return the fastest of the rows in words."""
    if not rows:
        return None
    best = fastest(rows)
    words = f"{best.series}, {units.number_text(best['speedup'])} x"
    return words if best["speedup"] >= 1 else f"native ({words})"


def native_text(rows):
    """Return where native is the fastest of all, and how many rows it beats."""
    sizes = sorted({row["bytes"] for row in rows})
    wins = [units.size_text(size) for size in sizes
            if fastest([row for row in rows if row["bytes"] == size])["speedup"] < 1]
    slower = sum(row["speedup"] < 1 for row in rows)
    where = f"Native is the fastest at {', '.join(wins)}." if wins else (
        "At each size some row is faster than native.")
    return f"{where} Native is faster than {slower} of {len(rows)} row{'s' * (len(rows) > 1)}."
