#!/usr/bin/python3
"""Train one model in one way; one process of several. Rank 0 writes what was measured.

Started by `training`, under mpirun on the hosts of a lab.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import statistics
import sys
import time

import tasks
import torch
import torch.distributed as dist
import ways

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import output_file  # noqa: E402

SCHEMA = "cohom-training/1"
WARM_UP_STEPS = 3  # DDP makes its buckets anew behind the first
COMMUNICATIONS = 5
PORT = 29500


def bytes_sent(device):
    """Return what a device of this host has sent since it was made."""
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == device:
            return int(numbers.split()[8])
    raise ValueError(f"there is no device {device}")


@dataclasses.dataclass
class Clock:
    """Seconds of a rank, and bytes of its host, in training alone."""

    device: str
    seconds: float = 0.0
    sent: int = 0
    steps: list = dataclasses.field(default_factory=list)

    def __enter__(self):
        """Begin a step."""
        self._sent, self._began = bytes_sent(self.device), time.perf_counter()

    def __exit__(self, *_):
        """End it."""
        self.steps.append(time.perf_counter() - self._began)
        self.seconds += self.steps[-1]
        self.sent += bytes_sent(self.device) - self._sent


def sum_over_ranks(value):
    """Return the sum of a number over ranks."""
    tensor = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(tensor)
    return tensor.item()


def same_on_all_ranks(model):
    """Return whether all ranks' weights have the same bits."""
    digest = hashlib.sha256()
    for each in model.parameters():
        digest.update(each.detach().numpy())
    number = int.from_bytes(digest.digest()[:7], "little")
    ends = torch.tensor([number, -number])
    dist.all_reduce(ends, op=dist.ReduceOp.MAX)
    return bool(ends[0] == -ends[1])


def communication_seconds(model, reduce, bucket_mib):
    """Return the median time of summing the last gradients with nothing beside it."""
    flat = torch.cat([each.grad.flatten() for each in model.parameters()])
    buckets = flat.split(bucket_mib * (1 << 20) // 4)
    times = []
    for call in range(COMMUNICATIONS + 1):
        copies = [bucket.clone() for bucket in buckets]
        dist.barrier()
        began = time.perf_counter()
        for copy in copies:
            reduce(copy, call)
        times.append(sum_over_ranks(time.perf_counter() - began) / dist.get_world_size())
    return statistics.median(times[1:])


def train(options, rank, ranks):
    """Train; return what was measured."""
    task = tasks.make(options.model, options.size, options.batch, rank, ranks, options.seed)
    model, reduce = ways.wrap(task.model, options.way, options.bucket_mib)
    clock, curve = Clock(options.device), []
    losses = []
    for step in range(1, options.steps + 1):
        dist.barrier()
        with clock:
            task.optimizer.zero_grad(set_to_none=True)
            loss = task.loss(model, step)
            loss.backward()
            task.optimizer.step()
        losses.append(loss.item())
        if step % options.evaluate == 0 or step == options.steps:
            curve.append(point(task, step, clock, losses, ranks))
            losses = []
            if rank == 0:
                print("  step {step}: {seconds:.1f} s, {sent:.3e} bytes, loss {loss:.4f}, "
                      "held out {held_out:.4f}".format(**curve[-1]), flush=True)
    steady = clock.steps[WARM_UP_STEPS:] or clock.steps
    return {
        "parameters": sum(each.numel() for each in task.model.parameters()),
        "examples": task.examples, "curve": curve, "step_seconds": statistics.median(steady),
        "seconds": clock.seconds, "sent": sum_over_ranks(clock.sent),
        "same_weights": same_on_all_ranks(task.model),
        "communication_seconds": None if reduce is None else communication_seconds(
            task.model, reduce, options.bucket_mib),
    }


def point(task, step, clock, losses, ranks):
    """Return a point of the curve; collective, outside the clock."""
    with torch.no_grad():
        # The model itself: DDP's forward pass would send its buffers.
        held_out = sum_over_ranks(task.held_out(task.model)) / ranks
    return {"step": step, "seconds": clock.seconds, "sent": sum_over_ranks(clock.sent),
            "loss": sum_over_ranks(statistics.fmean(losses)) / ranks, "held_out": held_out}


def parse_arguments():
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=tasks.SIZES, required=True)
    parser.add_argument("--size", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--way", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--evaluate", type=int, required=True, metavar="STEPS")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--bucket-mib", type=int, required=True)
    parser.add_argument("--address", required=True, help="of rank 0")
    parser.add_argument("--device", required=True, help="whose bytes count")
    parser.add_argument("--rate", required=True, help="of links, for the record")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    return parser.parse_args()


def main():
    """Train as a rank of mpirun."""
    options = parse_arguments()
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    ranks = int(os.environ["OMPI_COMM_WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{options.address}:{PORT}", rank=rank,
                            world_size=ranks)
    measured = train(options, rank, ranks)
    if rank == 0:
        row = {"schema": SCHEMA, "model": options.model, "size": options.size, "way": options.way,
               "seed": options.seed, "steps": options.steps, "ranks": ranks, "rate": options.rate,
               "torch": torch.__version__, **measured}
        output_file.write(options.json, json.dumps(row, indent=1) + "\n")
    dist.barrier()
    sys.stdout.flush()
    sys.stderr.flush()
    if "mpi4py.MPI" in sys.modules:
        from mpi4py import MPI
        MPI.COMM_WORLD.Barrier()
        MPI.Finalize()
    os._exit(0)  # threads may still wait for buckets


if __name__ == "__main__":
    main()
