"""Isolation of tests and notebooks from the settings of the user who runs them."""

import atexit
import os
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

_FOLDER = "PETSTORE_TESTS_FOLDER"


def isolate_settings():
    """
    Take every setting out of the environment, and name folders of our own; once a
    process.
    """
    if os.environ.get(_FOLDER) == str(os.getpid()):
        return
    # a shell ignores SIGINT in what it starts in the background, and programs inherit
    # that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in os.environ if name.startswith("PETSTORE_")]:
        if name != "PETSTORE_REQUIRE_ALL":
            del os.environ[name]
    folder = Path(tempfile.mkdtemp(prefix="petstore-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ |= {
        _FOLDER: str(os.getpid()),
        "PETSTORE_CONFIG": str(folder / "config.toml"),
        "PETSTORE_STATE_DIR": str(folder / "state"),
        "PETSTORE_PROGRESS": "0",
        "TZ": "UTC",  # reports are in the reader's time zone
    }
    if hasattr(time, "tzset"):
        time.tzset()


@contextmanager
def machine_zone(name):
    """Let this machine be in a time zone."""
    try:
        with patch.dict(os.environ, TZ=name):
            time.tzset()
            yield
    finally:
        time.tzset()
