"""Whose name a commit carries, in git's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_git.settings import Settings
    from agentm_kernel.seam.provider import Author

NOBODY = "noreply.agentm.invalid"
"""The last part is reserved: mail to such an address arrives nowhere. Policies use it too, for whoever has none."""


def person(authors: Sequence[Author], settings: Settings) -> str:
    """The author, as a commit names one: `Name <address>`."""
    first = authors[0] if authors else None
    name = _plain(first.name if first else settings.name) or "agentm"
    email = _plain(first.email if first else settings.email)
    if not email or email.endswith(f"@{NOBODY}"):
        email = _plain(settings.email) or email or f"agentm@{NOBODY}"
    return f"{name} <{email}>"


def message_with(message: str, authors: Sequence[Author]) -> str:
    """The message, with a line for everybody but the author."""
    lines = [f"Co-authored-by: {_plain(other.name) or 'agentm'} <{_plain(other.email)}>" for other in authors[1:]]
    text = message.replace("\0", "").strip() or "agentm: notes"
    return "\n\n".join([text, *(["\n".join(lines)] if lines else [])]) + "\n"


def _plain(text: str) -> str:
    """Without what ends or brackets a name in git's own format."""
    return "".join(c for c in text if c.isprintable() and c not in "<>").strip(" .,:;\"'\\")
