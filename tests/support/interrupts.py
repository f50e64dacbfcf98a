"""Ctrl-C at a point of a call, one after the other, where Python may deliver it."""

import contextlib
import dis
import sys
import threading
from collections import Counter
from pathlib import Path

import petstore_tools

_PACKAGE = str(Path(petstore_tools.__file__).parent)
_SERVICE_ROOMS = tuple(f"{_PACKAGE}/{room}" for room in ("sandbox", "service"))
_NOP, _RETURN = dis.opmap["NOP"], dis.opmap["RETURN_VALUE"]


def _is_client_code(code):
    return code.co_filename.startswith(_PACKAGE) and not code.co_filename.startswith(
        _SERVICE_ROOMS
    )


class Interrupter:
    """
    Interrupts the thread that uses it, at the first time that it comes to a point, or
    nowhere.

    The points are the lines of the client, and both ends of each context manager of the
    standard library that it enters: when it has been entered, and before it is left. A
    lock of urllib3 stays locked at such a point, which is a stated limit: no point.

    Args:
        point: File, line, and what happens there; None to pass them all.

    Attributes:
        pass_counts: How often each point was passed.
        has_interrupted: Whether the thread came to its point.
    """

    def __init__(self, point=None):
        self._point = point
        self.pass_counts = Counter()
        self.has_interrupted = False

    def run(self, call):
        """Make the call, with an interrupt at the point."""
        before = sys.gettrace()
        sys.settrace(self._trace_call)
        try:
            return call()
        finally:
            sys.settrace(before)

    def _trace_call(self, frame, event, arg):
        caller = frame.f_back
        if _is_client_code(frame.f_code):
            return self._trace_line
        file = frame.f_code.co_filename
        is_library = file in (threading.__file__, contextlib.__file__)
        if is_library and caller and _is_client_code(caller.f_code):
            if frame.f_code.co_name == "__exit__":
                self._count_point(caller, "exit")
            if frame.f_code.co_name == "__enter__":
                frame.f_trace_opcodes = True
                return self._trace_context
        return None

    def _trace_line(self, frame, event, arg):
        # no signal comes where nothing is done, such as at a `try:`
        if event == "line" and frame.f_code.co_code[frame.f_lasti] != _NOP:
            self._count_point(frame, "line")
        return self._trace_line

    def _trace_context(self, frame, event, arg):
        if (
            event == "opcode"
            and frame.f_code.co_code[frame.f_lasti] == _RETURN
            and frame.f_back
        ):
            self._count_point(frame.f_back, "enter")
        return self._trace_context

    def _count_point(self, frame, kind):
        point = frame.f_code.co_filename, frame.f_lineno, kind
        self.pass_counts[point] += 1
        if point == self._point and self.pass_counts[point] == 1:
            self.has_interrupted = True
            raise KeyboardInterrupt
