"""The command line as people and scripts meet it: words, streams, few letters."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from types import ModuleType

import commands
import pytest
from services import free_port
from tables import read_json

from petstore_tools import Sandbox
from petstore_tools.cli import COMMANDS, MODULES
from petstore_tools.sandbox.faults import Fault

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="of Linux: /dev/full takes nothing, /proc no file"
)
TIME = "[0-9]{2}:[0-9]{2}:[0-9]{2}"
RETRY = (
    rf"{TIME} GET /v1/pets: the service answered 500\. Attempt 2 of 5 follows in"
    r" [0-9.]+ s\."
)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        *read_json(__file__, "bad_input.json"),
        *(
            pytest.param(command, "the folder /proc cannot be", marks=LINUX)
            for command in ("list -o /proc/x.csv", "report -o /proc/x.html")
        ),
        pytest.param(
            "keys list --database /proc/x/s.db", "(--database) /proc/x/s", marks=LINUX
        ),
    ],
)
def test_bad_input_is_one_clear_sentence_and_exit_code_2(run, box, arguments, word):
    """Never a traceback, and no request."""
    done = run(arguments, code=2)

    assert word in done.stderr
    assert done.stdout == ""
    assert len(box.traffic()) == 0


def test_every_help_names_its_command(run):
    """With the table of exit codes in the first one, and `-v` in all."""
    for name in COMMANDS:
        done = run(name, "--help")
        assert f"Usage: petstore-tools {name}" in done.stdout
        assert "-v, --verbose" in done.stdout
    assert "130  interrupted" in run("--help").stdout
    assert "-v, --verbose" in run("keys list --help").stdout


def test_a_console_with_few_letters_gets_every_message(box, tmp_path):
    """Polish names, arrows and frogs; the output of ours is UTF-8 wherever it goes."""
    pets = "name,categoryId,status\nŻabka 🐸,3,\nŁódź,4,sold\nRex → Max,4,weg…\n"
    (tmp_path / "pets.csv").write_text(pets, "utf-8")
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"}

    for line, code, said in read_json(__file__, "few_letters.json"):
        arguments = line.split()
        done = commands.run_program(*arguments, sandbox=box, cwd=tmp_path, **ascii_only)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize(
    ("streams", "arguments", "code"),
    [
        ("<&-", "import pets.csv", 2),
        (">&-", "list", 0),
        ("<&- >&- 2>&-", "import --yes pets.csv", 0),
        ("| true", "list", 0),
    ],
)
def test_a_stream_that_takes_nothing_ends_no_work(
    box, tmp_path, streams, arguments, code
):
    """
    Closed, as some schedulers start programs, or by `head` when it has its lines:
    messages are lost, data are not; without a stdin, nobody can be asked.
    """
    (tmp_path / "pets.csv").write_text("name,categoryId\nRex,3\n")
    command = f'"$0" -m petstore_tools {arguments} {streams}'

    done = subprocess.run(
        [*"bash -o pipefail -c".split(), command, sys.executable],
        env=os.environ | commands.connection(box) | {"PETSTORE_PROGRESS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert streams != "<&-" or "no terminal to ask in" in done.stderr
    assert len(box.store.list_pets()) == (26 if "import --yes" in arguments else 25)


def test_a_mistake_of_the_toolkit_is_shown_with_exit_code_2(monkeypatch, capsys):
    """
    Not with 1, which says that some rows are left; `--json` prints its object, too.
    """
    monkeypatch.setitem(MODULES, "quota", "absent")

    assert commands.end_main("quota --json") == 2

    output = capsys.readouterr()
    assert "Traceback" in output.err
    assert output.err.endswith(
        "This is a mistake of petstore_tools. Please report these lines.\n"
    )
    assert json.loads(output.out)["error"] == "ModuleNotFoundError"


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_a_library_makes_an_error_of_is_one(monkeypatch, sign):
    """130, as pydantic does while it makes models."""

    class Module(ModuleType):
        @property
        def quota_(self):
            try:
                os.kill(os.getpid(), sign)
            except KeyboardInterrupt as interrupt:
                raise ValueError("no schema") from interrupt

    monkeypatch.setitem(sys.modules, "petstore_tools.cli.configure", Module("turned"))
    assert commands.end_main("quota") == 130


def test_v_writes_retries_and_vv_each_request_to_stderr():
    """
    Before the command or behind it. The second of four requests fails; data stays alone
    on stdout. The wait before the third is told in each case.
    """
    answered = rf"^{TIME} GET /v1/pets: the service answered [0-9]+\.$"
    rows = set()
    for line, retries, answers in (
        ("list", 0, 0),
        ("-v list", 1, 0),
        ("list -vv", 1, 4),
    ):
        with Sandbox(
            animals=300, clock="system", faults=[Fault("error_before", numbers=(2,))]
        ) as box:
            done = commands.run_program(
                *line.split(), sandbox=box, PETSTORE_PROGRESS="1"
            )
        assert len(re.findall(f"^{RETRY}$", done.stderr, re.M)) == retries
        assert len(re.findall(answered, done.stderr, re.M)) == answers
        assert done.returncode == 0
        rows.add(done.stdout)

    assert len(rows) == 1


@commands.needs_terminal
def test_on_a_terminal_each_line_of_the_log_stands_above_the_bar(tmp_path):
    """
    The bar is taken away, the line is written, and the bar is drawn again.
    """
    with Sandbox(
        animals=300, clock="system", faults=[Fault("error_before", numbers=(2,))]
    ) as box:
        code, screen = commands.run_on_terminal("list", "-v", sandbox=box, cwd=tmp_path)

    lines = [line.rpartition("\r")[2] for line in screen.split("\r\n")]
    (said,) = [line for line in lines if "Attempt" in line]
    assert code == 0
    assert re.fullmatch(RETRY, said)
    assert any(line.startswith("list: 300 animal") for line in lines)


@commands.needs_signals
@pytest.mark.parametrize("module", ["petstore_tools.cli.shared", "pydantic"])
def test_ctrl_c_while_modules_load_ends_as_an_interrupt(module):
    """With its exit code, in a line, and without a traceback."""
    command = [sys.executable, "-X", "importtime", "-m", "petstore_tools", "quota"]
    # so that it waits for its reader, also on a busy machine
    pipe = {"stderr": subprocess.PIPE, "bufsize": 0, "pipesize": 4_096}
    with subprocess.Popen(command, **pipe) as process:
        for line in process.stderr:
            if line.decode().rpartition("|")[2].strip() == module:
                process.send_signal(signal.SIGINT)
                break
        lines = [line.decode() for line in process.stderr]
    said = [line for line in lines if not line.startswith("import time:")]

    assert process.returncode == 130
    assert said[-1] == "Interrupted.\n"
    assert not any("Traceback" in line for line in said)


@pytest.mark.parametrize(("command", "code"), [("quota", 130), ("serve", 0)])
def test_ctrl_c_before_a_command_begins_ends_as_an_interrupt(
    monkeypatch, command, code
):
    """While the streams are prepared, too; `serve` has no other end."""

    class Stream(io.StringIO):
        def reconfigure(self, **_):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys, "stdout", Stream())

    assert commands.end_main(command) == code


FINALIZED = """
import os, signal, sys, {module}
from petstore_tools.cli import main

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.{sign})

def interrupted(*arguments, call={module}.{name}, **options):
    Finalized()
    return call(*arguments, **options)

{module}.{name} = interrupted
sys.argv = ["petstore-tools", *{command!r}.split()]
main()
"""


@commands.needs_signals
@pytest.mark.parametrize("sign", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    ("command", "module", "name", "code"),
    [
        ("serve --database s.db --port {port}", "socket", "create_server", 0),
        ("list --wait", "time", "sleep", 130),
    ],
)
def test_a_signal_that_comes_inside_a_finalizer_ends_a_command(
    box, tmp_path, sign, command, module, name, code
):
    """Python drops the exception of such a signal. `list` waits for a minute."""
    line = command.format(port=free_port())
    program = FINALIZED.format(module=module, name=name, sign=sign, command=line)

    done = commands.run_program(
        code=program, sandbox=box, cwd=tmp_path, PETSTORE_PLAN="1/1000"
    )

    assert done.returncode == code, done.stderr
