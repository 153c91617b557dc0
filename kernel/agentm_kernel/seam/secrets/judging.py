"""Whether a value is a secret or only stands where one would: placeholders, references, words and digests."""

from __future__ import annotations

from itertools import pairwise

_PLACEHOLDERS = (
    b"example placeholder changeme change-me change_me your- your_ yourtoken yourkey yourpass my-secret"
    b" mysecret dummy redacted xxxx **** .... fake insert replace sample process.env os.environ getenv config."
    b" settings. secrets. self. this. args. import.meta ${ $( {{ }} <% %( #{ %s todo not-a- not_a_ notareal"
    b" not-real abcd1234 1234abcd deadbeef op:// arn:aws vault: secretref file:// https:// http:// keyring: env:"
    b" lorem"
).split()
"""What people, documentation and templates write where a secret would stand."""

_TRIVIAL = frozenset(
    b"admin administrator guest mysql mariadb pass passwd password password1 passwort postgres postgresql pwd"
    b" root toor secret secrets test tests testing token user username userpass letmein none null nil string"
    b" number required optional true false undefined changeit default str int bool bytes text varchar char"
    b" hidden masked encrypted hashed prompt stdin empty blank unset missing invalid incorrect wrong forgotten"
    b" tiger scott name rabbitmq minio minioadmin redis mongo elastic neo4j foobar value apikey api_key"
    b" access_token refresh_token bearer basic kennwort nopass nopasswd something whatever unknown private"
    b" public internal disabled enabled write read".split()
)
"""Values that protect nothing: development databases, types and words of an interface."""

_COMMON_PAIRS = frozenset(
    b"er in mm re te on es at or ti st le ed en de al co se ar nt ng li ra et ro an ec pe me it ri io tr ta ne"
    b" ma is di un ct as fi to si ge nd ns pr na ca el ic la ac ea pa ve il lo ex ch rs ce nc he th em ty ss am"
    b" ll od rr ts rt ni ur ad no yp ab om ou da po mp ol ck ef pl va ep id bl im mo ut oc fo ke ap su sc op ee"
    b" ha ly mi ul ot cl ho nf pt sh tu ig ai ir ff ie sp os ia so tt ba us do ag rm iv py cr ow lt ev lu ls ze"
    b" iz fa pi tc pp rc oo ip ld up vi um sa ue ib fe if qu ds wa hi be gr ub ci gi rg xt rd rn ry fu eg bu bi"
    b" du fr wi sy ru fl tl cu tp xp dd ua ew bo gs nu ov ui au ei nn ey rv".split()
)
"""The two hundred commonest pairs of letters in code and prose: most of any word, three tenths of a random text."""

_TECHNICAL = frozenset(
    b"sha1 sha256 sha384 sha512 md5 aes128 aes256 rsa2048 rsa4096 hs256 rs256 es256 base64 base32 utf8 oauth2"
    b" oauth1 k8s s3 ec2 http2 http3 x86 x64 x509 ed25519 secp256k1 argon2 argon2id pbkdf2 ipv4 ipv6 v1 v2 v3 v4"
    b" 1password p256 m2m win32 i18n l10n a11y 32bit 64bit 1st 2nd 3rd utf16 iso8601 rfc2617 2fa u2f fido2 mp3"
    b" mp4 h264 db1 db2 bcrypt2".split()
)
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
    return bool(user and colon and len(password) > 2) and user.isascii() and not is_placeholder(password)


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
