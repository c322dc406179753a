"""Which rows the model can be asked about, and what it says of them."""

import dataclasses

from algorithms import MODELLED
from model import RANKS, codec_cost, native_cost
from rates import CodecBench, Rates, rates_of
from rows import by_series

NATIVES = ["ring", "Rabenseifner"]


@dataclasses.dataclass(frozen=True)
class Case:
    """A codec and algorithm on the largest vector that was measured, with its rates."""

    row: object
    rates: Rates
    alpha: float

    def cost(self, ranks):
        """Return the cost on so many ranks, or None where the codec cannot run on so many."""
        return codec_cost(self.row, self.rates, ranks, self.alpha)


@dataclasses.dataclass(frozen=True)
class Group:
    """Cases of one vector."""

    dtype: str
    elements: int
    size: str
    alpha: float
    add_seconds: float
    add_source: str
    cases: list

    def native(self, algorithm, ranks):
        """Return the cost of the native allreduce of the same vector."""
        return native_cost(algorithm, self.elements, self.dtype, ranks, self.alpha,
                           self.add_seconds)


@dataclasses.dataclass(frozen=True)
class Predictions:
    """All that the model is about, and what it leaves out."""

    groups: list
    left_out: dict  # series: reason


def predictions_of(collection, alpha):
    """Return what can be modelled of all that was collected."""
    bench = CodecBench(collection.codec_bench)
    groups, left_out = {}, {}
    for rows in by_series(collection.rows).values():
        by_dtype = {}
        for row in rows:
            by_dtype.setdefault(row["dtype"], []).append(row)
        for same in by_dtype.values():
            row = best_row(same, bench)
            reason = why_not(row, bench)
            if reason:
                left_out[f"{row.series}, {row['dtype']}"] = reason
            else:
                groups.setdefault((row["dtype"], row["bytes"]), []).append(
                    Case(row, rates_of(row, bench), alpha))
    found = [group_of(cases, alpha, bench) for cases in groups.values()]
    return Predictions(sorted(found, key=lambda group: (group.dtype, group.elements)), left_out)


def best_row(rows, bench):
    """Return the row with the largest vector that the model can take, else any."""
    able = [row for row in rows if not why_not(row, bench)]
    return max(able or rows, key=lambda row: row["bytes"])


def why_not(row, bench):
    """Return why the model says nothing about a row, or None."""
    if row.ranks < 2:
        return "one rank sends nothing"
    if row["bypass"]:
        return "the vector is so small that it was sent raw"
    if row.sent_to_network:
        return "the network sums, at a speed that only a measurement tells"
    if row.summed_by_mpi:
        return "MPI sums, by an algorithm that is not known"
    if row["algorithm"] not in MODELLED:
        return f"the model has no costs of {row['algorithm']}"
    if not row["wire_bytes_formula"] or not any(ranks in row.formulas for ranks in RANKS):
        return "its bytes on other numbers of ranks follow from no formula: they depend on the data"
    if row.agreement_rounds is None:
        return "its file does not say how many rounds agree: measure it with this version"
    if rates_of(row, bench) is None:
        return "its speed is not known: run cohom-bench --profile"
    return None


def group_of(cases, alpha, bench):
    """Return the cases of one vector with the speed of native additions."""
    row = cases[0].row
    raw = [case for case in cases if case.row["codec"] == "raw" and case.rates.merge > 0]
    name = f"merge/add_float/{row['dtype']}"
    speed = bench.speed(name, row["bytes"])
    if speed:
        seconds, source = row["bytes"] / row["elements"] / speed, f"codec_bench, {name}"
    elif raw:
        seconds, source = raw[0].rates.merge, f"{raw[0].row.series}, {raw[0].rates.source}"
    else:
        seconds, source = 0.0, "not measured, so taken as free, in native's favour"
    return Group(row["dtype"], row["elements"], row.size, alpha, seconds, source, cases)
