"""Names that are not notes: files that sync tools, Obsidian and operating systems keep for themselves.

Hooks import this module, so it looks with string methods and leaves the exact patterns of conflict copies to
`conflicts`, which is only loaded for a name that `may_be_copy`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from agentm_kernel.plugin import FolderNames

_NAMES = frozenset(
    (
        ".trash",  # Obsidian
        ".obsidian.vimrc",
        ".stfolder",  # Syncthing
        ".stignore",
        ".stversions",
        ".tmp.drivedownload",  # Google Drive
        ".tmp.driveupload",
        ".nextcloudsync.log",
        ".owncloudsync.log",
        ".megaignore",
        ".ds_store",  # macOS
        ".apdisk",
        ".fseventsd",
        ".localized",
        ".spotlight-v100",
        ".temporaryitems",
        ".trashes",
        "icon\r",
        "$recycle.bin",  # Windows
        "desktop.ini",
        "ehthumbs.db",
        "system volume information",
        "thumbs.db",
        "lost+found",
    )
)
_BEGINNINGS = (
    ".syncthing.",
    "~syncthing~",
    ".dropbox",
    ".sync_",  # Nextcloud's and ownCloud's database
    "._",  # what macOS keeps beside a file on a foreign file system
    "~$",  # an office program has the file open
    ".~lock.",
    ".fuse_hidden",
    ".nfs0",
    ".goutputstream-",
)
_ENDINGS = (".partial", ".filepart", ".crdownload", ".part", ".!sync", ".bts", ".!ut")
_EDITOR_ENDINGS = (".swp", ".swo", ".swx")

_STUB_ENDING = ".icloud"

_COPY_MARKS = (
    "conflict",
    "konflikt",
    "conflit",  # French, Italian, Portuguese
    "\u7af6\u5408",  # Japanese
    "\u554f\u984c\u306e\u3042\u308b",
    "\u51b2\u7a81",  # Chinese
    "\u885d\u7a81",
    "case clash",
    "..path",
    "-safebackup-",
    "-desktop-",
    "-laptop-",
    "-win-",
)

_COPY_BEGINNING = "copy of "
_BEFORE_A_MARK = " -.[("
_MARKDOWN = ".md"  # no mark: it stands behind every note's own name


def is_tool_file(name: str) -> bool:
    """Whether a tool keeps this file or folder for itself: its settings, its trash, a download that is under way."""
    folded = name.casefold()
    if folded in _NAMES or folded.startswith(_BEGINNINGS) or folded.endswith(_ENDINGS):
        return True
    if not folded.startswith("."):
        return False
    # `.note.md.icloud` holds a note's place, `.note.md.~1a2b` is Nextcloud's download of it, the rest are editors'.
    return folded.endswith((_STUB_ENDING, *_EDITOR_ENDINGS)) or ".~" in folded


def note_of_stub(name: str) -> str | None:
    """The note whose place an older iCloud's stub holds: `.note.md.icloud` for `note.md`."""
    if name.startswith(".") and name.endswith(_STUB_ENDING) and len(name) > len(_STUB_ENDING) + 1:
        return name[1 : -len(_STUB_ENDING)]
    return None


def stub_of_note(name: str) -> str:
    return f".{name}{_STUB_ENDING}"


def may_be_copy(name: str, devices: Iterable[str]) -> bool:
    """Whether it is worth asking `conflicts` about `name`: `False` is certain, `True` is not."""
    folded = name.casefold()
    if any(map(folded.__contains__, _COPY_MARKS)):  # hooks ask this: a generator takes three times as long
        return True
    return any(f"-{device.casefold()}" in folded for device in devices) if devices else False


def may_be_copies_of(note: str, names: FolderNames, devices: Iterable[str]) -> list[str]:
    """Those of a folder's `names` of which that may be said, as copies of one note only."""
    beginnings = ((note.rpartition(".")[0] or note).casefold(), _COPY_BEGINNING)
    if not any(map(names.has_beginning, beginnings)):
        return []
    alike = [name for name in names if name.casefold().startswith(beginnings)]
    return [name for name in alike if name != note and may_be_copy(name, devices)]


def may_be_suspect(name: str, others: Collection[str]) -> bool:
    """The same for marks that people use too: whether `name` begins like another file of its folder.

    `others` are the names of those files, folded, with and without their extensions.
    """
    folded = name.casefold()
    ends = (at for at, character in enumerate(folded) if character in _BEFORE_A_MARK)
    return folded.startswith(_COPY_BEGINNING) or any(
        folded[:end] in others for end in ends if folded[end:] != _MARKDOWN
    )
