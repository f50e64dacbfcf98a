"""What is given wrongly is answered by one sentence of the right kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from petstore_tools import PetStore, Plan
from petstore_tools.errors import SettingsError
from petstore_tools.plans import parse
from petstore_tools.throttle.rate_headers import read

GIVEN = {"base_url": "https://host/v1", "api_key": "k"}
DIGITS = "1" * 5_000


def refused(call: object, given: dict[str, object]) -> str:
    with pytest.raises(SettingsError) as raised:
        call(**given)  # type: ignore[operator]
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"plan": 5}, "unknown plan int: use free, pro, business, or PER_MINUTE/PER_DAY"),
        ({"plan": 0}, "unknown plan int"),
        ({"plan": ["pro"]}, "unknown plan list"),
        (
            {"plan": f"{DIGITS}/{DIGITS}"},
            "unknown plan (not shown, since it may be a key): use free",
        ),
        ({"plan": "9999999999999999/1"}, "whole numbers between 1 and 1,000,000,000,000,000"),
        ({"base_url": Path("https://host/v1")}, "base_url must be text, not"),
        ({"base_url": 7}, "base_url must be text, not int"),
        ({"api_key": b"k"}, "api_key must be text, not bytes"),
        ({"environment": 3}, "environment must be text, not int"),
        ({"pagination": 3}, "pagination must be text, not int"),
        ({"ledger": "nope"}, "ledger is 'shared' or 'memory', not 'nope'"),
        ({"ledger": None}, "ledger is 'shared' or 'memory', not None"),
        ({"ledger": ["shared"]}, "ledger is 'shared' or 'memory'"),
        ({"max_wait_s": "x"}, "max_wait_s must be a number of seconds, 0 or more, not 'x'"),
        ({"max_wait_s": -1}, "0 or more, not -1"),
        ({"max_wait_s": float("nan")}, "0 or more, not nan"),
        ({"max_wait_s": None}, "0 or more, not None"),
        ({"max_wait_s": True}, "0 or more, not True"),
        ({"state_dir": 7}, "state_dir must be the path of a folder, not int"),
        ({"state_dir": b"here"}, "state_dir must be the path of a folder, not bytes"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_odd_argument_is_one_sentence(given: dict[str, object], message: str) -> None:
    """Not an AttributeError, and not when the first request leaves."""
    assert message in refused(PetStore, GIVEN | given)


ODD = {
    "zero": 0,
    "negative": -1,
    "decimal": 1.5,
    "text": "60",
    "true": True,
    "long": 10**5_000,
    "big": 10**16,
}


@pytest.mark.parametrize("number", ODD.values(), ids=ODD)
def test_a_plan_of_odd_numbers_is_one_sentence(number: int) -> None:
    """Whatever their length."""
    assert "whole numbers between 1 and" in refused(Plan, {"per_minute": number, "per_day": 10})


def test_a_plan_of_any_sensible_size_is_taken() -> None:
    """Enterprise is custom (§8.2)."""
    assert parse(f"{10**15}/{10**15}") == Plan(10**15, 10**15)


def test_a_limit_that_nobody_can_mean_is_no_limit() -> None:
    """A header of 20 digits teaches no plan."""
    assert (
        read(200, {"X-RateLimit-Limit": "9" * 20, "X-RateLimit-Remaining": "5"}, now=0.0).limit
        is None
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("base_url = 7", "base_url: must be text in quotes"),
        ('base_url = ["https://host/v1"]', "base_url: must be text in quotes"),
        ("plan = true", "plan: must be text in quotes"),
        ("plan = 2026-01-05", "plan: must be text in quotes"),
        ("[plan]\nper_minute = 5", "plan: must be text in quotes"),
        ("api_key = 12345", "api_key: must be text in quotes"),
        ("state_dir = 5", "state_dir: must be a path, in quotes"),
        ("reconcile_after_s = 'soon'", "reconcile_after_s: must be a number of seconds"),
        ("reconcile_after_s = true", "reconcile_after_s: must be a number of seconds"),
        ("reconcile_after_s = -1", "reconcile_after_s: must be a number of seconds from 0 on"),
        ("reconcile_after_s = nan", "reconcile_after_s: must be a number of seconds from 0 on"),
        ("environment = 'moon'", 'environment: must be "production" or "staging"'),
        ("environment = ['staging']", 'environment: must be "production" or "staging"'),
        ("colour = 'red'", "colour: there is no such entry"),
        ("plan = ", "cannot be read: "),
        ("plan = " + "[" * 5_000, "cannot be read: "),
    ],
)
def test_an_odd_entry_of_the_file_is_one_sentence(
    tmp_path: Path, content: str, message: str
) -> None:
    """It names the file and the entry; nothing of its value."""
    (tmp_path / "config.toml").write_text(content)

    said = refused(PetStore, GIVEN)

    assert said.startswith(f"the settings file {tmp_path / 'config.toml'}")
    assert message in said


@pytest.mark.parametrize("pasted", ["psk_T9tE", "sk-live-3f9c4bb02a5c4d", "T9tE" * 100])
def test_a_key_pasted_in_the_place_of_a_plan_is_not_repeated(pasted: str) -> None:
    """A short word that is no plan is: the slip is seen in it."""
    message = refused(parse, {"plan": pasted})

    assert pasted[:8] not in message
    assert message.startswith("unknown plan (not shown, since it may be a key): use free, pro,")
    assert refused(parse, {"plan": "twenty letters, gold"}).startswith(
        "unknown plan 'twenty letters, gold'"
    )
