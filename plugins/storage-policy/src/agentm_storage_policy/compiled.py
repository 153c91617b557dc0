"""Documents that were parsed before, so that hooks need neither the YAML library nor the models.

A compiled document lies in this device's state directory, under the hash of its bytes and of what else it was parsed
with. It is used only if it is whole, and made only by processes that may write. Parsing is the truth; this is a copy.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel.plugin import content_hash
from agentm_storage_policy import __version__
from agentm_storage_policy.errors import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_storage_policy.parse import Parsed

_FOLDER = "policies"
_KEPT = 50
_DIGEST_BYTES = 64


def parse_once(
    data: bytes,
    file: str,
    *,
    expected: Sequence[str],
    state_dir: str,
    may_write: bool,
) -> Document:
    """`parse_bytes`, or what it answered the last time for the same bytes."""
    is_plain = file.endswith((".yaml", ".yml"))
    terms = f"{__version__}\0{sys.implementation.cache_tag}\0{','.join(expected)}\0{is_plain}\0"
    path = os.path.join(state_dir, _FOLDER, content_hash(terms.encode() + data))
    document = _load(path, file)
    if document is None:
        from agentm_storage_policy.parse import parse_bytes

        parsed = parse_bytes(data, file, expected=expected)
        document = Document.of(parsed, file)
        if may_write:
            _store(path, document)
    return document


class Document:
    """A checked document without the machinery that checked it."""

    __slots__ = ("data", "file", "kind", "marks", "warnings")

    def __init__(
        self,
        kind: str,
        data: dict[str, object],
        marks: dict[str, tuple[int, int]],
        warnings: tuple[Finding, ...],
        file: str,
    ) -> None:
        self.kind = kind
        self.data = data
        self.marks = marks
        self.warnings = warnings
        self.file = file

    @classmethod
    def of(cls, parsed: Parsed, file: str) -> Document:
        return cls(parsed.kind, parsed.data, parsed.marks, parsed.warnings, file)

    def finding(self, code: str, key: str, message: str, hint: str | None = None) -> Finding:
        """Something that turned out to be wrong after parsing, with the position of the field."""
        place = key
        while place and place not in self.marks:
            place = place.rpartition(".")[0]
        line, column = self.marks.get(place, (1, 1))
        return Finding(code, key, message, hint, self.file, line, column)


def _load(path: str, file: str) -> Document | None:
    import marshal

    try:
        with open(path, "rb") as stored:
            content = stored.read()
    except OSError:
        return None
    digest, payload = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if content_hash(payload).encode() != digest:
        return None
    kind, data, marks, warnings = marshal.loads(payload)  # noqa: S302 - made by us, in the user's own directory
    found = tuple(
        Finding("", key, message, hint, file, line, column) for key, message, hint, line, column in warnings
    )
    return Document(kind, data, marks, found, file)


def _store(path: str, document: Document) -> None:
    import marshal

    from agentm_kernel.plugin import atomic_write, make_private_folder

    warnings = tuple((w.key, w.message, w.hint, w.line, w.column) for w in document.warnings)
    payload = marshal.dumps((document.kind, document.data, document.marks, warnings))
    folder = os.path.dirname(path)
    try:
        make_private_folder(folder)
        atomic_write(path, content_hash(payload).encode() + payload)
        _sweep(folder)
    except OSError:
        pass  # without it the next process parses again


def _sweep(folder: str) -> None:
    with os.scandir(folder) as found:
        newest = sorted((entry.stat().st_mtime, entry.path) for entry in found)
    for _, path in newest[:-_KEPT]:
        os.unlink(path)
