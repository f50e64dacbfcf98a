"""
Pure: how the next page is named: by a link, by another header, or by one of the usual
ways to page, as rows of one table; and where an answer lands on a page (§4.1).

To add a scheme, add a row to `SCHEMES`; to add a header that names the next page, one
to `CURSOR_HEADERS`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from petstore_tools.errors import SettingsError
from petstore_tools.listing.links import link_targets, with_query


@dataclass(frozen=True)
class Scheme:
    """
    One way to name the next page.

    Attributes:
        parameter: The query parameter.
        counts: What its value is: the `rows` before the page, the number of the page
            (`pages`), the last `id`, or a `token` that the service hands out.
        base: Number of the first page.
    """

    parameter: str
    counts: Literal["rows", "pages", "id", "token"]
    base: int = 0


PAGE = Scheme("page", "pages", 1)
PAGE_0 = Scheme("page", "pages", 0)
SCHEMES = {  # by the names that `pagination=` takes
    "offset": Scheme("offset", "rows"),
    "skip": Scheme("skip", "rows"),
    "page": PAGE,
    "page0": PAGE_0,
    "after": Scheme("after", "id"),
    "starting_after": Scheme("starting_after", "id"),
}

CURSOR_HEADERS = {  # with the parameters that may take what it holds
    "X-Next-Cursor": "cursor after page_token",
    "Next-Cursor": "cursor after page_token",
    "X-Next-Page-Token": "page_token cursor",
    "X-Continuation-Token": "continuation_token cursor",
    "X-Next-Page": "page",
}


def parse(name: str | None) -> Scheme | None:
    """
    Return the scheme that `pagination=` names, None for no name.

    Raises:
        SettingsError: There is no such scheme.

    >>> parse("cursor=page_token")
    Scheme(parameter='page_token', counts='token', base=0)
    """
    if name is None:
        return None
    parameter = name.removeprefix("cursor=")
    if name != parameter != "":
        return Scheme(parameter, "token")
    if name in SCHEMES:
        return SCHEMES[name]
    raise SettingsError(
        f"pagination must be one of {', '.join(SCHEMES)} or cursor=PARAMETER, not"
        f" {name!r}"
    )


def says_more(headers: Mapping[str, str]) -> str:
    """
    Return `true` or `false` where a header says whether more animals follow, else "".
    """
    return headers.get("X-Has-More", "").strip().casefold()


def total(headers: Mapping[str, str]) -> int | None:
    """
    Return how many animals the headers count, None where they do not say.

    >>> total({"Content-Range": "items 0-99/250"})
    250
    """
    for name in ("X-Total-Count", "X-Total", "Total-Count", "Content-Range"):
        text = headers.get(name, "").rpartition("/")[2].strip()
        if re.fullmatch(r"[0-9]{1,15}", text):
            return int(text)
    return None


def next_targets(
    headers: Mapping[str, str], url: str, known_scheme: Scheme | None
) -> dict[str, Scheme | None] | None:
    """
    Return the targets that may be the next page, each with its scheme.

    None of them where the headers say that there is none, None where they say nothing.

    Args:
        headers: Of the page before.
        url: Address of the first page, which a token is added to.
        known_scheme: The way that is proven.

    >>> next_targets({"Link": "<?cursor=a>; rel=next"}, "/pets", None)
    {'?cursor=a': None}
    >>> list(next_targets({"X-Next-Page-Token": "a"}, "/pets", None))
    ['/pets?page_token=a', '/pets?cursor=a']
    """
    targets = link_targets(headers.get("Link"))
    if "next" in targets:
        return {targets["next"]: known_scheme}
    for name, usual_parameters in CURSOR_HEADERS.items():
        if name not in headers:
            continue
        token = headers[name].strip()
        if token.casefold() in ("", "0", "null", "none"):
            return {}
        if token.casefold().startswith(("/", "?", "http:", "https:")):
            return {token: known_scheme}
        parameters = usual_parameters.split()
        if known_scheme is not None and known_scheme.counts == "token":
            parameters = [known_scheme.parameter]
        return {
            with_query(url, {parameter: token}): Scheme(parameter, "token")
            for parameter in parameters
        }
    return {} if says_more(headers) == "false" else None


def landing_position(page: tuple[int, ...], ids: tuple[int, ...]) -> int | None:
    """
    Return the position in a page at which other ids begin and go on as the page does.

    None where they begin elsewhere, or hold none of these animals.

    >>> landing_position((7, 10, 13), (13, 16, 19))
    2
    """
    if not ids or ids[0] not in page:
        return None
    position = page.index(ids[0])
    rest_of_page = page[position:]
    is_same = rest_of_page[: len(ids)] == ids[: len(rest_of_page)]
    return position if is_same else None
