"""Backends that do something when nobody asked for anything yet."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import suppress

from broken_backends.table import Files, broken


@broken(
    "opening_makes_nothing", saying="it made ['.index']", also=("opening", "declaring", "listing", "foreign_entries")
)
class MakesAFolderWhenOpened(Files):
    def __init__(self, scratch):
        super().__init__(scratch)
        os.makedirs(os.path.join(scratch, ".index"), exist_ok=True)

    def list(self, locator):
        return [child for child in super().list(locator) if child.key != ".index"]


@broken("opening_touches_nothing", saying="it did: open for writing")
class SignsInWhenOpened(Files):
    def __init__(self, scratch):
        super().__init__(scratch)
        with open(scratch + ".log", "a") as log:
            log.write(f"{os.getpid()}\n")


@broken("opening_touches_nothing", saying="it did: socket.connect")
class ConnectsWhenOpened(Files):
    def __init__(self, scratch):
        super().__init__(scratch)
        with socket.socket() as connection, suppress(OSError):
            connection.settimeout(0.1)
            connection.connect(("127.0.0.1", 9))


@broken("opening_touches_nothing", saying="it did: subprocess.Popen")
class StartsAProgramWhenOpened(Files):
    def __init__(self, scratch):
        super().__init__(scratch)
        subprocess.run(["true"], check=False)


@broken(
    "reading_changes_nothing",
    saying="it changed ['.last-read']",
    also=("foreign_entries", "declaring", "listing", "disk", "crashing", "device_files"),
)
class MarksWhatWasRead(Files):
    def read(self, locator):
        text = super().read(locator)
        with suppress(OSError), open(os.path.join(self.scratch, ".last-read"), "a") as mark:
            mark.write(locator.key)
        return text

    def list(self, locator):
        return [child for child in super().list(locator) if child.key != ".last-read"]

    def walk(self, locator):
        return (info for info in super().walk(locator) if info.locator.key != ".last-read")
