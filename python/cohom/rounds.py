"""Rounds: a codec without a transport (docs/rounds.md)."""

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

from ._native import Error, RawStep, check, library
from .buffers import TYPES, Buffer

KINDS = ("all_reduce", "all_to_all", "all_gather")
OPERATIONS = ("add", "or", "max")
NUMBERS = ("uint8", "uint16", "uint32", "uint64", "int32", "int64")
SIZES = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "int32": 4, "int64": 8}
MEAN, ALL_TO_ALL, NO_BIT_OR, NO_SMALL_MAX, NO_UNSIGNED = 1, 2, 4, 8, 16
CHECK_ONCE = 32
COLLECTIVES = {"allreduce": 0, "reduce_scatter": 64, "allgather": 128}


def _bytes(pointer: Any, count: int) -> memoryview:
    """Return `count` bytes there as a memoryview of bytes that can be written."""
    if count == 0:
        return memoryview(bytearray())
    address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
    return memoryview((ctypes.c_char * count).from_address(address)).cast("B")


class Step:
    """What all ranks do next. Its memory holds until the next step.

    kind: "all_reduce", "all_to_all" or "all_gather"; name: of the round, for logs.
    Of all_reduce: `words` (bytes) are `numbers` of `dtype`, which become their `operation` ("add",
    "or", "max") over ranks, in place.
    Of the others: `send` and `receive` (bytes), cut into `send_counts` and `receive_counts` words
    of 8 bytes, by rank; `send_counts` of all_gather has one.
    """

    kind: str
    name: str
    operation: str
    dtype: str
    numbers: int
    words: memoryview
    send: memoryview
    receive: memoryview
    send_counts: Sequence[int]
    receive_counts: Sequence[int]

    def __init__(self, raw: RawStep, ranks: int) -> None:
        self.kind = KINDS[raw.kind]
        self.name = raw.name.decode()
        if self.kind == "all_reduce":
            self.operation, self.dtype = OPERATIONS[raw.operation], NUMBERS[raw.type]
            self.numbers = raw.numbers
            self.words = _bytes(raw.words, raw.numbers * SIZES[self.dtype])
            return
        self.send_counts = raw.send_counts[:1 if self.kind == "all_gather" else ranks]
        self.receive_counts = raw.receive_counts[:ranks]
        self.send = _bytes(raw.send, 8 * sum(self.send_counts))
        self.receive = _bytes(raw.receive, 8 * sum(self.receive_counts))


