"""
Write the pictures again: the sample report by notebook 03, with a picture of its top,
which carries the page that it shows, and a thumbnail of each notebook. It needs
Chromium.
"""

import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import papermill
from PIL import Image, PngImagePlugin

FOLDER = Path(__file__).resolve().parent
SIZE = (900, 905)  # of the page, up to the end of the flow
REPORT_SIZE = (720, 440)  # of what a notebook shows of a report
THUMBNAIL_SIZE = (360, 220)


def main() -> None:
    page = FOLDER / "status_report.html"
    with TemporaryDirectory() as folder:
        executed = Path(folder, "executed.ipynb")
        parameters = {"FOLDER": str(FOLDER)}
        notebook = FOLDER / "03_status_report.ipynb"
        papermill.execute_notebook(notebook, executed, parameters, cwd=FOLDER)
    content = page.read_text("utf-8")
    picture = photograph(content, SIZE).convert("P", palette=Image.Palette.ADAPTIVE)
    text = PngImagePlugin.PngInfo()
    text.add_itxt("page", content, zip=True)
    picture.save(page.with_suffix(".png"), pnginfo=text, optimize=True)
    for notebook in FOLDER.glob("*.ipynb"):
        thumbnail = next(pictures(notebook)).convert("RGB")
        thumbnail.thumbnail(THUMBNAIL_SIZE)
        paper = Image.new("RGB", THUMBNAIL_SIZE, "white")
        paper.paste(thumbnail)
        small = paper.convert("P", palette=Image.Palette.ADAPTIVE)
        small.save(FOLDER / "thumbnails" / f"{notebook.stem}.png", optimize=True)


def pictures(notebook: Path) -> Iterator[Image.Image]:
    """Yield what is drawn in a notebook: its plots, and its reports."""
    for cell in nbformat.read(notebook, 4).cells:
        for output in cell.get("outputs", []):
            shown = output.get("data", {})
            if "image/png" in shown:
                yield Image.open(BytesIO(b64decode(shown["image/png"])))
            if "<img" in shown.get("text/html", ""):
                yield photograph(shown["text/html"], REPORT_SIZE)


def photograph(page: str, size: tuple[int, int]) -> Image.Image:
    """Let Chromium draw the top of a page, at two pixels for one."""
    with TemporaryDirectory() as folder:
        Path(folder, "page.html").write_text(page, "utf-8")
        options = "--headless --no-sandbox --disable-gpu --hide-scrollbars"
        options += f" --force-device-scale-factor=2 --window-size={size[0]},{size[1]}"
        options += f" --user-data-dir={folder} --screenshot={folder}/page.png"
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        command = [str(chromium), *options.split(), f"{folder}/page.html"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        picture = Image.open(f"{folder}/page.png")
        picture.load()
    return picture


if __name__ == "__main__":
    main()
