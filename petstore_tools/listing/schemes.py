"""
Pure: the usual ways to page, as rows of one table, and the question which of them a service speaks
    (§4.1).

To add a scheme, add a row to `SCHEMES`; to add a header that names the next page, one to
`CURSOR_HEADERS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from petstore_tools.errors import SettingsError

PROBE_LEAST: Final = 8  # animals on a page whose places can be told apart
NEVER: Final = "none"
CURSOR: Final = "cursor="


@dataclass(frozen=True, slots=True)
class Scheme:
    """
    One way to name the next page.

    Attributes:
        name: As `pagination=` takes it.
        parameter: The query parameter.
        counts: What its value is: the `rows` before the page, the number of the page (`pages`), the
            last
            `id`, or a `token` that the service hands out.
        base: Number of the first page.
    """

    name: str
    parameter: str
    counts: Literal["rows", "pages", "id", "token"]
    base: int = 0

    def value(self, *, rows: int, pages: int, last_id: int) -> int:
        """Return the value that asks for the page behind so many rows and pages, and this id."""
        return {"rows": rows, "pages": pages + self.base, "id": last_id}[self.counts]


PAGE, PAGE_0 = Scheme("page", "page", "pages", 1), Scheme("page0", "page", "pages", 0)
SCHEMES: Final = (
    Scheme("offset", "offset", "rows"),
    Scheme("skip", "skip", "rows"),
    PAGE,
    PAGE_0,
    Scheme("after", "after", "id"),
    Scheme("starting_after", "starting_after", "id"),
)

CURSOR_HEADERS: Final = (  # with the parameters that may take what it holds
    ("X-Next-Cursor", ("cursor", "after", "page_token")),
    ("Next-Cursor", ("cursor", "after", "page_token")),
    ("X-Next-Page-Token", ("page_token", "cursor")),
    ("X-Continuation-Token", ("continuation_token", "cursor")),
    ("X-Next-Page", ("page",)),
)
TOTAL_HEADERS: Final = ("X-Total-Count", "X-Total")


def parse(name: str | None) -> Scheme | None:
    """
    Return the scheme that `pagination=` names; None for `none`, which never tries, and for no name.

    Raises:
        SettingsError: There is no such scheme.
    """
    if name is None or name == NEVER:
        return None
    parameter = name.removeprefix(CURSOR)
    if name != parameter != "":
        return Scheme(name, parameter, "token")
    for scheme in SCHEMES:
        if scheme.name == name:
            return scheme
    names = ", ".join(scheme.name for scheme in SCHEMES)
    raise SettingsError(
        f"pagination must be one of {names}, cursor=PARAMETER or {NEVER}, not {name!r}"
    )


@dataclass(frozen=True, slots=True)
class Probe:
    """
    The question how a service pages.

    It sends all usual parameters at once, each with a value that leads to a place of its own on the
    page that
    is in hand: where the answer begins shows which of them the service reads. The places are so far
    apart that an animal which comes or goes does not confuse them. Where the answer holds other
    animals or none,
    a second question follows: it tells page numbers that begin at 0 from pages of a fixed size.

    Attributes:
        ids: Of the page in hand.
        others: Whether the first answer held other animals; None in the first question.
    """

    ids: tuple[int, ...]
    others: bool | None = None

    @property
    def query(self) -> dict[str, int]:
        """The parameters to send."""
        places = {PAGE.parameter: 1}
        if self.others is None:
            places = {
                scheme.parameter: scheme.value(rows=place, pages=1, last_id=self.ids[place - 1])
                for place, scheme in self._places().items()
            }
        return {"limit": len(self.ids) - 1, **places}

    def judge(self, answer: Sequence[int]) -> Scheme | Probe | Literal["changed", "unclear"]:
        """
        Return what the ids of the answer prove: a scheme, or that the second question is needed.

        `changed` says that the page in hand has changed meanwhile; `unclear`, that nothing is
        proved.
        """
        place, common = self._place(answer), not set(answer).isdisjoint(self.ids)
        if self.others is None:
            if place is not None and (scheme := self._places().get(place)):
                return scheme
            if not common:
                return replace(self, others=bool(answer))
        elif place == len(self.ids) - 1:
            return PAGE_0
        elif place == 0 and self.others:
            return PAGE
        changed = place != 0 if common else 0 < len(answer) < len(self.ids)
        return "changed" if changed else "unclear"

    def _places(self) -> dict[int, Scheme]:
        """Return the place on the page in hand to which each scheme leads."""
        last, apart = len(self.ids) - 1, max(1, len(self.ids) // 12)
        schemes = (PAGE, *(scheme for scheme in SCHEMES if scheme.counts != "pages"))
        return {last - apart * n: scheme for n, scheme in enumerate(schemes)}

    def _place(self, answer: Sequence[int]) -> int | None:
        """
        Return the place of the page in hand at which the answer begins and goes on as it does.
        """
        if not answer or answer[0] not in self.ids:
            return None
        place = self.ids.index(answer[0])
        both = min(len(self.ids) - place, len(answer))
        return place if self.ids[place : place + both] == tuple(answer[:both]) else None


@dataclass(frozen=True, slots=True)
class TokenTrial:
    """
    The question which parameter takes the token of a next-cursor header.

    Attributes:
        token: As the header holds it.
        parameters: Those that are still to be tried, the one under way first.
    """

    token: str
    parameters: tuple[str, ...]

    @property
    def query(self) -> dict[str, str]:
        """The parameter to send."""
        return {self.parameters[0]: self.token}
