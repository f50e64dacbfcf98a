"""
The progress of an import on a terminal of 120 columns: where it begins, and what a wait
shows.
"""

import re

from commands import needs_terminal, run_on_terminal, run_program

from petstore_tools import Sandbox
from petstore_tools.sandbox.faults import Fault

pytestmark = needs_terminal


def test_the_bar_of_an_import_reads_well(tmp_path, monkeypatch):
    """
    It begins at the four of 12 rows that were created before, on a line of its own, and
    so does what became of them; a wait, here for a lost answer, says why once, and the
    bar stays long.
    """
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "1")
    rows = "".join(f"Animal {n},{n}\n" for n in range(12))
    (tmp_path / "pets.csv").write_text(f"name,categoryId\n{rows}")
    faults = [
        Fault("drop_after", method="POST", numbers=(8,)),
        Fault("slow", method="POST", seconds=0.05),
    ]
    with Sandbox(plan="pro", clock="system", animals=0, faults=faults) as box:
        run_program(
            "import", "pets.csv", "--yes", "--first", "4", sandbox=box, cwd=tmp_path
        )
        code, printed = run_on_terminal(
            "import", "pets.csv", sandbox=box, cwd=tmp_path, answers="y\n"
        )

    before, _, after = printed.partition("[y/N]: ")
    assert code == 0
    assert "4 created already" in before
    assert "\r" not in before.replace("\r\n", "")
    drawn = [frame for frame in after.split("\r") if frame.startswith("import:")]
    assert after.startswith("y\r\n")
    assert "| 4/12 [" in drawn[0]
    assert max(map(len, drawn)) <= 120
    counts = [int(re.search(r"\| (\d+)/12", frame)[1]) for frame in drawn]
    assert counts == sorted(counts)
    assert counts[-1] == 12

    waiting = [frame for frame in drawn if "waits until 20" in frame]
    assert waiting
    assert all(
        len(re.findall(r"[█▏▎▍▌▋▊▉ ]", frame.split("|")[1])) >= 40 for frame in waiting
    )
    reason = (
        r"Waiting until 20.* UTC: a listing that shows what became of 1 row whose"
        r" answer was lost\."
    )
    assert len(re.findall(reason, after)) == 1
    assert "waits" not in drawn[-1]
    counts = "12 rows: 8 created now, 4 before"
    assert printed.endswith(
        f"\npets.csv → production: {counts}; go on with pets.imported.csv\r\n"
    )
