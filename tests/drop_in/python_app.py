"""A program over mpi4py that knows nothing of cohom.

usage: python_app.py TOLERANCE, of a sum's norm; rank 0 prints how many allreduces were made.
"""

import sys

import numpy
from mpi4py import MPI

ELEMENTS = 100_003


def main():
    """Sum vectors in several ways; ends with an error where a sum is wrong."""
    tolerance = float(sys.argv[1])
    world = MPI.COMM_WORLD
    calls = 0
    for numbers in ("float32", "float64"):
        vector = (numpy.arange(ELEMENTS) % 100).astype(numbers)
        expected = world.size * vector
        into = numpy.empty_like(vector)
        world.Allreduce(vector, into)
        within = vector.copy()
        world.Allreduce(MPI.IN_PLACE, within, op=MPI.SUM)
        calls += 2
        for found in (into, within):
            error = numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)
            assert error <= tolerance, (numbers, error)
    copy = world.Dup()
    ranks = numpy.array([world.rank], dtype="i")
    copy.Allreduce(MPI.IN_PLACE, ranks, op=MPI.MAX)
    calls += 1
    assert ranks[0] == world.size - 1
    copy.Free()
    if world.rank == 0:
        print(f"calls {calls}")


if __name__ == "__main__":
    main()
