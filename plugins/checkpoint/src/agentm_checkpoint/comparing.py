"""Two sets of notes side by side: which notes differ, and what differs in each."""

from __future__ import annotations

from difflib import unified_diff

from agentm_checkpoint.sections import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentm_checkpoint.tree import Leaf

    Read = Callable[[str], bytes]

ADDED = "added"
REMOVED = "removed"
CHANGED = "changed"

MAX_LINES = 10_000
"""Of both versions together."""


class Difference:
    """One note that is not the same on both sides."""

    __slots__ = ("key", "kind", "lines", "sections")

    def __init__(self, key: str, kind: str, sections: list[str] | None = None) -> None:
        self.key = key
        self.kind = kind
        self.sections = sections or []
        """For a note that changed: what in it did, by heading or code block."""
        self.lines: list[str] = []
        """The lines that were taken out and put in, as `diff` shows them, with one line around each change."""


def compare(before: Mapping[str, Leaf], after: Mapping[str, Leaf]) -> list[Difference]:
    """The notes that differ, by key."""
    found = []
    for key in sorted(before.keys() | after.keys()):
        if key not in before:
            found.append(Difference(key, ADDED))
        elif key not in after:
            found.append(Difference(key, REMOVED))
        elif before[key] != after[key]:
            found.append(Difference(key, CHANGED))
    return found


def describe_changes(differences: list[Difference], read_before: Read, read_after: Read) -> None:
    """Fill in what changed inside of the notes that changed."""
    for difference in differences:
        if difference.kind == CHANGED:
            before, after = read_before(difference.key), read_after(difference.key)
            difference.sections = changed_sections(before, after)
            difference.lines = changed_lines(before, after)


def changed_lines(before: bytes, after: bytes) -> list[str]:
    """What `diff` would show; of very long notes only that they are, since comparing takes the product of both."""
    old, new = (text.decode(errors="replace").split("\n") for text in (before, after))
    if len(old) + len(new) > MAX_LINES:
        return [f"({len(old):,} and {len(new):,} lines: too many to compare line by line)"]
    return [*unified_diff(old, new, n=1, lineterm="")][2:]


def changed_sections(before: bytes, after: bytes) -> list[str]:
    """What differs between two versions of a note, for the operator's eyes, so new sections have their titles."""
    old = {section.label: section.data for section in split(before)}
    new = {section.label: section.data for section in split(after)}
    found = [f"changed: {label}" for label, data in new.items() if label in old and old[label] != data]
    found += [f"added: {label}" for label in new if label not in old]
    found += [f"removed: {label}" for label in old if label not in new]
    return found or ["the order of its sections"]
