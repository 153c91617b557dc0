"""Locators: the only handle on storage that the engine holds.

A key is refused here, before any I/O, when some file system, sync tool or object store would read it as another
key, or when another program would run what is stored under it. The rules are the union over all platforms: a
vault written on Linux may be opened on Windows tomorrow.
"""

from __future__ import annotations

from agentm_kernel import errors
from agentm_kernel.seam import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_KEY_BYTES = 1000
MAX_SEGMENT_BYTES = 200

TEMP_PREFIX = ".agentm-"  # names of the write floor's own temporary files begin like this; no key may

_FORBIDDEN = frozenset('\\<>:"|?*') | frozenset(map(chr, range(32))) | {"\x7f"}

# Directories (and files) whose content other programs run or obey.
_CONTROL_NAMES = frozenset(
    (
        *(".bzr", ".claude", ".codex", ".cursor", ".devcontainer", ".direnv", ".dropbox", ".dropbox.cache", ".envrc"),
        *(".gemini", ".hg", ".hgrc", ".husky", ".idea", ".jj", ".obsidian", ".stfolder", ".stignore", ".stversions"),
        *(".svn", ".sync", ".vscode", ".zed", "_darcs"),
    )
)
_CONTROL_PREFIXES = (".git", TEMP_PREFIX)  # .git itself, .gitattributes, .gitmodules, .github …

