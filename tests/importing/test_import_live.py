"""Imports against the real service: deaths, lost replies, sick services, and going on."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from inventories import existing, through
from proxy import Fate, FaultProxy, reply
from python_calamine import CalamineWorkbook

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import ApiError, JournalError, SheetError, UnauthorizedError
from petstore_tools.importing import lookup
from petstore_tools.importing.journal import open_journal
from petstore_tools.importing.matching import merge
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.run_lock import Target
from petstore_tools.importing.send import Progress
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples
from petstore_tools.tabular.workbooks import write_xlsx

ROWS = 60


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(ROWS), encoding="utf-8")
    return path


def expected(rows: int = ROWS) -> Counter[tuple[str, int, str | None]]:
    return Counter(samples.animals(rows))


def test_every_row_is_created_once_and_a_second_run_sends_nothing(fast: Sandbox, file: Path) -> None:
    """The service holds exactly the file; again: 0 requests."""
    first = fast.store.import_pets(file)
    second = fast.store.import_pets(file)

    assert existing(fast) == expected()
    assert (first.created, first.created_now, first.complete) == (ROWS, ROWS, True)
    assert (second.created, second.created_now, second.requests) == (ROWS, 0, 0)


def test_the_forecast_is_printed_before_the_first_request(
    fast: Sandbox, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows, host, price; the preview alone sends and writes nothing."""
    preview = fast.store.preview_import(file)
    assert (preview.to_send, fast.store.client.sent) == (ROWS, 0)
    assert not (fast.store.journals).exists()

    fast.store.import_pets(file)

    assert f"{ROWS} to send" in capsys.readouterr().out


