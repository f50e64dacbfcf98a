"""The command line in this process, in a folder of its own."""

import subprocess

import pytest
from commands import end_main


@pytest.fixture
def run(shop, monkeypatch, capsys):
    """
    Run a command, a line as it is typed, with the sandbox as its service; it ends with
    0, or the code that is named, and never shows a traceback or the key.
    """

    def run(*arguments, code=0, **env):
        with monkeypatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            end = end_main(*arguments)
        output = capsys.readouterr()
        assert "Traceback" not in output.err
        assert shop.api_key not in output.out + output.err
        assert end == code, output.err
        return subprocess.CompletedProcess(arguments, code, output.out, output.err)

    return run
