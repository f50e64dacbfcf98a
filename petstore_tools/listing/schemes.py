"""
Pure: how the next page is named: by a link (how a header writes it, whether the key may
go there, and what it holds), by another header, or by one of the usual ways to page, as
rows of one table (§4.1).

To add a scheme, add a row to `SCHEMES`; to add a header that names the next page, one
to `CURSOR_HEADERS`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import (
    SplitResult,
    parse_qsl,
    unquote_plus,
    urlencode,
    urljoin,
    urlsplit,
    urlunsplit,
)

from petstore_tools.errors import SettingsError
from petstore_tools.listing.completeness import End

# requests' parser loses `rel` behind a parameter without a value, and splits at a
# quoted `, <`
_VALUE = r"\"(?:[^\"\\]|\\.)*\"|'[^'\"<>;,]*'|[^\s;,\"]*"
_PARAMETER = rf";\s*([^\s=;,<>\"]+)\s*(?:=\s*({_VALUE}))?\s*"
_LINK = re.compile(rf"<([^>]*)>\s*((?:{_PARAMETER})*)")
_EACH = re.compile(_PARAMETER)
_NUMBER = re.compile(r"((?<![a-z])id[^a-z0-9-]*)?(?<![0-9-])(-?[0-9]+)", re.IGNORECASE)


def next_link(header: str) -> str | None:
    """
    Return what a `Link` header names as the next page; the first one counts.

    >>> next_link('</v1/pets>; rel=first, <?cursor=a>; rel="next"')
    '?cursor=a'
    """
    for target, parameters, *_ in _LINK.findall(header):
        relation = next(
            (v for name, v in _EACH.findall(parameters) if name.casefold() == "rel"), ""
        )
        if "next" in relation.strip("\"'").casefold().split():
            return str(target.strip())
    return None


def with_query(url: str, query: dict[str, object]) -> str:
    """
    Return an address with further parameters, or other values of those that it has; a
    value of None takes the parameter off.
    """
    parts = urlsplit(url)
    values = dict(parse_qsl(parts.query)) | query
    parameters = {name: value for name, value in values.items() if value is not None}
    return urlunsplit(parts._replace(query=urlencode(parameters)))


def follow(page_url: str, target: str) -> str | End:
    """
    Return the address that a page names as the next one, always at the service that was
    asked.

    A service behind a proxy names its inner host: a link to another service is followed
    where its path is the one that was asked, else it is an End, since the key must not
    get there.

    Args:
        page_url: The address of the page.
        target: What it names, relative or absolute; capitals and the default port make
            no other service.

    >>> follow("https://host/v1/pets?limit=100", "http://inner:8080/v1/pets?cursor=a")
    'https://host/v1/pets?cursor=a'
    """
    page = urlsplit(page_url)
    try:
        link = urlsplit(urljoin(page_url, target))
        is_same_service = _origin(page) == _origin(link)
    except ValueError:
        return End(
            "cut", "the service gave an address of the next page that is not valid"
        )
    if not is_same_service and link.path != page.path:
        origin = f"{link.scheme}://{link.netloc.rpartition('@')[2]}"
        return End(
            "cut",
            f"the service says that the next page is at {origin}; the key is not sent"
            " there",
        )
    return urlunsplit(link._replace(scheme=page.scheme, netloc=page.netloc))


def holds_id(url: str, last_id: int, *, row_count: int) -> bool:
    """
    Say whether an address asks for what follows an animal, by its id.

    Args:
        url: Address of the next page.
        last_id: Id of the last animal of the page before.
        row_count: Animals so far: a number near it may count rows, so it is believed
            only behind `id`.

    >>> holds_id("https://host/v1/pets?last_id=100", 100, row_count=100)
    True
    >>> holds_id("https://host/v1/pets?offset=100", 100, row_count=100)
    False
    """
    is_far = abs(last_id) > 2 * row_count
    numbers = _NUMBER.findall(unquote_plus(urlsplit(url).query))
    return any(number == str(last_id) and (name or is_far) for name, number in numbers)


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return (
        url.scheme,
        url.hostname,
        url.port or {"http": 80, "https": 443}.get(url.scheme),
    )


@dataclass(frozen=True)
class Scheme:
    """
    One way to name the next page.

    Attributes:
        parameter: The query parameter.
        counts: What its value is: the `rows` before the page, the number of the page
            (`pages`), the last `id`, or a `token` that the service hands out.
        base: Number of the first page.
        header: The one that has the token, "" for the usual ones.
    """

    parameter: str
    counts: Literal["rows", "pages", "id", "token"]
    base: int = 0
    header: str = ""


PAGE = Scheme("page", "pages", 1)
SCHEMES = {  # by the kinds that `pagination=` takes
    "offset": Scheme("offset", "rows"),
    "skip": Scheme("skip", "rows"),
    "page": PAGE,
    "after": Scheme("after", "id"),
    "starting_after": Scheme("starting_after", "id"),
}

_NAME = re.compile(r"[^\s=&#?:]+")
NO_TOKEN = ("", "0", "null", "none")
_ADDRESS = ("/", "?", "http:", "https:")  # how one begins
CURSOR_HEADERS = {  # with the parameter that takes what it holds
    "X-Next-Cursor": "cursor",
    "Next-Cursor": "cursor",
    "X-Next-Page-Token": "page_token",
    "X-Continuation-Token": "continuation_token",
    "X-Next-Page": "page",
}


def parse(pagination: str | None) -> Scheme | None:
    """
    Return the scheme that `pagination=` names, None for no name.

    Raises:
        SettingsError: There is no such scheme.

    >>> parse("offset=startAt")
    Scheme(parameter='startAt', counts='rows', base=0, header='')
    >>> parse("cursor=X-Next:token")
    Scheme(parameter='token', counts='token', base=0, header='X-Next')
    """
    if pagination is None:
        return None
    kind, _, parameter = pagination.partition("=")
    if pagination in SCHEMES:
        return SCHEMES[pagination]
    if kind in SCHEMES and _NAME.fullmatch(parameter):
        return replace(SCHEMES[kind], parameter=parameter)
    header, _, parameter = parameter.rpartition(":")
    if kind == "cursor" and _NAME.fullmatch(parameter):
        return Scheme(parameter, "token", header=header)
    raise SettingsError(
        "pagination (also in PETSTORE_PAGINATION and the settings file) must be one of"
        f" {', '.join(SCHEMES)}, alone or with the name of the parameter behind it,"
        " such as offset=startAt, or cursor=PARAMETER or cursor=HEADER:PARAMETER, not"
        f" {pagination!r}"
    )


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


def next_target(
    headers: Mapping[str, str], url: str, named_scheme: Scheme | None
) -> str | None:
    """
    Return what an answer names as the next page: "" where it says that there is none,
    None where it says nothing.

    Args:
        headers: Of the answer.
        url: Address of the first page, which a token is added to.
        named_scheme: As the caller named it, None for no name.

    >>> next_target({"Link": "<?cursor=a>; rel=next"}, "/pets", None)
    '?cursor=a'
    >>> next_target({"X-Next-Page-Token": "a"}, "/pets", None)
    '/pets?page_token=a'
    """
    own_header = named_scheme.header if named_scheme else ""
    if not own_header and (link := next_link(headers.get("Link", ""))) is not None:
        return link
    for header in [own_header] if own_header else CURSOR_HEADERS:
        if header not in headers:
            continue
        token = headers[header].strip()
        if token.casefold() in NO_TOKEN:
            return ""
        if not own_header and token.casefold().startswith(_ADDRESS):
            return token
        parameter = CURSOR_HEADERS.get(header, "")
        if named_scheme is not None and named_scheme.counts == "token":
            parameter = named_scheme.parameter
        return with_query(url, {parameter: token})
    return None
