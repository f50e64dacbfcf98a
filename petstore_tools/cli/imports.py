"""`imports`: what became of each import, and the decisions on its unknown rows."""

from collections.abc import Sequence
from pathlib import Path

import click

from petstore_tools import settings, spec
from petstore_tools.cli import shared
from petstore_tools.cli.list import frame_json
from petstore_tools.errors import SettingsError
from petstore_tools.importing.entries import (
    Entry,
    Matches,
    find_doubtful,
    outcome_of,
)
from petstore_tools.importing.imports import (
    ImportInfo,
    find_import,
    imports_frame,
    list_imports,
)
from petstore_tools.importing.journal import Journal, open_journal, read_journal
from petstore_tools.importing.lost_rows import (
    find_undecided,
    mark_dead,
    record_decision,
    seconds_lost,
    settle,
    take_inventory,
)
from petstore_tools.importing.reconcile import similarity_key
from petstore_tools.store import PetStore
from petstore_tools.text import first_of, pluralize, text_table, utc_text
from petstore_tools.throttle.gate import CallOptions


def _folder() -> Path:
    return settings.state_folder() / "imports"


def _find(import_id: str) -> ImportInfo:
    return find_import(_folder(), import_id)


ID = click.argument("info", metavar="ID", type=_find)


@click.group("imports", cls=shared.Group, invoke_without_command=True)
@shared.JSON
@click.pass_context
def imports_(context: click.Context, *, as_json: bool) -> None:
    """
    List the imports, and decide on their unknown and skipped rows.

    The list shows the file of each import and what became of its rows: `created` counts
    the animals that it made. ID is the first column of that list; its first letters are
    enough.

    \b
    Examples:
      petstore-tools imports
      petstore-tools imports show 3f9c
      petstore-tools imports reconcile 3f9c
    """
    if context.invoked_subcommand is None:
        infos, errors = list_imports(_folder())
        if as_json:
            click.echo(frame_json(imports_frame(infos)))
        elif infos or errors:
            click.echo(_table(infos))
        else:
            click.echo("No imports yet. Start one: petstore-tools import FILE")
        for error in errors:
            shared.write_message(error)
        if errors:
            context.exit(shared.USAGE)


def _table(infos: list[ImportInfo]) -> str:
    frame = imports_frame(infos)
    times = frame["changed_at"].dt.strftime("%Y-%m-%d %H:%M:%S UTC")
    return text_table([*frame], frame.assign(changed_at=times).to_numpy().tolist())


@imports_.command("show")
@ID
def show(info: ImportInfo) -> None:
    """Show the rows of import ID: all that have a row key, else those not created."""
    click.echo(_table([info]))
    rows = []
    with read_journal(_folder(), info.target) as journal:
        entries = journal.read()
        for entry in entries:
            outcome = "ambiguous" if entry.may_be else outcome_of(entry.state)
            if outcome != "created" or entry.key:
                pet_id = entry.may_be or entry.animal_id or ""
                facts = (entry.key, outcome, pet_id, entry.detail)
                rows.append((entry.number, *entry.content, *facts))
    if rows:
        titles = ("row", *spec.NEW_PET_FIELDS, "row key", "outcome", "id", "why")
        click.echo("\n" + text_table(titles, rows))
    if info.bad_rows:
        shared.write_message(
            f"{pluralize(info.bad_rows, 'row')} of {info.target.path.name} had"
            " problems; the file of rejected rows beside it names them"
        )
    if any(entry.state == "skipped" for entry in entries):
        shared.write_message(
            "\nTo let the next run send row N, which was left out as doubtful (for more"
            " rows, repeat --row N): petstore-tools imports reconcile"
            f" {info.target.id} --row N --absent"
        )
    if "ambiguous" in info.states:
        shared.write_message(
            "\nTo decide on an ambiguous row N, which may be the animal ID:"
            f" petstore-tools imports reconcile {info.target.id} --row N --created ID;"
            " or --row N --absent, where no animal is it"
        )
    elif info.states.keys() & {"unknown", "sending"}:
        shared.write_message(
            "\nTo find out what became of the unknown rows: petstore-tools imports"
            f" reconcile {info.target.id}"
        )


@imports_.command("reconcile")
@ID
@click.option(
    "--row",
    "numbers",
    type=int,
    multiple=True,
    metavar="N",
    help=(
        "Decide on row N yourself (N as in the spreadsheet). Repeat the option for more"
        " rows with --absent."
    ),
)
@click.option(
    "--created",
    "pet_id",
    type=int,
    metavar="PET_ID",
    help="The row is the animal with this id.",
)
@shared.flag(
    "--absent",
    help=(
        "The row was not created: the next run sends it again. Delete its petstore_id,"
        " if it has one."
    ),
)
@shared.YES
def reconcile(
    info: ImportInfo,
    numbers: tuple[int, ...],
    pet_id: int | None,
    *,
    absent: bool,
    yes: bool,
) -> int:
    """
    Find out what became of the unknown rows of import ID.

    An unknown row was sent and got no usable answer. It is sent again only when
    complete listings show, or you decide, that it was not created. This command lists
    the inventory once more and compares; with --row you decide on rows yourself. You
    are asked before --absent where the row may exist: where no listing can show it yet,
    or one shows an equal animal; and before --created where the animal has another
    name or category. A row that was skipped as doubtful is sent by the next
    run after --absent, too.

    \b
    Examples:
      petstore-tools imports reconcile 3f9c
      petstore-tools imports reconcile 3f9c --row 14 --created 1017
      petstore-tools imports reconcile 3f9c --row 14 --row 15 --absent
    """
    has_answer = absent or pet_id is not None
    has_several = pet_id is not None and (absent or len(numbers) > 1)
    if has_several or has_answer != bool(numbers):
        raise click.UsageError(
            "to decide on rows, give --row N with --created PET_ID, or one or more"
            " --row N with --absent"
        )
    target = info.target
    with (
        PetStore(environment=target.environment) as store,
        read_journal(store.journal_folder, target, store.client.clock) as journal,
    ):
        if store.client.service_id != target.service_id:
            raise SettingsError(
                f"import {target.id} went to {target.environment} at"
                f" {target.service_id}, but the settings name {store.client.base_url}"
            )
        mark_dead(journal)
        if not numbers:
            return _compare(store, journal)
        _decide(store, journal, [*dict.fromkeys(numbers)], pet_id, yes=yes)
    return shared.DONE


