"""What befalls a program's files: another one changes them, or the disk is full."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest


def execute(path: Path, statement: str) -> None:
    """Change a database, or make a new one."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)


@contextmanager
def full_disk(size: int = 1_000) -> Iterator[None]:
    """Let no file grow beyond so many bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
