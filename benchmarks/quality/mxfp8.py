"""MXFP8, a floating-point format with shared scales, as numpy arithmetic.

Format: Open Compute Project, "OCP Microscaling Formats (MX) Specification",
version 1.0, 2023: blocks of 32 values share one power of two (E8M0, 8 bits);
a value is FP8 E4M3: sign, 4 bits of exponent, 3 of mantissa, at most 448.

The specification lets the block's maximum saturate: its scale is 2^(floor(log2
max) - 8), with which up to 512 is divided down to 448. Where that would happen
we double the scale instead, which loses nothing but the smallest subnormals and
halves the error of sums.
"""

import numpy as np

BLOCK = 32
BITS = 8 + 8 / BLOCK  # a value, its share of the scale included
LARGEST = 448.0
LEAST_EXPONENT = -6  # of a normal number; below, values are multiples of 2^-9
MANTISSA_BITS = 3
LARGEST_EXPONENT = 8


def round_to_e4m3(values):
    """Return values, at most 448 in magnitude, rounded to nearest even E4M3."""
    exponent = np.frexp(values)[1] - 1
    unit = np.maximum(exponent, LEAST_EXPONENT) - MANTISSA_BITS
    return np.ldexp(np.rint(np.ldexp(values, -unit)), unit)


class Mxfp8:
    """A quantiser for `requantising`: what a hop sends, decoded again."""

    def requantise(self, values, _first, _hop):
        """Return float32 values [d] after encoding and decoding."""
        padded = np.zeros(-(-len(values) // BLOCK) * BLOCK, dtype=np.float64)
        padded[:len(values)] = values
        blocks = padded.reshape(-1, BLOCK)
        largest = np.abs(blocks).max(axis=1, keepdims=True)
        exponent = np.frexp(largest)[1] - 1 - LARGEST_EXPONENT
        exponent += round_to_e4m3(np.ldexp(largest, -exponent)) > LARGEST
        exponent = np.clip(exponent, -127, 127)
        decoded = np.ldexp(round_to_e4m3(np.ldexp(blocks, -exponent)), exponent)
        return decoded.reshape(-1)[:len(values)].astype(np.float32)
