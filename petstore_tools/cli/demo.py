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

ROWS = 1_000


@click.command("demo")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("petstore-report.html"),
    show_default=True,
    help="Where the report goes.",
)
def demo_(output: Path) -> int:
    """
    Import 1,000 animals, list them and report, against a service inside this program.

    The service is real (HTTP, quotas, database); its clock is turned, so that the Pro plan's minutes
    pass at once. Nothing is kept but the report.
    """
    check_writable(output)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Sandbox(plan="pro", animals=0) as sandbox:
        path = Path(folder) / "animals.csv"
        path.write_text(samples.animals_csv(ROWS), encoding="utf-8")
        begins_at = sandbox.clock.now()
        result = sandbox.store.import_pets(path, wait=True)
        plan_s = sandbox.clock.now() - begins_at
        click.echo(str(result))
        frame = sandbox.store.list_pets()
        report = status_report(frame, categories=samples.CATEGORIES)
    report.to_html(output)
    click.echo(f"\n{report.to_text()}\n")
    took_s = time.perf_counter() - started
    click.echo(f"The plan's clock moved {plan_s / 60:.1f} minutes; it took {took_s:.1f} s.")
    click.echo(f"Report: {output.resolve()}")
    return exits.of_result(result)
