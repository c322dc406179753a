"""Allreduce that decodes, adds and encodes again, for any lossy quantiser.

These are the schedules that formats need whose encoded values cannot be added.
The quantiser's requantise(values, first, hop) takes a run of float32 values
that starts at element `first` of the vector, and returns what the receiver
decodes. `hop` numbers the encodings that an element goes through, from 0 to
ranks - 1 (the last one is the finished sum's), or the contributing rank.
"""

import numpy as np

ALIGNMENT = 256  # elements; chunks are whole super-groups and whole blocks


def chunk_bounds(elements, ranks):
    """Return ranks + 1 places that cut the vector into chunks, one a rank."""
    blocks = -(-elements // ALIGNMENT)
    return [min(elements, ALIGNMENT * (c * blocks // ranks)) for c in range(ranks + 1)]


def chunks(rows):
    """Yield (number, first element, the chunk of every rank's row)."""
    bounds = chunk_bounds(rows.shape[1], len(rows))
    for number, (first, end) in enumerate(zip(bounds, bounds[1:])):
        if end > first:
            yield number, first, rows[:, first:end]


def ring(rows, quantiser):
    """Return the sum of float32 rows [ranks, d] by a ring, as every rank has it.

    Chunk c starts at rank c. Each of the ranks - 1 hops of the reduce-scatter
    decodes what arrives, adds the rank's own values in float32 and encodes the
    sum. The finished sum travels encoded, and its owner decodes it as well.
    """
    ranks = len(rows)
    total = np.empty(rows.shape[1], dtype=np.float32)
    for number, first, parts in chunks(rows):
        partial = parts[number]
        for hop in range(ranks - 1):
            arrived = quantiser.requantise(partial, first, hop)
            partial = arrived + parts[(number + hop + 1) % ranks]
        total[first:first + len(partial)] = quantiser.requantise(partial, first, ranks - 1)
    return total


def direct(rows, quantiser):
    """Return the sum of float32 rows [ranks, d] through the chunks' owners.

    Every rank sends its contribution to the owner of the chunk, encoded once;
    the owner adds its own values unencoded, and sends the sum encoded.
    """
    ranks = len(rows)
    total = np.empty(rows.shape[1], dtype=np.float32)
    for owner, first, parts in chunks(rows):
        partial = parts[owner].copy()
        for step in range(1, ranks):
            sender = (owner + step) % ranks
            partial += quantiser.requantise(parts[sender], first, step - 1)
        total[first:first + len(partial)] = quantiser.requantise(partial, first, ranks - 1)
    return total


SCHEDULES = {"ring": ring, "direct": direct}
