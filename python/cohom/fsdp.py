"""Gradients and weights of a model that fully_shard() was applied to (FSDP2), compressed.

    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    cohom.torch.compress(model, "thc")

Sums go over a process group of their own, by gloo. They are made in the thread that wants them.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist

from .buffers import TYPES
from .rounds import Rounds
from .torch import REDUCTIONS, Collectives, agree_on


def shards(model: object) -> bool:
    """Return whether fully_shard() was applied to a model, by a PyTorch that lets others sum."""
    return hasattr(model, "set_custom_reduce_scatter")


class _Collective:
    """One collective of one sharded module, as FSDP2 wants it."""

    collective: str

    def __init__(self, hook: "ShardedHook", codec: str) -> None:
        self._hook, self._codec = hook, codec
        self.rounds: dict[str, Rounds] = {}  # by elements of a part, type and operation

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype,
                 device: torch.device) -> torch.Tensor:
        """Return memory for a call."""
        return torch.empty(*size, dtype=dtype, device=device)

    def make(self, output: torch.Tensor, input: torch.Tensor, op: str, call: int) -> None:
        """Make a call. Collective. call: its number, alike on all ranks."""
        part = min(output.numel(), input.numel())
        key = f"{part} {str(input.dtype).removeprefix('torch.')} {op}"
        if key not in self.rounds:
            self.rounds[key] = self._hook.rounds(self.collective, self._codec, key)
        on_host = output.device.type == "cpu"
        result = output if on_host else torch.empty_like(output, device="cpu")
        for step in self.rounds[key].steps(input.cpu(), result, call):
            self._hook.collectives.make(step)
        if not on_host:
            output.copy_(result)


class _ReduceScatter(_Collective):
    """Gradients: each rank gets its part of the sum. `calls`: how many there were."""

    collective = "reduce_scatter"
    calls = 0

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor,
                 group: dist.ProcessGroup, op: Any, async_op: bool = False) -> None:
        """Sum; what FSDP2 would wait for is over."""
        if not self._hook.is_all(group):
            raise ValueError(f"a mesh of {dist.get_world_size(group)} processes sums gradients; "
                             f"it should have all {self._hook.ranks}, in one dimension")
        kind = {dist.ReduceOp.SUM: "sum", dist.ReduceOp.AVG: "mean"}.get(op)
        if kind is None:
            raise ValueError(f"op is {op}; cohom sums, and takes means: call "
                             "set_force_sum_reduction_for_comms(True) on the model")
        self.calls += 1
        self.make(output_tensor, input_tensor, kind, self.calls)


class _AllGather(_Collective):
    """Weights: each rank gets all parts, of its own what others get of it.

    They are rounded alike until gradients have been summed again.
    """

    collective = "allgather"

    def __init__(self, hook: "ShardedHook", codec: str, gradients: _ReduceScatter) -> None:
        super().__init__(hook, codec)
        self._gradients = gradients

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor,
                 group: dist.ProcessGroup, async_op: bool = False) -> None:
        """Gather; what FSDP2 would wait for is over."""
        if not self._hook.is_all(group):  # reshard_after_forward=<number>
            warnings.warn("cohom: weights that fewer than all processes gather travel uncompressed",
                          stacklevel=2)
            dist.all_gather_into_tensor(output_tensor, input_tensor, group=group)
            return
        dtype = str(input_tensor.dtype).removeprefix("torch.")
        if dtype not in TYPES:
            raise TypeError(f"weights travel as {dtype}, as those of a module are of several types "
                            f"or of another one; they should be one of {', '.join(TYPES)}")
        self.make(output_tensor, input_tensor, "sum", self._gradients.calls)


class ShardedHook:
    """What compress() gives for a sharded model: its modules' collectives, compressed.

    codec: of gradients. weights: a codec of weights, such as "packed:bits=8"; None leaves them as
    they are. all_to_all: gradients go to owners, by default. Each process makes it at the same
    time: it makes a process group.
    """

    def __init__(self, model: torch.nn.Module, codec: str = "thc", *, weights: str | None = None,
                 all_to_all: bool = True) -> None:
        self.codec, self.weights = codec, weights
        self._rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self._all_to_all = all_to_all
        agree_on(f"{codec}, weights={weights}, all_to_all={all_to_all}", self._check)
        self.collectives = Collectives()
        self._gradients: dict[str, _ReduceScatter] = {}
        for name, module in model.named_modules():
            if not shards(module):
                continue
            gradients = self._gradients[name] = _ReduceScatter(self, codec)
            module.set_custom_reduce_scatter(gradients)
            if weights is not None:
                module.set_custom_all_gather(_AllGather(self, weights, gradients))

    def _check(self) -> None:
        """Raise what is wrong with the codecs, before there is a process group."""
        self.rounds("reduce_scatter", self.codec, "4096 float32 sum")
        if self.weights is not None:
            self.rounds("allgather", self.weights, "4096 float32 sum")

    def close(self) -> None:
        """End the hook's process group. Collective. The model can then make no step any more."""
        self.collectives.close()

    def is_all(self, group: dist.ProcessGroup) -> bool:
        """Return whether a process group has all processes, in their order."""
        return (dist.get_world_size(group), dist.get_rank(group)) == (self.ranks, self._rank)

    def rounds(self, collective: str, codec: str, key: str) -> Rounds:
        """Return new rounds. key: elements of a part, type and operation."""
        part, dtype, op = key.split()
        return Rounds(codec, int(part), dtype, self._rank, self.ranks, op=op,
                      collective=collective, all_to_all=self._all_to_all, check_once=True,
                      **REDUCTIONS)

    def state_dict(self) -> dict[str, Any]:
        """Return what belongs into this process's checkpoint, between steps of training.

        That is the number of calls and error feedback, by module.
        """
        return {"codec": self.codec, "weights": self.weights, "ranks": self.ranks, "modules": {
            name: (each.calls, {key: rounds.state for key, rounds in each.rounds.items()})
            for name, each in self._gradients.items()}}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what state_dict() gave. With another number of ranks error feedback is lost.

        Raises ValueError for a checkpoint of other codecs or modules; then nothing has changed.
        """
        for what, own in (("codec", self.codec), ("weights", self.weights)):
            if saved[what] != own:
                raise ValueError(f"{what} of the checkpoint is {saved[what]}; this hook's is {own}")
        if other := sorted(saved["modules"].keys() ^ self._gradients.keys()):
            raise ValueError(f"the checkpoint and the model do not both have the module {other[0]}")
        for name, (calls, states) in saved["modules"].items():
            gradients = self._gradients[name]
            gradients.calls, gradients.rounds = calls, {}
            if saved["ranks"] != self.ranks:
                continue
            for key, state in states.items():
                gradients.rounds[key] = self.rounds("reduce_scatter", self.codec, key)
                gradients.rounds[key].state = state
