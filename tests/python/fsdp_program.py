"""One process of test_fsdp.py: trains a small sharded model, and writes what became of it.

It also writes the weights that it computed with in the last step.

usage: fsdp_program.py CODEC WEIGHTS STEPS FOLDER [save STEP | load]; RANK and WORLD_SIZE say who it
is. WEIGHTS: a codec of weights, or "none".
"""

import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import cohom.torch
from torch_program import data_of


def main():
    """Train; rank 0 writes losses, all write weights."""
    codec, weights, steps, folder, *checkpoint = sys.argv[1:]
    folder = pathlib.Path(folder)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 250), torch.nn.Tanh(),
                                torch.nn.Linear(250, 250), torch.nn.Tanh(),
                                torch.nn.Linear(250, 1))
    mesh = init_device_mesh("cpu", (ranks,))
    for layer in model:
        if list(layer.parameters()):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    hook = None
    if codec != "none":
        hook = cohom.torch.compress(model, codec, weights=None if weights == "none" else weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    path = folder / f"checkpoint-{rank}"
    first = 0
    if checkpoint[:1] == ["load"]:
        saved = torch.load(path, weights_only=False)
        first = saved["step"]
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        hook.load_state_dict(saved["hook"])
    seen = {}

    def see(module, _inputs):
        """Keep what a layer computes with, before its forward pass."""
        seen["weight"] = module.weight.detach().clone()

    model[2].register_forward_pre_hook(see)
    losses = []
    for step in range(first, int(steps)):
        if checkpoint[:1] == ["save"] and step == int(checkpoint[1]):
            torch.save({"step": step, "model": model.state_dict(), "hook": hook.state_dict(),
                        "optimizer": optimizer.state_dict()}, path)
        inputs, wanted = data_of(rank, step, "cpu")
        loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    whole = {name: each.full_tensor() for name, each in model.state_dict().items()}
    torch.save(whole, folder / f"weights-{rank}")
    torch.save(seen, folder / f"seen-{rank}")
    if rank == 0:
        sent = hook.collectives.sent if hook else 0
        print(f"{sum(losses[:10]) / 10} {sum(losses[-10:]) / 10} {sent}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main()
