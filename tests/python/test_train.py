"""Training programs that nobody changes, by cohom.train: what they compute, and what is refused."""

import re

import pytest

torch = pytest.importorskip("torch")

from test_torch import HERE, run_all, weights  # noqa: E402

PROGRAM = HERE / "plain_training.py"
BY_THC = ("-m", "cohom.train", "thc")
VERSION = [int(word) for word in re.findall(r"\d+", torch.__version__)[:2]]
# By rank another codec, or rank 0 alone compresses.
UNLIKE = """
import os, runpy, sys
from cohom import train, unchanged
import datetime
unchanged._PATIENCE = datetime.timedelta(seconds=3)
if os.environ["RANK"] == "0" or sys.argv[1] != "none":
    sys.argv[1] = "thc" if os.environ["RANK"] == "0" else sys.argv[1]
    train.main()
else:
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def train(folder, *front, kind="", processes=2, **variables):
    """Run the program behind some words; returns each process's status and errors."""
    return [(status, errors) for status, _, errors in run_all(
        *front, PROGRAM, folder / "weights", 20, kind, processes=processes,
        new="COHOM_TORCH" in variables, **variables)]


def trained(folder, *front, **settings):
    """Run the program; returns the weights, alike in all processes, and what was said of it."""
    folder.mkdir(exist_ok=True)
    done = train(folder, *front, **settings)
    assert [status for status, _ in done] == [0] * len(done), done
    assert len({weights(folder, rank) for rank in range(len(done))}) == 1
    state = torch.load(folder / "weights-0")
    return (torch.cat([each.flatten() for each in state.values()]),
            "".join(errors for _, errors in done))


def test_gradients_are_compressed_and_one_line_says_so(tmp_path):
    plain, _ = trained(tmp_path / "plain")
    raw, _ = trained(tmp_path / "raw", "-m", "cohom.train", "raw")
    coarse, said = trained(tmp_path / "thc", *BY_THC)
    assert said.count("cohom: gradients of Sequential travel compressed by thc\n") == 1, said
    assert "could be compressed" not in said
    assert torch.allclose(raw, plain, atol=1e-5)
    error = (coarse - plain).norm() / plain.norm()
    assert 1e-6 < error < 0.1, error


def test_models_of_one_class_have_numbers(tmp_path):
    _, said = trained(tmp_path, *BY_THC, kind="two")
    for name in ("Sequential", "Sequential 2"):
        assert said.count(f"gradients of {name} travel compressed by thc\n") == 1, said


@pytest.mark.parametrize("codec, advised", [
    ("signcount", "signcount:error_feedback=on"),
    ("signcount:vote=majority", "signcount:vote=majority,error_feedback=on"),
    ("signcount:error_feedback=on", ""), ("signcount:error_feedback=off", "")])
def test_signs_without_error_feedback_are_advised_against(codec, advised, tmp_path):
    _, said = trained(tmp_path, "-m", "cohom.train", codec)
    assert ("with error feedback, or worse: try" in said) == bool(advised), said
    assert advised in said


def test_modules_are_programs_too(tmp_path):
    trained(tmp_path, *BY_THC)
    by_path = weights(tmp_path, 0)
    done = run_all(*BY_THC, "-m", "plain_training", tmp_path / "weights", 20, processes=2,
                   PYTHONPATH=f"{HERE.parents[1] / 'python'}:{HERE}")
    assert [status for status, _, _ in done] == [0, 0], done
    assert weights(tmp_path, 0) == by_path


def test_a_hook_of_the_program_is_refused(tmp_path):
    for status, errors in train(tmp_path, *BY_THC, kind="hook"):
        assert status != 0
        assert "gives Sequential a communication hook, and its gradients are compressed" in errors


