"""The format of notes, for plugins that write many of them: entry point `recall` of `agentm.note_formats`.

Importers and exporters place, read and write notes as `save` does, and this plugin stays the only one that knows
how. Nothing here writes to a store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_recall.editing import with_body, with_fields
from agentm_recall.front_matter import find_block, plain_fields, read_fields
from agentm_recall.layout import FOLDERS, KINDS, is_note, kind_by_place, place_of
from agentm_recall.note import DELETED, parse_note
from agentm_recall.rendering import is_text, new_text
from agentm_recall.saving import slugify
from agentm_recall.supersession import claims, superseded_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_kernel.plugin import Device, Locator, StorageBackend
    from agentm_recall.front_matter import Fields


class NoteFormat:
    """How a note is spelled, and where it lies."""

    kinds = KINDS
    folders: Mapping[str, str] = FOLDERS
    """The folder of each kind, below a project or below the personal notes."""

    def place(self, kind: str, slug: str, project: Locator | None) -> Locator:
        """Where a note of that kind belongs; `project` is the project's folder, `None` for a personal note."""
        return place_of(kind, slug, project)

    def named_project(self, device: Device, name: str, *, read_only: bool) -> tuple[StorageBackend, Locator]:
        """The store and the folder of the project with that name, in whichever store of this device it is."""
        from agentm_recall.named_projects import named_project

        found = named_project(device, name, read_only=read_only, may_be_new=True)
        return found.backend, found.folder

    def check_personal(self, device: Device) -> None:
        """Raise, with what to run, where a personal note would be told to everybody who has the store."""
        from agentm_recall.scopes import own_store

        own_store(device, read_only=True)

    def slug(self, text: str) -> str:
        """The words of `text` with hyphens between them."""
        return slugify(text)

    def is_note(self, key: str) -> bool:
        """Whether the file at `key` is a note."""
        return is_note(key)

    def kind(self, key: str) -> str:
        """The kind of a note that does not say it."""
        return kind_by_place(key)

    def render(self, fields: Mapping[str, str | Sequence[str]], body: str) -> str:
        """The text of a new note."""
        lines = _plain_lines(fields, "\n")
        return new_text(fields, body) if lines is None else f"---\n{lines}---\n\n{body}"

    def parse(self, text: str) -> tuple[Fields, str, str | None]:
        """The fields of a note, its body, and what is wrong with its front matter, if something is."""
        block = find_block(text)
        if block is None:
            return {}, text, None
        fields, problem = read_fields(text[block.start : block.end])
        return fields, text[block.body :], problem

    def with_fields(self, key: str, text: str, changes: Mapping[str, str | Sequence[str]]) -> str:
        """`text` with these fields set and no other byte changed; `InvalidContentError` where that cannot be."""
        block = find_block(text)
        if block is not None:
            yaml = text[block.start : block.end]
            fields = plain_fields(yaml)
            lines = _plain_lines(changes, "\r\n" if yaml.endswith("\r\n") else "\n")
            if fields is not None and lines is not None and fields.keys().isdisjoint(changes):
                wanted = {**fields, **{name: _value(value) for name, value in changes.items()}}
                if plain_fields(yaml + lines) == wanted:
                    return text[: block.end] + lines + text[block.end :]
        return with_fields(key, text, changes)

    def replaced(self, texts: Mapping[str, str]) -> set[str]:
        """The keys of the notes among these, by their keys, that others have replaced."""
        return superseded_keys(parse_note(key, text)[0] for key, text in texts.items())

    def hidden_together(self, ones: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
        """What sessions are told only as long as these notes, by their keys, and those others are apart.

        Each with the note of the other lot that would hide it, because it names that slug in `supersedes`.
        """
        lots = [[parse_note(key, text)[0] for key, text in lot.items() if is_note(key)] for lot in (ones, others)]
        apart = superseded_keys(lots[0]) | superseded_keys(lots[1])
        every = [*lots[0], *lots[1]]
        hidden = superseded_keys(every) - apart
        return {
            note.key: next(by.key for by in every if claims(by, note))
            for note in every
            if note.key in hidden and note.status != DELETED
        }

    def with_body(self, text: str, body: str) -> str:
        """`text` with another body below the same front matter."""
        return with_body(text, body)


def _plain_lines(fields: Mapping[str, str | Sequence[str]], newline: str) -> str | None:
    """Fields whose values need no quotes, as lines; `None` if one does, and the YAML library has to be asked.

    Thousands of notes are written at once, and the library takes milliseconds for each value.
    """
    items = [item for value in fields.values() for item in ([value] if isinstance(value, str) else value)]
    if any(item != item.strip() or not is_text(item) for item in items):
        return None
    lines = [
        f"{name}: {value}" if isinstance(value, str) else f"{name}: [{', '.join(value)}]"
        for name, value in fields.items()
    ]
    wanted = {name: _value(value) for name, value in fields.items()}
    text = "".join(f"{line}{newline}" for line in lines)
    return text if plain_fields(text) == wanted else None


def _value(value: str | Sequence[str]) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


FORMAT = NoteFormat()
