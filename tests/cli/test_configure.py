"""
`configure`, `template`, `quota` and `doctor`: the settings, a workbook to fill in, what
is left, and what is wrong.
"""

import os
import re
import stat
import sys
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import configure
from leaks import visible_text
from paging_server import PagingService
from pydantic import SecretStr
from python_calamine import CalamineWorkbook
from tables import read_table
from wires import KEY

from petstore_tools import PetStore, Sandbox, plans, settings
from petstore_tools.cli.configure import configure_
from petstore_tools.errors import SettingsError
from petstore_tools.listing.evidence import EXAMPLES
from petstore_tools.listing.schemes import parse
from petstore_tools.service.server import ThreadedServer
from petstore_tools.tabular.workbooks import CATEGORY_SHEET

PAGINATIONS = re.findall(r'"([a-z]+=[^"]+)"', EXAMPLES)


def config():
    return Path(os.environ["PETSTORE_CONFIG"])


def read_settings():
    return tomllib.loads(config().read_text("utf-8"))


def connected(box):
    """Return address and key of a sandbox as the settings file has them."""
    return {"base_url": box.base_url, "api_key": box.api_key}


@pytest.mark.parametrize(("typed", "said"), read_table(__file__, "odd_answers.json"))
def test_an_answer_that_cannot_be_right_is_asked_again(box, typed, said):
    """
    With a sentence of its own; until all are right, nothing is kept, and an input that
    ends before is no interrupt.
    """
    words = {"URL": box.base_url, "KEY": box.api_key}
    typed_words = [words.get(answer, answer) for answer in typed]

    for count in range(len(typed_words)):
        stopped = configure(*typed_words[:count], code=2).output
        assert "the input ended before all questions were answered" in stopped
        assert "PETSTORE_BASE_URL, PETSTORE_API_KEY and PETSTORE_PLAN" in stopped
    assert not config().exists()
    done = configure(*typed_words)

    assert said in done.output
    assert read_settings() == {**connected(box), "plan": "pro"}


def test_what_is_kept_is_shown_with_the_key_masked_and_enter_keeps_it(box):
    """
    Other entries of the file stay, which is for this user alone; one request checks it.
    """
    config().write_text(
        f'base_url = "{box.base_url}"\napi_key = "{box.api_key}"\nreconcile_after_s ='
        " 5.5\n"
    )
    config().chmod(0o644)

    done = configure("", "", "pro", "")

    for default in (f"[{box.base_url}]", "[****]", "to learn) [-]"):
        assert default in done.output
    assert box.api_key not in done.output
    kept = {**connected(box), "plan": "pro", "reconcile_after_s": 5.5}
    assert read_settings() == kept
    assert len(box.traffic()) == 1
    assert sys.platform == "win32" or stat.S_IMODE(config().stat().st_mode) == 0o600


@pytest.mark.parametrize("pagination", PAGINATIONS)
def test_each_way_to_page_that_a_message_prints_can_be_said(
    box, monkeypatch, pagination
):
    """In the settings file, which `configure` lets stand, as variable, as argument."""
    assert len(PAGINATIONS) == 5
    config().write_text(f'pagination = "{pagination}"')
    configure(box.base_url, box.api_key, "pro", "-")

    with PetStore(pagination=pagination) as store:
        assert store.inventory.memory.pagination == parse(pagination)
    assert settings.load().pagination == pagination
    config().unlink()
    monkeypatch.setenv("PETSTORE_PAGINATION", pagination)
    assert settings.load(base_url=box.base_url, api_key="k").pagination == pagination


def test_staging_is_kept_beside_production(box):
    """Its address, key and plan are its own; no key is sent to another service."""
    with Sandbox(clock="system") as other:
        configure(box.base_url, box.api_key, "pro", "-")
        with pytest.raises(SettingsError, match="no API key for staging"):
            settings.load(environment="staging", base_url=other.base_url)
        done = configure(
            other.base_url, other.api_key, "free", "-", environment="staging"
        )

        loaded = [settings.load(environment=e) for e in ("production", "staging")]
    assert "petstore-tools list --first 5 --environment staging" in done.output
    assert "Base address of staging" in done.output
    assert [(s.base_url, s.api_key, s.plan) for s in loaded] == [
        (box.base_url, SecretStr(box.api_key), plans.parse("pro")),
        (other.base_url, SecretStr(other.api_key), plans.parse("free")),
    ]


def test_doctor_has_nothing_to_say_of_a_named_plan_without_a_limit():
    """The service names none, so that nothing contradicts the plan."""
    server = ThreadedServer(PagingService(1, "nothing")).start()
    store = PetStore(base_url=server.base_url, api_key=KEY, plan="free")
    *_, plan = store.examine()
    server.stop()

    assert (plan.subject, plan.state) == ("plan", "ok")
    assert "the service reports no limit" in plan.text


def test_what_configure_asks_for_is_not_shown_either(monkeypatch):
    """It has the key from the keyboard, or from the file it kept."""
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "soon")
    for answers in (f"https://host/v1\n{KEY}\npro\n\n", "\n\n\n\n"):
        typing = CliRunner().isolation(input=answers)
        with typing, pytest.raises(click.UsageError) as raised:
            configure_.callback("production")
        assert KEY not in visible_text(raised.value)
        config().write_text(f'base_url = "https://host/v1"\napi_key = "{KEY}"\n')


def test_a_template_offers_the_categories(run, tmp_path):
    """
    Those of the settings; `--categories` counts more; the command that imports it is
    shown.
    """
    (tmp_path / "names.csv").write_text("id,name\n3,Dogs\n")
    (tmp_path / "others.csv").write_text("id,name\n4,Cats\n")
    env = {"PETSTORE_CATEGORIES": str(tmp_path / "names.csv")}

    told = run("template", f"{tmp_path}/told.xlsx", **env)
    given = run("template given.xlsx --categories others.csv", **env)

    assert told.stdout.endswith(f"\npetstore-tools import {tmp_path}/told.xlsx\n")
    assert "petstore-tools import given.xlsx --categories others.csv" in given.stdout
    for name, choices in (("told", [["Dogs"]]), ("given", [["Cats"]])):
        book = CalamineWorkbook.from_path(tmp_path / f"{name}.xlsx")
        assert book.get_sheet_by_name(CATEGORY_SHEET).to_python() == choices
