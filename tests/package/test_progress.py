"""
Progress bars: drawn from the first report on, closed explicitly, and never in the way
of a sentence.
"""

import itertools
import sys
from contextlib import closing

import pytest
from commands import needs_terminal, run_on_terminal

from petstore_tools.importing.options import Progress
from petstore_tools.progress import Display, import_progress

BARS = [
    (import_progress, lambda show: show(Progress(1, 2, 1, 0, 0))),
    (
        lambda progress: closing(Display("list", "", progress)),
        lambda show: show.draw(1, 2),
    ),
]


@needs_terminal
def test_a_preview_that_is_declined_stands_alone(sandbox, tmp_path):
    """No bar is drawn beside it, and nothing is sent."""
    (tmp_path / "small.csv").write_text("name,categoryId\nMia,1\n")

    code, screen = run_on_terminal(
        "import", "small.csv", "--json", sandbox=sandbox, cwd=tmp_path, answers="n\n"
    )

    assert code == 0
    assert screen.startswith("small.csv")
    assert "import:" not in screen
    assert '{"message": "Nothing was sent."}' in screen
    assert sandbox.traffic().empty


@pytest.mark.parametrize(("progress", "report"), BARS)
def test_a_bar_is_drawn_from_the_first_report_on(progress, report, capsys):
    """An error before it leaves no empty bar."""
    with pytest.raises(LookupError), progress(True):
        raise LookupError
    assert capsys.readouterr().err == ""

    with progress(True) as show:
        report(show)
    assert "1/2" in capsys.readouterr().err


@pytest.mark.parametrize(("progress", "report"), BARS)
def test_where_no_bar_can_be_drawn_a_line_a_minute_is_written(
    progress,
    report,
    capsys,
    monkeypatch,
):
    """
    In a job's log; a run of less than a minute writes none, and `PETSTORE_PROGRESS=0`
    silences all.
    """
    monkeypatch.delenv("PETSTORE_PROGRESS")
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    with progress(None) as show:
        report(show)
    assert capsys.readouterr().err == ""

    minutes = itertools.count(0, 90)  # of the clock of tqdm: each look is 90 s later
    monkeypatch.setattr("tqdm.std.time", lambda: next(minutes))
    with progress(None) as show:
        report(show)
        report(show)
    lines = capsys.readouterr().err.split("\n")
    assert len([line for line in lines if "/2" in line]) >= 2

    monkeypatch.setenv("PETSTORE_PROGRESS", "0")
    with progress(None) as show:
        report(show)
    assert capsys.readouterr().err == ""
