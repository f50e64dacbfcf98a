"""`imports`: the imports that were made, and what is left to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from petstore_tools import settings
from petstore_tools.cli import exits, options
from petstore_tools.cli.import_ import import_each
from petstore_tools.errors import SettingsError
from petstore_tools.importing import journals, lookup
from petstore_tools.importing.journal import read_entries
from petstore_tools.importing.journals import JournalInfo
from petstore_tools.importing.options import ImportOptions
from petstore_tools.store import PetStore
from petstore_tools.text import pluralize, text_table, utc_text

ID = click.argument("import_id", metavar="ID")
COUNTS = ("created", "rejected", "unsent", "unknown", "ambiguous")


@click.group("imports", invoke_without_command=True)
@options.ENVIRONMENT
@click.pass_context
def imports_(context: click.Context, environment: str | None) -> None:
    """
    List the imports, and continue them.

    The list shows the file of each import and what became of its rows. ID is the name of an import
    in that list, or the first letters of it.

    \b
    Examples:
      petstore-tools imports
      petstore-tools imports show 3f9c
      petstore-tools imports reconcile 3f9c
      petstore-tools imports reconcile 3f9c --row 14 --created 1017
    """
    if context.invoked_subcommand is None:
        found, unreadable = journals.list_journals(_folder())
        shown = [journal for journal in found if environment in (None, journal.target.environment)]
        click.echo(_table(shown) if shown else "No imports yet.")
        for error in unreadable.values():
            click.echo(str(error), err=True)


def _folder() -> Path:
    return settings.state_folder() / "imports"


def _table(found: list[JournalInfo]) -> str:
    rows = []
    for journal in found:
        target, counts = journal.target, journal.states + Counter(unknown=journal.states["sending"])
        name = target.path.name + (f" ({target.sheet})" if target.sheet else "")
        numbers = [counts[state] for state in COUNTS]
        rows.append((journal.id, name, target.environment, *numbers, utc_text(journal.changed_at)))
    return text_table(("import", "file", "environment", *COUNTS, "last change"), rows)


@contextmanager
def _opened(
    import_id: str, *, progress: bool | None = None
) -> Iterator[tuple[PetStore, JournalInfo]]:
    """Open an import, and a store at the service to which it went."""
    journal = journals.find(_folder(), import_id)
    target = journal.target
    with PetStore(environment=target.environment, progress=progress) as store:
        if store.client.base_url != target.base_url:
            raise SettingsError(
                f"import {journal.id} went to {target.environment} at {target.base_url}, but "
                "the settings "
                f"name {store.client.base_url}"
            )
        yield store, journal


@imports_.command("show")
@ID
@click.option(
    "--all",
    "every",
    is_flag=True,
    help=f"Show all of these rows, not only the first {options.SHOWN_ROWS}.",
)
def show(import_id: str, *, every: bool) -> int:
    """Show the rows of import ID that were not created, and why."""
    journal = journals.find(_folder(), import_id)
    click.echo(_table([journal]))
    rows = [
        (e.number, *e.content, "ambiguous" if e.candidates else e.state, e.may_be, e.detail)
        for e in read_entries(_folder(), journal.target, journal_id=journal.id)
        if e.state != "created"
    ]
    shown = rows if every else rows[: options.SHOWN_ROWS]
    if shown:
        titles = ("row", "name", "categoryId", "status", "outcome", "may be id", "why")
        click.echo("\n" + text_table(titles, shown))
    if len(rows) > len(shown):
        click.echo(f"... {len(rows) - len(shown):,} more: --all shows them", err=True)
    if journal.bad_rows:
        file = journal.target.path.name
        click.echo(
            f"{pluralize(journal.bad_rows, 'row')} of {file} had problems: see its rejects file",
            err=True,
        )
    if any(journal.states[state] for state in ("unknown", "sending", "ambiguous")):
        click.echo(
            f"\nTo find out about them: petstore-tools imports reconcile {journal.id}", err=True
        )
    return exits.DONE


@imports_.command("resume")
@ID
@options.EXISTING
@options.WAIT
@options.YES
@options.JSON
@options.NO_PROGRESS
def resume(import_id: str, *, yes: bool, as_json: bool, no_progress: bool, **chosen: Any) -> int:
    """Continue import ID, as `petstore-tools import FILE` does."""
    with _opened(import_id, progress=False if no_progress else None) as (store, journal):
        entries = read_entries(_folder(), journal.target, journal_id=journal.id, wanted=1)
        wanted = replace(ImportOptions.resumed(journal, entries, wait=False), **chosen)
        return import_each(store, [wanted], yes=yes, as_json=as_json)


@imports_.command("reconcile")
@ID
@click.option(
    "--row", type=int, metavar="N", help="Decide on row N yourself (N as in the spreadsheet)."
)
@click.option(
    "--created", "pet_id", type=int, metavar="PET_ID", help="The row is the animal with this id."
)
@click.option(
    "--absent", is_flag=True, help="The row was not created: the next run sends it again."
)
def reconcile(import_id: str, row: int | None, pet_id: int | None, *, absent: bool) -> int:
    """
    Find out what became of the unknown rows of import ID.

    The inventory is listed once more and compared. With --row you decide on one row yourself.
    """
    if (row is None) != (pet_id is None and not absent) or (pet_id is not None and absent):
        raise click.UsageError(
            "to decide on a row, give --row and one of --created PET_ID and --absent"
        )
    with _opened(import_id) as (store, journal):
        if row is not None:
            lookup.decide(store.client, _folder(), journal, row, pet_id)
            click.echo(
                f"row {row} is {'absent: the next run sends it' if absent else f'id {pet_id}'}"
            )
            return exits.DONE
        found = lookup.reconcile_import(store.inventory, _folder(), journal)
    outcomes = Counter("ambiguous" if outcome.candidates else outcome.state for outcome in found)
    click.echo(
        ", ".join(f"{n:,} {outcome}" for outcome, n in outcomes.items())
        or "There is no unknown row."
    )
    return exits.PARTLY if outcomes["ambiguous"] else exits.DONE


@imports_.command("forget")
@ID
@options.YES
def forget(import_id: str, *, yes: bool) -> int:
    """
    Delete the journal of import ID: its file counts as new.

    The next run of the file creates every row again, except those that match animals that already
    exist.
    """
    name, found = journals.find_any(_folder(), import_id)
    what = "a journal that cannot be read"
    if isinstance(found, JournalInfo):
        rows = pluralize(sum(found.states.values()), "row")
        what = (
            f"what became of {rows} of {found.target.path.name}, "
            f"{found.states['created']:,} of them created"
        )
    if options.confirmed(f"Forget {what}?", yes=yes, otherwise="Nothing was forgotten"):
        journals.forget(_folder(), name)
        click.echo(f"import {name} is forgotten")
    return exits.DONE
