"""The operator's own notes, above or beside the agent's store, and the line that each write to them leaves behind."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    AgentmError,
    AuthorizationError,
    EditedFolder,
    FileStore,
    Locator,
    LocatorConflictError,
    PersonalSpace,
    content_hash,
    layout,
    update,
)
from agentm_obsidian_vault.authorization import Authorization

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_kernel.plugin import Absent, StorageBackend
    from agentm_obsidian_vault.medium import SyncedFolder

AUDIT = Locator(layout.PERSONAL_AUDIT_KEY)
_PATIENCE = 120.0
"""Seconds in which the program of `personal_confirm` has to answer: somebody may have to find their phone."""


class OwnNotes(EditedFolder):
    """The operator's own notes, in the same vault as the store whose medium is `store`. They edit here themselves."""

    def __init__(self, store: SyncedFolder) -> None:
        self._store = store

    def is_hidden(self, name: str) -> bool:
        return self._store.is_hidden(name)

    def before_reading(self, locator: Locator, status: os.stat_result) -> None:
        self._store.before_reading(locator, status)

    def is_at_hand(self, status: os.stat_result) -> bool:
        return self._store.is_at_hand(status)


class PersonalNotes(PersonalSpace):
    """The write floor on the personal root. No key leads into the agent's store, whatever it is called on the way."""

    def __init__(self, vault: FileStore, medium: SyncedFolder, root: str, confirm: str | Iterable[str] = ()) -> None:
        vault.check_usable(read_only=False)
        self._vault = vault
        self._confirm = confirm
        self._files = FileStore(root, medium=OwnNotes(medium), size_limit=vault.size_limit)

    def personal_path(self, locator: Locator) -> str:
        return os.path.join(self._files.root, *locator.parts)

    def write_personal(
        self,
        locator: Locator,
        content: str,
        *,
        authorization: object,
        if_match: str | Absent | None = None,
    ) -> Locator:
        if not isinstance(authorization, Authorization):
            raise AuthorizationError(
                f"'{locator}' was not written to the personal space: the operator has not been asked",
                hint="run `agentm personal write` and answer its question yourself",
            )
        authorization.use(locator, content)
        with audited(self._vault, locator, content):
            self._check_outside(locator)
            if self._confirm:
                _ask_elsewhere(self._confirm, self.personal_path(locator), content)
            return self._files.write(locator, content, if_match=if_match)

    def _check_outside(self, locator: Locator) -> None:
        place = locator
        while place.key:
            place = place.parent
            if _is_same_folder(self.personal_path(place), self._vault.root):
                raise LocatorConflictError(
                    f"'{locator}' leads into the agent's store, which is not part of the personal space",
                    hint="choose a place outside the folder of the store",
                )


def _ask_elsewhere(command: str | Iterable[str], path: str, content: str) -> None:
    """Start the operator's own program with the path and, as its input, the text; raise unless it ends with 0."""
    import shlex
    import subprocess

    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
        done = subprocess.run(  # noqa: S603
            [*words, path], input=content.encode(), stdout=subprocess.DEVNULL, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise _not_agreed(f"did not answer within {_PATIENCE:g} s") from None
    except (OSError, ValueError) as error:
        raise _not_agreed(f"cannot be asked: {error}") from None
    if done.returncode:
        raise _not_agreed(f"did not agree (exit code {done.returncode})")


def _not_agreed(what: str) -> AuthorizationError:
    return AuthorizationError(
        f"the program of plugins.vault.personal_confirm {what}; nothing was written",
        hint="`agentm config get plugins.vault.personal_confirm` shows which it is; it agrees by ending with 0",
    )


def _is_same_folder(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except FileNotFoundError:
        return False


@contextmanager
def audited(store: StorageBackend, locator: Locator, content: str) -> Iterator[None]:
    """Leave a line in the store before the write, and another if it does not come about."""
    what = f"`{locator}` ({len(content.encode()):,} bytes, sha256 {content_hash(content)[:16]})"
    _append(store, f"{what} on the operator's word")
    try:
        yield
    except AgentmError as error:
        _append(store, f"{what} was not written: {error.message}")
        raise


def _append(store: StorageBackend, sentence: str) -> None:
    when = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime())
    line = f"- {when} {' '.join(sentence.split())}\n"
    update(store, AUDIT, lambda text: (text or "# Writes to the personal space\n\n") + line)
