"""The codec alone, over torch.distributed: the mean of a vector over processes, by gloo.

pip install . && torchrun --nproc_per_node 4 examples/rounds_torch.py thc
"""

import sys

import cohom
import torch
import torch.distributed as dist

TYPES = {"uint8": torch.uint8, "int32": torch.int32, "int64": torch.int64}
OPERATIONS = {"add": dist.ReduceOp.SUM, "or": dist.ReduceOp.BOR, "max": dist.ReduceOp.MAX}


def tensor(words, dtype=torch.int64):
    """Return a tensor on the memory of a step, which may be empty."""
    return torch.frombuffer(words, dtype=dtype) if len(words) else torch.empty(0, dtype=dtype)


def make(step):
    """Make one step: all processes have one of the same kind."""
    if step.kind == "all_reduce":
        dist.all_reduce(tensor(step.words, TYPES[step.dtype]), op=OPERATIONS[step.operation])
        return
    send, receive = tensor(step.send), tensor(step.receive)
    if step.kind == "all_to_all":
        dist.all_to_all_single(receive, send, list(step.receive_counts), list(step.send_counts))
        return
    # Parts may differ in length, which gloo's all_gather does not take: each is sent to all.
    for rank, part in enumerate(receive.split(list(step.receive_counts))):
        if rank == dist.get_rank():
            part.copy_(send)
        if len(part):
            dist.broadcast(part, rank)


def main():
    """Sum a vector of each process, and say how far the result is from the exact one."""
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    gradient = torch.sin(torch.arange(1 << 20) * 0.001) + rank
    exact = gradient.clone()
    dist.all_reduce(exact)
    exact /= ranks

    codec = sys.argv[1] if len(sys.argv) > 1 else "thc"
    rounds = cohom.Rounds(codec, len(gradient), "float32", rank, ranks, op="mean",
                          all_to_all=ranks > 2, small_max=False, unsigned=False)
    sent = 0
    for step in rounds.steps(gradient):  # in place
        sent += len(step.words if step.kind == "all_reduce" else step.send)
        make(step)
    if rank == 0:
        error = float(((gradient - exact)**2).sum() / (exact**2).sum())
        print(f"mean of {ranks} processes by {codec}: gave {sent} bytes, vNMSE {error:.2g}")
    dist.destroy_process_group()  # its threads give back memory of Python's, while there is one


if __name__ == "__main__":
    main()
