"""What a newcomer meets: doctor, lab, the nightly notebook, an interrupted cell."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

from petstore_tools import Sandbox
from petstore_tools.errors import Interrupted

ROOT = Path(__file__).parents[2]


def test_doctor_finds_all_well_and_says_what_it_looked_at() -> None:
    """One request."""
    with Sandbox(plan="pro", clock="system") as box:
        done = run("doctor", box=box, PETSTORE_PLAN="pro")
        asked = len(box.traffic())

    assert done.returncode == 0
    assert asked == 1
    words = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("ok")]
    assert words == ["settings", "folder", "budget", "service", "clock", "plan"]
    assert box.api_key not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("env", "code", "said"),
    [
        ({"PETSTORE_API_KEY": "wrong"}, 3, "Copy the key again"),
        ({"PETSTORE_BASE_URL": "http://127.0.0.1:9/v1"}, 5, "petstore-tools serve"),
        ({"PETSTORE_BASE_URL": "http://127.0.0.1:9/v2"}, 2, "must end in /v1"),
        ({"PETSTORE_API_KEY": ""}, 2, "PETSTORE_API_KEY"),
        ({"PETSTORE_PLAN": "gold"}, 2, "unknown plan"),
        ({"PETSTORE_STATE_DIR": f"{__file__}/none"}, 2, "PETSTORE_STATE_DIR"),
        ({"PETSTORE_PLAN": "free"}, 0, "Is PETSTORE_PLAN the plan of this key?"),
    ],
)
def test_doctor_names_what_is_wrong_and_what_helps(
    env: dict[str, str], code: int, said: str
) -> None:
    """
    Missing or wrong key, service down, wrong address, unknown plan, a folder that cannot be
    written.
    """
    with Sandbox(plan="600/5000", clock="system") as box:
        done = run("doctor", box=box, **env)

    assert said in done.stdout + done.stderr
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_doctor_sees_a_clock_that_is_wrong() -> None:
    """The throttle bears it; it is worth a word."""
    with Sandbox(plan="pro") as box:  # its clock stands in January
        done = run("doctor", box=box, PETSTORE_PLAN="pro")

    assert "Set this machine's clock by a time server." in done.stdout
    assert done.returncode == 0


@pytest.mark.case("P10")
def test_an_interrupted_cell_shows_one_line() -> None:
    """What was kept, and that the same call goes on; in a notebook in place of a traceback."""
    with Sandbox(animals=350) as box:
        real = box.store.client.call
        asked: list[str] = []

        def interrupted(method: str, url: str, **how: object) -> object:
            asked.append(url)
            if len(asked) == 3:
                raise KeyboardInterrupt
            return real(method, url, **how)  # type: ignore[arg-type]

        box.store.client.call = interrupted  # type: ignore[assignment,method-assign]
        with pytest.raises(Interrupted) as caught:
            box.store.list_pets()

    assert caught.value._render_traceback_() == [
        "Interrupted: 200 animals so far, in last_partial; the same call goes on from there."
    ]
    assert isinstance(caught.value, KeyboardInterrupt)


def test_what_a_notebook_shows_is_small_escaped_and_without_a_key() -> None:
    """Store, listing, quota, report."""
    from petstore_tools.listing.completeness import Listing

    with Sandbox(animals=30) as box:
        shown = [
            box.store._repr_html_(),
            Listing.of(box.store.list_pets())._repr_html_(),
            box.store.quota()._repr_html_(),
            box.store.status_report(categories={1: "<b>"})._repr_html_(),
        ]

    for html in shown:
        assert html.startswith("<div>")
        assert 50 < len(html) < 10_000
        assert box.api_key not in html
        assert "<b>" not in html
        assert (
            "<table" not in html or "<table style=" in html
        )  # no style sheet of Jupyter is needed
