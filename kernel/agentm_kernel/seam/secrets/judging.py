"""Whether a value is a secret or only stands where one would: placeholders, references, words and digests."""

from __future__ import annotations

from itertools import pairwise

from agentm_kernel.seam.secrets.tables import table

_LISTS = {name: words.encode().split() for name, words in table("words.txt")}
_PLACEHOLDERS, HARMLESS = _LISTS["placeholders"], _LISTS["harmless"]
_TRIVIAL, _COMMON_PAIRS, _TECHNICAL = (frozenset(_LISTS[name]) for name in ("trivial", "common pairs", "technical"))
_HEXADECIMAL = frozenset(b"0123456789abcdefABCDEF")


def is_placeholder(value: bytes) -> bool:
    lowered = value.lower()
    if lowered.strip(b".,;:!?*_") in _TRIVIAL or any(word in lowered for word in _PLACEHOLDERS):
        return True
    if value[:1] in b"$<{%([" and not value[1:2].isdigit():
        return True  # a variable, or a blank to fill in
    if value[-1:] in b">}":
        return True
    return len(set(lowered)) < 4 or _is_sequence(lowered) or (b"passw" in lowered and not any(map(_is_digit, value)))


def is_password(value: bytes) -> bool:
    """Letters and digits mixed within a word, or signs that no word and no name has: `Winter2024!`, `tr0ub4dor`."""
    value = value.rstrip(b".,;:!?)*_")
    if len(value) < 6 or is_path(value) or value.isdigit():
        return False
    if any(sign in value for sign in b"!@#$%^&*+?~"):
        return any(map(_is_digit, value)) or not value.islower()
    words = value.lower()
    is_title = value[:1].isupper() and not value.isupper() and len(value) > 7 and any(map(_is_digit, value))
    for sign in b"_./:=":
        words = words.replace(bytes((sign,)), b"-")
    if is_title and not _TECHNICAL.intersection(words.split(b"-")):
        return True  # Winter_2024
    return any(
        any(map(_is_digit, word)) and not word.isdigit() and word not in _TECHNICAL and not _is_version(word)
        for word in words.split(b"-")
    )


def is_random(value: bytes, least: int = 16) -> bool:
    """Characters as no word, name, path or digest has them."""
    if len(value) < least or is_digest(value) or len(set(value)) < min(len(value) * 0.4, 16):
        return False
    is_mixed = any(map(_is_digit, value)) or not (value.islower() or value.isupper())
    return is_mixed and not _is_wordy(value)


def _is_wordy(value: bytes) -> bool:
    common = uncommon = 0
    for before, after in pairwise(value):
        if not _is_letter(after) or (_is_letter(before) and before > 96 > after):
            continue  # a capital after a small letter begins a word
        if _is_letter(before):
            is_common = bytes((before | 32, after | 32)) in _COMMON_PAIRS
            common, uncommon = common + is_common, uncommon + (not is_common)
        elif _is_digit(before):
            uncommon += 1
    return uncommon < 3 or common >= (common + uncommon) * 0.6


def is_digest(value: bytes) -> bool:
    """Hexadecimal digits, with hyphens as in a UUID or without."""
    return _HEXADECIMAL.issuperset(value.replace(b"-", b""))


def is_hexadecimal_key(value: bytes) -> bool:
    return len(value) >= 32 and is_digest(value) and any(map(_is_digit, value)) and not value.isdigit()


def is_access_secret(value: bytes) -> bool:
    """Forty characters of base 64, as AWS gives them out: too ordinary in prose, telling as a whole value."""
    return (
        len(value) == 40
        and value.replace(b"/", b"a").replace(b"+", b"a").isalnum()
        and not is_digest(value)
        and (any(map(_is_digit, value)) and not value.islower() and not value.isupper())
    )


def is_login_in_base64(value: bytes) -> bool:
    from binascii import Error, a2b_base64

    try:
        user, colon, password = a2b_base64(value + b"=" * (-len(value) % 4)).partition(b":")
    except Error:
        return False
    return bool(user and colon) and user.isascii() and not is_placeholder(password)


def is_path(value: bytes) -> bool:
    return value.startswith((b"/", b"./", b"../", b"~/")) and _is_wordy(value)


def _is_version(word: bytes) -> bool:
    """`v2beta3`, `2fa`, `py311`, `20ms`: a few letters and a number."""
    return len(word) <= 5 or (word[:1] == b"v" and word[1:2].isdigit())


def _is_sequence(text: bytes) -> bool:
    """`abcdefgh…`, `12345678…`: a keyboard, not a generator."""
    steps = [after - before for before, after in pairwise(text)]
    return sum(step == 1 for step in steps) > len(steps) * 0.7


def _is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


def _is_letter(byte: int) -> bool:
    return 97 <= byte | 32 <= 122
