"""`template`: an empty workbook that helps people to fill it in."""

from __future__ import annotations

from pathlib import Path

import click

from petstore_tools import settings
from petstore_tools.tabular.atomic import write_output
from petstore_tools.tabular.categories import read_categories
from petstore_tools.tabular.xlsx import template_bytes


@click.command("template")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--categories",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=(
        "A file with the columns id and name: a cell offers their names.  [default: as"
        " the settings say]"
    ),
)
def template_(file: Path, categories: Path | None) -> None:
    """
    Write an empty workbook for the animals of an import.

    Its cells have hints with examples, and drop-downs. A file that exists is not
    replaced.

    \b
    Examples:
      petstore-tools template animals.xlsx
      petstore-tools template animals.xlsx --categories categories.csv
    """
    if file.suffix.casefold() != ".xlsx" or file.exists():
        raise click.BadParameter(
            f"{file.name!r} exists already, or does not end in .xlsx: name a new file"
        )
    categories = categories or settings.category_file()
    write_output(file, template_bytes(read_categories(categories)))
    click.echo(
        f"{file.name}: fill it in, one row for each animal, then: petstore-tools import"
        f" {file.name}"
    )
