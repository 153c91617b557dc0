"""Whose name a commit carries, in git's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_git.settings import Settings
    from agentm_kernel.plugin import Author

NOBODY = "noreply.agentm.invalid"
"""The last part is reserved: mail to such an address arrives nowhere. Policies use it too, for whoever has none."""


def signature(authors: Sequence[Author], settings: Settings) -> dict[str, str]:
    """The variables that tell git who makes a commit."""
    first = authors[0] if authors else None
    name = _plain(first.name if first else settings.name) or "agentm"
    email = _plain(first.email if first else settings.email)
    if not email or email.endswith(f"@{NOBODY}"):
        email = _plain(settings.email) or email or f"agentm@{NOBODY}"
    return {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", email))
    }


def message_with(message: str, authors: Sequence[Author]) -> str:
    """The message, with a line for everybody but the author."""
    lines = [f"Co-authored-by: {_plain(other.name) or 'agentm'} <{_plain(other.email)}>" for other in authors[1:]]
    text = message.replace("\0", "").strip() or "agentm: notes"
    return "\n\n".join([text, *(["\n".join(lines)] if lines else [])]) + "\n"


def _plain(text: str) -> str:
    """Without what ends or brackets a name in git's own format."""
    return "".join(c for c in text if c.isprintable() and c not in "<>").strip(" .,:;\"'\\")
