"""Settings: where they come from, and what is said when they are wrong."""

from pathlib import Path

import pytest

from petstore_tools import PetStore, settings
from petstore_tools.errors import SettingsError
from petstore_tools.plans import Plan
from petstore_tools.throttle.ledger import subject

KEY = "psk_secret"
GIVEN = {"PETSTORE_BASE_URL": "https://a/v1", "PETSTORE_API_KEY": KEY, "PETSTORE_PLAN": "pro"}


def test_arguments_beat_variables_and_variables_beat_the_file(tmp_path: Path) -> None:
    """One order, everywhere."""
    file = tmp_path / "config.toml"
    file.write_text('base_url = "https://file/v1"\napi_key = "k"\nplan = "business"\n')
    environ = {"PETSTORE_CONFIG": str(file)}

    assert settings.load(environ=environ).base_url == "https://file/v1"
    assert settings.load(environ=environ | GIVEN).base_url == "https://a/v1"
    assert (
        settings.load(base_url="https://b/v1", environ=environ | GIVEN).base_url == "https://b/v1"
    )
    assert settings.load(plan="60/100", environ=environ | GIVEN).plan == Plan(60, 100)


def test_staging_has_its_own_address() -> None:
    """Production is the default; staging is asked for."""
    environ = GIVEN | {"PETSTORE_STAGING_BASE_URL": "https://s/v1", "PETSTORE_CONFIG": "none.toml"}

    assert settings.load(environment="staging", environ=environ).base_url == "https://s/v1"
    assert (
        settings.load(environ=environ | {"PETSTORE_ENVIRONMENT": "staging"}).environment
        == "staging"
    )


def test_a_missing_address_shows_all_ways_to_give_it() -> None:
    """Argument, variable, file, and the sandbox."""
    with pytest.raises(SettingsError) as raised:
        PetStore()

    for way in ("PetStore(base_url=...)", "PETSTORE_BASE_URL", "config.toml", "Sandbox()"):
        assert way in str(raised.value)
    assert "petstore-tools serve" in str(raised.value)
    assert "petstore-tools keys create" in str(raised.value)


def test_a_missing_staging_address_shows_the_ways_that_are_for_staging() -> None:
    """
    `configure` asks for the production address alone, so it is none of them; for the key it is.
    """
    with pytest.raises(SettingsError) as raised:
        settings.load(environment="staging", environ=GIVEN | {"PETSTORE_CONFIG": "none.toml"})

    message = str(raised.value)
    assert message.splitlines()[0].startswith("no base address for staging. ")
    assert "configure" not in message
    for way in (
        'PetStore(environment="staging", base_url=...)',
        "PETSTORE_STAGING_BASE_URL=...",
        'none.toml: staging_base_url = "https://HOST/v1"',
    ):
        assert way in message

    given = {"PETSTORE_STAGING_BASE_URL": "https://s/v1", "PETSTORE_CONFIG": "none.toml"}
    with pytest.raises(SettingsError, match="no API key[.] (.|\n)*configure"):
        settings.load(environment="staging", environ=given)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("https://host", "did you mean https://host/v1"),
        ("https://host/v2/", r"did you mean https://host/v1 \?"),
        ("https://host/api/V2/pets", r"did you mean https://host/api/v1 \?"),
        ("https://v2", r"did you mean https://v2/v1 \?"),
        ("host/v1", "must look like"),
        ("ftp://host/v1", "must look like"),
        ("https://user:secret@host/v1", "use https://host/v1"),
        ("https://host:port/v1", "must look like"),
    ],
)
def test_a_wrong_address_is_refused_with_the_right_one(address: str, message: str) -> None:
    """And a password in it is not repeated."""
    with pytest.raises(SettingsError, match=message) as raised:
        settings.check_base_url(address)

    assert "secret" not in str(raised.value)


def test_plain_http_to_another_machine_warns() -> None:
    """The key would travel in clear; this machine is fine."""
    with pytest.warns(UserWarning, match="unencrypted"):
        settings.check_base_url("http://10.0.0.1/v1")
    assert settings.check_base_url("http://127.0.0.1:8765/v1/") == "http://127.0.0.1:8765/v1"


