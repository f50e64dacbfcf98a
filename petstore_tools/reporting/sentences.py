"""What a report says in sentences, each computed from its tables."""

from datetime import datetime, timedelta

import pandas as pd

from petstore_tools import spec, text
from petstore_tools.listing.frames import UNSET
from petstore_tools.reporting.facts import Alert, Facts
from petstore_tools.reporting.tables import (
    ARRIVED_SOLD,
    CHANGED,
    GONE,
    NEW,
    SOLD,
    count_longer,
)

FEW = 5  # statuses that the headline names
AT_LEAST = "\N{GREATER-THAN OR EQUAL TO} "


def headline(facts: Facts) -> str:
    """Say what happened, or what there is, and what needs someone."""
    return " ".join(filter(None, [message(facts), waiting(facts)]))


def message(facts: Facts) -> str:
    """Say what happened, or what there is."""
    return stock_sentence(facts) if facts.summary is None else change_sentences(facts)


def waiting(facts: Facts) -> str:
    """Say how many animals have been pending for too long, else ""."""
    if facts.ageing is None:
        return ""
    animals = count_longer(facts.ageing, "pending", facts.looks.long)
    return f"{_been('pending', animals, facts.looks.long)}." if animals else ""


def provenance(facts: Facts) -> str:
    """
    Say whether the listing is complete, of what if it is not all of production, as of
    when, and what it is compared with.
    """
    listing = facts.listing
    words = [listing.label]
    if listing.status is not None:
        words.append(f"status {listing.status}")
    if listing.environment != "production":
        words.append(listing.environment)
    words.append(facts.looks.when(listing.as_of))
    if facts.since is not None:
        words.append(f"compared with {day(facts, facts.since.as_of)}")
    return ", ".join(words)


def caution(facts: Facts) -> str:
    """Say what a reader must know of a listing that may lack animals, else ""."""
    listing = facts.listing
    if listing.completeness == "cut":
        return f"Not complete: animals are missing, because {listing.reason}."
    if listing.completeness == "unproven":
        return f"Not proven complete: there may be more animals ({listing.reason})."
    hole = "May have a hole: an animal that was removed while the listing was read"
    hole += " may hide another animal, which then is not counted."
    return hole if listing.may_have_hole else ""


def alerts(facts: Facts) -> tuple[str, ...]:
    """Return a sentence for each alert that is met."""
    sentences = (alert_sentence(facts, alert) for alert in facts.looks.alerts)
    return tuple(filter(None, sentences))


def alert_remarks(facts: Facts) -> tuple[str, ...]:
    """Say which alerts cannot be judged, and why."""
    remarks = (alert_remark(facts, alert) for alert in facts.looks.alerts)
    return tuple(filter(None, remarks))


def period(facts: Facts) -> str:
    """Write how long the compared time is, such as `7 days`; "" without one."""
    if facts.since is None:
        return ""
    length_s = facts.listing.started_at - facts.since.started_at
    units = {"day": spec.DAY_S, "hour": 3_600, "minute": spec.MINUTE_S}
    numbers = {noun: round(length_s / unit_s) for noun, unit_s in units.items()}
    noun = next((noun for noun in numbers if numbers[noun]), "minute")
    return text.pluralize(max(1, numbers[noun]), noun)


def day(facts: Facts, time: datetime, month: str = "%B") -> str:
    """Write a day as short as is clear; with its clock, if it is close to the end."""
    now = facts.listing.as_of
    words = facts.looks.day(time, now, month)
    is_close = (now - time).total_seconds() < 2 * spec.DAY_S
    return f"{words}, {facts.looks.local_time(time):%H:%M}" if is_close else words


