"""Gradients of DistributedDataParallel in four processes over gloo."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from ports import free_port  # noqa: E402
from ready_python import run_ready  # noqa: E402

PROCESSES = 4


def run_all(*words, processes=PROCESSES, new=False, **variables):
    """Run python with these words in all processes; returns their statuses, outputs and errors.

    new: in new interpreters, which have not imported PyTorch yet.
    """
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "python"), **variables,
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
                   "WORLD_SIZE": str(processes)}
    environments = [{**environment, "RANK": str(rank)} for rank in range(processes)]
    if not new:
        return run_ready(words, environments, timeout=150)
    ranks = [subprocess.Popen([sys.executable, *map(str, words)], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
             for environment in environments]
    outputs = [rank.communicate(timeout=150) for rank in ranks]
    return [(rank.returncode, *output) for rank, output in zip(ranks, outputs)]


def run(*words, processes=PROCESSES, **variables):
    """Run a program in all processes; returns what rank 0 printed."""
    done = run_all(*words, processes=processes, **variables)
    assert [status for status, _, _ in done] == [0] * processes, done
    return done[0][1]


def train(folder, *arguments, processes=PROCESSES, **variables):
    """Run the program in all processes; returns what rank 0 printed, as numbers."""
    output = run(HERE / "torch_program.py", *arguments[:2], str(folder), *arguments[2:],
                 processes=processes, **variables)
    return [float(number) for number in output.split()]


def weights(folder, rank, of="weights"):
    """Return all weights of a process as bytes."""
    return b"".join(each.cpu().numpy().tobytes()
                    for each in torch.load(folder / f"{of}-{rank}").values())


@pytest.mark.parametrize("codec", ["packed:bits=5", "lowrank:error_feedback=on"])
def test_training_goes_on_and_ranks_stay_alike(codec, tmp_path):
    first, last, sent = train(tmp_path, codec, "60")
    assert last < 0.95 * first
    assert sent > 0
    assert len({weights(tmp_path, rank) for rank in range(PROCESSES)}) == 1


# scripts/gpu-check runs it. NCCL has one process a device, so that it gets one here.
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no device")
@pytest.mark.parametrize("backend, processes", [("gloo", 2), ("nccl", 1)])
@pytest.mark.parametrize("codec", ["thc", "packed:bits=5", "signcount:error_feedback=on"])
def test_a_model_on_a_device(codec, backend, processes, tmp_path):
    first, last, sent = train(tmp_path, codec, "60", processes=processes, TEST_DEVICE="cuda:0",
                              TEST_BACKEND=backend)
    assert last < 0.95 * first
    assert sent > 0 or processes == 1
    assert len({weights(tmp_path, rank) for rank in range(processes)}) == 1


def test_compressed_gradients_are_fewer_bytes(tmp_path):
    sent = {codec: train(tmp_path, codec, "10")[2] for codec in ("raw", "thc")}
    assert sent["thc"] < 0.4 * sent["raw"]


@pytest.mark.parametrize("codec", ["signcount:error_feedback=on", "lowrank:error_feedback=on"])
def test_a_checkpoint_goes_on_with_the_same_bits(codec, tmp_path):
    train(tmp_path, codec, "20", "save", "10", processes=2)
    wanted = weights(tmp_path, 0)
    train(tmp_path, codec, "20", "load", processes=2)
    assert weights(tmp_path, 0) == wanted


@pytest.mark.parametrize("codec, processes, most_error, most_bytes",
                         [("thc", 2, 0.02, 1_100_000), ("packed:bits=5", 3, 0.003, 1 << 20),
                          ("raw", 3, 1e-12, 1 << 23)])
def test_the_example_over_torch_distributed(codec, processes, most_error, most_bytes):
    said = run(HERE.parents[1] / "examples/rounds_torch.py", codec, processes=processes)
    found = re.fullmatch(rf"mean of {processes} processes by {codec}: gave (\d+) bytes, "
                         r"vNMSE (\S+)\n", said)
    assert found, said
    assert 0 < int(found[1]) <= most_bytes, said
    assert float(found[2]) < most_error, said


# The hook's last owner is its own thread, which goes on for a second; what is registered first for
# the end of a process runs last.
FORGETS_ITS_HOOK = """
import atexit, time, weakref
threads = []
atexit.register(lambda: print("ended" if not threads[0].is_alive() else "runs"))
import torch
import torch.distributed as dist
import cohom.torch
dist.init_process_group("gloo")
hook = cohom.torch.Hook("thc")
threads.append(hook._thread)
class Ready:
    def synchronize(self):
        self.hook = self.hook_of()
        time.sleep(0.2)
        del self.hook
        time.sleep(1)
