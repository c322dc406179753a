#!/usr/bin/python3
"""Print the tables of docs/scale.md: a row a number of ranks, microseconds beside native's.

    benchmarks/scale/tables.py docs/results/scale/{fat,fat8,eth10}.json
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import input_json  # noqa: E402

COLUMNS = ["network", "ranks", "bytes", "codec", "asked_algorithm", "alone"]


def cell(row, times):
    """Return time and ratio; a ratio below 0.995 is in bold: cohom loses."""
    if row is None or times not in row:
        return "-"
    found = row[times]
    ratio = f"{found['ratio']:.2f}"
    return f"{found['time_us']:.0f} ({ratio if found['ratio'] >= 0.995 else '**' + ratio + '**'})"


def table(rows, times):
    """Return lines of one network and size: a column a codec and algorithm."""
    columns = list(dict.fromkeys((row["codec"], row["asked_algorithm"]) for row in rows))
    only_auto = all(algorithm == "auto" for _, algorithm in columns)
    names = [f"`{codec}`" if only_auto else f"`{codec}` by `{algorithm}`"
             for codec, algorithm in columns]
    lines = ["| " + " | ".join(["ranks", "native", *names]) + " |",
             "|---" * (2 + len(names)) + "|"]
    for ranks in sorted({row["ranks"] for row in rows}):
        found = {(row["codec"], row["asked_algorithm"]): row for row in rows
                 if row["ranks"] == ranks}
        native = next(iter(found.values()))[times]["native_us"]
        cells = [cell(found.get(column), times) for column in columns]
        lines.append("| " + " | ".join([str(ranks), f"{native:.0f}", *cells]) + " |")
    return lines


def main():
    """Print a table a network and size, and a second one with codecs' times."""
    for path in sys.argv[1:]:
        report = input_json.read(path, dict, ["schema", "results"], COLUMNS)
        rows = report["results"]
        for network in dict.fromkeys(row["network"] for row in rows):
            for size in sorted({row["bytes"] for row in rows}):
                chosen = [row for row in rows
                          if row["network"] == network and row["bytes"] == size]
                for times in ("alone", "with_codec"):
                    if chosen and all(times in row for row in chosen):
                        print(f"\n{network}, {size >> 20} MiB, {times}\n")
                        print("\n".join(table(chosen, times)))


if __name__ == "__main__":
    main()
