"""OKF 0.2: a folder of Markdown in which every file says its `type`.

The front matter of the note goes along as one quoted text (`agentm_head`), and the body as it is. So other tools read
fields that they know, and an import puts the very bytes together again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_import.exports.stored import parsed
from agentm_import.yaml_text import NotYaml, mapping, one_text, split
from agentm_kernel.plugin import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_import.contract import NoteFormat
    from agentm_import.exports.stored import StoredNote

RESERVED = frozenset(("index.md", "log.md"))
_LONGEST_HEAD = 6000
_STATUS = {"deleted": "deprecated", "superseded": "deprecated"}


def okf_files(notes: NoteFormat, stored: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Path and text of each file of the bundle."""
    files: dict[str, str] = {}
    index: list[tuple[str, str, str]] = []
    for key, text in stored:
        if not key.endswith(".md"):
            files[key] = text
            continue
        note = parsed(notes, key, text)
        path = _path(key)
        files[path] = concept(note)
        index.append((path, note.title, note.summary(100)))
    files["index.md"] = _index(index)
    return files


def _path(key: str) -> str:
    """A note that has a reserved name gets another one; its key says the true one."""
    folder, _, name = key.rpartition("/")
    if name.lower() not in RESERVED:
        return key
    renamed = f"{name[:-3]}-note-{content_hash(key)[:6]}.md"
    return f"{folder}/{renamed}" if folder else renamed


def concept(note: StoredNote) -> str:
    """One note as OKF has it."""
    head = note.text[: len(note.text) - len(note.body)]
    body = note.body
    if len(head) > _LONGEST_HEAD:
        head, body = "", note.text
    lines = [f"type: {quoted(note.kind)}", f"title: {quoted(note.title[:200])}"]
    if summary := note.summary():
        lines.append(f"description: {quoted(summary)}")
    if tags := note.lines("tags"):
        lines.append(f"tags: [{', '.join(map(quoted, tags))}]")
    lines.append(f"status: {_STATUS.get(note.status, 'stable')}")
    if note.changed:
        lines.append(f"generated: {{ by: {quoted(_actor(note))}, at: {quoted(note.changed)} }}")
    lines += [
        f"agentm_key: {quoted(note.key)}",
        f"agentm_head: {quoted(head)}",
        f"agentm_sha256: {content_hash(note.text)}",
    ]
    return "---\n" + "\n".join(lines) + "\n---\n" + body


def _actor(note: StoredNote) -> str:
    who = note.line("source") or "agentm"
    return "human:operator" if who == "operator" else f"{who}/unknown"


def original(text: str) -> tuple[str, str, bool] | None:
    """Key and text of the note that an export made `text` of, and whether nobody edited it since; `None` if none."""
    yaml, body, _ = split(text)
    if yaml is None or "agentm_key" not in yaml:
        return None
    try:
        fields = mapping(yaml)
    except NotYaml:
        return None
    key, head, digest = (fields.get(name) for name in ("agentm_key", "agentm_head", "agentm_sha256"))
    if not isinstance(key, str) or not isinstance(head, str):
        return None
    return key, head + body, content_hash(head + body) == digest


def invalid(path: str, text: str) -> str | None:
    """Why a file does not keep the rules of OKF; `None` if it does."""
    yaml, _, _ = split(text)
    if path.rpartition("/")[2] in RESERVED:
        return "front matter in an index" if yaml is not None and path != "index.md" else None
    if yaml is None:
        return "no front matter"
    try:
        return None if one_text(mapping(yaml).get("type")) else "no type"
    except NotYaml as error:
        return f"front matter that is not YAML: {error}"


def _index(entries: list[tuple[str, str, str]]) -> str:
    lines = ["---", 'okf_version: "0.2"', "---", "", "# Notes", ""]
    for path, title, summary in sorted(entries):
        name = title.replace("[", "(").replace("]", ")")
        place = "".join(f"%{ord(c):02X}" if c in " ()<>%" else c for c in path)
        lines.append(f"* [{name}]({place})" + (f" - {summary}" if summary else ""))
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A text in YAML's double quotes; what YAML does not let stand is written as an escape."""
    return '"' + "".join(_escaped(letter) for letter in text) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter == "\n":
        return "\\n"
    if letter.isprintable() and letter != "\ufeff":
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
