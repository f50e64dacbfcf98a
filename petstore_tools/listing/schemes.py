"""
The usual ways to page two, as rows of one table, and the one ask that tells which of them is spoken (§4.1).

The document shows none. A service that speaks none either ignores such parameters or refuses them, so all
are asked at once, each with a value that would land at a place of its own on the page that is in hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from petstore_tools.errors import SettingsError

PROBE_LEAST: Final = 8  # animals on a page whose places can be told apart
NEVER: Final = "none"
_CURSOR: Final = "cursor="


@dataclass(frozen=True, slots=True)
class Scheme:
    """
    One way to name the next page.

    Attributes:
        name: As `pagination=` tells it.
        parameter: Of the query.
        counts: What the value is: `rows` before the page, `pages`, the last `id`, or a `token` of the
            service's.
        base: Number of the first page.
    """

    name: str
    parameter: str
    counts: Literal["rows", "pages", "id", "token"]
    base: int = 0

    def value(self, *, rows: int, pages: int, last_id: int) -> int:
        """Return what asks for the page behind so many rows and pages, and this id."""
        match self.counts:
            case "rows":
                return rows
            case "pages":
                return pages + self.base
            case "id":
                return last_id
            case "token":
                raise ValueError("a token is the service's")
            case _:
                assert_never(self.counts)


OFFSET, SKIP = Scheme("offset", "offset", "rows"), Scheme("skip", "skip", "rows")
PAGE, PAGE_0 = Scheme("page", "page", "pages", 1), Scheme("page0", "page", "pages", 0)
AFTER, STARTING_AFTER = Scheme("after", "after", "id"), Scheme("starting_after", "starting_after", "id")
SCHEMES: Final = (OFFSET, SKIP, PAGE, PAGE_0, AFTER, STARTING_AFTER)

CURSOR_HEADERS: Final = (
    ("X-Next-Cursor", ("cursor", "after", "page_token")),
    ("Next-Cursor", ("cursor", "after", "page_token")),
    ("X-Next-Page-Token", ("page_token", "cursor")),
    ("X-Continuation-Token", ("continuation_token", "cursor")),
    ("X-Next-Page", ("page",)),
)
TOTAL_HEADERS: Final = ("X-Total-Count", "X-Total")


def cursor_scheme(parameter: str) -> Scheme:
    """Return the scheme of a service that hands out tokens for a parameter."""
    return Scheme(_CURSOR + parameter, parameter, "token")


def parse(told: str) -> Scheme | None:
    """
    Read what `pagination=` tells; None where it tells never to try.

    Raises:
        SettingsError: There is no such scheme.
    """
    if told == NEVER:
        return None
    if told.startswith(_CURSOR) and told != _CURSOR:
        return cursor_scheme(told.removeprefix(_CURSOR))
    for scheme in SCHEMES:
        if scheme.name == told:
            return scheme
    names = ", ".join(scheme.name for scheme in SCHEMES)
    raise SettingsError(f"pagination is one of {names}, cursor=PARAMETER or {NEVER}, not {told!r}")


def probe(ids: Sequence[int]) -> dict[str, int]:
    """Return the ask that would land at another place of this page by each scheme."""
    by_name = {scheme: place for place, scheme in _places(len(ids)).items()}
    return {
        "limit": len(ids) - 1,
        PAGE.parameter: 2,
        OFFSET.parameter: by_name[OFFSET],
        SKIP.parameter: by_name[SKIP],
        AFTER.parameter: ids[by_name[AFTER] - 1],
        STARTING_AFTER.parameter: ids[by_name[STARTING_AFTER] - 1],
    }


def _places(count: int) -> dict[int, Scheme]:
    """Return where each scheme would land: too far apart for an animal that comes or goes to confuse them."""
    apart = max(1, count // 12)
    last = count - 1  # where the second page of one animal less begins
    return {last - apart * n: s for n, s in enumerate((PAGE, OFFSET, SKIP, AFTER, STARTING_AFTER))}


def landed(ids: Sequence[int], answer: Sequence[int]) -> int | None:
    """Return the place of this page at which the answer begins and goes on as it does, None for none."""
    if not answer or answer[0] not in ids:
        return None
    place = ids.index(answer[0])
    both = min(len(ids) - place, len(answer))
    return place if tuple(ids[place : place + both]) == tuple(answer[:both]) else None


def spoken(ids: Sequence[int], place: int | None) -> Scheme | None:
    """Return the scheme whose value in `probe` lands at this place."""
    if place is None:
        return None
    return _places(len(ids)).get(place)
