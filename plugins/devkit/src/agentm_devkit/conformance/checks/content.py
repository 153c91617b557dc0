"""Text goes in and comes out byte for byte, or is refused before anything is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import Check, check
from agentm_devkit.conformance.expect import NotApplicable, Violation, refused, same, shown, unchanged
from agentm_kernel.plugin import MAX_CONTENT_BYTES, InvalidContentError, Locator

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench

_NOTE = Locator("dir/note.md")
_LARGE = 17 * 65_536
_MOST = 64 * 1024 * 1024
"""Of a store that takes more than this it is not tried where it ends."""


def _keeps(name: str, what: str, *samples: str) -> Check:
    """A check that each of `samples` survives a round trip."""

    def body(bench: Bench) -> None:
        for sample in samples:
            bench.store.write(_NOTE, sample)
            same(f"after write({shown(sample)}), read", bench.store.read(_NOTE), sample)

    return Check(name, "content", f"{what} survives byte for byte", body, rows=(20,))


check_crlf = _keeps("crlf", "CRLF", "one\r\ntwo\r\n", "mixed\r\nand\nnot")
check_bare_cr = _keeps("bare_cr", "a bare CR", "one\rtwo\r", "\r")
check_missing_final_newline = _keeps("missing_final_newline", "a missing final newline", "one", "one\ntwo")
check_extra_newlines = _keeps("extra_newlines", "white space at either end", "\n\n  one  \n\n", " ", "\t\n")
check_bom = _keeps("bom", "a byte order mark", "\ufeffone\n", "\ufeff", "one\ufefftwo\n")
check_nul = _keeps("nul", "NUL", "a\0b\n", "\0")
check_emoji = _keeps("emoji", "text beyond ASCII", "naïve 日本語\n", "👩\u200d💻🏽 \U0010ffff\n")
check_unicode_form = _keeps("unicode_form", "decomposed text", "cafe\u0301\n", "Å Å ﬁ\n", "e\u0301\u0323\n")
check_line_separators = _keeps(
    "line_separators", "every other line separator", "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g", "\x1a\n", "\x7f\x9b\n"
)
check_empty_note = _keeps("empty_note", "an empty note", "")


@check("content", rows=(20,))
def check_large_note(bench: Bench) -> None:
    """A large note survives byte for byte."""
    note = bench.lines("0123456789abcdé", _LARGE)
    try:
        bench.store.write(_NOTE, note)
    except InvalidContentError as error:
        raise Violation(
            f"write of {len(note.encode()):,} bytes raised {type(error).__name__}: {error} (a store or a layer that "
            f"takes less than {MAX_CONTENT_BYTES:,} bytes declares `size_limit`, in bytes)"
        ) from error
    same(f"after write({shown(note)}), read", bench.store.read(_NOTE), note)


@check("content")
def check_empty_note_exists(bench: Bench) -> None:
    """An empty note is a note: it exists, is listed, and has the size 0."""
    store = bench.store
    store.write(_NOTE, "")
    same(f"exists({shown(_NOTE)})", store.exists(_NOTE), True)
    same("list('dir')", store.list(Locator("dir")), [_NOTE])
    same(f"info({shown(_NOTE)}).size", store.info(_NOTE).size, 0)


@check("content", rows=(21,))
def check_surrogates_in_content(bench: Bench) -> None:
    """Content with a lone surrogate raises `InvalidContentError` and changes nothing."""
    store = bench.store
    store.write(_NOTE, "one\n")
    with unchanged(store):
        for content in ("a\ud800b", "\udcff", "fine\n" * 1000 + "\udfff"):
            refused(InvalidContentError, store.write, _NOTE, content)
            refused(InvalidContentError, store.write, Locator("new/note.md"), content)


@check("content", rows=(24,))
def check_content_that_is_not_text(bench: Bench) -> None:
    """Content that is not a `str` raises `InvalidContentError` and changes nothing."""
    store = bench.store
    store.write(_NOTE, "one\n")
    with unchanged(store):
        for content in (b"two\n", bytearray(b"two\n"), None, 5, ["two\n"]):
            refused(InvalidContentError, store.write, _NOTE, content)


@check("content", rows=(23,))
def check_size_limit(bench: Bench) -> None:
    """Content over the limit (16 MB, or the store's `size_limit`) is an `InvalidContentError` and changes nothing."""
    store, limit = bench.store, _limit(bench)
    store.write(_NOTE, "one\n")
    with unchanged(store):
        refused(InvalidContentError, store.write, _NOTE, "x" * (limit + 1))


@check("content", rows=(23,))
def check_size_limit_counts_bytes(bench: Bench) -> None:
    """The size limit counts UTF-8 bytes, not characters."""
    store, limit = bench.store, _limit(bench)
    store.write(_NOTE, "one\n")
    with unchanged(store):
        refused(InvalidContentError, store.write, _NOTE, "€" * (limit // 3 + 1))


def _limit(bench: Bench) -> int:
    if bench.size_limit > _MOST:
        raise NotApplicable(f"the store takes notes of more than {_MOST:,} bytes")
    return bench.size_limit
