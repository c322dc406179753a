#!/usr/bin/python3
"""Compare the error of cohom's lossy codecs with that of formats that re-encode.

Runs cohom-bench --check-only on every input and takes the error and the bytes
that the transport counted; evaluates models of MXFP8 and of a DynamiQ-like
quantiser on the same vectors; prints a table, and writes what is asked for.

  error  vNMSE: squared error of the sum over the exact sum's squared norm, the
         exact sum being float64's
  bits   all in, a value: bytes that all ranks sent, agreement included, times
         8 / (2 (n - 1) d). An uncompressed ring of float32 has 32.

Run it where numpy and matplotlib are (Debian's /usr/bin/python3), after
scripts/build. It takes some minutes. The tables in the Markdown file replace
what stands between its lines "<!-- NAME: begin -->" and "<!-- NAME: end -->".
"""

import argparse
import pathlib
import sys

import numpy as np

import bench_inputs
import bench_run
import dynamiq
import mxfp8
import quality_report
import requantising

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = "cohom-quality/1"
BUDGETS = [4, 5, 6, 8]
CODECS = [f"packed:bits={bits}" for bits in BUDGETS] + ["thc", "thc:levels=full"]
ALGORITHMS = ["direct", "ring"]
FILES = ["transformer_step20.npy", "transformer_step500.npy", "lstm_dense_step20.npy",
         "lstm_dense_step300.npy", "lstm_step20.npz", "lstm_step300.npz", "digits_step20.npy",
         "digits_step100.npy"]


def all_in_bits(sent_bytes, ranks, elements):
    """Return bits a value from the bytes that all ranks sent."""
    return sent_bytes * 8 / (2 * (ranks - 1) * elements)


def vnmse(found, rows):
    """Return the squared error over the squared norm of the exact sum of rows [ranks, d]."""
    exact = rows.sum(axis=0, dtype=np.float64)
    return float(np.square(found - exact).sum() / np.square(exact).sum())


def run_bench(options, name, ranks, elements):
    """Return cohom-bench's report of all codecs on one input."""
    arguments = ["--input", name, "--size", 4 * elements, "--seed", options.seed,
                 "--algorithm", ",".join(ALGORITHMS)]
    for codec in CODECS:
        arguments += ["--codec", codec]
    return bench_run.run(options.bench, ranks, arguments)


def bench_results(report, name, ranks, elements):
    """Yield a result for every row of cohom-bench's report."""
    for row in report["results"]:
        if row["extended"] or row["bypass"] or row["elements"] != elements:
            raise RuntimeError(f"{name}: {row['codec']} did not reduce the vector as it is")
        if not row["identical_across_ranks"]:
            raise RuntimeError(f"{name}: {row['codec']}, {row['algorithm']}: ranks have different "
                               "results")
        yield {"input": name, "ranks": ranks, "elements": elements, "codec": row["codec"],
               "algorithm": row["algorithm"], "vnmse": row["vnmse"],
               "bits": all_in_bits(row["wire_bytes_all_ranks"], ranks, elements)}


def model_results(rows, name, equal_to):
    """Yield a result for every reference model on rows [ranks, d].

    equal_to: codec and all-in bits of those results that the DynamiQ-like
    quantiser shall also meet in bits.
    """
    common = {"input": name, "ranks": len(rows), "elements": rows.shape[1]}
    yield {**common, "codec": "mxfp8", "algorithm": "ring", "bits": mxfp8.BITS,
           "vnmse": vnmse(requantising.ring(rows, mxfp8.Mxfp8()), rows)}
    budgets = [(f"bits={bits}", bits) for bits in BUDGETS]
    budgets += [(f"as={codec}", bits) for codec, bits in equal_to]
    for text, budget in budgets:
        quantiser = dynamiq.DynamiqLike(rows, budget)
        for schedule, add_up in requantising.SCHEDULES.items():
            yield {**common, "codec": f"dynamiq-like:{text}", "algorithm": schedule,
                   "bits": quantiser.bits, "vnmse": vnmse(add_up(rows, quantiser), rows)}


def measure(options):
    """Return the results of all inputs and numbers of ranks."""
    results, facts = [], {}
    for name in options.inputs:
        for ranks in options.ranks:
            rows = bench_inputs.make_rows(name, ranks, options.elements, options.seed)
            elements = rows.shape[1]
            report = run_bench(options, name, ranks, elements)
            facts = {key: report[key] for key in ("git", "version", "mpi", "date")}
            ours = list(bench_results(report, name, ranks, elements))
            equal_to = [(row["codec"], row["bits"]) for row in ours
                        if row["codec"].startswith("packed") and row["algorithm"] == "direct"]
            results += ours + list(model_results(rows, name, equal_to))
            print(f"{name}, {ranks} ranks, d = {elements}", file=sys.stderr, flush=True)
    for row in results:
        row["input"] = pathlib.Path(row["input"]).name
    return {"schema": SCHEMA, **facts, "seed": options.seed, "results": results}


def parse_arguments():
    """Return the checked command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = [f"benchmarks/data/{name}" for name in FILES]
    parser.add_argument("--ranks", nargs="+", type=int, default=[4, 8], metavar="N",
                        help="default 4 8")
    parser.add_argument("--inputs", nargs="+", metavar="INPUT",
                        default=data + list(bench_inputs.SYNTHETIC),
                        help="files of gradients, relative to the repository, and any of "
                             f"{', '.join(bench_inputs.SYNTHETIC)}; default all there are")
    parser.add_argument("--elements", type=int, default=1 << 18,
                        help="of synthetic inputs; default 262144. Files are taken whole")
    parser.add_argument("--seed", type=int, default=1, help="of synthetic inputs; default 1")
    bench_run.add_source(parser)
    parser.add_argument("--markdown", type=pathlib.Path,
                        help="replace the tables in this file, e.g. docs/quality.md")
    parser.add_argument("--figure", type=pathlib.Path,
                        help="draw error over bits of the first --ranks, e.g. docs/quality.png")
    options = parser.parse_args()
    if min(options.ranks) < 2:
        parser.error(f"--ranks {min(options.ranks)} should be at least 2")
    if options.elements < 8192 or options.seed < 0:  # 16 KiB and less are sent uncompressed
        parser.error("--elements should be at least 8192, --seed at least 0")
    options.inputs = [name if name in bench_inputs.SYNTHETIC else str((ROOT / name).resolve())
                      for name in options.inputs]
    return options


def main():
    """Measure or read, print, write."""
    bench_run.present("quality", parse_arguments(), measure, SCHEMA, quality_report.tables,
                      quality_report.draw)


if __name__ == "__main__":
    main()
