"""What the kernel keeps of projects in a store: where a project lies, and small JSON notes about projects.

A note that is there but cannot be understood is never written over.
"""

from __future__ import annotations

from agentm_kernel.device.json_text import MalformedJson, parse
from agentm_kernel.errors import InvalidContentError
from agentm_kernel.seam.layout import LEGACY_PROJECTS, PROJECTS
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend

VERSION = 1


def place_in_store(backend: StorageBackend, slug: str) -> tuple[str, Locator]:
    """`new` and `projects/<slug>`, or `legacy` and `personal-projects/<slug>` where that is all there is."""
    new, legacy = Locator(f"{PROJECTS}/{slug}"), Locator(f"{LEGACY_PROJECTS}/{slug}")
    if not backend.exists(new) and backend.exists(legacy):
        return "legacy", legacy
    return "new", new


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
