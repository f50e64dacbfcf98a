"""Rate headers, Retry-After and Date, as services write them."""

import time

import pytest
from isolation import machine_zone
from tables import read_json

from petstore_tools.throttle.rate_headers import read_reply

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("text", "seconds"),
    read_json(__file__, "retry_after.json"),
)
def test_retry_after_is_seconds_or_a_date_and_nonsense_is_none(text, seconds):
    """Every form of Retry-After has one documented reading."""
    assert read_reply(429, {"Retry-After": text}, now=NOW).retry_after_s == seconds


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


@pytest.mark.parametrize("text", ["", "many", "-1", "1.5", "1e3", "0x10", "9" * 30])
def test_a_limit_that_is_no_whole_number_is_absent(text):
    """Limits are whole numbers (§8.3); anything else is not believed."""
    assert read_reply(200, {"X-RateLimit-Limit": text}, now=NOW).limit is None


MINUTE, DAY = '"minute";q=300;w=60', '"day";w=86400;q=10000'
POLICIES = {
    MINUTE: "minute",
    f"{DAY};pk=:cGs=:": "day",
    '"a, \\"b;q=1";qu="requests";q=9;w=60': "minute",
    f"{MINUTE}, {DAY}": "minute",
    f"{DAY},{MINUTE}": "minute",
    f'{MINUTE}, "burst";q=300;w=1': None,
    f'"a";q=1;w=60, {DAY}': None,
    '"hour";q=300;w=3600': None,
    '"minute";q=300': None,
    '"minute";q=300;w=60.5': None,
    "300;w=60": None,
    "soon": None,
}


@pytest.mark.parametrize(("policy", "window"), POLICIES.items())
def test_a_policy_names_the_window_of_the_limit(policy, window):
    """
    The one policy does; of several the one with the limit that came; two such, or none,
    is as without it.
    """
    headers = {"X-RateLimit-Limit": "300", "RateLimit-Policy": policy}

    assert read_reply(200, headers, now=NOW).policy_window == window
