"""
A state folder on a network file system: one machine at a time, and no shared memory.

Simulated: the file system is a local one that a text calls nfs4, and two processes that are told
other names stand for two machines. SQLite locks nothing there (its `unix-none`), as on a mount
whose locks do not work.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from petstore_tools import PetStore, Sandbox, sqlite
from petstore_tools.doctor import examine
from petstore_tools.errors import FrameError, JournalError, LedgerError
from petstore_tools.history.storage import Storage
from petstore_tools.importing.run_lock import run_lock
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.ledger import SqliteLedger

MOUNTS = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:44 / {folder} rw - nfs4 files:/home rw\n"
MACHINE = """
import sqlite3, sys
from pathlib import Path
from petstore_tools import sqlite
folder, sqlite.HOST = Path(sys.argv[1]), sys.argv[2] + " boot"
sqlite.MOUNTS = folder / "mounts"
"""
WITHOUT_LOCKS = """
connect = sqlite3.connect
def without_locks(path, **options):
    if not str(path).startswith("file:"):
        path = Path(path).resolve().as_uri()
    return connect(f"{path}{'&' if '?' in path else '?'}vfs=unix-none", **options | {"uri": True})
sqlite3.connect = without_locks
"""
ASKING = """
from petstore_tools.errors import LedgerError
from petstore_tools.plans import Plan
from petstore_tools.throttle.ledger import SqliteLedger
from petstore_tools.throttle.throttle import Go, Throttle
ledger, granted, refusal = SqliteLedger(folder / "budget.db", "key"), 0, ""
def ask(budget):
    budget.needs_probe = False
    return Throttle(Plan(40, 1_000), budget).ask(1_800_000_000.0)
try:
    for _ in range(200):
        granted += isinstance(ledger.update(ask), Go)
except LedgerError as error:
    refusal = str(error)
print(granted, refusal)
"""
IMPORTING = """
from petstore_tools import PetStore
from petstore_tools.errors import PetstoreError
base_url, key, sheet = sys.argv[3:]
try:
    with PetStore(base_url=base_url, api_key=key, plan="6000/100000", state_dir=folder) as store:
        print(store.import_pets(sheet).created)
except PetstoreError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is said to be on nfs4."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mounts").write_text(MOUNTS.format(folder=(tmp_path / "home").resolve()))
    monkeypatch.setattr(sqlite, "MOUNTS", tmp_path / "home" / "mounts")
    monkeypatch.setattr(sqlite, "_claimed", {})
    return tmp_path / "home"