ready = Ready()
ready.hook_of = weakref.ref(hook)
hook._queue.put((None, (), 0, ready, torch.futures.Future()))
time.sleep(0.2)
del hook
time.sleep(0.6)
"""


def test_a_thread_that_ends_its_hook_is_waited_for():
    assert run("-c", FORGETS_ITS_HOOK, processes=1, new=True) == "ended\n"


# Gloo's threads hold tensors for a moment after a collective, and can give back those on memory of
# Python's only while there is an interpreter.
COUNTS_ITS_THREADS = """
import atexit, os, sys
def threads():
    return set(os.listdir("/proc/self/task"))
of_hook = set()
atexit.register(lambda: print(len(of_hook & threads())))
import torch
import torch.distributed as dist
import cohom.torch
torch.set_num_threads(1)
dist.init_process_group("gloo")
dist.barrier()
before = threads()
hook = cohom.torch.Hook("thc")
hook.reduce(torch.ones(1 << 16), (("all", 1 << 16),), 0)
hook.reduce(torch.ones(100), (("few", 100),), 1)
of_hook.update(threads() - before)
assert len(of_hook) > 2, of_hook  # its own, and gloo's
"""


@pytest.mark.parametrize("last", ["", "dist.destroy_process_group()", "del hook", "sys.exit(0)"])
def test_threads_of_a_hook_end_before_the_interpreter(last):
    assert run("-c", COUNTS_ITS_THREADS + last, processes=2, new=True) == "0\n"


# A forked process has no such threads, for which it would wait for ever, as it does by PyTorch 1.13
# alone.
FORKS = """
child = os.fork()
if child == 0:
    of_hook.clear()
    sys.stdout = sys.stderr
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(torch.__version__.startswith("1."), reason="this PyTorch hangs there by itself")
def test_a_forked_process_ends():
    assert run("-c", COUNTS_ITS_THREADS + FORKS, processes=2, new=True) == "0\n"


# A process may make groups again and again.
STARTS_AGAIN = """
import gc, os, tempfile
import torch.distributed as dist
import cohom.torch
counts = []
for turn in range(2):
    dist.init_process_group("gloo", init_method=f"file://{tempfile.mktemp()}", rank=0, world_size=1)
    hook = cohom.torch.Hook("thc")
    del hook
    dist.destroy_process_group()
    gc.collect()
    counts.append(len(os.listdir("/proc/self/task")))
assert counts[0] == counts[1], counts
"""


def test_threads_of_a_hook_end_with_its_group():
    run("-c", STARTS_AGAIN, processes=1)


# A program that makes many models closes their hooks.
CLOSES = """
import gc, os, time, torch, torch.distributed as dist, cohom.torch
dist.init_process_group("gloo")
counts = []
def threads():
    return len(os.listdir("/proc/self/task"))
for turn in range(4):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 100))
    hook = cohom.torch.compress(model)
    model(torch.ones(1, 100)).sum().backward()
    hook.close()
    try:
        model(torch.ones(1, 100)).sum().backward()
    except RuntimeError as error:
        assert "the hook was closed" in str(error), error
    else:
        raise AssertionError("gradients are summed by a hook that was closed")
    hook.close()  # is over
    del model, hook
    gc.collect()
    end = time.monotonic() + (10 if turn > 1 else 1)
    while time.monotonic() < end and not (turn > 1 and threads() <= counts[1]):
        time.sleep(0.05)
    counts.append(threads())
assert max(counts[2:]) <= counts[1], counts
"""


def test_a_hook_can_be_closed():
    run("-c", CLOSES, processes=2)


COPIES = """
import copy, torch, torch.distributed as dist, cohom.torch
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 100))
hook = cohom.torch.compress(model)
for each in (copy.deepcopy(model), saved_and_loaded(model)):
    each(torch.ones(1, 100)).sum().backward()
    assert hook.collectives.sent == 0
    cohom.torch.compress(each)
    each(torch.ones(1, 100)).sum().backward()
model(torch.ones(1, 100)).sum().backward()
assert hook.collectives.sent != 0
"""
SAVED = """
def saved_and_loaded(model):
    import io, torch
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    options = {} if torch.__version__.startswith("1.") else {"weights_only": False}
    return torch.load(file, **options)
"""


def test_a_compressed_model_can_be_copied_and_saved():
    run("-c", SAVED + COPIES, processes=2)


