"""The scan: which rules apply to a text, and where.

What a secret itself looks like is in `formats.txt`, the commands and headers that it stands in are in `contexts.txt`,
and names that it has (`password = …`) in `names.txt`: which of their values count takes more than a table to say.
"""

from __future__ import annotations

from agentm_kernel.seam.secrets import judging
from agentm_kernel.seam.secrets.tables import pattern_of, rules_of, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST_NAME = 60
_JUDGED = 96  # how much of a value is looked at to judge it


_FORMATS = [
    (kind, words, word, word.lstrip("^").encode().replace(b"\\x20", b" "), rest)
    for kind, words, rest in table("formats.txt")
    for word in words.split()
    if word != "~"
]
_CONTEXTS = [
    (kind, word[0], word.lstrip("!%").encode(), rest)
    for kind, words, rest in rules_of("contexts.txt")
    for word in words.split()
]
(_, _words, _NAMES), (_, _openers, _rest) = rules_of("names.txt")
_NAME_WORDS = _words.encode().split()
_KEYS_THAT_OPEN = f"(?:{'|'.join(_openers.split())}){_rest}"


def findings_in(data: bytes) -> Iterator[tuple[int, str]]:
    """Where secrets seem to stand, and of which kind, in no order."""
    yield from _formats(data)
    lowered = data.lower()  # of bytes only ASCII letters change, so positions stay
    for kind, sign, word, rest in _CONTEXTS:
        for place, match in _matches(data, lowered, word, rest, len(word)):
            if _counts(match["value"][:_JUDGED], sign):
                yield _name_start(data, place), kind
    for word in _NAME_WORDS:
        for place, match in _matches(data, lowered, word, _NAMES, 0):
            start = _name_start(data, place)
            if named := _kind_named(data, data[start:place], match):
                yield start, named


def _formats(data: bytes) -> Iterator[tuple[int, str]]:
    for kind, words, word, beginning, rest in _FORMATS:
        if beginning not in data:
            continue
        for match in pattern_of(rest, beginning).finditer(data):
            start, value = match.start(), match[0][len(beginning) :]
            if word[0] != "^" and not _begins_a_word(data, start, beginning):
                continue
            if len(value) > 8 and judging.is_placeholder(value):
                continue
            if words[0] != "~" or _is_token(value[:_JUDGED]):
                yield start, kind


def _matches(
    data: bytes, lowered: bytes, word: bytes, rest: str, skipped: int
) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Each place where `word` stands, and `rest` matches so many bytes after its beginning."""
    place = lowered.find(word)
    while place >= 0:
        match = pattern_of(rest).match(data, place + skipped)
        after = place + len(word)
        if match:
            yield place, match
            # A long value is not looked at again from each word inside it, which would cost its square.
            after = match.end() if match.end() - after > _JUDGED else after
        place = lowered.find(word, after)


def _counts(value: bytes, sign: str) -> bool:
    if sign == "%":
        return judging.is_login_in_base64(value)
    is_any = sign == "!" or judging.is_password(value) or _is_token(value)
    return is_any and not judging.is_placeholder(value)


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
    if any(word in before.lower() for word in judging.HARMLESS) or judging.is_placeholder(value):
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
    is_label = value.isalpha() and value[:1].isupper() and value[1:].islower()  # `Kennwort`, beside a form's field
    is_likely = judging.is_password(value) or judging.is_random(value, 12 if quoted else 16)
    return "password" if is_likely or (is_plain and not is_label) else None


def _opens(data: bytes, name: bytes, value: bytes, match: re.Match[bytes], *, quoted: bool) -> bool:
    """Whether a key or token of this name and value opens something."""
    place = match.start()
    if match["key"] and not pattern_of(_KEYS_THAT_OPEN).search(data[max(0, place - 20) : place]):
        return False
    is_flag = data[place - 1 : place] == b"-"
    if not quoted and not is_flag and _is_reference(value):
        return False
    if judging.is_random(value, 12 if quoted or name.isupper() else 16):
        return True
    is_told = bool(match["key"]) or b"secret" in name.lower() or name.isupper()
    # A UUID names things more often than it opens them.
    return judging.is_hexadecimal_key(value) and (b"-" not in value or is_told or is_flag)


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
