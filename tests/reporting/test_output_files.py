"""
Files that cannot be written: said before the first request, and what is paid for is never lost.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from petstore_tools import Sandbox
from petstore_tools.errors import FrameError, PetstoreError
from petstore_tools.tabular.atomic import check_writable


def test_a_report_whose_snapshot_cannot_be_kept_is_made_and_says_so(tmp_path: Path) -> None:
    """The listing was paid for (item 15); so it is with a listing that was to be kept."""
    with Sandbox(animals=12) as box:
        box.state_dir.mkdir(exist_ok=True)
        (box.state_dir / "history").write_text("in the way")
        report = box.store.status_report(since="last")
        with pytest.warns(UserWarning, match="not kept as a snapshot"):
            frame = box.store.list_pets(max_age="1h")
        asked = len(box.traffic())
        with pytest.raises(FrameError, match="history"):
            box.store.snapshot()
        assert len(box.traffic()) == asked

    report.to_html(tmp_path / "report.html")
    assert report.breakdown["count"].sum() == len(frame) == 12
    assert "this listing was not kept as a snapshot: the history" in report.notes[-1]
    assert "not kept as a snapshot" in (tmp_path / "report.html").read_text("utf-8")


def test_a_report_that_cannot_be_written_is_one_sentence_of_the_toolkit(tmp_path: Path) -> None:
    """
    An error of the toolkit, as the README promises, and still an OSError; in each of the formats.
    """
    with Sandbox(animals=3) as box:
        report = box.store.status_report()
        for write in (report.to_html, report.to_excel, report.to_markdown, report.to_json):
            with pytest.raises(
                PetstoreError, match=r"^there is no folder .*nodir for r[.]xlsx: create it"
            ) as raised:
                write(tmp_path / "nodir" / "r.xlsx")
            assert isinstance(raised.value, OSError)
        if sys.platform == "linux":
            with pytest.raises(PetstoreError, match=r"^the folder /proc cannot be written"):
                report.to_html("/proc/r.html")
        (tmp_path / "r.html").mkdir()
        with pytest.raises(PetstoreError, match="is a folder, not a file"):
            report.to_html(tmp_path / "r.html")
    check_writable(tmp_path / "a.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]  # nothing of the trial is left
