"""Reads and writes what users write: names, counts, rates, sizes, durations, commands and such."""

import argparse
import re
import shlex
import shutil

RATE_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
SIZE_UNITS = {"": 1, "k": 2**10, "m": 2**20}
DURATION_UNITS = {"us": 1, "ms": 10**3, "s": 10**6}


def _scaled(text, units):
    """Return number times unit as a whole number, or nothing when the text is no such thing."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", text)
    if not match or match[2] not in units:
        return None
    value = float(match[1]) * units[match[2]]
    return int(value) if value == int(value) else None


def _written(value, units):
    """Return the value in the largest unit that leaves a whole number."""
    for unit, scale in sorted(units.items(), key=lambda item: -item[1]):
        if value % scale == 0:
            return f"{value // scale}{unit}"
    raise AssertionError(f"{value} is no whole number")


def parse_name(text):
    """Return a name without a dash: so none is the beginning of another lab's nodes."""
    if not re.fullmatch(r"[a-z][a-z0-9]{0,11}", text):
        raise argparse.ArgumentTypeError(
            f"'{text}' should be a letter and up to 11 letters and digits, all small")
    return text


def count_from(least, most):
    """Return the parser of a number from `least` to `most`."""
    def parse(text):
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(
                f"'{text}' should be a number from {least} to {most}")
        return int(text)
    return parse


def parse_rate(text):
    """Return bits a second; None for "none", which leaves a link as fast as the machine."""
    if text == "none":
        return None
    rate = _scaled(text, RATE_UNITS)
    if not rate or rate < 8:
        raise argparse.ArgumentTypeError(
            f"'{text}' should be a rate like 1gbit, 200mbit, 500kbit, or none")
    return rate


def format_rate(rate):
    """Return what parse_rate reads."""
    return "none" if rate is None else _written(rate, RATE_UNITS)


def parse_size(text):
    """Return bytes; k and m are powers of 1024."""
    size = _scaled(text, SIZE_UNITS)
    if not size:
        raise argparse.ArgumentTypeError(f"'{text}' should be a number of bytes like 65536 or 64k")
    return size


def format_size(size):
    """Return what parse_size reads."""
    return _written(size, SIZE_UNITS)


def parse_duration(text):
    """Return microseconds."""
    duration = _scaled(text, DURATION_UNITS)
    if not duration:
        raise argparse.ArgumentTypeError(f"'{text}' should be a time like 20ms or 500us")
    return duration


def format_duration(duration):
    """Return what parse_duration reads."""
    return _written(duration, DURATION_UNITS)


def parse_probability(text):
    """Return a number from 0 up to, but not, 1; "0.1%" is 0.001."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    probability = float(match[1]) / (100 if match[2] else 1) if match else 1
    if probability >= 1:
        raise argparse.ArgumentTypeError(
            f"'{text}' should be a probability below 1 like 0.001 or 0.1%")
    return probability


def format_probability(probability):
    """Return it in percent."""
    return f"{probability * 100:.6g}%"


def parse_words(text):
    """Return the words of a command line, as a shell has them; the first is a program."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"'{text}' should be words as a shell has them: {error}") from error
    if not words or shutil.which(words[0]) is None:
        raise argparse.ArgumentTypeError(f"'{text}' should begin with a program that can be run")
    return words
