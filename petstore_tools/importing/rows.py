"""
The rows of a sheet below its header: each to send, with problems, or left out; and
what fixes the problems.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from petstore_tools import spec
from petstore_tools.importing.entries import Entry, group
from petstore_tools.importing.layout import Layout
from petstore_tools.importing.values import (
    ABOUT_TABLE,
    ALONE,
    COMPUTED,
    FIELDS,
    HEADER_AGAIN,
    HIDDEN,
    ID_TITLE,
    LEFT_OUT,
    NO_CATEGORY,
    NO_FIELDS,
    NO_ID,
    NO_STATUS,
    NOTE_TITLE,
    TOTALS_ROW,
    PetValues,
    RowLeftOut,
    RowProblem,
    cell_kind,
    is_note,
    is_total,
)
from petstore_tools.tabular.cells import (
    FrameRow,
    MalformedLine,
    Problem,
    are_blank,
    column_letter,
    is_blank,
    references,
)
from petstore_tools.text import clean, first_of, pluralize, quoted

# the attribute of a row that is its own, and what is wrong where another row has it
_REPETITIONS = {
    "row_key": (
        "row_key",
        Problem(
            "is the key of several rows",
            "give each row a key of its own, or delete the row that repeats another",
        ),
    ),
    "petstore_id": (
        "pet_id",
        Problem(
            "is the id of several rows", "delete it in the rows that are other animals"
        ),
    ),
}
_FEW = 3  # rows that a line shows, and values of theirs
# what a title begins with: no number does
_TITLE = re.compile(r"\s*[^\W\d_]")
_EXCERPT = 60  # characters of a formula, or of a line, that are shown
_HELP_OF_NOTES = "complete the row, or delete it"
_HELP_OF_BLOCKS = (
    "if the category goes on, fill the cells; delete a row that is no animal"
)
# kinds of rows that end a table: what follows may be another one
_ENDS = (ABOUT_TABLE, COMPUTED, TOTALS_ROW)
_TITLES = Problem(
    "looks like the titles of another table",
    "delete it with the rows below it, or correct it if it is an animal",
)
_NO_STATUS_HERE = Problem(
    "is empty, each row above has a status, and the row may be a line about the table",
    "if it is an animal, give it a status; else delete it",
)
_NOTHING = PetValues("", None, None)  # type: ignore[arg-type]
AnyRow = Entry | RowLeftOut | None


def records_below(layout: Layout) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the rows below the header, without the notes of a returned list."""
    column = layout.columns.get(NOTE_TITLE, -1)
    for number, cells in layout.sheet.records():
        if number > layout.header_row:
            if 0 <= column < len(cells) and not isinstance(cells, MalformedLine):
                cells = [*cells]
                cells[column] = ""
            yield number, cells


def read_rows(layout: Layout) -> list[AnyRow]:
    """
    Return each row below the header: one to send, one with all its problems, one that
    is left out, or None where every cell is empty.
    """
    rows = [*_decide_rows(layout)]
    if "categoryId" in layout.columns:
        _mark_blocks(rows, layout)
    _mark_other_tables(rows, layout)
    if "status" in layout.columns:
        _mark_lines_without_status(rows, layout)
    return rows


def _decide_rows(layout: Layout) -> Iterator[AnyRow]:
    """
    Yield each row by itself.

    Where a row is short, what has no column or may be empty counts as empty. In a text,
    a row of another width may have lost a sign.
    """
    columns = layout.columns
    sheet = layout.sheet
    width = len(layout.header)
    header = _folded(layout.header)
    if NOTE_TITLE in columns:
        header[columns[NOTE_TITLE]] = ""
    has_ids = "categoryId" in columns
    computed_rows = _find_computed(layout)
    last_number = layout.header_row
    # no row may lack it
    last = max(columns.get(name, -1) for name in spec.REQUIRED)
    # of a field without a column, the cell behind the last one
    pick_fields = itemgetter(*(columns.get(name, width) for name in FIELDS))
    for number, cells in records_below(layout):
        whole = (*cells[:width], *[""] * (width - len(cells)))
        fields = pick_fields((*whole, ""))
        beyond = cells if len(cells) <= last else cells[width:]
        problem = None
        if isinstance(cells, MalformedLine):
            problem = cells.problem
        elif beyond and not (sheet.name or are_blank(beyond)):
            rule = f"has {pluralize(len(cells), 'cell')} where the header has {width}"
            problem = Problem(rule, "check for a missing quote or comma")
        if problem:
            line = Entry(number, _NOTHING, tuple(cells))
            yield add_problem(line, "", problem, layout)
        elif number in sheet.hidden:
            yield RowLeftOut(number, HIDDEN)
        elif are_blank(fields):
            yield None if are_blank(cells) else RowLeftOut(number, NO_FIELDS)
        elif sheet.totals and _is_in(sheet.totals, number, columns.values()):
            yield RowLeftOut(number, TOTALS_ROW)
        elif number in computed_rows:
            yield RowLeftOut(number, COMPUTED, computed_rows[number])
        else:
            is_apart = number - last_number > 1
            row = _decide(number, whole, fields, layout, is_apart=is_apart)
            # titles are no ids
            is_whole = isinstance(row, Entry) and not row.problems and has_ids
            if not is_whole and _folded(whole) == header:
                row = RowLeftOut(number, HEADER_AGAIN)
            yield row
        if not are_blank(cells):
            last_number = number


