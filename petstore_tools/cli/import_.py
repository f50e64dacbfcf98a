"""`import`: animals from a spreadsheet, each created once."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import click

from petstore_tools.cli import exits
from petstore_tools.cli.options import ENVIRONMENT, EXISTING, JSON, NO_PROGRESS, WAIT, YES, mapping_of
from petstore_tools.errors import Interrupted, SettingsError, SheetError
from petstore_tools.importing.check import by_sheet
from petstore_tools.importing.options import Existing, ImportOptions
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.preview import preview as preview_of
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.run import run
from petstore_tools.notebook import import_progress
from petstore_tools.store import PetStore
from petstore_tools.text import local_text, pluralize, utc_text


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--columns", "maps", multiple=True, metavar='"Column=name"', help="Which column is which field."
)
@click.option(
    "--sheet", help="Which sheet of a workbook, or `all`.  [default: the visible one with the columns]"
)
@click.option("--dry-run", is_flag=True, help="Check the file and tell the price; send nothing.")
@click.option("--allow-totals", is_flag=True, help="Send rows whose name is a word for a total.")
@click.option("--strict", is_flag=True, help="Send nothing while a row has a problem.")
@click.option("--allow-bad", is_flag=True, help="Go on although over half of the rows have problems.")
@click.option("--send-edited", is_flag=True, help="Send rows edited after creation as further animals.")
@click.option("--drop-duplicates", is_flag=True, help="Of rows with the same three values, send one.")
@EXISTING
@click.option("--baseline/--no-baseline", default=True, help="Look first what stands.", show_default=True)
@click.option("--resend/--no-resend", default=True, help="Send again what a look proved absent.")
@click.option("--reserve", type=click.IntRange(min=0), help="Requests of each day to keep for others.")
@WAIT
@YES
@JSON
@NO_PROGRESS
@ENVIRONMENT
def import_(
    file: Path,
    maps: tuple[str, ...],
    sheet: str | None,
    existing: Existing | None,
    reserve: int | None,
    environment: str | None,
    *,
    dry_run: bool,
    allow_totals: bool,
    strict: bool,
    allow_bad: bool,
    send_edited: bool,
    drop_duplicates: bool,
    baseline: bool,
    resend: bool,
    wait: bool,
    yes: bool,
    as_json: bool,
    no_progress: bool,
) -> int:
    """
    Create the animals of FILE (.csv, .tsv, .xlsx, .ods), each once.

    Every problem of the file is told before the first request. The same command goes on where an
    import stopped: at the day's quota, by Ctrl-C, or because the machine died.

    \b
    Examples:
      petstore-tools import animals.csv --dry-run
      petstore-tools import animals.csv --columns "Pet=name" --columns "Kind=categoryId"
      petstore-tools import animals.csv --yes --wait --json
      petstore-tools import animals.xlsx --sheet all
    """
    order = ImportOptions(
        file,
        columns=mapping_of(maps),
        sheet=sheet,
        allow_totals=allow_totals,
        strict=strict,
        allow_bad=allow_bad,
        send_edited=send_edited,
        drop_duplicates=drop_duplicates,
        existing=existing or "ask",
        baseline=baseline,
        resend=resend,
        reserve=reserve,
        wait=wait,
    )
    with PetStore(environment=environment, progress=False if no_progress else None) as store:
        orders = [order] if sheet != "all" else by_sheet(order)
        if not dry_run:
            return import_each(store, orders, yes=yes, as_json=as_json)
        previews = [preview_of(store.client, store.journals, one) for one in orders]
        for preview in previews:
            click.echo("\n".join(preview.lines(most=len(preview.problems))))
        if any(preview.refusal for preview in previews):
            return exits.USAGE
        return exits.PARTLY if any(preview.problems for preview in previews) else exits.DONE


def import_each(store: PetStore, orders: list[ImportOptions], *, yes: bool, as_json: bool) -> int:
    """Import once it is agreed to, tell what became of it, and return the exit code."""
    agreed = len(orders) > 1
    if agreed:
        previews = [preview_of(store.client, store.journals, order) for order in orders]
        agreed = _agreed(previews, yes=yes)
        for preview in previews:
            if preview.refusal:
                raise SheetError(preview.refusal)
        if not agreed:
            click.echo("Nothing was sent.", err=True)
            return exits.DONE
    codes = []
    for order in orders:
        try:
            result = _import_one(store, order, yes=yes, agreed=agreed)
        except Interrupted as interrupt:
            result = cast(ImportResult, interrupt.result)
        if result is None:
            click.echo("Nothing was sent.", err=True)
            return exits.DONE
        _tell(result, as_json=as_json)
        codes.append(exits.of_result(result))
        if result.stopped is not None:
            return codes[-1]
    return max(codes, default=exits.DONE)


def _import_one(store: PetStore, order: ImportOptions, *, yes: bool, agreed: bool) -> ImportResult | None:
    """Import, and on a terminal ask whether a file is new that bears the name of an earlier one."""
    new_file = False

    def announce(preview: ImportPreview) -> bool:
        nonlocal new_file
        if preview.checked.another_file and preview.refusal and not yes and sys.stdin.isatty():
            click.echo(str(preview), err=True)
            new_file = click.confirm(
                "Import it as a new file, without the rows that match animals that already exist?", err=True
            )
            return False
        return agreed or _agreed([preview], yes=yes)

    result = _run_import(store, order, announce)
    return _run_import(store, replace(order, existing="skip"), announce) if new_file else result


def _run_import(
    store: PetStore, order: ImportOptions, announce: Callable[[ImportPreview], bool]
) -> ImportResult | None:
    with import_progress(store.progress) as show:
        return run(store.inventory, store.journals, order, announce=announce, progress=show)


def _agreed(previews: list[ImportPreview], *, yes: bool) -> bool:
    """Show the previews and ask once; what is refused is refused by the import itself."""
    for preview in previews:
        click.echo(str(preview), err=True)
        ends_at = preview.forecast.ends_at
        if preview.to_send and ends_at is not None and (here := local_text(ends_at)):
            click.echo(f"  your time done about {here}", err=True)
    to_send = sum(preview.to_send for preview in previews)
    if yes or not to_send or any(preview.refusal for preview in previews):
        return True
    if not sys.stdin.isatty():
        raise SettingsError("nothing was sent: there is nobody to ask, so say that it is meant: --yes")
    where = f"{previews[0].environment} ({previews[0].host})"
    return click.confirm(f"Create {to_send:,} animals in {where}?", default=False, err=True)


def _tell(result: ImportResult, *, as_json: bool) -> None:
    click.echo(json.dumps(result.to_dict()) if as_json else str(result))
    for path in result.files:
        click.echo(f"  {path.name}", err=True)
    if result.unknown:
        click.echo(
            f"{pluralize(result.unknown, 'row')} may stand or not, and nothing sends them again by itself. "
            f"What is known: petstore-tools imports show {result.journal}",
            err=True,
        )
    if result.held:
        click.echo(
            f"{pluralize(result.held, 'row')} look like created ones edited since, and the service cannot "
            "change an animal; --send-edited sends them as further animals.",
            err=True,
        )
    if result.stopped is not None:
        at = result.stopped.resumes_at
        when = "" if at is None else f"   # from {local_text(at) or utc_text(at)}"
        click.echo(f"Go on with: petstore-tools {shlex.join(sys.argv[1:])}{when}", err=True)
