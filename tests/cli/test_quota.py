"""`quota` and `doctor`: what is left, what is wrong, and what fixes it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from petstore_tools import Sandbox

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_quota_costs_no_request(run: Run, box: Sandbox) -> None:
    """Both windows are shown."""
    done = run("quota")

    assert (done.returncode, len(box.traffic())) == (0, 0)
    assert "10,000" in done.stdout
    assert "100,000" in done.stdout


def test_doctor_finds_all_well_and_says_what_it_looked_at(run: Run, box: Sandbox) -> None:
    """One request."""
    done = run("doctor")

    words = [line.split()[:2] for line in done.stdout.splitlines()]
    subjects = ["settings", "folder", "budget", "service", "clock", "plan"]
    assert words == [["ok", subject] for subject in subjects]
    assert (done.returncode, len(box.traffic())) == (0, 1)


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
    run: Run, env: dict[str, str], code: int, said: str
) -> None:
    """Key, service, address, plan, and a folder that cannot be written."""
    done = run("doctor", **env)

    assert said in done.stdout + done.stderr
    assert done.returncode == code


def test_doctor_sees_a_clock_that_is_wrong(run: Run) -> None:
    """The throttle bears it; it is worth a word."""
    with Sandbox(plan="pro") as box:  # its clock stands in January
        here = {"PETSTORE_BASE_URL": box.base_url, "PETSTORE_API_KEY": box.api_key}
        done = run("doctor", **here)

    assert "Set this machine's clock by a time server." in done.stdout
    assert done.returncode == 0
