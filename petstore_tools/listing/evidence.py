"""
Pure: the pages of a listing that came, what they prove of the service, and what may be
said of its end (§4.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from urllib.parse import parse_qsl, urlsplit

from petstore_tools import spec
from petstore_tools.listing import schemes
from petstore_tools.listing.completeness import End
from petstore_tools.listing.schemes import Scheme, holds_id


@dataclass(frozen=True)
class PageReply:
    """
    A reply to a request for a page, as the pager needs it.

    Attributes:
        url: The address that was asked.
        ids: int64 ids in the order they came.
        headers: Found in any case.
        has_other_status: It holds an animal without the status asked for.
        is_end: Its status means that no such page exists.
    """

    url: str
    ids: tuple[int, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    has_other_status: bool = False
    is_end: bool = False


ENDS: tuple[int, ...] = (404, 416)
ENDS_OF_ONE_PAGE = (*ENDS, 400, 422)  # by numbers, if there is one page


@dataclass(frozen=True)
class NextPage:
    """
    The page to ask for next.

    Attributes:
        url: Its address.
        is_trial: It finds out how the service pages, so the service may refuse it.
        overlap: How many animals of the page before it repeats if nothing has moved.
        is_gapless: No animal can hide before it: it is asked for by the last id.
        continues: It goes on by a way to page that is proven, or that the caller named.
        ends: Statuses that mean that no such page exists, if it continues.
    """

    url: str
    is_trial: bool = False
    overlap: int = 0
    is_gapless: bool = False
    continues: bool = False
    ends: tuple[int, ...] = ENDS

    @property
    def retries_5xx(self) -> bool:
        """Whether it is asked for again after a 5xx: no other way can be tried."""
        return self.continues or not self.is_trial

    def is_end(self, status: int) -> bool:
        """Say whether a status means that no such page exists."""
        return self.continues and status in self.ends

    def is_refused(self, status: int) -> bool:
        """Say whether a status means that the service does not page so."""
        if not self.is_trial or self.is_end(status):
            return False
        leads_nowhere = not self.continues and (status in ENDS or status >= 500)
        return status in (400, 403, 405, 422) or leads_nowhere


OVERLAPPED = 40  # animals of a page from which on each page repeats one
EXAMPLES = (
    'pagination="offset=startAt", "page=p", "after=since_id", "cursor=token" or, where'
    ' a header has the token, "cursor=X-Next:token"; or'
    " PETSTORE_PAGINATION=offset=startAt"
)
FIRST_PAGES = 4  # which repeat one whatever their size
# requests to prove a known way again, and for both answers of its end
_BEYOND_PAGES = {"id": 4, "rows": 7, "pages": 6, "token": 0}
_EMPTY_LISTING = 4  # its first page twice, and a later one by two ways


@dataclass
class Evidence:
    """
    What answers of a service have proved; an absence proves nothing, and is not kept.

    Attributes:
        scheme: A way to page that brought an animal.
        signals: The service names the next page where there is one.
        filters_first: It filters before it cuts a page.
        sizes: Animals in the last complete listing by filter, "" for none.
    """

    scheme: Scheme | None = None
    signals: bool = False
    filters_first: bool = False
    sizes: dict[str, int] = field(default_factory=dict)

    def count_requests(self, animals: int) -> int:
        """
        Return about how many requests a listing of so many animals takes, with those
        that its end needs.

        >>> Evidence(Scheme("page", "pages", 1)).count_requests(250)
        9
        """
        if not animals:
            return _EMPTY_LISTING
        pages = ceil(animals / spec.LIMIT_MAX)
        return pages + (_BEYOND_PAGES[self.scheme.counts] if self.scheme else 0)


@dataclass
class PageRecord:
    """
    The animals of one listing since it began, by their ids, and what they prove.

    Attributes:
        url: Address of the first page, with its query.
        evidence: What is proved of the service by now.
        pagination: How it pages, as the caller named it.
        scheme: The way by which this listing goes on, once it is proven.
        ids: The different ids, in the order they came.
        new_ids: Ids of the last page that had not come before.
        last_page: Ids of the last page that was not empty.
        last_url: Address of that page.
        longest: Length of the longest page.
        page_count: Pages that were taken.
        empty_pages: Empty pages in a row.
        skipped: Rows that empty pages may have hidden, since others follow them.
        urls: Addresses of the pages that were taken.
        has_moved: Whether a page began at another animal than it should have, or one
            came twice.
        may_have_hole: Whether a next request neither held the last animal's id nor
            repeated that animal, or the inventory changed.
        totals: How many animals the service counted, on each answer that said so.
        has_other_status: An animal came that does not bear the status asked for.
        may_count_rows: The way goes on behind an id that was the number of its row,
            too.
    """

    url: str
    evidence: Evidence
    pagination: Scheme | None = None
    scheme: Scheme | None = None
    ids: dict[int, None] = field(default_factory=dict)
    new_ids: list[int] = field(default_factory=list)
    last_page: tuple[int, ...] = ()
    last_url: str = ""
    longest: int = 0
    page_count: int = 0
    empty_pages: int = 0
    skipped: int = 0
    urls: set[str] = field(default_factory=set)
    has_moved: bool = False
    may_have_hole: bool = False
    totals: set[int | None] = field(default_factory=set)
    has_other_status: bool = False
    may_count_rows: bool = False

    def take(self, page: NextPage, reply: PageReply) -> None:
        """
        Count a page in, whose first animals should repeat the end of the page before.
        """
        ids, last_page, overlap = reply.ids, self.last_page, page.overlap
        if last_page and not page.is_gapless and not overlap:
            has_id = holds_id(page.url, last_page[-1], row_count=self.row_count)
            self.may_have_hole |= not has_id
        self.new_ids = [
            pet_id for pet_id in dict.fromkeys(ids) if pet_id not in self.ids
        ]
        self.ids.update(dict.fromkeys(self.new_ids))
        repeats = overlap == 0 or ids[:1] == last_page[-1:]
        self.has_moved |= not repeats or len(ids) - len(self.new_ids) != overlap
        self.may_have_hole |= self.has_moved
        self.page_count += 1
        self.urls.add(page.url)
        self.longest = max(self.longest, len(ids))
        self.empty_pages = 0 if ids else self.empty_pages + 1
        if ids:
            self.last_page = ids
            self.last_url = page.url
        self.has_other_status |= reply.has_other_status
        self.totals.add(schemes.total(reply.headers))

    @property
    def is_filtered(self) -> bool:
        """Whether one status is asked for."""
        return "status=" in self.url

    @property
    def limit(self) -> int:
        """The page size that is asked for."""
        return int(dict(parse_qsl(urlsplit(self.url).query))["limit"])

    @property
    def row_count(self) -> int:
        """Different animals so far."""
        return len(self.ids)

    @property
    def repeats_only(self) -> bool:
        """Whether the last page held nothing but the animal that it repeats."""
        return self.page_count > 1 and not self.new_ids and len(self.last_page) == 1

    @property
    def overlap(self) -> int:
        """
        How many animals the next page repeats, so that an insertion or a deletion
        shows.

        None behind a page that held nothing else; and of small pages only the first
        ones, since that would cost many requests.
        """
        scheme = self.scheme
        counts_rows = scheme is not None and scheme.counts == "rows"
        is_cheap = self.longest >= OVERLAPPED or self.page_count < FIRST_PAGES
        is_possible = self.longest > 1 and not self.repeats_only
        return int(counts_rows and is_cheap and is_possible)

    @property
    def rows_per_page(self) -> int:
        """New animals on a full page of the scheme."""
        return max(1, self.longest - self.overlap)

    @property
    def total(self) -> int | None:
        """How many animals the service counts, None where its answers do not agree."""
        totals = self.totals - {None}
        return next(iter(totals)) if len(totals) == 1 else None

    def end_complete(self, reason: str) -> End:
        """
        End as complete, unless what came shows that the inventory moved.
        """
        if self.has_moved:
            return End(
                "unproven",
                "the inventory changed while it was read, so some may be missing",
            )
        return End("complete", reason)

    def end_unproven(self, reason: str) -> End:
        """End with the animals that came, and say what the user can do."""
        return End(
            "unproven",
            f"the service did not show whether more animals follow ({reason}). If you"
            f" know how it pages, name the way and its parameter: {EXAMPLES}",
        )
