"""Gradients and weights of a model that fully_shard() was applied to (FSDP2), compressed.

    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    cohom.torch.compress(model, "thc")

Sums go over a process group of their own, by gloo. They are made in the thread that wants them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist

from .buffers import TYPES
from .rounds import Rounds
from .torch import REDUCTIONS, Collectives


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

    def _make(self, output: torch.Tensor, input: torch.Tensor, op: str) -> None:
        """Make a call. Collective."""
        part = min(output.numel(), input.numel())
        dtype = str(input.dtype).removeprefix("torch.")
        key = f"{part} {dtype} {op}"
        if key not in self.rounds:
            self.rounds[key] = self._hook.rounds(self.collective, self._codec, part, dtype, op)
        source, result = _host(input), _host(output)
        for step in self.rounds[key].steps(source, result):
            self._hook.collectives.make(step)
        if result.data_ptr() != output.data_ptr():
            output.copy_(result)


def _host(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor where the host can read it, of the same elements."""
    return tensor if tensor.device.type == "cpu" else tensor.cpu()


class _ReduceScatter(_Collective):
    """Gradients: each rank gets its part of the sum."""

    collective = "reduce_scatter"

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor,
                 group: dist.ProcessGroup, op: Any, async_op: bool = False) -> None:
        """Sum; what FSDP2 would wait for is over."""
        operations = {dist.ReduceOp.SUM: "sum", dist.ReduceOp.AVG: "mean"}
        kind = operations.get(op)
        if kind is None:
            raise ValueError(f"op is {op}; cohom sums, and takes means")
        self._make(output_tensor, input_tensor, kind)


class _AllGather(_Collective):
    """Weights: each rank gets all parts, of its own what others get of it."""

    collective = "allgather"

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor,
                 group: dist.ProcessGroup, async_op: bool = False) -> None:
        """Gather; what FSDP2 would wait for is over."""
        if str(input_tensor.dtype).removeprefix("torch.") not in TYPES:
            raise TypeError(f"weights are gathered as {input_tensor.dtype}, as those of a module "
                            f"are of several types; it should be one of {', '.join(TYPES)}")
        self._make(output_tensor, input_tensor, "sum")


class ShardedHook:
    """What compress() gives for a sharded model: its modules' collectives, compressed.

    codec: of gradients. weights: a codec of weights, such as "packed:bits=8"; None leaves them as
    they are. Each process makes it at the same time: it makes a process group.
    """

    def __init__(self, model: torch.nn.Module, codec: str = "thc", *, weights: str | None = None,
                 all_to_all: bool | None = None) -> None:
        self.codec = codec
        self._rank, self._ranks = dist.get_rank(), dist.get_world_size()
        self._all_to_all = self._ranks > 2 if all_to_all is None else all_to_all
        self.collectives = Collectives(dist.new_group(backend="gloo"))
        self._gradients: dict[str, _ReduceScatter] = {}
        for name, module in model.named_modules():
            if not shards(module):
                continue
            self._gradients[name] = _ReduceScatter(self, codec)
            module.set_custom_reduce_scatter(self._gradients[name])
            if weights is not None:
                module.set_custom_all_gather(_AllGather(self, weights))

    def rounds(self, collective: str, codec: str, part: int, dtype: str, op: str) -> Rounds:
        """Return new rounds of parts of so many elements."""
        return Rounds(codec, part, dtype, self._rank, self._ranks, op=op, collective=collective,
                      all_to_all=self._all_to_all, check_once=True, **REDUCTIONS)

    def state_dict(self) -> dict[str, Any]:
        """Return what belongs into this process's checkpoint, between steps of training.

        That is error feedback and the number of calls, by module.
        """
        return {"codec": self.codec, "ranks": self._ranks, "gradients": {
            name: {key: (rounds.calls, rounds.state) for key, rounds in each.rounds.items()}
            for name, each in self._gradients.items()}}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what state_dict() gave. With another number of ranks error feedback is lost."""
        if saved["codec"] != self.codec:
            raise ValueError(f"the checkpoint is of codec {saved['codec']}; this hook's is "
                             f"{self.codec}")
        same = saved["ranks"] == self._ranks
        for name, kinds in saved["gradients"].items():
            for key, (calls, state) in kinds.items():
                part, dtype, op = key.split()
                rounds = self.rounds("reduce_scatter", self.codec, int(part), dtype, op)
                rounds.calls = calls
                if same:
                    rounds.state = state
                self._gradients[name].rounds[key] = rounds
