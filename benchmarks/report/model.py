"""A model of allreduce: latency, bytes and codec work. It predicts; it measures nothing.

alpha  seconds for a message to begin to arrive
beta   seconds a byte on a link, 1 / rate
gamma  seconds of codec work for an element (rates.py)

The costs of algorithms are those of Thakur, Rabenseifner and Gropp, "Optimization of Collective
Communication Operations in MPICH" (2005): one port a rank, full duplex, no contention.
"""

import dataclasses
import math

from algorithms import MODELLED, doublings
from rates import SIZES, payload_bytes

LINK_RATES = [10e9, 25e9, 100e9, 400e9]
RANKS = [8, 16, 32, 64, 128, 256, 512, 1024]


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a call costs on its longest way."""

    latency: float  # seconds
    wire_bytes: float
    work: float  # seconds

    def seconds(self, link_rate, overlap):
        """Return the time of a call; with overlap, work is done while bytes travel."""
        return self._at(8 / link_rate, overlap)

    def _at(self, byte_seconds, overlap):
        wire = byte_seconds * self.wire_bytes
        return self.latency + (max(wire, self.work) if overlap else wire + self.work)

    def over(self, other, byte_seconds, overlap):
        """Return how much longer this takes than the other."""
        return self._at(byte_seconds, overlap) - other._at(byte_seconds, overlap)


def codec_cost(row, rates, ranks, alpha):
    """Return the cost of a row's call on other numbers of ranks.

    None without a formula for it, or where the file does not say how many rounds agree.
    """
    wire = row["wire_bytes_formula"] if ranks == row.ranks else row.formulas.get(ranks)
    agreements = row.agreement_rounds
    if wire is None or agreements is None:
        return None
    algorithm = MODELLED[row["algorithm"]]
    messages = algorithm.messages(ranks) + agreements * doublings(ranks)
    # Wider sums take longer to merge, as they take more words.
    growth = payload_bytes(wire, ranks, algorithm) / payload_bytes(
        row["wire_bytes_formula"], row.ranks, algorithm)
    merges = algorithm.merges(ranks) * growth
    work = row["elements"] * (rates.agree + rates.encode + merges * rates.merge + rates.decode)
    return Cost(alpha * messages, wire * algorithm.wire_factor, work)


def native_cost(algorithm, elements, dtype, ranks, alpha, add_seconds):
    """Return the cost of an uncompressed allreduce: "ring" or "Rabenseifner"."""
    share = (ranks - 1) / ranks
    messages = 2 * (ranks - 1) if algorithm == "ring" else 2 * doublings(ranks)
    return Cost(alpha * messages, 2 * share * elements * SIZES[dtype],
                share * elements * add_seconds)


def paying_rates(codec, native, overlap):
    """Return the (lowest, highest) link rates in bits a second between which the codec is faster.

    Both times are straight lines in seconds a byte, or two that meet where the wire takes as long
    as the work. So the difference is linear between those places.
    """
    bends = {0.0}
    if overlap:
        bends |= {cost.work / cost.wire_bytes for cost in (codec, native) if cost.wire_bytes}
    bends = sorted(bends)
    places = set(bends)
    for begin, end in zip(bends, [*bends[1:], None]):
        root = zero_between(codec, native, overlap, begin, end)
        if root is not None:
            places.add(root)
    places = sorted(places)
    intervals = []
    for begin, end in zip(places, [*places[1:], math.inf]):
        middle = (begin + end) / 2 if end < math.inf else 2 * begin + 1e-9
        if codec.over(native, middle, overlap) >= 0:
            continue
        if intervals and intervals[-1][1] == begin:
            intervals[-1][1] = end
        else:
            intervals.append([begin, end])
    return [(bits_a_second(end), bits_a_second(begin)) for begin, end in reversed(intervals)]


def zero_between(codec, native, overlap, begin, end):
    """Return where the difference, linear from begin to end (None: without end), is zero."""
    far = end if end is not None else 2 * begin + 1e-9
    at_begin = codec.over(native, begin, overlap)
    slope = (codec.over(native, far, overlap) - at_begin) / (far - begin)
    if slope == 0:
        return None
    root = begin - at_begin / slope
    return root if root > begin and (end is None or root < end) else None


def bits_a_second(byte_seconds):
    """Return the rate of a link that takes so long for a byte."""
    return math.inf if byte_seconds == 0 else 8 / byte_seconds
