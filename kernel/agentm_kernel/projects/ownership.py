"""Whose name a project's name is: two repositories that happen to be called the same never share a plan.

The first write of a project's state puts `_project.json` beside it, with the repository that it belongs to. From then
on only that repository is let in, from whichever clone, worktree or folder. What a repository is, `Checkout.identity`
says. An operator who knows better has two ways out: another name for this one, or `adopt`.
"""

from __future__ import annotations

from agentm_kernel.errors import ConfigError, NotFoundError
from agentm_kernel.projects.in_store import (
    VERSION,
    dump_note,
    parse_note,
    place_in_store,
    unfit,
)
from agentm_kernel.seam.layout import LEGACY_PROJECTS, PROJECT_RECORD, PROJECTS
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend


def owners(backend: StorageBackend, slug: str) -> tuple[str, ...]:
    """The repositories that the name belongs to, the first one first; none as long as nobody has claimed it."""
    for folder in (PROJECTS, LEGACY_PROJECTS):
        locator = Locator(f"{folder}/{slug}/{PROJECT_RECORD}")
        try:
            text = backend.read(locator)
        except NotFoundError:
            continue
        return _owners_in(parse_note(text, locator), locator)
    return ()


def check_ownership(backend: StorageBackend, slug: str, remote: str | None) -> None:
    """Refuse, with a `ConfigError`, a repository that uses the name of another one. Only reads.

    `remote` is a project's identity; `None` for a caller that has none, whom no owned name lets in.
    """
    _refuse_stranger(slug, remote, owners(backend, slug))


def claim_ownership(backend: StorageBackend, slug: str, remote: str | None) -> None:
    """`check_ownership`, for writers: a name that nobody has becomes `remote`'s."""
    found = owners(backend, slug)
    _refuse_stranger(slug, remote, found)
    if remote is not None and not found:
        _record(backend, slug, remote, adopting=False)


def adopt(backend: StorageBackend, slug: str, remote: str) -> None:
    """Let `remote` in beside the owners there are: the operator says that it is the same project."""
    _record(backend, slug, remote, adopting=True)


def _refuse_stranger(slug: str, remote: str | None, found: tuple[str, ...]) -> None:
    if found and remote not in found:
        raise ConfigError(
            f"the project '{slug}' in this store belongs to {found[0]}; this is {remote or 'no known repository'}",
            hint="if it is another project, name it with `agentm project register --slug NAME`; "
            "if it is the same one, say so with `agentm project register --adopt`",
        )


def _record(backend: StorageBackend, slug: str, remote: str, *, adopting: bool) -> None:
    from agentm_kernel.seam.update import update

    locator = place_in_store(backend, slug)[1].child(PROJECT_RECORD)

    def with_remote(text: str | None) -> str:
        record: dict[str, object] = {"version": VERSION} if text is None else parse_note(text, locator)
        found = _owners_in(record, locator)
        if text is not None and remote in found:
            return text
        if not found:
            record["remote"] = remote
        elif adopting:
            record["aliases"] = [*found[1:], remote]
        else:
            _refuse_stranger(slug, remote, found)  # another repository was faster
        return dump_note(record)

    update(backend, locator, with_remote)


def _owners_in(record: dict[str, object], locator: Locator) -> tuple[str, ...]:
    remote, aliases = record.get("remote"), record.get("aliases", [])
    if remote is None and not aliases:
        return ()
    if not isinstance(aliases, list) or not all(isinstance(owner, str) and owner for owner in (remote, *aliases)):
        raise unfit(locator, "does not name its repositories as text")
    return (str(remote), *aliases)