def _is_in(
    cells: Collection[tuple[int, int]], number: int, columns: Iterable[int]
) -> bool:
    """Say whether a row has one of some cells in a column."""
    return any((number, column) in cells for column in columns)


def _folded(cells: Iterable[str]) -> list[str]:
    """Return cells as they are compared with the titles."""
    return [clean(cell).casefold() for cell in cells]


def _find_computed(layout: Layout) -> dict[int, str]:
    """
    Return the rows that are computed from other rows, each with the cell and the
    formula that show it: a read cell refers to two or more other rows of read columns,
    and most rows of its column hold no such formula.
    """
    columns: dict[int, dict[int, int]] = defaultdict(dict)
    for (number, column), formula in layout.sheet.formulas.items():
        if column in layout.columns.values():
            columns[column][number] = _count_rows(formula, number, layout)
    computed: dict[int, str] = {}
    for column, counts in columns.items():
        records = records_below(layout)
        filled = sum(not are_blank(cells[column : column + 1]) for _, cells in records)
        is_running = 2 * sum(map(bool, counts.values())) > filled
        for number, count in counts.items():
            if count > 1 and not is_running:
                formula = layout.sheet.formulas[number, column][:_EXCERPT]
                detail = f"{_place(number, column)}: {formula}"
                computed.setdefault(number, detail)
    return computed


def _count_rows(formula: str, number: int, layout: Layout) -> int:
    """Return to how many other rows of read columns a formula refers, at most 2."""
    others: set[int] = set()
    for area in references(formula, layout.sheet):
        if any(area.left <= n <= area.right for n in layout.columns.values()):
            rows = range(max(area.top, layout.header_row), area.bottom + 1)
            others.update(rows[:3])  # one of them may be its own
    return min(2, len(others - {number}))


def _decide(
    number: int,
    cells: tuple[str, ...],
    fields: Sequence[str],
    layout: Layout,
    *,
    is_apart: bool,
) -> Entry | RowLeftOut:
    """Decide each cell of a row that is not empty."""
    values: list[Any] = [*map(layout.matcher.decide, FIELDS, fields)]
    row = Entry(number, PetValues(*values), cells)
    kinds = [*map(type, values)]
    if kinds == [str, int, str] and all(fields):  # most rows are
        return row
    if remark := _remark(row, fields):
        return RowLeftOut(number, ABOUT_TABLE, quoted(remark, _EXCERPT))
    may_be_title = is_apart or not isinstance(values[1], Problem)
    if may_be_title and _stands_alone(row, fields, layout):
        return add_problem(row, "name", Problem(ALONE, _HELP_OF_NOTES), layout)
    if Problem in kinds:
        for field, value in zip(FIELDS, values, strict=True):
            if isinstance(value, Problem):
                row = add_problem(row, field, value, layout)
    return row


def add_problem(row: Entry, field: str, problem: Problem, layout: Layout) -> Entry:
    """
    Return a row with a further problem, that of a field, "" for the whole row: of its
    values, only the name is kept.
    """
    letter = ""
    value = ", ".join(row.cells)
    if field in layout.columns:
        index = layout.columns[field]
        letter = column_letter(index)
        value = row.cells[index]
    name_index = layout.columns.get("name", 0)
    name = "".join(row.cells[name_index : name_index + 1])
    row = row._replace(
        content=_NOTHING._replace(name=name),
        problems=(
            *row.problems,
            RowProblem(row.number, letter, field, value, *problem),
        ),
        pet_id=None if field == "petstore_id" else row.pet_id,
    )
    return row._replace(state="rejected")


