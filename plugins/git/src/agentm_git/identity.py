"""Whose name a commit carries, in git's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_git.runner import user_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentm_git.settings import Settings
    from agentm_kernel.plugin import Author

NOBODY = "noreply.agentm.invalid"
"""The last part is reserved: mail to such an address arrives nowhere. Policies use it too, for whoever has none."""

_FIELDS = ("name", "email")


def operator_of(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """`name` and `email` of the operator: what git would sign a commit in `folder` with, as far as it was told."""
    told = user_settings(environ, folder)
    for field in _FIELDS:
        told[field] = _plain(environ.get(f"GIT_AUTHOR_{field.upper()}", "")) or _plain(told.get(field, ""))
    return {field: value for field, value in told.items() if value}


def signature(authors: Sequence[Author], settings: Settings, operator: Mapping[str, str]) -> dict[str, str]:
    """The variables that tell git who makes a commit: whom a policy names, else the configuration, else git's own."""
    first = authors[0] if authors else None
    name = _plain(first.name if first else settings.name or operator.get("name", "")) or "agentm"
    email = _plain(first.email if first else settings.email or operator.get("email", ""))
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
