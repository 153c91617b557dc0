"""The scan: which rules apply to a text, and where."""

from __future__ import annotations

from agentm_kernel.seam.secrets import judging
from agentm_kernel.seam.secrets.contexts import CONTEXTS, HARMLESS, KEYS_THAT_OPEN, MACROS, NAME_WORDS, NAMES
from agentm_kernel.seam.secrets.formats import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST_NAME = 60
_JUDGED = 96
"""How much of a value is looked at to judge it."""

_tables: dict[str, list[tuple[str, list[str], str]]] = {}
_patterns: dict[tuple[str, bool], re.Pattern[bytes]] = {}


def findings_in(data: bytes) -> Iterator[tuple[int, str]]:
    """Where secrets seem to stand, and of which kind, in no order."""
    yield from _formats(data)
    lowered = data.lower()  # of bytes only ASCII letters change, so positions stay
    yield from _contexts(data, lowered)
    yield from _names(data, lowered)


def _formats(data: bytes) -> Iterator[tuple[int, str]]:
    for kind, words, rest in _table(FORMATS):
        for word in words:
            beginning = word.lstrip("^").encode().replace(b"\\x20", b" ")
            if word == "~" or beginning not in data:
                continue
            for match in _pattern(_escaped(beginning) + rest, any_case=False).finditer(data):
                start, value = match.start(), match[0]
                if not word.startswith("^") and not _begins_a_word(data, start, beginning):
                    continue
                if len(value) > len(beginning) + 8 and judging.is_placeholder(value[len(beginning) :]):
                    continue
                if words[0] != "~" or _is_token(value[len(beginning) :][:_JUDGED]):
                    yield start, kind


def _contexts(data: bytes, lowered: bytes) -> Iterator[tuple[int, str]]:
    for kind, words, rest in _table(CONTEXTS):
        for word in words:
            telling = word.lstrip("!%").encode()
            place = lowered.find(telling)
            while place >= 0:
                match = _pattern(rest, any_case=True).match(data, place + len(telling))
                if match and _counts(match["value"][:_JUDGED], word[0]):
                    yield _name_start(data, place), kind
                place = lowered.find(telling, _next_place(place + len(telling), match))


def _counts(value: bytes, sign: str) -> bool:
    if sign == "%":
        return judging.is_login_in_base64(value)
    is_any = sign == "!" or judging.is_password(value) or _is_token(value)
    return is_any and not judging.is_placeholder(value)


def _names(data: bytes, lowered: bytes) -> Iterator[tuple[int, str]]:
    for word in NAME_WORDS:
        place = lowered.find(word)
        while place >= 0:
            match = _pattern(NAMES, any_case=True).match(data, place)
            if match:
                start = _name_start(data, place)
                kind = _kind_named(data, data[start:place], match)
                if kind:
                    yield start, kind
            place = lowered.find(word, _next_place(place + len(word), match))


def _next_place(after: int, match: re.Match[bytes] | None) -> int:
    """Where to go on. A long value is not looked at again from each word inside it, which would cost its square."""
    return match.end() if match and match.end() - after > _JUDGED else after


def _kind_named(data: bytes, before: bytes, match: re.Match[bytes]) -> str | None:
    """What a value is by its name, of which `before` is the left part; `None` if it is no secret."""
    name, value, quoted = (
        match[0][: match.end("closing") - match.start()],
        match["value"][:_JUDGED],
        bool(match["quote"]),
    )
    is_flag = before.startswith(b"-")
    if match["spaced"] and not (
        is_flag or before in (b"require", b"master", b"add-auth") or _follows_env(data, match, before)
    ):
        return None
    is_call = b"(" in (match["paired"] or b"") or match["closing"]
    if match["paired"] and not (is_call and b")" in data[match.end() : match.end() + 3]):
        return None
    if any(word in before.lower() for word in HARMLESS) or judging.is_placeholder(value):
        return None
    if not quoted and (data[match.end() : match.end() + 1] in (b"(", b"[") or value[:1] in b"!*&@:"):
        return None
    if match["password"] is None:
        return "key or token" if _opens(data, name, value, match, quoted=quoted) else None
    if (
        match["password"].lower() == b"pass"
        and before[-1:].isalpha()
        and not name.startswith(b"P")
        and before != b"require"
    ):
        return None  # bypass, compass
    if match["told"] and match["password"].lower() == b"pass":
        return None
    if not quoted and (b"passw" in value.lower() or _is_reference(value)):
        return None
    is_upper = name.isupper() and (before.isupper() or not before)
    is_given = bool(match["paired"]) or is_flag or (match["assigned"] or b"").rstrip(b" \t*").endswith((b"=", b"=>"))
    is_plain = (is_upper and bool(match["assigned"])) or (quoted and is_given)
    is_plain = is_plain and len(value) >= 6 and not judging.is_path(value)
    if (
        judging.is_password(value)
        or judging.is_random(value, 12 if quoted else 16)
        or (is_plain and not _is_label(value))
    ):
        return "password"
    return None


