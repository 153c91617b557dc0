"""Collecting what is wrong with a document, each with its position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_storage_policy.errors import CONFIG_INVALID, Finding

if TYPE_CHECKING:
    from agentm_storage_policy.reading.yaml_text import Path, YamlDocument


class Notes:
    """The findings about one document. Without its text, everything stands at its beginning."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self.document: YamlDocument | None = None

    def error(
        self,
        path: Path,
        message: str,
        *,
        hint: str | None = None,
        code: str = CONFIG_INVALID,
        on_key: bool = False,
    ) -> None:
        self._add(code, path, message, hint, on_key)

    def warn(self, path: Path, message: str, *, hint: str | None = None) -> None:
        self._add("", path, message, hint, False)

    def error_at(self, line: int, column: int, message: str, *, hint: str | None = None) -> None:
        """Something that is no part of the values: a comment, the prose, the syntax."""
        self.findings.append(Finding(CONFIG_INVALID, "", message, hint, self.file, line, column))

    @property
    def has_errors(self) -> bool:
        return any(finding.is_error for finding in self.findings)

    def marks(self) -> dict[str, tuple[int, int]]:
        """The positions by dotted key, for what is found wrong later."""
        marks = self.document.values if self.document else {}
        return {dotted(path): (mark.line, mark.column) for path, mark in marks.items()}

    def _add(self, code: str, path: Path, message: str, hint: str | None, on_key: bool) -> None:
        line, column = self.document.mark_of(path, key=on_key) if self.document else (1, 1)
        self.findings.append(Finding(code, dotted(path), message, hint, self.file, line, column))


def dotted(path: Path) -> str:
    """`("grants", 0, "principal")` → `grants.0.principal`; a key that is not a plain word is not repeated."""
    return ".".join(_shown(part) for part in path)


def _shown(part: str | int) -> str:
    text = str(part)
    plain = text.replace("-", "").replace("_", "")
    return text if plain.isalnum() and plain.isascii() and len(text) <= 40 else "…"
