"""Window arithmetic."""

from petstore_tools.plans import Window
from petstore_tools.throttle.windows import Log


def test_a_whole_window_holds_its_start_and_not_its_end() -> None:
    """A window of a minute begins at whole minutes."""
    window = Window(60, 60)

    assert (window.start(119.9), window.end(119.9)) == (60, 120)
    assert window.start(120.0) == 120


def test_a_request_counts_a_whole_period_after_its_bucket_ended() -> None:
    """A request noted at 10.2 counts until 71: no period of 60 s can hold it and one sent at 71."""
    log = Log.of_minute()
    log.add(10.2)

    log.prune(70.999)
    assert log.noted == 1
    assert log.frees_at() == 71

    log.prune(71)
    assert log.noted == 0


def test_the_log_tells_when_enough_has_left() -> None:
    """Three requests at three times: the second leaves with its own bucket."""
    log = Log.of_minute()
    for at in (1.0, 2.0, 3.0):
        log.add(at)

    assert log.frees_at(2) == 63
    assert log.frees_at(4) == float("inf")


def test_counts_from_a_clock_set_back_are_not_lost() -> None:
    """What lies in the future after a clock was set back counts as of now."""
    log = Log.of_minute()
    log.add(1_000.0)

    log.prune(500.0)

    assert log.noted == 1
    assert log.frees_at() == 561


def test_a_day_is_counted_since_midnight_by_buckets_that_end_after_it() -> None:
    """The bucket that ends at midnight belongs to the day before."""
    log = Log.of_day()
    log.add(86_399.0)
    log.add(86_401.0)

    assert log.since(86_400) == 1
