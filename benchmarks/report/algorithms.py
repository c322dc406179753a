"""What the model knows of algorithms: a row each. The report has no other list of them."""

import dataclasses
import math
from collections.abc import Callable

ALPHA = "\N{GREEK SMALL LETTER ALPHA}"


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """Counts for a number of ranks. A payload is one of the whole vector."""

    messages: Callable  # that follow one another, where a rank's port sends one at a time
    payloads_sent: Callable  # by the busiest rank
    merges: Callable  # of an element, one after another
    mean_merges: Callable  # of an element by a rank, over all ranks
    latency: str  # the same as text: messages,
    wire: str  # bytes on the longest way,
    work: str  # and work
    wire_factor: int = 1  # payloads on the longest way for one that the busiest rank sends
    narrow: bool = False  # contributions travel in their narrow form


def doublings(ranks):
    """Return how often one rank doubles until there are so many."""
    return math.ceil(math.log2(ranks))


def mean_merges_of_doubling(ranks):
    """Return mean merges where the ranks above a power of two hand theirs to another one."""
    members = 1 << (ranks.bit_length() - 1)
    return (members * math.log2(members) + ranks - members) / ranks


def both_ways(ranks):
    """Return how many messages go to every other rank and back."""
    return 2 * (ranks - 1)


def others(ranks):
    """Return the share of the vector that other ranks own."""
    return (ranks - 1) / ranks


MODELLED = {
    "ring": Algorithm(
        messages=both_ways, payloads_sent=lambda ranks: 2 * others(ranks), merges=others,
        mean_merges=others, latency=f"2(n-1) {ALPHA}", wire="formula's (2A of the sum's bytes)",
        work="agree + encode + A merge + decode"),
    "direct": Algorithm(
        messages=both_ways, payloads_sent=lambda ranks: 2 * others(ranks),
        merges=lambda ranks: 1, mean_merges=lambda ranks: 1, latency=f"2(n-1) {ALPHA}",
        wire="formula's (A contributions, A sums)", work="agree + encode + merge + decode",
        narrow=True),
    # The busiest rank sends as many payloads down as it has got before; the formula counts what is
    # sent.
    "tree": Algorithm(
        messages=lambda ranks: 2 * doublings(ranks), payloads_sent=doublings, merges=doublings,
        mean_merges=others, latency=f"2 L {ALPHA}",
        wire="twice the formula's: L payloads up, L down",
        work="agree + encode + L merge + decode", wire_factor=2),
    "recursive_doubling": Algorithm(
        messages=doublings, payloads_sent=doublings, merges=doublings,
        mean_merges=mean_merges_of_doubling, latency=f"L {ALPHA}",
        wire="formula's (L payloads)", work="agree + encode + L merge + decode"),
}
