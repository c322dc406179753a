"""Gradients of a PyTorch model, summed while they stay compressed.

    model = DistributedDataParallel(model)
    hook = cohom.torch.compress(model, "thc")

Sums go over a process group of their own, by gloo, so that a model needs nothing but what it has;
or over MPI.
"""

import atexit
import collections
import functools
import inspect
import os
import queue
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from . import mpi
from .agreement import Agreement
from .buffers import TYPES
from .rounds import Rounds, Step

if TYPE_CHECKING:
    from . import fsdp

_DTYPES = {"uint8": torch.uint8, "int32": torch.int32, "int64": torch.int64}
# What gloo has: no numbers of 16 bits, and no unsigned ones of 32 and 64.
REDUCTIONS: dict[str, Any] = {"small_max": False, "unsigned": False}
_SECONDS_TO_END = 10
# Of a bucket: pieces share the time of the wire and of the codec, and each has short rounds.
_MOST_PIECES = 2
_SHORTEST_PIECE = 1 << 20
_ADVICE = "all processes should call cohom.torch.compress() alike"
_PIECE_UNIT = 4096  # elements: owners' parts are then equally long, but in the last piece


Parts: TypeAlias = tuple[tuple[str, int], ...]  # names and elements of a bucket's parameters


class _OwnGroup:
    """A process group of gloo's with all processes, until this process ends. Collective.

    Gloo's threads still hold the tensors of a collective for a moment after its end. Those on
    memory of Python's they can only give back while there is an interpreter, else the process ends
    by std::terminate: so these threads end before it does.
    """

    def __init__(self) -> None:
        self._group: Any = dist.new_group(backend="gloo", timeout=_timeout())
        self._works: list[Any] = []  # of collectives that nobody has waited for yet
        _owners.add(self)
        _groups.add(self._group)

    def start(self, collective: Callable[..., Any], *arguments: Any,
              **options: Any) -> Callable[[], None]:
        """Start one of PyTorch's collectives; returns what waits for its end."""
        if self._group is None:  # which would be the default one
            raise RuntimeError("this process ends, or the hook was closed; it should make no "
                               "collectives any more")
        work = collective(*arguments, group=self._group, async_op=True, **options)
        self._works.append(work)

        def end() -> None:
            try:
                work.wait()
            finally:
                self._works.remove(work)

        return end

    def close(self) -> None:
        """End the group and its threads. Raises RuntimeError while a collective is under way."""
        if not all(work.is_completed() for work in self._works):
            raise RuntimeError("a sum of gradients is under way or has failed; close a hook "
                               "between steps that went well")
        group, self._group = self._group, None
        if group is not None:
            _destroy(group)

    def leave(self) -> Any:
        """Return the group, if a collective that may never end is under way; else let it go."""
        if not all(work.is_completed() for work in self._works):
            return self._group
        self._group = None
        self._works.clear()
        return None


def _timeout() -> Any:
    """Return how long collectives of the default group may take: that of the program's choice."""
    group: Any = dist.distributed_c10d._get_default_group()
    if hasattr(group, "options"):  # PyTorch 1
        return group.options._timeout
    for device in ("cpu", "cuda"):
        try:
            return group._get_backend(torch.device(device)).options._timeout
        except (AttributeError, RuntimeError):  # no such backend, or one without options
            pass
    return dist.default_pg_timeout


_owners: "weakref.WeakSet[_OwnGroup]" = weakref.WeakSet()
_groups: "weakref.WeakSet[Any]" = weakref.WeakSet()  # also of owners that are gone
_PROCESS = os.getpid()


def _end_groups() -> None:
    """Wait for gloo's threads, which end with their group."""
    busy = [owner.leave() for owner in list(_owners)]
    for group in list(_groups):
        if group not in busy:
            _destroy(group)


def _destroy(group: Any) -> None:
    """End a process group, unless it ended with all others."""
    try:
        dist.destroy_process_group(group)
    except (RuntimeError, ValueError, AssertionError) as error:
        if dist.is_initialized() and "nvalid process group" not in str(error):
            print(f"cohom: a process group did not end: {error}", file=sys.stderr)


