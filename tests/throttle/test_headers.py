"""Rate headers, Retry-After and Date, as services write them."""

import time

import pytest
from isolation import machine_zone
from tables import read_json

from petstore_tools.throttle.rate_headers import read_reply

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("status", "headers", "fields"), read_json(__file__, "headers.json")
)
def test_each_header_has_one_reading(status, headers, fields):
    """
    Retry-After is seconds, an age or a date, and of several the largest; limits are
    whole numbers (§8.3). The one policy names the window; of several the one with the
    limit that came; two such, or none, is as without it. Nonsense is none.
    """
    reply = read_reply(status, headers, now=NOW)

    assert vars(reply).items() >= fields.items()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="a zone of its own needs POSIX")
@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin"])
@pytest.mark.parametrize("ending", ["", " -0000", " GMT"])
def test_a_date_without_a_zone_is_utc_wherever_this_machine_is(zone, ending):
    """Both mean the same everywhere; beside a Date our clock does not matter."""
    headers = {"Retry-After": f"Fri, 15 Jan 2027 08:00:30{ending}"}
    date = {"Date": f"Fri, 15 Jan 2027 08:00:00{ending}"}
    with machine_zone(zone):
        answer = read_reply(429, headers | date, now=NOW + 300)
        unaware = read_reply(429, headers, now=NOW)

    assert answer.date == NOW
    assert answer.retry_after_s == unaware.retry_after_s == 30
