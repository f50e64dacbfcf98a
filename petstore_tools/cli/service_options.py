"""Options of the commands that run the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from petstore_tools.cli.options import ENVIRONMENTS
from petstore_tools.settings import state_folder

if TYPE_CHECKING:
    from petstore_tools.service.database import Database

PORTS = {"production": 8765, "staging": 8766}
DATABASE = click.option(
    "--database",
    envvar="PETSTORE_DATABASE_URL",
    metavar="FILE|URL",
    help="An SQLite file, created if it does not exist, or "
    "postgresql://USER:PASSWORD@HOST/NAME. Other users of the machine can read command lines: set "
    "PETSTORE_DATABASE_URL instead.  [default: a file in the state folder]",
)
ENVIRONMENT = click.option(
    "--environment",
    type=ENVIRONMENTS,
    default="production",
    show_default=True,
    help="Which default database file and port to use.",
)


def database_address(database: str | None, environment: str) -> str:
    """Return the database that was named, else the file of the environment in the state folder."""
    return database or str(state_folder() / f"service-{environment}.db")


def open_database(database: str | None, environment: str) -> Database:
    """Open the service's database; a file that does not exist is made."""
    from petstore_tools.service.database import Database

    return Database(database_address(database, environment))
