"""
Write the sample report again: page and workbook by notebook 03, and a picture of the
page's top, which carries the page that it shows. It needs Chromium.
"""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import papermill
from PIL import Image, PngImagePlugin

FOLDER = Path(__file__).resolve().parent
SIZE = "900,1036"  # of the window, up to the end of the ways from status to status


def main() -> None:
    notebook = FOLDER / "03_status_report.ipynb"
    page = FOLDER / "status_report.html"
    with TemporaryDirectory() as folder:
        executed = Path(folder, notebook.name)
        parameters = {"FOLDER": str(FOLDER)}
        papermill.execute_notebook(notebook, executed, parameters, cwd=FOLDER)
        shot = Path(folder, "page.png")
        options = "--headless --no-sandbox --disable-gpu --hide-scrollbars"
        options += f" --force-device-scale-factor=2 --window-size={SIZE}"
        options += f" --user-data-dir={folder} --screenshot={shot}"
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        command = [str(chromium), *options.split(), page.as_uri()]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        picture = Image.open(shot).convert("P", palette=Image.Palette.ADAPTIVE)
    text = PngImagePlugin.PngInfo()
    text.add_itxt("page", page.read_text("utf-8"), zip=True)
    picture.save(page.with_suffix(".png"), pnginfo=text, optimize=True)


if __name__ == "__main__":
    main()
