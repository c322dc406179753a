"""A user's program with types: what mypy must accept, and what it must refuse (python.types)."""

from typing import Any

import numpy
import torch
from torch.nn.parallel import DistributedDataParallel

import cohom
import cohom.torch


def sums(vector: "numpy.ndarray[Any, Any]", rank: int, ranks: int) -> bytes:
    """Use all that there is."""
    cohom.allreduce(vector, codec="packed:bits=5", op="mean", buffer="weights")
    rounds = cohom.Rounds("thc", len(vector), "float32", rank, ranks, all_to_all=True)
    for step in rounds.steps(vector, step=3):
        counts: list[int] = list(step.send_counts) if step.kind != "all_reduce" else [step.numbers]
        step.words[0] = counts[0]
    text: str = cohom.version() + rounds.codecs  # type: ignore[attr-defined]
    names: list[str] = cohom.codecs()
    try:
        rounds.state = text  # type: ignore[assignment]
    except cohom.Error as error:
        names.append(error.kind)
        error.kind = 3  # type: ignore[assignment]
    cohom.Rounds("thc", "many", "float32", rank, ranks)  # type: ignore[arg-type]
    cohom.allreduce(vector, codec=7)  # type: ignore[arg-type]
    return rounds.state


def train(model: DistributedDataParallel) -> dict[str, object]:
    """Compress gradients."""
    hook = cohom.torch.compress(model, "thc", smallest=1)
    cohom.torch.compress(model, 4)  # type: ignore[arg-type]
    assert isinstance(hook, cohom.torch.Hook)  # a sharded model has another one
    hook.reduce(torch.zeros(3), (("all", 3),), 0)
    hook.reduce(torch.zeros(3), 3, 0)  # type: ignore[arg-type]
    return hook.state_dict()
