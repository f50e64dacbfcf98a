"""Options of the commands that run the service."""

from __future__ import annotations

from typing import Any

import click

from petstore_tools.settings import state_folder

PORTS = {"production": 8765, "staging": 8766}
DATABASE = click.option(
    "--database",
    envvar="PETSTORE_DATABASE_URL",
    metavar="FILE|URL",
    help="SQLite file, made where absent, or postgresql://USER:PASSWORD@HOST/NAME; better given by "
    "PETSTORE_DATABASE_URL, since others see command lines. Default: a file in the state folder.",
)
ENVIRONMENT = click.option(
    "--environment",
    type=click.Choice(("production", "staging")),
    default="production",
    show_default=True,
    help="Chooses the default database file and port.",
)


def open_database(database: str | None, environment: str) -> Any:
    """Open the service's database; a new file is made."""
    from petstore_tools.service.database import Database

    return Database(database_address(database, environment))


def database_address(database: str | None, environment: str) -> str:
    """Return the database that was named, else the file of the environment in the state folder."""
    return database or str(state_folder() / f"service-{environment}.db")
