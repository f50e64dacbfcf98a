"""`serve` and `keys`: the service here, and its callers' keys."""

import re
import socket

import pytest
from commands import needs_signals
from services import stored_ids
from serving import run_serve


@needs_signals
def test_keys_are_shown_once_and_serve_runs_on_them(run):
    """
    Create prints the lines that set the variables, with the address of serve with the
    same `--port`; list shows no key; serve answers it.
    """
    assert run("keys list --database s.db").stdout == "No keys yet.\n"
    created = run("keys create --plan pro --port 8471 --database s.db")
    (key,) = re.findall("API_KEY=(psk_.*)", created.stdout)
    assert "PETSTORE_BASE_URL=http://127.0.0.1:8471/v1\n" in created.stdout
    listed = run("keys list --database s.db")
    assert "pro (300" in listed.stdout
    assert key not in listed.stdout
    with run_serve("s.db") as served:
        run(
            "list",
            PETSTORE_BASE_URL=served.base_url,
            PETSTORE_API_KEY=key,
            PETSTORE_PLAN="pro",
        )
    assert f"Serving production at {served.base_url} from s.db" in served.final_log


@needs_signals
def test_a_sample_fills_an_empty_database_once(tmp_path):
    """A second start adds nothing; each time a line says how to begin anew."""
    database = tmp_path / "s.db"
    texts = []
    for _ in range(2):
        with run_serve(database, "--sample", "25") as served:
            texts.append(served.log_text())

    assert f"25 sample animals were added to {database}" in texts[0]
    assert "has animals already, so no sample was added" in texts[1]
    assert all("To start empty" in text for text in texts)
    assert stored_ids(database) == set(range(1, 26))


@pytest.mark.parametrize(
    ("variable", "text", "reason"),
    [
        ("PETSTORE_HOST", "nowhere", "name an IP address"),
        ("PETSTORE_PORT", "8471", "port 8471 of 192.0.2.1 cannot be used"),
        ("PETSTORE_WORKERS", "2", "--workers needs a postgresql:// database"),
    ],
)
def test_host_port_and_workers_come_from_variables_too(run, variable, text, reason):
    """As a unit file sets them. The address is not of this machine: nothing serves."""
    host = "" if variable == "PETSTORE_HOST" else "--host 192.0.2.1"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = f"--port {listener.getsockname()[1]}" if not host else ""
        command = f"serve --database s.db {host} {port}"
        done = run(command, code=2, **{variable: text})

    assert reason in done.stderr
