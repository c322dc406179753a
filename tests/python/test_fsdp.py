"""Gradients and weights of a model of fully_shard()'s, in processes over gloo.

scripts/fsdp-check runs it with a current PyTorch; an older one has no fully_shard().
"""

import pytest

torch = pytest.importorskip("torch")
if int(torch.__version__.split(".")[0]) < 2 or not hasattr(
        getattr(pytest.importorskip("torch.distributed.fsdp"), "FSDPModule", None),
        "set_custom_reduce_scatter"):
    pytest.skip("this PyTorch has no fully_shard() that lets others sum; scripts/fsdp-check "
                "brings one", allow_module_level=True)

from test_torch import HERE, run, weights  # noqa: E402


def train(folder, codec, of_weights, *arguments, processes=4):
    """Run the program in all processes; returns what rank 0 printed, as numbers."""
    output = run(HERE / "fsdp_program.py", codec, of_weights, arguments[0], str(folder),
                 *arguments[1:], processes=processes)
    return [float(number) for number in output.split()]


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("codec, of_weights", [
    ("thc", "none"), ("thc", "packed:bits=8"), ("packed:bits=5", "thc:levels=full"),
    ("thc:error_feedback=on", "none")])
def test_training_goes_on(codec, of_weights, processes, tmp_path):
    first, last, sent = train(tmp_path, codec, of_weights, "60", processes=processes)
    assert last < 0.95 * first
    assert sent > 0
    assert len({weights(tmp_path, rank, "seen") for rank in range(processes)}) == 1



def test_raw_sums_are_as_pytorch_s(tmp_path):
    plain = train(tmp_path, "none", "none", "20")
    raw = train(tmp_path, "raw", "raw", "20")
    assert raw[:2] == pytest.approx(plain[:2], rel=1e-4)


def test_compressed_gradients_are_fewer_bytes(tmp_path):
    sent = {codec: train(tmp_path, codec, "none", "10")[2] for codec in ("raw", "thc")}
    assert sent["thc"] < 0.3 * sent["raw"]


@pytest.mark.parametrize("of_weights", ["none", "packed:bits=8"])
def test_a_checkpoint_goes_on_with_the_same_bits(of_weights, tmp_path):
    arguments = ("signcount:error_feedback=on", of_weights, "20")
    train(tmp_path, *arguments, "save", "10", processes=2)
    wanted = weights(tmp_path, 0)
    train(tmp_path, *arguments, "load", processes=2)
    assert weights(tmp_path, 0) == wanted


# By case the weights' codec of each of two processes, and what each gets.
AGREEMENTS = """
import os, re, torch, torch.distributed as dist, cohom.torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
dist.init_process_group("gloo")
model = torch.nn.Linear(8, 8)
fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
cannot = "RuntimeError: process 1 cannot compress gradients: .*take a codec without error feedback"
for case in (((None, cannot), ("thc:error_feedback=on", "Error: .*without error feedback")),
             ((None, "weights=None"), ("raw", "process 1 would .*weights=raw")),
             ((None, "^$"), (None, "^$"))):
    weights, wanted = case[dist.get_rank()]
    said = ""
    try:
        cohom.torch.compress(model, weights=weights)
        model(torch.ones(1, 8)).sum().backward()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    assert re.search(wanted, said), (wanted, said)
"""


def test_all_processes_compress_alike_or_none():
    run("-c", AGREEMENTS, processes=2)
