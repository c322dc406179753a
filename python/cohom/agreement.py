"""What all processes of PyTorch's default group do together, or none of them.

Without it a process that others wait for in vain makes them hang, without a word.
"""

import datetime
import sys

# A process may be late: others say so after this time, and go on waiting for as long as the
# group's store does (timeout= of init_process_group()).
_UNTIL_WARNED = datetime.timedelta(seconds=60)
_TO_READ = datetime.timedelta(seconds=5)  # what a process says whose end takes the store along
_REFUSED = "!"  # no spec of a codec begins with it


class Agreement:
    """That all processes do `what` ("compress gradients"), by the same `how` ("thc").

    All of them make it, in the same order, and then either refuse or reach it. advice: what is to
    be done about a process that does not.
    """

    _made = 0

    def __init__(self, what: str, how: str, advice: str) -> None:
        import torch.distributed as dist
        self._what, self._how, self._advice = what, how, advice
        self._rank, self._ranks = dist.get_rank(), dist.get_world_size()
        # It has what a process says even where no other one ever comes. MPI's backend has none.
        self._store = dist.distributed_c10d._get_default_store()
        self._prefix = f"cohom/{Agreement._made}"
        Agreement._made += 1

    def refuse(self, error: Exception) -> None:
        """Let the others know that this process raises `error`."""
        self._say(_REFUSED + str(error))
        self._end_reading()
        self._let_others_read()

    def reach(self, patience: datetime.timedelta | None = None) -> None:
        """Wait for all others. Raises RuntimeError where one differs, refuses, or does not come.

        patience: until it has not come; by default what the store has, after a line on stderr.
        """
        self._say(self._how)
        if self._store is None:
            return
        wrong = ""
        for other in range(self._ranks):
            how = self._of(other, patience)
            if how.startswith(_REFUSED):
                wrong = f"process {other} cannot {self._what}: {how.removeprefix(_REFUSED)}"
            elif how != self._how:
                wrong = (f"process {other} would {self._what} by {how}, and process {self._rank} "
                         f"by {self._how}; they should be the same")
            if wrong:
                break
        self._end_reading()
        if wrong:
            self._let_others_read()
            raise RuntimeError(wrong)

    def _say(self, text: str) -> None:
        if self._store is not None:
            self._store.set(f"{self._prefix}/{self._rank}", text)

    def _end_reading(self) -> None:
        if self._store is not None:
            self._store.set(f"{self._prefix}/{self._rank}/read", "")

    def _let_others_read(self) -> None:
        if self._store is None:
            return
        try:
            self._store.wait([f"{self._prefix}/{other}/read" for other in range(self._ranks)],
                             _TO_READ)
        except RuntimeError:
            return  # one has not come, and will hear of it later, if the store is there then

    def _of(self, other: int, patience: datetime.timedelta | None) -> str:
        """Return what another process says, as soon as it does."""
        key = f"{self._prefix}/{other}"
        try:
            self._wait(key, other, patience)
        except RuntimeError as error:
            raise RuntimeError(f"process {other} does not {self._what}, and process {self._rank} "
                               f"does, by {self._how}; {self._advice}") from error
        return str(self._store.get(key).decode())

    def _wait(self, key: str, other: int, patience: datetime.timedelta | None) -> None:
        if patience is not None:
            self._store.wait([key], patience)
            return
        try:
            self._store.wait([key], _UNTIL_WARNED)
        except RuntimeError:
            print(f"cohom: process {self._rank} waits for process {other}, which does not "
                  f"{self._what} yet; {self._advice}", file=sys.stderr)
            self._store.wait([key])
