"""What each rank of test_torch.py's jobs of MPI does: it trains over MPI and over gloo.

Rank 0 prints whether both give the same weights, and what each was given to send.
"""

import os

from mpi4py import MPI

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import cohom.torch


def trained(codec, **options):
    """Return a model's weights after some steps, and its hook."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(),
                                 torch.nn.Linear(256, 1))
    model = DistributedDataParallel(layers, bucket_cap_mb=0.01)  # some buckets are short
    hook = cohom.torch.compress(model, codec, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(10):
        draws = torch.Generator().manual_seed(1000 * step + dist.get_rank())
        inputs = torch.randn(32, 64, generator=draws)
        loss = (model(inputs) - inputs[:, :4].sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.cat([each.detach().flatten() for each in layers.parameters()]), hook


def main():
    """Train by several codecs, and refuse a communicator of other processes."""
    world = MPI.COMM_WORLD
    os.environ.update(RANK=str(world.rank), WORLD_SIZE=str(world.size))
    torch.set_num_threads(1)
    cohom.torch._SHORTEST_PIECE = 4096  # so that a bucket has two pieces
    dist.init_process_group("gloo")
    for codec in ("thc", "packed:bits=5", "signcount:error_feedback=on"):
        over_mpi, hook = trained(codec, comm=world)
        over_gloo, other = trained(codec)
        assert len(set(world.allgather(over_mpi.numpy().tobytes()))) == 1, codec
        if world.rank == 0:
            print(codec, torch.equal(over_mpi, over_gloo), hook.collectives.sent > 0,
                  other.collectives.sent > 0)
    try:
        cohom.torch.Hook("thc", comm=MPI.COMM_SELF)
    except ValueError as error:
        if world.rank == 0:
            print(error)


if __name__ == "__main__":
    main()
