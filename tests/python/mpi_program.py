"""What each rank of test_mpi.py does; rank 0 prints how many sums were right."""

import array
import sys

import numpy
from mpi4py import MPI

import cohom


class Broken:
    """An array whose memory nobody can have."""

    @property
    def __array_interface__(self):
        raise BufferError("it is lent")


def main():
    """Sum by many codecs and check."""
    comm = MPI.COMM_WORLD
    rank, ranks = comm.Get_rank(), comm.Get_size()
    right = 0
    for codec, most in (("raw", 1e-12), ("exact", 0), ("thc", 0.05), ("packed:bits=5", 0.05),
                        ("sparse", 1e-12), ("signcount", 1)):
        for all_to_all in (None, False, True):
            inputs = [numpy.random.default_rng(each).standard_normal(10_001).astype("float32")
                      for each in range(ranks)]
            wanted = numpy.sum(numpy.array(inputs, "float64"), axis=0).astype("float32")
            result = numpy.empty_like(wanted)
            assert cohom.allreduce(inputs[rank], codec=codec, out=result,
                                   all_to_all=all_to_all) is result
            error = float(numpy.sum((result.astype("float64") - wanted) ** 2))
            assert error <= most * ranks * len(wanted), (codec, error)
            assert len(set(comm.allgather(result.tobytes()))) == 1, codec
            right += 1
    part, whole = 3001, 3001 * ranks
    for codec, most in (("raw", 1e-12), ("thc", 0.05), ("packed:bits=5", 0.05)):
        inputs = [numpy.random.default_rng(each).standard_normal(whole) for each in range(ranks)]
        own, all_of_it = numpy.empty(part), numpy.empty(whole)
        assert cohom.reduce_scatter(inputs[rank], own, codec=codec) is own
        wanted = numpy.sum(inputs, axis=0)[rank * part:][:part]
        assert numpy.sum((own - wanted) ** 2) <= most * ranks * part, codec
        assert cohom.allgather(own, all_of_it, codec=codec) is all_of_it
        parts = numpy.concatenate(comm.allgather(own))
        assert numpy.sum((all_of_it - parts) ** 2) <= most * ranks * whole, codec
        assert len(set(comm.allgather(all_of_it.tobytes()))) == 1, codec
        right += 1
    own = array.array("d", [rank, 1])
    cohom.allreduce(own, codec="exact", op="mean")
    assert own.tolist() == [(ranks - 1) / 2, 1]
    for _ in range(3):  # communicators that come and go
        copy = comm.Dup()
        cohom.allreduce(own, copy, codec="raw")
        copy.Free()

    for call, text in (
            (lambda: cohom.allreduce(numpy.ones(10 + rank, "float32")), "disagree about count"),
            (lambda: cohom.allreduce(numpy.ones(10, "float32"), codec="raw" if rank else "exact"),
             "disagree about codec"),
            (lambda: cohom.allgather(numpy.ones(10), numpy.ones(10 * ranks + rank)),
             f"out has {10 * ranks + rank} elements" if rank else "another rank's arguments"),
            (lambda: cohom.reduce_scatter(numpy.ones(10 * ranks), numpy.ones(10 + rank)),
             f"out has {10 + rank} elements of float64; it should have 10" if rank
             else "another rank's arguments"),
            (lambda: cohom.reduce_scatter(numpy.ones(10 * ranks + 1), numpy.ones(10)),
             f"array has {10 * ranks + 1} elements; it should have as many for each of {ranks}"),
            (lambda: cohom.allreduce(numpy.ones(10, "float32"), codec="thx" if rank else "thc"),
             "did you mean thc" if rank else "another rank's arguments are wrong")):
        if ranks == 1:
            break
        try:
            call()
            raise AssertionError("taken")
        except (ValueError, cohom.Error) as error:
            assert text in str(error), error
    try:  # on one rank alone
        cohom.allreduce(Broken() if rank == 0 else numpy.ones(10, "float32"), codec="raw")
        raise AssertionError("taken")
    except (BufferError, cohom.Error) as error:
        assert "it is lent" in str(error) if rank == 0 else "another rank's" in str(error), error
    try:
        cohom.allreduce(numpy.ones(10_000, "float32"), codec="thc:error_feedback=on")
        raise AssertionError("taken")
    except ValueError as error:
        assert "name the vector by buffer=" in str(error)
    for _ in range(2):
        cohom.allreduce(numpy.ones(10_000, "float32"), codec="thc:error_feedback=on", buffer="a")
    if rank == 0:
        print(f"{right} right")


if __name__ == "__main__":
    sys.exit(main())
