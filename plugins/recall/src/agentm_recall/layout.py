"""Where notes lie in a store: which keys are notes, whose they are, and what a phase of work reads."""

from __future__ import annotations

from agentm_kernel.plugin import InvalidLocatorError, Locator, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_kernel.plugin import StorageBackend

PERSONAL, ALWAYS_LOAD, ANCHOR = layout.PERSONAL, layout.ALWAYS_LOAD, layout.INDEX_NOTE
PROJECTS, LEGACY_PROJECTS = layout.PROJECTS, layout.LEGACY_PROJECTS
_STANDING = f"{ALWAYS_LOAD}/"
PROJECT_FOLDERS = layout.PROJECT_TREES

ALWAYS_LOAD_KIND = "always-load"
ANCHOR_KIND = "index"

FOLDERS = {
    "convention": "conventions",
    "decision": "decisions",
    "fact": "facts",
    "known-issue": "known-issues",
    "open-question": "open-questions",
    "reference": "references",
    "wiki-style": "wiki-style",
}
"""The folder of each kind, below a project or below `personal`."""

KINDS = (ALWAYS_LOAD_KIND, *FOLDERS)
_KIND_OF_FOLDER = {folder: kind for kind, folder in FOLDERS.items()}
_KIND_OF_FOLDER[ALWAYS_LOAD.rpartition("/")[2]] = ALWAYS_LOAD_KIND

PHASES = {
    "setup": (ANCHOR, "conventions"),
    "plan": (ANCHOR, "decisions", "open-questions"),
    "work": ("decisions", "known-issues", "conventions"),
    "review": ("conventions",),
    "release": ("decisions",),
    "bugfix": ("known-issues",),
    "documenter": (ANCHOR, "decisions", "wiki-style"),
}
"""What each phase reads first, most important first; whatever else there is comes after it."""
DEFAULT_PHASE = "work"

NOBODY = "_unclaimed"
"""No project has this name: a search in it finds the personal notes only."""

_NOT_NOTES = frozenset({layout.HARNESS, layout.META, layout.INBOX})
"""Folders of the kernel: execution state, the store's own records, and what nobody has taken yet."""


def is_note(key: str) -> bool:
    """Whether the file at `key` is a note: Markdown that is neither state nor hidden."""
    if not key.endswith(".md") or "/." in key or key[0] == ".":
        return False
    return "_" not in key or _NOT_NOTES.isdisjoint(key.split("/"))  # a listing has thousands, so no more than needed


def holds_notes(folder: str) -> bool:
    """Whether notes may lie in the folder at that key."""
    return not folder or is_note(f"{folder}/x.md")


def slug_of(key: str) -> str:
    """The note's name: that of its file, without the extension."""
    return key.rpartition("/")[2].removesuffix(".md")


def project_of(key: str) -> str | None:
    """The project whose folder holds the note; `None` for a note of no project."""
    top, _, rest = key.partition("/")
    project, slash, _ = rest.partition("/")
    return project if slash and top in PROJECT_FOLDERS else None


def is_personal(key: str) -> bool:
    """Whether it is for every project, whatever its front matter says: it may have been moved here."""
    return key.startswith(f"{PERSONAL}/")


def kind_folder(key: str) -> str:
    """What `PHASES` calls the note's place: the folder below the project or `personal`, or the anchor's own name."""
    parts = key.split("/")
    depth = 1 if parts[0] == PERSONAL else 2
    return parts[depth] if len(parts) > depth + 1 or parts[-1] == ANCHOR else ""


def shelf_of(key: str) -> str:
    """Among which notes recall chooses the one at `key`: the standing ones, or those of its kind's folder."""
    return ALWAYS_LOAD if key.startswith(_STANDING) else kind_folder(key)


def kind_by_place(key: str) -> str:
    """The kind of a note that does not say it."""
    if key.endswith(f"/{ANCHOR}"):
        return ANCHOR_KIND
    return next((kind for part in key.split("/")[:-1] if (kind := _KIND_OF_FOLDER.get(part))), "note")


def project_folder(backend: StorageBackend, project: str) -> Locator:
    """The folder of a project: `projects/<slug>`, or the older place where that is all there is."""
    if "/" in project or not project:
        raise InvalidLocatorError(
            f"{project!r} is not the name of a project", hint="`agentm project list` shows them"
        )
    new, legacy = Locator(f"{PROJECTS}/{project}"), Locator(f"{LEGACY_PROJECTS}/{project}")
    return legacy if not backend.exists(new) and backend.exists(legacy) else new


def place_of(kind: str, slug: str, project: Locator | None) -> Locator:
    """Where a note of that kind belongs; `project` is the project's folder, `None` for a personal note."""
    if kind == ALWAYS_LOAD_KIND:
        return Locator(ALWAYS_LOAD).child(f"{slug}.md")
    return (project or Locator(PERSONAL)).child(FOLDERS[kind], f"{slug}.md")


def is_below(key: str, folders: Iterable[Locator]) -> bool:
    return any(not folder.key or key.startswith(f"{folder.key}/") for folder in folders)
