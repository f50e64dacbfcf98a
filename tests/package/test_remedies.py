"""What a message says to type is typed as it is printed, and helps."""

import re
from pathlib import Path

import pandas as pd
import pytest
from commands import end_main
from inventories import stored_animals, write_rows
from paging_server import PagingService
from tables import corpus_file, read_table
from true_listings import make_listing
from wires import KEY

from petstore_tools import Listing, PetStore, Plan, Sandbox, status_report
from petstore_tools.errors import (
    ArgumentError,
    DoubtfulRowsError,
    FrameError,
    HistoryError,
    PetstoreError,
    QuotaError,
    SheetError,
)
from petstore_tools.service.server import ThreadedServer
from petstore_tools.text import option
from petstore_tools.throttle.throttle import PLAN_ADVICE

RECONCILE = "petstore-tools imports reconcile .*? --absent"
CALL = re.compile(r"^store\.\w+\(.*\)$", re.MULTILINE)


def refusal(kind, call, *arguments, **options):
    """Return the error with which a call is refused."""
    with pytest.raises(kind) as raised:
        call(*arguments, **options)
    return raised.value


def type_call(store, message):
    """Type the last call that a message prints, as it stands there."""
    call = CALL.findall(str(message))[-1]
    return eval(call, {"store": store})


def option_of(message, name):
    """Return the option that a message prints, in the words of Python."""
    values = r"\"[^\"]*\"|'[^']*'|\w+"
    (printed,) = {*re.findall(rf"\b({name}=(?:{values}))", str(message))}
    return eval(f"dict({printed})")


def type_command(message, capsys, flags="--yes"):
    """Type the last command that a message prints; return what it writes."""
    command = re.findall(r"petstore-tools ([^\n]+)", str(message))[-1]
    code = end_main(f"{command} {flags}")
    output = capsys.readouterr()
    assert code == 0, output.err
    return output.out


def test_the_call_that_asks_for_titles_and_words_imports(fast, tmp_path):
    """Where each answer is proposed, no blank is left in it."""
    path = write_rows(
        tmp_path / "a.csv", "Rex,3,verkauft", header="Tiername,Kategorie,Status"
    )
    refused = refusal(SheetError, fast.store.preview_import, path)

    type_call(fast.store, refused)

    assert stored_animals(fast) == {("Rex", 3, "sold"): 1}


def test_the_command_that_asks_for_titles_imports(shop, capsys):
    """On the command line, the message prints a command."""
    write_rows(Path("a.csv"), "Rex,3,verkauft", header="Tiername,Kategorie,Status")
    end_main("import a.csv")
    message = capsys.readouterr().err

    type_command(message, capsys)

    assert stored_animals(shop)["Rex", 3, "sold"] == 1


def test_a_sheet_whose_hidden_rows_cannot_be_seen_is_named(fast):
    """With the option that the refusal prints."""
    path = corpus_file("hidden_by_filter.xls")
    refused = refusal(SheetError, fast.store.import_pets, path)

    result = fast.store.import_pets(path, **option_of(refused, "sheet"))

    result.list_file.unlink()
    assert result.created == 4


@pytest.mark.parametrize(("answer", "count"), [("skip", 1), ("send", 2)])
def test_a_question_is_answered_as_it_says(fast, tmp_path, answer, count):
    """By one of its two options; a preview shows it whole."""
    fast.add([("Rex", 3, "sold")])
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold")
    asked = refusal(DoubtfulRowsError, fast.store.import_pets, path)

    assert f'doubtful="{answer}"' in str(asked)
    shown = str(asked.preview).replace("\n", " ")
    assert re.search("question +doubtful=.* creates +them[.]", shown)
    fast.store.import_pets(path, doubtful=answer)

    assert stored_animals(fast) == {("Rex", 3, "sold"): count}