class Collectives:
    """Makes the steps of Rounds on a process group of its own. `sent`: bytes given to it so far."""

    def __init__(self) -> None:
        self._own = _OwnGroup()
        self._operations = {"add": dist.ReduceOp.SUM, "or": dist.ReduceOp.BOR,
                            "max": dist.ReduceOp.MAX}
        self.sent = 0

    def add(self, tensor: torch.Tensor) -> None:
        """Make a tensor its sum over ranks, uncompressed. Collective."""
        self._own.start(dist.all_reduce, tensor)()

    def close(self) -> None:
        """End its process group. Collective."""
        self._own.close()

    def make(self, step: Step) -> None:
        """Make one step."""
        self.start(step)()

    def start(self, step: Step) -> Callable[[], None]:
        """Start one step; returns what waits for its end. All ranks start in the same order."""
        if step.kind == "all_reduce":
            self.sent += len(step.words)
            words = torch.frombuffer(step.words, dtype=_DTYPES[step.dtype])
            return self._own.start(dist.all_reduce, words, op=self._operations[step.operation])
        self.sent += len(step.send)
        send, receive = _words(step.send), _words(step.receive)
        if step.kind == "all_to_all":
            return self._own.start(dist.all_to_all_single, receive, send,
                                   list(step.receive_counts), list(step.send_counts))
        return self._start_all_gather(step, send, receive)

    def _start_all_gather(self, step: Step, send: torch.Tensor,
                          receive: torch.Tensor) -> Callable[[], None]:
        """Gather parts, which gloo's all_gather wants to be equally long."""
        longest = max(step.receive_counts)
        if longest == 0:
            return lambda: None
        if min(step.receive_counts) == longest:
            return self._own.start(dist.all_gather, list(receive.split(longest)), send)
        padded = torch.zeros(longest, dtype=torch.int64)
        padded[:len(send)] = send
        parts = [torch.empty(longest, dtype=torch.int64) for _ in step.receive_counts]
        wait = self._own.start(dist.all_gather, parts, padded)

        def end() -> None:
            wait()
            torch.cat([part[:count] for part, count in zip(parts, step.receive_counts)],
                      out=receive)

        return end


def _words(words: memoryview) -> torch.Tensor:
    """Return words of 8 bytes as a tensor on the same memory."""
    return torch.frombuffer(words, dtype=torch.int64) if len(words) else torch.empty(
        0, dtype=torch.int64)


def _make_in_turn(flows: Iterable[Iterator[Step]],
                  start: Callable[[Step], Callable[[], None]]) -> None:
    """Make the steps of several Rounds: while one is on its way, another one encodes.

    All ranks start them in the same order.
    """
    waiting: collections.deque[tuple[Iterator[Step], Callable[[], None]]] = collections.deque(
        (flow, lambda: None) for flow in flows)
    while waiting:
        flow, wait = waiting.popleft()
        wait()
        step = next(flow, None)
        if step is not None:
            waiting.append((flow, start(step)))


