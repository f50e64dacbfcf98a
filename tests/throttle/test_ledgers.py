"""
One behaviour over every ledger that processes share: in a file, in a real PostgreSQL,
behind a real PgBouncer.
"""

import dataclasses
import gc
import multiprocessing
import os
import re
import resource
import signal
import threading
import time
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from threading import Event

import pytest
from leaks import visible_text
from postgres import missing_postgres, name_database, run_postgres
from pydantic import SecretStr

from petstore_tools import PetStore, Sandbox
from petstore_tools.clock import ManualClock
from petstore_tools.errors import LedgerError, SettingsError
from petstore_tools.plans import Plan
from petstore_tools.throttle.gate import Gate
from petstore_tools.throttle.ledger import PostgresLedger, SqliteLedger
from petstore_tools.throttle.quota import read_quota
from petstore_tools.throttle.throttle import Go, Throttle, Wait

T0 = 1_800_000_000.0


def opened(where):
    """Open a ledger by a path or a URL, in any process."""
    if where.startswith("postgresql://"):
        return PostgresLedger(SecretStr(where), "shared")
    return SqliteLedger(Path(where), "shared")


@pytest.fixture(params=["sqlite", "postgresql", "pgbouncer"])
def where(request, tmp_path):
    """The path or the URL of a ledger that processes share."""
    return name_database(request, tmp_path)


@pytest.fixture
def ledger(where):
    with closing(opened(where)) as kept:
        yield kept


def ask(ledger, now=T0, *, per_minute=40):
    plan = Plan(per_minute, 100_000)
    return ledger.update(lambda budget: Throttle(budget, plan).ask(now))


class Pressed(int):
    """A number: when it is written down first, somebody presses Ctrl-C."""

    def __repr__(self):
        if self in PRESSES:
            PRESSES.remove(self)
            raise KeyboardInterrupt
        return super().__repr__()


PRESSES = []


@pytest.mark.parametrize("moment", ["change", "encoding"])
def test_an_interrupt_is_raised_as_it_is_and_leaves_nothing(ledger, moment):
    """
    Half a change is no change, and an interrupt while it is written down is no damage.
    """
    ledger.update(lambda budget: setattr(budget, "grants", 7))
    PRESSES.append(8)

    def half(budget):
        budget.grants = 99
        budget.in_flight[Pressed(8)] = 1.0
        if moment == "change":
            PRESSES.clear()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.update(half)

    assert ledger.update(lambda budget: (budget.grants, budget.in_flight)) == (7, {})


def _grab(where, barrier, results):
    ledger = opened(where)
    barrier.wait()
    granted = 0
    for _ in range(60):
        granted += isinstance(ask(ledger), Go)
    results.put(granted)
    ledger.close()


def six_grab(where, method):
    """
    Let six processes ask 360 times for 40 a minute; a connection of the parent stays
    open.
    """
    context = multiprocessing.get_context(method)
    ledger = opened(where)
    ledger.update(lambda budget: setattr(budget, "needs_probe", False))
    barrier = context.Barrier(6)
    results = context.Queue()
    processes = [
        context.Process(target=_grab, args=(where, barrier, results)) for _ in range(6)
    ]
    for process in processes:
        process.start()
    granted = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(10)
    ledger.close()
    return granted


@pytest.mark.parametrize(
    ("where", "method"),
    [
        pytest.param(  # each loads all that this file does; CI plays each part001
            "sqlite",
            "spawn",
            marks=[pytest.mark.soak] if hasattr(os, "fork") else [],
            id="sqlite-spawn-part001",
        ),
        ("sqlite", "fork"),
        ("postgresql", "fork"),
        ("pgbouncer", "fork"),
    ],
    indirect=["where"],
)
def test_six_processes_are_granted_exactly_the_plan(where, method):
    """40 a minute over six processes that ask 360 times at one instant: 40 grants."""
    assert sum(six_grab(where, method)) == 40


def _stay(where, held, holding):
    """Take one request, and stay: with the budget, or without it."""
    ledger = opened(where)
    ask(ledger, per_minute=60)

    def hold(_):
        holding.set()
        Event().wait()

    if held == "lock":
        ledger.update(hold)
    hold(None)


