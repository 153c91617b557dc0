"""Finding and reading the YAML block at the head of a note.

Nearly every front matter is `key: value` lines. Those are read here, in microseconds; whatever is not beyond doubt
goes to the YAML library, which costs a hook more than everything else it does. A test holds the two equal. Reading
is forgiving: a block that is not YAML costs a note its fields, never its text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Fields = dict[str, str | list[str]]

MAX_CHARACTERS = 16_384
"""A block that has not ended by then is text. Fields take a few hundred characters; a parser should see no more."""

_MOST_FOR_LIBRARY = 4096
"""Characters that the YAML library is given when notes are read: a hostile block of these takes it 0.1 s."""

_BOM = "\ufeff"
_NOT_FIRST = frozenset(" -?:,[]{}#&*!|>'\"%@`~=<")
"""What YAML gives a meaning at the start of a value, and a little more."""
_NOT_IN_LIST = frozenset("[]{}#:&*!|>'\"%@`")


class Block:
    """Where the front matter of a text lies: `text[start:end]` is the YAML, `text[body:]` the note itself."""

    __slots__ = ("body", "end", "start")

    def __init__(self, start: int, end: int, body: int) -> None:
        self.start = start
        self.end = end
        self.body = body


def find_block(text: str) -> Block | None:
    """The front matter between two lines of `---`, the first of them the first line; `None` without one."""
    if text.startswith("---\n"):
        first_end = 3
    else:
        opening = len(_BOM) if text.startswith(_BOM) else 0
        first_end = text.find("\n", opening, opening + 80)
        if first_end < 0 or text[opening:first_end].rstrip() != "---":
            return None
    start = position = first_end + 1
    end = text.find("\n---", first_end, start + MAX_CHARACTERS)
    if end >= 0 and text.startswith("\n", end + 4) and text.find("\n...", first_end, end) < 0:
        return Block(start, end + 1, end + 5)  # as nearly every one ends; whatever else there is takes line by line
    limit = min(len(text), start + MAX_CHARACTERS)
    while position < limit:
        line_end = text.find("\n", position)
        if text.startswith(("---", "..."), position):
            after = line_end + 1 if line_end >= 0 else len(text)
            if len(text[position:after].rstrip()) == 3:
                return Block(start, position, after)
        if line_end < 0:
            return None
        position = line_end + 1
    return None


def read_fields(yaml: str) -> tuple[Fields, str | None]:
    """The fields of a front matter, and what is wrong with it, if something is.

    A value is its text, whatever type YAML would make of it, or a list of texts; other shapes are left out.
    """
    fields = plain_fields(yaml)
    if fields is not None:
        return fields, None
    if len(yaml) > _MOST_FOR_LIBRARY:
        return {}, f"its front matter is unusual and longer than {_MOST_FOR_LIBRARY:,} characters, so it is not read"
    from agentm_recall.yaml_fields import library_fields

    return library_fields(yaml)


def plain_fields(yaml: str) -> Fields | None:
    """The fields of a block in the plain subset, `None` if it is not: unusual, or not YAML at all."""
    fields: Fields = {}
    listed: list[str] | None = None  # the list that `- item` lines go to
    indent: int | None = None  # of that list's lines, once one is known
    for raw in yaml.split("\n"):
        usual = _KNOWN.get(raw) or _usual_field(raw)
        if usual is not None and listed is None and usual[0] not in fields:
            fields[usual[0]] = usual[1]
            continue
        line = raw.removesuffix("\r").rstrip(" ")
        if not line:
            continue
        if not line.isprintable():
            return None
        if line[0] == "#":
            continue
        item = line.lstrip(" ") if line[0] in " -" else ""
        if item.startswith("- ") and listed is not None:
            depth = len(line) - len(item)
            entry = _plain_scalar(item[2:].lstrip(" "))
            if entry is None or indent not in (None, depth):
                return None
            indent = depth
            listed.append(entry)
            continue
        key, colon, rest = line.partition(":")
        if not colon or not _is_plain_key(key) or key in fields or (rest and rest[0] != " "):
            return None
        if listed == []:
            fields[_last(fields)] = ""  # nothing followed: an empty value after all
        listed = indent = None
        text = rest.strip(" ")
        if not text:
            fields[key] = listed = []
            continue
        value_or_list = _plain_list(text) if text[0] == "[" else _plain_scalar(text)
        if value_or_list is None:
            return None
        fields[key] = value_or_list
    if listed == []:
        fields[_last(fields)] = ""
    return fields


def _last(fields: Fields) -> str:
    return next(reversed(fields))


_USUAL = frozenset(
    (
        *("kind", "status", "title", "tags", "project", "created", "updated", "source", "confidence"),
        *("supersedes", "verified", "stale_after"),
    )
)


_KNOWN: dict[str, tuple[str, str]] = {}
"""Lines that were beyond doubt, with key and value: kinds, states and sources are the same in note after note."""
_MOST_KNOWN = 1000


def _usual_field(line: str) -> tuple[str, str] | None:
    """Key and value of a line that is beyond doubt at a glance, as most are: no mark of YAML, no space at an end."""
    key, _, value = line.partition(": ")
    if (
        key not in _USUAL
        or not value
        or value[0] in _NOT_FIRST
        or value[-1] in ": "
        or "#" in value
        or ": " in value
        or not value.isprintable()
    ):
        return None
    if len(_KNOWN) < _MOST_KNOWN:
        _KNOWN[line] = key, value
    return key, value


def _is_plain_key(key: str) -> bool:
    return key in _USUAL or (
        key.isascii() and key[:1].isalpha() and key.replace("_", "").replace("-", "").isalnum() and len(key) < 100
    )


def _plain_scalar(text: str) -> str | None:
    quote = text[0] if text else ""
    if quote in ('"', "'"):
        inner = text[1:-1]
        closed = len(text) > 1 and text[-1] == quote
        return inner if closed and quote not in inner and "\\" not in inner else None
    if not text or text[0] in _NOT_FIRST or " #" in text or ": " in text or text[-1] == ":":
        return None
    return text


def _plain_list(text: str) -> list[str] | None:
    inner = text[1:-1].strip(" ")
    if text[-1] != "]" or not _NOT_IN_LIST.isdisjoint(inner):
        return None
    if not inner:
        return []
    items = [item.strip(" ") for item in inner.split(",")]
    return items if all(item and item[0] not in _NOT_FIRST for item in items) else None
