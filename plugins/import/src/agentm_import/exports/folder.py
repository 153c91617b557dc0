"""Writing an export into its folder, and comparing the folder with what would be written.

The list of files is written before the files and again after them, so an export that was killed can be run again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentm_import.exports.manifest import NAME, manifest_text, read_manifest
from agentm_import.source_files import Unreadable, read_bytes
from agentm_kernel.plugin import STAMP_KEY, AgentmError, StorageIOError, atomic_write, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_LARGEST = 64 * 1024 * 1024


@dataclass
class Comparison:
    """How a folder differs from the export that would be written now."""

    same: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    """Files of an earlier export that this one would not have."""
    invalid: list[str] = field(default_factory=list)
    """Files that do not keep the rules of the format, each with the reason."""

    @property
    def is_same(self) -> bool:
        return not (self.missing or self.different or self.extra or self.invalid)


def compare(folder: str, files: Mapping[str, str]) -> Comparison:
    """The folder against the files that an export would write; nothing is changed."""
    found = Comparison()
    for path, text in files.items():
        digest = _digest(folder, path)
        if digest is None:
            found.missing.append(path)
        elif digest == content_hash(text):
            found.same.append(path)
        else:
            found.different.append(path)
    listed = read_manifest(folder)
    found.extra = sorted(path for path in listed if path not in files and _digest(folder, path) is not None)
    return found


def write(
    folder: str,
    form: str,
    files: Mapping[str, str],
    *,
    shared: bool,
    built_on: Mapping[str, str] | None = None,
    bar: Callable[[Sequence[str]], Iterable[str]] = lambda paths: paths,
) -> Comparison:
    """Bring the folder to what `files` says. `shared` is a folder that another program writes too.

    `built_on` has the hash of a file of another program that the new text keeps and adds to.
    """
    _refuse_store(folder)
    listed = read_manifest(folder)
    if not shared and not listed and os.path.isdir(folder) and set(os.listdir(folder)) - {NAME}:
        raise AgentmError(
            f"{folder} is not empty and holds no export of agentm; nothing was written",
            hint="give a new folder, or the folder of an earlier export",
        )
    before = compare(folder, files)
    ours = {**listed, **{path: [*listed.get(path, []), digest] for path, digest in (built_on or {}).items()}}
    foreign = [path for path in (*before.different, *before.extra) if not _is_ours(folder, path, ours)]
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise AgentmError(
            f"{os.path.join(folder, foreign[0])}{more} was not written by an export, or was edited since; "
            "nothing was written",
            hint="move it away, or export into another folder",
        )
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise StorageIOError(
            f"{folder} cannot be made: {error.strerror}",
            hint="give a folder that you may write to",
            errno=error.errno,
        ) from error
    new = {path: [content_hash(text)] for path, text in files.items()}
    during = {path: [*new.get(path, []), *listed.get(path, [])] for path in {*new, *listed}}
    atomic_write(os.path.join(folder, NAME), manifest_text(form, during))
    for path in bar(sorted([*before.missing, *before.different])):
        full = os.path.join(folder, *path.split("/"))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        atomic_write(full, files[path])
    for path in before.extra:
        os.unlink(os.path.join(folder, *path.split("/")))
    atomic_write(os.path.join(folder, NAME), manifest_text(form, new))
    return before


def _refuse_store(folder: str) -> None:
    """What is written there would be a note, and be exported in its turn; what is removed there is a note, too."""
    above = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(above, *STAMP_KEY.split("/"))):
        if os.path.dirname(above) == above:
            return
        above = os.path.dirname(above)
    raise AgentmError(
        f"{above} is a store; nothing was written", hint="give a folder outside it, like `agentm export okf ~/export`"
    )


def _is_ours(folder: str, path: str, listed: Mapping[str, list[str]]) -> bool:
    return _digest(folder, path) in listed.get(path, [])


def _digest(folder: str, path: str) -> str | None:
    """The hash of a file; `None` if there is none. What cannot be read has one that equals nothing."""
    full = os.path.join(folder, *path.split("/"))
    if not os.path.lexists(full):
        return None
    try:
        return content_hash(read_bytes(full, _LARGEST))
    except Unreadable:
        return "unreadable"
