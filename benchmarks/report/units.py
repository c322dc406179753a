"""Numbers as readers see them, and rates of links as they write them."""

import math
import re

RATE_UNITS = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def parse_rate(text):
    """Return bits a second of a rate like 1gbit or 200mbit; raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?bit)", text)
    rate = float(match[1]) * RATE_UNITS[match[2]] if match else 0
    if rate <= 0:
        raise ValueError(f"'{text}' should be a rate like 1gbit, 200mbit or 500kbit")
    return rate


def rate_text(bits):
    """Return a rate of a link."""
    for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits >= scale:
            return f"{_short(bits / scale)} {unit}"
    return f"{_short(bits)} bit/s"


def size_text(size):
    """Return a number of bytes with a binary unit."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{_short(size / (1 << shift))} {unit}"
    return f"{_short(size)} B"


def time_text(seconds):
    """Return a time with its unit."""
    for unit, scale in (("s", 1), ("ms", 1e-3)):
        if abs(seconds) >= scale:
            return f"{_short(seconds / scale)} {unit}"
    return f"{_short(seconds / 1e-6)} \N{MICRO SIGN}s"


def speed_text(bytes_a_second):
    """Return the speed of a loop over vectors."""
    return "free" if math.isinf(bytes_a_second) else f"{_short(bytes_a_second / 1e9)} GB/s"


def number_text(value):
    """Return three digits of a number, and a dash for none."""
    return "\N{EN DASH}" if value is None else _short(value)


def _short(value):
    """Return three digits, and whole numbers above."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
