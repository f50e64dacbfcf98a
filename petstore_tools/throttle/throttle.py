"""
Pure: the throttle, which decides whether a request may go now.

It is asked (`ask`), is given what came back (`record_reply`, `record_loss`,
`cancel_grant`), and keeps what it knows in a `Budget`, which a ledger shares between
threads, processes and restarts. Why it causes no 429:

- *Own count.* A request counts from its grant until a whole period after the last
  moment at which it may have arrived (`WindowBudget`), or to the end of the window that
  a passed Reset opened. So every window holds at most the plan, whatever Remaining
  says.
- *Remaining.* An answer that says `Remaining: R` allows R requests after the moment it
  was made. What was answered later is in a smaller R of the same window, or is taken
  off (`unreported_grant`); so is what is in flight. Within one window R only lowers.
- *Probe.* When a window's Reset has passed, nothing is known: one request goes, the
  others wait for it, for a few seconds; then another one goes. For a probe only what
  was sent since that Reset counts, since the window may have begun anew there
  (`Beginning`). Where one is known to slide, that holds for the first probe alone,
  since one request ended for sure.
- *Block.* After a 429, or a 503 with a Retry-After, nothing goes before the time it
  named, after a second 429 in a row for twice as long; then one probe.

Other programs on the same key show in R; between two answers they can take what R
promised. Spec: §8.2 to §8.4; the gaps there (window, unit, ban) are read as the
service's README says.

A minute of three requests, from the first one until it is seen to slide:

>>> throttle = Throttle(Budget(), Plan(per_minute=3))
>>> minute = throttle.budget.windows["minute"]
>>> throttle.ask(600)  # nothing is known: a probe
Go(token=1, probe=True)
>>> throttle.ask(600).reason
'a first request was sent, and its answer shows what is left'
>>> throttle.record_reply(Go(1, probe=True), 600, RateReply(200, 3, 2, reset=660))
>>> throttle.ask(640), throttle.ask(640)
(Go(token=2, probe=False), Go(token=3, probe=False))
>>> throttle.record_reply(Go(2), 640, RateReply(200, 3, 1, reset=660))
>>> throttle.record_reply(Go(3), 640, RateReply(200, 3, 0, reset=660))
>>> throttle.ask(640)  # until the Reset, which was rounded down
Wait(until=661.0, reason='all 3 requests of this minute are used', ask_at=inf,
     banned=False)
>>> throttle.ask(661)  # did all of them end at the Reset? a probe finds out
Go(token=4, probe=True)
>>> minute.beginning
Beginning(state='possible', reset_at=660.0, requests_before=3)
>>> throttle.record_reply(Go(4, probe=True), 661, RateReply(200, 3, 2, reset=720))
>>> minute.beginning.state, throttle.window_quota("minute", 661).left  # they did
('proven', 2)
>>> throttle.ask(721)
Go(token=5, probe=True)
>>> throttle.record_reply(Go(5, probe=True), 721, RateReply(200, 3, 1, reset=740))
>>> minute.slides  # that Reset is only 20 s later
True
>>> minute.beginning.state, throttle.window_quota("minute", 721).left
('unknown', 1)
"""

from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from operator import attrgetter, itemgetter

from petstore_tools import spec
from petstore_tools.plans import DOCUMENTED, PERIODS, Plan, WindowName
from petstore_tools.throttle.budget import (
    GUARD_S,
    LONGEST_LEASE_S,
    PROBE_LEASE_S,
    Beginning,
    Budget,
    Reading,
    WindowBudget,
    WindowQuota,
)
from petstore_tools.throttle.rate_headers import RateReply

# how much of the longest wait for an answer is remembered at each answer
SLOWEST_DECAY = 0.9
# an answer that is not whole by then: nobody reads it any more
LOST_AFTER_S = 120.0
POLL_S = 0.05  # how soon to ask again for a probe's answer, at first
POLL_GROWTH = 0.25  # then by how much of its age
BLOCK_MARGIN_S = 0.5
BACKOFF_BASE_S = 5.0  # after a 429 that names no usable time
BACKOFF_LONGEST_S = 900.0
PLAN_ADVICE = (
    "another program uses this key, or its plan is smaller: share a budget database"
    ' (PETSTORE_LEDGER_URL), or name your part, such as plan="30/500"'
    " (PETSTORE_PLAN=30/500, in staging PETSTORE_STAGING_PLAN=30/500)"
)


