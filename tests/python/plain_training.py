"""A training program that knows nothing of cohom.

usage: plain_training.py WEIGHTS STEPS [KIND]

It writes what weights each process has in the end. KIND: its model
  hook    has a communication hook of the program's
  part    is of processes 0 and 1 alone
  copy    is a copy of one that is not trained
  sparse  has sparse gradients
  two     has another of the same class beside it
  none    is no DistributedDataParallel
"""

import copy
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def parallel(layers, kind):
    """Return the model that is trained."""
    if kind == "none":
        return layers
    model = DistributedDataParallel(
        layers, process_group=dist.new_group([0, 1]) if kind == "part" else None)
    if kind == "hook":
        model.register_comm_hook(None, lambda state, bucket: None)
    return copy.deepcopy(model) if kind == "copy" else model


def main():
    """Train a model to add."""
    to, steps, *kind = sys.argv[1:]
    kind = "".join(kind)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if kind == "part" and rank > 1:
        dist.new_group([0, 1])
        return
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(),
                                 torch.nn.Linear(256, 1))
    if kind == "sparse":
        layers.append(torch.nn.EmbeddingBag(4, 4, sparse=True))
    model = parallel(layers, kind)
    if kind == "two":
        parallel(torch.nn.Sequential(torch.nn.Linear(2, 2)), "")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(int(steps) if kind != "sparse" else 0):
        inputs = torch.randn(32, 64, generator=torch.Generator().manual_seed(1000 * step + rank))
        loss = (model(inputs) - inputs[:, :4].sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(getattr(model, "module", model).state_dict(), f"{to}-{rank}")


if __name__ == "__main__":
    main()
