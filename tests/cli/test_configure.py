"""
`configure`: asks again after a typo, shows what is kept with the key masked, checks before it
keeps.
"""

from __future__ import annotations

import os
import stat
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from commands import run

from petstore_tools import PetStore, Sandbox
from petstore_tools.cli import cli


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan="pro", clock="system", animals=3) as found:
        yield found


def configure(*answers: str) -> Result:
    return CliRunner().invoke(
        cli, ["configure"], input="".join(f"{answer}\n" for answer in answers)
    )


def kept() -> dict[str, object]:
    return tomllib.loads(Path(os.environ["PETSTORE_CONFIG"]).read_text("utf-8"))


def test_a_typo_is_asked_again_and_nothing_is_lost(box: Sandbox) -> None:
    """Address, key and plan, each with its own sentence."""
    done = configure("http://localhost", box.base_url, "two words", box.api_key, "gold", "pro", "")

    assert done.exit_code == 0
    for said in ("did you mean http://localhost/v1 ?", "cannot be sent", "unknown plan 'gold'"):
        assert "Error: " in done.output
        assert said in done.output
    assert kept() == {"base_url": box.base_url, "api_key": box.api_key, "plan": "pro"}
    assert "the service accepts it" in done.output
    assert len(box.traffic()) == 1


def test_what_is_kept_is_shown_with_the_key_masked_and_enter_keeps_it(box: Sandbox) -> None:
    """Other entries of the file stay."""
    path = Path(os.environ["PETSTORE_CONFIG"])
    path.write_text(
        f'base_url = "{box.base_url}"\napi_key = "{box.api_key}"\nplan = "free"\nreconcile_after_s = 5.5\n'
    )

    done = configure("", "", "pro", "")

    assert f"[{box.base_url}]" in done.output
    assert "[****]" in done.output
    assert "[free]" in done.output
    assert box.api_key not in done.output
    assert kept() == {
        "base_url": box.base_url,
        "api_key": box.api_key,
        "plan": "pro",
        "reconcile_after_s": 5.5,
    }


def test_a_refused_key_is_asked_again_and_not_offered_again(box: Sandbox) -> None:
    """The address that was right is."""
    done = configure(box.base_url, "psk_wrong", "pro", "", "", box.api_key, "", "")

    assert done.exit_code == 0
    assert "Copy the key again" in done.output
    assert "[****]" not in done.output
    assert kept()["api_key"] == box.api_key


def test_an_address_where_nobody_answers_is_kept_only_on_request(box: Sandbox) -> None:
    """Asked again otherwise, with what was typed as the answer that Enter gives."""
    dead = "http://127.0.0.1:9/v1"

    done = configure(dead, box.api_key, "pro", "", "n", box.base_url, "", "", "")
    assert (done.exit_code, kept()["base_url"]) == (0, box.base_url)
    assert "no service answers at 127.0.0.1:9" in done.output

    done = configure(dead, "", "", "", "y")
    assert (done.exit_code, kept()["base_url"]) == (0, dead)


def test_a_category_file_is_read_before_it_is_kept(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that cannot be used is asked again; Enter keeps the file, and - takes it out."""
    monkeypatch.chdir(tmp_path)
    Path("names.csv").write_text("id,name\n3,Dogs\n")
    Path("pets.csv").write_text("animal\nRex\n")

    done = configure(box.base_url, box.api_key, "pro", "gone.csv", "pets.csv", "names.csv")

    assert done.exit_code == 0, done.output
    assert done.output.count("Error: ") == 2
    assert kept()["categories"] == str(tmp_path / "names.csv")
    with PetStore() as store:
        assert store.settings.categories == tmp_path / "names.csv"
    assert f"[{tmp_path / 'names.csv'}]" in configure("", "", "", "").output
    assert "categories" in kept()
    assert configure("", "", "", "-").exit_code == 0
    assert "categories" not in kept()


def test_an_end_in_the_middle_keeps_nothing(box: Sandbox) -> None:
    """Ctrl-C, or no more input."""
    done = configure(box.base_url, box.api_key)

    assert done.exit_code == 1  # of click's runner; the command line makes it 130
    assert not Path(os.environ["PETSTORE_CONFIG"]).exists()


def test_a_file_that_cannot_be_read_is_set_aside_after_a_question(box: Sandbox) -> None:
    """So that configure mends what stops all else."""
    path = Path(os.environ["PETSTORE_CONFIG"])
    path.write_text("colour = 'red'\n")

    assert configure("n").exit_code == 2
    assert path.read_text() == "colour = 'red'\n"
    done = configure("y", box.base_url, box.api_key, "pro", "")

    assert done.exit_code == 0
    assert "colour" in done.output
    assert path.with_name("config.toml.bak").read_text() == "colour = 'red'\n"


def test_a_variable_that_wins_over_the_file_is_named(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what is kept seems to have no effect; the check is of what was typed."""
    monkeypatch.setenv("PETSTORE_PLAN", "free")

    done = configure(box.base_url, box.api_key, "pro", "")

    assert (
        "Note: the variable PETSTORE_PLAN is set. It is used instead of what is kept here."
        in done.output
    )
    assert kept()["plan"] == "pro"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_the_file_is_for_this_user_alone(box: Sandbox) -> None:
    """Also where it was readable to others."""
    path = Path(os.environ["PETSTORE_CONFIG"])
    path.write_text("")
    path.chmod(0o644)

    configure(box.base_url, box.api_key, "pro", "")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_is_needed_and_one_pasted_as_the_plan_is_not_shown(box: Sandbox) -> None:
    """Enter at the first question for it is answered in words."""
    done = configure(box.base_url, "", box.api_key, box.api_key, "pro", "")

    assert done.exit_code == 0
    assert "Error: a key is needed" in done.output
    assert "Error: unknown plan (not shown" in done.output
    assert done.output.count(box.api_key) == 1  # as it was typed at the plan
    assert "Try them: petstore-tools list --first 5" in done.output


def test_without_anybody_to_ask_configure_names_the_other_ways(box: Sandbox) -> None:
    """
    A job in the night: exit code 2, and no word of an interrupt; what is piped to it is taken.
    """
    done = run("configure")

    assert done.returncode == 2
    assert "\nError: nothing was kept: there is no terminal to ask in" in done.stderr
    assert "PETSTORE_BASE_URL" in done.stderr
    assert "Interrupted" not in done.stderr
    assert not Path(os.environ["PETSTORE_CONFIG"]).exists()
