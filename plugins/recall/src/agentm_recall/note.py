"""One model of a note: a fact in a Markdown file, with front matter that people may have written."""

from __future__ import annotations

from time import strftime

from agentm_recall.front_matter import find_block, read_fields
from agentm_recall.layout import kind_by_place, project_of, slug_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_recall.front_matter import Fields

ACTIVE = "active"
DELETED = "deleted"
SUPERSEDED = "superseded"

_LONGEST_TITLE = 120


class Note:
    """What is known about a note without its text. Every field has a value, whatever the file says.

    Session start makes a thousand of these, so the class has slots and no ceremony; nothing changes one.
    """

    __slots__ = (
        "key",
        "kind",
        "status",
        "title",
        "tags",
        "project",
        "created",
        "updated",
        "source",
        "confidence",
        "supersedes",
        "problem",
        "verified",
        "stale_after",
        "changed",
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
        """When the note last said something: dates as text sort by time."""

    @property
    def is_verified(self) -> bool:
        return bool(self.verified) and self.verified.casefold() not in ("false", "no", "never")

    @property
    def is_overdue(self) -> bool:
        """Whether the day is over after which it should not be believed without a look."""
        return is_date(self.stale_after) and self.stale_after[:10] < strftime("%Y-%m-%d")

    @property
    def slug(self) -> str:
        return slug_of(self.key)

    def __repr__(self) -> str:
        return f"Note({self.key!r}, kind={self.kind!r}, status={self.status!r})"


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
    note = Note(
        key,
        _line(fields, "kind") or kind_by_place(key),
        _line(fields, "status").lower() or ACTIVE,
        _line(fields, "title") or title_of(body) or slug_of(key),
        _lines(fields, "tags"),
        project_of(key) or _line(fields, "project") or None,
        _line(fields, "created"),
        _line(fields, "updated"),
        _line(fields, "source"),
        _share(_line(fields, "confidence")),
        _lines(fields, "supersedes"),
        problem,
        _line(fields, "verified"),
        _line(fields, "stale_after"),
    )
    return note, body


def title_of(body: str) -> str:
    """The first heading of the first lines, else the first line that says something."""
    first = ""
    for line in body[:2000].split("\n")[:30]:
        text = line.strip()
        if text.startswith("#") and text.lstrip("#").startswith(" "):
            return text.lstrip("#").strip()[:_LONGEST_TITLE]
        first = first or text
    return first[:_LONGEST_TITLE]


def _line(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not value:
        return ""
    return " ".join((value if isinstance(value, str) else " ".join(value)).split())


def _lines(fields: Fields, name: str) -> tuple[str, ...]:
    """A list, however it was written: as YAML's list, or as words with commas between them."""
    value = fields.get(name)
    if not value:
        return ()
    items = value.split(",") if isinstance(value, str) else value
    return tuple(text for item in items if (text := " ".join(item.split()).lstrip("#")))


def _share(text: str) -> float | None:
    """A confidence between 0 and 1; anything else says nothing."""
    try:
        value = float(text or -1)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
