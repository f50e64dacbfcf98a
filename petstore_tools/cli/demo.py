"""`demo`: the main job against the embedded service, from any folder."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click

from petstore_tools.cli import exits
from petstore_tools.reporting.report import status_report
from petstore_tools.sandbox import Sandbox, samples
from petstore_tools.tabular.atomic import check_writable


@click.command("demo")
def demo_() -> int:
    """
    Try the main job in a sandbox.

    1,000 animals are imported, listed and counted in a report. The sandbox is the real
    service inside this program, with its quotas and its database. Its clock jumps ahead
    instead of waiting, so the minutes of the Pro plan take no time. Only the report is
    kept, in petstore-report.html.
    """
    output = Path("petstore-report.html")
    check_writable(output)
    started_s = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox(plan="pro", animals=0) as sandbox,
    ):
        path = Path(folder) / "animals.csv"
        path.write_text(samples.animals_csv(1_000), "utf-8")
        sandbox.store.progress = None  # a bar on a terminal
        began_at = sandbox.clock.now()
        result = sandbox.store.import_pets(path, wait=True)
        plan_s = sandbox.clock.now() - began_at
        report = status_report(sandbox.store.list_pets(), categories=samples.CATEGORIES)
    report.to_html(output)
    elapsed_s = time.perf_counter() - started_s
    click.echo(
        f"{result}\n\n{report.to_text()}\n\nAt a real service the import takes"
        f" {plan_s / 60:.1f} minutes; the sandbox's clock jumped ahead, and all took"
        f" {elapsed_s:.1f} s.\nThe report is in {output.resolve()}\nWith a service of"
        " your own: petstore-tools configure, then petstore-tools import FILE"
    )
    return exits.result_code(result)
