"""Settings: where they come from, and what is said when they are wrong."""

import json
import re
import sqlite3
import tomllib
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from leaks import visible_text
from tables import read_json

from petstore_tools import PetStore, Plan, Sandbox, settings
from petstore_tools.errors import SettingsError
from petstore_tools.plans import parse
from petstore_tools.service.database import Database

KEY = "psk_secret"
GIVEN = {"base_url": "https://a/v1", "api_key": KEY}
DIGITS = "1" * 5_000


def refused(call, arguments):
    """
    Return the message of a refusal: short, and without the key in any frame or cause.
    """
    with pytest.raises(SettingsError) as raised:
        call(**arguments)
    message = str(raised.value)
    assert len(message) < 300
    assert "psk_" not in message
    assert KEY not in visible_text(raised.value)
    return message


def test_arguments_beat_variables_and_variables_beat_the_file(tmp_path, monkeypatch):
    """
    One order, everywhere; staging has an address and a key of its own, and production
    is the default. A file counts from the folder of the settings file, which may begin
    with a byte order mark.
    """
    (tmp_path / "config.toml").write_text(
        'base_url = "https://file/v1"\napi_key = "k"\nstaging_base_url ='
        ' "https://s/v1"\nstaging_api_key = "s"\ncategories = "names.csv"',
        encoding="utf-8-sig",
    )
    from_file = settings.load()
    monkeypatch.setenv("PETSTORE_BASE_URL", "https://a/v1")
    monkeypatch.setenv("PETSTORE_CATEGORIES", "other.csv")
    from_variables = settings.load()
    from_arguments = settings.load(base_url="https://b/v1", plan="60/100")
    monkeypatch.setenv("PETSTORE_ENVIRONMENT", "staging")

    assert from_file.base_url == "https://file/v1"
    assert from_file.environment == "production"
    assert from_file.categories == tmp_path / "names.csv"
    assert from_variables.base_url == "https://a/v1"
    assert from_variables.categories == Path("other.csv")
    assert from_arguments.base_url == "https://b/v1"
    assert from_arguments.plan == Plan(60, 100)
    staging = settings.load()
    assert (staging.base_url, staging.environment) == ("https://s/v1", "staging")


def test_one_load_reads_the_settings_file_once(tmp_path, monkeypatch):
    """All settings of a store are of one moment, folder and category file included."""
    (tmp_path / "config.toml").write_text('categories = "names.csv"')
    texts = []
    loads = tomllib.loads
    monkeypatch.setattr(
        tomllib, "loads", lambda text: texts.append(text) or loads(text)
    )
    monkeypatch.delenv("PETSTORE_STATE_DIR")

    assert settings.load(**GIVEN).categories == tmp_path / "names.csv"
    assert len(texts) == 1


def test_a_missing_address_or_key_shows_all_ways_to_give_it():
    """
    Command, argument, variable, file, and the sandbox.
    """
    with pytest.raises(SettingsError) as raised:
        PetStore(api_key=KEY)
    with pytest.raises(SettingsError) as staged:
        PetStore(environment="staging")
    with pytest.raises(SettingsError, match="no API key(.|\n)*tools configure"):
        PetStore(base_url="https://a/v1")

    ways = (
        "PetStore(base_url=...)|PETSTORE_BASE_URL|config.toml|Sandbox()|petstore-tools"
        " configure"
    )
    assert [way for way in ways.split("|") if way not in str(raised.value)] == []
    assert KEY not in visible_text(raised.value)
    staging = str(staged.value)
    assert staging.startswith("no base address for staging. ")
    assert "petstore-tools configure --environment staging " in staging
    assert 'config.toml: staging_base_url = "https://HOST/v1"' in staging


@pytest.mark.parametrize(
    ("typed", "address", "service_id"),
    read_json(__file__, "addresses.json"),
)
def test_an_address_has_one_spelling(typed, address, service_id):
    """It is asked as it is, in small letters; another port or path is another place."""
    loaded = settings.load(base_url=typed, api_key=KEY)

    assert (loaded.base_url, loaded.service_id) == (address, service_id)


def test_all_that_is_kept_of_a_service_is_kept_at_one_place(tmp_path):
    """
    Budget, history, imports, and what is remembered; and no name of a file has the key.
    """
    sheet = tmp_path / "new.csv"
    sheet.write_text("name,categoryId\nRex,3\n")
    state = tmp_path / "state"
    with Sandbox(animals=5, plan="pro") as box:
        for name in ("127.0.0.1", "LocalHost"):
            address = box.base_url.replace("127.0.0.1", name) + "/"
            with PetStore(
                base_url=address,
                api_key=box.api_key,
                plan="pro",
                state_dir=state,
            ) as store:
                store.import_pets(sheet, doubtful="send")
                store.snapshot()
                listings = len(store.snapshots())
                animals = len(store.list_pets())

    assert (animals, listings) == (6, 2)
    assert len([*state.rglob("*.db")]) == 3
    with closing(sqlite3.connect(state / "budget.db")) as db:
        assert db.execute("SELECT count(*) FROM key_budget").fetchone() == (1,)
    assert len(json.loads((state / "services.json").read_text())) == 1
    assert not any(box.api_key in str(path) for path in state.rglob("*"))