# By error feedback a parameter's bytes stay its own when DDP makes other buckets.
def test_error_feedback_follows_its_parameter(tmp_path):
    program = """
import torch, torch.distributed as dist, cohom.torch
dist.init_process_group("gloo")
hook = cohom.torch.Hook("signcount:error_feedback=on")
torch.manual_seed(dist.get_rank())
hook.reduce(torch.randn(12000), (("a", 5000), ("b", 7000)), 0)
before = hook.state_dict()["feedback"]
assert len(before["a"]) == 20000 and len(before["b"]) == 28000 and any(before["a"])
hook._rounds_of(torch.zeros(12001), (("c", 1), ("b", 7000), ("a", 5000)))
after = hook.state_dict()["feedback"]
assert after["a"] == before["a"] and after["b"] == before["b"] and not any(after["c"])
hook._rounds_of(torch.zeros(6000), (("a", 6000),))  # another parameter of that name
assert hook.state_dict()["feedback"]["a"] == bytes(24000)
"""
    run("-c", program, processes=2)


# Parameters have numbers then; buckets are made anew behind the first step.
UNNAMED = """
import torch, torch.distributed as dist, cohom.torch
dist.init_process_group("gloo")
layers = [torch.nn.Linear(64, 64 + 8 * (number % 2)) if number % 2 == 0 else
          torch.nn.Linear(64, 64) for number in range(6)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.05)
hook = cohom.torch.Hook("signcount:error_feedback=on", smallest=100)
model.register_comm_hook(None, hook)
for step in range(4):
    model(torch.ones(1, 64)).sum().backward()
sizes = sorted(len(each) for each in hook.state_dict()["feedback"].values())
assert sizes == sorted(4 * each.numel() for each in model.parameters()), sizes
"""


def test_parameters_without_names_have_error_feedback():
    run("-c", UNNAMED, processes=2)


# The program's own timeout holds for sums of gradients, too.
TIMEOUT = """
import datetime, os, time, torch, torch.distributed as dist, cohom.torch
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 100))
cohom.torch.compress(model)
begin = time.monotonic()
done = os.environ["DONE"]
if dist.get_rank() == 1:
    while not os.path.exists(done) and time.monotonic() < begin + 100:
        time.sleep(0.1)
    os._exit(0)
status = 1
try:
    model(torch.ones(1, 100)).sum().backward()
except RuntimeError:
    status = 0 if 15 < time.monotonic() - begin < 90 else 2
open(done, "w").close()
os._exit(status)
"""


def test_the_timeout_is_that_of_the_process_group(tmp_path):
    run("-c", TIMEOUT, processes=2, DONE=str(tmp_path / "done"))


@pytest.mark.parametrize("kind, wanted", [
    ("complex", "TypeError: the gradient of weight is of torch.complex64; it should be of float32"),
    ("sparse", "ValueError: the gradient of 0 is sparse; it should be made with sparse=False")])
def test_gradients_that_have_no_codec_are_refused(kind, wanted):
    program = """
import sys, torch, torch.distributed as dist, cohom.torch
dist.init_process_group("gloo")
model = (torch.nn.Linear(4, 4, dtype=torch.complex64) if sys.argv[1] == "complex" else
         torch.nn.Sequential(torch.nn.Embedding(4, 4, sparse=True)))
class Bare(torch.nn.parallel.DistributedDataParallel):
    def __init__(self, model):
        torch.nn.Module.__init__(self)
        self.module, self.process_group = model, dist.distributed_c10d._get_default_group()
    def named_parameters(self):
        return self.module.named_parameters()
    def named_modules(self):
        return self.module.named_modules()
try:
    cohom.torch.compress(Bare(model))
except (TypeError, ValueError) as error:
    print(f"{type(error).__name__}: {error}")
"""
    assert run("-c", program, kind, processes=1).startswith(wanted)


@pytest.mark.parametrize("ranks", [2, 3])
def test_over_mpi_bits_are_those_over_gloo(ranks):
    pytest.importorskip("mpi4py")
    root = HERE.parents[1]
    done = subprocess.run(
        [str(root / "scripts" / "with-env"), "mpirun", "-n", str(ranks), sys.executable, "-m",
         "mpi4py", str(HERE / "mpi_torch_program.py")], capture_output=True, text=True, check=False,
        timeout=150, env={**os.environ, "PYTHONPATH": str(root / "python"),
                          "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        *(f"{codec} True True True" for codec in
          ("thc", "packed:bits=5", "signcount:error_feedback=on")),
        f"comm has rank 0 of 1 here, and this is process 0 of {ranks}; they should be the same"]


def test_a_model_that_is_no_ddp_is_refused():
    import cohom.torch
    with pytest.raises(TypeError, match="model is a Linear; it should be a Distributed"):
        cohom.torch.compress(torch.nn.Linear(2, 2))


