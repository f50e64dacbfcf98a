"""Pure: thresholds such as `unset > 5%`, read and compared with the numbers of a report."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from petstore_tools.errors import ArgumentError
from petstore_tools.text import suggest

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


@dataclass(frozen=True)
class Threshold:
    """
    A condition under which a report fails.

    Attributes:
        text: As it was given.
        name: A status, `unset`, `total`, `new` or `gone`.
        change: Whether it is the change since the earlier listing that counts.
        operator: How the number of the report is compared with `number`.
        number: A number of animals, or percent.
        percent: Of all animals; for a change, of the number before.
    """

    text: str
    name: str
    change: bool
    operator: str
    number: float
    percent: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        Read `NAME[.change] OP NUMBER[%]`.

        Raises:
            ArgumentError: It has another form.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise ArgumentError(
                f"the threshold {text!r} cannot be read: write NAME, one of > >= < <= == !=, and a number or "
                'a percentage, such as "unset > 5%" or "sold.change < 10"'
            )
        return cls(
            text.strip(),
            found["name"],
            found["change"] is not None,
            found["operator"],
            float(found["number"]),
            found["percent"] is not None,
        )

    def failure(self, now: Mapping[str, int], before: Mapping[str, int] | None) -> str:
        """
        Say why a report fails, "" where it does not.

        Args:
            now: Numbers of animals of the report by name, `total` included.
            before: Those of the earlier listing, None without one.

        Raises:
            ArgumentError: The report has no number of that name.
        """
        needs_earlier = self.change or self.name in ("new", "gone")
        if needs_earlier and before is None:
            return f"{self.text}: there is no earlier listing to compare with"
        if self.name not in now:
            near = suggest(self.name, list(now))
            raise ArgumentError(f"the report has no number {self.name!r}: use one of {', '.join(now)}{near}")
        found: float = now[self.name]
        whole = now["total"] if before is None or not needs_earlier else before["total"]
        if self.change and before is not None:
            whole = before.get(self.name, 0)
            found -= whole
        value = found
        if self.percent:
            value = 100 * found / whole if whole else (0.0 if not found else float("inf"))
        if not _OPERATORS[self.operator](value, self.number):
            return ""
        shown = f"{value:,.1f} %" if self.percent else f"{int(found):,}"
        what = f"the change of {self.name}" if self.change else self.name
        return f"{self.text}: {what} is {shown}"


def failures(
    thresholds: Sequence[Threshold], now: Mapping[str, int], before: Mapping[str, int] | None
) -> list[str]:
    """Say which thresholds fail, and why."""
    return [why for threshold in thresholds if (why := threshold.failure(now, before))]
