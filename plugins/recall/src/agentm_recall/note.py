"""One model of a note: a fact in a Markdown file, with front matter that people may have written."""

from __future__ import annotations

from time import strftime

from agentm_recall.front_matter import find_block, read_fields
from agentm_recall.layout import ALWAYS_LOAD, is_personal, kind_by_place, project_of, slug_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Locator, StorageBackend
    from agentm_recall.front_matter import Fields

ACTIVE = "active"
DELETED = "deleted"
SUPERSEDED = "superseded"
OPERATOR = "operator"

_LONGEST_TITLE = 120


class Brief:
    """As much of a current note as choosing among many takes."""

    __slots__ = ("changed", "created", "key", "project", "size", "status", "supersedes")

    def __init__(
        self, key: str, project: str | None, changed: str, created: str, supersedes: tuple[str, ...], size: int
    ) -> None:
        self.key = key
        self.status = ACTIVE
        self.project = project
        self.supersedes = supersedes
        self.changed = changed
        """When the note last said something: dates as text sort by time."""
        self.created = created
        self.size = size
        """About how many characters it has; 0 if that is not known."""

    @property
    def slug(self) -> str:
        return slug_of(self.key)


class Note(Brief):
    """What is known about a note without its text. Every field has a value, whatever the file says.

    Nothing changes one.
    """

    __slots__ = (
        "confidence",
        "kind",
        "problem",
        "source",
        "stale_after",
        "tags",
        "title",
        "updated",
        "verified",
    )

    def __init__(
        self,
        key: str,
        kind: str,
        status: str,
        title: str,
        tags: tuple[str, ...] = (),
        project: str | None = None,
        created: str = "",
        updated: str = "",
        source: str = "",
        confidence: float | None = None,
        supersedes: tuple[str, ...] = (),
        problem: str | None = None,
        verified: str = "",
        stale_after: str = "",
    ) -> None:
        self.key = key
        self.kind = kind
        self.status = status
        self.title = title
        self.tags = tags
        self.project = project
        self.created = created
        self.updated = updated
        self.source = source
        self.confidence = confidence
        self.supersedes = supersedes
        self.problem = problem
        self.verified = verified
        """When somebody last found it to be true: a date, or words."""
        self.stale_after = stale_after
        """The date after which it should not be believed without a look."""
        self.changed = updated or created
        self.size = 0

    @property
    def is_verified(self) -> bool:
        return bool(self.verified) and self.verified.casefold() not in ("false", "no", "never")

    @property
    def is_overdue(self) -> bool:
        """Whether the day is over after which it should not be believed without a look."""
        return bool(self.stale_after) and is_date(self.stale_after) and self.stale_after[:10] < strftime("%Y-%m-%d")

    def __repr__(self) -> str:
        return f"Note({self.key!r}, kind={self.kind!r}, status={self.status!r})"


def is_by_operator(note: Note) -> bool:
    """Whether it is a standing note and the operator's own word: written by hand, or saved on a terminal."""
    return note.key.startswith(f"{ALWAYS_LOAD}/") and note.source.casefold() in ("", OPERATOR)


def is_date(text: str) -> bool:
    """Whether a text begins with a day such as 2026-03-31."""
    parts = text[:10].split("-")
    return [len(part) for part in parts] == [4, 2, 2] and all(part.isascii() and part.isdigit() for part in parts)


def parse_note(key: str, text: str) -> tuple[Note, str]:
    """The note at `key`, and its body: the text without the front matter."""
    block = find_block(text)
    fields: Fields = {}
    problem = None
    if block is not None:
        fields, problem = read_fields(text[block.start : block.end])
    body = text[block.body :] if block else text.removeprefix("\ufeff")
    said = {name: _line(value) for name, value in fields.items() if value}.get
    note = Note(
        key,
        said("kind") or kind_by_place(key),
        said("status", ACTIVE).lower() or ACTIVE,
        said("title") or title_of(body) or slug_of(key),
        _lines(fields, "tags"),
        project_of(key) or (None if is_personal(key) else said("project") or None),
        said("created", ""),
        said("updated", ""),
        said("source", ""),
        _share(said("confidence", "")),
        _lines(fields, "supersedes"),
        problem,
        said("verified", ""),
        said("stale_after", ""),
    )
    return note, body


def stored_text(backend: StorageBackend, locator: Locator) -> str:
    """The text of a note for whoever is to be told it. Zero bytes alone are none: it was lost, and that is said."""
    text = backend.read(locator)
    if text and not text.strip("\0"):
        from shlex import quote

        from agentm_kernel.plugin import InvalidContentError

        raise InvalidContentError(
            f"'{locator}' holds nothing but zero bytes, as a power cut or a sync tool leaves a file",
            hint=f"`agentm notes history {quote(slug_of(locator.key))}` shows what is known of it; so may a "
            "checkpoint, or the versions that your sync tool keeps",
        )
    return text


def title_of(body: str) -> str:
    """The first heading of the first lines, else the first line that says something."""
    first = ""
    for line in body[:2000].split("\n")[:30]:
        text = line.strip()
        if text[:1] == "#" and (heading := text.lstrip("#"))[:1] == " ":
            return heading.strip()[:_LONGEST_TITLE]
        first = first or text
    return first[:_LONGEST_TITLE]


def _line(value: str | list[str]) -> str:
    if not isinstance(value, str):
        value = " ".join(value)
    elif " " not in value and value.isprintable():
        return value
    return " ".join(value.split())


def _lines(fields: Fields, name: str) -> tuple[str, ...]:
    """A list, however it was written: as YAML's list, or as words with commas between them."""
    value = fields.get(name)
    if not value:
        return ()
    items = value.split(",") if isinstance(value, str) else value
    return tuple(text for item in items if (text := " ".join(item.split()).lstrip("#")))


def _share(text: str) -> float | None:
    """A confidence between 0 and 1; anything else says nothing."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
