"""The fence: a note's text, shown so that it cannot end its own quotation and hides nothing from a reader.

Anybody may have written a note. Its file name, kind and source come from it as well, so they stand inside the fence.
All work here is linear in the text, whatever the text is.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_recall.note import Note

_LONGEST_FACT = 80
_LONGEST_KEY = 300
_LONGEST_RUN = 80
"""Backticks in a row that are shown; the fence is one longer, so the run is what a fence may cost."""
_RUN = "`" * _LONGEST_RUN

_INVISIBLE = (
    (0x00, 0x08),
    (0x0E, 0x1F),
    (0x7F, 0x84),
    (0x86, 0x9F),
    (0xAD, 0xAD),  # soft hyphen
    (0x034F, 0x034F),  # grapheme joiner
    (0x061C, 0x061C),
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200B),
    (0x200E, 0x200F),
    (0x202A, 0x202E),  # direction
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),
    (0xFDD0, 0xFDEF),
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x13430, 0x1345F),
    (0x1BCA0, 0x1BCA3),
    (0x1D159, 0x1D159),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags and more selectors
)
"""Ranges of characters that a reader does not see and a model does."""
_LINE_ENDS = frozenset((0x0B, 0x0C, 0x85, 0x2028, 0x2029))
_SPACES = frozenset((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x2800))
"""Spaces of other widths. Which one it is says nothing to a reader, and could say something to a model."""

_NON_JOINER, _JOINER = "\u200c", "\u200d"
_JOINED = (
    (0x0600, 0x0DFF),  # Arabic, Syriac and the scripts of India, whose letters a joiner shapes
    (0x0F00, 0x109F),
    (0x1780, 0x18AF),
    (0xFB50, 0xFDFF),
    (0xFE70, 0xFEFC),
)
_PICTURES = ((0x2190, 0x2BFF), (0x1F000, 0x1FAFF))
"""Emoji, which only a joiner puts together."""


_LETTER, _PICTURE = 1, 2
_PLAIN = bytes((0x0A, *range(0x20, 0x7F)))
_VISIBLE: dict[int, int | None] = {0x0D: 0x0A}
"""What is shown for each character that has been met, as `str.translate` takes it."""


def visible(text: str) -> str:
    """`text` without what a reader would not see: controls, direction marks, selectors, joiners that join nothing."""
    if text.isascii() and not text.encode().translate(None, _PLAIN):
        return text
    text = text.replace("\r\n", "\n")
    for code in set(map(ord, text)).difference(_VISIBLE):
        _VISIBLE[code] = _shown_for(code)
    text = text.translate(_VISIBLE)
    if _NON_JOINER in text:
        text = _with_useful_joiners(text, _NON_JOINER, (_LETTER,))
    return _with_useful_joiners(text, _JOINER, (_LETTER, _PICTURE)) if _JOINER in text else text


def _shown_for(code: int) -> int | None:
    if code in _LINE_ENDS:
        return 0x0A
    if code in _SPACES:
        return 0x20
    return None if _is_among(code, _INVISIBLE) else code


def _is_among(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(start <= code <= end for start, end in ranges)


def visible_line(text: str, longest: int = _LONGEST_KEY) -> str:
    """The same in one line of bounded length."""
    if len(text) <= longest and text.isascii() and text.isprintable() and "  " not in text and text == text.strip():
        return text  # as nearly every name and date is
    return " ".join(visible(text[: 4 * longest]).split())[:longest]


def fenced(header: str, text: str) -> str:
    """Both between fences that neither of them can end. They are `visible` already."""
    inside = bounded_runs(f"{header}\n\n{text}" if text else header)
    fence = "`" * max(3, longest_run(inside) + 1)
    return f"{fence}note\n{inside}\n{fence}\n"


def header_of(note: Note, left: int = 0, remark: str = "") -> str:
    """What is known about a note, in one line; `left` characters of it are not shown."""
    facts = [note.kind, note.changed[:10], f"from {note.source}" if note.source else ""]
    if note.confidence is not None:
        facts.append(f"confidence {note.confidence:g}")
    if note.is_verified:
        facts.append(f"verified {note.verified[:10]}")
    if note.is_overdue:
        facts.append(f"stale since {note.stale_after[:10]}: check it")
    facts.append(remark)
    if note.problem:
        facts.append(note.problem)
    if left:
        from shlex import quote

        facts.append(f"cut, {left:,} more characters: `agentm notes show {quote(visible_line(note.slug))}`")
    shown = ", ".join(visible_line(fact, _LONGEST_KEY if left else _LONGEST_FACT) for fact in facts if fact)
    return f"{visible_line(note.key.removesuffix('.md'))} ({shown})"


def bounded_runs(text: str) -> str:
    """`text` with no more than `_LONGEST_RUN` backticks in a row."""
    if _RUN not in text:
        return text
    first, *rest = text.split(_RUN)
    kept = [part.lstrip("`") for part in rest]  # the rest of a run stands at the head of the next part
    return _RUN.join((first, *filter(None, kept[:-1]), kept[-1]))


def longest_run(text: str) -> int:
    """The length of the longest run of backticks, up to `_LONGEST_RUN`: a text with a run of ten has one of nine."""
    low, high = 0, _LONGEST_RUN if "`" in text else 0
    while low < high:
        middle = (low + high + 1) // 2
        if "`" * middle in text:
            low = middle
        else:
            high = middle - 1
    return low


def _with_useful_joiners(text: str, joiner: str, kinds: tuple[int, ...]) -> str:
    """`text` with `joiner` only between two characters of one of the `kinds`."""
    first, *rest = text.split(joiner)
    kept = [first]
    before = _kind_of(first[-1:])
    for part in rest:
        if before and before in kinds and before == _kind_of(part[:1]):
            kept.append(joiner)
        kept.append(part)
        before = _kind_of(part[-1:])
    return "".join(kept)


def _kind_of(character: str) -> int:
    """What a joiner can do for a character: `_LETTER`, `_PICTURE` or 0 for nothing."""
    if not character:
        return 0
    if _is_among(ord(character), _PICTURES):
        return _PICTURE
    return _LETTER if _is_among(ord(character), _JOINED) else 0


def tokens(text: str) -> int:
    """About how many tokens a text is: a quarter of its bytes, so that no script is taken for cheaper than it is."""
    length = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return (length + 3) // 4 or 1


def shortened(text: str, length: int) -> str:
    """The beginning of a text in at most `length` bytes, up to the end of a line where there is one near."""
    kept = text.encode("utf-8", "replace")[:length].decode("utf-8", "ignore")
    line_end = kept.rfind("\n")
    return kept[:line_end] if line_end > length // 2 else kept
