"""Connecting: what one change does to a file, the receipt that is left, and the way back.

A receipt holds what was put where and hashes of the file before and after, never the file itself: settings hold
credentials. While the file is as we left it, the way back is exact; else only our entries are taken out.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from agentm_hosts.files import json_edit, toml_edit
from agentm_hosts.files.json_edit import Unfit
from agentm_hosts.files.reading import SettingsError, read_bytes, read_text, real_path
from agentm_hosts.place import APPEND, Entry
from agentm_kernel.plugin import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_hosts.place import Change, Place


@dataclass
class Receipt:
    """What was done to one file for one host."""

    host: str
    path: str
    format: str
    scope: str
    before: str | None
    """The hash of the file before; `None` if there was none."""
    after: str
    insertions: list[tuple[int, str, str]] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    made: list[list[str]] = field(default_factory=list)
    """Containers that were made for our entries."""
    folders: list[str] = field(default_factory=list)
    """Folders that were made for the file, the innermost first."""
    rewritten: bool = False


@dataclass
class Plan:
    """What would happen to one file."""

    path: str
    old: str | None
    new: str | None
    """`None`: the file is removed."""
    receipt: Receipt | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_change(self) -> bool:
        return self.old != self.new


def receipts_folder(state_dir: str) -> str:
    return os.path.join(state_dir, "connections")


def receipt_path(state_dir: str, host: str, path: str) -> str:
    name = hashlib.sha256(os.path.abspath(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(receipts_folder(state_dir), f"{host}-{name}.json")


def read_receipt(file: str) -> Receipt | None:
    """The receipt in a file; `None` where there is none, or none that can be read."""
    try:
        data = read_bytes(file)
        return None if data is None else Receipt(**json.loads(data))
    except (ValueError, TypeError):
        return None


def receipts(state_dir: str, host: str | None = None) -> Iterator[tuple[str, Receipt]]:
    """Every receipt, with the file it is in."""
    folder = receipts_folder(state_dir)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".json"):
            found = read_receipt(os.path.join(folder, name))
            if found is not None and host in (None, found.host):
                yield os.path.join(folder, name), found


# ------------------------------------------------------------------------------------------------ planning


def plan_connection(change: Change, place: Place, host: str, *, replace: bool) -> Plan:
    """What connecting does to one file. What is there of us is taken out first, so two connects are one."""
    path = real_path(change.path)
    old = read_text(path)
    receipt = read_receipt(receipt_path(place.state_dir, host, path))
    notes: list[str] = []
    if change.format == "text":
        return _plan_own_file(change, path, old, receipt, place, host, replace=replace)
    _check_readable(change, path, old)
    clean = old if receipt is None else _restored(old, receipt, notes)
    if receipt is None or clean is not None:
        clean = _without_older(clean, change, place, notes, path, replace=replace)
    text = clean or ""
    insertions, entries, made = [], [], []
    for entry in change.entries:
        try:
            text, insertion, container = _insert(text, entry, change.format)
        except Unfit as error:
            if entry.how != APPEND and not isinstance(entry.value, dict):
                continue  # a version number, say: whatever is there is right
            raise SettingsError(
                f"{path}: {error}", hint="nothing was changed; `--replace` replaces another agentm's entry"
            ) from error
        if insertion is not None:
            insertions.append(insertion)
            entries.append({"path": list(entry.path), "value": entry.value, "how": entry.how})
            if container:
                made.append(list(container))
    new_receipt = Receipt(
        host,
        path,
        change.format,
        place.scope,
        None if clean is None else _hash(clean),
        _hash(text),
        insertions,
        entries,
        made,
        receipt.folders if receipt is not None else _missing_folders(path),
        change.rewritten,
    )
    return Plan(path, old, text, new_receipt, notes)


def plan_disconnection(receipt: Receipt) -> Plan:
    """What disconnecting does to one file."""
    old = read_text(receipt.path)
    notes: list[str] = []
    if receipt.format == "text":
        if old is not None and _hash(old) != receipt.after:
            notes.append(
                f"{receipt.path} was changed by somebody and is left: remove it by hand if you do not want it"
            )
            return Plan(receipt.path, old, old, receipt, notes)
        return Plan(receipt.path, old, None, receipt, notes)
    return Plan(receipt.path, old, _restored(old, receipt, notes), receipt, notes)


def _restored(old: str | None, receipt: Receipt, notes: list[str]) -> str | None:
    """The file without us: byte for byte as it was, if nobody has changed it since; else without our entries."""
    if old is None:
        return None
    if _hash(old) == receipt.after:
        text = old
        for at, inserted, taken in reversed(receipt.insertions):
            text = text[:at] + taken + text[at + len(inserted) :]
        if receipt.before is None:
            return None
        if _hash(text) == receipt.before:
            return text
    try:
        text = _without_entries(old, receipt, notes)
    except ValueError as error:
        raise SettingsError(
            f"{receipt.path} cannot be taken apart: {error}", hint="nothing was changed; repair it and run this again"
        ) from error
    return None if receipt.before is None and text.strip("\ufeff \t\r\n") in ("", "{}") else text


def _without_entries(text: str, receipt: Receipt, notes: list[str]) -> str:
    """The file of somebody who has changed it, without our entries and without the containers made for them."""
    for entry in receipt.entries:
        path = tuple(entry["path"])
        made = next((tuple(found) for found in receipt.made if tuple(found) == path[: len(found)]), ())
        if receipt.format == "toml":
            text, gone = toml_edit.remove(text, path, _like(entry["value"]), made)
        else:
            text, gone = json_edit.remove(text, path, _like(entry["value"]), comments=True)
            text = json_edit.remove_if_empty(text, path, comments=True) if made else text
        if not gone:
            notes.append(f"{receipt.path}: {'.'.join(path)} no longer has our entry")
    return text


def _like(value: Any) -> Callable[[Any], bool]:
    """Ours is what we wrote, and what somebody made of it that still starts us."""
    return lambda found: found == value or (isinstance(value, dict) and command_of(found) == command_of(value) != "")


def _plan_own_file(
    change: Change, path: str, old: str | None, receipt: Receipt | None, place: Place, host: str, *, replace: bool
) -> Plan:
    is_known = old is None or old == change.text or (receipt is not None and _hash(old) == receipt.after)
    if not is_known and not replace:
        raise SettingsError(
            f"{path} is there, and is not what agentm wrote", hint="nothing was changed; `--replace` overwrites it"
        )
    folders = receipt.folders if receipt is not None else _missing_folders(path)
    made = Receipt(host, path, "text", place.scope, None, _hash(change.text), folders=folders)
    return Plan(path, old, change.text, made)


def _check_readable(change: Change, path: str, old: str | None) -> None:
    """A file that its own host cannot parse is not made worse."""
    if old is None or not old.strip("\ufeff \t\r\n"):
        return
    from agentm_hosts.files.json_tree import parse

    try:
        if change.format == "toml":
            toml_edit.parse_toml(old)
        else:
            parse(old, comments=change.format == "jsonc")
    except ValueError as error:
        why = f"; {change.comments_disable}" if "comment" in str(error) and change.comments_disable else ""
        raise SettingsError(
            f"{path} is not what its program can read: {error}{why}",
            hint="nothing was changed; repair the file first",
        ) from error


def _insert(text: str, entry: Entry, form: str) -> tuple[str, json_edit.Insertion | None, tuple[str, ...]]:
    if form == "toml":
        return toml_edit.insert(text, entry)
    return json_edit.insert(text, entry, comments=form == "jsonc")


# ------------------------------------------------------------------------------------------------ older entries


def command_of(value: Any) -> str:
    """What an entry starts, if that is agentm: the program and the verb; nothing if it is somebody else's."""
    words = _words(value)
    for number, word in enumerate(words):
        if os.path.basename(word.strip("'\"")) in ("agentm", "agentm.exe") and number + 1 < len(words):
            return " ".join(words[number + 1 : number + 3]) if words[number + 1] == "hook" else words[number + 1]
    return ""


