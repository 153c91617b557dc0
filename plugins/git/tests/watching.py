"""Looking for a secret where it must not be: in the arguments of processes while they run, and in files."""

from __future__ import annotations

import base64
import contextlib
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from urllib.parse import quote


def disguises(secret: str) -> tuple[bytes, ...]:
    """The secret as it is, and as HTTP writes it."""
    pairs = (secret, f"x-access-token:{secret}", f":{secret}", f"{secret}:", f"token:{secret}", f"git:{secret}")
    encoded = [base64.b64encode(text.encode()).rstrip(b"=") for text in pairs]
    return (secret.encode(), quote(secret, safe="").encode(), *encoded)


class ProcessWatch:
    """Reads the arguments of every process of this machine, over and over, for as long as the block lasts."""

    def __init__(self, secret: str) -> None:
        self._wanted = disguises(secret)
        self._over = threading.Event()
        self.found: list[bytes] = []
        self.seen: set[bytes] = set()
        """The git commands that were looked at: without any, the watch has proven nothing."""

    def __enter__(self) -> ProcessWatch:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            for line in _command_lines():
                if any(part in line for part in self._wanted):
                    self.found.append(line)
                program = line.split(b"\0")[0]
                if os.path.basename(program).startswith(b"git"):
                    self.seen.add(b" ".join(line.split(b"\0")[:3]))


def _command_lines() -> Iterator[bytes]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                yield file.read()


def files_with(secret: str, folders: Sequence[str]) -> list[str]:
    """The files below the folders that hold the secret in any disguise, packed by git or not."""
    wanted = disguises(secret)
    found = []
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                if any(part in _readable(path) or part in os.fsencode(path) for part in wanted):
                    found.append(path)
    return found


def _readable(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read()
    with contextlib.suppress(zlib.error):
        return data + zlib.decompress(data)
    return data
