"""What the programs' JSON must have for a report. What is wrong is a ValueError that names it."""

import re

from rates import SIZES

FACTS = {"host": str, "git": str, "version": str, "mpi": str, "ranks": int, "date": str,
         "command": str, "environment": dict}
NUMBER = (int, float)
NUMBER_OR_NULL = (int, float, type(None))
ROW = {"bytes": int, "elements": int, "codec": str, "algorithm": str, "bypass": bool,
       "dtype": str, "op": str, "input": str, "in_place": bool, "nonblocking": bool, "steps": int,
       "time_s": (dict, type(None)), "native_time_s": (dict, type(None)),
       "speedup": NUMBER_OR_NULL, "wire_bytes_per_rank": NUMBER_OR_NULL,
       "wire_bytes_all_ranks": NUMBER_OR_NULL, "wire_bytes_formula": NUMBER_OR_NULL,
       "vnmse": NUMBER_OR_NULL, "max_abs_error": NUMBER_OR_NULL,
       "identical_across_ranks": bool, "result_hash": str}
AMOUNTS = ["bytes", "elements", "speedup", "wire_bytes_per_rank", "wire_bytes_all_ranks",
           "wire_bytes_formula", "vnmse", "max_abs_error"]
MAX_ROUNDS = 15  # a codec has no more
PHASES = ["agree", "encode", "merge", "decode", "wire", "wait", "other"]
KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false",
         dict: "an object", list: "a list", type(None): "null"}
LINK = {"from": str, "to": str, "bytes": int, "packets": int, "drops": int, "lost": int}


def expect(condition, message):
    """Raise ValueError unless the condition holds."""
    if not condition:
        raise ValueError(message)


def check_keys(value, keys, where):
    """Check that a JSON object has values of these types."""
    expect(isinstance(value, dict), f"{where} is no JSON object")
    for key, kind in keys.items():
        expect(key in value, f"{where} has no {key}")
        # JSON's true is no number, though Python's is.
        right = isinstance(value[key], kind) and (kind is bool or not isinstance(value[key], bool))
        expect(right, f"{where}: {key} is {value[key]!r}, which should be {kind_text(kind)}")


