"""The receipt of a change to a settings file: what was put where, and hashes of the file before and after.

Never the file itself: settings hold credentials.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from agentm_hosts.files.reading import read_bytes
from agentm_kernel.plugin import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Receipt:
    """What was done to one file for one host."""

    host: str
    path: str
    format: str
    scope: str
    before: str | None
    """The hash of the file before; `None` if there was none."""
    after: str = ""
    insertions: list[tuple[int, str, str]] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    made: list[list[str]] = field(default_factory=list)
    """Containers that were made for our entries."""
    folders: list[str] = field(default_factory=list)
    """Folders that were made for the file, the innermost first."""
    program: str = ""
    """The agentm that the entries start."""


def receipts_folder(state_dir: str) -> str:
    return os.path.join(state_dir, "connections")


def receipt_path(state_dir: str, host: str, path: str) -> str:
    name = hashlib.sha256(os.path.abspath(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(receipts_folder(state_dir), f"{host}-{name}.json")


def read_receipt(file: str) -> Receipt | None:
    """The receipt in a file; `None` where there is none, or none that can be read. What another version added to it
    is passed over.
    """
    try:
        data = read_bytes(file)
        if data is None:
            return None
        known = {name: value for name, value in json.loads(data).items() if name in Receipt.__dataclass_fields__}
        return Receipt(**known)
    except (ValueError, TypeError, AttributeError):
        return None


def receipts(state_dir: str, host: str | None = None) -> Iterator[tuple[str, Receipt]]:
    """Every receipt, with the file it is in."""
    folder = receipts_folder(state_dir)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".json"):
            found = read_receipt(os.path.join(folder, name))
            if found is not None and host in (None, found.host):
                yield os.path.join(folder, name), found


def write_receipt(state_dir: str, receipt: Receipt) -> None:
    atomic_write(receipt_path(state_dir, receipt.host, receipt.path), json.dumps(asdict(receipt), indent=1))


def remove_receipt(state_dir: str, receipt: Receipt) -> None:
    file = receipt_path(state_dir, receipt.host, receipt.path)
    if os.path.exists(file):
        os.unlink(file)


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
