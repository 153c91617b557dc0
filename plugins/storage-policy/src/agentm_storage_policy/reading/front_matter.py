"""The YAML block at the head of a Markdown file, found without guessing."""

from __future__ import annotations

from typing import NamedTuple

from agentm_storage_policy.reading.yaml_text import Mark, UnreadableYaml

MAX_BYTES = 64 * 1024


class FrontMatter(NamedTuple):
    """The YAML text and the line of the file that it begins on."""

    text: str
    first_line: int


def decode(data: bytes) -> str:
    """The text of a document, if it has a reasonable size and is UTF-8."""
    if len(data) > MAX_BYTES:
        raise UnreadableYaml(f"larger than {MAX_BYTES // 1024} KB", Mark(1, 1))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableYaml("not UTF-8", Mark(line, 1)) from None


def front_matter(text: str, *, is_plain_yaml: bool = False) -> FrontMatter:
    """The block between two lines `---`; the whole text where the file is YAML itself."""
    lines = text.splitlines(keepends=True)
    if is_plain_yaml:
        return FrontMatter(text, 1)
    if not lines or lines[0].rstrip() != "---":
        raise UnreadableYaml("there is no front matter: the first line has to be ---", Mark(1, 1))
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in ("---", "..."):
            return FrontMatter("".join(lines[1:number]), 2)
    raise UnreadableYaml("the front matter is not closed: a second line --- is missing", Mark(len(lines), 1))