_RESERVED_STEMS = frozenset(
    ("con", "prn", "aux", "nul", "conin$", "conout$")
    + tuple(f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³")
)

# Invisible characters that Unicode does not class as "format" (Cf): fillers and joiners that render as nothing.
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u3164\uffa0"
_SELECTORS = (("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))
_EMOJI_STYLE = "\ufe0f"
_EMOJI_JOINER = "\u200d"
_AFTER_A_SYMBOL = _EMOJI_STYLE + "".join(map(chr, range(0x1F3FB, 0x1F400)))  # the five skin tones


def normalize_key(key: str) -> str:
    """Return the one spelling of `key` that backends see, or raise `InvalidLocatorError`.

    Empty and `.` segments drop, and with them a leading slash; Unicode is composed (NFC).
    """
    if not isinstance(key, str):
        raise errors.InvalidLocatorError(
            f"a locator key must be a string, not {type(key).__name__}",
            hint="pass the key as text, with / between its parts",
        )
    if 0 < len(key) <= MAX_SEGMENT_BYTES and _is_plain(f"/{key}/"):  # as nearly always, and for half the price
        return key
    if len(key) > 4 * MAX_KEY_BYTES:
        raise _refusal(key[:40] + "…", f"is longer than {MAX_KEY_BYTES} bytes")
    if not key.isascii():
        key = _composed(key)
    if not _FORBIDDEN.isdisjoint(key):
        raise _refusal(key, f"contains {ascii(next(c for c in key if c in _FORBIDDEN))}")
    segments = [segment for segment in key.split("/") if segment and segment != "."]
    for segment in segments:
        _check_segment(key, segment)
    return _bounded("/".join(segments))


def _bounded(key: str) -> str:
    if len(key) * 4 > MAX_KEY_BYTES and len(key.encode()) > MAX_KEY_BYTES:
        raise _refusal(key[:40] + "…", f"is longer than {MAX_KEY_BYTES} bytes")
    return key


_HARMLESS = dict.fromkeys(map(ord, "abcdefghijklmnopqrstuvwxyz0123456789-_. !#$%&'()+,;=@[]^`{}/"))
_DOUBTFUL = ("//", "/.", "./", " /", "/_darcs", "/con", "/prn", "/aux", "/nul", "/com", "/lpt")
"""What a listing holds, in lower case and between slashes, if any of its names might break a rule."""


def _is_plain(listing: str) -> bool:
    """Whether short names, each between slashes, are certain to break none."""
    if not listing.isascii():  # before it is folded: other letters may fold into ASCII ones
        return False
    listing = listing.lower()
    return not listing.translate(_HARMLESS) and not any(map(listing.__contains__, _DOUBTFUL))


def _check_segment(key: str, segment: str) -> None:
    if segment == "..":
        raise _refusal(key, "contains '..'")
    if segment[-1] == "." or segment[-1].isspace():
        raise _refusal(key, f"has the part {ascii(segment)}, which ends in a dot or a space")
    if len(segment) * 4 > MAX_SEGMENT_BYTES and len(segment.encode()) > MAX_SEGMENT_BYTES:
        raise _refusal(key[:40] + "…", f"has a part longer than {MAX_SEGMENT_BYTES} bytes")
    # casefold alone misses letters whose capital is ASCII (dotless i), upper alone the other way round.
    spellings = (segment.lower(),) if segment.isascii() else (segment.casefold(), segment.upper().casefold())
    for folded in spellings:
        if folded in _CONTROL_NAMES or folded.startswith(_CONTROL_PREFIXES) or _is_short_name(folded):
            raise _refusal(key, f"has the part {ascii(segment)}, which belongs to another program")
        if folded.partition(".")[0].rstrip() in _RESERVED_STEMS:
            raise _refusal(key, f"has the part {ascii(segment)}, which is a device name on Windows")


def _is_short_name(folded: str) -> bool:
    """Whether Windows could resolve this to a control directory by its 8.3 alias, as `git~1` once did."""
    stem, tilde, tail = folded.partition("~")
    if not tilde or not tail.partition(".")[0].isdigit():
        return False
    return stem in {name.lstrip("._")[:6] for name in _CONTROL_NAMES | {".git", ".github", ".gitmodules"}}


def _composed(key: str) -> str:
    """`key` in its composed form, in which everything can be seen."""
    import unicodedata

    key = unicodedata.normalize("NFC", key)
    kinds = [unicodedata.category(character) for character in key]
    for index, character in enumerate(key):
        hidden = not character.isascii() and (
            kinds[index] in ("Cc", "Cf", "Cs", "Zl", "Zp")
            or character in _BLANKS
            or any(first <= character <= last for first, last in _SELECTORS)
            or (ord(character) & 0xFFFE) == 0xFFFE
        )
        if hidden and not _is_part_of_emoji(key, kinds, index):
            raise _refusal(key, f"contains the invisible or control character {ascii(character)}")
    return key


def _is_part_of_emoji(key: str, kinds: list[str], index: int) -> bool:
    """The two invisible characters that visible emoji are spelled with, exactly between what they join.

    A selector follows a symbol. A joiner stands between two symbols, of which the first may have a selector or a skin
    tone. Neither can begin a key; nor a part of one, since a slash is no symbol.
    """
    if index == 0:
        return False
    follows_symbol = kinds[index - 1] == "So"
    if key[index] == _EMOJI_STYLE:
        return follows_symbol
    joins = key[index] == _EMOJI_JOINER and kinds[index + 1 : index + 2] == ["So"]
    return joins and (follows_symbol or key[index - 1] in _AFTER_A_SYMBOL)


def _refusal(key: str, reason: str) -> errors.InvalidLocatorError:
    return errors.InvalidLocatorError(
        f"invalid locator {ascii(key)}: it {reason}", hint="choose another name for the note"
    )


class Locator(Frozen):
    """A backend-relative key: immutable, hashable, ordered by key, normalised however it is built."""

    key: str

    def __init__(self, key: str = "") -> None:
        _keep_key(self, normalize_key(key))

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.key.split("/")) if self.key else ()

    @property
    def name(self) -> str:
        """The last part; empty for the root."""
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> Locator:
        """The locator above; the root is its own parent."""
        return _trusted(self.key.rpartition("/")[0])

    @property
    def suffix(self) -> str:
        """The name's last extension with its dot, as in `.md`; empty where there is none."""
        stem, dot, extension = self.name.rpartition(".")
        return dot + extension if stem and extension else ""

    @property
    def short_suffix(self) -> str:
        """The suffix, if it is short enough to tell what the file is."""
        return self.suffix if len(self.suffix) <= 20 else ""

    def child(self, *parts: str) -> Locator:
        """The locator below this one; each part may itself hold slashes."""
        if not all(isinstance(part, str) for part in parts):
            raise errors.InvalidLocatorError("the parts of a locator must be strings")
        below = parts[0] if len(parts) == 1 and self.takes_plainly(parts) else normalize_key("/".join(parts))
        return _trusted(_bounded(f"{self.key}/{below}" if self.key and below else self.key or below))

    def beside(self, mark: str) -> Locator:
        """Another version beside this one: `plan.md` → `plan (mark).md`; a stem that would be too long is cut."""
        suffix = self.short_suffix
        room = MAX_SEGMENT_BYTES - len(f" ({mark}){suffix}".encode())
        stem = self.name.removesuffix(suffix).encode()[:room].decode(errors="ignore").rstrip()
        return self.parent.child(f"{stem} ({mark}){suffix}")

    def takes_plainly(self, names: Sequence[str]) -> bool:
        """Whether `child` of each of these names is certain to be just that: asked of a whole listing at once."""
        longest = max(map(len, names), default=0)
        listing = f"/{'/'.join(names)}/"
        is_short = longest <= MAX_SEGMENT_BYTES and (len(self.key) + 1 + longest) * 4 <= MAX_KEY_BYTES
        return is_short and listing.count("/") == len(names) + 1 and _is_plain(listing)

    def known_children(self, names: Iterable[str]) -> list[Locator]:
        """The locators of names that `takes_plainly` or `child` has accepted below this one."""
        above = f"{self.key}/" if self.key else ""
        return [_trusted(above + name) for name in names]

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Locator) else NotImplemented

    def __lt__(self, other: Locator) -> bool:
        return self.key < other.key if isinstance(other, Locator) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.key

    def __repr__(self) -> str:
        return f"Locator({self.key!r})"


def _trusted(key: str) -> Locator:
    """A locator whose key is known to be normal already: a prefix of one that was checked."""
    locator = Locator.__new__(Locator)
    _keep_key(locator, key)
    return locator


(_keep_key,) = Locator._keepers  # noqa: SLF001 - a walk makes thousands of these