def stock_sentence(facts: Facts) -> str:
    """
    Say how many animals there are, and in which status.

    >>> from petstore_tools import status_report
    >>> stock_sentence(status_report(store.list_pets()))
    '250 animals: 129 available, 50 pending, 59 sold, 12 without a status.'
    """
    listing = facts.listing
    animals = text.pluralize(listing.rows, "animal")
    if listing.completeness == "cut":
        animals += " were listed, and others are missing"
    elif listing.completeness == "unproven":
        animals += " were listed, and there may be more"
    elif listing.status is not None:
        return f"{_are(listing.rows)} {listing.status}."
    counts = facts.breakdown["count"]
    counts = counts[counts > 0]
    if counts.empty:
        return f"{animals}."
    few = len(counts) if len(counts) <= FEW + 1 else FEW
    parts = [f"{n:,} {_in_status(str(s))}" for s, n in counts.head(few).items()]
    if few < len(counts):
        left = counts.iloc[few:]
        parts.append(f"{left.sum():,} in {len(left)} other statuses")
    return f"{animals}: {', '.join(parts)}."


def change_sentences(facts: Facts) -> str:
    """Say how the stock changed, and how many animals were sold."""
    assert facts.summary is not None
    sums = dict(facts.summary[["what", "animals"]].itertuples(index=False, name=None))
    now, unseen = sums["animals now"], sums.get("not seen", 0)
    change = now - sums["animals before"]
    stock = f"Stock is unchanged at {now:,}"
    if change:
        way = "grew" if change > 0 else "fell"
        stock = f"Stock {way} by {abs(change):,} to {now:,}"
    moves = [f"{sums[NEW]:,} came", f"{sums[GONE]:,} left"]
    if unseen:
        moves.append(f"{unseen:,} not seen")
    if sums[NEW] or sums[GONE] or unseen:
        stock += f": {', '.join(moves)}"
    ends = []
    if sums[SOLD]:
        ends.append(f"{_were(sums[SOLD])} sold")
    if sums[ARRIVED_SOLD]:
        ends.append(f"{sums[ARRIVED_SOLD]:,} arrived as sold")
    if sums[CHANGED] and not sums[SOLD]:
        ends.append(f"{sums[CHANGED]:,} changed status")
    return " ".join(f"{part}." for part in (stock, ", ".join(ends)) if part)


def alert_sentence(facts: Facts, alert: Alert) -> str:
    """Say that an alert is met, else ""."""
    status, limit = alert.status, alert.limit
    if alert.is_age:
        if facts.ageing is None:
            return ""
        animals = count_longer(facts.ageing, status, limit)
        words = _been(status, animals, limit)
        return f"Alert ({alert.text}): {words}." if animals else ""
    animals = int(facts.breakdown["count"].get(status, 0))
    words = f"{_are(animals)} {_in_status(status)}"
    if alert.sign == ">" and animals > limit:
        return f"Alert ({alert.text}): {words}, more than {limit:,.0f}."
    if alert.sign == "<" and animals < limit:
        return f"Alert ({alert.text}): {words}, fewer than {limit:,.0f}."
    return ""


def alert_remark(facts: Facts, alert: Alert) -> str:
    """Say why an alert cannot be judged, else ""."""
    names = {*facts.breakdown.index, *(() if facts.counts is None else facts.counts)}
    if alert.status not in names:
        return f"no animal has the status {alert.status!r} of the alert {alert.text}"
    if alert.is_age and facts.ageing is None:
        return (
            f"the alert {alert.text} needs two kept listings of all animals: how long"
            " animals have been in a status is not known yet"
        )
    return ""


def age_text(days: float) -> str:
    """
    Write days; less than a day as hours.

    >>> age_text(14.0), age_text(1.5), age_text(0.5)
    ('14 days', '1.5 days', '12 hours')
    """
    number, noun = (days, "day") if days >= 1 else (days * 24, "hour")
    return f"{number:,.4g} {noun}{'s' * (number != 1)}"


def _been(status: str, animals: int, days: float) -> str:
    have = "has" if animals == 1 else "have"
    words = _in_status(status)
    return f"{animals:,} {have} been {words} for more than {age_text(days)}"


def _in_status(status: str) -> str:
    return "without a status" if status == UNSET else status


def _are(animals: int) -> str:
    return f"{text.pluralize(animals, 'animal')} {'is' if animals == 1 else 'are'}"


def _were(animals: int) -> str:
    return f"{animals:,} {'was' if animals == 1 else 'were'}"


