"""One process of test_torch.py: trains a small model, and writes what became of it.

usage: torch_program.py CODEC STEPS FOLDER [save STEP | load]; RANK and WORLD_SIZE say who it is,
TEST_DEVICE and TEST_BACKEND where the model lies ("cpu") and how DDP sends ("gloo")
"""

import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import cohom.torch


def data_of(rank, step, device):
    """Return a batch: a fixed function of numbers that differ from rank to rank."""
    draws = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(32, 64, generator=draws)
    wanted = torch.tanh(inputs[:, :4].sum(1, keepdim=True))
    return inputs.to(device), wanted.to(device)


def main():
    """Train; rank 0 writes losses, all write their weights."""
    codec, steps, folder, *checkpoint = sys.argv[1:]
    cohom.torch._SHORTEST_PIECE = 1  # so that the largest bucket has two pieces
    folder = pathlib.Path(folder)
    torch.set_num_threads(1)
    device = torch.device(os.environ.get("TEST_DEVICE", "cpu"))
    dist.init_process_group(os.environ.get("TEST_BACKEND", "gloo"))
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(),
                                torch.nn.Linear(256, 256), torch.nn.Tanh(),
                                torch.nn.Linear(256, 1)).to(device)
    # Several buckets.
    parallel = DistributedDataParallel(model, bucket_cap_mb=0.1,
                                       find_unused_parameters=bool(checkpoint))
    hook = None if codec == "none" else cohom.torch.compress(parallel, codec, smallest=100)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    first = 0
    path = folder / f"checkpoint-{rank}"
    if checkpoint[:1] == ["load"]:
        saved = torch.load(path)
        first = saved["step"]
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        hook.load_state_dict(saved["hook"])
    losses = []
    for step in range(first, int(steps)):
        if checkpoint[:1] == ["save"] and step == int(checkpoint[1]):
            torch.save({"step": step, "model": model.state_dict(), "hook": hook.state_dict(),
                        "optimizer": optimizer.state_dict()}, path)
        inputs, wanted = data_of(rank, step, device)
        loss = torch.nn.functional.mse_loss(parallel(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.save(model.state_dict(), folder / f"weights-{rank}")
    if rank == 0:
        sent = hook.collectives.sent if hook else 0
        print(f"{sum(losses[:10]) / 10} {sum(losses[-10:]) / 10} {sent}")
    dist.barrier()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main()
