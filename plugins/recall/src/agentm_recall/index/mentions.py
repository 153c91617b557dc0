"""What of a project a note names: files, functions, commits. Found when the note is indexed, checked much later.

Only what is written as one of these counts: a path with an ending, or a file name, or `name()` between backticks, and
a hash behind the word "commit". A note may speak of anything; whether it is the project's is for the check to say.
"""

from __future__ import annotations

import re

FILE, FUNCTION, COMMIT = "file", "function", "commit"

_READ = 20_000
"""Characters of a note that are looked through."""
_MOST = 40
_PATH = re.compile(
    r"(?<![\w/.:@~*{}<>$-])(?:\./)?((?:[\w.+-]{1,80}/){1,12}[\w.+-]{1,80}\.[A-Za-z][A-Za-z0-9]{0,5})(?![\w/*({<])"
)
_NAME = re.compile(r"`([\w+-][\w.+-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,5})`")
_CALL = re.compile(r"`(?:[\w]+\.)*([A-Za-z_]\w{3,80})\([^`\n]{0,80}\)`")
_COMMIT = re.compile(r"\bcommit\s+`?((?=[0-9a-f]*\d)[0-9a-f]{7,40})\b", re.IGNORECASE)


def mentions(body: str) -> list[tuple[str, str]]:
    """Kind and name of each, without repetition."""
    text = body[:_READ]
    found: dict[tuple[str, str], None] = {}
    for kind, pattern in ((FILE, _PATH), (FILE, _NAME), (FUNCTION, _CALL), (COMMIT, _COMMIT)):
        if kind != COMMIT or "commit" in text.lower():
            found |= dict.fromkeys((kind, name.lower() if kind == COMMIT else name) for name in pattern.findall(text))
    return list(found)[:_MOST]
