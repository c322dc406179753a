"""What models are trained on: texts and images that Debian's packages have."""

import collections
import functools
import hashlib
import re
import shutil
import subprocess

import numpy as np

VERSES = 31102


class Missing(Exception):
    """Something is not installed; the text says what."""


@functools.lru_cache(maxsize=None)
def read_bible():
    """Return the King James Bible as one string, one verse per line."""
    packages = "install Debian's bible-kjv and bible-kjv-text"
    if shutil.which("bible") is None:
        raise Missing(f"no program bible; {packages}")
    run = subprocess.run(["bible", "-f", "Gen1:1-Rev22:21"], check=False,
                         capture_output=True, stdin=subprocess.DEVNULL)
    lines = run.stdout.decode("ascii", "replace").splitlines()
    verses = [match.group(1) for match in
              (re.match(r"\w+\d+:\d+ (.*)", line) for line in lines) if match]
    if len(verses) != VERSES:
        raise Missing(f"the program bible gave {len(verses)} verses, not {VERSES}; {packages}")
    return "\n".join(verses)


def describe(text):
    """Return one line that says which text it is."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"text: {text.count(chr(10)) + 1} verses, {len(text)} characters, sha256 {digest}"


def characters():
    """Return the text as numbers of characters, and how many characters there are."""
    text = read_bible()
    numbers = {c: i for i, c in enumerate(sorted(set(text)))}
    return np.asarray([numbers[c] for c in text], dtype=np.int64), len(numbers)


def words():
    """Return the text as numbers of words, by falling frequency, and how many words there are."""
    found = re.findall(r"[a-z]+(?:'[a-z]+)?|[.,;:?!]", read_bible().lower())
    order = sorted(collections.Counter(found).items(), key=lambda item: (-item[1], item[0]))
    numbers = {word: i for i, (word, _) in enumerate(order)}
    return np.asarray([numbers[word] for word in found], dtype=np.int64), len(numbers)


def digits():
    """Return images [1797, 1, 8, 8] from 0 to 1, and their classes."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise Missing("no module sklearn; install Debian's python3-sklearn") from None
    data = load_digits()
    return data.images.astype(np.float32)[:, None] / 16.0, data.target.astype(np.int64)