@pytest.mark.parametrize(
    ("hosts", "warned"),
    [
        (["10.0.0.1", "notlocalhost"], pytest.warns(UserWarning, match="unencrypted")),
        (["127.0.0.9", "[::1]", "localhost", "a.localhost"], nullcontext()),
    ],
    ids=["another machine", "this machine"],
)
def test_plain_http_to_another_machine_warns(hosts, warned):
    """The key would travel in clear; to this machine nothing leaves it."""
    for host in hosts:
        with warned:
            assert settings.check_base_url(f"http://{host}/v1") == f"http://{host}/v1"


@pytest.mark.parametrize("by", ["argument", "variable"])
@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        *read_json(__file__, "odd_arguments.json"),
        (
            "base_url",
            f"https://{'a' * 64}.example/v1",
            "must look like https://HOST/v1",
        ),
        ("base_url", Path("https://host/v1"), "base_url must be text, not"),
        ("plan", f"{DIGITS}/{DIGITS}", "unknown plan"),
        ("api_key", KEY.encode(), "api_key must be text, not bytes"),
        ("max_wait_s", float("nan"), "0 or more, not nan"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_an_odd_argument_is_one_sentence_without_the_key(
    monkeypatch, argument, value, message, by
):
    """
    Not an AttributeError, and not when the first request leaves; an address is answered
    with the right one: with its port, its brackets and its path, without the password.
    The key is an argument, too, or a variable.
    """
    arguments = dict(GIVEN)
    if by == "variable":
        monkeypatch.setenv("PETSTORE_API_KEY", arguments.pop("api_key"))

    said = refused(PetStore, arguments | {argument: value})

    assert message in said
    for address in re.findall("use (https?://.*)", said):
        assert message.endswith(f"use {address}")
        assert settings.check_base_url(address) == address


@pytest.mark.parametrize("number", [0, -1, 1.5, "60", True, 10**5_000], ids=range(6))
def test_a_plan_of_odd_numbers_is_one_sentence(number):
    """
    Whatever their length; any sensible size, and full-width digits, are taken (§8.2).
    """
    with pytest.raises(SettingsError, match="whole numbers between 1 and"):
        Plan(number, 10)
    assert parse(f"{10**15}/{10**15}") == Plan(10**15, 10**15)
    assert parse("\uff16\uff10/\uff11\uff10\uff10") == Plan(60, 100)


@pytest.mark.parametrize(
    ("content", "message"),
    [*read_json(__file__, "odd_entries.json"), ("plan = " + "[" * 5_000, "recursion")],
    ids=lambda value: value[:30],
)
def test_an_odd_entry_of_the_file_is_one_sentence(tmp_path, content, message):
    """It names the file and the entry; nothing of its value."""
    (tmp_path / "config.toml").write_text(f"{content}\n# {KEY}", encoding="latin-1")

    said = refused(PetStore, GIVEN)

    assert said.startswith(
        f"the settings file {tmp_path / 'config.toml'} cannot be used: "
    )
    assert message in said


@pytest.mark.parametrize(("text", "seconds"), [("0", 0.0), ("0.5", 0.5), ("", 60.0)])
def test_the_delay_before_reconciling_may_be_nothing(monkeypatch, text, seconds):
    """
    Nought is a number, too; without one it is a minute; what is no number is refused.
    """
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", text)
    assert settings.load(**GIVEN).reconcile_after_s == seconds
    for odd in ("-1", "nan", "true"):
        monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", odd)
        with pytest.raises(SettingsError, match="seconds such as 60"):
            settings.load(**GIVEN)


def test_files_and_databases_may_be_named_from_the_home_folder(tmp_path, monkeypatch):
    """A report, a sheet, a list of an import, and a database of the service."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))

    with Sandbox(animals=3) as box:
        box.store.status_report().to_markdown("~/r.md")
        (tmp_path / "a.csv").write_text("name,categoryId\nRex,3\n")
        assert box.store.import_pets("~/a.csv", progress=False).created == 1
    Database("~/s.db").close()

    names = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert names >= {"r.md", "a.csv", "s.db"}


def test_a_state_folder_is_one_place(tmp_path, monkeypatch):
    """
    The home folder is known by its sign; a relative folder is refused with the one to
    write.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("PETSTORE_CONFIG", "~/x.toml")

    assert settings.state_folder("~/x/") == tmp_path / "x"
    assert settings.config_path() == tmp_path / "x.toml"
    (tmp_path / "x.toml").write_text('categories = "~/names.csv"')
    assert settings.category_file() == tmp_path / "names.csv"
    monkeypatch.setenv("PETSTORE_CATEGORIES", "~/others.csv")
    assert settings.category_file() == tmp_path / "others.csv"
    with pytest.raises(SettingsError, match="write .*here' in place of 'here'"):
        settings.state_folder("here")
    monkeypatch.setenv("PETSTORE_STATE_DIR", "~nobody-here/x")
    monkeypatch.setenv("PETSTORE_CATEGORIES", "~nobody-here/x")
    for ask in (settings.state_folder, settings.category_file):
        with pytest.raises(SettingsError, match="Set HOME, or write PETSTORE_CONFIG"):
            ask()
