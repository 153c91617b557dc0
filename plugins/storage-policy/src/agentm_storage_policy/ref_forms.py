"""The three forms of a reference: a path in the workspace, a path in a sibling workspace, a slug of the registry."""

from __future__ import annotations

WORKSPACE = "workspace"
SIBLING = "sibling"
REGISTRY = "registry"

FORMS = "./path in the workspace, ../sibling/path, or @owner/name"


def form_of(ref: str) -> str | None:
    """Which form a reference has; `None` if it has none. Nothing is looked up."""
    if ref.startswith("@"):
        return REGISTRY if is_slug(ref) else None
    if ref.startswith("./"):
        return WORKSPACE if _is_inside(ref[2:]) else None
    if ref.startswith("../"):
        return SIBLING if _is_inside(ref[3:]) and "/" in ref[3:].strip("/") else None
    return None


def is_slug(ref: str) -> bool:
    """`@owner/name`, in lower case with digits and dashes."""
    owner, slash, name = ref[1:].partition("/")
    return ref.startswith("@") and bool(slash) and _is_word(owner) and _is_word(name)


def is_bare_path(ref: str) -> bool:
    """A path in the workspace without its `./`: no form of AIP-35, but its adapter guide writes `auth.ref` so."""
    return "://" not in ref and not ref.startswith(("/", ".", "@", "~")) and _is_inside(ref)


def owner_of(slug: str) -> str:
    """The owner part of `@owner/name`."""
    return slug[1:].partition("/")[0]


def _is_word(text: str) -> bool:
    plain = text.replace("-", "")
    return plain.isalnum() and plain.isascii() and text == text.lower() and not text.startswith("-")


def _is_inside(path: str) -> bool:
    """Relative, and never upwards: what has to be checked again when links are followed."""
    parts = path.split("/")
    if not path or "\\" in path or ":" in path or not path.isprintable():
        return False
    return not path.startswith("/") and ".." not in parts and any(part not in ("", ".") for part in parts)
