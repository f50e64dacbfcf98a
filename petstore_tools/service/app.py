"""
The service as an ASGI application: key, quota, route, headers.

Requests that arrive while a commit is under way are answered together in the next one: one durable commit
for all of them (group commit), and one reading of each key and counter.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from functools import lru_cache
from math import ceil
from typing import Final
from urllib.parse import parse_qsl, urlencode

from petstore_tools import spec
from petstore_tools.clock import Clock
from petstore_tools.plans import Window
from petstore_tools.service import bodies, openapi
from petstore_tools.service.batches import Batches, elapsed
from petstore_tools.service.database import Database, digest_of, subject_of
from petstore_tools.service.engine import LOCKED, SILENT, UnavailableError
from petstore_tools.service.limiter import Usage, Verdict, free_windows, take
from petstore_tools.service.messages import (
    BODY_LONGEST,
    WHOLE,
    Answer,
    Asked,
    Disconnected,
    Receive,
    Scope,
    Send,
    error,
    read_body,
    read_head,
)

DEPRECATED_SINCE: Final = 1_764_547_200  # Unix seconds; a constant of ours, §4.3 states none
HEALTH_PATH: Final = spec.PATH_PREFIX + "/health"
OPENAPI_PATH: Final = spec.PATH_PREFIX + "/openapi.json"
DATABASE_S: Final = 4.0  # others may hold up a commit so long
RETRY_AFTER_S: Final = 5  # told with a 503
LATEST_S: Final = 15.0  # no create is committed longer than this after it was sent
MOST_BYTES, MOST_PAGES = 64 << 20, 10_000  # of pages that are kept
MOST_VERDICTS: Final = 1_000  # last verdicts kept for answers that could not be counted
REPORT_EVERY_S: Final = 10.0  # an outage fails thousands of requests: each kind is logged this often
PATH_LOGGED: Final = 200  # characters of a path in a log
_LIST, _PETS = spec.PATH_PREFIX + spec.PETS_PATH, spec.PATH_PREFIX + spec.PETS_PATH + "/"
_LIMIT, _REMAINING, _RESET = (
    name.lower().encode() for name in (spec.HEADER_LIMIT, spec.HEADER_REMAINING, spec.HEADER_RESET)
)
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_log = logging.getLogger(__name__)
_access = logging.getLogger("petstore_tools.access")


class Service:
    """
    The document over HTTP (§4, §5, §7, §8).

    Args:
        database: Animals, keys, counters.
        clock: Tells the service's time; `Date` headers follow it.
        on_answer: Called with each answer's time, method, path and status.
        without_key: Requests a minute and a day of a caller without a key; default: Free-sized.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        on_answer: Callable[[float, str, str, int], None] = lambda *_: None,
        *,
        without_key: tuple[Window, Window] | None = None,
    ) -> None:
        self._database, self._clock, self._on_answer = database, clock, on_answer
        self._without_key = without_key or free_windows()
        self._batches = Batches(self._answers, self._failed, local=lambda: database.local)
        self._pages: dict[bytes, Answer] = {}  # with a next one: creates come behind them
        self._ends: dict[bytes, Answer] = {}  # without: as they are until the next create
        self._state, self._kept_bytes = [-1, -1], 0
        self._last: dict[str, tuple[float, Verdict]] = {}  # when, and what
        self._failures, self._quiet_until = 0, dict[type[Exception], float]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        asked, answer = read_head(scope), None
        unread = asked.length > 0 and WHOLE not in scope
        if unread and (asked.length > BODY_LONGEST or asked.key not in self._last):
            answer = await self._ask(asked)  # without its body: the key comes first
        if answer is None:
            try:
                if asked.body is None:
                    asked.body, unread = await read_body(receive)
                    asked.length = len(asked.body)
            except Disconnected:
                return
            answer = await self._ask(asked)
        assert answer is not None
        await (answer.send_and_leave(receive, send) if unread else answer.send(send))

    async def _ask(self, asked: Asked) -> Answer | None:
        """
        Have a request answered: at once where the database is not needed, else in the next commit.

        None: its body is needed for that.
        """
        if asked.path == OPENAPI_PATH or (asked.path == HEALTH_PATH and asked.method != "GET"):
            answer, now = self._free(asked), self._clock.now()
            self._tell(asked, self._finish(asked, answer, now, None, None), now, None)
            return answer
        at_once = asked.path == HEALTH_PATH or self._refusal(asked) is not None
        return await self._batches.answer(asked, at_once=at_once)

    def _refusal(self, asked: Asked) -> Answer | None:
        """Return how a request is refused without the database: it has no key, or its window is closed."""
        if not asked.key:
            return _unauthorized()
        at, verdict = self._last.get(asked.key) or (0.0, None)
        if verdict is None or verdict.allowed:
            return None
        left_s = ceil(at + verdict.retry_after_s - self._clock.now())
        return _too_many(verdict.banned, left_s) if 0 < left_s <= verdict.retry_after_s else None

    def _answers(self, batch: Sequence[Asked], here: bool) -> list[Answer | None] | None:
        """
        Answer requests together, or each alone where one of them is at fault.

        `here`: without waiting for other programs; None where they are in the way.
        """
        within_s = 0.0 if here else DATABASE_S
        try:
            return self._together(batch, within_s)
        except UnavailableError as failed:
            if here and failed.reason == LOCKED:
                return None
            return [self._failed(asked, failed) for asked in batch]
        except Exception:
            answers: list[Answer | None] = []
            for asked in batch:
                try:
                    answers += self._together([asked], within_s)
                except UnavailableError as failed:  # by now for all of them
                    return answers + [self._failed(one, failed) for one in batch[len(answers) :]]
                except Exception as failed:
                    answers.append(self._failed(asked, failed))
            return answers

    def _failed(self, asked: Asked, why: Exception) -> Answer:
        """Answer a request that could not be counted."""
        self._report(asked, why)
        now, verdict, refusal = self._clock.now(), None, None
        if asked.path != HEALTH_PATH:
            _, verdict = self._last.get(asked.key) or take(Usage(), *self._without_key, now)
            refusal = self._refusal(asked)
        if refusal is not None:
            failed = refusal
        elif not isinstance(why, UnavailableError):
            failed = error(500, "internal_error", "the service failed; nothing was changed")
        elif why.unknown:
            failed = error(500, "internal_error", "the service failed; whether it was done is not known")
        else:
            told = f"the database {why.reason}; nothing was changed; wait {RETRY_AFTER_S} s and try again"
            failed = error(503, "unavailable", told).add(spec.HEADER_RETRY_AFTER, RETRY_AFTER_S)
        answer = self._finish(asked, failed, now, verdict, None)
        if not asked.answer.done():
            self._tell(asked, answer, now, None)
        return answer

    def _report(self, asked: Asked, why: Exception) -> None:
        """Log a failure with its traceback, unless one of its kind was logged a moment ago."""
        self._failures += 1
        if time.monotonic() < self._quiet_until.get(type(why), 0.0):
            return
        self._quiet_until[type(why)] = time.monotonic() + REPORT_EVERY_S
        path = ascii(asked.path[:PATH_LOGGED])  # a line break in it begins no line of the log
        _log.error(
            "%s %s failed (%d failed since the last such line)",
            asked.method,
            path,
            self._failures,
            exc_info=why,
        )
        self._failures = 0

    def _together(self, batch: Sequence[Asked], within_s: float) -> list[Answer | None]:
        """Count requests and answer them; all that they change is committed together."""
        creates = any(asked.method == "POST" and asked.body is not None for asked in batch)
        digests = {asked.key: digest_of(asked.key) for asked in batch if asked.key}
        answers: list[Answer | None] = []
        try:
            with self._database.transaction(durable=creates, within_s=within_s):
                keys = self._database.find_keys(digests.values())
                callers = [keys.get(digests.get(asked.key, "")) for asked in batch]
                subjects = [
                    f"key {key[0]}" if key else subject_of(asked.address)
                    for asked, key in zip(batch, callers, strict=True)
                ]
                usages = self._database.usages(
                    subject for asked, subject in zip(batch, subjects, strict=True) if not _is_free(asked)
                )
                *state, shared_time = self._database.state()  # now that nobody else counts for them
                now = self._clock.now() if shared_time is None else shared_time
                self._forget_pages(state)
                for asked, key, subject in zip(batch, callers, subjects, strict=True):
                    if _is_free(asked):
                        self._database.try_writing()
                        answers.append(self._finish(asked, self._free(asked), now, None, None))
                        continue
                    windows = key[1:] if key else self._without_key
                    usage, verdict = take(usages[subject], *windows, now)
                    answer = self._judge(asked, verdict, now, known=key is not None)
                    if answer is None:  # it comes again with its body, and counts then
                        answers.append(None)
                        continue
                    usages[subject] = usage
                    answers.append(self._finish(asked, answer, now, verdict, key and key[0]))
                self._database.save(usages, now)
                if creates and elapsed() - min(asked.since for asked in batch) > LATEST_S:
                    raise UnavailableError(SILENT)  # their callers have gone, and may look for them soon
        except Exception as failed:
            self._state = [-1, -1]  # pages may hold what was not committed
            if not isinstance(failed, UnavailableError) or not failed.unknown:
                raise
            known = UnavailableError(failed.reason)
            return [
                self._failed(asked, failed if answer is not None and answer.status == 201 else known)
                for asked, answer in zip(batch, answers, strict=True)
            ]
        for asked, answer, key in zip(batch, answers, callers, strict=True):
            if answer is not None and not asked.answer.done():  # done: it did not wait so long
                self._tell(asked, answer, now, key and key[0])
        return answers

    def _tell(self, asked: Asked, answer: Answer, now: float, key_id: str | None) -> None:
        """Write down an answer: after the commit, since until then another may take its place."""
        self._on_answer(now, asked.method, asked.path, answer.status)
        if _access.isEnabledFor(logging.INFO):
            told = {"at": round(now, 3), "method": asked.method, "path": asked.path[:PATH_LOGGED]}
            told |= {"status": answer.status, "bytes": len(answer.body), "key": key_id, "from": asked.address}
            _access.info(json.dumps(told))

    def _forget_pages(self, state: list[int]) -> None:
        """Drop the bytes of pages that are no longer so."""
        too_many = self._kept_bytes > MOST_BYTES or len(self._pages) + len(self._ends) > MOST_PAGES
        if state[0] != self._state[0] or too_many:
            self._pages.clear()
            self._kept_bytes = 0
        if state != self._state or too_many:
            self._ends.clear()
        self._state = state

    def _finish(
        self, asked: Asked, answer: Answer, now: float, verdict: Verdict | None, key_id: str | None
    ) -> Answer:
        """Add what every answer carries."""
        answer.headers.append((b"date", _date(int(now))))
        if verdict is not None:
            answer.headers += (
                (_LIMIT, b"%d" % verdict.limit),
                (_REMAINING, b"%d" % verdict.remaining),
                (_RESET, b"%d" % verdict.reset),
            )
            if asked.key and key_id:
                if len(self._last) >= MOST_VERDICTS:
                    self._last.clear()
                self._last[asked.key] = now, verdict
        return answer

    def _free(self, asked: Asked) -> Answer:
        """Answer what is not in the document, costs nothing and needs no key."""
        if asked.method != "GET":
            return _wrong_method("GET")
        if asked.path == HEALTH_PATH:
            return Answer(200, bodies.dump({"status": "ok", "database": "ok"}))
        return Answer(200, openapi.document())

    def _judge(self, asked: Asked, verdict: Verdict, now: float, *, known: bool) -> Answer | None:
        """Answer a request that was counted; None: its body has to be read for that."""
        if not verdict.allowed:
            return _too_many(verdict.banned, verdict.retry_after_s)
        if not known:
            return _unauthorized()
        if asked.length > BODY_LONGEST:
            return error(413, "body_too_large", f"a body has at most {BODY_LONGEST:,} bytes")
        if asked.body is None:
            return None
        try:
            return self._route(asked, now)
        except bodies.InvalidError as invalid:
            return error(400, invalid.code, str(invalid))

    def _route(self, asked: Asked, now: float) -> Answer:
        path = asked.path
        if path == _LIST:
            if asked.method == "GET":
                return self._list(asked)
            return self._create(asked) if asked.method == "POST" else _wrong_method("GET, POST")
        if path.startswith(_PETS) and "/" not in path.removeprefix(_PETS) and path != _PETS:
            return self._get(asked, now) if asked.method == "GET" else _wrong_method("GET")
        if path == spec.PATH_PREFIX + spec.ORDERS_PATH:
            return error(501, "not_implemented", "store orders are not shown in the document")
        if not path.startswith(spec.PATH_PREFIX + "/"):
            return error(404, "not_found", f"all paths begin with {spec.PATH_PREFIX}")
        return error(404, "not_found", "there is no such path")

    def _list(self, asked: Asked) -> Answer:
        if (known := self._pages.get(asked.query) or self._ends.get(asked.query)) is not None:
            return Answer(200, known.body, known.headers.copy())
        query = dict(parse_qsl(asked.query.decode("latin-1"), keep_blank_values=True))
        limit = bodies.read_limit(query.get("limit"))
        status = bodies.read_status(query.get("status"))
        after = bodies.read_cursor(query.get("cursor"), status)
        pets = self._database.page(after=after, limit=limit + 1, status=status)
        page = pets[:limit]
        first = {"limit": limit} | ({} if status is None else {"status": status})
        links = [f'<?{urlencode(first)}>; rel="first"']
        answer, kept = Answer(200, bodies.pets_json(page)), self._ends
        if len(pets) > len(page):
            onward = first | {"cursor": bodies.write_cursor(page[-1][0], status)}
            links.append(f'<?{urlencode(onward)}>; rel="next"')
            kept = self._pages
        answer.add("Link", ", ".join(links))
        self._kept_bytes += len(answer.body) + len(asked.query)
        kept[asked.query] = Answer(200, answer.body, answer.headers.copy())
        return answer

    def _create(self, asked: Asked) -> Answer:
        pet = bodies.read_new_pet(asked.body or b"", asked.content_type)
        (pet_id,) = self._database.add([pet])
        self._ends.clear()
        return Answer(201, bodies.pet_json((pet_id, *pet)))

    def _get(self, asked: Asked, now: float) -> Answer:
        text = asked.path.removeprefix(_PETS)
        number = int(text) if _WHOLE.fullmatch(text) else None
        pet = None
        if now >= spec.REMOVAL_OF_GET_PET_AT:
            answer = error(410, "gone", "removed; use GET /pets with the status filter")
        else:
            if number is not None and spec.INT64_MIN <= number <= spec.INT64_MAX:
                pet = self._database.pet(number)
            if pet is None:
                answer = error(404, "not_found", "there is no such animal")
            else:
                answer = Answer(200, bodies.pet_json(pet))
        answer.add("Deprecation", f"@{DEPRECATED_SINCE}")
        answer.add("Sunset", formatdate(spec.REMOVAL_OF_GET_PET_AT, usegmt=True))
        return answer.add("Link", '<../pets>; rel="successor-version"')


def _too_many(banned: bool, wait_s: int) -> Answer:
    code, what = ("key_banned", "this key is banned") if banned else ("rate_limited", "too many requests")
    return error(429, code, f"{what}; wait {wait_s} s").add(spec.HEADER_RETRY_AFTER, wait_s)


def _unauthorized() -> Answer:
    refused = error(401, "unauthorized", "the API key is missing or invalid")
    return refused.add("WWW-Authenticate", "Bearer")


@lru_cache(maxsize=2)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


def _wrong_method(allowed: str) -> Answer:
    return error(405, "method_not_allowed", f"use {allowed}").add("Allow", allowed)


def _is_free(asked: Asked) -> bool:
    return asked.path in (HEALTH_PATH, OPENAPI_PATH)
