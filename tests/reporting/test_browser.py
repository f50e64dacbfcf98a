"""
What people look at, looked at: the report and the notebooks in a real browser, by day
and by night.
"""

import json
import re
import shutil
import subprocess
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image

from petstore_tools import Sandbox
from petstore_tools.reporting.presentation import LOOKS
from petstore_tools.sandbox import samples

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# the browser itself asks there for updates
BROWSERS_OWN = re.compile(r"^https?://[^/]*\.(google|googleapis|gvt1|gstatic)\.com/")
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: apt-get install chromium"
)


def chromium(page, folder, *options):
    """Open a page without a window; return what the browser wrote to its log."""
    plain = "--headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars"
    plain += (
        " --disable-background-networking --disable-component-update"
        " --enable-logging=stderr"
    )
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [str(CHROMIUM), *plain.split(), profile, *options, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stderr


def look(page, folder, *, dark, width=900):
    """
    Open a page; return its screenshot, what it wrote to the console, and addresses it
    asked.
    """
    shot = folder / f"{dark}.png"
    net = folder / "net.json"
    log = chromium(
        page,
        folder,
        f"--log-net-log={net}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--window-size={width},1600",
        f"--screenshot={shot}",
    )
    console = "\n".join(line for line in log.splitlines() if "CONSOLE" in line)
    text = net.read_text(errors="replace").rstrip().rstrip(",")
    events = json.loads(text if text.endswith("}") else text + "]}")["events"]
    urls = {event.get("params", {}).get("url", "") for event in events}
    requests = {url for url in urls if url.startswith(("http", "ws"))}
    ours = sorted(url for url in requests if not BROWSERS_OWN.search(url))
    return Image.open(shot).convert("RGB"), console, ours


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with changes and a history."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    with Sandbox(animals=250) as box:
        for day in range(3):
            box.store.status_report()
            box.advance(days=1)
            box.change(5 + day * 4, status="sold")
        box.store.create_pet("<script>alert(1)</script>", category_id=1)
        box.store.status_report(since="last", categories=samples.CATEGORIES).to_html(
            path
        )
    return path


def test_the_report_is_drawn_by_day_and_by_night_without_a_word_or_a_request(
    report, tmp_path
):
    """
    No console line, no network request; the dark page is another picture, and so is the
    phone's.
    """
    light, console, urls = look(report, tmp_path, dark=False)
    dark, dark_console, dark_urls = look(report, tmp_path, dark=True)
    phone, _, _ = look(report, tmp_path, dark=False, width=400)

    assert (console, dark_console, urls, dark_urls) == ("", "", [], [])
    assert len(light.getcolors(10**6)) > 50
    # paper by day, by night
    corners = [image.getpixel((0, 0)) for image in (light, dark, phone)]
    assert corners == [(255, 255, 255), (22, 27, 34), (255, 255, 255)]


def test_paper_keeps_every_colour_and_every_table(report, tmp_path):
    """
    Swatches, bar, legend and areas of each status; and no table that must be opened
    first.
    """
    drawn = print_page(report, tmp_path / "report.pdf")

    for colour in [*LOOKS["colours"].values()][:4]:
        shares = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        fills = re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg", drawn)
        same = pytest.approx(shares, abs=0.003)
        assert sum([*map(float, fill)] == same for fill in fills) >= 3, colour
    page = report.read_text("utf-8")
    opened = report.with_name("opened.html")
    opened.write_text(page.replace("<details", "<details open"), "utf-8")
    drawn_opened = print_page(opened, tmp_path / "opened.pdf")
    assert page.count("<details") == 4
    assert drawn.count(b"Tj") == drawn_opened.count(b"Tj") > 100
    # the command line of Chromium draws all colours, so the style is looked at
    assert "* { box-sizing: border-box; print-color-adjust: exact;" in page
    assert (tmp_path / "report.pdf").read_bytes().count(b"/Type /Page\n") <= 2


def print_page(page, pdf):
    """Print a page; return what is drawn on paper."""
    chromium(page, pdf.parent, "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    drawn = b""
    for part in re.findall(
        rb"stream\r?\n(.*?)\r?\nendstream", pdf.read_bytes(), re.DOTALL
    ):
        with suppress(zlib.error):
            drawn += zlib.decompress(part)
    return drawn


def test_the_notebooks_outputs_are_drawn_without_error(tmp_path):
    """
    Their HTML as JupyterLab would hold it: tables and pictures, nothing that asks the
    network.
    """
    from nbconvert import HTMLExporter  # slow to load, and only needed here

    exporter = HTMLExporter(template_name="basic")
    bodies = [exporter.from_filename(str(path))[0] for path in NOTEBOOKS]
    page = tmp_path / "outputs.html"
    start = "<!doctype html><meta charset=utf-8>"
    page.write_text(f"{start}<body>{''.join(bodies)}</body>", "utf-8")

    drawn, console, urls = look(page, tmp_path, dark=False)

    assert all("<table" in body for body in bodies)
    assert (console, urls) == ("", [])
    assert len(drawn.getcolors(10**6)) > 10
