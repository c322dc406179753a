"""The ways in which gradients are summed, each by its name on the command line.

  none          not at all: the time of the computation
  f32           torch's DistributedDataParallel as it is, on gloo
  fp16          torch's hook of that name
  powersgd      torch's hook of that name, rank 4; a collective has ended before the next begins
  mpi           MPI_Allreduce of float32, by a thread of its own
  SPEC          cohom's hook with that codec, such as thc or packed:bits=5
  SPEC@lanes    the same, and sums of integers by one all_reduce wherever there are some
  SPEC@drop-in  mpi, whose MPI_Allreduce the drop-in library compresses
  SPEC@daemon   the same, summed by a daemon on the switch
  SPEC@switch   the same, summed by the switch's kernel
"""

import queue
import threading

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

OVER_MPI = ("drop-in", "daemon", "switch")
SUFFIXES = ("lanes", *OVER_MPI)
PLAIN = ("none", "f32", "fp16", "powersgd", "mpi")
POWERSGD_RANK = 4
POWERSGD_BEGINS = 2  # steps that go uncompressed before, the least that torch allows


class _Synchronous:
    """torch.distributed for PowerSGD's hook: a collective has ended before the hook goes on.

    The hook starts some in callbacks, which gloo's threads may call in another order on each rank:
    as it is, it ends in an error of gloo's.
    """

    def __getattr__(self, name):
        return getattr(dist, name)

    def all_reduce(self, tensor, group, async_op):
        """Make a tensor its sum over ranks; returns what get_future() of a result gives."""
        del async_op
        dist.all_reduce(tensor, group=group)
        return self._Done(tensor)

    class _Done:
        def __init__(self, tensor):
            self._tensor = tensor

        def get_future(self):
            """Return a future that has the tensor, in a list."""
            future = torch.futures.Future()
            future.set_result([self._tensor])
            return future


class MpiHook:
    """The mean of buckets by MPI_Allreduce, in their order, beside the backward pass."""

    def __init__(self):
        from mpi4py import MPI

        self.__name__ = self.__qualname__ = "mpi"  # DDP reads it
        self._mpi = MPI
        self._communicator = MPI.COMM_WORLD.Dup()
        self._queue = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def __call__(self, _state, bucket):
        """Start a bucket's sum; returns a future of its mean."""
        future = torch.futures.Future()
        self._queue.put((bucket.buffer(), future))
        return future

    def reduce(self, gradient):
        """Make a tensor its mean over ranks. Collective."""
        self._communicator.Allreduce(self._mpi.IN_PLACE, gradient.numpy())
        gradient.div_(self._communicator.Get_size())

    def _work(self):
        while True:
            gradient, future = self._queue.get()
            try:
                self.reduce(gradient)
                future.set_result(gradient)
            except BaseException as error:  # whoever waits for it gets it
                future.set_exception(error)


def keep_local(_state, bucket):
    """Return a future of the bucket as it is."""
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def mean_by_gloo(gradient, dtype=None):
    """Make a tensor its mean over ranks, sent as `dtype`."""
    sent = gradient if dtype is None else gradient.to(dtype)
    dist.all_reduce(sent.div_(dist.get_world_size()))
    if dtype is not None:
        gradient.copy_(sent)


def wrap(model, way, bucket_mib):
    """Return the model under DistributedDataParallel, and what sums one bucket alone, or None.

    The latter takes a flat tensor and the number of the call. Collective.
    """
    model = DistributedDataParallel(model, bucket_cap_mb=bucket_mib)
    if way == "none":
        model.register_comm_hook(None, keep_local)
        return model, None
    if way == "f32":
        return model, lambda gradient, _: mean_by_gloo(gradient)
    if way == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        return model, lambda gradient, _: mean_by_gloo(gradient, torch.float16)
    if way == "powersgd":
        powerSGD_hook.dist = _Synchronous()
        model.register_comm_hook(
            powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=POWERSGD_RANK,
                                        start_powerSGD_iter=POWERSGD_BEGINS),
            powerSGD_hook.powerSGD_hook)
        return model, None
    spec, _, suffix = way.partition("@")
    if way == "mpi" or suffix in OVER_MPI:
        hook = MpiHook()
        model.register_comm_hook(None, hook)
        return model, lambda gradient, _: hook.reduce(gradient)
    import cohom.torch

    hook = cohom.torch.compress(model, spec, **({"all_to_all": False} if suffix else {}))
    return model, lambda gradient, call: hook.reduce(gradient, (("all", gradient.numel()),), call)


def check(way):
    """Raise ValueError for a name that is none; codecs are checked by the library."""
    spec, at, suffix = way.partition("@")
    if at and (suffix not in SUFFIXES or spec in PLAIN):
        raise ValueError(f"way is {way!r}; behind @ there should be one of " + ", ".join(SUFFIXES)
                         + ", and a codec before it")
    if suffix in OVER_MPI and "error_feedback=on" in spec:
        raise ValueError(f"way is {way!r}; error feedback needs names for buffers, which calls of "
                         "MPI_Allreduce lack")
    if not spec:
        raise ValueError("a way is empty; it should be a codec or one of " + ", ".join(PLAIN))