# By case what each of two processes gives compress(), and a pattern of what it gets.
AGREEMENTS = """
import datetime, re, sys, time, torch, torch.distributed as dist, cohom.torch
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=int(sys.argv[1])))
rank = dist.get_rank()
BOGUS = "Error: .*bogus.* is unknown"
CASES = {"20": (
    (({"codec": "bogus"}, BOGUS), ({"codec": "bogus"}, BOGUS)),
    (({"codec": None}, "TypeError: codec is None; it should be a spec"),
     ({}, "RuntimeError: process 0 cannot compress gradients: codec is None")),
    (({}, "RuntimeError: process 1 cannot compress gradients: smallest is -5; it should not"),
     ({"smallest": -5}, "ValueError: smallest is -5")),
    (({}, "RuntimeError: process 1 would .* by raw, .* process 0 by thc, .*; they should be the s"),
     ({"codec": "raw"}, "RuntimeError: process 1 would .* by raw, .* process 0 by thc")),
    (({"smalest": 3}, "TypeError: .*smalest"), ({}, "RuntimeError: process 0 cannot .*smalest")),
    (({}, "RuntimeError: process 1 cannot .*: model has a communication hook already"),
     ({"hooked": True}, "ValueError: model has a communication hook already; it can have one")),
    (({}, "RuntimeError: process 1 cannot .*: model is a Linear"),
     ({"bare": True}, "TypeError: model is a Linear")),
    (({}, "^$"), ({"late": 1}, "^$")), (({"late": 1}, "^$"), ({}, "^$"))),
  "3": (  # who comes when others have given up does not go on alone
    (({}, "RuntimeError: process 1 does not compress gradients, and process 0 does"),
     ({"late": 5}, "RuntimeError: process 1 does not compress gradients, and process 0 does")),
    (({"late": 5}, "RuntimeError: process 0 does not compress gradients, and process 1 does"),
     ({}, "RuntimeError: process 0 does not compress gradients, and process 1 does")))}
for case in CASES[sys.argv[1]]:
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    if "hooked" in case[1][0] and not hasattr(model, "_comm_hooks"):
        continue  # PyTorch 1.13 does not say whether a model has one
    options, wanted = case[rank]
    time.sleep(options.pop("late", 0))
    if options.pop("hooked", False):
        model.register_comm_hook(None, lambda _, bucket: None)
    if options.pop("bare", False):
        model = model.module
    said = ""
    try:
        cohom.torch.compress(model, **options)
        model(torch.ones(1, 2)).sum().backward()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    assert re.search(wanted, said), (wanted, said)
    time.sleep(0.2)
"""


def test_all_processes_compress_alike_or_none():
    done = run_all("-c", AGREEMENTS, "20", processes=2)
    assert [status for status, _, _ in done] == [0, 0], done


def test_processes_that_come_too_late_do_not_compress_alone():
    done = run_all("-c", AGREEMENTS, "3", processes=2)
    assert [status for status, _, _ in done] == [0, 0], done
    for waiting, late in ((0, 1), (1, 0)):
        assert (f"process {waiting} waits for process {late}, which does not compress gradients "
                "yet; all processes" in done[waiting][2]), done


# A warm-up in a group of one, before there is the group of all: numbers are the group's.
ANOTHER_GROUP = """
import os, torch, torch.distributed as dist, cohom.torch
def compressed():
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    cohom.torch.compress(model)
    model(torch.ones(1, 2)).sum().backward()
    dist.destroy_process_group()
if os.environ["RANK"] == "0":
    dist.init_process_group("gloo", init_method=f"file://{os.environ['ALONE']}", rank=0,
                            world_size=1)
    compressed()
dist.init_process_group("gloo")
compressed()
"""


def test_processes_may_have_compressed_in_other_groups_before(tmp_path):
    done = run_all("-c", ANOTHER_GROUP, processes=2, ALONE=str(tmp_path / "store"))
    assert [status for status, _, _ in done] == [0, 0], done


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_tensors_are_vectors(dtype):
    import cohom
    tensor = torch.ones(100, dtype=getattr(torch, dtype))
    list(cohom.Rounds("raw", 100, dtype, 0, 1, op="mean").steps(tensor))
    assert bool((tensor == 1).all())
    for odd, text in ((tensor[::2], "strides"), (tensor[:50].to_sparse(), "should be dense"),
                      (torch._neg_view(tensor[:50]), "resolve_neg")):
        with pytest.raises(ValueError, match=text):
            list(cohom.Rounds("raw", 50, dtype, 0, 1).steps(odd))