def become(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be another machine from now on."""
    monkeypatch.setattr(sqlite, "HOST", f"{name} boot")
    monkeypatch.setattr(sqlite, "_claimed", {})


def at_once(code: str, names: list[str], home: Path, *arguments: str) -> list[str]:
    """Run a program on machines of these names at once, and return what each said."""
    machines = [
        subprocess.Popen(
            [sys.executable, "-c", MACHINE + code, str(home), name, *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    return sorted(machine.communicate(timeout=60)[0].strip() for machine in machines)


def test_two_machines_on_one_folder_never_both_spend(home: Path) -> None:
    """
    Without a lock that works, both ask for 40 a minute at once: one is granted 40, the other none.
    """
    refused, granted = at_once(WITHOUT_LOCKS + ASKING, ["pod-a", "pod-b"], home)

    assert granted == "40"
    assert refused.startswith(
        "0 The budget cannot be used: the folder is on a network file system (nfs4)"
    )
    assert "PETSTORE_LEDGER_URL" in refused
    assert "(process " in refused
    assert not list(home.glob("*-wal")) + list(home.glob("*-shm"))


def test_two_machines_that_import_one_file_never_both_send(home: Path, tmp_path: Path) -> None:
    """One creates its 30 animals, the other is told which machine uses the folder."""
    sheet = tmp_path / "animals.csv"
    sheet.write_text("name,categoryId\n" + "".join(f"Rex {n},3\n" for n in range(30)))
    with Sandbox(plan="6000/100000", animals=0) as box:
        said = at_once(
            WITHOUT_LOCKS + IMPORTING,
            ["pod-a", "pod-b"],
            home,
            box.base_url,
            box.api_key,
            str(sheet),
        )

        assert ["one machine at a time" in text for text in said] == [
            not text.endswith("\n30") for text in said
        ]
        assert sum(text.endswith("\n30") for text in said) == 1
        assert len(box.store.list_pets()) == 30


def test_six_processes_of_one_machine_claim_the_folder_at_once(home: Path) -> None:
    """
    None is refused, and together they are granted exactly the plan: on one machine locks work.
    """
    said = at_once(ASKING, ["pod-a"] * 6, home)

    assert [text for text in said if not text.isdecimal()] == []
    assert sum(map(int, said)) == 40


def test_the_processes_of_one_machine_share_the_folder(home: Path) -> None:
    """Two ledgers and a budget that both count; no memory is shared, the journal is rolled back."""
    one, two = (SqliteLedger(home / "budget.db", "key") for _ in range(2))
    one.update(lambda budget: setattr(budget, "granted", 7))

    assert two.update(lambda budget: budget.granted) == 7
    db = one._connection.get()
    assert [
        db.execute(f"PRAGMA {name}").fetchone() for name in ("journal_mode", "synchronous")
    ] == [
        ("delete",),
        (2,),
    ]
    one.close()
    two.close()


def test_a_budget_that_was_made_on_a_local_disk_goes_on_without_wal(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that was moved to a file server: the file is turned over, and nothing is forgotten."""
    with monkeypatch.context() as local:
        local.setattr(sqlite, "MOUNTS", home / "none")
        ledger = SqliteLedger(home / "budget.db", "key")
        ledger.update(lambda budget: setattr(budget, "granted", 7))
        ledger.close()

    ledger = SqliteLedger(home / "budget.db", "key")
    assert ledger.update(lambda budget: budget.granted) == 7
    assert ledger._connection.get().execute("PRAGMA journal_mode").fetchone() == ("delete",)
    ledger.close()


def test_a_machine_that_was_silent_for_two_minutes_has_given_the_folder_up(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Another one takes it over; the first one, awake again, is refused before it counts anything.
    """
    one, two = (SqliteLedger(home / "budget.db", "key") for _ in range(2))
    become("pod-a", monkeypatch)
    one.update(lambda budget: setattr(budget, "granted", 7))
    become("pod-b", monkeypatch)
    with pytest.raises(
        LedgerError, match=r"pod-a \(process \d+\) did 0 s ago; try again 120 s after"
    ):
        two.update(lambda budget: None)

    age = (home / "host.lock").stat().st_mtime - 121
    os.utime(home / "host.lock", (age, age))

    assert two.update(lambda budget: budget.granted) == 7
    become("pod-a", monkeypatch)
    with pytest.raises(LedgerError, match="pod-b"):
        one.update(lambda budget: setattr(budget, "granted", 9))
    become("pod-b", monkeypatch)
    assert two.update(lambda budget: budget.granted) == 7
    one.close()
    two.close()


def test_a_state_folder_is_claimed_as_a_whole(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Who counts requests in it keeps others from its imports and its snapshots too, in words of each.
    """
    become("pod-a", monkeypatch)
    ledger = SqliteLedger(home / "budget.db", "key")
    ledger.update(lambda budget: None)
    ledger.close()
    (home / "imports").mkdir()

    become("pod-b", monkeypatch)
    with pytest.raises(JournalError, match="pod-a"), run_lock(home / "imports", "one"):
        pass
    with (
        pytest.raises(FrameError, match="pod-a"),
        Storage(home / "snapshots" / "sandbox-1").writing(),
    ):
        pass


def test_a_claim_that_died_half_way_is_taken_over(home: Path) -> None:
    """
    The file that only one process can have is left behind: after a second it is in nobody's way.
    """
    (home / "host.lock.new").write_text("pod-x boot 1")
    ledger = SqliteLedger(home / "budget.db", "key")

    assert isinstance(ledger.update(lambda budget: budget), Budget)
    ledger.close()


def test_a_folder_on_a_local_disk_has_no_host_lock(tmp_path: Path) -> None:
    """WAL as ever."""
    ledger = SqliteLedger(tmp_path / "budget.db", "key")
    ledger.update(lambda budget: None)

    assert ledger._connection.get().execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert not (tmp_path / "host.lock").exists()
    ledger.close()


@pytest.mark.parametrize(
    ("mounts", "state", "said"),
    [
        (MOUNTS, "note", "network file system (nfs4); files have a rollback journal"),
        ("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "ok", ", on ext4"),
        ("", "ok", "this system does not say"),
    ],
)
def test_doctor_says_which_file_system_and_which_mode(
    home: Path, mounts: str, state: str, said: str
) -> None:
    """Recognised, local, or unknown: then it says that it could not tell."""
    (home / "mounts").write_text(mounts.format(folder=home.resolve()))
    with PetStore(
        base_url="http://127.0.0.1:1/v1", api_key="k", state_dir=home, ledger="memory"
    ) as store:
        finding = next(examine(store.client, store.settings))

    assert (finding.what, finding.state) == ("state folder", state)
    assert said in finding.text
