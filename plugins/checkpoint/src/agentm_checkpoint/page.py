"""What checkpoints add to a person's page: the versions of a note, a timeline, and notes that are locked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import (
    ABSENT,
    AgentmError,
    IntegrityError,
    Locator,
    NotFoundError,
    Panel,
    content_hash,
    decode_content,
    hookimpl,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_checkpoint.history import Entry
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.past import Past
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_checkpoint.tree import Leaf
    from agentm_kernel.plugin import Device, HookContext, StorageBackend

    Query = Mapping[str, str]
    Blocks = list[Mapping[str, Any]]

_MOST = 40


@hookimpl
def agentm_page_panels(context: HookContext) -> list[Panel] | None:
    """Nothing without a store, or for one that nobody has written to."""
    store, device = context.store, context.device
    if store is None or store.stamp_text() is None:
        return None
    return [
        Panel("locked", "Locked notes", "decide", partial(_locked, store)),
        Panel(
            "versions",
            "Versions on this device",
            "note",
            partial(_versions, store, device),
            {"restore": partial(_restore, device)},
        ),
        Panel(
            "checkpoints",
            "Checkpoints",
            "more",
            partial(_timeline, store, device),
            {"create": partial(_create, device), "bring-back": partial(_bring_back, device)},
        ),
    ]


# ------------------------------------------------------------------------------------------------ versions of a note


def _versions(store: StorageBackend, device: Device, query: Query) -> Blocks:
    """What writes through agentm replaced, newest first; with `version`, what is different now."""
    from agentm_checkpoint.past import open_past

    key = query.get("note", "")
    past = open_past(store, device)
    entries = [entry for entry in reversed(past.of(key)) if entry.old is not None]
    wanted = query.get("version")
    if wanted:
        entry = _entry(entries, key, wanted)
        return _compared(
            store, key, _text(store, past, entry), f"as it was until {entry.when}", {"version": entry.id}, "restore"
        )
    if not entries:
        return []
    items = [
        {
            "time": entry.time / 1000,
            "title": f"{past.what(key, entry)}; this is what was there before",
            "text": f"{entry.old[0]:,} bytes" if entry.old else "",
            "open": {"note": key, "version": entry.id},
        }
        for entry in entries[:_MOST]
    ]
    return [{"type": "timeline", "items": items}]


def _restore(device: Device, fields: Query) -> str:
    from agentm_checkpoint.past import open_past

    key, store = fields.get("note", ""), device.store(read_only=False)
    past = open_past(store, device)
    entry = _entry(past.of(key), key, fields.get("version", ""))
    _write_back(store, key, _text(store, past, entry), fields.get("expect", ""))
    return f"Brought back as it was until {entry.when}. What it said before is in its versions."


def _entry(entries: list[Entry], key: str, wanted: str) -> Entry:
    found = next((entry for entry in entries if entry.id == wanted and entry.old is not None), None)
    if found is None:
        raise NotFoundError(f"'{key}' has no such version on this device any more", hint="reload the note")
    return found


def _text(store: StorageBackend, past: Past, entry: Entry) -> str:
    return decode_content(past.read(entry, store), Locator(entry.key))


def _compared(store: StorageBackend, key: str, old: str, when: str, which: Query, action: str) -> Blocks:
    """The difference, and the way back, on condition that the note is what is compared here."""
    try:
        now = store.read(Locator(key))
    except NotFoundError:
        now = None
    said = f"What would come back ({when}) is marked as removed, what the note says now as added."
    if now is None:
        said = f"The note is not there now. This is what it said, {when}."
    fields = {"note": key, "expect": "absent" if now is None else content_hash(now), **which}
    blocks: Blocks = [
        {
            "type": "rows",
            "rows": [{"status": "info", "label": key, "text": said, "note": key if now is not None else ""}],
        },
        {"type": "diff", "before": old, "after": now or ""},
    ]
    if now != old:
        blocks.append({"type": "action", "action": action, "label": "Bring this version back", "fields": fields})
    return blocks


def _write_back(store: StorageBackend, key: str, text: str, expect: str) -> None:
    if not expect:
        raise AgentmError("the page did not say what it showed", hint="reload the page")
    from agentm_checkpoint.restoring import check_read

    check_read(store, [key])
    store.write(Locator(key), text, if_match=ABSENT if expect == "absent" else expect)


# ------------------------------------------------------------------------------------------------ checkpoints


def _timeline(store: StorageBackend, device: Device, query: Query) -> Blocks:
    from agentm_checkpoint.capture import open_image
    from agentm_checkpoint.guard import below_guard
    from agentm_checkpoint.texts import counted

    image = open_image(below_guard(store), device)
    if query.get("checkpoint"):
        return _one(store, image, query)
    blocks: Blocks = []
    if image.damage:
        blocks.append(
            {"type": "rows", "rows": [_row("fail", "image", image.damage, "run `agentm checkpoint verify`")]}
        )
    if not image.snapshots:
        blocks.append({"type": "text", "text": "There is no checkpoint yet. One keeps every note as it is now."})
    blocks.append({"type": "action", "action": "create", "label": "Take a checkpoint now"})
    items = [
        {
            "time": shot.time / 1000,
            "title": shot.reason or "checkpoint",
            "text": f"{counted(shot.root.notes, 'file')}, by {shot.author}" + ", automatic" * shot.automatic,
            "open": {"checkpoint": shot.id},
        }
        for shot in reversed(image.snapshots)
    ]
    return [*blocks, {"type": "timeline", "items": items[:200]}]


def _one(store: StorageBackend, image: Image, query: Query) -> Blocks:
    """One checkpoint: what it changed, or one note of it beside the note as it is."""
    from agentm_checkpoint.reading import read_tree

    shot = image.find(query["checkpoint"])
    leaves = read_tree(shot.root, image.fetch)
    key = query.get("note")
    if key:
        text = _text_in(store, image, leaves, key)
        return _compared(store, key, text, f"in the checkpoint of {shot.when}", {"checkpoint": shot.id}, "bring-back")
    before = _leaves_before(image, shot)
    rows = [
        [{"text": name, "open": {"checkpoint": shot.id, "note": name}}, "new" if name not in before else "changed"]
        for name in sorted(leaves)
        if leaves[name] != before.get(name)
    ] + [[name, "gone"] for name in sorted(before.keys() - leaves.keys())]
    said = f"Taken {shot.when} by {shot.author}. {shot.reason}".strip()
    how = f"run `agentm checkpoint restore {shot.id}` to bring all of it back: it shows its plan first"
    return [
        {"type": "rows", "rows": [_row("info", "checkpoint", said, how)]},
        {"type": "table", "columns": ["note", "since the one before"], "rows": rows[:500]},
    ]


def _leaves_before(image: Image, shot: Snapshot) -> Mapping[str, Leaf]:
    from agentm_checkpoint.reading import read_tree

    if shot.parent is None:
        return {}
    try:
        return read_tree(image.find(shot.parent).root, image.fetch)
    except (NotFoundError, IntegrityError):
        return {}  # pruned, or damaged: then everything counts as new


def _create(device: Device, _fields: Query) -> str:
    from agentm_checkpoint.capture import open_image, take
    from agentm_checkpoint.guard import below_guard
    from agentm_checkpoint.settings import settings_of
    from agentm_checkpoint.texts import counted

    store = below_guard(device.store(read_only=False))
    taken = take(store, open_image(store, device), author=settings_of(device).author, reason="from the page")
    if not taken.is_new:
        return "Nothing has changed since the last checkpoint."
    skipped = f" {counted(len(taken.skipped), 'entry')} left out, because no note." if taken.skipped else ""
    return f"Took a checkpoint of {counted(taken.snapshot.root.notes, 'file')}.{skipped}"


def _bring_back(device: Device, fields: Query) -> str:
    from agentm_checkpoint.capture import open_image
    from agentm_checkpoint.guard import below_guard
    from agentm_checkpoint.reading import read_tree

    key, store = fields.get("note", ""), device.store(read_only=False)
    image = open_image(below_guard(store), device)
    shot = image.find(fields.get("checkpoint", ""))
    text = _text_in(store, image, read_tree(shot.root, image.fetch), key)
    _write_back(store, key, text, fields.get("expect", ""))
    return f"Brought back as in the checkpoint of {shot.when}."


def _text_in(store: StorageBackend, image: Image, leaves: Mapping[str, Leaf], key: str) -> str:
    """What a note of a checkpoint said, opened where the store keeps it sealed."""
    from agentm_checkpoint.reading import read_note
    from agentm_checkpoint.restoring import check_encryption
    from agentm_checkpoint.sealed import opened

    leaf = leaves.get(key)
    if leaf is None:
        raise NotFoundError(f"the checkpoint has no note '{key}'", hint="reload the page")
    check_encryption(store, leaves)
    return decode_content(opened(store, key, read_note(leaf, image.fetch)), Locator(key))


# ------------------------------------------------------------------------------------------------ locks


def _locked(store: StorageBackend, _query: Query) -> Blocks:
    """Guarded notes that are not what they are known to be."""
    from agentm_checkpoint.guard import find_guard

    guard = find_guard(store)
    locks = guard.record.current().locks() if guard is not None else {}
    if not locks:
        return []
    how = "compare it with `agentm checkpoint diff`, then run `agentm checkpoint accept PATH` or restore it"
    return [
        {
            "type": "rows",
            "rows": [
                _row("fail", key, "is not what it is known to be; nobody may read or write it", how)
                for key in sorted(locks)
            ],
        }
    ]


def _row(status: str, label: str, text: str, hint: str) -> dict[str, Any]:
    return {"status": status, "label": label, "text": text, "hint": hint}
