"""Backends that take a name for a pattern, or for its encoding."""

from __future__ import annotations

import fnmatch
import re
from urllib.parse import unquote

from broken_backends.table import Memory, broken

from agentm_kernel.errors import NotFoundError
from agentm_kernel.seam.locator import Locator


def _like(pattern: str, key: str) -> bool:
    """SQL's LIKE, without an escape."""
    spelled = "".join({"_": ".", "%": ".*"}.get(character, re.escape(character)) for character in pattern)
    return re.fullmatch(spelled, key, re.DOTALL) is not None


@broken("lookalike_names_are_apart", saying="list('a_b') gave")
class ListsByLike(Memory):
    def list(self, locator):
        if not locator.key:
            return super().list(locator)
        found = [note for note in self._notes if _like(f"{locator.key}/%", note.key)]
        children = {Locator("/".join(note.parts[: len(locator.parts) + 1])) for note in found}
        made = {folder for folder in self._directories if folder.key and folder.parent == locator}
        return sorted(children | made)


@broken("lookalike_names_are_apart", saying="list('[ab]') gave")
class ListsByGlob(Memory):
    def list(self, locator):
        if "[" not in locator.key:
            return super().list(locator)
        return sorted(note for note in self._notes if fnmatch.fnmatch(note.key, f"{locator.key}/*.md"))


@broken(
    "lookalike_names_are_apart",
    "lookalike_names_are_written_apart",
    saying="gave",
    also=("lookalikes", "accepted_keys"),
)
class DecodesNames(Memory):
    """What an object store does that takes a name for a part of an address."""

    def write(self, locator, content, *, if_match=None):
        super().write(Locator(unquote(locator.key)), content, if_match=if_match)
        return locator

    def read(self, locator):
        return super().read(Locator(unquote(locator.key)))

    def info(self, locator):
        found = super().info(Locator(unquote(locator.key)))
        return type(found)(locator, found.is_dir, found.size, found.mtime, found.version)


@broken("lookalike_names_are_deleted_apart", saying="Deleting one of them deletes no other; but")
class DeletesByLike(Memory):
    def delete(self, locator, *, if_match=None):
        super().delete(locator, if_match=if_match)
        if locator.key == "a_b/a_b.md":
            for note in [note for note in self._notes if _like(locator.key, note.key) and "%" not in note.key]:
                del self._notes[note]


@broken("lookalike_prefixes", saying="list('log') gave", also=("listing", "lookalikes"))
class ListsByPrefix(Memory):
    def list(self, locator):
        if locator.key != "log":
            return super().list(locator)
        return sorted({*super().list(locator), *(note for note in self._notes if note.key.startswith("log"))})


@broken("lookalike_prefixes", saying="exists('log/a') gave True")
class ExistsByPrefix(Memory):
    def exists(self, locator):
        return super().exists(locator) or (
            locator.key == "log/a" and any(n.key.startswith("log/a") for n in self._notes)
        )


@broken("lookalike_names_are_apart", saying="NotFoundError", also=("lookalikes", "accepted_keys"))
class ForgetsToQuote(Memory):
    """What a query built from text does with a quote in it."""

    def read(self, locator):
        if "'" in locator.key:
            raise NotFoundError(f"'{locator}' does not exist")
        return super().read(locator)