@contextmanager
def staying(where, held, signal_):
    """
    Run a process that spends one request and then holds the budget, or nothing but a
    lease; kill or stop it there.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PostgresLedger.__module__, "psycopg"])
    holding = context.Event()
    process = context.Process(target=_stay, args=(where, held, holding))
    process.start()
    assert holding.wait(60)
    os.kill(process.pid, signal_)
    yield
    process.kill()
    process.join(60)


HOW = [("lock", signal.SIGKILL), ("lease", signal.SIGKILL), ("lease", signal.SIGSTOP)]
STOPPED = [
    *product(("sqlite", "postgresql", "pgbouncer"), HOW),
    # a machine that vanishes: the database ends its session after 5 s
    ("pgbouncer", ("lock", signal.SIGSTOP)),
]


@pytest.mark.parametrize(("where", "how"), STOPPED, indirect=["where"])
def test_a_process_that_is_killed_or_stopped_stops_nobody(where, ledger, how):
    """
    Others go on at once, or when the probe's lease ends; what it spent stays spent.
    """
    with staying(where, *how):
        assert isinstance(ask(ledger, T0 + 3.9, per_minute=60), Wait)
        assert isinstance(ask(ledger, T0 + 4.0, per_minute=60), Go)
        assert ledger.update(lambda budget: len(budget.in_flight)) == 2


@pytest.mark.parametrize("state", ["[1, {}]", ""])
def test_a_budget_in_a_database_that_another_version_wrote_is_refused(postgres, state):
    """
    Its fields may mean something else; a file says so by its `user_version`. Nor is an
    emptied budget a new one.
    """
    import psycopg

    url = postgres.database()
    with closing(opened(url)) as ledger:
        ask(ledger)
        with psycopg.connect(url) as database:
            database.execute("UPDATE petstore_budget SET state = %s", (state,))

        with pytest.raises(LedgerError, match="another version of the toolkit"):
            ask(ledger)


def test_a_user_who_may_change_the_budget_needs_no_right_to_create_it(postgres):
    """Each person of an office has a user of the database."""
    import psycopg

    url = postgres.database()
    with closing(opened(url)) as ledger:
        ask(ledger)
    with psycopg.connect(url) as database:
        database.execute("CREATE ROLE carl LOGIN")
        database.execute("GRANT SELECT, INSERT, UPDATE ON petstore_budget TO carl")
    with closing(opened(url.replace("postgres:", "carl:"))) as ledger:
        assert "a first request was sent" in ask(ledger).reason


def test_machines_with_different_clocks_agree_by_the_databases(postgres, monkeypatch):
    """
    A machine whose clock is an hour fast closes the gate: the other waits as long as
    the service said, and knows what was spent.
    """
    now = time.time
    ahead_s = [3_600.0]
    monkeypatch.setattr(time, "time", lambda: now() + ahead_s[0])
    url = SecretStr(postgres.database())

    def gate_of_machine():
        ledger = PostgresLedger(url, "shared")
        return Gate(ledger, Plan(60, 1_000), ManualClock(time.time()), max_wait_s=0.0)

    fast = gate_of_machine()
    fast.record_reply(fast.acquire(), 200, {}, "")
    fast.record_reply(fast.acquire(), 429, {"Retry-After": "30"}, "")
    quotas = [read_quota(fast)]
    ahead_s[0] = 0.0
    other = gate_of_machine()
    quotas.append(read_quota(other))

    fast.close()
    other.close()
    for quota in quotas:
        assert quota.blocked_until - quota.as_of == pytest.approx(30.5, abs=0.5)
        assert quota.day.left == 999
        assert f"database 127.0.0.1:{postgres.port}/" in quota.note


def test_a_database_that_restarts_costs_nothing_and_a_missing_one_is_an_error():
    """
    Nothing is sent without the ledger, the error says what helps, and no word of it is
    the password.
    """
    if why := missing_postgres():
        pytest.skip(f"no PostgreSQL: {why}")
    with run_postgres() as server, Sandbox(plan="60/1000", animals=0) as box:
        url = SecretStr(server.database())
        settings = dataclasses.replace(box.store.settings, ledger_url=url)
        store = PetStore.from_settings(settings, clock=box.clock)
        store.list_pets()
        server.stop()
        server.start()
        assert store.list_pets().empty

        server.stop()
        sent = store.client.sent
        with pytest.raises(LedgerError, match="PETSTORE_LEDGER_URL") as caught:
            store.list_pets()
        assert store.client.sent == sent
        assert "secret" not in str(caught.value)

        server.start()
        assert store.list_pets().empty
        assert "secret" not in repr(store)
        assert not (box.state_dir / "budget.db").exists()
        store.close()


@pytest.mark.parametrize(
    "address",
    [
        "redis://:hush@cache/0",
        "postgresql://ann:h@ush@db/pets",
        "postgresql://ann:h/ush@db/pets",
        "postgresql://ann:hush%zz@db/pets",
        "postgresql://ann:hush@db:54x2/pets",
    ],
)
def test_an_address_that_is_none_of_postgresql_is_named_without_its_password(address):
    """
    Redis, a character that divides the password, a port in letters: the settings error
    shows the form, not the value.
    """
    with pytest.raises(SettingsError, match="postgresql://USER") as caught:
        PostgresLedger(SecretStr(address), "shared")

    assert not re.search("hush|ush", str(caught.value))


@pytest.mark.parametrize(
    ("part", "other", "reason"),
    [
        ("//postgres:", "//ann:", 'role "ann" does not exist'),
        ("/postgres", "/nosuch", 'database "nosuch" does not exist'),
        ("127.0.0.1", "nowhere.invalid", "'nowhere.invalid'"),
        ("127.0.0.1", "a-secret-word.invalid", "'****.invalid'"),
    ],
)
def test_an_error_of_the_database_is_told_without_the_password(
    postgres, part, other, reason
):
    """
    A mistyped user, database or host: each is named, and how to go
    on. The driver has the address in its frames, which hide it.
    """
    head, _, tail = postgres.url("postgres").rpartition(part)
    address = SecretStr(f"{head}{other}{tail}")

    with (
        closing(PostgresLedger(address, "shared")) as ledger,
        pytest.raises(LedgerError) as caught,
    ):
        ledger.update(lambda budget: None)

    assert reason in str(caught.value)
    assert "name a part of the plan" in str(caught.value)
    assert "a-secret-word" not in visible_text(caught.value)


@pytest.mark.soak  # it takes the 10 s after which others give up
@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
def test_a_budget_file_that_a_stopped_process_holds_is_a_clear_error(where, ledger):
    """
    After the wait an error says so; nothing is let go, and what was spent stays spent.
    """
    with (
        staying(where, "lock", signal.SIGSTOP),
        pytest.raises(LedgerError, match="database is locked"),
    ):
        ask(ledger)

    assert isinstance(ask(ledger), Wait)  # the probe is still in flight


def _fill(path, results):
    """Ask until the disk is full; tell what was granted, and what the error says."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000))
    ledger = SqliteLedger(path, "shared")
    ledger.update(lambda budget: setattr(budget, "needs_probe", False))
    granted = 0
    try:
        while isinstance(ask(ledger, per_minute=10_000), Go):
            granted += 1
    except LedgerError as error:
        results.put((granted, str(error)))


