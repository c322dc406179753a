"""Sums over the ranks of an mpi4py communicator, by its own collectives."""

from .buffers import pair_of
from .rounds import Rounds


class Collectives:
    """Makes the steps of Rounds on a communicator of mpi4py, whichever MPI that has."""

    def __init__(self, comm):
        from mpi4py import MPI
        self._mpi = MPI
        self._comm = comm
        self._types = {"uint8": MPI.UINT8_T, "uint16": MPI.UINT16_T, "uint32": MPI.UINT32_T,
                       "uint64": MPI.UINT64_T}
        self._operations = {"add": MPI.SUM, "or": MPI.BOR, "max": MPI.MAX}

    def make(self, step):
        """Make one step."""
        words = self._mpi.UINT64_T
        if step.kind == "all_reduce":
            self._comm.Allreduce(self._mpi.IN_PLACE, [step.words, step.numbers,
                                                      self._types[step.dtype]],
                                 self._operations[step.operation])
        elif step.kind == "all_to_all":
            self._comm.Alltoallv([step.send, step.send_counts, _begins(step.send_counts), words],
                                 [step.receive, step.receive_counts, _begins(step.receive_counts),
                                  words])
        else:
            self._comm.Allgatherv([step.send, step.send_counts[0], words],
                                  [step.receive, step.receive_counts, _begins(step.receive_counts),
                                   words])


def _begins(counts):
    """Return where parts begin that lie one behind the other."""
    begins, end = [], 0
    for count in counts:
        begins.append(end)
        end += count
    return begins


_key = None


def _kept(comm):
    """Return what is kept on a communicator: it goes with it."""
    global _key
    from mpi4py import MPI
    if _key is None:
        _key = MPI.Comm.Create_keyval(nopython=False)
    kept = comm.Get_attr(_key)
    if kept is None:
        own = comm.Dup()  # nobody else's messages
        kept = {"collectives": Collectives(own), "own": own}
        comm.Set_attr(_key, kept)
    return kept


def allreduce(array, comm=None, codec="thc", *, op="sum", out=None, buffer=None, all_to_all=None):
    """Sum `array` over the ranks of a communicator, compressed; returns where the result is.

    array: float32, float16, bfloat16 or float64 elements, contiguous in the host's memory: a NumPy
    array, a tensor, anything with DLPack or the buffer protocol. The result takes its place, or
    that of `out`, which is alike. comm: of mpi4py, by default COMM_WORLD; the first call on one
    duplicates it. codec: a spec, such as "packed:bits=5" (docs/codecs.md). op: "sum" or "mean".
    buffer: a name for what codecs with error feedback keep of this vector between calls.
    all_to_all: contributions go to owners; by default where there are 3 ranks or more.
    Collective. Raises Error, on all ranks alike for what differs between them.

    >>> import numpy, cohom
    >>> cohom.allreduce(numpy.ones(3, "float32"), codec="raw")
    array([1., 1., 1.], dtype=float32)
    """
    from mpi4py import MPI
    comm = MPI.COMM_WORLD if comm is None else comm
    source, _ = pair_of(array, out)
    kept = _kept(comm)
    ranks = comm.Get_size()
    all_to_all = ranks > 2 if all_to_all is None else all_to_all
    key = (codec, source.count, source.dtype, op, buffer, all_to_all)
    if key not in kept:
        rounds = Rounds(codec, source.count, source.dtype, comm.Get_rank(), ranks, op=op,
                        all_to_all=all_to_all)
        if rounds.state and buffer is None:
            raise ValueError(f"codec {codec} keeps state between calls; name the vector by buffer=")
        kept[key] = rounds
    for step in kept[key].steps(array, out):
        kept["collectives"].make(step)
    return array if out is None else out