@dataclass(frozen=True)
class Go:
    """
    Send now, and report what came back under `token`; a probe's answer is what others
    wait for.
    """

    token: int
    probe: bool = False


@dataclass(frozen=True)
class Wait:
    """
    Wait until `until` (client's Unix seconds) at most; `reason` is for people.

    An answer may end it before: ask again when one came in, or at `ask_at` at the
    latest. Where the key is banned, do not ask before it.
    """

    until: float
    reason: str
    ask_at: float = inf
    banned: bool = False


@dataclass
class Throttle:
    """
    The rules over one budget, which they change in place.

    Attributes:
        budget: What is stored, and shared.
        named_plan: That of the program that asks, a ceiling; None to learn it.
    """

    budget: Budget
    named_plan: Plan | None = None

    @property
    def plan(self) -> Plan:
        """The plan in force: named, learnt, else the smallest documented."""
        return self.named_plan or self.budget.learned_plan or DOCUMENTED["free"]

    def ask(self, now: float, *, bulk: bool = False) -> Go | Wait:
        """Say whether a request may go at `now`; one that may is counted at once."""
        budget = self.budget
        self.advance_to(now)
        if now < budget.blocked_until:
            return Wait(budget.blocked_until, budget.reason, banned=budget.banned)
        if budget.needs_probe:
            reason = "a first request was sent, and its answer shows what is left"
            if wait := self._wait_for_reply(budget.probe_at, now, reason):
                return wait
        waits = [self._wait_for_window(name, now, bulk=bulk) for name in PERIODS]
        if any(waits):
            return max(filter(None, waits), key=attrgetter("until"))
        budget.grants += 1
        if budget.needs_probe:
            budget.probe_at = now
        budget.in_flight[budget.grants] = now
        return Go(budget.grants, budget.needs_probe)

    def cancel_grant(self, go: Go) -> None:
        """Take a grant back: it is proven that no byte left."""
        self.budget.in_flight.pop(go.token, None)
        if go.probe:
            self.budget.probe_at = 0.0

    def record_loss(self, token: int, now: float) -> None:
        """Note that no answer came: the request may have been counted."""
        if self.budget.in_flight.pop(token, None) is not None:
            self._count_request(now)

    def record_reply(self, go: Go, now: float, reply: RateReply) -> None:
        """Update the budget by a reply: skew, headers, count, probe, block, backoff."""
        budget = self.budget
        if reply.status == HTTPStatus.UNAUTHORIZED:  # its headers are not this key's
            self.record_loss(go.token, now)
            budget.probe_at = 0.0
            return
        # a late reply: the request was given up and counted already
        is_late = go.token not in budget.in_flight
        sent_at = budget.in_flight.pop(go.token, now)
        self.advance_to(now)
        took_s = now - sent_at
        budget.slowest_s = max(SLOWEST_DECAY * budget.slowest_s, took_s)
        if not is_late:  # the send time of a late reply is forgotten
            budget.learn_skew(reply.date, sent_at=sent_at, now=now)
        reported = self._read_headers(go.token, reply, now, slow_s=took_s)
        refused = reply.status == HTTPStatus.TOO_MANY_REQUESTS
        if not is_late:
            self._count_request(now, reported, refused=refused)
        if go.probe:
            budget.probe_at = 0.0
            budget.needs_probe = False
            for window in budget.windows.values():
                # what its answer did not prove stays unknown
                if window.beginning.state != "proven":
                    window.beginning = Beginning()
        if (
            not reported
            and reply.limit
            and reply.remaining in range(len(budget.in_flight) + 1)
        ):
            reason = "the service says that nothing is left, and not until when"
            self._block_until(now + spec.MINUTE_S, reason)
        if refused:
            self._block_after_refusal(reply, sent_at, now)
        elif (
            reply.status == HTTPStatus.SERVICE_UNAVAILABLE
            and reply.retry_after_s is not None
        ):
            self._block_until(
                now + reply.retry_after_s, "the service asked for a pause (503)"
            )
        elif sent_at > budget.refused_at and not is_late:
            budget.consecutive_429s = 0

    def window_quota(self, name: WindowName, now: float) -> WindowQuota:
        """
        Say what a window has left at `now`, without asking for it; below 0 where more
        was sent than the service allows.
        """
        budget = self.budget
        window = budget.windows[name]
        plan_limit = self.plan.limit(name)
        sources = []
        if (reading := window.reading) is not None:
            limit = min(reading.limit, plan_limit or reading.limit)
            ends_at = budget.client_time(reading.reset) + GUARD_S
            sources.append((reading.remaining, limit, ends_at, True))
        if plan_limit is not None:
            used, frees_at = window.count_used(now, budget.probe_at)
            sources.append((plan_limit - used, plan_limit, frees_at, False))
        if not sources:
            return WindowQuota(name)
        left, limit, frees_at, by_headers = min(sources, key=itemgetter(0))
        left -= len(budget.in_flight)
        more_at = frees_at if frees_at > now else None
        return WindowQuota(name, limit, left, more_at, by_headers)

    def _wait_for_window(
        self, name: WindowName, now: float, *, bulk: bool
    ) -> Wait | None:
        """Return why a window holds a request back, if it does."""
        quota = self.window_quota(name, now)
        reserve = quota.reserve if bulk else 0
        if quota.left is None or quota.left > reserve:
            return None
        # Remaining may have counted these already
        if quota.left + len(self.budget.in_flight) > reserve:
            reason = (
                f"the last requests of this {name} were sent, and not all are answered"
            )
            last_sent_at = max(self.budget.in_flight.values())
            if wait := self._wait_for_reply(last_sent_at, now, reason):
                return wait
        # where all are in flight, none frees before a whole period
        frees_at = quota.frees_at or now + PERIODS[name]
        reading = self.budget.windows[name].reading
        limit = reading.limit if reading and quota.by_headers else quota.limit
        reason = f"all {limit:,} requests of this {name} are used"
        if limit == 1:
            reason = f"the one request of this {name} is used"
        if quota.left > 0:
            verb = "is" if reserve == 1 else "are"
            reason = (
                f"the last {reserve:,} of the {quota.limit:,} requests of this {name}"
                f" {verb} left for other work than imports"
            )
        return Wait(max(now + POLL_S, frees_at), reason)

    def _wait_for_reply(self, sent_at: float, now: float, reason: str) -> Wait | None:
        """
        Return a wait for an answer, None where it took so long that it may be lost.
        """
        until = sent_at + min(
            max(PROBE_LEASE_S, 3 * self.budget.slowest_s), LONGEST_LEASE_S
        )
        ask_at = now + max(POLL_S, POLL_GROWTH * (now - sent_at))
        return Wait(until, reason, ask_at) if now < until else None

    def advance_to(self, now: float) -> None:
        """
        Apply the passing of time: requests of dead processes are spent, old counts and
        readings end.
        """
        budget = self.budget
        for token, sent_at in list(budget.in_flight.items()):
            if now - sent_at >= LOST_AFTER_S:
                self.record_loss(token, now)
        service_now = budget.service_time(now)
        for name, window in budget.windows.items():
            window.drop_old_counts(now)
            is_utc_day = budget.has_utc_days and name == "day"
            if (reading := window.reading) is not None:
                ahead_s = reading.reset - service_now
                if not -GUARD_S < ahead_s <= window.period_s + 3 * GUARD_S:
                    window.reading = None
                    budget.needs_probe = True
                    if ahead_s <= 0:
                        self._begin_window(
                            window,
                            budget.client_time(reading.reset),
                            proven=is_utc_day,
                        )
            if is_utc_day and window.beginning.state == "proven":
                begins_at = service_now - service_now % spec.DAY_S
                self._begin_window(window, budget.client_time(begins_at), proven=True)

    def _begin_window(
        self, window: WindowBudget, reset_at: float, *, proven: bool = False
    ) -> None:
        """
        Note that the service's window begins anew, for sure or perhaps: never twice in
        a period.
        """
        budget = self.budget
        if reset_at < window.beginning.reset_at + window.period_s - GUARD_S:
            return
        earliest = reset_at - GUARD_S - budget.slowest_s
        recent = budget.windows["minute"].count_since(earliest) + len(budget.in_flight)
        window.beginning = Beginning(
            "proven" if proven else "possible", reset_at, window.requests - recent
        )

    def _count_request(
        self, now: float, reported: WindowName | None = None, *, refused: bool = False
    ) -> None:
        """Count one request; a refused one costs the day nothing (our choice, §7)."""
        for name, window in self.budget.windows.items():
            if not refused or name == "minute":
                window.count_request(now)
                if name != reported:
                    window.unreported_grant = self.budget.grants
                    if window.reading is not None:
                        window.reading.remaining -= 1

    def _read_headers(
        self, grant: int, reply: RateReply, now: float, *, slow_s: float
    ) -> WindowName | None:
        """Take in the rate headers of an answer; return the window they reported on."""
        budget = self.budget
        limit, remaining, reset = reply.limit, reply.remaining, reply.reset
        if not limit or remaining is None or reset is None:  # a limit of 0 is no plan
            return None
        ahead_s = reset - budget.service_time(now)
        # past when it was sent, or in milliseconds, or years ahead
        if not -slow_s < ahead_s + 2 * GUARD_S <= spec.DAY_S + 4 * GUARD_S:
            return None
        # a minute's is never further ahead
        is_short = ahead_s <= spec.MINUTE_S + 2 * GUARD_S
        policy_name = reply.policy_window
        if policy_name == "minute" and not is_short:
            policy_name = None
        ends_day = reset % spec.DAY_S == 0
        if self.named_plan is None:
            budget.learn_plan(
                limit, now, policy_name, is_short=is_short, ends_day=ends_day
            )
        name = policy_name
        if name is None:
            # where it may be either, the minute is the safe reading: what is left of
            # the day is never too much for the minute
            plan = self.plan
            is_day = not is_short or limit == plan.per_day != plan.per_minute
            name = "day" if is_day else "minute"
        window = budget.windows[name]
        reading = Reading(limit, min(limit, remaining), reset)
        window.record_reading(reading, grant=grant, now=now)
        if name == "day":
            budget.learn_day(reset)
        return name

    def _block_after_refusal(
        self, reply: RateReply, sent_at: float, now: float
    ) -> None:
        """Block all requests after a 429 (§8.4)."""
        budget = self.budget
        requested_s = reply.retry_after_s
        if requested_s is None and reply.reset is not None:
            ahead_s = reply.reset - budget.service_time(now)
            if 0 < ahead_s <= spec.DAY_S:
                requested_s = ahead_s + GUARD_S
        if sent_at > budget.refused_at:  # those in flight together are one refusal
            budget.consecutive_429s += 1
            budget.refused_at = now
        wait_s = BACKOFF_BASE_S if requested_s is None else requested_s
        longer_s = max(wait_s, 1.0) * (2 ** min(budget.consecutive_429s - 1, 10) - 1)
        until = now + wait_s + min(longer_s, BACKOFF_LONGEST_S)
        if requested_s is not None:
            for window in budget.windows.values():
                self._begin_window(window, until)
        reason = f"the service answered 429 (too many requests); {PLAN_ADVICE}"
        if reply.banned:
            reason = "the service has banned this key (429)"
        self._block_until(until, reason, banned=reply.banned)

    def _block_until(self, until: float, reason: str, *, banned: bool = False) -> None:
        """Let nothing go before a time, and then one probe."""
        budget = self.budget
        budget.needs_probe = True
        if until + BLOCK_MARGIN_S > budget.blocked_until:
            budget.blocked_until = until + BLOCK_MARGIN_S
            budget.reason = reason
            budget.banned = banned