class Rounds:
    """The rounds of allreduces of one codec, count and type, on one of `ranks` ranks.

    codec: a spec such as "thc:bits=4". count: elements. dtype: "float32", "float16", "bfloat16" or
    "float64". op: "sum" or "mean". collective: "allreduce"; or "reduce_scatter", whose arrays have
    a part of `count` elements for each rank and whose results are parts of the sum; or "allgather",
    the other way round, which adds nothing. all_to_all: contributions go to owners where that is
    less to send; without it some calls may do so, too. What the reductions at hand lack: bit_or,
    small_max (maximum of unsigned numbers of 8 and 16 bits), unsigned (numbers of 32 and 64 bits).
    check_once: only the first call compares the ranks' arguments; later on a rank has its errors
    alone. Raises Error for what is wrong with codec, rank or ranks.
    """

    def __init__(self, codec: str, count: int, dtype: str, rank: int, ranks: int, *,
                 op: str = "sum", collective: str = "allreduce", all_to_all: bool = False,
                 bit_or: bool = True, small_max: bool = True, unsigned: bool = True,
                 check_once: bool = False) -> None:
        self._rounds: ctypes.c_void_p | None = None
        if not isinstance(codec, str) or "\0" in codec:  # which C would cut
            raise TypeError(f"codec is {codec!r}; it should be a spec such as 'thc'")
        if op not in ("sum", "mean"):
            raise ValueError(f"op is {op!r}; it should be 'sum' or 'mean'")
        if collective not in COLLECTIVES:
            raise ValueError(f"collective is {collective!r}; it should be one of "
                             f"{', '.join(COLLECTIVES)}")
        if dtype not in TYPES:
            raise TypeError(f"dtype is {dtype!r}; it should be one of {', '.join(TYPES)}")
        if count < 0:
            raise ValueError(f"count is {count}; it should not be negative")
        for name, value in (("rank", rank), ("ranks", ranks)):
            if not -2**31 <= value < 2**31:  # which C would cut
                raise ValueError(f"{name} is {value}; it should be at most 32768")
        options = (MEAN * (op == "mean") | ALL_TO_ALL * all_to_all | NO_BIT_OR * (not bit_or)
                   | NO_SMALL_MAX * (not small_max) | NO_UNSIGNED * (not unsigned)
                   | CHECK_ONCE * check_once | COLLECTIVES[collective])
        made = ctypes.c_void_p()
        check(library.cohom_rounds_make(codec.encode(), count, TYPES[dtype], rank, ranks, options,
                                        ctypes.byref(made)))
        self._rounds, self._ranks = made, ranks
        self.count, self.dtype, self.calls = count, dtype, 0
        self.collective = collective
        self._kept: tuple[Buffer, Buffer] | None = None

    def __del__(self) -> None:
        if self._rounds is not None:
            library.cohom_rounds_free(self._rounds)
            self._rounds = None

    def buffers(self, array: Any, out: Any | None = None) -> tuple[Buffer, Buffer]:
        """Return where a call reads and writes; raises what is wrong with that."""
        destination = Buffer(array if out is None else out, "array" if out is None else "out", True)
        source = destination if out is None else Buffer(array, "array")
        if out is None and self.collective != "allreduce":
            raise ValueError(f"out is None; a {self.collective} should have an array for its "
                             "result")
        whole = self.count * self._ranks
        for buffer, what, count in (
                (source, "array", whole if self.collective == "reduce_scatter" else self.count),
                (destination, "out", whole if self.collective == "allgather" else self.count)):
            if (buffer.count, buffer.dtype) != (count, self.dtype):
                raise ValueError(f"{what} has {buffer.count} elements of {buffer.dtype}; it should "
                                 f"have {count} of {self.dtype}")
        return source, destination

    def steps(self, array: Any, out: Any | None = None,
              step: int | None = None) -> Iterator[Step]:
        """Yield the Steps of a call; behind the last one `out` (or `array`) has the result.

        Of collectives with parts `out` is another array. step: the call's number, alike on all
        ranks; by default how many there were before.
        Raises Error, on all ranks alike; where an array is wrong, on its rank what buffers() does.
        """
        wrong: Exception | None = None
        addresses: tuple[Any, Any] = (None, None)
        try:
            self._kept = self.buffers(array, out)  # a call that is given up may be read no more
            addresses = self._kept[0].address, self._kept[1].address
        except Exception as error:  # also of whoever lends the array
            wrong = error  # raised when the others know, by an address that is none
        number = self.calls if step is None else step
        try:
            check(library.cohom_rounds_begin(self._rounds, *addresses, number), self._rounds)
            self.calls = number + 1
            raw = RawStep()
            while check(library.cohom_rounds_next(self._rounds, ctypes.byref(raw)), self._rounds):
                yield Step(raw, self._ranks)
        except Error:
            if wrong is None:
                raise
        if wrong is not None:
            raise wrong
        self._kept = None

    @property
    def state(self) -> bytes:
        """Return what the codec keeps between calls, as bytes, to be saved and set again."""
        return bytes(self._state())

    @state.setter
    def state(self, saved: bytes) -> None:
        state = self._state()
        if len(saved) != len(state):
            raise ValueError(f"state has {len(saved)} bytes; it should have {len(state)}")
        state[:] = saved

    def _state(self) -> memoryview:
        address = ctypes.c_void_p()
        count = library.cohom_rounds_state(self._rounds, ctypes.byref(address))
        return _bytes(address, count)