def _remark(row: Entry, fields: Sequence[str]) -> str:
    """
    Return the cell that says that a row is a total, or a line about the table; "" if
    the row may be an animal.

    A row that begins or ends like a total needs a category and a status to be an
    animal. A row that begins like a page or a signature needs a category.
    """
    name, category, typed_status = fields
    has_category = clean(category) or cell_kind(category)
    has_status = clean(typed_status) and isinstance(row.content.status, str)
    if has_category and has_status:
        return ""
    if is_total(name) or (clean(name) and not has_category and is_note(name)):
        return name
    first_cell = next(filter(clean, row.cells), name)
    is_about = not has_status and name != first_cell and is_total(first_cell)
    return first_cell if is_about else ""


def _stands_alone(row: Entry, fields: Sequence[str], layout: Layout) -> bool:
    """
    Say whether a row holds a name and nothing else, or a note at most, so that no
    default fills it; not in a list of names alone.
    """
    name, category, _ = fields
    has_category = clean(category) or cell_kind(category)
    if has_category or not clean(name) or len(layout.columns.keys() & {*FIELDS}) == 1:
        return False
    filled_cells = [cell for cell in row.cells if not is_blank(cell)]
    has_note = len(filled_cells) == 2 and any(map(is_note, filled_cells))
    return len(filled_cells) == 1 or has_note


def _place(number: int, column: int) -> str:
    """Return how people find a cell: `B2`, or its row of a DataFrame."""
    if isinstance(number, FrameRow):
        return f"the cell of row {number}"
    return f"{column_letter(column)}{number}"


def _is_line(row: Entry) -> bool:
    """Say whether a row has a problem as a whole."""
    return any(not problem.field for problem in row.problems)


def _mark_blocks(rows: list[AnyRow], layout: Layout) -> None:
    """
    Make problem rows of those without a category in a list of which other rows have
    one: a default would make a cat of the second block a dog.
    """
    column = layout.columns["categoryId"]
    filled_row: Entry | None = None
    empty_rows = []
    for index, row in enumerate(rows):
        if not isinstance(row, Entry) or (row.problems and _is_line(row)):
            continue
        category = row.cells[column]
        if not is_blank(category):
            filled_row = row
        elif not cell_kind(category):
            empty_rows.append((index, row, filled_row))
    if not filled_row:
        return
    for index, row, above in empty_rows:
        rule, help_ = NO_CATEGORY
        if above:
            value = quoted(above.cells[column])
            rule += f", and {_place(above.number, column)} is {value}"
            help_ = _HELP_OF_BLOCKS
        problems = [p for p in row.problems if p[-2:] != NO_CATEGORY]
        row = row._replace(problems=tuple(problems))
        if ALONE not in {problem.rule for problem in problems}:
            rows[index] = add_problem(row, "categoryId", Problem(rule, help_), layout)


def _mark_other_tables(rows: list[AnyRow], layout: Layout) -> None:
    """
    Make problem rows of those below a line of other titles, behind a gap or a total,
    also with a caption, until the header comes again: their numbers are no categories.
    """
    problem: Problem | None = None
    last_number = layout.header_row
    for index, (row, next_row) in enumerate(pairwise([*rows, None])):
        if isinstance(row, RowLeftOut):
            if row.kind == HEADER_AGAIN:
                problem = None
            if row.kind in _ENDS:
                continue
        if isinstance(row, Entry):
            rules = {row_problem.rule for row_problem in row.problems}
            is_apart = row.number - last_number > 1
            if not problem and is_apart and _are_titles(row, next_row, layout):
                problem = Problem(
                    f"stands below row {row.number}, which {_TITLES.rule}",
                    f"delete these rows; if they are animals, delete row {row.number}",
                )
                rows[index] = add_problem(row, "", _TITLES, layout)
            elif problem:
                rows[index] = add_problem(row, "", problem, layout)
            if is_apart and ALONE in rules:  # a caption below a gap
                continue
        if row:
            last_number = row.number


def _mark_lines_without_status(rows: list[AnyRow], layout: Layout) -> None:
    """
    Make problem rows of those without a status, though each row above has one, if they
    stand below an empty row, have a default in place of a category, or lack each other
    column that all rows above fill.
    """
    column = layout.columns["status"]
    usual: set[int] = set()  # columns that all rows above fill
    last_number = layout.header_row
    is_below_gap = False
    count = 0
    for index, row in enumerate(rows):
        if not row:
            continue
        is_below_gap |= bool(usual) and row.number - last_number > 1
        last_number = row.number
        if not isinstance(row, Entry) or _is_marked(row):
            continue
        filled = _columns_beside_name(row, layout)
        if column in filled:
            usual = usual & filled or filled
            is_below_gap = False
            count += 1
        elif not usual:
            return
        elif (
            is_below_gap
            or _lacks_category(row, layout)
            or (count > _FEW and len(usual - filled) > 1)
        ):
            rows[index] = add_problem(row, "status", _NO_STATUS_HERE, layout)
        else:
            return


