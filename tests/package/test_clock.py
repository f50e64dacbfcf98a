"""The clock that can be turned."""

import threading

import pytest

from petstore_tools.clock import ManualClock


def test_time_stands_still_while_another_thread_works():
    """The sleeper wakes only when the worker waits too, each at its own time."""
    clock = ManualClock(0.0)
    woke = {}
    started = threading.Barrier(2)

    def wait(name, until):
        with clock.working():
            started.wait()
            while clock.now() < until:
                clock.sleep_until(until)
            woke[name] = clock.now()

    threads = [
        threading.Thread(target=wait, args=args)
        for args in (("late", 20.0), ("early", 10.0))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)

    assert woke == {"early": 10.0, "late": 20.0}


def test_sleepers_are_woken_without_moving_time():
    """They ask again, since an answer may have come."""
    clock = ManualClock(0.0)
    awake = threading.Event()
    with clock.working():

        def sleep():
            with clock.working():
                clock.sleep_until(10.0)
            awake.set()

        threading.Thread(target=sleep).start()
        while not awake.wait(0.01):
            clock.wake_sleepers()

    assert clock.now() == 0.0


def test_time_is_advanced_only():
    """A clock that runs backwards is another test's subject."""
    clock = ManualClock(100.0)
    clock.advance(5)
    clock.advance(0)
    clock.sleep_until(50.0)

    assert clock.now() == 105.0
    for seconds in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="can only be advanced"):
            ManualClock(0.0).advance(seconds)
