"""
What befalls a program and its files: another one changes them, the disk is full, or
somebody presses Ctrl-C.
"""

import _thread
import sqlite3
import threading
from contextlib import closing, contextmanager

import pytest


def execute(path, statements):
    """Change a database, or make a new one."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(statements)


def damage(path, harm):
    """
    Empty a database, cut it, write zeros over all pages but the first, break a letter,
    or put a text or a folder in its place; or run SQL in it, behind `new: ` in one of
    another program.
    """
    content = path.read_bytes()
    match harm:
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(content[:8_192])
        case "zeros":
            path.write_bytes(content[:4_096].ljust(len(content), b"\0"))
        case "text":
            path.write_bytes(b"no database " * 400)
        case "letter":  # of the tables, so that SQLite's own error holds no UTF-8
            path.write_bytes(content.replace(b"CREATE INDEX", b"CREATE\xc7INDEX", 1))
        case "folder":
            path.unlink()
            path.mkdir()
        case _:
            if harm.startswith("new: "):
                path.unlink()
            execute(path, harm.removeprefix("new: "))


@contextmanager
def interrupt():
    """Expect that what runs waits, press Ctrl-C then, and expect that it ends."""
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        timer.cancel()


@contextmanager
def full_disk(size=1_000):
    """Let no file grow beyond so many bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
