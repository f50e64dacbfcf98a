"""How times, numbers and options are written for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

_readers = ["python"]  # who reads the messages of this process


@contextmanager
def at_the_command_line() -> Iterator[None]:
    """Word options as flags while the command line runs."""
    _readers.append("command line")
    try:
        yield
    finally:
        _readers.pop()


def option(python: str, flag: str = "") -> str:
    """
    Word an option for where it is read: `allow_bad=True` in Python, `--allow-bad` at the command line.

    Args:
        python: As an argument of a call.
        flag: At the command line, where it does not follow from the argument.
    """
    if _readers[-1] == "python":
        return python
    name, _, value = python.replace('"', "").partition("=")
    return flag or f"--{name.replace('_', '-')} {value}".removesuffix(" True")


def suggest(given: object, known: Sequence[str]) -> str:
    """Ask whether the nearest known word was meant: `; did you mean 'sold'?`, "" where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(str(given).strip().casefold(), known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def utc_text(at: float) -> str:
    """Write Unix seconds as people read them: `2030-12-05 00:00:00 UTC`."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return "a time beyond the calendar"


def pluralize(number: int, noun: str) -> str:
    """Write a number with its noun: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def local_text(at: float) -> str:
    """Write Unix seconds by this machine's zone, "" where that is UTC."""
    try:
        here = datetime.fromtimestamp(at, UTC).astimezone()
    except (OverflowError, OSError, ValueError):
        return ""
    return here.strftime("%Y-%m-%d %H:%M %Z") if here.utcoffset() else ""


def parse_duration(age: str) -> float | None:
    """Read an age such as `90s`, `30min`, `1h`, `7d` or `2w` into seconds; None where it is none."""
    read = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h|d|w)\s*", age, re.IGNORECASE)
    if read is None:
        return None
    units = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
    return float(read[1]) * units[read[2].lower()]
