"""`imports`: what became of each import, and the decisions on its unknown rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from petstore_tools import settings, spec
from petstore_tools.cli import exits, options
from petstore_tools.errors import SettingsError
from petstore_tools.importing import imports
from petstore_tools.importing.imports import ImportInfo
from petstore_tools.importing.journal import Journal, open_journal, read_journal
from petstore_tools.importing.lost_rows import (
    mark_dead,
    record_decision,
    seconds_lost,
    settle,
    take_inventory,
)
from petstore_tools.store import PetStore
from petstore_tools.text import pluralize, text_table, utc_text
from petstore_tools.throttle.gate import CallOptions

ID = click.argument("import_id", metavar="ID")
COUNTS = ("created", "rejected", "skipped", "unsent", "unknown", "ambiguous")


@click.group("imports", invoke_without_command=True)
@options.ENVIRONMENT
@click.pass_context
def imports_(context: click.Context, environment: str | None) -> None:
    """
    List the imports, and decide on their unknown rows.

    The list shows the file of each import and what became of its rows. ID is the first
    column of that list; its first letters are enough.

    \b
    Examples:
      petstore-tools imports
      petstore-tools imports show 3f9c
      petstore-tools imports reconcile 3f9c
    """
    if context.invoked_subcommand is None:
        infos, errors = imports.list_imports(_folder())
        if environment is not None:
            infos = [info for info in infos if info.target.environment == environment]
        click.echo(_table(infos) if infos or errors else "No imports yet.")
        for error in errors:
            options.write_message(str(error))
        if errors:
            context.exit(exits.USAGE)


def _folder() -> Path:
    return settings.state_folder() / "imports"


def _table(infos: list[ImportInfo]) -> str:
    rows = []
    for info in infos:
        target = info.target
        counts = info.states + Counter(unknown=info.states["sending"])
        name = target.path.name + (f" ({target.sheet})" if target.sheet else "")
        numbers = [counts[state] for state in COUNTS]
        rows.append(
            (info.id, name, target.environment, *numbers, utc_text(info.changed_at))
        )
    return text_table(("import", "file", "environment", *COUNTS, "last change"), rows)


@imports_.command("show")
@ID
def show(import_id: str) -> None:
    """Show the rows of import ID that were not created, and why."""
    info = imports.find_import(_folder(), import_id)
    click.echo(_table([info]))
    with read_journal(_folder(), info.target) as journal:
        entries = [entry for entry in journal.entries() if entry.state != "created"]
    rows = []
    for entry in entries:
        outcome = "ambiguous" if entry.may_be else entry.state
        rows.append((entry.number, *entry.content, outcome, entry.may_be, entry.detail))
    if rows:
        titles = ("row", *spec.NEW_PET_FIELDS, "outcome", "may be id", "why")
        click.echo("\n" + text_table(titles, rows))
    if info.bad_rows:
        options.write_message(
            f"{pluralize(info.bad_rows, 'row')} of {info.target.path.name} had"
            " problems; the file of rejected rows beside it names them"
        )
    if any(info.states[state] for state in ("unknown", "sending", "ambiguous")):
        options.write_message(
            "\nTo find out what became of the unknown rows: petstore-tools imports"
            f" reconcile {info.id}"
        )


@imports_.command("reconcile")
@ID
@click.option(
    "--row",
    type=int,
    metavar="N",
    help="Decide on row N yourself (N as in the spreadsheet).",
)
@click.option(
    "--created",
    "pet_id",
    type=int,
    metavar="PET_ID",
    help="The row is the animal with this id.",
)
@options.flag("--absent", help="The row was not created: the next run sends it again.")
@options.YES
def reconcile(
    import_id: str, row: int | None, pet_id: int | None, *, absent: bool, yes: bool
) -> int:
    """
    Find out what became of the unknown rows of import ID.

    An unknown row was sent and got no usable answer. It is sent again only when
    complete listings show, or you decide, that it was not created. This command lists
    the inventory once more and compares; with --row you decide on one row yourself. You
    are asked before --absent where the row may exist: where no listing can show it yet,
    or one shows an equal animal.

    \b
    Examples:
      petstore-tools imports reconcile 3f9c
      petstore-tools imports reconcile 3f9c --row 14 --created 1017
      petstore-tools imports reconcile 3f9c --row 14 --absent
    """
    answers = (pet_id is not None) + absent
    if answers > 1 or (row is None) != (answers == 0):
        raise click.UsageError(
            "to decide on a row, give --row and one of --created PET_ID and --absent"
        )
    info = imports.find_import(_folder(), import_id)
    target = info.target
    with (
        PetStore(environment=target.environment) as store,
        read_journal(_folder(), target, store.client.clock) as journal,
    ):
        if store.client.service_id != target.base_url:
            raise SettingsError(
                f"import {info.id} went to {target.environment} at {target.base_url},"
                f" but the settings name {store.client.base_url}"
            )
        mark_dead(journal)
        decidable_at = _decidable_at(store, journal)
        if row is not None:
            reasons = _doubts(store, journal, row, decidable_at) if absent else []
            if _is_agreed(row, reasons, yes=yes):
                record_decision(journal, row, pet_id)
                decision = f"the animal with id {pet_id}"
                if absent:
                    decision = "absent: the next run sends it"
                click.echo(f"row {row} is {decision}")
            return exits.DONE
        listings = settle(store.inventory, journal, CallOptions())
        counts = journal.counts()
    if not listings[-1].complete:
        options.write_message(
            "Only a complete listing shows what became of them."
            f" {listings[-1].shortfall}"
        )
    if decidable_at is not None:
        options.write_message(
            "A listing can show what became of the unknown rows only from "
            f"{utc_text(decidable_at)} on: run the same command again then."
        )
    parts = [f"{count:,} {outcome}" for outcome, count in sorted(counts.items())]
    click.echo(", ".join(parts) or "The import has no rows.")
    return exits.PARTLY if counts["unknown"] else exits.DONE


def _decidable_at(store: PetStore, journal: Journal) -> float | None:
    """Return from when on a listing can show all unknown rows; None for now."""
    after_s = store.client.reconcile_after_s
    left_s = after_s - min(seconds_lost(journal), default=after_s)
    return store.client.clock.now() + left_s if left_s > 0 else None


def _doubts(
    store: PetStore, journal: Journal, row: int, decidable_at: float | None
) -> list[str]:
    """List the inventory, and return the reasons why a lost row may exist."""
    listing = take_inventory(store.inventory, journal, CallOptions())
    reasons = []
    if not listing.complete:
        reasons.append("the listing of the inventory is not complete")
    if decidable_at is not None:
        reasons.append(f"a listing can show it only from {utc_text(decidable_at)} on")
    contents = [entry.content for entry in journal.entries() if entry.number == row]
    doubts = journal.find_equal(contents).values()
    return [*reasons, *(doubt.because for doubt in doubts)]


def _is_agreed(row: int, reasons: list[str], *, yes: bool) -> bool:
    """Ask whether a row is sent again although it may exist."""
    if not reasons:
        return True
    options.write_message(f"Row {row} may exist: {', and '.join(reasons)}.")
    question = f"Send row {row} again all the same?"
    return options.is_confirmed(question, yes=yes, otherwise="Nothing was changed")


@imports_.command("forget")
@ID
@options.YES
def forget(import_id: str, *, yes: bool) -> None:
    """
    Delete what is known of import ID. Its file then counts as new.

    The next run of the file compares its rows with the animals that exist.
    """
    info = imports.find_import(_folder(), import_id)
    rows = pluralize(sum(info.states.values()), "row")
    created = f"{info.states['created']:,} of them created"
    question = f"Forget what became of {rows} of {info.target.path.name}, {created}?"
    if options.is_confirmed(question, yes=yes, otherwise="Nothing was forgotten"):
        with open_journal(_folder(), info.target) as journal:
            journal.forget()
        click.echo(f"import {info.id} is forgotten")
