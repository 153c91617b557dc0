"""Secrets in text: one rule set for notes, harness state, policies and the configuration.

The text is looked at as bytes, without the characters that cannot be seen. Each rule names the words that have to
stand in the text before it is tried, so most rules cost one search for a few bytes; patterns are compiled when
first needed, and `re` is not imported before. Every pattern is bounded and is tried only where one of its words
stands: the time grows with the text and never faster, whatever the text is, so there is no deadline. The rules are
the tables beside this file.
"""

from __future__ import annotations

from agentm_kernel.errors import InvalidContentError
from agentm_kernel.seam import MAX_CONTENT_BYTES, Frozen

OVERRIDE = "--allow-secrets"

_INVISIBLE = tuple(
    chr(code).encode()
    for code in (0xAD, 0x34F, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070))
    + (0xFEFF, *range(0xFE00, 0xFE10), 0x115F, 0x1160, 0x3164)
)
_TELLING = (
    *("password", "passwd", "passphrase", "secret", "token", "credential", "credentials", "apikey", "accesskey"),
    *("accesskeyid", "accountkey", "clientsecret", "connectionstring", "encryptionkey", "privatekey", "secretkey"),
    *("secretaccesskey", "sharedkey", "signingkey"),
)


class Finding(Frozen):
    """A line that seems to hold a secret. The secret itself is not repeated anywhere."""

    kind: str
    line: int
    column: int

    @property
    def likeness(self) -> str:
        return f"looks like {'an' if self.kind[0] in 'aeioAEIO' else 'a'} {self.kind}"

    def __str__(self) -> str:
        return f"line {self.line} {self.likeness}"


def find_secrets(text: str) -> list[Finding]:
    """The lines that seem to hold a secret, in order, one finding each."""
    from agentm_kernel.seam.secrets.scan import findings_in

    data = text.encode("utf-8", "surrogatepass")
    if not text.isascii():
        for character in _INVISIBLE:
            data = data.replace(character, b"")
    findings: list[Finding] = []
    line, counted, line_end = 1, 0, -1
    for start, kind in sorted(findings_in(data), key=lambda found: found[0]):
        if start > line_end:
            line, counted = line + data.count(b"\n", counted, start), start
            line_start = data.rfind(b"\n", 0, start) + 1
            line_end = data.find(b"\n", start) % (len(data) + 1)
            findings.append(Finding(kind, line, len(data[line_start:start].decode("utf-8", "replace")) + 1))
    return findings


def refuse_secrets(what: str, text: str, *, hint: str = f"if it is none, add {OVERRIDE}") -> None:
    """`InvalidContentError` naming the line, before any store has seen the text. What is larger than a note is not
    looked at: it is refused at once.
    """
    if len(text) > MAX_CONTENT_BYTES:
        raise InvalidContentError(
            f"{what} has {len(text):,} characters; the limit is {MAX_CONTENT_BYTES:,}; nothing was saved",
            hint="split it into notes of one fact each, or say where the file is kept",
        )
    found = find_secrets(text)
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise InvalidContentError(
            f"{what} seems to hold a secret: {found[0]}{more}; nothing was saved",
            hint=f"say where the secret is kept instead of what it is; {hint}",
        )


def names_a_secret(key: str, *, anywhere: bool = False) -> bool:
    """Whether a field of this name would hold a secret: `DB_PASSWORD`, `secretAccessKey`, not `max_tokens`.

    `anywhere` takes the word wherever it stands in the name: to hide too much costs less than to show too much.
    """
    letters = "".join(letter for letter in key.lower() if letter.isalnum())
    return any(word in letters for word in _TELLING) if anywhere else letters.endswith(_TELLING)


def is_bare_secret(value: str) -> bool:
    """Whether the whole value of a field looks like an access secret, which no name and no prefix gives away."""
    from agentm_kernel.seam.secrets.judging import is_access_secret

    return is_access_secret(value.strip().encode("utf-8", "surrogatepass"))


def is_secret_field(key: str, value: str) -> bool:
    """Whether a field of this name and value holds a secret."""
    return is_bare_secret(value) or bool(find_secrets(value) or find_secrets(f'{key} = "{value}"'))