def _is_marked(row: Entry) -> bool:
    """Say whether a row has a problem that no word for a cell solves."""
    return any(problem.rule not in (NO_ID, NO_STATUS) for problem in row.problems)


def _columns_beside_name(row: Entry, layout: Layout) -> set[int]:
    """Return the columns that a row fills, without its name, category and id."""
    filled = {index for index, cell in enumerate(row.cells) if not is_blank(cell)}
    return filled - {layout.columns.get(field) for field in (*spec.REQUIRED, ID_TITLE)}


def _lacks_category(row: Entry, layout: Layout) -> bool:
    """Say whether a row has no category of its own."""
    column = layout.columns.get("categoryId")
    return column is None or is_blank(row.cells[column])


def _are_titles(row: Entry, next_row: AnyRow, layout: Layout) -> bool:
    """
    Say whether a row holds the titles of another table: words alone, also in place of a
    category and a status, above a row that has a category.
    """
    fields = {problem.field for problem in row.problems}
    if "categoryId" not in fields or not isinstance(next_row, Entry):
        return False
    words = [cell for cell in row.cells if not is_blank(cell)]
    are_words = all(type(cell) is str and _TITLE.match(cell) for cell in words)
    status = layout.columns.get("status")
    has_status = status is not None and not is_blank(row.cells[status])
    return (
        len(words) > 1
        and are_words
        and ("status" in fields or not has_status)
        and not any(problem.field == "categoryId" for problem in next_row.problems)
    )


def identify(rows: list[AnyRow], layout: Layout, field: str) -> None:
    """
    Give each row its id or its key, and make problem rows of those whose id or key
    cannot be read, or is that of another row, too; not broken lines.
    """
    attribute, repetition = _REPETITIONS[field]
    column = layout.columns[field]
    groups = defaultdict(list)
    row: Any
    for index, row in enumerate(rows):
        is_row = isinstance(row, Entry)
        if is_row and all(problem.field for problem in row.problems):
            value = layout.matcher.decide(field, row.cells[column])
            if isinstance(value, Problem):
                # an id tells which row it is
                if not (row.pet_id and is_blank(row.cells[column])):
                    rows[index] = add_problem(row, field, value, layout)
            elif value:
                rows[index] = row._replace(**{attribute: value})
                groups[value].append(index)
    for indexes in groups.values():
        if len(indexes) > 1:
            for index in indexes:
                row = rows[index]
                rows[index] = add_problem(row, field, repetition, layout)


def describe_left_out(rows: Iterable[RowLeftOut]) -> dict[str, int]:
    """Return how many rows each reason leaves out, by a text that names the first."""
    texts = {}
    for kind, members in group(rows, attrgetter("kind")).items():
        help_ = LEFT_OUT.get(kind, "")
        texts[f"{kind}: row {first_of(members)}{help_}"] = len(members)
    return texts


class Fix(NamedTuple):
    """
    Rows that one decision fixes.

    Attributes:
        rows: How many.
        row: The first.
        numbers: The first of them in words.
        column: Letter, "" where whole rows are meant.
        field: `name`, `categoryId`, `status`, or "".
        values: Cells as typed, the most frequent first, in words.
        rule: What is wrong, as the rest of a sentence about one cell or row.
        help: What fixes it.
    """

    rows: int
    row: int
    numbers: str
    column: str
    field: str
    values: str
    rule: str
    help: str

    @property
    def problem(self) -> str:
        """What is wrong, in how many and which rows."""
        rows = f"{pluralize(self.rows, 'row')} ({self.numbers})"
        cells = f"column {self.column}" + (f" ({self.values})" if self.values else "")
        return f"{rows}: {cells if self.column else 'the row'} {self.rule}"

    def __str__(self) -> str:
        return f"{self.problem} → {self.help}"


def group_problems(problems: Iterable[RowProblem]) -> list[Fix]:
    """
    Group problems by column, rule and help; the largest group first.
    """
    groups = group(problems, attrgetter("column", "field", "rule", "help"))
    fixes = []
    for (column, field, *texts), members in groups.items():
        rows = [problem.row for problem in members]
        cells = [quoted(problem.value) for problem in members if problem.value.strip()]
        values = first_of([*dict(Counter(cells).most_common())], _FEW)
        numbers = first_of(rows, _FEW)
        fixes.append(Fix(len(rows), rows[0], numbers, column, field, values, *texts))
    return sorted(fixes, key=lambda fix: -fix.rows)