def kind_text(kind):
    """Return in words what isinstance() takes."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(text for one, text in KINDS.items()
                       if one in kinds and not (one is int and float in kinds))


def check_present(value, keys, where):
    """Check the types of those keys that a JSON object has."""
    check_keys(value, {key: kind for key, kind in keys.items() if key in value}, where)


def check_failed(document):
    """Check what a job wrote about a command that failed."""
    failed = document["failed"]
    check_keys(failed, {"message": str}, "failed")
    check_present(failed, {"exit_status": (int, type(None))}, "failed")
    check_present(document, {"host": str, "date": str, "command": (str, list)}, "the document")


def check_bench(document):
    """Check a report of cohom-bench."""
    check_keys(document, {**FACTS, "results": list}, "the document")
    if "topology" in document:
        check_keys(document, {"topology": dict}, "the document")
        check_keys(document["topology"], dict.fromkeys(("nodes", "switches"), (int, type(None))),
                   "topology")
    expect(document["ranks"] > 0, f"ranks is {document['ranks']}, which should be positive")
    for number, row in enumerate(document["results"], 1):
        check_row(row, f"row {number}")


def check_row(row, where):
    """Check one row of cohom-bench."""
    check_keys(row, ROW, where)
    expect(row["dtype"] in SIZES, f"{where}: dtype is {row['dtype']!r}, not one of "
                                  f"{', '.join(SIZES)}")
    for key in AMOUNTS:
        expect((row[key] or 0) >= 0,
               f"{where}: {key} is {row[key]}, which should not be negative")
    expect((row["bytes"] > 0) == (row["elements"] > 0),
           f"{where}: {row['elements']} elements have {row['bytes']} bytes")
    # Figures, and so files, are named after it.
    expect(re.fullmatch(r"\w+", row["algorithm"]),
           f"{where}: algorithm is {row['algorithm']!r}, which should be letters, digits and _")
    if row["time_s"] is not None:
        times = dict.fromkeys(("min", "median", "p99"), NUMBER)
        check_keys(row["time_s"], times, f"{where}: time_s")
        check_keys(row["native_time_s"], {**times, "algorithm": str}, f"{where}: native_time_s")
        check_keys(row, {"speedup": NUMBER}, where)
        for key in ("time_s", "native_time_s"):
            expect(row[key]["median"] > 0,
                   f"{where}: {key}: median is {row[key]['median']}, which should be positive")
    if "profile_s" in row:
        check_keys(row["profile_s"], dict.fromkeys([*PHASES, "processor"], NUMBER),
                   f"{where}: profile_s")
    check_present(row, {"counters": dict, "agreement_rounds": int}, where)
    rounds = row.get("agreement_rounds", 0)
    expect(0 <= rounds <= MAX_ROUNDS,
           f"{where}: agreement_rounds is {rounds}, which should be 0 to {MAX_ROUNDS}")
    by_ranks = row.get("wire_bytes_formula_by_ranks", {})
    expect(isinstance(by_ranks, dict) and all(
        key.isdigit() and isinstance(value, int) and value >= 0 for key, value in by_ranks.items()),
        f"{where}: wire_bytes_formula_by_ranks is {by_ranks!r}, which should give a whole number "
        "for each number of ranks")


def check_netlab(document):
    """Check what netlab wrote about a run."""
    check_keys(document, {"lab": dict, "mpi": str, "ranks": int, "command": list,
                          "exit_status": int, "seconds": NUMBER, "load_average": NUMBER,
                          "links": list, "drops": int, "lost": int}, "the document")
    expect(document["command"], "the command is empty")
    lab = document["lab"]
    check_keys(lab, {"name": str, "hosts": int, "two_level": bool, "loss": NUMBER,
                      "shape": dict}, "lab")
    check_keys(lab["shape"], dict.fromkeys(("rate", "spine_rate"), (int, type(None))), "lab: shape")
    for number, link in enumerate(document["links"], 1):
        check_keys(link, LINK, f"link {number}")


def check_advice(document):
    """Check what cohom-advise wrote."""
    check_keys(document, {"run_seconds": NUMBER, "calls": int, "seconds": NUMBER, "sites": list,
                          "rules": dict}, "the document")
    expect(document["run_seconds"] > 0,
           f"run_seconds is {document['run_seconds']}, which should be positive")
    rules = dict.fromkeys(("lossless", "lossy"), (dict, type(None)))
    check_keys(document["rules"], rules, "rules")
    for kind in rules:
        if document["rules"][kind] is not None:
            check_keys(document["rules"][kind], {"rule": str, "saved_seconds": NUMBER}, kind)
    for number, site in enumerate(document["sites"], 1):
        where = f"site {number}"
        check_keys(site, {"site": str, "type": str, "bytes": int, "ranks": int, "calls": int,
                          "seconds": NUMBER, "samples": int, "native_seconds": NUMBER,
                          "trials": list}, where)
        for trial in site["trials"]:
            check_keys(trial, {"codec": str, "seconds": NUMBER_OR_NULL, "error": NUMBER_OR_NULL,
                               "refusal": (str, type(None))}, f"{where}: a trial")
            expect(trial["refusal"] is not None or (trial["seconds"] or 0) > 0,
                   f"{where}: {trial['codec']} has neither a time nor a refusal")


def check_codec_bench(document):
    """Check a report of Google Benchmark."""
    check_keys(document, {"benchmarks": list, "context": dict}, "the document")
    for number, entry in enumerate(document["benchmarks"], 1):
        check_keys(entry, {"name": str}, f"benchmark {number}")
        if not entry.get("error_occurred"):
            check_keys(entry, {"bytes_per_second": NUMBER}, f"benchmark {entry['name']}")