def span_text(start: float, end: float, *, is_bound: bool) -> str:
    """
    Write a row of the ageing.

    >>> from math import nan
    >>> span_text(0.0, 3.0, is_bound=False), span_text(3.0, 7.0, is_bound=False)
    ('up to 3 days', 'more than 3, up to 7 days')
    >>> span_text(14.0, nan, is_bound=False), span_text(9.0, nan, is_bound=True)
    ('more than 14 days', 'not known, at least 9 days')
    """
    if is_bound:
        days = int(start)
        return f"not known, at least {age_text(days)}" if days else "not known"
    if pd.isna(end):
        return f"more than {age_text(start)}"
    if not start:
        return f"up to {age_text(end)}"
    return f"more than {start:g}, up to {age_text(end)}"


def signed(number: int) -> str:
    """
    Write a change.

    >>> signed(1200), signed(0)
    ('+1,200', '±0')
    """
    sign = f"{number:+,}" if number else "\N{PLUS-MINUS SIGN}0"
    return sign.replace("-", "\N{MINUS SIGN}")


def percent_more(now: int, before: int) -> str:
    """
    Write how much more there is now, if there was something before.

    >>> percent_more(143, 123), percent_more(5, 0)
    (' (+16%)', '')
    """
    if not before:
        return ""
    return f" ({signed(round(100 * (now - before) / before))}%)"


def category_finding(table: pd.DataFrame, shown: int) -> str:
    """
    Say which category grew most, or else shrank most, if it is only one, and it is in
    the rows that a reader sees.
    """
    changes = table.set_index("category")["change"].iloc[:-1]
    if len(changes) < 2:
        return ""
    for verb, extreme in (("grew", changes.max()), ("shrank", changes.min())):
        names = changes.index[changes == extreme]
        if (extreme > 0) == (verb == "grew") and extreme and len(names) == 1:
            name = f"Category {names[0]}" if names[0].isdecimal() else names[0]
            is_seen = names[0] in changes.index[:shown]
            return f"{name} {verb} most ({signed(extreme)})" if is_seen else ""
    return ""


def breakdown_finding(facts: Facts) -> str:
    """Say how many animals can be bought, if that is certain, else ""."""
    sizes = facts.breakdown["count"]
    if not is_certain(facts) or not sizes["available"]:
        return ""
    return f"{percent(sizes['available'] / sizes.sum())} can be bought"


def ageing_finding(facts: Facts) -> str:
    """Say how many of the pending animals have been pending for too long, else ""."""
    words = waiting(facts).removesuffix(".")
    pending = int(facts.breakdown["count"]["pending"])
    return words.replace(" ", f" of {pending:,} ", 1)


def is_certain(facts: Facts) -> bool:
    """Say whether the listing lacks no animal."""
    return facts.listing.complete and not facts.listing.may_have_hole


def ageing_lead(facts: Facts) -> str:
    """Say how many animals are pending, and what no one can know of their days."""
    pending, counts = facts.pending, facts.counts
    if pending is None or counts is None:
        return ""
    looks, now = facts.looks, facts.listing.as_of
    first = counts.index[0].to_pydatetime()
    animals = text.pluralize(len(pending), "pending animal")
    words = [f"{animals} by the days in this status."]
    unseen = int(pending["since"].isna().sum())
    known_at = first + timedelta(days=looks.long)
    if unseen:
        words.append(
            f"{unseen:,} had been pending before the first kept listing"
            f" ({looks.day(first, now)}): their days are at least those since."
        )
    if unseen and known_at > now:
        age, known_on = age_text(looks.long), looks.day(known_at, now)
        words.append(
            f"How many have been pending for more than {age} can be known from"
            f" {known_on} on."
        )
    return " ".join(words)


def percent(share: float) -> str:
    """
    Write a share; a half is rounded up.

    >>> percent(0.125), percent(0.6399)
    ('13%', '64%')
    """
    return f"{int(100 * share + 0.5 + 1e-9)}%"


def longest(pending: pd.DataFrame) -> str:
    """Say for how long an animal has been pending, if that is a day or more."""
    days = float(pending["days"].max())
    if not days >= 1:  # it is NaN if no animal is pending
        return ""
    bound = AT_LEAST if pending["since"].isna().any() else ""
    return f"; the longest {bound}{age_text(round(days, 1))}"