@pytest.mark.parametrize(
    "content", ["api_key = 7\n", "colour = 'red'\n", "api_key = 'x\n", "environment = 'moon'\n"]
)
def test_a_wrong_settings_file_is_named_and_its_values_are_not(
    tmp_path: Path, content: str
) -> None:
    """An unknown entry stops, too (P55)."""
    file = tmp_path / "config.toml"
    file.write_text(f"{content}# psk_secret\n")

    with pytest.raises(SettingsError, match=r"config\.toml") as raised:
        settings.load(environ={"PETSTORE_CONFIG": str(file)})

    assert "psk_secret" not in str(raised.value)


@pytest.mark.parametrize("plan", ["gold", "60", "60/", "0/100", "1.5/3"])
def test_an_unknown_plan_is_refused(plan: str) -> None:
    """With the plans there are."""
    with pytest.raises(SettingsError):
        settings.load(plan=plan, environ=GIVEN | {"PETSTORE_CONFIG": "none.toml"})


@pytest.mark.case("P25")
def test_the_key_is_in_no_repr_and_no_name_of_a_budget() -> None:
    """Two keys have two budgets, and neither name tells a key."""
    store = PetStore(base_url="https://a/v1", api_key=KEY, plan="pro")
    loaded = settings.load(environ=GIVEN | {"PETSTORE_CONFIG": "none.toml"})

    assert KEY not in repr(store) + repr(loaded) + str(vars(store)) + repr(store.client.transport)
    assert subject("https://a/v1", KEY) != subject("https://a/v1", "other")
    assert subject("https://a/v1", KEY) != subject("https://b/v1", KEY)
    assert KEY not in subject("https://a/v1", KEY)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused(key: str) -> None:
    """Without repeating it."""
    with pytest.raises(SettingsError) as raised:
        PetStore(base_url="https://a/v1", api_key=key)

    assert key not in str(raised.value)


@pytest.mark.parametrize(("given", "seconds"), [("0", 0.0), ("0.5", 0.5), ("", 60.0)])
def test_the_delay_before_reconciling_may_be_nothing(given: str, seconds: float) -> None:
    """Nought is a number, too; without one it is a minute; what is no number is refused."""
    environ = {
        "PETSTORE_BASE_URL": "https://a/v1",
        "PETSTORE_API_KEY": "k",
        "PETSTORE_RECONCILE_AFTER_S": given,
    }

    assert settings.load(environ=environ).reconcile_after_s == seconds
    with pytest.raises(SettingsError, match="seconds such as 60"):
        settings.load(environ={**environ, "PETSTORE_RECONCILE_AFTER_S": "-1"})


@pytest.mark.case("P25")
@pytest.mark.parametrize(
    "typed",
    [
        "https://api.example/v1",
        "HTTPS://API.example/v1/",
        "https://api.EXAMPLE:443/v1",
        " https://api.example:443/v1 ",
    ],
)
def test_an_address_has_one_spelling(typed: str) -> None:
    """
    Budget, journals and snapshots are kept by it: capitals and the default port make no other
    place.
    """
    assert settings.check_base_url(typed) == "https://api.example/v1"


@pytest.mark.parametrize("typed", ["http://[::1]:8765/v1", "http://127.0.0.1:8765/Store/v1"])
def test_what_tells_places_apart_stays(typed: str) -> None:
    """Another port, another path, an address in brackets."""
    assert settings.check_base_url(typed) == typed


def test_the_old_variable_is_refused_with_the_new_one_named(tmp_path: Path) -> None:
    """It would be ignored otherwise; the entry of a settings file of 0.1 is still read."""
    with pytest.raises(
        SettingsError, match="_SETTLE_AFTER_S is now called PETSTORE_RECONCILE_AFTER_S"
    ):
        settings.load(environ=GIVEN | {"PETSTORE_SETTLE_AFTER_S": "5"})

    (tmp_path / "config.toml").write_text("settle_after_s = 5\n")
    assert (
        settings.load(
            environ=GIVEN | {"PETSTORE_CONFIG": str(tmp_path / "config.toml")}
        ).reconcile_after_s
        == 5
    )
