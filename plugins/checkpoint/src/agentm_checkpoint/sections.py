"""What a note consists of, for naming what changed in it: front matter, headings, fenced code.

The sections of a note are its bytes cut into pieces, so a note is exactly the pieces joined. They are not blocks of
the tree: a root would then depend on how this module reads Markdown, and every other implementation with it. Each has
a hash of its own, which the guard keeps for the notes that it watches.
"""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_TITLE_LIMIT = 60

Mark = tuple[str, str]
"""A section without its text: its label and its hash in hex."""


class Section:
    """A piece of a note, with a label that says which."""

    __slots__ = ("data", "label", "line")

    def __init__(self, label: str, line: int, data: bytes) -> None:
        self.label = label
        self.line = line
        self.data = data


def split(data: bytes) -> list[Section]:
    """The sections of a note, in order."""
    cutter = _Cutter()
    lines = data.splitlines(keepends=True)
    at = _front_matter_end(lines)
    if at:
        cutter.begin("the front matter", 1)
        cutter.add(lines[:at])
    else:
        cutter.begin("the text before the first heading", 1)
    while at < len(lines):
        fence = _fence(lines[at])
        if fence:
            end = _fence_end(lines, at, fence)
            cutter.begin_code(lines[at], at + 1)
            cutter.add(lines[at:end])
            cutter.resume(end + 1)
            at = end
        elif (title := _heading(lines, at)) is not None:
            cutter.begin_heading(title, at + 1)
            cutter.add(lines[at : at + 1])
            at += 1
        else:
            cutter.add(lines[at : at + 1])
            at += 1
    return cutter.sections()


class _Cutter:
    """Collects lines into sections and keeps the labels of one note apart."""

    def __init__(self) -> None:
        self._found: list[tuple[str, int, list[bytes]]] = []
        self._heading = ""
        self._blocks = 0

    def begin(self, label: str, line: int) -> None:
        self._found.append((label, line, []))

    def begin_heading(self, title: str, line: int) -> None:
        self._heading = f"'{title}'"
        self._blocks = 0
        self.begin(f"the section {self._heading}", line)

    def begin_code(self, opening: bytes, line: int) -> None:
        self._blocks += 1
        under = f" under {self._heading}" if self._heading else ""
        language = _printable(opening.strip().lstrip(b"`~").strip().split(b" ")[0])
        self.begin(f"code block {self._blocks}{f' ({language})' if language else ''}{under}", line)

    def resume(self, line: int) -> None:
        under = f" under {self._heading}" if self._heading else ""
        self.begin(f"the text after code block {self._blocks}{under}", line)

    def add(self, lines: Sequence[bytes]) -> None:
        self._found[-1][2].extend(lines)

    def sections(self) -> list[Section]:
        """What was collected; of labels that occur more than once, each but the first gets a number."""
        used: dict[str, int] = {}
        sections = []
        for label, line, lines in self._found:
            if not lines:
                continue
            used[label] = used.get(label, 0) + 1
            number = used[label]
            sections.append(Section(label if number == 1 else f"{label} ({number})", line, b"".join(lines)))
        return sections


def _front_matter_end(lines: list[bytes]) -> int:
    """How many lines the YAML at the top takes; 0 if there is none."""
    if lines and lines[0].removeprefix(b"\xef\xbb\xbf").strip() == b"---":
        for number, line in enumerate(lines[1:], start=2):
            if line.strip() in (b"---", b"..."):
                return number
    return 0


def _fence(line: bytes) -> bytes:
    """The fence that a line opens, empty if it opens none."""
    text = line.lstrip(b" ")
    for mark in (b"`", b"~"):
        if len(line) - len(text) <= 3 and text.startswith(mark * 3):
            run = len(text) - len(text.lstrip(mark))
            return b"" if mark == b"`" and b"`" in text[run:] else mark * run
    return b""


def _fence_end(lines: list[bytes], start: int, fence: bytes) -> int:
    """The line after the one that closes the fence; the end of the note if none does."""
    for number in range(start + 1, len(lines)):
        text = lines[number].strip()
        if text.startswith(fence) and not text.strip(fence[:1]):
            return number + 1
    return len(lines)


def _heading(lines: list[bytes], at: int) -> str | None:
    """The title, if a heading stands there: with number signs, or underlined."""
    text = lines[at].strip()
    level = len(text) - len(text.lstrip(b"#"))
    if 1 <= level <= 6 and (len(text) == level or text[level : level + 1] in (b" ", b"\t")):
        return _printable(text[level:].strip().rstrip(b"#").strip())
    underline = lines[at + 1].strip() if at + 1 < len(lines) else b""
    if text and len(underline) >= 3 and not underline.strip(b"="):
        return _printable(text)
    return None


def _printable(text: bytes) -> str:
    """A title for a terminal: whoever wrote the note must not be able to send control characters with it."""
    title = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text.decode(errors="replace"))
    return title if len(title) <= _TITLE_LIMIT else title[: _TITLE_LIMIT - 1] + "…"


# ------------------------------------------------------------------------------------------------ comparing


def marks_of(data: bytes) -> list[Mark]:
    """The sections as labels and hashes."""
    return [(section.label, hashlib.sha256(section.data).hexdigest()) for section in split(data)]


def changes(known: Sequence[Mark], data: bytes) -> list[str]:
    """What differs between a note as it was and as it is.

    Sections that are new are given by their line only: whoever changed the note chose their titles, and this text
    goes where agents read it.
    """
    before = dict(known)
    now = split(data)
    labels = {section.label for section in now}
    found = [
        f"{section.label} was changed"
        for section in now
        if section.label in before and before[section.label] != hashlib.sha256(section.data).hexdigest()
    ]
    found += [f"a section was added at line {section.line}" for section in now if section.label not in before]
    found += [f"{label} was removed" for label in before if label not in labels]
    if not found and [label for label, _ in known] != [section.label for section in now]:
        found.append("its sections are in another order")
    return found
