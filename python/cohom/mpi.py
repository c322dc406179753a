"""Sums over the ranks of an mpi4py communicator, by its own collectives."""

import collections
from collections.abc import Callable, Sequence
from typing import Any

from ._native import Error
from .buffers import Buffer, pair_of
from .rounds import Rounds, Step


class Collectives:
    """Makes the steps of Rounds on a communicator of mpi4py, whichever MPI that has.

    `sent`: bytes given to it so far.
    """

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI
        self._mpi = MPI
        self._comm = comm
        self._types = {"uint8": MPI.UINT8_T, "uint16": MPI.UINT16_T, "uint32": MPI.UINT32_T,
                       "uint64": MPI.UINT64_T}
        self._operations = {"add": MPI.SUM, "or": MPI.BOR, "max": MPI.MAX}
        self.sent = 0

    def close(self) -> None:
        """Free the communicator. Collective."""
        comm, self._comm = self._comm, self._mpi.COMM_NULL
        if comm != self._mpi.COMM_NULL:
            comm.Free()

    def make(self, step: Step) -> None:
        """Make one step."""
        self._call(step, "")

    def add(self, tensor: Any) -> None:
        """Make a tensor of the host's its sum over ranks, uncompressed. Collective."""
        self._comm.Allreduce(in_place(), tensor.numpy())

    def start(self, step: Step) -> Callable[[], None]:
        """Start one step; returns what waits for its end. All ranks start in the same order."""
        request = self._call(step, "I")

        def end() -> None:
            request.Wait()

        return end

    def _call(self, step: Step, prefix: str) -> Any:
        """Call mpi4py; returns what its function of the prefix (I: nonblocking) does."""
        def function(name: str) -> Any:
            return getattr(self._comm, prefix + (name.lower() if prefix else name))

        words = self._mpi.UINT64_T
        if step.kind == "all_reduce":
            self.sent += len(step.words)
            return function("Allreduce")(
                self._mpi.IN_PLACE, [step.words, step.numbers, self._types[step.dtype]],
                self._operations[step.operation])
        self.sent += len(step.send)
        receive = [step.receive, step.receive_counts, _begins(step.receive_counts), words]
        if step.kind == "all_to_all":
            return function("Alltoallv")(
                [step.send, step.send_counts, _begins(step.send_counts), words], receive)
        return function("Allgatherv")([step.send, step.send_counts[0], words], receive)


def takes_threads() -> bool:
    """Return whether any thread may call MPI at any time."""
    from mpi4py import MPI
    return bool(MPI.Query_thread() == MPI.THREAD_MULTIPLE)


def in_place() -> Any:
    """Return what stands for a buffer that is the result's as well."""
    from mpi4py import MPI
    return MPI.IN_PLACE


def _begins(counts: Sequence[int]) -> list[int]:
    """Return where parts begin that lie one behind the other."""
    begins, end = [], 0
    for count in counts:
        begins.append(end)
        end += count
    return begins


_MOST_KEPT = 64  # of rounds without state, on a communicator
_key: int | None = None


