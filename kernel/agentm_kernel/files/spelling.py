"""Names that some file systems take for one: other case, other Unicode form."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_kernel.files.tree import Directory


def is_spelled_like_this(directory: Directory, name: str, identity: tuple[int, int]) -> bool:
    """Whether the entry that `name` reached, by its device and inode, really has that name, not another case of it.

    Asks for the name in another case: only where that reaches the same file is the directory read.
    """
    other = _respelled(name)
    if other == name or directory.looks_free(other):
        return True
    twin = directory.status(other)
    if twin is None or (twin.st_dev, twin.st_ino) != identity:
        return True
    return any(_composed(listed) == name for listed in directory.names())


def clashing_name(names: Sequence[str], name: str) -> str | None:
    """The one of a directory's names that differs from the free `name` only in case or Unicode form."""
    folded = name.casefold()
    everything = "\0".join(names)  # no name has this character: thousands are compared in one step
    if everything.isascii() and f"\0{folded}\0" not in f"\0{everything.lower()}\0":
        return None
    for listed in names:
        composed = listed if listed.isascii() else _composed(listed)
        if composed.casefold() == folded and listed != name:
            return listed
    return None


def is_same_entry(directory: Directory, name: str, other: str) -> bool:
    """Whether two names of a directory reach one file."""
    first, second = directory.status(name), directory.status(other)
    return first is not None and second is not None and (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _respelled(name: str) -> str:
    """`name` with the case of its first letter that has one turned round."""
    for index, character in enumerate(name):
        if character.isascii() and character.isalpha():
            return name[:index] + character.swapcase() + name[index + 1 :]
    return name.swapcase()


def _composed(name: str) -> str:
    if name.isascii():
        return name
    import unicodedata

    return unicodedata.normalize("NFC", name)
