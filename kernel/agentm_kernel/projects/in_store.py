"""What the kernel keeps of projects in a store: the folders they lie in, and small JSON notes about projects.

A note that is there but cannot be understood is never written over.
"""

from __future__ import annotations

from agentm_kernel.device.json_text import MalformedJson, parse
from agentm_kernel.errors import InvalidContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.locator import Locator

VERSION = 1


def parse_note(text: str, locator: Locator) -> dict[str, object]:
    """The object that `text` holds, of the version we know; `InvalidContentError` otherwise."""
    try:
        document = parse(text)
    except MalformedJson as error:
        raise unfit(locator, f"is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise unfit(locator, "is not an object in braces")
    if document.get("version", VERSION) != VERSION:
        raise unfit(locator, f"has the version {document['version']!r}, which this agentm does not know")
    return document


def dump_note(document: dict[str, object]) -> str:
    """The text of a document, as people can read and compare it."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def unfit(locator: Locator, why: str) -> InvalidContentError:
    return InvalidContentError(
        f"'{locator}' {why}", hint="it was left as it is; correct it, or bring back an earlier version of it"
    )
