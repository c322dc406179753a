"""How fast codecs work: the gamma of the model, from codec_bench or from cohom-bench --profile."""

import dataclasses

from algorithms import MODELLED

SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


@dataclasses.dataclass(frozen=True)
class Rates:
    """Seconds for one element of the vector; `merge` for one merge of it."""

    agree: float
    encode: float
    merge: float
    decode: float
    source: str


@dataclasses.dataclass(frozen=True)
class Merging:
    """A workload of codec_bench that merges."""

    name: str
    merges: int = 1  # of each element that bytes_per_second counts
    in_words: bool = False  # bytes_per_second counts bytes of payload, not of vectors
    dtype: str = "f32"  # of the vector whose bytes are counted; None: the name has it


@dataclasses.dataclass(frozen=True)
class Workloads:
    """The workloads of codec_bench that a rank's work consists of; None: no work."""

    agree: str | None
    encode: str | None
    merge: Merging
    decode: str | None


ADD = Merging("merge/add", in_words=True)
NARROW, WIDE = "narrow", "wide"  # the form in which contributions travel
THC = ("thc/measure/{dtype}", "thc/decode/{dtype}")
PACKED = ("packed/measure/{dtype}", "packed/encode_dither/{dtype}", "packed/decode/{dtype}")
RAW = Workloads(None, None, Merging("merge/add_float/{dtype}", dtype=None), None)
# Of the specs that codec_bench runs; others are known by their profile alone.
WORKLOADS = {
    ("raw", NARROW): RAW,
    ("raw", WIDE): RAW,
    ("thc", NARROW): Workloads(THC[0], "thc/encode/{dtype}", Merging("thc/widen_4", 4), THC[1]),
    ("thc", WIDE): Workloads(THC[0], "thc/encode_wide/{dtype}", ADD, THC[1]),
    ("packed", NARROW): Workloads(*PACKED[:2], Merging("packed/merge_8"), PACKED[2]),
    ("packed", WIDE): Workloads(*PACKED[:2], Merging("packed/merge_2"), PACKED[2]),
    ("signcount", NARROW): Workloads("sign/measure/{dtype}", "sign/pack/{dtype}",
                                     Merging("sign/count_8", 8), "sign/expand_counts/{dtype}"),
}


class CodecBench:
    """Speeds of one core, by the names of workloads."""

    def __init__(self, documents):
        """Take (path, checked document) pairs; of a repeated workload the fastest counts."""
        self._speeds = {}  # name: {bytes: bytes a second}
        for _path, document in documents:
            for entry in document["benchmarks"]:
                if entry.get("run_type") == "aggregate" or "bytes_per_second" not in entry:
                    continue
                name, _, size = entry["name"].rpartition("/")
                if size.removesuffix("K").isdigit() and size.endswith("K"):
                    sizes = self._speeds.setdefault(name, {})
                    size = int(size[:-1]) << 10
                    sizes[size] = max(sizes.get(size, 0), entry["bytes_per_second"])

    def speed(self, name, size):
        """Return bytes a second on the largest vector up to a size, else on the smallest."""
        sizes = self._speeds.get(name)
        if not sizes:
            return None
        below = [known for known in sizes if known <= size]
        return sizes[max(below) if below else min(sizes)]

    def rates(self, row):
        """Return the rates of a row's codec, or None where codec_bench does not measure it."""
        algorithm = MODELLED.get(row["algorithm"])
        form = NARROW if algorithm and algorithm.narrow else WIDE
        work = WORKLOADS.get((row["codec"], form))
        if work is None:
            return None
        parts = [self._element_seconds(name, row) for name in
                 (work.agree, work.encode, work.decode)]
        merge = self._merge_seconds(work.merge, row)
        if merge is None or None in parts:
            return None
        return Rates(parts[0], parts[1], merge, parts[2], "codec_bench")

    def _element_seconds(self, name, row):
        if name is None:
            return 0.0
        speed = self.speed(name.format(dtype=row["dtype"]), row["bytes"])
        return SIZES[row["dtype"]] / speed if speed else None

    def _merge_seconds(self, merging, row):
        speed = self.speed(merging.name.format(dtype=row["dtype"]), row["bytes"])
        if not speed:
            return None
        if merging.in_words:
            return payload_bytes(row["wire_bytes_formula"], row.ranks,
                                 MODELLED[row["algorithm"]]) / (row["elements"] * speed)
        return SIZES[merging.dtype or row["dtype"]] / speed / merging.merges


def payload_bytes(wire_bytes, ranks, algorithm):
    """Return bytes of one payload of the whole vector: what a rank sends, over how often."""
    return wire_bytes / algorithm.payloads_sent(ranks)


def profile_rates(row):
    """Return the rates that a row's profile shows, or None without one.

    Phases are times on the wall. Where ranks share cores they contain other ranks' work, so they
    are scaled by the share of the rank's own: processor time over all phases but waiting.
    """
    phases = row.profile
    if phases is None or not row["elements"]:
        return None
    at_work = sum(phases[name] for name in ("agree", "encode", "merge", "decode", "wire", "other"))
    share = min(1.0, phases["processor"] / at_work) if at_work > 0 else 1.0
    scale = share / row["elements"]
    return Rates(phases["agree"] * scale, phases["encode"] * scale,
                 phases["merge"] * scale / MODELLED[row["algorithm"]].mean_merges(row.ranks),
                 phases["decode"] * scale, f"profile, {row.ranks} ranks, {100 * share:.0f}% of it "
                 "on a core")


def rates_of(row, bench):
    """Return the best known rates of a row's codec, or None."""
    return bench.rates(row) or profile_rates(row)
