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
_patterns: dict[tuple[bytes, str], re.Pattern[bytes]] = {}


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
            for match in _pattern(rest, beginning).finditer(data):
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
                match = _pattern(rest).match(data, place + len(telling))
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
            match = _pattern(NAMES).match(data, place)
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
    name, value = match[0][: match.end("closing") - match.start()], match["value"][:_JUDGED]
    quoted = bool(match["quote"])
    is_flag = before.startswith(b"-")
    start = match.start() - len(before)
    follows_env = data[max(0, start - 4) : start].upper() == b"ENV "  # `ENV DB_PASSWORD …` of a Dockerfile
    if match["spaced"] and not (is_flag or before in (b"require", b"master", b"add-auth") or follows_env):
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
    is_inside_a_word = before[-1:].isalpha() and not name.startswith(b"P") and before != b"require"
    if match["password"].lower() == b"pass" and (is_inside_a_word or match["told"]):
        return None  # bypass, compass
    if not quoted and (b"passw" in value.lower() or _is_reference(value)):
        return None
    is_upper = name.isupper() and (before.isupper() or not before)
    is_given = bool(match["paired"]) or is_flag or (match["assigned"] or b"").rstrip(b" \t*").endswith((b"=", b"=>"))
    is_plain = (is_upper and bool(match["assigned"])) or (quoted and is_given)
    is_plain = is_plain and len(value) >= 6 and not judging.is_path(value)
    is_label = (
        value[:1].isupper() and value[1:].islower() and value.isalpha()
    )  # `Kennwort`, beside the field of a form
    is_likely = judging.is_password(value) or judging.is_random(value, 12 if quoted else 16)
    return "password" if is_likely or (is_plain and not is_label) else None


def _opens(data: bytes, name: bytes, value: bytes, match: re.Match[bytes], *, quoted: bool) -> bool:
    """Whether a key or token of this name and value opens something."""
    if match["key"]:
        place = match.start()
        if not _pattern(KEYS_THAT_OPEN).search(data[max(0, place - 20) : place]):
            return False
    if not quoted and _is_reference(value):
        return False
    if judging.is_random(value, 12 if quoted or name.isupper() else 16):
        return True
    is_told = bool(match["key"]) or b"secret" in name.lower() or name.isupper()
    is_flag = data[match.start() - 1 : match.start()] == b"-"
    # A UUID names things more often than it opens them.
    return judging.is_hexadecimal_key(value) and (b"-" not in value or is_told or is_flag)


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


def _is_token(value: bytes) -> bool:
    return judging.is_random(value) or judging.is_hexadecimal_key(value)


def _is_reference(value: bytes) -> bool:
    """`user.password`, `row.token2`: names with dots between them."""
    parts = value.decode("utf-8", "replace").split(".")
    return len(parts) > 1 and all(part.isidentifier() and len(part) < 24 for part in parts)


# ------------------------------------------------------------------------------------------------ tables


def _table(table: str) -> list[tuple[str, list[str], str]]:
    if table not in _tables:
        rows = (line.split(" | ", 2) for line in table.strip().replace("\n    ", " ").splitlines())
        _tables[table] = [(kind, words.split(), rest) for kind, words, rest in rows]
    return _tables[table]


def _pattern(rest: str, beginning: bytes = b"") -> re.Pattern[bytes]:
    """What `rest` describes after `beginning`, as it is written there; without one, in capitals or small letters."""
    pattern = _patterns.get((beginning, rest))
    if pattern is None:
        import re

        expanded = rest
        for name, part in MACROS.items():
            expanded = expanded.replace(name, part)
        pattern = re.compile(re.escape(beginning) + expanded.encode(), 0 if beginning else re.IGNORECASE)
        _patterns[beginning, rest] = pattern
    return pattern
