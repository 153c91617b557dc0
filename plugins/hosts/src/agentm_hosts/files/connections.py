"""Connecting: what one change does to a file, the receipt that is left, and the way back.

While a file is as we left it, the way back is exact, by the receipt; else our entries are taken out and nothing more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentm_hosts.files import json_edit, toml_edit
from agentm_hosts.files.json_edit import Unfit
from agentm_hosts.files.json_tree import parse
from agentm_hosts.files.reading import SettingsError, read_text, real_path
from agentm_hosts.files.receipts import (
    Receipt,
    hash_of,
    read_receipt,
    receipt_path,
    remove_receipt,
    write_receipt,
)
from agentm_hosts.files.recognition import command_of, is_like, program_of
from agentm_hosts.files.writing import write_unless_changed
from agentm_hosts.place import APPEND, Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_hosts.place import Change, Place

_BLANK = "\ufeff \t\r\n"
_LACKS = " no longer has our entry"


@dataclass
class Plan:
    """What would happen to one file."""

    path: str
    old: str | None
    new: str | None
    """`None`: the file is removed."""
    receipt: Receipt
    notes: list[str] = field(default_factory=list)
    connects: bool = True
    """Whether the receipt is left, or taken away."""

    @property
    def is_change(self) -> bool:
        return self.old != self.new


# ------------------------------------------------------------------------------------------------ planning


def plan_connection(change: Change, place: Place, host: str, *, replace: bool) -> Plan:
    """What connecting does to one file. What is there of us is taken out first, so two connects are one."""
    path = real_path(change.path)
    old = read_text(path)
    receipt = read_receipt(receipt_path(place.state_dir, host, path))
    is_known = receipt is not None
    receipt = receipt or unrecorded(change, place, host, is_exact=True)
    if receipt is not None and old is not None and not replace:
        _refuse_another(receipt.program, place, path)
    if change.format == "text":
        return _plan_own_file(change, path, old, receipt, place, host, replace=replace)
    _check_readable(change, path, old)
    notes: list[str] = []
    clean = old if receipt is None else _restored(old, receipt, notes)
    if clean is not None and clean.strip(_BLANK):
        clean = _without_older(clean, change, place, notes, path, replace=replace)
    made = Receipt(
        host,
        path,
        change.format,
        place.scope,
        before=None if clean is None else hash_of(clean),
        program=place.launcher,
        folders=receipt.folders if receipt is not None and is_known else _missing_folders(path),
    )
    text = _with_entries(clean or "", change, made)
    return Plan(path, old, text, made, notes)


def plan_disconnection(receipt: Receipt) -> Plan:
    """What disconnecting does to one file."""
    old = read_text(receipt.path)
    notes: list[str] = []
    if receipt.format == "text":
        new = old
        if old is None or hash_of(old) == receipt.after:
            new = None
        else:
            notes.append(f"{receipt.path} was changed by somebody and is left: remove it yourself if you like")
    else:
        new = _restored(old, receipt, notes)
    return Plan(receipt.path, old, new, receipt, notes, connects=False)


def unrecorded(change: Change, place: Place, host: str, *, is_exact: bool = False) -> Receipt | None:
    """What stands in for the receipt of a file that starts us and has none: this device's state was lost, or the file
    came from another device. `None` where there is a receipt, or nothing of ours. With `is_exact` only what we would
    write counts.
    """
    path = real_path(change.path)
    old = read_text(path)
    if old is None or not old.strip(_BLANK) or read_receipt(receipt_path(place.state_dir, host, path)) is not None:
        return None
    found = Receipt(host, path, change.format, place.scope, before="", program=place.launcher)
    if change.format == "text":
        found.after = hash_of(old)
        return found if old == change.text else None
    for entry in change.entries:
        is_ours = entry.value.__eq__ if is_exact else is_like(entry.value)
        if command_of(entry.value) and _holds(old, change.format, entry, is_ours):
            found.entries.append({"path": list(entry.path), "value": entry.value, "how": entry.how})
            found.made.append(list(entry.path[:1]))
    return found if found.entries else None


def _holds(text: str, form: str, entry: Entry, is_ours: Callable[[Any], bool]) -> bool:
    try:
        if form == "toml":
            return toml_edit.remove(text, entry.path, is_ours)[1] > 0
        return json_edit.remove(text, entry.path, is_ours, comments=True)[1] > 0
    except ValueError:
        return False  # its program cannot read it either


def lacking(receipt: Receipt) -> str:
    """What is no longer in a file that was connected, in words; nothing where the host still starts us."""
    if receipt.format == "text" or not os.path.exists(receipt.path):
        return "" if os.path.exists(receipt.path) else f"{receipt.path} is gone"
    try:
        notes = plan_disconnection(receipt).notes
    except SettingsError as error:
        return error.message
    gone = [note.removeprefix(f"{receipt.path}: ").removesuffix(_LACKS) for note in notes if note.endswith(_LACKS)]
    return f"{receipt.path} no longer has {', '.join(gone)}" if gone else ""


def _with_entries(text: str, change: Change, receipt: Receipt) -> str:
    """The text with our entries in it; the receipt is told what was put where."""
    for entry in change.entries:
        try:
            if change.format == "toml":
                text, insertion, container = toml_edit.insert(text, entry)
            else:
                text, insertion, container = json_edit.insert(text, entry, comments=change.format == "jsonc")
        except Unfit as error:
            if entry.how != APPEND and not isinstance(entry.value, dict):
                continue  # a version number, say: whatever is there is right
            raise SettingsError(
                f"{receipt.path}: {error}", hint="nothing was changed; what stands there is not agentm's"
            ) from error
        if insertion is not None:
            receipt.insertions.append(insertion)
            receipt.entries.append({"path": list(entry.path), "value": entry.value, "how": entry.how})
            if container:
                receipt.made.append(list(container))
    receipt.after = hash_of(text)
    return text


def _plan_own_file(
    change: Change, path: str, old: str | None, receipt: Receipt | None, place: Place, host: str, *, replace: bool
) -> Plan:
    is_known = old is None or old == change.text or (receipt is not None and hash_of(old) == receipt.after)
    if not is_known and not replace:
        raise SettingsError(
            f"{path} is there, and is not what agentm wrote", hint="nothing was changed; `--replace` overwrites it"
        )
    folders = receipt.folders if receipt is not None else _missing_folders(path)
    after = hash_of(change.text)
    made = Receipt(host, path, "text", place.scope, None, after, folders=folders, program=place.launcher)
    return Plan(path, old, change.text, made)


def _check_readable(change: Change, path: str, old: str | None) -> None:
    """A file that its own host cannot parse is not made worse."""
    if old is None or not old.strip(_BLANK):
        return
    try:
        _parsed(old, change.format)
    except ValueError as error:
        why = f"; {change.comments_disable}" if "comment" in str(error) and change.comments_disable else ""
        raise SettingsError(
            f"{path} is not what its program can read: {error}{why}",
            hint="nothing was changed; repair the file first",
        ) from error


def _parsed(text: str, form: str) -> Any:
    return toml_edit.parse_toml(text) if form == "toml" else parse(text, comments=form == "jsonc").value


# ------------------------------------------------------------------------------------------------ the way back


def _restored(old: str | None, receipt: Receipt, notes: list[str]) -> str | None:
    """The file without us: byte for byte as it was, if nobody has changed it since; else without our entries."""
    if old is None:
        return None
    if hash_of(old) == receipt.after:
        if receipt.before is None:
            return None
        text = old
        for at, inserted, taken in reversed(receipt.insertions):
            text = text[:at] + taken + text[at + len(inserted) :]
        if hash_of(text) == receipt.before:
            return text
    try:
        text = _without_entries(old, receipt, notes)
    except ValueError as error:
        raise SettingsError(
            f"{receipt.path} cannot be taken apart: {error}", hint="nothing was changed; repair it and run this again"
        ) from error
    text = _cut_out(old, receipt, text) or text
    return None if receipt.before is None and text.strip(_BLANK) in ("", "{}") else text


def _without_entries(text: str, receipt: Receipt, notes: list[str]) -> str:
    """The file of somebody who has changed it, without our entries and without the containers made for them."""
    for entry in receipt.entries:
        path = tuple(entry["path"])
        made = next((tuple(found) for found in receipt.made if tuple(found) == path[: len(found)]), ())
        if receipt.format == "toml":
            text, gone = toml_edit.remove(text, path, is_like(entry["value"]), made)
        else:
            text, gone = json_edit.remove(text, path, is_like(entry["value"]), comments=True)
            text = json_edit.remove_if_empty(text, path, len(made), comments=True) if made else text
        if not gone:
            notes.append(f"{receipt.path}: {'.'.join(path)}{_LACKS}")
    return text


def _cut_out(text: str, receipt: Receipt, wanted: str) -> str | None:
    """The same, exactly as the rest was written: where what we put in still stands word for word, and only once."""
    form = "toml" if receipt.format == "toml" else "jsonc"
    for _, inserted, taken in reversed(receipt.insertions):
        if text.count(inserted) != 1:
            return None
        before, _, behind = text.partition(inserted)
        newline = _newline_between(before, inserted, behind) if form == "toml" else ""
        text = before + taken + newline + behind
    try:
        is_same = _parsed(text, form) == _parsed(wanted, form)
    except ValueError:
        return None
    return text if is_same else None


def _newline_between(before: str, inserted: str, behind: str) -> str:
    """The newline that we began with because the file ended without one, where somebody added lines behind us."""
    if before.endswith("\n") or not (before and behind) or behind.startswith(("\n", "\r\n")):
        return ""
    return next((newline for newline in ("\n", "\r\n") if inserted.startswith(newline)), "")


# ------------------------------------------------------------------------------------------------ older entries


def _without_older(text: str, change: Change, place: Place, notes: list[str], path: str, *, replace: bool) -> str:
    """The file without what an older agentm, or a user by hand, had put there for the same. Another install that is
    still there is shown, and replaced only when that is asked for.
    """
    for entry in change.entries:
        wanted = command_of(entry.value)

        def is_older(found: Any, wanted: str = wanted, entry: Entry = entry) -> bool:
            if not wanted or found == entry.value or command_of(found) != wanted:
                return False
            if not replace:
                _refuse_another(program_of(found), place, path)
            return True

        if change.format == "toml":
            text, gone = toml_edit.remove(text, entry.path, is_older)
        else:
            text, gone = json_edit.remove(text, entry.path, is_older, comments=change.format == "jsonc")
        if gone:
            notes.append(f"{path}: replaces an older entry at {'.'.join(entry.path)}")
    return text


def _refuse_another(program: str, place: Place, path: str) -> None:
    """An agentm that is still installed elsewhere; another way to this one is this one."""
    is_there = os.path.isabs(program) and os.access(program, os.X_OK)
    if is_there and os.path.realpath(program) != os.path.realpath(place.launcher):
        raise SettingsError(f"{path} starts another agentm: {program}", hint="`--replace` puts this one in its place")


# ------------------------------------------------------------------------------------------------ doing


def carry_out(plan: Plan, place: Place) -> None:
    """Write the file if it is still what was looked at. The receipt is there before the change, and as long as it."""
    former = read_receipt(receipt_path(place.state_dir, plan.receipt.host, plan.path))
    if plan.connects:
        write_receipt(place.state_dir, plan.receipt)
    try:
        if plan.is_change:
            write_unless_changed(plan.path, plan.old, plan.new)
    except (SettingsError, OSError):
        if former is not None:
            write_receipt(place.state_dir, former)
        else:
            remove_receipt(place.state_dir, plan.receipt)
        raise
    if plan.connects or (plan.new is not None and plan.receipt.format == "text"):
        return
    remove_receipt(place.state_dir, plan.receipt)
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
