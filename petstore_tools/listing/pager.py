"""
Pure: the pager decides which page comes next, and what the end of a listing proves (§4.1).

The document shows no paging mechanism, so the pager follows what the service says (`Link
rel="next"`, a next-cursor header). Where it says nothing, the pager asks once how the service pages
(`schemes`). It believes an end only where the answers have proved it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import ceil, inf
from typing import Any, Final

from petstore_tools.errors import PagingError
from petstore_tools.listing import schemes
from petstore_tools.listing.links import (
    End,
    NextPage,
    Response,
    follow,
    holds_id,
    links,
    with_query,
)
from petstore_tools.listing.schemes import TOTAL_HEADERS, Probe, Scheme, TokenTrial
from petstore_tools.text import option, pluralize

PAGING: Final = frozenset(
    {"first", "prev", "previous", "next", "last"}
)  # relations that speak of pages
EMPTY_PAGES: Final = 50  # in a row, each promising more, or with next to nothing new
RESTARTS: Final = 3  # where the inventory changes while the way to page is learnt
FEW_PAGES: Final = (
    12  # within which a short page may end a listing, so that it costs one request more
)
MORE_WHEN_LEARNING, MORE_WHEN_KNOWN = (
    3,
    1,
)  # requests beyond rows / page size, before an end is checked
_KEPT: Final = (
    "full",
    "size",
    "signs",
    "moved",
    "ragged",
    "doubles",
)  # of what came, for another pager


class Pager:
    """
    Reads one listing.

    Args:
        url: Address of the first page, with its query.
        limit: The page size that is asked for.
        first: Stop when so many animals came, None for all.
        scheme: How this service pages, None to learn it.
        fixed: The caller named the scheme, so it is not given up for another; None with `fixed`
            never tries.

    Attributes:
        scheme: What the answers have proved, or what the caller named; None where nothing is known.
        next: What comes next.
        received: What came so far.
        pages: Requests that were answered.
    """

    def __init__(
        self,
        url: str,
        *,
        limit: int,
        first: int | None = None,
        scheme: Scheme | None = None,
        fixed: bool = False,
    ) -> None:
        self._url, self._limit, self._first = url, limit, first or inf
        self.scheme, self._fixed = scheme, fixed
        self.next: NextPage | End = NextPage(url)
        self.received = Received()
        self._earlier = set[int]()  # ids that came before the listing began anew
        self._asked: dict[str, None] = {}
        self._trial: Probe | TokenTrial | NextPage | None = None  # whose answer is awaited
        self._probed = False
        self._turned = self._restarts = 0  # pages of the scheme; times that the listing began anew
        self._allowed = MORE_WHEN_KNOWN if scheme else MORE_WHEN_LEARNING
        self.pages = 0

    @property
    def rows(self) -> int:
        """Different animals so far."""
        return len(self.received.ids)

    @property
    def came(self) -> int:
        """Different animals so far, those included that came before the listing began anew."""
        return self.rows + len(self._earlier.difference(self.received.ids))

    @property
    def new(self) -> list[int]:
        """Ids of the last page that never came before."""
        return [pet_id for pet_id in self.received.new if pet_id not in self._earlier]

    @property
    def step(self) -> int:
        """New animals on a full page of the scheme."""
        return self.received.full - self._overlap

    def feed(self, response: Response) -> NextPage | End:
        """
        Take a response and return what comes next.

        Raises:
            PagingError: The service repeats itself: it names an address again, or a page without a
                new animal names a next one.
        """
        self.pages += 1
        self._asked[response.url] = None
        trial, self._trial = self._trial, None
        self.received.new = []
        match trial:
            case None:
                step = self._read(response)
            case NextPage():  # which comes when the last page was read again, and is as it was
                self.received.moved |= response.ids != self.received.last
                step = trial
            case TokenTrial():
                step = self._judge_token(trial, response)
            case Probe():
                step = self._judge(trial, response)
        enough = self.rows > self._first or (
            self.rows == self._first and isinstance(step, NextPage)
        )
        self.next = (
            End("cut", f"the listing was limited to the first {self._first:,}") if enough else step
        )
        return self.next

    def refused(self) -> NextPage | End:
        """Take the refusal of a trial, and return what comes next."""
        self.pages += 1
        trial, self._trial = self._trial, None
        if isinstance(trial, TokenTrial):
            self.next = self._next_parameter(trial)
        else:
            self.scheme = None
            self.next = self._unproven("it refuses the usual parameters that ask for the next page")
        return self.next

    def predicted(self, most: int) -> list[str]:
        """Return up to so many addresses that follow if each page is full and nothing moves."""
        if self.scheme is None or self.scheme.counts not in ("rows", "pages") or not self._turned:
            return []
        return [self._page_at(self.rows + n * self.step, self._turned + n).url for n in range(most)]

    def _read(self, response: Response) -> NextPage | End:
        """Go on as the service says, else by a scheme."""
        assert isinstance(self.next, NextPage)
        follows_id = self.scheme is not None and self.scheme.counts == "id"
        if self.received.last and not (self.next.overlap or follows_id):
            last_id = self.received.last[-1]
            self.received.may_have_hole |= not holds_id(response.url, last_id, rows=self.rows)
        self.received.take(response, self.next.overlap)
        found = links(response.headers.get("Link"))
        self.received.signs |= not PAGING.isdisjoint(found)
        if self.rows >= self._first and ("next" in found or self._is_full(response)):
            return NextPage(response.url)  # there is more, which nobody asked for
        if self._fixed and self.scheme and self.scheme.counts != "token":
            return self._by_scheme(response)
        if "next" in found and not (self._fixed and self.scheme):
            return self._follow(response, found["next"])
        return self._by_header(response)

    def _by_header(self, response: Response) -> NextPage | End:
        """Go on by a next-cursor header, else by a scheme."""
        for name, parameters in schemes.CURSOR_HEADERS:
            token = response.headers.get(name)
            if token is None:
                continue
            self.received.signs = True
            if not token.strip():
                break
            if token.casefold().startswith(("/", "?", "http:", "https:")):
                return self._follow(response, token)
            if self.scheme and self.scheme.counts == "token":
                return self._follow(response, with_query(self._url, {self.scheme.parameter: token}))
            return self._next_parameter(
                TokenTrial(token, ("", *(() if self._fixed else parameters)))
            )
        if self.received.signs:
            return self.received.done("the service said that there is no next page")
        return self._by_scheme(response)

    def _follow(self, response: Response, target: str) -> NextPage | End:
        url = follow(response.url, target)
        if isinstance(url, End):
            return url
        if url in self._asked:
            raise self._contradiction("names a next page that was read before")
        if response.ids and not self.received.new:
            raise self._contradiction("holds no new animal, but names a next page")
        if self.received.empty >= EMPTY_PAGES:
            return End(
                "cut", f"{EMPTY_PAGES} pages in a row were empty, and each named a next page"
            )
        return NextPage(url)

    def _by_scheme(self, response: Response) -> NextPage | End:
        came = self.received
        if not self.rows:
            return self.received.done("the service has none")
        if came.total == self.rows:
            return self.received.done("the service counts as many animals as came")
        if self.scheme is None or self.scheme.counts == "token":
            return self._learn(response)
        self._turned += 1
        if (
            self._probed
            and self._turned == 2
            and len(response.ids) - len(came.new) > max(1, came.full // 2)
        ):
            return self._restart()  # the scheme that was believed leads nowhere
        if self._turned > 1 and not came.new:
            return self._nothing_new(response)
        # a page with a number may have grown since it was read, so that two short ones prove
        # nothing there
        if (
            came.few == came.ragged == 1
            and "status=" not in self._url
            and self.scheme.counts != "pages"
        ):
            return self.received.done(
                f"two pages in a row were short while animals were added{self._how}"
            )
        if came.few >= EMPTY_PAGES:
            return End("unproven", f"{EMPTY_PAGES} pages in a row held hardly any new animals")
        more = self.pages + 1 - ceil(self.rows / came.full)
        spent = more > self._allowed and self.pages <= FEW_PAGES
        if spent and not came.ragged and not self._is_full(response):
            return self.received.done(f"the last page was short{self._how}")
        return self._page_at(self.rows, self._turned)

    def _nothing_new(self, response: Response) -> NextPage | End:
        """Tell an end from a scheme that the service does not speak (any more)."""
        assert self.scheme is not None
        full = self._is_full(response)
        if not response.ids or (self._overlap and not full):
            if self.received.ragged and not self._overlap:
                return End("unproven", "an empty page followed short ones that were not the last")
            return self.received.done(f"no animal follows the last one{self._how}")
        if self._turned > 2:
            if self.received.repeated and not full:
                return self.received.done(f"the last page came a second time{self._how}")
            raise self._contradiction("holds no new animal")
        parameter, self.scheme = self.scheme.parameter, None
        self.received.doubles, self.received.moved, self._turned = 0, False, 0
        if self._fixed:
            return self._unproven(f"it does not page by {parameter!r}")
        return self._learn(response)

    def _learn(self, response: Response) -> NextPage | End:
        """Ask by all the usual parameters at once, where the page looks as if there were more."""
        size = len(response.ids)
        # a filter may thin out a page that was cut before, as a cap does
        looks_capped = size % 5 == 0 or ("status=" in self._url and size >= schemes.PROBE_LEAST)
        if not self._is_full(response) and not looks_capped:
            return self.received.done(f"the page was short ({size} of up to {self._limit} animals)")
        if self._fixed or self._probed or len(self.received.last) < schemes.PROBE_LEAST:
            return self._unproven()
        self._allowed = max(self._allowed, MORE_WHEN_LEARNING)
        self._probed = True
        return self._ask(Probe(self.received.last))

    def _judge(self, trial: Probe, response: Response) -> NextPage | End:
        """Believe what the answer of a probe proves."""
        match trial.judge(response.ids):
            case Scheme() as scheme:
                return self._believe(scheme, response)
            case Probe() as second:
                return self._ask(second)
            case "changed":
                return self._restart()
            case "unclear":
                return self._unproven("the usual parameters do not lead to a next page")

    def _believe(self, scheme: Scheme, response: Response) -> NextPage | End:
        came, ids = self.received, response.ids
        self.scheme, self._turned = scheme, 1
        short = len(ids) < len(came.last) - 1
        if short and ids[-1] == came.last[-1]:
            return self.received.done(f"no animal follows the last one{self._how}")
        if (
            scheme.counts != "pages"
        ):  # those were asked in another size: their rows come again in their place
            full = came.full
            came.take(response, overlap=len(came.last) - came.last.index(ids[0]))
            came.size = came.size if short else full
        return self._page_at(self.rows, self._turned)

    def _judge_token(self, trial: TokenTrial, response: Response) -> NextPage | End:
        if response.ids and set(response.ids).issubset(self.received.ids):
            return self._next_parameter(trial)
        self.scheme = schemes.parse(schemes.CURSOR + trial.parameters[0])
        self.received.take(response)
        return self._by_header(response)

    def _next_parameter(self, trial: TokenTrial) -> NextPage | End:
        """Try the next parameter that may take the service's token."""
        if not trial.parameters[1:]:
            return End(
                "unproven",
                "a header names a next page, but none of the usual parameters leads there",
            )
        return self._ask(TokenTrial(trial.token, trial.parameters[1:]))

    def _restart(self) -> NextPage | End:
        """Begin anew: the page that is in hand has changed while the way to page was learnt."""
        if self._restarts == RESTARTS:
            return self._unproven(
                "the inventory changed each time that the way to the next page was tried"
            )
        self._restarts += 1
        # what is new on this page was given to nobody, and comes again
        self._earlier.update(set(self.received.ids).difference(self.received.new))
        self.received, self.scheme, self._turned, self._probed = Received(), None, 0, False
        self._allowed = self.pages + MORE_WHEN_LEARNING
        return NextPage(self._url)

    def _ask(self, trial: Probe | TokenTrial) -> NextPage:
        self._trial = trial
        return NextPage(with_query(self._url, trial.query), trial=True)

    def _page_at(self, rows: int, turned: int) -> NextPage:
        """Return the page of the scheme behind so many rows and pages."""
        assert self.scheme is not None
        last_id = self.received.last[-1] if self.received.last else 0
        value = self.scheme.value(rows=rows - self._overlap, pages=turned, last_id=last_id)
        url = with_query(self._url, {self.scheme.parameter: value})
        return NextPage(url, trial=turned == 1, overlap=self._overlap)

    @property
    def _overlap(self) -> int:
        """How many animals each page repeats, so that an insertion or a deletion shows."""
        return int(
            self.received.full > 1 and self.scheme is not None and self.scheme.counts == "rows"
        )

    def _is_full(self, response: Response) -> bool:
        size = len(response.ids)
        return size >= self._limit or (self._turned > 1 and size >= self.received.full)

    @property
    def _how(self) -> str:
        return f", paged by {self.scheme.parameter!r}" if self.scheme else ""

    def _unproven(self, why: str = "") -> End:
        """End with the animals that came, and say what the user can do."""
        read = f"{pluralize(self.rows, 'animal')} {'was' if self.rows == 1 else 'were'} read"
        named = option('"offset" (or "page", "cursor=NAME")', "offset (or page, cursor=NAME)")
        advice = (
            f"If you know how it pages, pass {option('pagination=', 'PETSTORE_PAGINATION=')}{named}"
        )
        unsaid = "the service did not say whether more follow"
        return End("unproven", f"{read}, and {unsaid}{why and f' ({why})'}. {advice}")

    def _contradiction(self, what: str) -> PagingError:
        before = pluralize(self.rows, "animal")
        return PagingError(
            f"the service contradicts itself: page {self.pages:,} {what} ({before} came before)"
        )

    def state(self) -> dict[str, Any] | None:
        """
        Return what another pager needs to go on behind the last page, as plain JSON values.

        None where the listing has ended, or a trial is under way, or where it began anew.
        """
        came = self.received
        if isinstance(self.next, End) or self._trial or self._earlier or not came.last:
            return None
        return {name: getattr(came, name) for name in _KEPT} | {
            "pages": self.pages,
            "turned": self._turned,
            "scheme": self.scheme and self.scheme.name,
            "last": list(came.last),
            "next": self.next.url,
            "overlap": self.next.overlap,
            "at": next(reversed(self._asked)),
        }

    def resume(self, state: Mapping[str, Any], ids: Iterable[int]) -> None:
        """
        Take over what `state` returned, also that of version 0.1, and the ids that came until then.
        """
        state = {name.removeprefix("_"): value for name, value in state.items()}
        for name in _KEPT:
            setattr(self.received, name, state[name])
        self.received.add(ids)
        self.received.last = tuple(state["last"])
        self.pages, self._turned = state["pages"], state["turned"]
        self.scheme = schemes.parse(state["scheme"])
        self._asked = {state["at"]: None}
        self.next = NextPage(state["next"], trial=True, overlap=state["overlap"])
        if self.scheme is None or self.scheme.counts not in (
            "rows",
            "id",
        ):  # those show by themselves
            self._trial = self.next
            self.next = NextPage(state["at"], trial=True)


