"""What became of the lines that a memory was asked to keep, and the words for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Verdict:
    asked: int = 0
    """Lines that somebody asked to add."""
    refused: int = 0
    """… and was told that it did not work."""
    lost: int = 0
    """… and was told that it worked; it is nowhere."""
    torn: int = 0
    """Pieces of lines, and times that the memory could not be read at all."""
    misplaced: int = 0
    """Lines that were called done and went somewhere else than into the memory."""
    untold: int = 0
    """Versions that lie there, of which the program tells nobody."""
    beside: int = 0
    """Lines that are not in the note, but in a version that the program kept and lists. Not counted as a fault."""
    did: str = ""
    """How much of the work was done, where that depends on how fast a program is."""
    said: str = ""
    """The first refusal, or what else is worth knowing."""
    milliseconds: float = 0.0

    @property
    def silent(self) -> int:
        """Everything that went wrong without a word."""
        return self.lost + self.torn + self.misplaced + self.untold

    def words(self) -> str:
        if self.milliseconds:
            return f"{self.milliseconds:.1f} ms"
        parts = [
            (self.lost, f"**{self.lost} of {self.asked} lost**"),
            (self.torn, f"**{self.torn} torn**"),
            (self.misplaced, f"**{self.misplaced} misplaced**"),
            (self.untold, "**copy untold**"),
            (self.refused, f"{self.refused} of {self.asked} refused"),
            (self.beside, f"{self.beside} in a kept copy"),
        ]
        found = ", ".join(words for count, words in parts if count) or "kept"
        return f"{found} ({self.did})" if self.did else found

    def fields(self) -> dict[str, Any]:
        return {**asdict(self), "silent": self.silent, "words": self.words()}
