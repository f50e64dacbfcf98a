"""
Two clocks: the machine's, and one that is advanced by calls, or by itself when all
threads wait.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from math import inf
from pathlib import Path
from uuid import uuid4

from petstore_tools.errors import ArgumentError

_BOOT = Path("/proc/sys/kernel/random/boot_id")
SLICE_S = 0.5  # longest real sleep before a waiter asks again


class SystemClock:
    """
    The machine's clock; no sleep lasts longer than half a second, then the caller asks
    again.

    Attributes:
        machine: A name that the machine has until it restarts.
    """

    # elsewhere processes do not know whether they share a start of the machine, so each
    # has its own
    machine = _BOOT.read_text("ascii").strip() if _BOOT.exists() else uuid4().hex
    working = nullcontext
    """Does nothing: this clock moves by itself."""

    def now(self) -> float:
        """Return Unix seconds."""
        return time.time()

    def steady(self) -> float:
        """
        Return seconds of a clock that nobody sets; on Linux and macOS it also counts
        while the machine sleeps, and after a restart it may begin anew.
        """
        kind = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
        return time.monotonic() if kind is None else time.clock_gettime(kind)

    def sleep_until(self, moment: float) -> None:
        """Sleep until a moment, or half a second: the caller asks again."""
        time.sleep(max(0.0, min(SLICE_S, moment - self.now())))

    def wake_sleepers(self) -> None:
        """
        Do nothing: a thread that waits for the answer of another one asks again soon.
        """


class ManualClock:
    """
    A clock that can be advanced.

    It moves by `advance`, or by itself to the earliest wake-up when every thread that
    works waits.

    >>> clock = ManualClock(1_767_603_600.0)
    >>> clock.sleep_until(1_767_603_660.0)
    >>> clock.advance(3_600)
    >>> clock.now()
    1767607260.0

    Args:
        start: Unix seconds that it shows first.

    Attributes:
        machine: A name of its own.
    """

    def __init__(self, start: float) -> None:
        self.machine = f"manual {id(self)}"
        self._now = start
        self._time_condition = threading.Condition()
        self._work_counts = Counter[int]()  # by thread, how often it has begun to work
        self._wake_times: dict[int, float] = {}

    def now(self) -> float:
        """Return Unix seconds."""
        return self._now

    steady = now
    """The same: a manual clock is never set back."""

    def advance(self, seconds: float) -> None:
        """Advance the clock by so many seconds."""
        if not 0 <= seconds < inf:
            raise ArgumentError("seconds must be 0 or more: time can only be advanced")
        with self._time_condition:
            self._set(self._now + seconds)

    def sleep_until(self, moment: float) -> None:
        """
        Sleep until the clock shows a moment, until woken, or half a real second.
        """
        me = threading.get_ident()
        with self._time_condition:
            if moment <= self._now:
                return
            self._wake_times[me] = moment
            self._advance_if_all_wait()
            self._time_condition.wait_for(lambda: me not in self._wake_times, SLICE_S)
            self._wake_times.pop(me, None)

    def wake_sleepers(self) -> None:
        """Wake all sleepers."""
        with self._time_condition:
            self._wake_times.clear()
            self._time_condition.notify_all()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Keep the clock from moving by itself while this thread works."""
        me = threading.get_ident()
        with self._time_condition:
            self._work_counts[me] += 1
        try:
            yield
        finally:
            with self._time_condition:
                # this drops a thread whose count is 0
                self._work_counts -= Counter([me])
                self._advance_if_all_wait()

    def _advance_if_all_wait(self) -> None:
        if self._wake_times and self._wake_times.keys() >= self._work_counts.keys():
            self._set(max(self._now, min(self._wake_times.values())))

    def _set(self, now: float) -> None:
        self._now = now
        self._wake_times = {
            thread: wakes_at
            for thread, wakes_at in self._wake_times.items()
            if wakes_at > now
        }
        self._time_condition.notify_all()


Clock = SystemClock | ManualClock