def program_of(value: Any) -> str:
    """The program of such an entry."""
    return next(
        (
            word.strip("'\"")
            for word in _words(value)
            if os.path.basename(word.strip("'\"")) in ("agentm", "agentm.exe")
        ),
        "",
    )


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split()
    if isinstance(value, dict):
        keys = [key for key in ("command", "bash", "args", "hooks") if key in value]
        return [word for key in keys for word in _words(value[key])]
    return [word for item in value for word in _words(item)] if isinstance(value, list) else []


def _without_older(
    text: str | None, change: Change, place: Place, notes: list[str], path: str, *, replace: bool
) -> str | None:
    """The file without what an older agentm, or a user by hand, had put there for the same program. Another install
    that is still there is shown, and replaced only when that is asked for.
    """
    if text is None or not text.strip("\ufeff \t\r\n"):
        return text
    for entry in change.entries:
        wanted = command_of(entry.value)
        if not wanted:
            continue

        def is_older(found: Any, wanted: str = wanted, entry: Entry = entry) -> bool:
            if found == entry.value or command_of(found) != wanted:
                return False
            program = program_of(found)
            if program != place.launcher and os.path.isabs(program) and os.access(program, os.X_OK) and not replace:
                raise SettingsError(
                    f"{path} starts another agentm: {program}", hint="`--replace` puts this one in its place"
                )
            return True

        if change.format == "toml":
            text, gone = toml_edit.remove(text, entry.path, is_older)
        else:
            text, gone = json_edit.remove(text, entry.path, is_older, comments=change.format == "jsonc")
        if gone:
            notes.append(f"{path}: replaces an older entry at {'.'.join(entry.path)}")
    return text


# ------------------------------------------------------------------------------------------------ doing


def carry_out(plan: Plan, place: Place, *, connected: bool) -> None:
    """Write the file if it is still what was looked at, and the receipt before it, or remove both."""
    assert plan.receipt is not None
    file = receipt_path(place.state_dir, plan.receipt.host, plan.path)
    if connected:
        atomic_write(file, json.dumps(asdict(plan.receipt), indent=1))
    if plan.is_change:
        if read_text(plan.path) != plan.old:
            raise SettingsError(
                f"{plan.path} was changed meanwhile", hint="nothing was changed in it; run this again"
            )
        if plan.new is None:
            os.unlink(plan.path)
        else:
            os.makedirs(os.path.dirname(plan.path), exist_ok=True)
            atomic_write(plan.path, plan.new.encode())
    if not connected and (plan.new is None or plan.receipt.format != "text"):
        if os.path.exists(file):
            os.unlink(file)
        for folder in plan.receipt.folders if plan.new is None else ():
            try:
                os.rmdir(folder)
            except OSError:
                break  # somebody else's files are in it


def _missing_folders(path: str) -> list[str]:
    found = []
    folder = os.path.dirname(path)
    while folder and not os.path.isdir(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
