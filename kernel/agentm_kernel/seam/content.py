"""Text on one side, bytes on the other: the same rules in every backend."""

from __future__ import annotations

from agentm_kernel import errors
from agentm_kernel.seam import MAX_CONTENT_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.locator import Locator


def content_hash(content: str | bytes) -> str:
    """The sha256 of the UTF-8 bytes in hex: the only currency of compare-and-swap."""
    import hashlib  # 4 ms of OpenSSL, which readers never need

    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def encode_content(content: str, locator: Locator, *, limit: int = MAX_CONTENT_BYTES) -> bytes:
    """The bytes to store, or `InvalidContentError` before anything is touched."""
    if not isinstance(content, str):
        raise errors.InvalidContentError(f"the content of '{locator}' must be text, not {type(content).__name__}")
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise errors.InvalidContentError(
            f"the content of '{locator}' has a lone surrogate at character {error.start}, which is not text",
            hint="decode the input with its real encoding first",
        ) from None
    check_size(len(data), locator, limit=limit)
    return data


def decode_content(data: bytes, locator: Locator) -> str:
    """The text of stored bytes; bytes that are not UTF-8 are an error, never an empty note."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        hint = "it was left as it is; convert it to UTF-8, or move it out of the store"
        raise errors.InvalidContentError(f"'{locator}' is not UTF-8 text (byte {error.start})", hint=hint) from None


def check_size(size: int, locator: Locator, *, limit: int) -> None:
    """Raise `InvalidContentError` if a note of this many bytes is larger than the limit."""
    if size > limit:
        hint = "split the note, or raise `size_limit` where it is set: by the store, or by a wrapper around it"
        raise errors.InvalidContentError(f"'{locator}' has {size:,} bytes; the limit is {limit:,}", hint=hint)
