"""`imports`: what became of each import, and the decisions on its unknown rows."""

from pathlib import Path

import click

from petstore_tools import settings, spec
from petstore_tools.cli import exits, options
from petstore_tools.errors import SettingsError
from petstore_tools.importing.entries import Entry, Matches, find_doubtful
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
from petstore_tools.text import pluralize, text_table, utc_text
from petstore_tools.throttle.gate import CallOptions


def _folder() -> Path:
    return settings.state_folder() / "imports"


def _find(import_id: str) -> ImportInfo:
    return find_import(_folder(), import_id)


ID = click.argument("info", metavar="ID", type=_find)


@click.group("imports", invoke_without_command=True)
@click.pass_context
def imports_(context: click.Context) -> None:
    """
    List the imports, and decide on their unknown and skipped rows.

    The list shows the file of each import and what became of its rows. ID is the first
    column of that list; its first letters are enough.

    \b
    Examples:
      petstore-tools imports
      petstore-tools imports show 3f9c
      petstore-tools imports reconcile 3f9c
    """
    if context.invoked_subcommand is None:
        infos, errors = list_imports(_folder())
        hint = "No imports yet. Begin one: petstore-tools import FILE"
        click.echo(_table(infos) if infos or errors else hint)
        for error in errors:
            options.write_message(error)
        if errors:
            context.exit(exits.USAGE)


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
            outcome = "ambiguous" if entry.may_be else entry.state
            if outcome != "created" or entry.key:
                pet_id = entry.may_be or entry.animal_id or ""
                facts = (entry.key, outcome, pet_id, entry.detail)
                rows.append((entry.number, *entry.content, *facts))
    if rows:
        titles = ("row", *spec.NEW_PET_FIELDS, "row key", "outcome", "id", "why")
        click.echo("\n" + text_table(titles, rows))
    if info.bad_rows:
        options.write_message(
            f"{pluralize(info.bad_rows, 'row')} of {info.target.path.name} had"
            " problems; the file of rejected rows beside it names them"
        )
    if any(entry.state == "skipped" for entry in entries):
        options.write_message(
            "\nTo let the next run send row N, which was left out as doubtful:"
            f" petstore-tools imports reconcile {info.target.id} --row N --absent"
        )
    if "ambiguous" in info.states:
        options.write_message(
            "\nTo decide on an ambiguous row N, which may be the animal ID:"
            f" petstore-tools imports reconcile {info.target.id} --row N --created ID;"
            " or --row N --absent, where no animal is it"
        )
    elif info.states.keys() & {"unknown", "sending"}:
        options.write_message(
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
        "Decide on row N yourself (N as in the spreadsheet). With --absent, repeat the"
        " option for more."
    ),
)
@click.option(
    "--created",
    "pet_id",
    type=int,
    metavar="PET_ID",
    help="The row is the animal with this id.",
)
@options.flag(
    "--absent",
    help=(
        "The row was not created: the next run sends it again. Delete its petstore_id,"
        " if it has one."
    ),
)
@options.YES
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
    the inventory once more and compares; with --row you decide on one row yourself. You
    are asked before --absent where the row may exist: where no listing can show it yet,
    or one shows an equal animal; and before --created where the animal has another
    name or category. A row that was skipped as doubtful is sent by the next
    run after --absent, too.

    \b
    Examples:
      petstore-tools imports reconcile 3f9c
      petstore-tools imports reconcile 3f9c --row 14 --created 1017
      petstore-tools imports reconcile 3f9c --row 14 --absent
    """
    is_animal = pet_id is not None
    if is_animal + absent != bool(numbers) or (is_animal and len(numbers) > 1):
        raise click.UsageError(
            "to decide on rows, give --row N and --created PET_ID for one, or --row N"
            " for each and --absent"
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
        # a mistyped number changes nothing
        entries = [find_undecided(journal, number, pet_id) for number in numbers]
        for entry in entries:
            _decide(store, journal, entry, pet_id, yes=yes)
    return exits.DONE


def _decide(
    store: PetStore, journal: Journal, entry: Entry, pet_id: int | None, *, yes: bool
) -> None:
    """Record that a row is an animal, or none; ask first where that is doubtful."""
    row = entry.number
    if pet_id is None:
        doubt = _doubt_absence(store, journal, entry)
        question = f"Send row {row} again"
        decision = f"The next run sends row {row}."
        if not entry.present:
            decision = f"Row {row}, which left the file, was not created."
        elif entry.has_id:
            decision = f"Delete the petstore_id of row {row}: the next run sends it."
    else:
        doubt = _doubt_animal(store, journal, entry, pet_id)
        question = f"Is row {row} the animal with id {pet_id}"
        decision = f"Row {row} is the animal with id {pet_id}."
    if doubt:
        options.write_message(f"{doubt}.")
    refusal = f"Row {row} was not changed"
    if not doubt or options.confirm(
        f"{question} all the same?", yes=yes, refusal=refusal
    ):
        record_decision(journal, row, pet_id)
        click.echo(decision)


def _compare(store: PetStore, journal: Journal) -> int:
    """Compare the unknown rows with the inventory, and return the exit code."""
    delay = _delay(store, journal)
    settled = settle(store.inventory, journal, CallOptions())
    counts = journal.counts()
    if not settled.listing.complete:
        options.write_message(
            "Only a complete listing shows what became of them."
            f" {settled.listing.shortfall}"
        )
    if settled.lacking and counts["unknown"]:
        options.write_message(f"Nothing was decided: {settled.lag}.")
    if delay:
        options.write_message(
            f"A listing can show what became of the unknown rows {delay}:"
            " run the same command again then."
        )
    parts = [f"{count:,} {outcome}" for outcome, count in sorted(counts.items())]
    click.echo(", ".join(parts) or "The import has no rows.")
    return exits.INCOMPLETE if counts["unknown"] else exits.DONE


def _delay(store: PetStore, journal: Journal) -> str:
    """Say from when on a listing can show all unknown rows; "" for now."""
    after_s = store.client.reconcile_after_s
    left_s = after_s - min(seconds_lost(journal), default=after_s)
    time = utc_text(store.client.clock.now() + left_s)
    return f"only from {time} on" if left_s > 0 else ""


def _doubt_absence(store: PetStore, journal: Journal, entry: Entry) -> str:
    """List the inventory, and say why a row may exist all the same, "" for no doubt."""
    if entry.state == "skipped":  # its doubt was shown
        return ""
    reasons = []
    delay = _delay(store, journal)  # a listing that began before says nothing
    if not take_inventory(store.inventory, journal, CallOptions()).complete:
        reasons.append("the listing of the inventory is not complete")
    if delay:
        reasons.append(f"a listing can show it {delay}")
    rows = [entry._replace(state="unsent", answered=False)]
    animals = journal.read_foreign_animals(rows)
    other_entries = journal.read_others(rows)
    doubts = find_doubtful(Matches(rows, [], {}), [], animals, other_entries)
    reasons += [doubt.because for doubt in doubts.values()]
    subject = f"Row {entry.number} may exist: "
    return subject + ", and ".join(reasons) if reasons else ""


def _doubt_animal(
    store: PetStore, journal: Journal, entry: Entry, pet_id: int | None
) -> str:
    """List the inventory, and say how an animal is not like a row, "" for no doubt."""
    take_inventory(store.inventory, journal, CallOptions())
    animal = "is not in the inventory"
    for pet in journal.read_animals([pet_id]):
        if similarity_key(pet.content) == similarity_key(entry.content):
            return ""
        animal = f"is {pet.content}"
    row = f"row {entry.number} is {entry.content}"
    return f"The animal with id {pet_id} {animal}; {row}"


@imports_.command("forget")
@ID
@options.YES
def forget(info: ImportInfo, *, yes: bool) -> None:
    """
    Delete what is known of import ID. Its file then counts as new.

    The next run of the file compares its rows with the animals that exist.
    """
    rows = pluralize(sum(info.states.values()), "row")
    created = f"{info.states['created']:,} of them created"
    question = f"Forget what became of {rows} of {info.target.path.name}, {created}?"
    if options.confirm(question, yes=yes, refusal="Nothing was forgotten"):
        with open_journal(_folder(), info.target) as journal:
            journal.forget()
        click.echo(f"import {info.target.id} is forgotten")
