"""A DynamiQ-like quantiser, for comparison, as numpy arithmetic.

After Han, Vargaftik, Mitzenmacher, Ben Basat: "DynamiQ: Accelerating Gradient
Synchronization using Compressed Multi-hop All-reduce", arXiv 2602.08923. Made
from a summary of the method; not checked against the authors' text or code:

* Groups of 16 values; super-groups of 256 values.
* A light agreement sums the energy of every super-group over the ranks. From
  the sums, all ranks choose the same width of 2, 4 or 8 bits for every
  super-group, so that scales, agreement and values together meet the budget.
  The choice minimises the expected error; as the error falls with the width
  in proportion to the energy, the loudest super-groups get the most bits.
* A super-group has a scale of 16 bits (bfloat16, rounded up), a group one of 8
  bits relative to that. Hops that re-encode find the scales of their sums anew.
* A value is a sign and a level. Levels are spaced like a logarithm in which
  zero is included: (e^(a k / K) - 1) / (e^a - 1) for k = 0 ... K.
* Rounding between the neighbouring levels is unbiased. The hops of an element
  draw from different strata of [0, 1), so that their errors tend to cancel.

Details the summary does not give are chosen in the method's favour: the owner in
`direct` adds its own values unencoded, and a, the form of the group scales and
RELATIVE_ERROR were tuned on four of the files in benchmarks/data (4 ranks, ring,
mostly 5 bits). The mean error there is within a few percent of the best tried.
"""

import numpy as np

GROUP = 16
SUPER_GROUP = 256
WIDTHS = (2, 4, 8)
SCALE_BITS = 16 / SUPER_GROUP + 8 / GROUP  # a value
AGREEMENT_BITS = 16 / SUPER_GROUP  # a value: one bfloat16 a super-group, summed as it travels
CURVATURE = {2: 0.0, 4: 0.75, 8: 1.0}  # a, by width; 2 bits have the levels 0 and 1 alone
# Squared error of rounding over energy, by width.
RELATIVE_ERROR = {2: 1.0, 4: 1.5e-2, 8: 4e-5}


def bfloat16_up(values):
    """Return positive float32 values rounded up to bfloat16."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + np.uint32(0xffff)) & np.uint32(0xffff0000)).view(np.float32)


def levels(width, curvature=None):
    """Return the magnitudes 0 ... 1 that a width can tell apart beside the sign."""
    last = 2 ** (width - 1) - 1
    a = CURVATURE[width] if curvature is None else curvature
    steps = np.arange(last + 1) / last
    return (np.expm1(a * steps) / np.expm1(a) if a > 0 else steps).astype(np.float32)


def choose_widths(energies, budget):
    """Return the width of every super-group, given their energies summed over ranks.

    Starts with 2 bits everywhere and spends what the budget leaves where a bit
    takes most error away: first 2 to 4 and then 4 to 8 for the same super-group.
    """
    left = (budget - SCALE_BITS - AGREEMENT_BITS - WIDTHS[0]) * len(energies)
    gains, costs = [], []
    for less, more in zip(WIDTHS, WIDTHS[1:]):
        gains.append(energies * (RELATIVE_ERROR[less] - RELATIVE_ERROR[more]) / (more - less))
        costs.append(np.full(len(energies), more - less))
    gains, costs = np.concatenate(gains), np.concatenate(costs)
    order = np.argsort(-gains, kind="stable")
    bought = order[np.cumsum(costs[order]) <= left]
    widths = np.full(len(energies), WIDTHS[0])
    np.add.at(widths, bought % len(energies), costs[bought])
    return widths


def super_groups(values):
    """Return values [d] padded with zeros as [super-groups, 256]."""
    padded = np.zeros(-(-len(values) // SUPER_GROUP) * SUPER_GROUP, dtype=np.float32)
    padded[:len(values)] = values
    return padded.reshape(-1, SUPER_GROUP)


class DynamiqLike:
    """A quantiser for `requantising`: what a hop sends, decoded again.

    rows: float32 [ranks, d], for the agreement; budget: bits a value, all in.
    """

    def __init__(self, rows, budget, seed=1, curvature=None):
        curvature = curvature or {}
        energies = sum(np.square(super_groups(row), dtype=np.float64).sum(axis=1) for row in rows)
        self.widths = choose_widths(energies, budget)
        self.levels = {width: levels(width, curvature.get(width)) for width in WIDTHS}
        ranks, elements = rows.shape
        self.bits = SCALE_BITS + AGREEMENT_BITS + float(
            np.repeat(self.widths, SUPER_GROUP)[:elements].mean())
        random = np.random.default_rng(seed)
        shape = (len(self.widths), SUPER_GROUP)
        # Hop h of an element draws from stratum (start + stride h) mod ranks, stride a unit.
        units = [u for u in range(1, ranks + 1) if np.gcd(u, ranks) == 1]
        self._stride = random.choice(units, size=shape).astype(np.float32)
        self._uniform = (ranks * random.random(shape, dtype=np.float32)).astype(np.float32)
        self._ranks = ranks

    def _draws(self, chosen, hop):
        """Return numbers in [0, 1), one an element, that are stratified over the hops."""
        place = self._uniform[chosen] + self._stride[chosen] * hop
        return np.mod(place, self._ranks) / np.float32(self._ranks)

    def requantise(self, values, first, hop):
        """Return float32 values [d] after encoding and decoding."""
        blocks = super_groups(values)
        decoded = np.empty_like(blocks)
        begin = first // SUPER_GROUP
        widths = self.widths[begin:begin + len(blocks)]
        for width in WIDTHS:
            chosen = np.flatnonzero(widths == width)
            if len(chosen):
                draws = self._draws(chosen + begin, hop)
                decoded[chosen] = round_to_levels(blocks[chosen], self.levels[width], draws)
        return decoded.reshape(-1)[:len(values)]


def group_scales(blocks):
    """Return the decoded scale of each value of blocks [n, 256], at least its group's maximum."""
    largest = np.abs(blocks).reshape(len(blocks), -1, GROUP).max(axis=2)
    outer = bfloat16_up(largest.max(axis=1, keepdims=True))
    relative = np.divide(largest, outer, out=np.zeros_like(largest), where=outer > 0)
    inner = np.ceil(relative * np.float32(255)) / np.float32(255) * outer
    return np.repeat(inner, GROUP, axis=1)


def round_to_levels(blocks, table, draws):
    """Return blocks [n, 256] rounded at random, without bias, to the levels of a table."""
    scales = group_scales(blocks)
    magnitudes = np.divide(np.abs(blocks), scales, out=np.zeros_like(blocks), where=scales > 0)
    np.minimum(magnitudes, 1, out=magnitudes)
    below = np.clip(np.searchsorted(table, magnitudes, side="right") - 1, 0, len(table) - 2)
    gaps = np.diff(table)
    up = (magnitudes - table[below]) > draws * gaps[below]
    return np.copysign(table[below + up] * scales, blocks)
