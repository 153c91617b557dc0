"""What agents propose and the operator has not taken yet: `_inbox/`, one file each.

A proposal is the text as it would be saved, below front matter that says where it would go. Nothing in the folder is
a note: it is not recalled, not searched and not read by any tool. Only the operator makes a note of it: with
`agentm inbox accept`, or on the page.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    ABSENT,
    AgentmError,
    ConcurrentModificationError,
    ConfigError,
    InvalidContentError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    append,
    content_hash,
    layout,
    read_or_none,
)
from agentm_recall.editing import with_fields
from agentm_recall.front_matter import find_block, read_fields
from agentm_recall.layout import ANCHOR_KIND, KINDS, is_note, place_of, project_of, slug_of
from agentm_recall.note import DELETED, SUPERSEDED, parse_note
from agentm_recall.rendering import new_text
from agentm_recall.replacing import mark_superseded, replace_text
from agentm_recall.saving import (
    Draft,
    Saved,
    check_draft,
    check_supersession,
    save_note,
    settled,
    with_given_fields,
)

if TYPE_CHECKING:
    from typing import Protocol

    from agentm_kernel.plugin import Device, StorageBackend

    class Config(Protocol):
        """What is asked of the configuration here."""

        def get(self, key: str) -> object: ...


SAVE, REPLACE, APPEND = "save", "replace", "append"
PROPOSED = "proposed"
ALL = "all"
_DAYS = 30
_MOST = 500
_A_DAY = 86_400


@dataclass(frozen=True)
class Proposal:
    """A change that waits for the operator."""

    action: str
    target: str
    """The key that it would be written to."""
    kind: str
    body: str
    expect: str = ""
    """The hash of the text that it would replace."""
    by: str = "agent"
    made: str = ""
    name: str = ""
    """What the operator calls it by."""
    before: str = ""
    """How often the note had the text to append when it was first accepted."""
    hash: str = ""
    """Of the file, so that what is taken is what was shown."""

    def age(self) -> float:
        """Days."""
        try:
            return (time.time() - datetime.fromisoformat(self.made).timestamp()) / _A_DAY
        except ValueError:
            return 0.0


def needs_approval(device: Device, kind: str) -> bool:
    """Whether the operator wants to see notes of this kind first."""
    wanted = kinds_to_approve(device.config)
    return ALL in wanted or kind in wanted


def kinds_to_approve(config: Config) -> tuple[str, ...]:
    """What `capture.approve` names. A misspelt kind is an error: passed over, it would let past what should wait."""
    value = config.get("capture.approve")
    wanted = tuple(value) if isinstance(value, (list, tuple)) else ()
    for word in wanted:
        if word not in (ALL, ANCHOR_KIND, *KINDS):
            raise ConfigError(
                f"capture.approve names {ascii(word)}, which is no kind of note",
                hint=f"run `agentm config set capture.approve {ALL}`, or with some of {','.join(KINDS)}",
            )
    return wanted


def days_of(config: Config) -> int:
    """How long a proposal waits."""
    days = config.get("inbox.days")
    return days if isinstance(days, int) else _DAYS


def propose(backend: StorageBackend, proposal: Proposal, config: Config) -> str:
    """Put it into the inbox and return its name. Where it is full, what has waited too long goes, as the log says."""
    waiting = pending(backend)
    expired = [known for known in waiting if is_expired(known, config)]
    same = next((known for known in waiting if known not in expired and _is_same(known, proposal)), None)
    if same is not None:
        return same.name
    if len(waiting) >= _MOST:  # not before: a clock that is years ahead for an hour must cost nothing
        for old in expired:
            _settle(backend, old, "expired")
        if not expired:
            raise InvalidContentError(
                f"{_MOST} proposals wait already", hint="the operator looks at `agentm inbox list`"
            )
    now = datetime.now(UTC)
    name = f"{now:%Y%m%d-%H%M%S}-{slug_of(proposal.target)[:60]}-{os.urandom(2).hex()}"
    fields = {
        "proposal": proposal.action,
        "target": proposal.target,
        "kind": proposal.kind,
        "expect": proposal.expect,
        "by": proposal.by,
        "made": now.isoformat(timespec="seconds"),
    }
    text = new_text({key: value for key, value in fields.items() if value}, proposal.body)
    backend.write(_file(name), text, if_match=ABSENT)
    return name


def proposed(
    device: Device, backend: StorageBackend, draft: Draft, project: Locator | None, *, replace: bool
) -> Saved | None:
    """What `agentm save` does instead of saving, where a program calls it and notes of the kind need approval."""
    if sys.stdin.isatty() or sys.stderr.isatty() or not needs_approval(device, draft.kind):
        return None
    check_draft(draft)
    proposal = proposal_of(backend, draft, project, replace=replace)
    return Saved(_file(propose(backend, proposal, device.config)), PROPOSED)


def proposal_of(
    backend: StorageBackend, draft: Draft, project: Locator | None, *, by: str = "", replace: bool = False
) -> Proposal:
    """The draft with all its fields. What saving would refuse is refused now, for nobody could accept it."""
    target = place_of(draft.kind, draft.slug, project)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        current = backend.read(target)
    except NotFoundError:
        current = None
    settled(draft, target, project, current, now, replace=replace)
    check_supersession(backend, draft, target, project, replace=replace)
    body = with_given_fields(draft, target)
    by = by or draft.source
    if current is not None and replace:
        return Proposal(REPLACE, target.key, draft.kind, body, expect=content_hash(current), by=by)
    return Proposal(SAVE, target.key, draft.kind, body, by=by)


def pending(backend: StorageBackend) -> list[Proposal]:
    """What waits, the oldest first."""
    return look(backend)[0]


def look(backend: StorageBackend) -> tuple[list[Proposal], list[tuple[str, str]]]:
    """What waits, and the files in the inbox that cannot be understood, each with the reason."""
    found: list[Proposal] = []
    problems: list[tuple[str, str]] = []
    for file in backend.list(Locator(layout.INBOX)):
        try:
            proposal = _parsed(file, backend.read(file))
        except NotFoundError:
            continue  # taken just now, or a folder
        except AgentmError as error:
            problems.append((file.key, error.message))
            continue
        if proposal.action in (SAVE, REPLACE, APPEND):
            found.append(proposal)
    return found, problems


def find(backend: StorageBackend, name: str) -> Proposal:
    """The proposal that `name` means: its name, or a part of it that no other has."""
    waiting = pending(backend)
    exact = [known for known in waiting if known.name == name]
    found = exact or [known for known in waiting if name and name in known.name]
    if not found:
        raise NotFoundError(f"there is no proposal '{name}'", hint="`agentm inbox list` shows them")
    if len(found) > 1:
        names = ", ".join(known.name for known in found)
        raise InvalidContentError(f"'{name}' could be any of: {names}", hint="give the whole name of one")
    return found[0]


def inbox_stores(
    device: Device, cwd: str | None = None, *, read_only: bool
) -> tuple[list[StorageBackend], AgentmError | None]:
    """The default store, and the one of the project at `cwd` where that is another one, or why it cannot be had."""
    default = device.store(read_only=read_only)
    try:
        bound = device.memory(cwd, read_only=read_only).in_the_store().backend
    except AgentmError as error:
        return [default], error
    return [default] if bound is None or bound.describe() == default.describe() else [default, bound], None


def is_expired(proposal: Proposal, config: Config) -> bool:
    """Whether it has waited too long to be accepted."""
    return proposal.age() > days_of(config)


def refuse_expired(proposal: Proposal, config: Config) -> None:
    if is_expired(proposal, config):
        raise InvalidContentError(
            f"'{proposal.name}' has waited more than {days_of(config)} days and may not hold any more",
            hint="have it proposed again, save it yourself, or raise inbox.days",
        )


def placed(
    device: Device, backend: StorageBackend, proposal: Proposal, *, read_only: bool = False
) -> tuple[StorageBackend, Proposal]:
    """The store that the note belongs to now, and the proposal for its place there: its project may have moved."""
    from agentm_recall.named_projects import place_now

    store, target = place_now(device, backend, Locator(proposal.target), read_only=read_only)
    return store, replace(proposal, target=target.key)


def looked_at(device: Device, backend: StorageBackend, proposal: Proposal) -> tuple[StorageBackend, Proposal]:
    """The same for somebody who only looks, and where that store cannot be had, as it was proposed."""
    try:
        return placed(device, backend, proposal, read_only=True)
    except AgentmError:
        return backend, proposal


def accept(backend: StorageBackend, proposal: Proposal, into: StorageBackend | None = None) -> list[Locator]:
    """Make it a note: on condition that proposal and note are what was shown. Then it leaves the inbox.

    The note, and after it those that it replaces.

    `into` is the store of the note, where that is another one than the inbox is in.
    """
    store = into or backend
    shown = backend.read(_file(proposal.name))
    if content_hash(shown) != proposal.hash:
        raise ConcurrentModificationError(
            f"'{proposal.name}' has changed since it was shown", hint="look at it again"
        )
    target = Locator(proposal.target)
    if not is_note(target.key):
        raise InvalidContentError(f"'{target}' is not a place for notes", hint="reject the proposal")
    try:
        proposal = _carried_out(backend, proposal, shown, store)
    except (LocatorConflictError, ConcurrentModificationError) as error:
        error.hint = f"nothing was changed: {_by_hand(proposal)}"
        raise
    replaced = [] if proposal.action == APPEND else mark_superseded(store, target, proposal.body)
    _settle(backend, proposal, "accepted")
    return [target, *replaced]


def _by_hand(proposal: Proposal) -> str:
    """What the operator can do with a proposal that cannot be accepted as it is."""
    return f"`agentm inbox show {proposal.name}` shows what is proposed; save it yourself, or reject it"


def _carried_out(backend: StorageBackend, proposal: Proposal, shown: str, store: StorageBackend) -> Proposal:
    """The note is made or changed; the proposal as it waits then."""
    target = Locator(proposal.target)
    if proposal.action == SAVE:
        project = target.parent.parent if project_of(target.key) else None
        draft = Draft(proposal.kind, slug_of(target.key), proposal.body)
        check_draft(draft)
        if place_of(draft.kind, draft.slug, project) != target:
            raise InvalidContentError(f"a {draft.kind} is not saved at '{target}'", hint="reject the proposal")
        save_note(store, draft, project=project)
    elif proposal.action == REPLACE:
        replace_text(store, target, proposal.body, proposal.expect)
    else:
        return _append_once(backend, proposal, shown, store)
    return proposal


def _append_once(backend: StorageBackend, proposal: Proposal, shown: str, store: StorageBackend) -> Proposal:
    """Append it unless an acceptance that was cut off has done so; first the proposal notes how often it is there."""
    target = Locator(proposal.target)
    text = read_or_none(store, target)
    if text is None:
        raise NotFoundError(f"'{target}' is gone", hint="reject the proposal")
    count = text.count(proposal.body.strip())
    if proposal.before.isdecimal() and count > int(proposal.before):
        return proposal
    status = parse_note(target.key, text)[0].status
    if status in (DELETED, SUPERSEDED):
        raise InvalidContentError(f"'{target}' is {status}, so no session is given it", hint=_by_hand(proposal))
    file = _file(proposal.name)
    marked = with_fields(file.key, shown, {"before": str(count)})
    if marked != shown:
        backend.write(file, marked, if_match=proposal.hash)
    append(store, target, proposal.body)
    return replace(proposal, hash=content_hash(marked))


def reject(backend: StorageBackend, proposal: Proposal) -> None:
    """Let it leave the inbox without becoming a note."""
    _settle(backend, proposal, "rejected")


def _settle(backend: StorageBackend, proposal: Proposal, outcome: str) -> None:
    """A line in the log, then the file goes; where nothing can be deleted, it says that it is settled."""
    file = _file(proposal.name)
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    what = f"{proposal.action} {proposal.target}, sha256 {content_hash(proposal.body)}, by {proposal.by}"
    append(backend, Locator(layout.INBOX_LOG_KEY), f"- {moment} {outcome} {proposal.name}: {what}\n")
    try:
        if backend.capabilities.delete:
            backend.delete(file, if_match=proposal.hash)
        else:
            text = new_text({"proposal": outcome, "target": proposal.target, "made": proposal.made}, proposal.body)
            backend.write(file, text, if_match=proposal.hash)
    except NotFoundError:
        pass  # somebody else has settled it


def _parsed(file: Locator, text: str) -> Proposal:
    block = find_block(text)
    fields, problem = read_fields(text[block.start : block.end]) if block else ({}, "it has no front matter")
    said = {name: value for name, value in fields.items() if isinstance(value, str)}
    if problem or block is None or not {"proposal", "target"} <= said.keys():
        raise AgentmError(
            f"'{file}' is not a proposal: {problem or 'it does not say what it is'}",
            hint="repair it or move it away",
        )
    return Proposal(
        said["proposal"],
        Locator(said["target"]).key,
        said.get("kind", ""),
        text[block.body :].removeprefix("\n"),
        said.get("expect", ""),
        said.get("by", "agent"),
        said.get("made", ""),
        slug_of(file.key),
        said.get("before", ""),
        content_hash(text),
    )


def _is_same(known: Proposal, new: Proposal) -> bool:
    def what(one: Proposal) -> tuple[str, ...]:
        return one.action, one.target, one.expect, one.body.strip()

    return what(known) == what(new)


def _file(name: str) -> Locator:
    return Locator(layout.INBOX).child(f"{name}.md")
