"""The numbers of a report that are asked for first, with their small lines."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from petstore_tools.reporting.chart import LineChart, spark
from petstore_tools.reporting.facts import Facts
from petstore_tools.reporting.sentences import (
    age_text,
    longest,
    percent,
    percent_more,
    period,
    signed,
)
from petstore_tools.reporting.tables import (
    ARRIVED_SOLD,
    CHANGED,
    GONE,
    NEW,
    SOLD,
    count_longer,
)

Colours = Mapping[str, str]


class Tile(NamedTuple):
    """
    A number that is asked for first.

    Attributes:
        details: Its change, the same number of the period before, and what else.
        is_urgent: Whether it needs someone.
        line: A small line of the kept listings, and its colour.
    """

    value: str
    label: str
    details: list[str]
    is_urgent: bool = False
    line: LineChart | None = None
    colour: str = "currentColor"


def report_tiles(report: Facts, colours: Colours) -> list[Tile]:
    """
    Return at most four tiles: what there is now, what was sold, what is new and gone,
    and how many animals have been pending for too long. Without an older listing, the
    statuses that most animals have are in the place of the two in the middle.
    """
    if report.summary is None:
        tiles = stock_tiles(report)
    else:
        sums = report.summary.set_index("what")
        tiles = [stock_tile(report, sums)]
        tiles += [make(report, sums, colours) for make in (sold_tile, move_tile)]
    return [*tiles, *waiting_tiles(report, colours)]


def stock_tiles(report: Facts) -> list[Tile]:
    """Return what there is now, and the statuses that most animals have."""
    rows = report.listing.rows
    tiles = [Tile(f"{rows:,}", "animals now", [])]
    sizes = report.breakdown["count"].drop("pending")
    for status, count in sizes[sizes > 0].nlargest(2).items():
        share = f"{percent(count / rows)} of all"
        tiles.append(Tile(f"{count:,}", str(status), [share]))
    return tiles


def stock_tile(report: Facts, sums: pd.DataFrame) -> Tile:
    """Return how many animals there are, and how many more or less than before."""
    assert report.counts is not None
    changes = {
        str(name): int(numbers["animals now"] - numbers["animals before"])
        for name, numbers in sums.items()
    }
    details = [f"{signed(changes['animals'])} in {period(report)}"]
    if "period_before" in sums:
        details.append(f"{signed(changes['period_before'])} in the {before(report)}")
    line = spark(report, report.counts.sum(axis="columns"))
    return Tile(
        f"{sums['animals']['animals now']:,}", "animals now", details, line=line
    )


def sold_tile(report: Facts, sums: pd.DataFrame, colours: Colours) -> Tile:
    """Return how many became sold; if none did, how many changed their status."""
    now = sums["animals"]
    label = CHANGED if now[CHANGED] and not now[SOLD] else SOLD
    details = []
    if "period_before" in sums:
        earlier = sums["period_before"][label]
        more = percent_more(now[label], earlier)
        details.append(f"{earlier:,} in the {before(report)}{more}")
    if now[ARRIVED_SOLD]:
        details.append(f"{now[ARRIVED_SOLD]:,} arrived as sold")
    tile = Tile(f"{now[label]:,}", label, details)
    return with_line(tile, report, "sold", colours) if label == SOLD else tile


def move_tile(report: Facts, sums: pd.DataFrame, colours: Colours) -> Tile:
    """Return how many animals are new, and how many are gone."""
    now = sums["animals"]
    details = [f"{now[GONE]:,} gone"]
    if "period_before" in sums:
        earlier = sums["period_before"]
        moves = f"{earlier[NEW]:,} new and {earlier[GONE]:,} gone"
        details.append(f"{moves} in the {before(report)}")
    tile = Tile(f"{now[NEW]:,}", NEW, details)
    return with_line(tile, report, "available", colours)


def waiting_tiles(report: Facts, colours: Colours) -> list[Tile]:
    """Return how many animals have been pending for too long, if any are or were."""
    if "pending" not in colours:
        return []
    pending = int(report.breakdown["count"].get("pending", 0))
    if report.ageing is None or report.counts is None or report.pending is None:
        return [Tile(f"{pending:,}", "pending", ["for how long is not known yet"])]
    animals = count_longer(report.ageing, "pending", report.looks.long)
    label = f"pending over {age_text(report.looks.long)}"
    details = [f"of {pending:,} pending{longest(report.pending)}"]
    line = spark(report, report.counts["pending"])
    colour = colours["pending"]
    return [Tile(f"{animals:,}", label, details, animals > 0, line, colour)]


def with_line(tile: Tile, report: Facts, status: str, colours: Colours) -> Tile:
    """Give a tile the line of a status, and say where the line ends."""
    counts = report.counts
    line = None
    if counts is not None and status in colours:
        line = spark(report, counts[status])
    if line is None or counts is None:
        return tile
    details = [*tile.details, f"{counts[status].iloc[-1]:,} {status} now"]
    return tile._replace(details=details, line=line, colour=colours[status])


def before(report: Facts) -> str:
    """Name the period before, such as `7 days before`."""
    return f"{period(report)} before"
