"""cohom: sums of vectors over ranks that stay compressed from the first rank to the last.

`allreduce(array, comm, codec="thc")` sums NumPy arrays, tensors and other buffers over the ranks of
an mpi4py communicator; `reduce_scatter` and `allgather` are its halves. `cohom.torch` does the same
for a model's gradients, over the process group that the model has. `Rounds` is the codec alone: it
says what to reduce, and any library does it.
"""

from ._native import Error, codecs, version
from .mpi import allgather, allreduce, reduce_scatter
from .rounds import Rounds, Step

__all__ = ["Error", "Rounds", "Step", "allgather", "allreduce", "codecs", "reduce_scatter",
           "version"]
__version__ = version()
