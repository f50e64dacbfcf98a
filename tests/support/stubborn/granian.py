"""A library that makes an error of its own of a signal which comes while it loads."""

import os
import signal

try:
    os.kill(os.getpid(), signal.SIGTERM)
except KeyboardInterrupt as end:
    raise RuntimeError("this library cannot be loaded") from end
