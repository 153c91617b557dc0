"""Reading the corpus, and putting it into a store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentm_kernel import Locator
from agentm_recall.layout import place_of
from agentm_recall.rendering import new_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import StorageBackend

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """A note of the corpus."""

    project: str | None
    kind: str
    slug: str
    date: str
    tags: tuple[str, ...]
    supersedes: tuple[str, ...]
    title: str
    body: str

    @property
    def locator(self) -> Locator:
        folder = Locator(f"projects/{self.project}") if self.project else None
        return place_of(self.kind, self.slug, folder)

    @property
    def text(self) -> str:
        fields: dict[str, str | tuple[str, ...]] = {"kind": self.kind, "status": "active"}
        if self.tags:
            fields["tags"] = self.tags
        fields |= {"created": self.date, "updated": self.date, "source": "agent"}
        if self.supersedes:
            fields["supersedes"] = self.supersedes
        return new_text(fields, f"# {self.title}\n\n{self.body}\n")


@dataclass(frozen=True)
class Question:
    """What somebody working on `project` asks; `wrong` notes must not stand above the best answer."""

    category: str
    project: str
    text: str
    answers: frozenset[str]
    wrong: frozenset[str]


def notes(*, more: bool = False) -> list[Entry]:
    """The notes of the first corpus; with `more` also those that the later questions add to it."""
    return _notes("notes.txt") + (_notes("more_notes.txt") if more else [])


def _notes(name: str) -> list[Entry]:
    entries = []
    project = None
    for line in _lines(name):
        if line.startswith("project "):
            project = line.removeprefix("project ").strip()
            continue
        kind, slug, date, tags, supersedes, title, body = (part.strip() for part in line.split("|"))
        entries.append(Entry(project, kind, slug, date, tuple(tags.split()), tuple(supersedes.split()), title, body))
    return entries


def questions(entries: list[Entry]) -> list[Question]:
    """The first questions, each of one line."""
    keys = _keys(entries)
    found = []
    for line in _lines("questions.txt"):
        category, project, text, answers, wrong = (part.strip() for part in line.split("|"))
        found.append(_question(keys, category, project, text, answers, wrong))
    return found


def later_questions(entries: list[Entry], name: str = "more_questions.txt") -> list[Question]:
    """Questions of any length: what stands below a line that begins with `@`, up to the next one."""
    keys = _keys(entries)
    found = []
    whole = (_HERE / name).read_text(encoding="utf-8")
    for block in ("\n" + whole).split("\n@ ")[1:]:
        head, _, below = block.partition("\n")
        fields = [part.strip() for part in head.split("|", 4)]
        text = fields[4] if len(fields) > 4 else below.strip("\n")
        found.append(_question(keys, fields[0], fields[1], text, fields[2], fields[3]))
    return found


def _keys(entries: list[Entry]) -> dict[tuple[str | None, str], str]:
    return {(entry.project, entry.slug): entry.locator.key for entry in entries}


def _question(
    keys: dict[tuple[str | None, str], str], category: str, project: str, text: str, answers: str, wrong: str
) -> Question:
    def key_of(name: str) -> str:
        other, slash, slug = name.rpartition("/")
        return keys.get((other if slash else project, slug)) or keys[(None, slug)]

    return Question(
        category,
        project,
        text,
        frozenset(key_of(name) for name in answers.split()),
        frozenset(key_of(name) for name in wrong.split()),
    )


def fill(store: StorageBackend, entries: list[Entry]) -> None:
    for entry in entries:
        store.write(entry.locator, entry.text)


def _lines(name: str) -> Iterator[str]:
    for line in (_HERE / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line