def test_the_list_that_a_question_names_is_never_asked_about(fast, tmp_path):
    """It came back from the import before."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold", "Mia,4,sold", "Ida,5,sold")
    list_file = fast.store.import_pets(path).list_file
    write_rows(path, "Rex,3,pending", "Mia,4,sold", "Ida,5,sold")
    asked = refusal(DoubtfulRowsError, fast.store.import_pets, path)

    message = str(asked).replace("\n", " ")
    assert "go on with the list that comes back, which has the ids" in message
    table = pd.read_csv(list_file, dtype="str")
    table.loc[0, "name"] = "Rexi"
    table.to_csv(list_file, index=False)
    result = fast.store.import_pets(list_file)

    assert (result.created, result.left_out, len(result.edits)) == (3, 0, 1)
    assert stored_animals(fast).total() == 3


def test_a_row_of_a_frame_is_sent_by_the_command_that_is_shown(shop, capsys):
    """Which counts from its first row, as the question says."""
    frame = pd.DataFrame({"name": ["Rex", "Mia", "Ida"], "categoryId": 3})
    PetStore().import_pets(frame, name="spring")
    frame["name"] = ["Rex", "Mio", "Tom"]
    asked = refusal(DoubtfulRowsError, PetStore().import_pets, frame, name="spring")
    PetStore().import_pets(frame, name="spring", doubtful="skip")

    message = str(asked).replace("\n", " ")
    assert "2 is the first row of a DataFrame" in message
    (printed,) = re.findall(RECONCILE, message)
    type_command(printed.replace(" N ", " 4 "), capsys)
    PetStore().import_pets(frame, name="spring")

    animals = stored_animals(shop)
    assert (animals["Tom", 3, None], animals["Mio", 3, None]) == (1, 0)


def test_options_that_messages_print_are_taken_as_they_stand():
    """Of a report, a listing, an import of a frame, a sandbox, and a plan."""
    frame = pd.DataFrame({"name": ["Rex"], "categoryId": [3]})
    with Sandbox(plan="3/1000", animals=250) as box:
        store = box.store
        partial = refusal(FrameError, status_report, store.list_pets(first=5))
        quota = refusal(QuotaError, box.connect(max_wait_s=1).list_pets)
        nameless = refusal(SheetError, store.import_pets, frame)

        pets = store.list_pets(first=5, wait=True)
        assert status_report(pets, **option_of(partial, "partial")).headline
        assert len(store.list_pets(**option_of(quota, "wait"))) == 250
        preview = store.preview_import(frame, **option_of(nameless, "name"))
        assert preview.rows == 1
        named = PetStore(
            base_url=box.base_url, api_key=KEY, **option_of(PLAN_ADVICE, "plan")
        )
        assert named.client.plan == Plan(30, 500)
    with Sandbox(clock="system") as box:
        clock = refusal(ArgumentError, box.advance, days=1)
    with Sandbox(**option_of(clock, "clock")) as box:
        box.advance(days=1)


@pytest.mark.parametrize(
    ("rows", "options", "name", "blanks", "count"),
    read_table(__file__, "remedies.json"),
)
def test_an_option_that_an_import_prints_helps(
    shop,
    capsys,
    rows,
    options,
    name,
    blanks,
    count,
):
    """
    In a call as in a command; what stands there for a word of the user is replaced.
    """
    path = Path("a.csv")
    path.write_text("\n".join(rows), encoding="cp1252")
    store = PetStore()
    try:
        preview = store.preview_import(path, **options)
        message = f"{preview} {preview.fixes['help'].tolist()}"
    except PetstoreError as error:
        message = str(error)
    value = r"(?:\{[^}]*\}|\S+)"
    printed = re.search(rf"({name}={value}) \((--[^)]*)\)", " ".join(message.split()))
    assert printed is not None
    call, flags = printed.groups()
    for blank, word in blanks.items():
        call, flags = call.replace(blank, word), flags.replace(blank, word)

    said = {**options, **eval(f"dict({call})")}
    assert store.preview_import(path, **said).to_send == count
    for item in options.items():
        flags += " " + option(*item).partition(" (")[2].rstrip(")")
    code = end_main(f"import a.csv --yes {flags}")

    assert code == 0, capsys.readouterr().err
    assert stored_animals(shop).total() == 25 + count


def test_a_list_without_titles_is_read_by_the_columns_of_the_message(fast, tmp_path):
    """Letters in place of titles."""
    path = write_rows(tmp_path / "a.csv", "Mia,4,sold", header="Rex,3,sold")
    refused = refusal(SheetError, fast.store.preview_import, path)

    (printed,) = re.findall(r"columns=(\{.*?\})\n", str(refused))
    fast.store.import_pets(path, columns=eval(printed))

    assert stored_animals(fast).total() == 2


def test_a_way_to_page_that_a_message_prints_lists_all():
    """Where the service pages by a parameter that nobody would try."""
    service = PagingService(250, "offset parameter=startAt")
    server = ThreadedServer(service).start()
    with pytest.warns(UserWarning, match="did not show whether more") as warned:
        PetStore(base_url=server.base_url, api_key=KEY).list_pets()
    told = option_of(warned[0].message, "pagination")
    pets = PetStore(base_url=server.base_url, api_key=KEY, **told).list_pets()
    server.stop()

    assert (len(pets), Listing.of(pets).completeness) == (250, "complete")


@pytest.mark.parametrize(
    ("words", "printed", "flag", "output"),
    [
        ("imports", "petstore-tools import a.csv", "--yes", "1 created"),
        ("imports show x", "petstore-tools imports", "", "No imports yet"),
        ("history", "petstore-tools report", "", "25 animals"),
        (
            "keys revoke x --database=s.db",
            "petstore-tools keys list",
            "--database=s.db",
            "No keys yet",
        ),
    ],
)
def test_the_command_of_a_hint_is_typed(shop, capsys, words, printed, flag, output):
    """Where there is nothing yet, and where a name is wrong."""
    write_rows(Path("a.csv"), "Rex,3,sold")
    end_main(words)
    hint = " ".join("".join(capsys.readouterr()).split()).replace("FILE", "a.csv")

    assert printed in hint
    assert output in type_command(printed, capsys, flag)


def test_a_history_is_begun_and_mended_as_its_messages_say(shop, capsys):
    """A first listing, and one that a wrong clock made."""
    store = PetStore()
    empty = refusal(ArgumentError, store.status_report, until="2026-01-05")
    assert "keep one" in str(empty)
    kept = eval(re.findall(r"store\.snapshot\(\)", str(empty))[0])
    store.history_database.keep(make_listing({1: ("Rex", 3, "sold")}, 9e9).frame)
    late = refusal(HistoryError, store.snapshot)
    forgotten = type_command(late, capsys)

    assert kept.number == 1
    assert forgotten.startswith("1 listing forgotten")
    assert store.snapshot().number == 2


def test_a_listing_that_would_cost_a_day_is_answered_as_it_says(tmp_path):
    """By the option that is printed."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold", "Mia,4,sold")
    with Sandbox(plan=Plan(60, 50), animals=2_500) as box:
        box.store.list_pets()
        refused = refusal(SheetError, box.store.import_pets, path)
        assert "would end a day later" in str(refused)

        result = box.store.import_pets(path, **option_of(refused, "wait"))

    assert result.created == 2
