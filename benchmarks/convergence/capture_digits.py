#!/usr/bin/python3
"""Write the 8x8 digits of scikit-learn as bytes: 64 pixels (0 to 16) and the class, 1797 times.

Needs Debian's python3-sklearn. Run:
benchmarks/convergence/capture_digits.py benchmarks/data/digits_images.u8
"""

import pathlib
import sys

import numpy as np
from sklearn.datasets import load_digits

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import output_file  # noqa: E402


def main():
    """Write the file that the first argument names."""
    if len(sys.argv) != 2:
        sys.exit("usage: capture_digits.py FILE")
    digits = load_digits()
    rows = np.column_stack([digits.data, digits.target]).astype(np.uint8)
    try:
        output_file.write(sys.argv[1], rows.tobytes())
    except OSError as error:
        sys.exit(f"capture_digits.py: {error.filename}: cannot be written: {error.strerror}")
    print(f"{len(rows)} images, {rows.size} bytes")


if __name__ == "__main__":
    main()