class Hook:
    """A communication hook of DistributedDataParallel: the mean of gradients by a codec.

    codec: a spec such as "thc" or "packed:bits=5" (docs/codecs.md). names: by parameter, for
    checkpoints; without one a parameter has a number, by when its bucket was first summed.
    smallest: buckets of fewer elements go as they are. comm: a communicator of mpi4py's with all
    processes in their order, which then sums in place of gloo; it needs MPI_THREAD_MULTIPLE, else
    ValueError. Each process makes the hook at the same time: it makes a process group, or
    duplicates the communicator. Buckets are summed by a thread, in their order, beside the rest of
    the backward pass: while one piece of a bucket is on its way, another one is encoded. After an
    error a hook is of no more use: later buckets fail as well. A copy of the model has no hook.
    """

    def __init__(self, codec: str = "thc", names: Mapping[torch.Tensor, str] | None = None, *,
                 smallest: int = 4096, all_to_all: bool | None = None,
                 comm: Any | None = None) -> None:
        self.__name__ = self.__qualname__ = f"cohom_{codec}"  # DDP reads it
        self.codec, self.smallest, self.calls = codec, smallest, 0
        self._names: dict[torch.Tensor, str] = dict(names or {})
        self._wrong: RuntimeError | None = None  # why later buckets fail
        self._rank, self._ranks = dist.get_rank(), dist.get_world_size()
        self._all_to_all = self._ranks > 2 if all_to_all is None else all_to_all
        self._reductions = REDUCTIONS if comm is None else {}
        agree_on(f"{codec}, smallest={smallest}, all_to_all={self._all_to_all}, over "
                 f"{'gloo' if comm is None else 'MPI'}", lambda: self._check(comm))
        self.collectives: Collectives | mpi.Collectives = (
            Collectives() if comm is None else mpi.Collectives(comm.Dup()))
        self._rounds: dict[tuple[Parts, str], list[Rounds]] = {}  # by bucket: parts and type
        self._feedback: dict[str, bytes] = {}  # by parameter: of no bucket that there is
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=_work, args=(weakref.ref(self), self._queue),
                                        name="cohom", daemon=True)
        self._thread.start()
        _threads[self._thread] = self._queue
        weakref.finalize(self, _end_thread, self._thread, self._queue)

    def _check(self, comm: Any | None) -> None:
        """Raise what is wrong with the arguments, before there is a process group."""
        if self.smallest < 0:
            raise ValueError(f"smallest is {self.smallest}; it should not be negative")
        self._made_rounds(_PIECE_UNIT, "float32")
        if comm is not None:
            _expect_all(comm)

    def _made_rounds(self, count: int, dtype: str) -> Rounds:
        return Rounds(self.codec, count, dtype, self._rank, self._ranks, op="mean",
                      all_to_all=self._all_to_all, check_once=True, **self._reductions)

    def __call__(self, _state: object,
                 bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Start a bucket's sum; returns a future of its mean, as DDP wants it."""
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        if self._wrong is not None:
            future.set_exception(self._wrong)
            return future
        parts = tuple((self._names.setdefault(each, f"parameter {len(self._names)}"), each.numel())
                      for each in bucket.parameters())
        # What the thread reads on a device is there when this stream has come so far.
        ready = torch.cuda.Event() if bucket.buffer().is_cuda else None
        if ready is not None:
            ready.record()
        self._queue.put((bucket.buffer(), parts, self.calls, ready, future))
        self.calls += bucket.is_last()
        return future

    def __reduce__(self) -> Any:
        return _HookOfACopy, ()

    def close(self) -> None:
        """End the hook's thread, and its process group or communicator. Collective.

        The model's next backward pass is then an error. For programs that make many models;
        without it the group lives as long as the process, or the default group.
        """
        _end_thread(self._thread, self._queue)
        if self._thread.is_alive():
            raise RuntimeError("a sum of gradients is under way; close a hook between steps")
        self._wrong = self._wrong or RuntimeError("the hook was closed; it sums no more gradients")
        self.collectives.close()

    def reduce(self, gradient: torch.Tensor, parts: Parts, call: int) -> None:
        """Make `gradient`, a flat tensor, its mean over ranks. Collective, in one order.

        parts: (name, elements) of each parameter in it; call: alike on all ranks.
        """
        if self._wrong is not None:
            raise self._wrong
        try:
            self._reduce(gradient, parts, call)
        except BaseException as error:  # other processes may be in this bucket yet
            self._wrong = RuntimeError(f"an earlier bucket's sum failed: {error}")
            raise

    def _reduce(self, gradient: torch.Tensor, parts: Parts, call: int) -> None:
        if wrong := _wrong_type("a bucket", gradient.dtype):
            raise TypeError(wrong)
        if gradient.numel() < self.smallest:
            wide = torch.float64 if gradient.dtype == torch.float64 else torch.float32
            mean = gradient.to("cpu", wide, copy=True)
            self.collectives.add(mean)
            gradient.copy_(mean.div_(self._ranks))
            return
        vector = gradient.detach().to("cpu").contiguous()
        pieces = self._rounds_of(vector, parts)
        _make_in_turn([rounds.steps(piece, step=call) for rounds, piece in
                       zip(pieces, vector.split([each.count for each in pieces]))],
                      self.collectives.start)
        if vector.data_ptr() != gradient.data_ptr():
            gradient.copy_(vector)

    def _rounds_of(self, vector: torch.Tensor, parts: Parts) -> list[Rounds]:
        """Return a bucket's rounds, a piece each.

        New ones take error feedback from where parameters were.
        """
        dtype = str(vector.dtype).removeprefix("torch.")
        key = (parts, dtype)
        if key not in self._rounds:
            names = {name for name, _ in parts}
            for other in [each for each in self._rounds if names & {name for name, _ in each[0]}]:
                self._feedback.update(_cut(self._rounds.pop(other), *other))
            pieces = [self._made_rounds(count, dtype)
                      for count in _pieces_of(vector.numel(), self._ranks)]
            if pieces[0].state:
                self._put_feedback(pieces, parts, _feedback_size(dtype))
            self._rounds[key] = pieces
        return self._rounds[key]

    def _put_feedback(self, pieces: list[Rounds], parts: Parts, size: int) -> None:
        """Give a bucket's pieces the error feedback of its parameters, `size` bytes an element."""
        feedback = b"".join(_of_length(self._feedback.pop(name, b""), size * count)
                            for name, count in parts)
        rest = self._feedback.pop(_rest_of(parts), b"")
        rests = [len(rounds.state) - size * rounds.count for rounds in pieces]
        rest = _of_length(rest, sum(rests))
        for rounds, length in zip(pieces, rests):
            split = size * rounds.count
            rounds.state = feedback[:split] + rest[:length]
            feedback, rest = feedback[split:], rest[length:]

    def state_dict(self) -> dict[str, Any]:
        """Return what belongs into this process's checkpoint, between steps of training.

        That is error feedback by parameter, and the number of calls.
        """
        feedback = dict(self._feedback)
        for (parts, dtype), pieces in self._rounds.items():
            feedback.update(_cut(pieces, parts, dtype))
        return {"codec": self.codec, "ranks": self._ranks, "calls": self.calls,
                "feedback": feedback}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what state_dict() gave. With another number of ranks error feedback is lost."""
        if saved["codec"] != self.codec:
            raise ValueError(f"the checkpoint is of codec {saved['codec']}; this hook's is "
                             f"{self.codec}")
        self.calls = saved["calls"]
        self._rounds.clear()
        self._feedback = dict(saved["feedback"]) if saved["ranks"] == self._ranks else {}


class _HookOfACopy:
    """What a copy of a compressed model has in place of its hook, which cannot be copied."""

    def __call__(self, *_arguments: Any) -> Any:
        raise RuntimeError("this model is a copy of one that compresses its gradients; call "
                           "cohom.torch.compress() on it as well")


def _of_length(feedback: bytes, length: int) -> bytes:
    """Return feedback, or zeros where it is of something else."""
    return feedback if len(feedback) == length else bytes(length)


def agree_on(how: str, check: Callable[[], None]) -> None:
    """Raise in all processes what `check` raises in one, or that they differ in `how`."""
    if not dist.is_initialized():  # nobody else
        check()
    agreement = Agreement("compress gradients", how, _ADVICE)
    try:
        check()
    except Exception as error:
        agreement.refuse(error)
        raise
    agreement.reach()


def _expect_all(comm: Any) -> None:
    """Raise ValueError unless a communicator of mpi4py's is one that a hook can take."""
    own = comm.Get_rank(), comm.Get_size()
    all_processes = dist.get_rank(), dist.get_world_size()
    if own != all_processes:
        raise ValueError(f"comm has rank {own[0]} of {own[1]} here, and this is process "
                         f"{all_processes[0]} of {all_processes[1]}; they should be the same")
    if not mpi.takes_threads():
        raise ValueError("comm is of an MPI without MPI_THREAD_MULTIPLE, which a hook's thread "
                         "needs")


def _pieces_of(elements: int, ranks: int) -> list[int]:
    """Return the elements of a bucket's pieces: few enough to be long, and for all ranks alike."""
    unit = _PIECE_UNIT * ranks
    longest = max(_SHORTEST_PIECE, -(-elements // _MOST_PIECES))
    longest = -(-longest // unit) * unit
    return [min(longest, elements - begin) for begin in range(0, elements, longest)]


def _feedback_size(dtype: str) -> int:
    """Return the bytes of error feedback that codecs keep of an element, first in their state."""
    return 8 if dtype == "float64" else 4


def _rest_of(parts: Parts) -> str:
    """Return the name of what codecs keep of a bucket behind the feedback of its elements."""
    return "bucket of " + ", ".join(name for name, _ in parts)


def _cut(pieces: list[Rounds], parts: Parts, dtype: str) -> dict[str, bytes]:
    """Return the error feedback of a bucket by parameter, and what is behind it, if anything is."""
    cut: dict[str, bytes] = {}
    if not pieces[0].state:
        return cut
    size, begin = _feedback_size(dtype), 0
    states = [(rounds.state, size * rounds.count) for rounds in pieces]
    feedback = b"".join(state[:split] for state, split in states)
    for name, count in parts:
        cut[name] = feedback[begin:begin + size * count]
        begin += size * count
    if rest := b"".join(state[split:] for state, split in states):
        cut[_rest_of(parts)] = rest
    return cut


def _work(hook_of: Any, tasks: queue.SimpleQueue[Any]) -> None:
    """Sum buckets until there is no hook any more."""
    while True:
        task = tasks.get()
        if task is None:
            return
        gradient, parts, call, ready, future = task
        wrong = None
        try:
            if ready is not None:
                ready.synchronize()
            hook_of().reduce(gradient, parts, call)
        except BaseException as error:  # whoever waits for it gets it
            wrong = error
        # The hook is not held any more: it should end in the thread that made it.
        if wrong is None:
            future.set_result(gradient)
        else:
            future.set_exception(wrong)
        del task, gradient, future, wrong


# Of this process: those of hooks that ended in their own thread are not waited for there.
_threads: "weakref.WeakKeyDictionary[threading.Thread, queue.SimpleQueue[Any]]" = (
    weakref.WeakKeyDictionary())


@atexit.register
def _end_threads() -> None:
    for thread, tasks in list(_threads.items()):
        _end_thread(thread, tasks)
    # A forked process has the groups, and not their threads. A thread that goes on needs its group.
    if os.getpid() == _PROCESS and not any(thread.is_alive() for thread in _threads):
        _end_groups()


def _end_thread(thread: threading.Thread, tasks: queue.SimpleQueue[Any]) -> None:
    """End a hook's thread, also before the interpreter ends.

    That would take its stack away within PyTorch, which ends the process by std::terminate. A
    thread whose collective never ends is not waited for.
    """
    tasks.put(None)
    if thread is not threading.current_thread():
        thread.join(_SECONDS_TO_END)


def compress(model: torch.nn.Module, codec: str = "thc",
             **options: Any) -> "Hook | fsdp.ShardedHook":
    """Compress a model's gradients from now on; returns the Hook, or ShardedHook. Collective.

    model: a DistributedDataParallel, or one that fully_shard() was applied to. options: of Hook, or
    ShardedHook. Raises Error for a codec that cannot be used, and RuntimeError in all processes
    where another one differs or raises; a process that does not call makes the others wait, and say
    so after a minute. DDP makes other buckets behind the first step of a process, so that a
    checkpoint goes on with the same bits only where it does not (find_unused_parameters=True).
    """
    from . import fsdp  # which needs what is above
    shards = fsdp.shards(model)
    names = {parameter: name for name, parameter in model.named_parameters()}
    make: Callable[..., Any] = functools.partial(Hook, names=names)
    if shards:
        make = functools.partial(fsdp.ShardedHook, model)

    def check() -> None:
        inspect.signature(make).bind(codec, **options)
        if not shards:
            _expect_ddp(model)

    agree_on("ShardedHook" if shards else "Hook", check)
    hook: Hook | fsdp.ShardedHook = make(codec, **options)
    if not shards:
        model.register_comm_hook(None, hook)
    return hook


def _expect_ddp(model: torch.nn.Module) -> None:
    """Raise TypeError or ValueError unless a model can take a Hook."""
    if not isinstance(model, DistributedDataParallel):
        raise TypeError(f"model is a {type(model).__name__}; it should be a "
                        "DistributedDataParallel, or fully_shard() should have been applied to it")
    ranks, world = dist.get_world_size(model.process_group), dist.get_world_size()
    if ranks != world:
        raise ValueError(f"model is one of {ranks} processes of {world}; its process group should "
                         "have all")
    if has_hook(model):
        raise ValueError("model has a communication hook already; it can have one")
    if wrong := unknown_type(model):
        raise TypeError(wrong)
    if name_of_sparse := sparse_module(model):
        raise ValueError(f"the gradient of {name_of_sparse} is sparse; it should be made with "
                         "sparse=False")


def _wrong_type(what: str, dtype: torch.dtype) -> str:
    """Return what is wrong with a type that no codec has, or nothing."""
    if str(dtype).removeprefix("torch.") in TYPES:
        return ""
    return f"{what} is of {dtype}; it should be of {', '.join(TYPES)}"


def unknown_type(model: DistributedDataParallel) -> str:
    """Return which of a model's gradients is of a type that no codec has, or nothing."""
    ignored = getattr(model, "parameters_to_ignore", ())
    wrong = (_wrong_type(f"the gradient of {name}", each.dtype)
             for name, each in model.module.named_parameters()
             if each.requires_grad and name not in ignored)
    return next(filter(None, wrong), "")


def has_hook(model: DistributedDataParallel) -> bool:
    """Return whether PyTorch knows of a communication hook of a model's own."""
    return any(not isinstance(hook, _HookOfACopy) for hook, _ in getattr(model, "_comm_hooks", ()))


def sparse_module(model: DistributedDataParallel) -> str:
    """Return the name of a module whose gradients are sparse, or nothing."""
    return next((name for name, module in model.module.named_modules()
                 if isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag))
                 and module.sparse and module.weight.requires_grad), "")
