"""What agents were told on this device: one bounded line for each answer of a hook. No prompt and no text is in it.

`<state>/deliveries/<host>.jsonl`, readable by this user alone. Hooks append to it and look at its end; they do so
without `json`, which costs as much as the rest of a hook. Whether a line's text arrived is in a file beside it.
"""

from __future__ import annotations

import os
import time

from agentm_hosts.adapter import TOLD, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_hosts.adapter import HostAdapter
    from agentm_kernel.plugin import HookCall

_LARGEST = 1_000_000
_LOOKED_AT = 200_000
_LONGEST_FIELD = 1_000
_LOOKS_EVERY = 0.02
_FENCE = "```note\n"
"""How a note begins in what recall says; the fence may be longer."""
_STARTS = ('"event": "session-start"', '"event": "post-compact"')


def deliveries_folder(state_dir: str) -> str:
    return os.path.join(state_dir, "deliveries")


def ledger_path(state_dir: str, host: str) -> str:
    """Where the lines of one host are."""
    return os.path.join(deliveries_folder(state_dir), f"{host}.jsonl")


def note_delivery(adapter: HostAdapter, call: HookCall) -> None:
    """Append the line of an answer that has just gone out. What said nothing is written down too, where a session or
    a turn begins: then it is known that the hook ran.
    """
    from agentm_hosts.marks import marks_of
    from agentm_kernel.plugin import current_directory

    text = call.text if adapter.passes_on(call.event) else ""
    transcript = adapter.transcript(call.payload)[:_LONGEST_FIELD]
    receipt, keys = _receipt(call, text), keys_in(text)
    fields = {
        "time": f"{time.time():.3f}",
        "session": quoted(adapter.session(call.payload)[:_LONGEST_FIELD]),
        "agent": quoted(str(call.payload.get("agent_id") or "")[:_LONGEST_FIELD]),
        "event": quoted(call.event),
        "receipt": quoted(receipt),
        "length": str(len(text)),
        "notes": f"[{', '.join(map(quoted, keys))}]",
        "marks": f"[{', '.join(map(quoted, marks_of(call, keys)))}]",
        "store": quoted(_store(call)),
        "cwd": quoted((call.cwd or current_directory())[:_LONGEST_FIELD]),
        "transcript": quoted(transcript),
        "size": str(_size(transcript)),
    }
    append(call.device.state_dir, adapter.name, "{" + ", ".join(f'"{k}": {v}' for k, v in fields.items()) + "}\n")


def _store(call: HookCall) -> str:
    """The further store that the project's notes came from; empty where there is none but the default one."""
    from agentm_kernel.plugin import AgentmError

    try:
        return (call.device.bound_store(call.cwd or None) or "") if call.device.config.stores else ""
    except AgentmError:
        return ""  # the answer said what is wrong


def _receipt(call: HookCall, text: str) -> str:
    if not text or call.event not in TOLD:
        return ""
    from agentm_hosts.receipt import receipt_of

    return receipt_of(text)


def append(state_dir: str, host: str, line: str) -> None:
    """One write, so that two hooks never mix their lines. A ledger that is full is begun anew, the last one kept."""
    path = ledger_path(state_dir, host)
    try:
        descriptor = _open(path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = _open(path)
    try:
        os.write(descriptor, line.encode("ascii", "replace"))
        is_full = os.fstat(descriptor).st_size > _LARGEST
    finally:
        os.close(descriptor)
    if is_full:
        os.replace(path, f"{path}.1")


def _open(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags, 0o600)


def given_notes(state_dir: str, host: str, session: str) -> dict[str, str]:
    """The keys of the notes that a session has been given since its start or its last compaction, each with its mark
    of that time, if there is one.
    """
    found: dict[str, str] = {}
    for line in _last_lines(ledger_path(state_dir, host), session) if session else ():
        if any(start in line for start in _STARTS):
            found = {}
        keys = [_unescaped(key) for key in _listed(line, "notes") if key]
        marks = _listed(line, "marks")
        found |= dict(zip(keys, marks if len(marks) == len(keys) else [""] * len(keys), strict=True))
    return found


def _listed(line: str, field: str) -> list[str]:
    """What a list of a line holds: no key and no mark has quotes inside."""
    return line.partition(f'"{field}": ["')[2].partition('"]')[0].split('", "')


def await_session(state_dir: str, host: str, session: str, seconds: float) -> None:
    """Wait until something is known of a session: what it is given at its start, its first prompt must not repeat."""
    path, deadline = ledger_path(state_dir, host), time.monotonic() + seconds
    while time.monotonic() < deadline and not _last_lines(path, session):
        time.sleep(_LOOKS_EVERY)


def was_said(state_dir: str, host: str, session: str, event: str) -> bool:
    """Whether this session has had an answer at `event` before."""
    wanted = f'"event": {quoted(event)},'
    lines = _last_lines(ledger_path(state_dir, host), session)
    return any(wanted in line and '"length": 0,' not in line for line in lines)


def _last_lines(path: str, session: str) -> list[str]:
    """The lines about a session at the end of a ledger: found, not looked through, since many sessions are in it."""
    wanted = f'"session": {quoted(session)},'.encode("ascii")
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOOKED_AT))
            ledger = file.read(_LOOKED_AT) or b""
    except OSError:
        return []
    lines = []
    at = ledger.find(wanted)
    while at >= 0:
        start, end = ledger.rfind(b"\n", 0, at) + 1, ledger.find(b"\n", at)
        line = ledger[start:] if end < 0 else ledger[start:end]
        lines.append(line.decode("ascii", "replace"))
        at = ledger.find(wanted, start + len(line))
    return lines


def _unescaped(key: str) -> str:
    if "\\" not in key:
        return key
    import json

    return str(json.loads(f'"{key}"'))


def keys_in(text: str) -> list[str]:
    """The keys of the notes in a text: each stands at the head of its fence."""
    found = []
    at = text.find(_FENCE)
    while at >= 0:
        start = at + len(_FENCE)
        if not text[text.rfind("\n", 0, at) + 1 : at].strip("`"):  # else it is not a line of its own
            end = text.find("\n", start)
            found.append(_key_of(text[start:] if end < 0 else text[start:end]))
        at = text.find(_FENCE, start)
    return found


def _key_of(line: str) -> str:
    """What stands before the parenthesis of facts."""
    key = line.rpartition(" (")[0] if line.endswith(")") else line
    while " (" in key and not _is_key(key):
        key = key.rpartition(" (")[0]
    return key[:300].replace('"', "")


def _is_key(text: str) -> bool:
    return not any(part in text for part in (", ", " ("))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size if path else 0
    except OSError:
        return 0