@pytest.mark.parametrize("kind, why", [
    ("part", "gradients of Sequential travel uncompressed: its process group is only a part"),
    ("copy", "gradients of a copy of Sequential travel uncompressed"),
    ("sparse", "gradients of Sequential travel uncompressed: some are sparse"),
    ("none", "made no model whose gradients could be compressed")])
def test_what_is_left_to_pytorch_is_said(kind, why, tmp_path):
    done = train(tmp_path, *BY_THC, kind=kind, processes=3 if kind == "part" else 2)
    assert {status for status, _ in done} == {0}, done
    assert sum(errors.count(why) for _, errors in done) == 1, done


@pytest.mark.parametrize("other, said", [
    ("raw", "process 1 would compress the gradients of Sequential by raw, and process 0 by thc"),
    ("none", "process 1 does not compress the gradients of Sequential, and process 0 does")])
def test_processes_that_differ_are_an_error(other, said, tmp_path):
    (status, errors), (other_status, _) = train(tmp_path, "-c", UNLIKE, other)
    assert status != 0
    assert other_status != 0
    assert said in errors


@pytest.mark.parametrize("words, said", [
    (["thcc", PROGRAM], "CODEC: .*thcc"), (["thc", "no.py"], "PROGRAM is 'no.py'; it should be a"),
    ([], "usage: python -m cohom.train CODEC PROGRAM"), ([PROGRAM], "CODEC: .*plain_training"),
    ([PROGRAM, "--epochs", "3"], "CODEC: .*plain_training"),
    (["thc"], "there is nothing behind 'thc'; it should be"), (["thc", "-m"], "behind 'thc -m'"),
    (["thc", "-m", "no_module"], "MODULE is 'no_module'; it should be one"),
    (["thc", "-m", "no.module"], "MODULE is 'no.module'; it should be one")])
def test_the_command_line_says_what_is_wrong(words, said):
    (status, _, errors), = run_all("-m", "cohom.train", *words, processes=1, new=True)
    assert status == 2
    assert re.search(said, errors), errors
    assert "Traceback" not in errors


@pytest.fixture
def installed(tmp_path):
    """Return where Python finds a package that offers what cohom's wheel does."""
    offer = tmp_path / "packages" / "cohom-0.dist-info"
    offer.mkdir(parents=True)
    (offer / "METADATA").write_text("Metadata-Version: 2.1\nName: cohom\nVersion: 0\n")
    (offer / "entry_points.txt").write_text("[torch.backends]\ncohom = cohom_autoload:autoload\n")
    return f"{HERE.parents[1] / 'python'}:{offer.parent}"


@pytest.mark.skipif(VERSION < [2, 5], reason="this PyTorch does not ask packages")
class TestOfAVariable:
    def test_it_is_enough(self, tmp_path, installed):
        by_line, _ = trained(tmp_path / "line", *BY_THC)
        by_variable, said = trained(tmp_path / "variable", COHOM_TORCH="thc", PYTHONPATH=installed)
        assert said.count("compressed by thc") == 1
        assert torch.equal(by_variable, by_line)

    def test_the_line_may_say_the_same(self, tmp_path, installed):
        _, said = trained(tmp_path, *BY_THC, COHOM_TORCH="thc", PYTHONPATH=installed)
        assert said.count("compressed by thc") == 1

    @pytest.mark.parametrize("module", ["torch", "cohom", "cohom.torch", "cohom.fsdp",
                                        "cohom.train", "cohom.unchanged"])
    def test_any_module_may_come_first(self, module, installed):
        (status, _, errors), = run_all("-c", f"import {module}, torch", processes=1, new=True,
                                       COHOM_TORCH="thc", PYTHONPATH=installed)
        assert status == 0, errors

    def test_a_wrong_codec_is_named_with_it(self, installed):
        (status, _, errors), = run_all("-c", "import torch", processes=1, new=True,
                                       COHOM_TORCH="thcc", PYTHONPATH=installed)
        assert status != 0
        assert "COHOM_TORCH is 'thcc': " in errors
