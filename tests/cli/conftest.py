"""
A service with 25 animals, and the command line in this process, in a folder of its own.
"""

import subprocess

import pytest
from commands import connection, end_main

from petstore_tools import Sandbox
from petstore_tools.plans import Plan


@pytest.fixture
def box():
    with Sandbox(plan=Plan(10_000, 100_000), clock="system", animals=25) as sandbox:
        yield sandbox


@pytest.fixture
def run(box, tmp_path, monkeypatch, capsys):
    """
    Run a command with the sandbox as its service; it ends with 0, or the code that is
    named, and never shows a traceback or the key.
    """
    monkeypatch.chdir(tmp_path)
    for variable, value in connection(box).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PETSTORE_PLAN", "10000/100000")

    def run(*arguments, code=0, **env):
        with monkeypatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            end = end_main(*arguments)
        output = capsys.readouterr()
        assert "Traceback" not in output.err
        assert box.api_key not in output.out + output.err
        assert end == code, output.err
        return subprocess.CompletedProcess(arguments, code, output.out, output.err)

    return run
