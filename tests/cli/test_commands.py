"""Commands that people type one after the other: `commands.txt`."""

import re
import subprocess
from pathlib import Path
from string import Template

import pytest
from commands import configure, run_on_terminal
from inventories import befall, read_rows
from tables import read_stories


@pytest.mark.parametrize("steps", read_stories(__file__, "commands.txt"))
def test_what_a_person_types(run, box, monkeypatch, steps):
    """Each command ends, says and writes what stands below it."""
    words = {"url": box.base_url, "key": box.api_key}
    for verb, template in steps:
        text = Template(template).safe_substitute(words)
        name, _, part = text.partition(" ")
        match verb:
            case "run":
                line, _, code = text.partition(" -> ")
                before = len(box.traffic())
                done = run(line, code=int(code or 0))
            case "screen":
                before = len(box.traffic())
                _, screen = run_on_terminal(*text.split(), sandbox=box, cwd=".")
                shown = screen.replace("\r\n", "\n").replace("\r", "\n")
                done = subprocess.CompletedProcess(text, 0, shown, "")
            case "configure":
                answers = [answer.removeprefix("Enter") for answer in text.split(" | ")]
                done = configure(*answers)
            case "env":
                monkeypatch.setenv(name, part)
            case "out" | "err":
                output = done.stdout if verb == "out" else done.stderr
                match = re.search(text, output, re.MULTILINE)
                assert match, f"{text}\n{output}"
                words |= match.groupdict()
            case "never":
                assert not re.search(text, done.stdout + done.stderr)
            case "reads":
                content = Path(name).read_text("utf-8-sig")
                assert re.search(part, content, re.MULTILINE), content
            case "requests":
                assert len(box.traffic()) - before == int(text)
            case "inventory" | "fault" | "staff":
                befall(box, verb, text)
            case _:
                assert "." in verb, f"no step: {verb} {text}"
                path = Path(verb)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("\n".join([*read_rows(text), ""]), "utf-8")