class Received:
    """
    The animals of one listing since it began, by their ids.

    Attributes:
        ids: The different ids, in the order they came.
        new: Ids of the last page that had not come before.
        last: Ids of the last page that was not empty; `size` is its length.
        repeated: Whether the last page equals the one before.
        signs: Whether the service has said where the next page is, or that there is none.
        full: Length of the longest page: what a service gives that clamps `limit`.
        ragged: Pages that brought something new after a short one: a short page is no end here.
        few: Pages in a row, each after a short one, with next to nothing new.
        empty: Empty pages in a row.
        doubles: Animals that came twice.
        moved: Whether a page began at another animal than it should have.
        may_have_hole: Whether a next request neither held the last animal's id nor repeated that
            animal.
        total: How many animals the service says there are, None where it does not.
    """

    def __init__(self) -> None:
        self.ids: dict[int, None] = {}
        self.new: list[int] = []
        self.last: tuple[int, ...] = ()
        self.size = self.full = self.ragged = self.few = self.empty = self.doubles = 0
        self.signs = self.moved = self.repeated = self.may_have_hole = False
        self.total: int | None = None

    def take(self, response: Response, overlap: int = 0) -> None:
        """Count a page in, whose first animals should repeat the end of the page before."""
        ids = response.ids
        repeats = overlap if overlap and ids[:overlap] == self.last[-overlap:] else 0
        self.moved |= repeats != overlap
        self.add(ids)
        self.repeated = ids == self.last
        self.doubles += 0 if self.repeated else len(ids) - len(self.new) - repeats
        self.full = max(self.full, len(ids))
        after_short = bool(self.new) and 0 < self.size < self.full
        few = after_short and len(self.new) <= max(1, self.full // 10) and len(ids) < self.full
        self.few = self.few + 1 if few else 0
        self.ragged += after_short
        self.empty = 0 if ids else self.empty + 1
        if ids:
            self.last, self.size = ids, len(ids)
        for name in TOTAL_HEADERS:
            if re.fullmatch(r"[0-9]{1,15}", total := response.headers.get(name, "")):
                self.total = int(total)

    def add(self, ids: Iterable[int]) -> None:
        """Keep those ids that have not come before; they are `new`."""
        self.new = [pet_id for pet_id in dict.fromkeys(ids) if pet_id not in self.ids]
        self.ids.update(dict.fromkeys(self.new))

    def done(self, why: str) -> End:
        """End as complete, unless what came shows that the inventory moved meanwhile."""
        if self.doubles or self.moved:
            twice = f"{pluralize(self.doubles, 'animal')} came twice"
            how = twice if self.doubles else "a page began at another animal than expected"
            return End(
                "unproven",
                f"the inventory changed while it was read: {how}, so some may be missing",
            )
        if self.total is not None and self.total > len(self.ids):
            return End(
                "unproven", f"{why}, but the service counts {pluralize(self.total, 'animal')}"
            )
        return End("complete", why)
