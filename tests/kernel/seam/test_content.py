"""What may be stored: text, of a size, and what is said about anything else."""

from __future__ import annotations

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import ConfigError, InvalidContentError, Option, StorageBackend, StorageError
from agentm_kernel.seam.content import check_size, content_hash, decode_content, encode_content
from agentm_kernel.seam.options import check_option

NOTE = Locator("a.md")


@pytest.mark.parametrize("content", [b"bytes", None, 3])
def test_what_is_no_text_is_refused_by_its_type(content: str) -> None:
    with pytest.raises(InvalidContentError, match=f"must be text, not {type(content).__name__}"):
        encode_content(content, NOTE, limit=10)


def test_half_a_character_is_refused_by_its_place() -> None:
    with pytest.raises(InvalidContentError, match="a lone surrogate at character 2"):
        encode_content("ab\ud800", NOTE, limit=10)


def test_a_note_may_be_as_long_as_the_limit_and_no_longer() -> None:
    assert encode_content("é" * 5, NOTE, limit=10) == "é".encode() * 5
    check_size(10, NOTE, limit=10)
    with pytest.raises(InvalidContentError, match=r"'a.md' has 12 bytes; the limit is 10"):
        encode_content("é" * 6, NOTE, limit=10)
    with pytest.raises(InvalidContentError, match="has 1,000 bytes; the limit is 999"):
        check_size(1000, NOTE, limit=999)


def test_bytes_that_are_no_text_are_named_by_the_first_that_is_none() -> None:
    assert decode_content("é".encode(), NOTE) == "é"
    with pytest.raises(InvalidContentError, match="byte 2"):
        decode_content(b"ab\xff", NOTE)


def test_text_and_its_bytes_have_one_hash() -> None:
    assert content_hash("é") == content_hash("é".encode()) != content_hash("e")


def test_a_store_that_cannot_delete_says_so() -> None:
    with pytest.raises(StorageError, match="cannot delete 'a.md'"):
        StorageBackend.delete(MemoryBackend(), NOTE)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("depth", 3, ""),
        ("depth", "three", "plugins.x.depth is a number, not str"),
        ("depth.inner", 3, "plugins.x has no option 'depth.inner'"),
        ("missing", 3, "plugins.x has no option 'missing'"),
        ("spaces.a", "anything", ""),
    ],
)
def test_an_option_is_declared_and_of_its_kind(name: str, value: object, why: str) -> None:
    declared = (Option("depth", "number", "how deep"), Option("spaces", "table", "which there are"))
    if not why:
        check_option("x", name, value, declared)
        return
    with pytest.raises(ConfigError, match=why):
        check_option("x", name, value, declared)
