"""The text of a git configuration file, read as git reads it.

Line by line, because hooks read one on every run: most lines have neither quotes, escapes nor comments and cost a few
string operations. A test holds the answers equal to those of `git config`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANKS = " \t\r"
_COMMENTS = ("#", ";")
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}
_FALSE = ("", "false", "no", "off", "0")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_SECTION = _NAME | {"."}


class BadGitConfig(ValueError):
    """A line that git would not accept either; `line` counts from one."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line} is not valid git configuration")
        self.line = line


def parse_git_config(text: str) -> Iterator[tuple[str, str | None]]:
    """Each setting in order: its full name, such as `remote.origin.url`, and its value.

    A name alone, without `=`, has the value `None`: git reads it as true.
    """
    lines = _Lines(text)
    section = ""
    while lines.has_more():
        rest = lines.next().lstrip(_BLANKS)
        while rest.startswith("["):
            section, rest = _header(rest, lines.number)
        if rest and not rest.startswith(_COMMENTS):
            name, equals, rest = rest.partition("=")
            name = _checked_name(name.rstrip(" \t"), lines.number)
            yield f"{section}{name}", _value(rest, lines) if equals else None


def is_true(value: str | None) -> bool:
    """How git reads a setting that is either on or off."""
    return value is None or value.lower() not in _FALSE


class _Lines:
    """The lines of a text, and the number of the last one given out."""

    __slots__ = ("_lines", "number")

    def __init__(self, text: str) -> None:
        self._lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        self.number = 0

    def has_more(self) -> bool:
        return self.number < len(self._lines)

    def next(self) -> str:
        """The next line; after the last one, empty ones for ever, as git sees the end of a file."""
        self.number += 1
        return self._lines[self.number - 1] if self.number <= len(self._lines) else ""


def _checked_name(name: str, line: int) -> str:
    if not (name[:1].isalpha() and _NAME.issuperset(name)):
        raise BadGitConfig(line)
    return name.lower()


def _header(text: str, line: int) -> tuple[str, str]:
    """`[section]`, `[section "subsection"]` or `[section.subsection]`: the prefix of its names, and what follows."""
    base, bracket, rest = text[1:].partition("]")
    if bracket and base and _SECTION.issuperset(base):
        return f"{base.lower()}.", rest.lstrip(_BLANKS)
    length = next((index for index, character in enumerate(base) if character not in _SECTION), 0)
    if text[length + 1 : length + 2] not in (" ", "\t", "\r"):
        raise BadGitConfig(line)
    subsection, rest = _subsection(text[length + 1 :].lstrip(_BLANKS), line)
    return f"{base[:length].lower()}.{subsection}.", rest.lstrip(_BLANKS)


def _subsection(text: str, line: int) -> tuple[str, str]:
    """`"name"]`, in which a backslash protects the next character: the name, and what follows."""
    found: list[str] = []
    index = 1 if text.startswith('"') else len(text)
    while index < len(text):
        character = text[index]
        if character == '"' and text[index + 1 : index + 2] == "]":
            return "".join(found), text[index + 2 :]
        if character == "\\":
            index += 1
            character = text[index : index + 1]
        elif character == '"':
            break
        found.append(character)
        index += 1
    raise BadGitConfig(line)


def _value(text: str, lines: _Lines) -> str:
    if not ('"' in text or "\\" in text or "#" in text or ";" in text):
        return text.strip(_BLANKS)
    return _quoted_value(text, lines)


def _quoted_value(text: str, lines: _Lines) -> str:
    """A value with quotes, escapes, a comment behind it or continued on the next line.

    Blanks at both ends go unless quotes protect them: `end` is where the value ends if only blanks follow.
    """
    found: list[str] = []
    end = index = 0
    is_quoted = False
    while index < len(text):
        character = text[index]
        index += 1
        if character == '"':
            is_quoted = not is_quoted
            end = len(found)
            continue
        if not is_quoted and character in _COMMENTS:
            break
        if not is_quoted and character in _BLANKS:
            if found:
                found.append(character)
            continue
        if character == "\\":
            if index == len(text):
                text, index, end = lines.next(), 0, len(found)
                continue
            character = _escaped(text[index], lines.number)
            index += 1
        found.append(character)
        end = len(found)
    if is_quoted:
        raise BadGitConfig(lines.number)
    return "".join(found[:end])


def _escaped(character: str, line: int) -> str:
    try:
        return _ESCAPES[character]
    except KeyError:
        raise BadGitConfig(line) from None
