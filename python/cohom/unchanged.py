"""Models of DistributedDataParallel in programs that nobody changes: their gradients compressed.

PyTorch is imported within functions, as its own import may be what imports this.
"""

import collections
import datetime
import functools
import sys
import weakref
from typing import TYPE_CHECKING, Any

from .agreement import Agreement
from .rounds import Rounds

if TYPE_CHECKING:
    from torch.nn.parallel import DistributedDataParallel

# How long processes may differ in making a model, which they do together.
_PATIENCE = datetime.timedelta(seconds=60)
_ADVICE = "start all of them with the same COHOM_TORCH or cohom.train, and with cohom installed"
_BUCKET_HOOKS = ("register_comm_hook", "_register_builtin_comm_hook")


class Compressing:
    """What was installed in this process. `models`: how many compress their gradients so far."""

    codec = ""
    models = 0
    _advice = ""
    _seen: "collections.Counter[str]" = collections.Counter()  # models by class
    names: "weakref.WeakKeyDictionary[DistributedDataParallel, str]" = (
        weakref.WeakKeyDictionary())  # of models that compress

    def begin(self, codec: str) -> None:
        """Set the codec; raises cohom.Error where there is no such one."""
        rounds = Rounds(codec, 1 << 12, "float32", 0, 1)
        self.codec = codec
        if (codec.split(":")[0] == "signcount" and not rounds.state and
                "error_feedback" not in codec):
            self._advice = "; it may learn better with error feedback, or worse: try " + (
                f"{codec}{',' if ':' in codec else ':'}error_feedback=on")

    def add(self, model: "DistributedDataParallel") -> None:
        """Compress a new model's gradients, if that can be. Collective."""
        from .torch import compress
        name = self._name(model)
        why_not = _why_not(model)
        if why_not:
            _tell(model, f"gradients of {name} travel uncompressed: {why_not}")
            return
        # Without it a process would only hang.
        Agreement(f"compress the gradients of {name}", self.codec, _ADVICE).reach(_PATIENCE)
        compress(model, self.codec)
        self.models += 1
        self.names[model] = name
        _tell(model, f"gradients of {name} travel compressed by {self.codec}{self._advice}")

    def _name(self, model: "DistributedDataParallel") -> str:
        """Return what messages call a new model: its class, and from the second on a number."""
        name = type(model.module).__name__
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name} {self._seen[name]}"

    def has(self, model: "DistributedDataParallel") -> bool:
        """Return whether a model's gradients are compressed by what was installed."""
        return model in self.names


compressing = Compressing()


def install(codec: str) -> None:
    """Have each DistributedDataParallel that is made from now on compress by a codec.

    Raises cohom.Error where there is no such codec, and ValueError where another one is installed.
    A model that cannot be compressed is left to PyTorch, and one line says so. One that can raises
    RuntimeError where the program gives it a communication hook: it can have one.
    """
    import torch  # noqa: F401  # which may install one first
    if compressing.codec:
        if codec != compressing.codec:
            raise ValueError(f"codec is {codec}, and {compressing.codec} is installed already; "
                             "they should be the same")
        return
    compressing.begin(codec)  # says what is wrong before there is a model
    _extend("__init__", lambda model, _result: compressing.add(model))
    _extend("__setstate__", lambda model, _result: _tell(
        model, f"gradients of a copy of {type(model.module).__name__} travel uncompressed"))
    _extend("__getstate__", _without_hook)
    for name in _BUCKET_HOOKS:
        _refuse(name)


def _extend(name: str, then: Any) -> None:
    """Have a method of all models followed by a function; what that returns takes its place."""
    from torch.nn.parallel import DistributedDataParallel
    method = getattr(DistributedDataParallel, name)

    @functools.wraps(method)
    def extended(model: "DistributedDataParallel", *arguments: Any, **options: Any) -> Any:
        return then(model, method(model, *arguments, **options))

    setattr(DistributedDataParallel, name, extended)


def _refuse(name: str) -> None:
    """Have a method raise for models that are compressed."""
    from torch.nn.parallel import DistributedDataParallel
    method = getattr(DistributedDataParallel, name)

    @functools.wraps(method)
    def refused(model: "DistributedDataParallel", *arguments: Any, **options: Any) -> Any:
        if compressing.has(model):
            raise RuntimeError(f"the program gives {compressing.names[model]} a communication "
                               f"hook, and its gradients are compressed by {compressing.codec}; "
                               "start it without cohom.train and COHOM_TORCH, or without its hook")
        return method(model, *arguments, **options)

    setattr(DistributedDataParallel, name, refused)


def _without_hook(model: "DistributedDataParallel", state: Any) -> Any:
    """Return a model's state for a copy or a file, which should need no cohom to be read."""
    if compressing.has(model) and "_comm_hooks" in state:
        state["_comm_hooks"] = []
    return state


def _why_not(model: "DistributedDataParallel") -> str:
    """Return why a model's gradients cannot be compressed, or nothing."""
    import torch.distributed as dist

    from .torch import has_hook, sparse_module, unknown_type
    if dist.get_world_size(model.process_group) != dist.get_world_size():
        return "its process group is only a part of all processes"
    if has_hook(model):
        return "PyTorch gave it a communication hook, as for mixed_precision"
    if not hasattr(model, "reducer"):
        return "PyTorch sums them in another way"
    if sparse_module(model):
        return "some are sparse"
    return unknown_type(model)


def _tell(model: "DistributedDataParallel", text: str) -> None:
    import torch.distributed as dist
    if dist.get_rank(model.process_group) == 0:
        print(f"cohom: {text}", file=sys.stderr)
