"""`imports`: the imports that were made, and what is left to do."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import click

from petstore_tools import settings
from petstore_tools.cli import exits
from petstore_tools.cli.import_ import import_each
from petstore_tools.cli.options import ENVIRONMENT, EXISTING, JSON, NO_PROGRESS, SHOWN_ROWS, WAIT, YES
from petstore_tools.errors import SettingsError
from petstore_tools.importing import journals, lookup
from petstore_tools.importing.journal import peek
from petstore_tools.importing.journals import JournalInfo
from petstore_tools.importing.options import Existing, ImportOptions
from petstore_tools.store import PetStore
from petstore_tools.text import text_table, utc_text


@click.group("imports", invoke_without_command=True)
@ENVIRONMENT
@click.pass_context
def imports_(context: click.Context, environment: str | None) -> None:
    """
    What was imported: which files, what is unknown, how to go on.

    \b
    Examples:
      petstore-tools imports
      petstore-tools imports show 3f9c
      petstore-tools imports reconcile 3f9c
      petstore-tools imports reconcile 3f9c --row 14 --created 1017
    """
    context.obj = environment
    if context.invoked_subcommand is None:
        found, unreadable = journals.list_journals(_folder())
        found = [kept for kept in found if environment in (None, kept.target.environment)]
        click.echo(text_table(_TITLES, [_line(kept) for kept in found]) if found else "No imports yet.")
        for error in unreadable.values():
            click.echo(str(error), err=True)


_TITLES = (
    "import",
    "file",
    "environment",
    "created",
    "rejected",
    "unsent",
    "unknown",
    "ambiguous",
    "last change",
)


def _line(kept: JournalInfo) -> tuple[object, ...]:
    states = kept.states
    unknown = states["unknown"] + states["sending"]
    counts = (states["created"], states["rejected"], states["unsent"], unknown, states["ambiguous"])
    name = kept.target.path.name + (f" ({kept.target.sheet})" if kept.target.sheet else "")
    return kept.id, name, kept.target.environment, *counts, utc_text(kept.changed_at)


def _find(given: str) -> JournalInfo:
    """Return the import whose name begins so; one that cannot be read says why."""
    found, unreadable = journals.list_journals(_folder())
    name = _name(given, [*(kept.id for kept in found), *unreadable])
    if name in unreadable:
        raise unreadable[name]
    return next(kept for kept in found if kept.id == name)


def _name(given: str, names: list[str]) -> str:
    matching = [name for name in names if name == given] or [n for n in names if n.startswith(given)]
    if len(matching) != 1:
        what = "no import begins" if not matching else "several imports begin"
        raise SettingsError(f"{what} with {given!r}: `petstore-tools imports` lists them")
    return matching[0]


def _folder() -> Path:
    return settings.state_folder() / "imports"


@imports_.command("show")
@click.argument("import_id", metavar="ID")
@click.option("--all", "every", is_flag=True, help=f"All of its rows, not the first {SHOWN_ROWS}.")
def show(import_id: str, *, every: bool) -> int:
    """Show what of import ID is not created, and why."""
    kept = _find(import_id)
    click.echo(text_table(_TITLES, [_line(kept)]))
    rows = [
        (e.number, *e.content, "ambiguous" if e.candidates else e.state, e.may_be, e.detail)
        for e in peek(_folder(), kept.target, journal_id=kept.id)
        if e.state != "created"
    ]
    if rows:
        titles = ("row", "name", "categoryId", "status", "fate", "may be id", "why")
        shown = rows if every else rows[:SHOWN_ROWS]
        click.echo("\n" + text_table(titles, shown))
        if len(rows) > len(shown):
            click.echo(f"... {len(rows) - len(shown):,} more: --all shows them", err=True)
    if kept.states["unknown"] or kept.states["sending"] or kept.states["ambiguous"]:
        click.echo(f"\nSettle them: petstore-tools imports reconcile {kept.id}", err=True)
    return exits.DONE


@imports_.command("resume")
@click.argument("import_id", metavar="ID")
@EXISTING
@WAIT
@YES
@JSON
@NO_PROGRESS
@click.pass_context
def resume(
    context: click.Context,
    import_id: str,
    existing: Existing | None,
    *,
    wait: bool,
    yes: bool,
    as_json: bool,
    no_progress: bool,
) -> int:
    """Go on with import ID, as `import FILE` does."""
    kept = _find(import_id)
    with PetStore(environment=context.obj, progress=False if no_progress else None) as store:
        _same_place(store, kept)
        entries = peek(_folder(), kept.target, journal_id=kept.id, wanted=1)
        order = replace(ImportOptions.resumed(kept, entries, wait=wait), existing=existing or "ask")
        return import_each(store, [order], yes=yes, as_json=as_json)


@imports_.command("reconcile")
@click.argument("import_id", metavar="ID")
@click.option("--row", type=int, help="Decide on the row with this number, as the spreadsheet counts.")
@click.option("--created", "pet_id", type=int, metavar="PET_ID", help="It stands under this id.")
@click.option("--absent", is_flag=True, help="It does not stand: the next run sends it again.")
@click.pass_context
def reconcile(
    context: click.Context, import_id: str, row: int | None, pet_id: int | None, *, absent: bool
) -> int:
    """
    Settle the lost rows of import ID.

    By one look at the inventory; or, with --row, by your own word on one of them.
    """
    if (row is None) != (pet_id is None and not absent) or (pet_id is not None and absent):
        raise click.UsageError("a decision takes --row and one of --created PET_ID and --absent")
    kept = _find(import_id)
    with PetStore(environment=context.obj) as store:
        _same_place(store, kept)
        if row is None:
            verdicts = lookup.reconcile_import(store.inventory, _folder(), kept)
            told = Counter(type(verdict).__name__.casefold() for verdict in verdicts)
            counts = ", ".join(f"{n:,} {what}" for what, n in told.items())
            click.echo(counts or "Nothing to settle.")
            return exits.PARTLY if told["ambiguous"] else exits.DONE
        lookup.decide(store.client, _folder(), kept, row, pet_id)
        click.echo(f"row {row} is {'absent: the next run sends it' if absent else f'id {pet_id}'}")
    return exits.DONE


@imports_.command("forget")
@click.argument("import_id", metavar="ID")
@YES
def forget(import_id: str, *, yes: bool) -> int:
    """
    Forget import ID, so that its file counts as new.

    The next run creates every row again, as far as a look does not find it standing.
    """
    found, unreadable = journals.list_journals(_folder())
    journal_id = _name(import_id, [*(kept.id for kept in found), *unreadable])
    what = "a journal that cannot be read"
    if journal_id not in unreadable:
        kept = _find(journal_id)
        rows, created = sum(kept.states.values()), kept.states["created"]
        what = f"what became of {rows:,} rows of {kept.target.path.name}, {created:,} of them created"
    if not yes and not sys.stdin.isatty():
        raise SettingsError("nothing was forgotten: there is nobody to ask, so say that it is meant: --yes")
    if not yes and not click.confirm(f"Forget {what}?", default=False, err=True):
        click.echo("Nothing was forgotten.", err=True)
        return exits.DONE
    journals.forget(_folder(), journal_id)
    click.echo(f"import {journal_id} is forgotten")
    return exits.DONE


def _same_place(store: PetStore, kept: JournalInfo) -> None:
    here = store.client.environment, store.client.base_url
    if here != (kept.target.environment, kept.target.base_url):
        raise SettingsError(
            f"import {kept.id} went to {kept.target.environment} at {kept.target.base_url}; "
            f"the settings name {here[0]} at {here[1]}"
        )