class _Kept:
    """What is kept on a communicator: one that is cohom's own, and rounds by kind of call."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm.Dup()  # nobody else's messages
        self.collectives = Collectives(self.comm)
        self.calls = 0  # alike on all ranks, whatever became of them
        self._rounds: collections.OrderedDict[tuple[Any, ...], Rounds] = collections.OrderedDict()

    def rounds(self, collective: str, count: int, dtype: str, codec: str, op: str,
               buffer: str | None, all_to_all: bool | None) -> Rounds:
        """Return the rounds of a kind of call. All ranks drop the same ones."""
        ranks = self.comm.Get_size()
        if all_to_all is None:
            all_to_all = ranks > (1 if collective == "reduce_scatter" else 2)
        key = (collective, codec, count, dtype, op, buffer, all_to_all)
        if key not in self._rounds:
            rounds = Rounds(codec, count, dtype, self.comm.Get_rank(), ranks, op=op,
                            collective=collective, all_to_all=all_to_all)
            if rounds.state and buffer is None:
                raise ValueError(f"codec {codec} keeps state between calls; name the vector by "
                                 "buffer=")
            self._rounds[key] = rounds
            stateless = [each for each, kept in self._rounds.items() if not kept.state]
            if len(stateless) > _MOST_KEPT:
                del self._rounds[stateless[0]]
        self._rounds.move_to_end(key)
        return self._rounds[key]


def _forget(comm: Any, _keyval: int, kept: _Kept) -> None:
    """Free what goes with a communicator; COMM_WORLD goes when MPI does."""
    from mpi4py import MPI
    if comm != MPI.COMM_WORLD and not MPI.Is_finalized():
        kept.comm.Free()


def _kept(comm: Any) -> _Kept:
    """Return what is kept on a communicator."""
    global _key
    from mpi4py import MPI
    if _key is None:
        _key = MPI.Comm.Create_keyval(delete_fn=_forget)
    kept: _Kept | None = comm.Get_attr(_key)
    if kept is None:
        kept = _Kept(comm)
        comm.Set_attr(_key, kept)
    return kept


def _make(collective: str, comm: Any | None, array: Any, out: Any | None, codec: str, op: str,
          buffer: str | None = None, all_to_all: bool | None = None) -> Any:
    """Make a call; returns where the result is."""
    from mpi4py import MPI
    kept = _kept(MPI.COMM_WORLD if comm is None else comm)
    kept.calls += 1
    wrong = None
    try:
        source = pair_of(array, out)[0] if collective == "allreduce" else Buffer(array, "array")
        count, parts = source.count, kept.comm.Get_size()
        if collective == "reduce_scatter":
            if count % parts != 0:
                raise ValueError(f"array has {count} elements; it should have as many for each of "
                                 f"{parts} ranks")
            count //= parts
        rounds = kept.rounds(collective, count, source.dtype, codec, op, buffer, all_to_all)
        rounds.buffers(array, out)
    except Exception as error:  # whatever a buffer of somebody's raises
        wrong = error
    # Others would wait for a rank that does not come.
    if kept.comm.allreduce(wrong is not None, MPI.LOR):
        raise wrong or Error("invalid argument", "another rank's arguments are wrong; it says how")
    for step in rounds.steps(array, out, kept.calls):
        kept.collectives.make(step)
    return array if out is None else out


def allreduce(array: Any, comm: Any | None = None, codec: str = "thc", *, op: str = "sum",
              out: Any | None = None, buffer: str | None = None,
              all_to_all: bool | None = None) -> Any:
    """Sum `array` over the ranks of a communicator, compressed; returns where the result is.

    array: float32, float16, bfloat16 or float64 elements, contiguous in the host's memory: a NumPy
    array, a tensor, anything with DLPack or the buffer protocol. The result takes its place, or
    that of `out`, which is alike. comm: of mpi4py, by default COMM_WORLD; the first call on one
    duplicates it. codec: a spec, such as "packed:bits=5" (docs/codecs.md). op: "sum" or "mean".
    buffer: a name for what codecs with error feedback keep of this vector between calls.
    all_to_all: contributions go to owners; by default where there are 3 ranks or more.
    Collective. What is wrong on one rank, or differs between ranks, is an exception on all.

    >>> import numpy, cohom
    >>> cohom.allreduce(numpy.ones(3, "float32"), codec="raw")
    array([1., 1., 1.], dtype=float32)
    """
    return _make("allreduce", comm, array, out, codec, op, buffer, all_to_all)


def reduce_scatter(array: Any, out: Any, comm: Any | None = None, codec: str = "thc", *,
                   op: str = "sum", buffer: str | None = None,
                   all_to_all: bool | None = None) -> Any:
    """Sum `array` over ranks; rank r's part r of the sum goes into `out`, which is returned.

    array: as of allreduce(), with as many parts as there are ranks, part 0 first; it is not
    written. out: of a part's elements. The rest as of allreduce(). Collective.
    """
    return _make("reduce_scatter", comm, array, out, codec, op, buffer, all_to_all)


def allgather(array: Any, out: Any, comm: Any | None = None, codec: str = "thc") -> Any:
    """Put the parts of all ranks into `out`, part 0 first; returns it.

    array: this rank's part, as of allreduce(). It is compressed once, and all ranks get the same
    bits, which allreduce() of one rank alone would give; a part with many outliers travels as it
    is. out: of as many parts as there are ranks.
    Codecs with error feedback are errors. Collective.
    """
    return _make("allgather", comm, array, out, codec, "sum")
