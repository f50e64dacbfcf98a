"""
What the benchmarks share: the programs that run beside them, the loop that the README
prints, and the rows of their tables.
"""

import multiprocessing
import os
import platform
import re
import shlex
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, contextmanager, suppress
from functools import cache
from pathlib import Path

import pandas as pd
import requests

ROOT = Path(__file__).parents[2]
SPAWN = multiprocessing.get_context("spawn")
sys.path.insert(0, str(ROOT / "tests" / "support"))


@contextmanager
def serving(server, *arguments):
    """Enter what a function returns in a process of its own; give what that gives."""
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=serve_until_told, args=(there, server, arguments))
    process.start()
    there.close()  # so that a server that does not start is an EOFError
    try:
        yield here.recv()
        here.send("end")
    finally:
        here.close()
        process.join()


def serve_until_told(pipe, server, arguments):
    """Be what `serving` runs: say how to reach the server, and wait."""
    with server(*arguments) as address:
        pipe.send(address)
        with suppress(EOFError):  # what it served has failed
            pipe.recv()


def measured(measure, *arguments):
    """
    Return what a function measures in a process of its own; None where a peer is not
    installed.
    """
    with ProcessPoolExecutor(1, SPAWN) as pool:
        try:
            return pool.submit(measure, *arguments).result()
        except ImportError as error:
            print(error, file=sys.stderr)
            return None


@cache
def readme_loop():
    """Return the loop that the README prints."""
    readme = (ROOT / "README.md").read_text("utf-8")
    (block,) = re.findall(r"```py\n(rows = .*?)```", readme, re.S)
    return compile(block, "README.md", "exec")


def run_readme_loop(session, base_url, folder):
    """
    Run the loop as the README prints it, in a folder whose `animals.csv` it imports: a
    file of no rows where there is none. Return what it listed.
    """
    sheet = folder / "animals.csv"
    if not sheet.exists():
        sheet.write_text("name,categoryId\n")
    names = {
        "session": session,
        "BASE": base_url,
        "time": time,
        "pd": pd,
        "requests": requests,
    }
    with chdir(folder):
        exec(readme_loop(), names)
    return names["animals"]


def peak_mb():
    """
    Return the most memory that this process had; `getrusage` counts that of its parent,
    too.
    """
    return (
        int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1_024
    )


def costs(do):
    """Return the time, CPU and memory that something takes, and what it gives."""
    before = peak_mb()
    began, cpu = time.perf_counter(), time.process_time()
    result = do()
    return {
        "s": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "mb": peak_mb() - before,
        "result": result,
    }


def row(*cells):
    """Print a row of a table in Markdown."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def head(title, *titles):
    """
    Print date, machine and command, and the first two lines of a table: one column of
    words, and columns of numbers.
    """
    script = f"tests/benchmarks/{Path(sys.argv[0]).name}"
    command = shlex.join(["python", script, *sys.argv[1:]])
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(
        f"\n{time.strftime('%Y-%m-%d')}, {python}, {platform.system()} {machine}:"
        f" `{command}`\n"
    )
    row(title, *titles)
    row("---", *["---:"] * len(titles))
