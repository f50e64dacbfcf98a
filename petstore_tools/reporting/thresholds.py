"""Pure: thresholds such as `unset > 5%`, read and compared with the numbers of a report."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Final

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.text import suggest

_NAMES: Final = (*spec.STATUSES, "unset", "total", "new", "gone")
_OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM: Final = re.compile(
    r"\s*(?P<name>\S+?)(?P<change>\.change)?\s*(?P<operator>>=|<=|==|!=|>|<)\s*(?P<number>-?\d+(?:\.\d+)?)\s*(?P<percent>%)?\s*"
)


def parse(text: str) -> re.Match[str]:
    """
    Read `NAME[.change] OP NUMBER[%]`.

    Raises:
        ArgumentError: It has another form or name.
    """
    if found := _FORM.fullmatch(text):
        name = found["name"]
        if name not in _NAMES:
            near = suggest(name, _NAMES)
            raise ArgumentError(
                f"the threshold {text!r}: there is no number {name!r}; use one of "
                f"{', '.join(_NAMES)}{near}"
            )
        return found
    raise ArgumentError(
        f"the threshold {text!r} cannot be read: write NAME, one of > >= < <= == !=, and a "
        "number or "
        'a percentage, such as "unset > 5%" or "sold.change < 10"'
    )


def failure(text: str, now: Mapping[str, int], before: Mapping[str, int] | None) -> str:
    """
    Say why a report fails, "" where it does not.

    Args:
        text: `NAME[.change] OP NUMBER[%]`: NAME is a status, `unset`, `total`, `new` or `gone`;
            `.change` is what it changed since the earlier listing; percent are of all animals, of a
            change of the number before.
        now: Numbers of animals of the report by name, `total` included.
        before: Those of the earlier listing, None without one.

    Raises:
        ArgumentError: It has another form, or the report has no number of that name.
    """
    given = parse(text)
    name, what = given["name"], text.strip()
    compares = bool(given["change"]) or name in ("new", "gone")
    if compares and before is None:
        return f"{what}: there is no earlier listing to compare with"
    if name not in now:
        near = suggest(name, list(now))
        raise ArgumentError(f"the report has no number {name!r}: use one of {', '.join(now)}{near}")
    value, whole = float(now[name]), (before if compares and before else now)["total"]
    if given["change"] and before:
        whole = before.get(name, 0)
        value -= whole
    shown, value_of = f"{int(value):,}", f"the change of {name}" if given["change"] else name
    if given["percent"]:
        value = 100 * value / whole if whole else (0.0 if not value else float("inf"))
        shown = f"{value:,.1f} %"
    fails = _OPERATORS[given["operator"]](value, float(given["number"]))
    return f"{what}: {value_of} is {shown}" if fails else ""
