"""What makes a key dangerous, written a second time and in another way, to judge what the kernel accepts.

The kernel asks "may this be a key?" with sets and prefixes; this asks "what could go wrong with it?" with patterns
and Unicode's own tables. A mistake would have to be made twice to go unnoticed.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata

_WINDOWS_CHARACTER = re.compile(r'[\\<>:"|?*]')
_WINDOWS_DEVICE = re.compile(
    r"^(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|COM[0-9\u00b9\u00b2\u00b3]|LPT[0-9\u00b9\u00b2\u00b3])[ \t]*(\.|$)",
    re.IGNORECASE,
)
_CONTROL_FOLDER = re.compile(
    r"^(\.git.*|\.(hg|hgrc|svn|bzr|jj|obsidian|claude|codex|cursor|gemini|vscode|idea|zed|husky|envrc|direnv"
    r"|devcontainer|dropbox|dropbox\.cache|stfolder|stignore|stversions|sync)|_darcs|\.agentm-.*"
    r"|(git|github|gitmod|hg|hgrc|svn|bzr|jj|obsidi|claude|codex|cursor|gemini|vscode|idea|zed|husky|envrc|direnv"
    r"|devcon|dropbo|stfold|stigno|stvers|sync|darcs)~[0-9]+(\..*)?)$"
)
# Emoji as letters: S a symbol, T a skin tone, V the selector after a symbol, J the joiner between two of them.
_EMOJI = re.compile(r"(?:SV?|T)(?:JSV?T?)*")
_EMOJI_LETTERS = {
    "\u200d": "J",
    "\ufe0f": "V",
    **dict.fromkeys("\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff", "T"),
}
# Ranges of Unicode's Default_Ignorable_Code_Point that no general category covers.
_IGNORABLE = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164), (0xFFA0, 0xFFA0)),
    *((0xFE00, 0xFE0F), (0xE0100, 0xE01EF)),
)


def danger_of(key: str) -> str | None:
    """Why no store may hold `key`, or `None`. Only for keys that claim to be normal already."""
    if key and (posixpath.isabs(key) or posixpath.normpath("/" + key) != "/" + key):
        return "it does not stay where it is put"
    if unicodedata.normalize("NFC", key) != key:
        return "it has a second spelling"
    if len(key.encode("utf-8", "surrogatepass")) > 1000:
        return "it is too long"
    for character in key if key.isascii() else _without_emoji(key):
        if _is_hidden(character):
            return f"{character!r} cannot be seen"
    for part in key.split("/") if key else ():
        if reason := _danger_of_part(part):
            return f"{part!r} {reason}"
    return None


def _danger_of_part(part: str) -> str | None:
    if _WINDOWS_CHARACTER.search(part):
        return "has a character that Windows refuses"
    if len(part.encode("utf-8", "surrogatepass")) > 200:
        return "is too long"
    if part != part.rstrip() or part.endswith("."):
        return "loses its end on Windows"
    if _WINDOWS_DEVICE.match(part):
        return "is a device on Windows"
    if any(_CONTROL_FOLDER.match(spelling) for spelling in {part.casefold(), part.lower(), part.upper().lower()}):
        return "belongs to another program"
    return None


def _without_emoji(key: str) -> str:
    """The key without whole emoji: a joiner or selector that is left over joins or selects nothing."""
    letters = "".join(
        _EMOJI_LETTERS.get(character) or ("S" if unicodedata.category(character) == "So" else "x")
        for character in key
    )
    emoji = [match.span() for match in _EMOJI.finditer(letters)]
    inside = {index for first, end in emoji for index in range(first, end)}
    return "".join(character for index, character in enumerate(key) if index not in inside)


def _is_hidden(character: str) -> bool:
    code = ord(character)
    is_ignorable = any(first <= code <= last for first, last in _IGNORABLE)
    return (
        is_ignorable or code & 0xFFFE == 0xFFFE or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    )