def _decide(
    store: PetStore,
    journal: Journal,
    numbers: Sequence[int],
    pet_id: int | None,
    *,
    yes: bool,
) -> None:
    """Record that a row is an animal, or that rows are none, after a yes if need be."""
    entries = [find_undecided(journal, number, pet_id) for number in numbers]
    if pet_id is None:
        doubts = _doubt_absence(store, journal, entries)
        question = f"Send row {first_of(numbers)} again"
    else:
        doubts = _doubt_animal(store, journal, entries[0], pet_id)
        question = f"Is row {numbers[0]} the animal with id {pet_id}"
    for doubt in doubts:
        shared.write_message(f"{doubt}.")
    if not doubts or shared.confirm(
        f"{question} all the same?", yes=yes, refusal="Nothing was changed"
    ):
        for entry in entries:
            record_decision(journal, entry.number, pet_id)
            click.echo(_what_follows(entry, pet_id))


def _what_follows(entry: Entry, pet_id: int | None) -> str:
    """Say what becomes of a row that is an animal, or none."""
    row = entry.number
    if pet_id is not None:
        return f"Row {row} is the animal with id {pet_id}."
    if not entry.present:
        return f"Row {row}, which left the file, was not created."
    if entry.has_id:
        return f"Delete the petstore_id of row {row}: the next run sends it."
    return f"The next run sends row {row}."


def _compare(store: PetStore, journal: Journal) -> int:
    """Compare the unknown rows with the inventory, and return the exit code."""
    delay = _delay(store, journal)
    settled = settle(store.inventory, journal, CallOptions())
    counts = journal.counts()
    if not settled.listing.complete:
        shared.write_message(
            "Only a complete listing shows what became of them."
            f" {settled.listing.shortfall}"
        )
    if settled.lacking and counts["unknown"]:
        shared.write_message(f"Nothing was decided: {settled.lag}.")
    if delay:
        shared.write_message(
            f"A listing can show what became of the unknown rows {delay}:"
            " run the same command again then."
        )
    parts = [f"{count:,} {outcome}" for outcome, count in sorted(counts.items())]
    click.echo(", ".join(parts) or "The import has no rows.")
    return shared.INCOMPLETE if counts["unknown"] else shared.DONE


def _delay(store: PetStore, journal: Journal) -> str:
    """Say from when on a listing can show all unknown rows; "" for now."""
    after_s = store.client.reconcile_after_s
    left_s = after_s - min(seconds_lost(journal), default=after_s)
    time = utc_text(store.client.clock.now() + left_s)
    return f"only from {time} on" if left_s > 0 else ""


def _doubt_absence(
    store: PetStore, journal: Journal, entries: Sequence[Entry]
) -> list[str]:
    """List the inventory, and say of each row why it may exist all the same."""
    # the doubt of the others was shown
    rows = [entry for entry in entries if entry.state != "skipped"]
    reasons = []
    delay = _delay(store, journal)  # a listing that began before says nothing
    if rows and not take_inventory(store.inventory, journal, CallOptions()).complete:
        reasons.append("the listing of the inventory is not complete")
    if delay:
        reasons.append(f"a listing can show it {delay}")
    rows = [row._replace(state="unsent", answered=False) for row in rows]
    animals = journal.read_foreign_animals(rows)
    other_entries = journal.read_others(rows)
    doubts = find_doubtful(Matches(rows, [], {}), [], animals, other_entries)
    sentences = []
    for position, row in enumerate(rows):
        becauses = [doubts[position].because] if position in doubts else []
        if because := ", and ".join([*reasons, *becauses]):
            sentences.append(f"Row {row.number} may exist: {because}")
    return sentences


def _doubt_animal(
    store: PetStore, journal: Journal, entry: Entry, pet_id: int
) -> list[str]:
    """List the inventory, and say how an animal is not like a row, if it is not."""
    take_inventory(store.inventory, journal, CallOptions())
    animal = "is not in the inventory"
    for pet in journal.read_animals([pet_id]):
        if similarity_key(pet.content) == similarity_key(entry.content):
            return []
        animal = f"is {pet.content}"
    row = f"row {entry.number} is {entry.content}"
    return [f"The animal with id {pet_id} {animal}; {row}"]


@imports_.command("forget")
@ID
@shared.YES
def forget(info: ImportInfo, *, yes: bool) -> None:
    """
    Delete what is known of import ID. Its file then counts as new.

    The next run of the file compares its rows with the animals that exist.
    """
    rows = pluralize(sum(info.states.values()), "row")
    created = f"{info.states['created']:,} of them created"
    question = f"Forget what became of {rows} of {info.target.path.name}, {created}?"
    if shared.confirm(question, yes=yes, refusal="Nothing was forgotten"):
        with open_journal(_folder(), info.target) as journal:
            journal.forget()
        click.echo(f"import {info.target.id} is forgotten")