def test_a_full_disk_is_a_clear_error_and_what_was_granted_stays_spent(tmp_path):
    """The write that does not fit lets nothing go, and the file is whole afterwards."""
    path = tmp_path / "budget.db"
    context = multiprocessing.get_context("forkserver")
    results = context.Queue()
    process = context.Process(target=_fill, args=(path, results))
    process.start()
    granted, message = results.get(timeout=60)
    process.join(60)

    assert "Without it no request is sent." in message
    with closing(SqliteLedger(path, "shared")) as ledger:
        assert ledger.update(lambda budget: len(budget.in_flight)) == granted > 0


def test_a_budget_file_that_is_removed_during_a_run_is_no_second_budget(tmp_path):
    """
    Each later request of this program is refused, also where another one made a new
    file.
    """
    path = tmp_path / "budget.db"
    ledger = SqliteLedger(path, "shared")
    assert isinstance(ask(ledger), Go)
    path.unlink()

    for _ in range(2):
        with pytest.raises(LedgerError, match="it was removed while it was in use"):
            ask(ledger)
    with closing(SqliteLedger(path, "shared")) as other:
        assert isinstance(ask(other), Go)
    with pytest.raises(LedgerError, match="it was removed"):
        ask(ledger)


def test_a_connection_is_closed_with_its_ledger(where):
    """As of a page fetched ahead, that counts its request when its store is closed."""
    ledger = opened(where)
    ask(ledger)
    connection = ledger._connection.get()

    del ledger
    gc.collect()

    with pytest.raises(Exception, match="closed"):
        connection.execute("SELECT 1")


def test_a_child_forked_while_another_thread_holds_the_budget_goes_on(ledger):
    """
    The thread is not in the child, so nothing waits for it there; the child opens a
    connection of its own.
    """
    inherited = ledger._connection.get()
    held = threading.Event()
    done = threading.Event()

    def ask_anew():
        ask(ledger)
        assert ledger._connection.get() is not inherited

    def hold(_):
        held.set()
        done.wait(30)

    thread = threading.Thread(target=lambda: ledger.update(hold))
    thread.start()
    held.wait(30)
    child = multiprocessing.get_context("fork").Process(target=ask_anew)
    forking = threading.Thread(target=child.start)
    forking.start()
    done.set()
    forking.join()
    thread.join()
    child.join(60)

    assert child.exitcode == 0
    assert ledger.update(lambda budget: budget.grants) == 1
