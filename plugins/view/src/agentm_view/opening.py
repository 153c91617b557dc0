"""Opening the browser without telling other users of this machine the token.

Arguments of programs can be seen by everybody, so the browser is given a file that only its owner may read, and the
file leads on to the page.
"""

from __future__ import annotations

import contextlib
import os
import webbrowser
from typing import TYPE_CHECKING
from urllib.request import pathname2url

from agentm_kernel.plugin import atomic_write, make_private_folder
from agentm_view.html import exact

if TYPE_CHECKING:
    from agentm_kernel.plugin import Device


FOLDER = "view"
"""Where the page keeps its file, below the device's state."""


class Opener:
    """The file that leads to the page."""

    def __init__(self, device: Device) -> None:
        self._folder = os.path.join(device.state_dir, FOLDER)
        self.path = os.path.join(self._folder, f"open-{os.getpid()}.html")

    def open(self, address: str) -> bool:
        """Whether a browser was found. It reads the file a moment later."""
        make_private_folder(self._folder)
        self._sweep()
        shown = exact(address)
        page = (
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>agentm</title>'
            f'<meta http-equiv="refresh" content="0;url={shown}">\n'
        )
        atomic_write(self.path, page)
        os.chmod(self.path, 0o600)
        try:
            return webbrowser.open("file://" + pathname2url(self.path))
        except webbrowser.Error:
            return False

    def close(self) -> None:
        """Remove the file: its token has been traded, or nobody will."""
        _remove(self.path)

    def _sweep(self) -> None:
        """Remove what a page left that was killed: its token leads nowhere."""
        for name in os.listdir(self._folder):
            owner = name.removeprefix("open-").removesuffix(".html")
            if name.startswith("open-") and owner.isdigit() and not _is_running(int(owner)):
                _remove(os.path.join(self._folder, name))


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # another page, or another thread, was faster
        os.unlink(path)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
