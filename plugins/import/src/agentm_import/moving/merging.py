"""Moving a store into one that has notes already: nothing that is there is ever overwritten.

What both have under one key with different text collides. Without being told, that is refused, with every collision
named, before the first byte is written; told to, it is kept apart, under a name that says where it came from. Two
different projects of one name are always refused: mixing them is what names of projects are there to prevent.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from agentm_import.contract import refuse_hidden
from agentm_import.moving.stores import Plan, hash_at, read_source, refuse_nested, texts_below
from agentm_kernel.plugin import Locator, LocatorConflictError, add_remote, layout, read_or_none, read_record

if TYPE_CHECKING:
    from agentm_import.contract import NoteFormat
    from agentm_import.moving.stores import Progress
    from agentm_kernel.plugin import ProjectRecord, StorageBackend

_RENEWED = (f"{layout.REMOTES}/", layout.REPOS_KEY, f"{layout.META}/imports/")
"""Records that lead to what is there, or are made again: the target keeps its own."""


def plan_merge(
    source: StorageBackend,
    target: StorageBackend,
    progress: Progress,
    name: str,
    *,
    keep_apart: bool,
    notes: NoteFormat | None = None,
) -> Plan:
    """What a merge will do; `name` says where notes that are kept apart came from, `notes` which of them would hide
    one another.
    """
    refuse_nested(source, target)
    plan = read_source(source, progress)
    collisions = []
    for locator in list(plan.hashes):
        held = hash_at(target, locator)
        if held is None:
            plan.missing.append(locator)
        elif held == plan.hashes[locator]:
            plan.shared.add(locator)
        elif not _is_united(source, target, plan, locator):
            collisions.append(locator)
    _refuse_two_names(source, target, plan)
    _refuse_unread(target, plan)
    stuck = [locator for locator in collisions if locator.parts[0] == layout.META and locator.suffix != ".md"]
    if stuck or (collisions and not keep_apart):
        refused = stuck or collisions
        both = "`agentm migrate` with `--merge --keep-apart` keeps both, one under another name"
        way_out = "these belong to the store itself" if stuck else both
        raise LocatorConflictError(
            f"both stores have something else under one name: {', '.join(locator.key for locator in refused)}",
            hint=f"nothing was written; {way_out}",
        )
    for locator in collisions:
        plan.places[locator], is_there = _beside(target, plan, locator, name)
        if not is_there:
            plan.missing.append(locator)
    if notes is not None:
        coming = {plan.place(locator): text for locator, text in texts_below(source, Locator()).items()}
        there = texts_below(target, Locator())
        others = {held.key: text for held, text in there.items() if coming.get(held) != text}
        present = {place.key: locator.key for locator, place in plan.places.items()}
        refuse_hidden(notes, {place.key: text for place, text in coming.items()}, others, present)
    return plan


def unite_projects(source: StorageBackend, target: StorageBackend, plan: Plan) -> None:
    """Let the projects that both stores have be known by the remotes of both, and those that came by theirs."""
    for slug in plan.projects:
        ours, theirs = read_record(target, slug), read_record(source, slug)
        if ours is not None and theirs is not None:
            for remote in theirs.remotes:
                ours = add_remote(target, ours, remote)


def _is_united(source: StorageBackend, target: StorageBackend, plan: Plan, locator: Locator) -> bool:
    """Whether a record of the target stays and needs no copy: it is brought up to date, or made again."""
    if locator.name == layout.PROJECT_RECORD:
        slug = locator.parent.name
        ours, theirs = read_record(target, slug), read_record(source, slug)
        if ours is None or theirs is None or not _is_same(ours, theirs):
            raise LocatorConflictError(
                f"there are two different projects of the name '{slug}'",
                hint="nothing was written; give one of them another name first: "
                f"`agentm project rename {quote(slug)} NEW`",
            )
        plan.united.append(slug)
    elif not locator.key.startswith(_RENEWED):
        return False
    del plan.hashes[locator]
    plan.kept.add(locator)
    return True


def _is_same(one: ProjectRecord, other: ProjectRecord) -> bool:
    return bool({*one.ids} & {*other.ids} or {*one.remotes} & {*other.remotes})


def _refuse_two_names(source: StorageBackend, target: StorageBackend, plan: Plan) -> None:
    """One repository must not have its notes under two names; the names of the projects that come are remembered."""
    known = {remote: slug for slug in _slugs(target) for remote in _remotes(target, slug)}
    for slug in _slugs(source):
        plan.projects.append(slug)
        for remote in _remotes(source, slug):
            if known.get(remote, slug) != slug:
                raise LocatorConflictError(
                    f"{remote} is the project '{slug}' here and '{known[remote]}' in the target",
                    hint="nothing was written; give it one name: "
                    f"`agentm project rename {quote(slug)} {quote(known[remote])}`",
                )


def _refuse_unread(target: StorageBackend, plan: Plan) -> None:
    """Refuse what would come to a name that only says where the project went: nobody would read it there."""
    coming = [locator.parts for locator in plan.hashes if locator not in plan.shared]
    for tree, slug in sorted({(parts[0], parts[1]) for parts in coming if parts[0] in layout.PROJECT_TREES}):
        record = read_record(target, slug)
        away = None if record is None else record.unread_in(Locator(f"{tree}/{slug}"))
        if record is None or away is None:
            continue
        name = record.slug if record.slug != slug else "NEW"  # in both stores, which leaves the older folder behind
        way_out = f"give it one name: `agentm project rename {quote(slug)} {quote(name)}`"
        if record.elsewhere is not None:
            way_out = "bring it back there first, with `agentm project use-store default --move`"
        raise LocatorConflictError(f"as the target says, {away}", hint=f"nothing was written; {way_out}")


def _slugs(store: StorageBackend) -> list[str]:
    found = []
    for tree in layout.PROJECT_TREES:
        for folder in store.list(Locator(tree)):
            text = read_or_none(store, folder.child(layout.PROJECT_RECORD))
            if text is not None and '"moved_to"' not in text:
                found.append(folder.name)
    return found


def _remotes(store: StorageBackend, slug: str) -> tuple[str, ...]:
    record = read_record(store, slug)
    return record.remotes if record is not None else ()


def _beside(target: StorageBackend, plan: Plan, locator: Locator, name: str) -> tuple[Locator, bool]:
    """A place beside the note that collides, and whether the very text is there already."""
    digest = plan.hashes[locator]
    suffix = locator.short_suffix
    stem = locator.name.removesuffix(suffix)
    for added in (f"-from-{name}", f"-from-{name}-{digest[:8]}"):
        place = locator.parent.child(f"{stem}{added}{suffix}")
        held = hash_at(target, place)
        if held == digest or (held is None and place not in plan.hashes):
            return place, held is not None
    raise LocatorConflictError(f"there is no free name beside '{locator}'", hint="move the notes beside it away")
