"""`import`: animals from a spreadsheet, each created once."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import click

from petstore_tools.bulk import ImportPreview, ImportResult, Order
from petstore_tools.bulk.preview import Known
from petstore_tools.cli import exits
from petstore_tools.cli.animals import ENVIRONMENT
from petstore_tools.errors import SettingsError
from petstore_tools.store import PetStore
from petstore_tools.words import counted, utc_text


def _mapping(pairs: tuple[str, ...]) -> dict[str, str]:
    mapping = {}
    for pair in pairs:
        title, equals, field = pair.rpartition("=")
        if not equals or not title:
            raise click.BadParameter(f'{pair!r} is not "Column=field"', param_hint="--map")
        mapping[title] = field
    return mapping


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--map", "maps", multiple=True, metavar='"Column=name"', help="Which column is which field.")
@click.option("--dry-run", is_flag=True, help="Check the file and tell the price; send nothing.")
@click.option("--strict", is_flag=True, help="Send nothing while a row has a problem.")
@click.option("--allow-bad", is_flag=True, help="Go on although over half of the rows have problems.")
@click.option("--send-edited", is_flag=True, help="Send rows edited after creation as further animals.")
@click.option("--drop-twins", is_flag=True, help="Of rows with the same three values, send one.")
@click.option("--known", type=click.Choice(("skip", "send")), help="Rows whose animal seems to stand.")
@click.option("--baseline/--no-baseline", default=True, help="Look first what stands.", show_default=True)
@click.option("--resend/--no-resend", default=True, help="Send again what a look proved absent.")
@click.option("--leave", type=click.IntRange(min=0), help="Requests of each day to keep for others.")
@click.option("--wait", is_flag=True, help="Wait for the next day's quota instead of stopping.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@click.option("--no-progress", is_flag=True, help="Draw no progress bar.")
@ENVIRONMENT
def import_(
    file: Path,
    maps: tuple[str, ...],
    known: Known | None,
    leave: int | None,
    environment: str | None,
    *,
    dry_run: bool,
    strict: bool,
    allow_bad: bool,
    send_edited: bool,
    drop_twins: bool,
    baseline: bool,
    resend: bool,
    wait: bool,
    yes: bool,
    as_json: bool,
    no_progress: bool,
) -> int:
    """
    Create the animals of FILE (.csv, .tsv), each once.

    Every problem of the file is told before the first request. The same command goes on where an
    import stopped: at the day's quota, by Ctrl-C, or because the machine died.

    \b
    Examples:
      petstore-tools import animals.csv --dry-run
      petstore-tools import animals.csv --map "Pet=name" --map "Kind=categoryId"
      petstore-tools import animals.csv --yes --wait --json
    """
    mapping = _mapping(maps)
    order = Order(
        file,
        mapping,
        strict=strict,
        allow_bad=allow_bad,
        send_edited=send_edited,
        drop_twins=drop_twins,
        known=known or "ask",
        baseline=baseline,
        resend=resend,
        leave=leave,
        wait=wait,
    )
    with PetStore(environment=environment, progress=False if no_progress else None) as store:
        if dry_run:
            preview = store._preview(order)
            click.echo("\n".join(preview.lines(most=len(preview.problems))))
            return exits.PARTLY if preview.problems else exits.DONE
        result = store._import(order, lambda preview: _agreed(preview, yes=yes), None)
    if result is None:
        click.echo("Nothing was sent.", err=True)
        return exits.DONE
    _tell(result, as_json=as_json)
    return exits.of_result(result)


def _agreed(preview: ImportPreview, *, yes: bool) -> bool:
    click.echo(str(preview), err=True)
    if yes or preview.refusal or not preview.to_send:
        return True
    if not sys.stdin.isatty():
        raise SettingsError("nothing was sent: there is nobody to ask, so say that it is meant: --yes")
    question = f"Create {preview.to_send:,} animals in {preview.environment} ({preview.host})?"
    return click.confirm(question, default=False, err=True)


def _tell(result: ImportResult, *, as_json: bool) -> None:
    click.echo(json.dumps(result.to_dict()) if as_json else str(result))
    for path in result.files:
        click.echo(f"  {path.name}", err=True)
    if result.unknown:
        click.echo(
            f"{result.unknown:,} rows may stand or not: look for them in the inventory before creating "
            "them by hand; they are never sent again by themselves.",
            err=True,
        )
    if result.held:
        click.echo(
            f"{counted(result.held, 'row')} look like created ones edited since, and the service cannot "
            "change an animal; --send-edited sends them as further animals.",
            err=True,
        )
    if result.stopped is not None:
        at = result.stopped.resumes_at
        when = "" if at is None else f"   # from {utc_text(at)}"
        click.echo(f"Go on with: petstore-tools {shlex.join(sys.argv[1:])}{when}", err=True)