def _opens(data: bytes, name: bytes, value: bytes, match: re.Match[bytes], *, quoted: bool) -> bool:
    """Whether a key or token of this name and value opens something."""
    if match["key"]:
        place = match.start()
        if not _pattern(KEYS_THAT_OPEN, any_case=True).search(data[max(0, place - 20) : place]):
            return False
    if not quoted and _is_reference(value):
        return False
    if judging.is_random(value, 12 if quoted or name.isupper() else 16):
        return True
    if b"-" in value:  # a UUID names things more often than it opens them
        return judging.is_hexadecimal_key(value) and (
            bool(match["key"])
            or b"secret" in name.lower()
            or data[match.start() - 1 : match.start()] == b"-"
            or name.isupper()
        )
    return judging.is_hexadecimal_key(value)


# ------------------------------------------------------------------------------------------------ places and words


def _name_start(data: bytes, place: int) -> int:
    """Where the name begins of which something stands at `place`."""
    start = place
    while start > 0 and place - start < _LONGEST_NAME and data[start - 1] in _WORD:
        start -= 1
    return start


def _begins_a_word(data: bytes, start: int, beginning: bytes) -> bool:
    if start == 0 or (start > 1 and data[start - 2 : start - 1] == b"\\"):
        return True  # \n, \t of a text in quotes
    return data[start - 1] not in _WORD and not (beginning.isalnum() and data[start - 1] in b"+/")


def _follows_env(data: bytes, match: re.Match[bytes], before: bytes) -> bool:
    """`ENV DB_PASSWORD …` of a Dockerfile."""
    start = match.start() - len(before)
    return data[max(0, start - 4) : start].upper() == b"ENV "


def _is_token(value: bytes) -> bool:
    return judging.is_random(value) or judging.is_hexadecimal_key(value)


def _is_label(value: bytes) -> bool:
    """`Kennwort`: what a form shows beside the field."""
    return value[:1].isupper() and value[1:].islower() and value.isalpha()


def _is_reference(value: bytes) -> bool:
    """`user.password`, `row.token2`: names with dots between them."""
    parts = value.split(b".")
    return len(parts) > 1 and all(part.isidentifier() and len(part) < 24 for part in map(_text, parts))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


# ------------------------------------------------------------------------------------------------ tables


def _table(table: str) -> list[tuple[str, list[str], str]]:
    if table not in _tables:
        _tables[table] = list(_parsed(table))
    return _tables[table]


def _parsed(table: str) -> Iterator[tuple[str, list[str], str]]:
    for line in table.strip().replace("\n    ", " ").splitlines():
        kind, words, rest = line.split(" | ", 2)
        yield kind, words.split(), rest


def _pattern(source: str, *, any_case: bool) -> re.Pattern[bytes]:
    pattern = _patterns.get((source, any_case))
    if pattern is None:
        import re

        expanded = source
        for name, part in MACROS.items():
            expanded = expanded.replace(name, part)
        pattern = re.compile(expanded.encode(), re.IGNORECASE if any_case else 0)
        _patterns[source, any_case] = pattern
    return pattern


def _escaped(word: bytes) -> str:
    import re

    return re.escape(word.decode())
