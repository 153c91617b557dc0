"""What a gate has to say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One place that breaks one rule, with a sentence that says which and what to do."""

    file: str
    line: int
    rule: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.sentence}"
