"""What a store holds, sealed or not: for `status`, `doctor`, and for commands that rewrite all of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_encryption.envelope import ARMOR, is_sealed
from agentm_encryption.places import is_lost_key_file, is_plain
from agentm_kernel.plugin import (
    TEMP_PREFIX,
    AgentmError,
    ConflictCopies,
    IntegrityError,
    InvalidContentError,
    Locator,
    NotFoundError,
    layout,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentm_encryption.store import EncryptedStore
    from agentm_kernel.plugin import Info, StorageBackend

    Progress = Callable[[str, list[Locator]], Iterable[Locator]]

_SWAP = ".swap"


def silent(_label: str, items: list[Locator]) -> Iterable[Locator]:
    return items


def conflicts(store: StorageBackend) -> dict[str, str]:
    """Each version that waits beside its note, and that note: what a sync tool left, which no verb shows, and with
    the copy of the state also what was edited here while another device changed it.
    """
    found = store.facet(ConflictCopies)
    return {} if found is None else {copy.copy.key: copy.note.key for copy in found.conflict_copies(Locator())}


def note_locators(store: StorageBackend) -> list[Locator]:
    """Everything that has to be sealed in an encrypted store."""
    return [info.locator for info in store.walk(Locator()) if _is_note(info)]


def _is_note(info: Info) -> bool:
    return not (info.is_dir or is_plain(info.locator) or is_lost_key_file(info.locator))


def stored_texts(
    store: StorageBackend, locators: list[Locator], progress: Progress = silent, label: str = "Reading"
) -> Iterator[tuple[Locator, str | None]]:
    """Each with its stored text; `None` for what is no text. What vanishes meanwhile is left out."""
    for locator in progress(label, locators):
        try:
            yield locator, store.read(locator)
        except NotFoundError:
            continue
        except InvalidContentError:
            yield locator, None


def refuse_sealed(store: StorageBackend) -> None:
    """Raise if a note is sealed. Keys that are gone may be lost: only a store without such a note was made plain."""
    for locator, text in stored_texts(store, note_locators(store)):
        if text is not None and is_sealed(text):
            raise IntegrityError(
                f"'{locator}' is still encrypted, so the store at {store.describe()} was not made plain",
                hint="run `agentm encryption decrypt` again on the device that made it plain, then here; if none "
                f"did, bring back the files in {layout.KEYS}/, from another device, a backup or a checkpoint",
            )


class Survey:
    """What there is in an encrypted store, and what is wrong with it."""

    def __init__(self) -> None:
        self.sealed = 0
        self.plain: list[str] = []
        """Notes that are not encrypted."""
        self.no_text: list[str] = []
        """Files that are no text: they cannot be read through agentm, and are not encrypted."""
        self.old: list[str] = []
        """Sealed with keys that are over or about to be."""
        self.problems: dict[str, str] = {}
        """What cannot be opened, with the reason."""


def survey(store: EncryptedStore, progress: Progress = silent) -> Survey:
    """Look at every note, and open it. Changes nothing."""
    found = Survey()
    for locator, text in stored_texts(store.as_stored, note_locators(store.as_stored), progress):
        if text is None:
            found.no_text.append(locator.key)
        elif not is_sealed(text):
            found.plain.append(locator.key)
        else:
            try:
                note = store.open_stored(locator, text)
            except NotFoundError:
                continue
            except AgentmError as error:
                found.problems[locator.key] = error.message
            else:
                found.sealed += 1
                if note.epoch < store.keys.current.number:
                    found.old.append(locator.key)
    return found


def plain_leftovers(place: str) -> list[str]:
    """Plain versions that the write floor keeps in a folder while a program may still write into them, as paths."""
    if not os.path.isabs(place):
        return []
    found = []
    for folder, _, names in os.walk(place):
        for name in names:
            if name.startswith(TEMP_PREFIX) and name.endswith(_SWAP):
                path = os.path.join(folder, name)
                if not _begins_sealed(path):
                    found.append(path)
    return found


def _begins_sealed(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(ARMOR)) == ARMOR.encode()
    except OSError:
        return True  # gone meanwhile
