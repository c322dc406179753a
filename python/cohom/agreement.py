"""What all processes of PyTorch's default group do together, or none of them.

Without it a process that others wait for in vain makes them hang, without a word. Processes meet in
the group's store, which has what a process says even where another one never comes. They ask it
again and again: where a wait of its own ends early, PyTorch 1.13 takes a late answer for that to
the next question.
"""

import datetime
import math
import sys
import time
from collections.abc import Callable
from typing import Any

_UNTIL_WARNED = datetime.timedelta(seconds=60)
_TO_READ = 5  # seconds: the end of a process may take the store along
_MOST_BETWEEN = 0.1  # seconds from question to question
_ALL_DO = "all do"  # a verdict
_REFUSED = "!"  # no spec of a codec begins with it
_NOTHING = "?"  # nobody says this


class Agreement:
    """That all processes do `what` ("compress gradients"), by the same `how` ("thc").

    All of them make it, in the same order, and then either refuse or reach it. Process 0 reads what
    all say and writes a verdict, as does a process that gives up waiting for process 0. The first
    one holds, also for those who come later. advice: what is to be done about a process that does
    not come. Where PyTorch has no store (MPI's backend), nothing is compared.
    """

    def __init__(self, what: str, how: str, advice: str) -> None:
        import torch.distributed as dist
        self._what, self._how, self._advice = what, how, advice
        self._rank, self._ranks = dist.get_rank(), dist.get_world_size()
        self._store: Any = dist.distributed_c10d._get_default_store()
        self._end = self._until_warned = math.inf
        if self._store is not None:
            self._prefix = f"cohom/{_ask(self._store.add, f'cohom/made/{self._rank}', 1)}"

    def refuse(self, error: Exception) -> None:
        """Let the others know that this process raises `error`."""
        if self._store is None:
            return
        self._say(_REFUSED + str(error))
        if self._rank == 0:
            self._decide(f"process 0 cannot {self._what}: {error}")
        self._end_reading()

    def reach(self, patience: datetime.timedelta | None = None) -> None:
        """Wait for all others. Raises RuntimeError where one differs, refuses, or does not come.

        patience: how long to wait. By default the timeout of the group's store; after a minute, or
        half of that time, a line on stderr says for which process this one waits.
        """
        if self._store is None:
            return
        limit = patience or self._store.timeout
        self._end = time.monotonic() + limit.total_seconds()
        if patience is None:
            self._until_warned = time.monotonic() + min(_UNTIL_WARNED, limit / 2).total_seconds()
        self._say(self._how)
        verdict = self._first() if self._rank == 0 else self._other(limit)
        self._end_reading(has_to_wait=verdict != _ALL_DO)
        if verdict != _ALL_DO:
            raise RuntimeError(verdict)

    def _first(self) -> str:
        """Return the verdict, as process 0."""
        if (earlier := self._read("verdict")) is not None:
            return earlier
        for other in range(self._ranks):
            how = self._wait(str(other), other)
            if how is None:
                return self._decide(self._absent(other))
            if how.startswith(_REFUSED):
                return self._decide(f"process {other} cannot {self._what}: "
                                    f"{how.removeprefix(_REFUSED)}")
            if how != self._how:
                return self._decide(f"process {other} would {self._what} by {how}, and process 0 "
                                    f"by {self._how}; they should be the same")
        return self._decide(_ALL_DO)

    def _other(self, limit: datetime.timedelta) -> str:
        """Return the verdict, as another process."""
        verdict = self._wait("verdict", 0)
        if verdict is None and self._read("0") is not None:
            self._end += limit.total_seconds()  # process 0 came late, and waits for somebody
            verdict = self._wait("verdict", 0)
        return self._decide(self._absent(0)) if verdict is None else verdict

    def _absent(self, other: int) -> str:
        return (f"process {other} does not {self._what}, and process {self._rank} does, by "
                f"{self._how}; {self._advice}")

    def _say(self, text: str) -> None:
        _ask(self._store.set, f"{self._prefix}/{self._rank}", text)

    def _decide(self, verdict: str) -> str:
        """Return the verdict that holds: an earlier one, or this."""
        return str(_ask(self._store.compare_set, f"{self._prefix}/verdict", "", verdict).decode())

    def _read(self, key: str) -> str | None:
        """Return what was said there, or None."""
        said = _ask(self._store.compare_set, f"{self._prefix}/{key}", _NOTHING, _NOTHING).decode()
        return None if said == _NOTHING else str(said)

    def _wait(self, key: str, other: int) -> str | None:
        """Return what is said there, or None where nothing is until the end. It needs `other`."""
        pause = 0.001
        while (said := self._read(key)) is None:
            now = time.monotonic()
            if now > self._end:
                return None
            if now > self._until_warned and self._read(str(other)) is None:
                self._until_warned = math.inf
                print(f"cohom: process {self._rank} waits for process {other}, which does not "
                      f"{self._what} yet; {self._advice}", file=sys.stderr)
            time.sleep(pause)
            pause = min(2 * pause, _MOST_BETWEEN)
        return said

    def _end_reading(self, has_to_wait: bool = True) -> None:
        """Say that the verdict is known here. Process 0 may wait until it is everywhere."""
        read = _ask(self._store.add, f"{self._prefix}/read", 1)
        end = time.monotonic() + _TO_READ
        while has_to_wait and self._rank == 0 and read < self._ranks and time.monotonic() < end:
            time.sleep(_MOST_BETWEEN / 10)
            read = _ask(self._store.add, f"{self._prefix}/read", 0)


def _ask(function: Callable[..., Any], *words: Any) -> Any:
    """Call a function of the store."""
    try:
        return function(*words)
    except RuntimeError as error:
        raise RuntimeError("the store of PyTorch's process group cannot be reached, as when a "
                           f"process has ended: {error}") from error
