"""Backends that improve the text that they are given."""

from __future__ import annotations

import re
import unicodedata

from broken_backends.table import Memory, broken

from agentm_kernel.errors import InvalidContentError, NotFoundError
from agentm_kernel.seam import MAX_CONTENT_BYTES


class _Improves(Memory):
    """Changes text on its way in."""

    def improved(self, content):
        raise NotImplementedError

    def write(self, locator, content, *, if_match=None):
        if isinstance(content, str):
            content = self.improved(content)
        return super().write(locator, content, if_match=if_match)


@broken("crlf", saying="read gave 'one\\ntwo\\n' and not 'one\\r\\ntwo\\r\\n'", also=("matching_hash",))
class TranslatesNewlines(_Improves):
    def improved(self, content):
        return content.replace("\r\n", "\n")


@broken("bare_cr", saying="read gave 'one\\ntwo\\n'")
class TranslatesBareReturns(_Improves):
    def improved(self, content):
        return content if "\r\n" in content else content.replace("\r", "\n")


@broken(
    "missing_final_newline",
    saying="read gave 'one\\n' and not 'one'",
    also=("content", "conditions", "list_children", "walk_agrees_with_info"),
)
class EndsWithANewline(_Improves):
    def improved(self, content):
        return content if not content or content.endswith("\n") else content + "\n"


@broken("extra_newlines", saying="read gave 'one  \\n\\n'", also=("line_separators",))
class TrimsTheStart(_Improves):
    def improved(self, content):
        return content.lstrip(" \t\n")


@broken("bom", saying="read gave 'one\\n'", also=("matching_hash",))
class DropsTheByteOrderMark(_Improves):
    def improved(self, content):
        return content.removeprefix("\ufeff")


@broken("nul", saying="read gave 'a'")
class EndsAtNul(_Improves):
    def improved(self, content):
        return content.partition("\0")[0]


@broken("emoji", saying="read gave", also=("matching_hash", "info_size"))
class KnowsOnlyTheBasicPlane(_Improves):
    def improved(self, content):
        return re.sub("[\U00010000-\U0010ffff]", "\ufffd", content)


@broken("unicode_form", saying="read gave 'café\\n'")
class ComposesContent(_Improves):
    def improved(self, content):
        return unicodedata.normalize("NFC", content)


@broken("line_separators", saying="read gave")
class KnowsOneLineEnd(_Improves):
    def improved(self, content):
        return content.translate(dict.fromkeys((0x0B, 0x0C, 0x1C, 0x85, 0x2028, 0x2029), "\n"))


@broken("large_note", saying="different from character 65536 on")
class CutsAtSixtyFourKilobytes(_Improves):
    def improved(self, content):
        return (
            content[:65536]
            if len(content) < 2_000_000 and content.isprintable() is False and len(content) > 900_000
            else content
        )


@broken("large_note", saying="declares `size_limit`, in bytes")
class TakesLessThanItSays(Memory):
    def write(self, locator, content, *, if_match=None):
        if isinstance(content, str) and 500_000 < len(content) < 2_000_000:
            raise InvalidContentError(f"'{locator}' was not written: it is too large")
        return super().write(locator, content, if_match=if_match)


@broken("empty_note", saying="raised NotFoundError", also=("matching_hash", "absent_never_replaces"))
class TakesEmptyForMissing(Memory):
    def read(self, locator):
        text = super().read(locator)
        if not text:
            raise NotFoundError(f"'{locator}' does not exist")
        return text


@broken("empty_note_exists", saying="exists('dir/note.md') gave False")
class EmptyDoesNotExist(Memory):
    def exists(self, locator):
        return super().exists(locator) and (locator not in self._notes or bool(self._notes[locator].data))


@broken("surrogates_in_content", saying="returned 'dir/note.md'", also=("errors",))
class ReplacesSurrogates(_Improves):
    def improved(self, content):
        return content.encode("utf-8", "replace").decode()


@broken("surrogates_in_content", saying="raised the untyped UnicodeEncodeError", also=("errors",))
class SurrogatesAreARawError(_Improves):
    def improved(self, content):
        return content.encode().decode()


@broken("content_that_is_not_text", saying="returned 'dir/note.md'")
class DecodesBytes(Memory):
    def write(self, locator, content, *, if_match=None):
        if isinstance(content, bytes):
            content = content.decode()
        return super().write(locator, content, if_match=if_match)


@broken("size_limit", saying="returned 'dir/note.md'", also=("size_limit_counts_bytes",))
class HasNoLimit(Memory):
    def __init__(self, scratch):
        super().__init__(scratch)
        self._size_limit = 1 << 40


@broken("size_limit_counts_bytes", saying="returned 'dir/note.md'")
class CountsCharactersForTheLimit(Memory):
    def write(self, locator, content, *, if_match=None):
        self._size_limit = (
            1 << 40 if isinstance(content, str) and len(content) <= MAX_CONTENT_BYTES else MAX_CONTENT_BYTES
        )
        return super().write(locator, content, if_match=if_match)