@pytest.mark.parametrize("whole_store", [False, True])
def test_an_import_without_progress_prints_nothing(
    fast: Sandbox, file: Path, whole_store: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said of one call or of the store: neither a preview nor a bar."""
    place: dict[str, Any] = {"base_url": fast.base_url, "api_key": fast.api_key, "plan": "9000/90000"}
    store = PetStore(**place, progress=False if whole_store else None)

    result = store.import_pets(file, progress=None if whole_store else False)

    store.close()
    assert result.complete
    assert capsys.readouterr() == ("", "")


@pytest.mark.case("P38")
@pytest.mark.parametrize("bad", [0, 2, 9])
def test_one_bad_row_of_ten_shifts_nothing(fast: Sandbox, tmp_path: Path, bad: int) -> None:
    """The first, the third or the last row is wrong: the fates of all ten are exact."""
    animals = samples.animals(10)
    lines = [
        f"{name},{'cats' if n == bad else category},{status or ''}"
        for n, (name, category, status) in enumerate(animals)
    ]
    path = tmp_path / "ten.csv"
    path.write_text("\n".join(["name,categoryId,status", *lines]), encoding="utf-8")

    result = fast.store.import_pets(path)

    fates = result.frame
    assert fates["fate"].tolist() == ["rejected" if n == bad else "created" for n in range(10)]
    assert fates["row"].tolist() == list(range(2, 12))
    whole = fast.store.list_pets().set_index("id")["name"]
    for n, pet_id in enumerate(fates["id"]):
        if n != bad:
            assert whole[pet_id] == animals[n][0]


@pytest.mark.case("P38")
@pytest.mark.parametrize("bad", [1, 5, 10])
def test_a_row_the_service_refuses_shifts_nothing_either(fast: Sandbox, tmp_path: Path, bad: int) -> None:
    """A 400 for the n-th request is the fate of the n-th row."""
    path = tmp_path / "ten.csv"
    path.write_text(samples.animals_csv(10), encoding="utf-8")
    refusal = reply(400, b'{"code":"invalid_body","message":"no","status":400}')
    with FaultProxy(
        fast.base_url, lambda method, n: refusal if (method, n) == ("POST", bad) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        result = replace_plan(store, Plan(60, 100_000)).import_pets(path, wait=True)

    assert result.frame["fate"].tolist() == ["rejected" if n == bad else "created" for n in range(1, 11)]
    assert existing(fast) == expected(10) - Counter([samples.animals(10)[bad - 1]])


def replace_plan(store: PetStore, plan: Plan) -> PetStore:
    """Return the store on a plan so slow that one connection is enough, which keeps the order."""
    return PetStore.from_settings(replace(store.settings, plan=plan), clock=store.client.clock)


@pytest.mark.case("P39")
def test_a_refused_key_stops_an_import_after_one_request(fast: Sandbox, file: Path) -> None:
    """401: one request, nothing marked, and the same file goes on with a good key."""
    with FaultProxy(fast.base_url, lambda method, n: reply(401)) as proxy:
        store = through(fast, proxy)
        with pytest.raises(UnauthorizedError):
            store.import_pets(file)
        assert proxy.counts == {"GET": 1}

    result = store.preview_import(file)
    assert (result.to_send, result.unknown) == (ROWS, 0)


@pytest.mark.case("P39")
def test_a_429_never_marks_a_row_failed(fast: Sandbox, file: Path) -> None:
    """Every seventh request is refused: it waits, goes again, and every row is created once."""
    refusal = reply(429, Retry_After="1")
    with FaultProxy(fast.base_url, lambda method, n: refusal if n % 7 == 0 else "pass") as proxy:
        result = through(fast, proxy).import_pets(file)

    assert (result.created, result.rejected, result.unknown) == (ROWS, 0, 0)
    assert existing(fast) == expected()


@pytest.mark.case("P39a")
@pytest.mark.parametrize("blind", [False, True])
def test_a_service_that_answers_500_to_all_costs_a_handful_of_rows(
    fast: Sandbox, tmp_path: Path, blind: bool
) -> None:
    """Of 5,000 rows at most connections + 3 are lost; it stops, and where it can look, all are unsent."""
    path = tmp_path / "many.csv"
    path.write_text(samples.animals_csv(5_000), encoding="utf-8")
    sick = reply(500)
    with FaultProxy(
        fast.base_url, lambda method, n: sick if method == "POST" or (blind and n > 1) else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(path)

    assert result.stopped is not None
    assert result.stopped.kind == "service"
    assert 3 <= proxy.counts["POST"] <= 16 + 3
    assert result.unknown == (proxy.counts["POST"] if blind else 0)
    assert proxy.counts["GET"] == (1 + lookup.PROBES if blind else 3)  # before, probes, after
    assert result.unsent == 5_000 - result.unknown


@pytest.mark.case("P39a")
@pytest.mark.parametrize("baseline", [True, False])
@pytest.mark.parametrize("status", [404, 405])
def test_a_service_without_the_operation_stops_after_the_first_request(
    fast: Sandbox, file: Path, status: int, baseline: bool
) -> None:
    """The request is wrong, not the row: nothing is unknown."""
    with FaultProxy(fast.base_url, lambda method, n: reply(status)) as proxy:
        store = through(fast, proxy)
        with pytest.raises(ApiError):
            store.import_pets(file, baseline=baseline)
        assert sum(proxy.counts.values()) == 1

    preview = store.preview_import(file)
    assert (preview.to_send, preview.unknown) == (ROWS, 0)


@pytest.mark.case("P39a")
@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1/v1", "http://nowhere.invalid/v1"])
@pytest.mark.filterwarnings("ignore:the key travels unencrypted")
def test_a_closed_port_or_an_unknown_host_makes_nothing_unknown(
    fast: Sandbox, file: Path, base_url: str
) -> None:
    """It is proven that nothing left: all rows stay unsent."""
    store = fast.connect(base_url=base_url)

    result = store.import_pets(file)

    assert result.stopped is not None
    assert (result.stopped.kind, result.unknown, result.unsent) == ("service", 0, ROWS)


LOST = ["drop before", "drop after", reply(500), reply(504), reply(201, b"{}")]
LOST_IDS = ["before commit", "after commit", "500", "504", "201 without an animal"]


@pytest.mark.case("P31")
@pytest.mark.parametrize("fate", LOST, ids=LOST_IDS)
def test_a_lost_answer_is_settled_by_a_look(fast: Sandbox, file: Path, fate: Fate) -> None:
    """Whatever happened to the tenth create: a minute later one look tells, and every row stands once."""
    with FaultProxy(
        fast.base_url, lambda method, n: fate if (method, n) == ("POST", 10) else "pass"
    ) as proxy:
        before = fast.clock.now()
        told: list[Progress] = []
        result = through(fast, proxy).import_pets(file, progress=told.append)

    assert (result.created, result.unknown, result.complete) == (ROWS, 0, True)
    assert existing(fast) == expected()
    assert fast.clock.now() - before >= 60
    waited = [p for p in told if "answer was lost" in p.waits_for]
    assert {(p.created, p.unknown, p.waits_until) for p in waited} == {(ROWS - 1, 1, before + 60)}
    assert proxy.counts["POST"] == (ROWS if fate == "drop after" else ROWS + 1)
    assert proxy.counts["GET"] == 2


@pytest.mark.case("P31")
@pytest.mark.parametrize(("lost", "created"), [(1, 1), (2, 1), (99, 0)])
def test_the_only_row_of_a_file_is_sent_again_but_not_for_ever(
    fast: Sandbox, tmp_path: Path, lost: int, created: int
) -> None:
    """Its first answers are lost before the commit: a look, another try; after three in vain the run ends."""
    path = tmp_path / "one.csv"
    path.write_text("name,categoryId\nRex,3\n")
    with FaultProxy(
        fast.base_url, lambda method, n: "drop before" if method == "POST" and n <= lost else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(path)

    assert (result.created, result.unsent, proxy.counts["POST"]) == (created, 1 - created, min(lost + 1, 3))
    assert (result.stopped is None) == bool(created)
    assert sum(existing(fast).values()) == created


@pytest.mark.case("P31")
@pytest.mark.parametrize("fate", LOST, ids=LOST_IDS)
def test_without_a_look_before_what_stands_is_for_a_person_to_decide(
    fast: Sandbox, file: Path, fate: Fate
) -> None:
    """It may have stood already: ambiguous, named, never sent again; what does not stand goes."""
    with FaultProxy(
        fast.base_url, lambda method, n: fate if (method, n) == ("POST", 10) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        result = store.import_pets(file, baseline=False)
        again = store.import_pets(file, baseline=False)

    committed = fate == "drop after"
    assert (result.created, result.ambiguous) == (ROWS - committed, int(committed))
    assert (again.created_now, again.requests) == (0, 0)
    assert existing(fast) == expected()
    if committed:
        unknown = next(path for path in result.files if "unknown" in path.name)
        assert "it may be id 10" in unknown.read_text()
        with pytest.raises(SheetError, match="may stand already"):
            store.import_pets(unknown)


@pytest.mark.case("P33")
def test_a_commit_half_a_minute_late_is_found(fast: Sandbox, file: Path) -> None:
    """The answer is lost at once, the animal stands 30 s later: the look waits for it."""
    late: list[float] = []

    def fate(method: str, n: int) -> Fate:
        if (method, n) != ("POST", 10):
            return "pass"
        late.append(fast.clock.now() + 30)
        return "drop before"

    with FaultProxy(fast.base_url, fate) as proxy:
        store = through(fast, proxy)
        lost = _lost(store, file)
        assert len(late) == 1
        fast.advance(seconds=30)
        fast.add([lost[0].content])
        result = store.import_pets(file)

    assert (result.complete, proxy.counts["POST"]) == (True, ROWS)
    assert existing(fast) == expected()


def _lost(store: PetStore, file: Path) -> list[Entry]:
    """Import, and stop before the look."""
    store.client.max_wait_s = 0.0
    result = store.import_pets(file)
    store.client.max_wait_s = 90.0
    return [entry for entry in result.entries if entry.state == "unknown"]


def test_a_settling_that_would_take_long_is_left_to_a_later_call(fast: Sandbox, file: Path) -> None:
    """Ten minutes are no wait for a cell that was not told to wait; a later call settles."""
    with FaultProxy(
        fast.base_url, lambda method, n: "drop after" if (method, n) == ("POST", 10) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        store.client.reconcile_after_s = 600
        first = store.import_pets(file)
        fast.advance(minutes=11)
        second = store.import_pets(file)

    assert (first.unknown, first.stopped and first.stopped.kind) == (1, "unknown rows")
    assert first.resumes_at == fast.clock.now() - 60
    assert "pass wait=True" in str(first)
    assert (second.complete, second.created_now) == (True, 1)
    assert existing(fast) == expected()


@pytest.mark.case("P34")
@pytest.mark.parametrize("fate", ["drop before", "drop after"])
def test_two_identical_rows_of_which_one_is_lost_are_settled_as_one(
    fast: Sandbox, tmp_path: Path, fate: Fate
) -> None:
    """Twins: the second's answer is lost; both stand in the end, and none thrice."""
    path = tmp_path / "twins.csv"
    path.write_text("name,categoryId\nMia,4\nMia,4\nRex,3\n")
    with FaultProxy(fast.base_url, lambda method, n: fate if (method, n) == ("POST", 2) else "pass") as proxy:
        result = through(fast, proxy).import_pets(path)

    assert result.complete
    assert existing(fast) == Counter({("Mia", 4, None): 2, ("Rex", 3, None): 1})
    assert result.frame["id"].is_unique


def test_rows_that_stand_in_the_inventory_are_asked_about(fast: Sandbox, file: Path) -> None:
    """Twelve of sixty bear the values of animals there: counted, named, nothing created, until told."""
    fast.add(samples.animals(ROWS)[:12])
    with pytest.raises(SheetError, match=r"12 rows of 60 in animals\.csv seem to stand already.*row 2\)"):
        fast.store.import_pets(file)
    assert sum(existing(fast).values()) == 12

    result = fast.store.import_pets(file, existing="skip")

    assert (result.created, result.skipped) == (ROWS - 12, 12)
    assert existing(fast) == expected()


def test_a_look_that_costs_more_than_it_is_worth_is_given_up(fast: Sandbox, file: Path) -> None:
    """1,500 animals are fifteen pages, sixty rows are worth ten: the import goes on without a baseline."""
    fast.add(samples.animals(1_500, seed=9))

    result = fast.store.import_pets(file)

    assert (result.complete, result.requests) == (True, 10 + ROWS)


def test_a_stranger_with_a_lost_rows_values_makes_it_ambiguous(fast: Sandbox, file: Path) -> None:
    """Ours stands and a stranger's too: nobody can tell which, so nothing is sent and both are named."""
    with FaultProxy(
        fast.base_url, lambda method, n: "drop after" if (method, n) == ("POST", 10) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        (lost,) = _lost(store, file)
        fast.add([lost.content])
        result = store.import_pets(file)

    (entry,) = [entry for entry in result.entries if entry.state == "unknown"]
    assert (result.ambiguous, len(entry.candidates)) == (1, 2)
    assert entry.detail == "1 row with these values, 2 animals that could be theirs"


@pytest.mark.case("P27")
def test_an_import_stops_at_the_days_quota_and_goes_on_the_next_day(file: Path) -> None:
    """It sleeps through no night: it says when, and the same call goes on."""
    with Sandbox(plan="30/40", animals=0) as box:
        started = box.clock.now()
        first = box.store.import_pets(file, reserve=0)
        assert first.stopped is not None
        assert (first.stopped.kind, first.created, first.unsent) == ("quota", 39, 21)
        assert box.clock.now() - started < 180
        assert first.resumes_at == started // 86_400 * 86_400 + 86_401

        box.advance(hours=24)
        second = box.store.import_pets(file, reserve=0)

        assert (second.created, second.created_now, second.complete) == (60, 21, True)
        assert existing(box) == expected()


def test_a_two_day_import_on_the_free_plan_runs_without_a_429(tmp_path: Path) -> None:
    """2,000 rows, real HTTP, real journal; the clock goes on by itself when all wait."""
    path = tmp_path / "many.csv"
    path.write_text(samples.animals_csv(2_000), encoding="utf-8")
    with Sandbox(plan="free", animals=0) as box:
        started = box.clock.now()
        result = box.store.import_pets(path, wait=True)

        assert (result.complete, result.requests) == (True, 2_001)
        assert box.clock.now() - started == pytest.approx(39 * 3_600, abs=120)
        assert existing(box) == expected(2_000)
        assert box.store.client.ledger.update(lambda budget: budget.refused_at) == 0.0


@pytest.mark.case("P41")
def test_the_rejects_file_imports_only_what_was_fixed(fast: Sandbox, tmp_path: Path) -> None:
    """Fixed there, then fixed in the original too: each row is created once."""
    path = tmp_path / "pets.csv"
    path.write_bytes(
        "name;categoryId;status;note\r\nRex;3;sold;a\r\n=Mia;cats;;b\r\nMax;4;gone;c\r\n".encode("utf-8-sig")
    )
    first = fast.store.import_pets(path, allow_bad=True)
    rejects = tmp_path / "pets.sandbox.rejected.csv"
    content = rejects.read_bytes()
    assert content.startswith(b"\xef\xbb\xbfname;categoryId;status;note;petstore_row")
    assert b"'=Mia" in content
    assert (first.created, first.rejected) == (1, 2)

    rejects.write_bytes(content.replace(b";cats;", b";5;", 1))
    second = fast.store.import_pets(rejects, allow_bad=True)
    assert (second.created, second.created_now, second.rejected) == (1, 1, 1)

    path.write_bytes(path.read_bytes().replace(b";cats;", b";5;").replace(b";gone;", b";sold;"))
    third = fast.store.import_pets(path)

    assert (third.created, third.created_now) == (3, 1)
    assert existing(fast) == Counter([("Rex", 3, "sold"), ("=Mia", 5, None), ("Max", 4, "sold")])
    assert (tmp_path / "pets.sandbox.created.csv").read_bytes().decode("utf-8-sig").splitlines()[
        0
    ] == "name;categoryId;status;note;id"


@pytest.mark.case("P41", "P43")
def test_a_workbook_goes_and_comes_back_as_a_workbook(fast: Sandbox, tmp_path: Path) -> None:
    """Created and rejected rows in .xlsx files, every cell the same text; the fixed rejects go once."""
    path = tmp_path / "pets.xlsx"
    write_xlsx(path, ["name", "categoryId", "note"], [["=Rex", "3", "007"], ["Mia", "cats", "=1+1"]])
    first = fast.store.import_pets(path)
    created = (
        CalamineWorkbook.from_path(tmp_path / "pets.sandbox.created.xlsx").get_sheet_by_index(0).to_python()
    )
    rejects = (
        CalamineWorkbook.from_path(tmp_path / "pets.sandbox.rejected.xlsx").get_sheet_by_index(0).to_python()
    )

    assert created == [["name", "categoryId", "note", "id"], ["=Rex", "3", "007", "1"]]
    assert rejects[1][:4] == ["Mia", "cats", "=1+1", "3"]
    write_xlsx(tmp_path / "pets.sandbox.rejected.xlsx", rejects[0], [["Mia", "5", *rejects[1][2:]]])
    second = fast.store.import_pets(tmp_path / "pets.sandbox.rejected.xlsx")

    assert (first.created, second.created_now, second.complete) == (1, 1, True)
    assert existing(fast) == Counter([("=Rex", 3, None), ("Mia", 5, None)])


@pytest.mark.case("P41")
def test_a_date_in_a_name_is_no_name_in_the_rejects_file_either(
    fast: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was no text stays none in a workbook, and is left out of CSV: unfixed, it is rejected again."""
    monkeypatch.chdir(tmp_path)
    born = datetime.datetime(2024, 5, 1)
    frame = pd.DataFrame({"name": ["Rex", born], "categoryId": [3, 2**53 + 2]}, dtype="object")
    frame.to_excel("pets.xlsx", index=False, engine="xlsxwriter")

    fast.store.import_pets("pets.xlsx")
    fast.store.import_pets(frame, name="pets2", existing="send")
    again = [
        fast.store.import_pets(f"{name}", allow_bad=True)
        for name in ("pets.sandbox.rejected.xlsx", "pets2.sandbox.rejected.csv")
    ]

    assert [(result.created_now, result.rejected) for result in again] == [(0, 1), (0, 1)]


@pytest.mark.case("P41", "P48")
def test_a_rounded_number_in_the_last_column_is_none_the_better_for_the_rejects_file(
    fast: Sandbox, tmp_path: Path
) -> None:
    """As text it would read exactly, and pass; it stays the number it was."""
    frame = pd.DataFrame({"name": ["Rex", "Mia"], "categoryId": [3.0, 2.0**60]})
    frame.to_excel(tmp_path / "pets.xlsx", index=False, engine="xlsxwriter")

    first = fast.store.import_pets(tmp_path / "pets.xlsx")
    again = fast.store.import_pets(tmp_path / "pets.sandbox.rejected.xlsx", allow_bad=True)

    assert (first.created, first.rejected) == (1, 1)
    assert (again.created_now, again.rejected) == (0, 1)


def test_a_frame_goes_by_its_name(fast: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same name goes on with the same import; without one it says what to do."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"name": ["Rex", "Mia"], "categoryId": [3, 4]})

    with pytest.raises(SheetError, match="give the DataFrame a name"):
        fast.store.import_pets(frame)
    first = fast.store.import_pets(frame, name="spring.2026")
    more = pd.concat([frame, pd.DataFrame({"name": ["Max"], "categoryId": [5]})])
    second = fast.store.import_pets(more, name="spring.2026")

    assert (first.created, second.created_now, second.complete) == (2, 1, True)
    assert (tmp_path / "spring.2026.sandbox.created.csv").read_text().splitlines()[3] == "Max,5,3"


@pytest.mark.case("P35")
def test_an_edited_row_is_held_and_goes_only_when_told(fast: Sandbox, tmp_path: Path) -> None:
    """Through the real journal: held, named, nothing sent; then a further animal."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,3\nMia,4\n")
    fast.store.import_pets(path)
    path.write_text("name,categoryId\nRexy,3\nMia,4\n")

    held = fast.store.import_pets(path)
    assert (held.held, held.requests, held.frame["fate"].tolist()) == (1, 0, ["held", "created"])

    sent = fast.store.import_pets(path, send_edited=True)
    assert (sent.held, sent.created_now) == (0, 1)


def test_twins_go_or_are_left_out_as_told(fast: Sandbox, tmp_path: Path) -> None:
    """Two animals may be called Mia; drop_duplicates sends one."""
    for name, drop, count in (("a.csv", True, 2), ("b.csv", False, 3)):
        path = tmp_path / name
        path.write_text("name,categoryId\nMia,4\nMia,4\nRex,3\n")
        result = fast.store.import_pets(path, drop_duplicates=drop, existing="send")
        assert (result.created, result.skipped, result.complete) == (count, 3 - count, True)


@pytest.mark.case("P29")
def test_a_ban_stops_an_import_with_its_time(fast: Sandbox, file: Path) -> None:
    """The fifth request learns of it: no further one leaves, and the result says when to go on."""
    ban = reply(429, b'{"code":"key_banned","message":"no","status":429}', Retry_After="900")
    with FaultProxy(fast.base_url, lambda method, n: ban if n >= 5 else "pass") as proxy:
        result = replace_plan(through(fast, proxy), Plan(60, 100_000)).import_pets(file, wait=True)

    assert result.stopped is not None
    assert (result.stopped.kind, result.created, result.unsent) == ("banned", 4, ROWS - 4)
    assert proxy.counts["POST"] == 5
    assert result.resumes_at is not None


@pytest.mark.case("P52")
def test_a_file_that_changed_between_preview_and_run_is_read_again(fast: Sandbox, file: Path) -> None:
    """What is sent is what stands in the file now; the same rows saved otherwise are the same file."""
    preview = fast.store.preview_import(file)
    file.write_text(file.read_text(encoding="utf-8") + "Newcomer,3,sold\n", encoding="utf-8")
    first = fast.store.import_pets(file)
    file.write_bytes(
        file.read_text(encoding="utf-8").replace("\n", "\r\n").replace(",", ";").encode("utf-8-sig")
    )
    second = fast.store.import_pets(file)

    assert (preview.to_send, first.created) == (ROWS, ROWS + 1)
    assert (second.created_now, second.requests, second.complete) == (0, 0, True)


@pytest.mark.case("P35")
def test_a_copy_of_a_file_is_not_created_a_second_time(fast: Sandbox, file: Path) -> None:
    """A copy with one row more: refused until told; skipped, only the new row goes; sent, all do."""
    fast.store.import_pets(file)
    copy = file.with_name("copy.csv")
    copy.write_text(file.read_text(encoding="utf-8") + "Newcomer,3,sold\n", encoding="utf-8")

    assert fast.store.preview_import(copy).known == ROWS
    with pytest.raises(SheetError, match="60 rows of 61 in copy.csv seem to stand already"):
        fast.store.import_pets(copy)
    assert existing(fast) == expected()

    skipped = fast.store.import_pets(copy, existing="skip")

    assert (skipped.created_now, skipped.skipped, skipped.complete) == (1, ROWS, True)
    assert existing(fast) == expected() + Counter([("Newcomer", 3, "sold")])


@pytest.mark.case("P37")
@pytest.mark.parametrize("harm", ["empty", "gone", "headless"])
def test_a_harmed_journal_is_refused_and_never_taken_for_new(fast: Sandbox, file: Path, harm: str) -> None:
    """Truncated to nothing, vanished, or overwritten: nothing is sent."""
    fast.store.import_pets(file)
    journal = next((fast.store.journals).glob("*.db"))
    for side in journal.parent.glob("*.db-*"):
        side.unlink()
    if harm == "gone":
        journal.unlink()
    else:
        journal.write_bytes(b"" if harm == "empty" else b"\0" * 8_192)
    sent = fast.store.client.sent

    with pytest.raises(JournalError):
        fast.store.import_pets(file)

    assert fast.store.client.sent == sent
    assert existing(fast) == expected()


@pytest.mark.case("P36")
def test_a_second_run_of_the_same_import_refuses(fast: Sandbox, file: Path) -> None:
    """Both in one process here; the lock is the operating system's."""
    seen: list[str] = []

    def meanwhile(_: object) -> None:
        if not seen:
            with pytest.raises(JournalError, match="running already"):
                fast.store.import_pets(file)
            seen.append("refused")

    result = fast.store.import_pets(file, progress=meanwhile)

    assert seen == ["refused"]
    assert result.complete


def test_strict_sends_nothing_while_a_row_has_a_problem(fast: Sandbox, tmp_path: Path) -> None:
    """And mostly bad files are refused as a wrong mapping unless told."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,3\nMia,4\nMax,cats\n")
    with pytest.raises(SheetError, match="strict"):
        fast.store.import_pets(path, strict=True)
    path.write_text("name,categoryId\nRex,3\nMia,x\nMax,cats\n")
    with pytest.raises(SheetError, match="mapped wrongly"):
        fast.store.import_pets(path)

    assert fast.store.client.sent == 0


KILLED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
from dataclasses import replace
from petstore_tools import PetStore
from petstore_tools.importing.journal import open_journal
from petstore_tools.importing.run_lock import Target
from petstore_tools.tabular.workbooks import write_xlsx
from petstore_tools.importing import lookup
from petstore_tools.importing.matching import merge
from petstore_tools.importing.row_states import Entry
from petstore_tools.plans import Plan
store = PetStore(base_url=sys.argv[1], api_key=sys.argv[2], plan=Plan(100000, 1000000), state_dir=sys.argv[3])
print("ready", flush=True)
print(store.import_pets(sys.argv[4]), flush=True)
"""


def _start(box: Sandbox, file: Path, base_url: str) -> subprocess.Popen[bytes]:
    """Begin the import in a process of its own."""
    arguments = [base_url, box.api_key, str(file.parent / "state"), str(file)]
    process = subprocess.Popen([sys.executable, "-c", KILLED, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _end(process: subprocess.Popen[bytes]) -> int:
    process.communicate(timeout=20)
    return process.returncode


def _kill_9_after(process: subprocess.Popen[bytes], delay_s: float) -> bool:
    """Kill the process, and say whether it still ran."""
    try:
        process.wait(delay_s)
    except subprocess.TimeoutExpired:
        process.kill()
    return _end(process) != 0


@pytest.fixture
def settles_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service here commits at once or never."""
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "0.3")


def _killed_often(file: Path, kills: int, seed: int) -> None:
    """Kill an import again and again, each 25th reply lost; in the end every row stands exactly once."""
    with (
        Sandbox(plan=Plan(100_000, 1_000_000), clock="system", animals=0) as box,
        FaultProxy(
            box.base_url,
            lambda method, n: ("drop after", "drop before")[n // 25 % 2] if n % 25 == 0 else "pass",
        ) as proxy,
    ):
        kills_landed = sum(
            _kill_9_after(_start(box, file, proxy.base_url), 0.05 + (seed + kill * 37) % 100 / 200)
            for kill in range(kills)
        )
        store = PetStore(
            base_url=proxy.base_url,
            api_key=box.api_key,
            plan=Plan(100_000, 1_000_000),
            state_dir=file.parent / "state",
            progress=False,
        )
        for _ in range(40):
            result = store.import_pets(file)
            if not result.unsent:
                break
        store.close()
        found = existing(box)

    assert kills_landed >= kills // 2
    assert (result.created, result.unknown, result.complete) == (result.rows, 0, True)
    assert found == Counter(entry.content for entry in result.entries)


@pytest.mark.case("P32")
def test_kill_9_at_random_instants_doubles_and_loses_nothing(tmp_path: Path, settles_soon: None) -> None:
    """25 kills with replies lost between them."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(3_000), encoding="utf-8")

    _killed_often(path, kills=25, seed=1)


DIES = """
import itertools, os, sys
from petstore_tools import PetStore
from petstore_tools.http import transport
from petstore_tools.importing import journal, lookup, results
from petstore_tools.tabular import atomic, csv_files
from petstore_tools.plans import Plan

def dying(call, at, when):
    numbers = itertools.count(1)  # several threads call
    def wrapped(*args, **more):
        mine = next(numbers) == at
        if mine and when == "before":
            os._exit(9)
        try:
            return call(*args, **more)
        finally:
            if mine:
                os._exit(9)  # also where it failed
    return wrapped

place, name, at, when = sys.argv[5:]
owner = eval(place)
setattr(owner, name, dying(getattr(owner, name), int(at), when))
store = PetStore(base_url=sys.argv[1], api_key=sys.argv[2], plan=Plan(100000, 1000000), state_dir=sys.argv[3])
store.import_pets(sys.argv[4])
"""
# every boundary of a run, in its order; POST 3 has its answer lost, so that there is something to settle
BOUNDARIES = [
    ("journal", "create_file", 1),  # the journal gets its name
    ("transport.Transport", "send", 1),  # the look before
    ("journal.Journal", "keep_baseline", 1),
    ("journal.Journal", "add_rows", 1),
    ("journal.Journal", "transition", 1),  # the first intent
    ("transport.Transport", "send", 2),  # the first create
    ("journal.Journal", "transition", 2),  # its answer is recorded
    ("transport.Transport", "send", 4),  # the one whose answer is lost
    ("journal.Journal", "transition", 8),
    ("journal.Journal", "transition", 40),
    ("lookup", "list_inventory", 2),  # the look after
    ("journal.Journal", "transition", 41),
    ("journal.Journal", "mark_lost", 2),
    ("csv_files", "csv_bytes", 1),  # the created file
    ("atomic.os", "replace", 1),
]


@pytest.mark.case("P32")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda b: f"{b[0]}.{b[1]}-{b[2]}")
def test_a_death_at_every_boundary_doubles_and_loses_nothing(
    tmp_path: Path, settles_soon: None, boundary: tuple[str, str, int], when: str
) -> None:
    """The process is gone there, without a word; the next run ends with every row created once."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(20), encoding="utf-8")
    lose = lambda method, n: "drop after" if (method, n) == ("POST", 3) else "pass"  # noqa: E731
    with (
        Sandbox(plan=Plan(100_000, 1_000_000), clock="system", animals=0) as box,
        FaultProxy(box.base_url, lose) as proxy,
    ):
        arguments = [
            proxy.base_url,
            box.api_key,
            str(tmp_path / "state"),
            str(path),
            *map(str, boundary),
            when,
        ]
        died = subprocess.run(
            [sys.executable, "-c", DIES, *arguments], capture_output=True, timeout=60, check=False
        )
        assert died.returncode == 9, died.stderr.decode()
        settings = {"plan": "100000/1000000", "state_dir": tmp_path / "state", "progress": False}
        store = PetStore(base_url=proxy.base_url, api_key=box.api_key, **settings)  # type: ignore[arg-type]
        result = store.import_pets(path)
        store.close()
        found = existing(box)

    assert (result.created, result.unknown, result.complete) == (20, 0, True)
    assert found == expected(20)
    assert len((tmp_path / "animals.created.csv").read_text().splitlines()) == 21


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", range(200), ids="part{:03}".format)
def test_kill_9_two_thousand_times(tmp_path: Path, seed: int, settles_soon: None) -> None:
    """The long form: 200 imports, ten kills each; `-k part00` or `-k part01` is a hundred of them."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(1_500), encoding="utf-8")

    _killed_often(path, kills=10, seed=seed * 7)


@pytest.mark.skipif(os.name != "posix", reason="SIGINT to another process is POSIX; CI runs it on Linux")
@pytest.mark.case("P66")
def test_ctrl_c_ends_a_script_and_leaves_a_resumable_import(tmp_path: Path) -> None:
    """The process ends by itself within two seconds, and the next run goes on."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(3_000), encoding="utf-8")
    with Sandbox(plan=Plan(100_000, 1_000_000), clock="system", animals=0) as box:
        process = _start(box, path, box.base_url)
        while sum(existing(box).values()) < 50:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        interrupted_at = time.monotonic()
        code = _end(process)
        took_s = time.monotonic() - interrupted_at
        store = PetStore(
            base_url=box.base_url, api_key=box.api_key, plan="100000/1000000", state_dir=path.parent / "state"
        )
        preview = store.preview_import(path)
        store.close()

        assert code == 1
        assert took_s < 5
        assert 0 < preview.standing < 3_000
        assert preview.standing + preview.unknown == sum(existing(box).values())


@pytest.mark.case("P37")
def test_a_fault_of_the_journals_file_is_an_error_of_ours(tmp_path: Path) -> None:
    """A full disk, a file gone bad: named as the journal's, whatever the call."""
    target = Target("sandbox", "http://127.0.0.1/v1", tmp_path / "pets.csv")
    with open_journal(tmp_path / "imports", target, now=0.0) as journal:
        journal.add_rows(merge([], []), now=0.0)
        assert journal._db is not None
        journal._db.close()

        for call in (
            journal.entries,
            lambda: journal.mark_lost(now=0.0),
            lambda: journal.add_rows(merge([], []), now=0.0),
        ):
            with pytest.raises(JournalError, match="cannot be used"):
                call()
