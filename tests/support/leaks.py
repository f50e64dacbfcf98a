"""
What a notebook, a log or an error tracker can show of an error, down to locals and
causes.
"""

import traceback
from pathlib import Path

from _pytest._io.saferepr import saferepr
from IPython.core.ultratb import VerboseTB

TESTS = str(Path(__file__).parents[1])


def error_chain(error):
    """Yield an error and all it came of, whatever was suppressed."""
    if error is not None:
        yield error
        yield from error_chain(error.__cause__)
        yield from error_chain(error.__context__)


def visible_text(error):
    """
    Return all that can be shown of an error, but for the frames of the test that caught
    it.
    """
    texts = []
    for cause in error_chain(error):
        frames = cause.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename.startswith(
            TESTS
        ):
            frames = frames.tb_next
        texts.append(repr(cause) + repr(vars(cause)))
        description = traceback.TracebackException(
            type(cause), cause, frames, capture_locals=True
        )
        texts += description.format(chain=False)
        if frames is not None:
            texts.append(
                VerboseTB(theme_name="nocolor").text(type(cause), cause, frames)
            )
            locals_ = [
                value
                for frame, _ in traceback.walk_tb(frames)
                for value in frame.f_locals.values()
            ]
            texts += [saferepr(value, maxsize=None) for value in locals_]
    return "\n".join(texts)
