"""
Pure: links to further pages: how a header names them, whether the key may go there, and
what they hold (§4.1).
"""

from __future__ import annotations

import re
from urllib.parse import (
    SplitResult,
    parse_qsl,
    unquote_plus,
    urlencode,
    urljoin,
    urlsplit,
    urlunsplit,
)

from petstore_tools.listing.completeness import End

# requests' parser loses `rel` behind a parameter without a value, and splits at a
# quoted `, <`
_VALUE = r"\"(?:[^\"\\]|\\.)*\"|'[^'\"<>;,]*'|[^\s;,\"]*"
_PARAMETER = rf";\s*([^\s=;,<>\"]+)\s*(?:=\s*({_VALUE}))?\s*"
_LINK = re.compile(rf"<([^>]*)>\s*((?:{_PARAMETER})*)")
_EACH = re.compile(_PARAMETER)


def link_targets(header: str | None) -> dict[str, str]:
    """
    Read a `Link` header into targets by relation; the first of each relation counts.

    >>> link_targets('<?cursor=a>; rel="next", </v1/pets>; rel=first')
    {'next': '?cursor=a', 'first': '/v1/pets'}
    """
    targets: dict[str, str] = {}
    for target, parameters, *_ in _LINK.findall(header or ""):
        relation = next(
            (v for name, v in _EACH.findall(parameters) if name.casefold() == "rel"), ""
        )
        for name in relation.strip("\"'").split():
            targets.setdefault(name.casefold(), target.strip())
    return targets


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
    name = "" if abs(last_id) > 2 * row_count else "(?<![a-z])id[^a-z0-9-]*"
    pattern = rf"{name}(?<![0-9-]){last_id}(?![0-9])"
    query = unquote_plus(urlsplit(url).query)
    return re.search(pattern, query, re.IGNORECASE) is not None


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return (
        url.scheme,
        url.hostname,
        url.port or {"http": 80, "https": 443}.get(url.scheme),
    )
