"""A check has a time limit, and a failure has a place: file and line."""

from __future__ import annotations

import gc
import os
import sys
import threading
import traceback
from typing import TYPE_CHECKING

from agentm_devkit.conformance.expect import Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

_KIT = os.path.dirname(os.path.abspath(__file__))
_CHECKS = os.path.join(_KIT, "checks")


def within(seconds: float, work: Callable[[], None]) -> None:
    """Do `work` in a thread of its own, for `seconds` at most: what hangs is a violation that says where it hangs.

    The thread cannot be stopped. It is left behind, and the process can end without it.
    """
    raised: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised again by whoever waits
            raised.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        frame = _frame_of(thread)
        place = _last(traceback.extract_stack(frame), outside=_KIT) if frame is not None else ""
        raise Violation(f"the check was still busy after {seconds:g} s{f', at {place}' if place else ''}")
    if raised:
        raise raised[0]


def _frame_of(thread: threading.Thread) -> FrameType | None:
    """Where a thread is now. No garbage is collected meanwhile: a destructor that lets other threads run while they
    are listed can stop the whole interpreter for ever (gh-106883, mended in 3.11.9).
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - there is no other way to look
    finally:
        if was_collecting:
            gc.enable()


def place_of(error: BaseException) -> str:
    """Where it went wrong: the line of the check, and the plugin's own line if that raised."""
    frames = list(traceback.extract_tb(error.__traceback__))
    cause = error.__cause__
    if cause is not None:
        frames += traceback.extract_tb(cause.__traceback__)
    places = (_last(frames, inside=_CHECKS), _last(frames, outside=_KIT))
    return ", ".join(dict.fromkeys(place for place in places if place))


def place_outside(error: BaseException) -> str:
    """The innermost line that is not the kit's own: the plugin's, where that raised."""
    return _last(traceback.extract_tb(error.__traceback__), outside=_KIT)


def frames_outside(error: BaseException) -> str:
    """The part of a traceback that its author can change, as Python shows it; empty if nothing of it is his."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _last([frame], outside=_KIT)]
    return "".join([*traceback.format_list(frames), *traceback.format_exception_only(error)]) if frames else ""


def _last(frames: Iterable[traceback.FrameSummary], *, inside: str = "", outside: str = "") -> str:
    """The innermost frame of a file that lies there, as `folder/file.py:line`."""
    found = ""
    for frame in frames:
        file = os.path.abspath(frame.filename)
        if (inside and file.startswith(inside)) or (outside and not file.startswith(outside) and _is_source(file)):
            found = f"{os.path.join(os.path.basename(os.path.dirname(file)), os.path.basename(file))}:{frame.lineno}"
    return found


def _is_source(file: str) -> bool:
    """Whether it is somebody's code, and not Python's own library or a test runner."""
    if "site-packages" in file:
        return f"{os.sep}_pytest{os.sep}" not in file and f"{os.sep}pluggy{os.sep}" not in file
    return file.endswith(".py") and not file.startswith(_LIBRARY)


_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
