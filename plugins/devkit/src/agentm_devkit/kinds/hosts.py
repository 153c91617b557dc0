"""An adapter for an agent host (group `agentm.hosts`): its envelope holds what the agent is told, and no more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.expect import NotApplicable, Violation, shown
from agentm_devkit.kinds.checking import plugin_check

if TYPE_CHECKING:
    from agentm_devkit.kinds.checking import Specimen

_METHODS = ("read", "compose", "envelope", "sent", "afterwards")
_TEXT = 'Remember: "quotes", back\\slashes,\nlines, é, 👋 and </tags>.'


class _Call:
    """As much of a hook call as an envelope may look at."""

    def __init__(self, specimen: Specimen, event: str) -> None:
        self.device, self.event, self.host = specimen.device, event, specimen.record.name
        self.payload: dict[str, Any] = {"session_id": "check", "cwd": specimen.home}
        self.cwd: str | None = specimen.home
        self.raises: tuple[str, ...] = (event,)
        self.text = ""


def _adapter(specimen: Specimen) -> Any:
    adapter = specimen.plugin
    missing = [name for name in _METHODS if not callable(getattr(adapter, name, None))]
    if missing:
        raise Violation(f"{specimen.record.value} has no method {', '.join(f'`{name}`' for name in missing)}")
    return adapter


@plugin_check("hosts")
def check_adapter_has_its_methods(specimen: Specimen) -> None:
    """An adapter can read an event, compose an answer, put it into an envelope, and hear that it was sent."""
    _adapter(specimen)


@plugin_check("hosts")
def check_adapter_has_its_name(specimen: Specimen) -> None:
    """An adapter is called what its entry point is called: `--host NAME` finds it by that."""
    name = getattr(_adapter(specimen), "name", specimen.record.name)
    if name != specimen.record.name:
        raise Violation(f"it is called {shown(name)}, and its entry point {shown(specimen.record.name)}")


@plugin_check("hosts")
def check_adapter_has_a_limit(specimen: Specimen) -> None:
    """An adapter says how many characters its host takes: what is more, the host cuts off without a word."""
    limit = getattr(_adapter(specimen), "limit", None)
    if not isinstance(limit, int) or not 500 <= limit <= 1_000_000:
        raise Violation(f"its limit is {shown(limit)}")


@plugin_check("hosts")
def check_envelope_holds_the_text(specimen: Specimen) -> None:
    """The envelope of a session that starts holds the whole text, readable by whoever takes it apart."""
    envelope = _adapter(specimen).envelope(_Call(specimen, "session-start"), _TEXT)
    if not isinstance(envelope, str):
        raise Violation(f"it gave {shown(envelope)}")
    found = _texts(json.loads(envelope)) if envelope.lstrip().startswith("{") else [envelope]
    if not any(_TEXT in text for text in found):
        raise Violation(f"it gave {shown(envelope)}")


@plugin_check("hosts")
def check_envelope_is_one_answer(specimen: Specimen) -> None:
    """An envelope that is JSON is one object and nothing beside it: hosts refuse what they cannot parse."""
    envelope = _adapter(specimen).envelope(_Call(specimen, "session-start"), _TEXT)
    if not envelope.lstrip().startswith("{"):
        raise NotApplicable("this host takes plain text")
    try:
        json.loads(envelope)
    except ValueError as error:
        raise Violation(f"it cannot be parsed: {error}") from error


@plugin_check("hosts")
def check_silence_is_silent(specimen: Specimen) -> None:
    """Where there is nothing to say, nothing is printed that the agent would read."""
    envelope = _adapter(specimen).envelope(_Call(specimen, "session-start"), "")
    texts = _texts(json.loads(envelope)) if envelope.strip().startswith("{") else [envelope]
    if any(text.strip() for text in texts if text not in ("SessionStart", "sessionStart")):
        raise Violation(f"it gave {shown(envelope)}")


@plugin_check("hosts")
def check_adapter_writes_nothing_for_an_envelope(specimen: Specimen) -> None:
    """Making an envelope touches no file: the host waits for it, and the deadline's thread may be the one to ask."""
    adapter = _adapter(specimen)
    before = specimen.files()
    adapter.envelope(_Call(specimen, "session-start"), _TEXT)
    if specimen.files() != before:
        raise Violation(f"it made {shown(sorted(specimen.files().keys() - before.keys()))}")


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _texts(each)]
