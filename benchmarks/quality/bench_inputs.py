"""The input vectors of cohom-bench, made again in numpy.

Files are read as they are; rank r takes row r mod rows. Synthetic inputs are the
same functions of (seed, rank, position) as in benchmarks/inputs.cpp, but for the
last bits of logarithms and sines. The random numbers are SplitMix64's (Steele,
Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014)
started at a hashed key.
"""

import pathlib
import zipfile

import numpy as np

GOLDEN = np.uint64(0x9e3779b97f4a7c15)
SHARED = np.uint64(2**64 - 1)  # the rank of draws that all ranks share
VALUES, SIGNS, SCALES, _COINS, PHASES = (np.uint64(i) for i in range(5))
BLOCK = 256
WAVES = [(9001, 1.0), (3307, 0.5), (1201, 0.25), (503, 0.1)]  # elements, amplitude


def mix(x):
    """Return SplitMix64's finaliser of uint64 numbers."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return x ^ (x >> np.uint64(31))


class CounterRandom:
    """Random numbers as a pure function of (seed, rank, stream, counter)."""

    def __init__(self, seed, rank, stream):
        with np.errstate(over="ignore"):
            self._key = mix(mix(mix(np.uint64(seed) + GOLDEN) + np.uint64(rank)) + stream)

    def bits(self, count):
        """Return the numbers of the counters 0 ... count - 1."""
        with np.errstate(over="ignore"):
            return mix(self._key + np.arange(count, dtype=np.uint64) * GOLDEN)

    def uniform(self, count):
        """Return numbers in (0, 1]."""
        return ((self.bits(count) >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53

    def normal(self, count):
        """Return N(0, 1) numbers by the method of Box and Muller (1958)."""
        pairs = self.uniform(2 * -(-count // 2)).reshape(-1, 2)
        radius, angle = np.sqrt(-2 * np.log(pairs[:, 0])), 2 * np.pi * pairs[:, 1]
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).ravel()[:count]


def gauss(seed, rank, count):
    """Return independent N(0, 1) values."""
    return CounterRandom(seed, rank, VALUES).normal(count)


def lognormal(seed, rank, count):
    """Return exp(N(0, 1)) values with random signs."""
    negative = CounterRandom(seed, rank, SIGNS).bits(count) >> np.uint64(63) != 0
    return np.where(negative, -1, 1) * np.exp(gauss(seed, rank, count))


def mixture(seed, rank, count):
    """Return Gaussian values whose scale differs by block and not by rank."""
    scales = np.exp(2 * CounterRandom(seed, SHARED, SCALES).normal(-(-count // BLOCK)))
    return gauss(seed, rank, count) * np.repeat(scales, BLOCK)[:count]


def smooth(seed, rank, count):
    """Return a sum of four sine waves."""
    phases = CounterRandom(seed, rank, PHASES).uniform(len(WAVES))
    place = np.arange(count)
    return sum(amplitude * np.sin(2 * np.pi * (place % length / length + phase))
               for (length, amplitude), phase in zip(WAVES, phases))


SYNTHETIC = {"gauss": gauss, "lognormal": lognormal, "mixture": mixture, "smooth": smooth}


def read_rows(path):
    """Return the float32 array [rows, d] of a .npy or .npz file.

    Raises ValueError where there is none.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.lib.npyio.NpzFile):
            if len(loaded.files) != 1:
                raise ValueError(f"holds {len(loaded.files)} arrays, not one")
            loaded = loaded[loaded.files[0]]
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: {error}") from error
    if loaded.ndim != 2 or loaded.size == 0:
        raise ValueError(f"{path}: should be [ranks, d], is {list(loaded.shape)}")
    return np.ascontiguousarray(loaded, dtype=np.float32)


def make_rows(name, ranks, elements, seed):
    """Return what the ranks reduce, float32 [ranks, d].

    `elements` is for synthetic inputs; a file's rows are taken whole.
    """
    if name in SYNTHETIC:
        return np.stack([SYNTHETIC[name](seed, rank, elements).astype(np.float32)
                         for rank in range(ranks)])
    rows = read_rows(pathlib.Path(name))
    return rows[np.arange(ranks) % len(rows)]
