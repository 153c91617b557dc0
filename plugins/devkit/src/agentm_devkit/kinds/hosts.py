"""An adapter for an agent host (group `agentm.hosts`): its envelope holds what the agent is told, and no more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.expect import NotApplicable, Violation, shown
from agentm_devkit.kinds.checking import plugin_check
from agentm_devkit.kinds.connected_home import ConnectedHome

if TYPE_CHECKING:
    from agentm_devkit.kinds.checking import Specimen

HOOKED = ("session-start", "prompt", "pre-compact", "post-compact", "turn-end", "session-end")
"""The events that `agentm hook` takes."""
_METHODS = ("read", "compose", "envelope", "sent", "afterwards")
_OF_THE_USER = {"json": '{\n    "mine": {"theme":"dark"}\n}\n', "toml": '# mine\nmine   = "dark"\n'}
"""What a user may have in a settings file, written as nobody else would."""
_TEXT = 'Remember: "quotes", back\\slashes,\nlines, é, 👋 and </tags>.'


class _Call:
    """As much of a hook call as an envelope may look at."""

    def __init__(self, specimen: Specimen, event: str, payload: dict[str, Any] | None = None) -> None:
        self.device, self.event, self.host = specimen.device, event, specimen.record.name
        self.payload = {"session_id": "check", "cwd": specimen.home} if payload is None else payload
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
def check_adapter_knows_its_events(specimen: Specimen) -> None:
    """`hooks` names events that `agentm hook` takes, and what the host calls each: any other is refused each time."""
    hooks = getattr(_adapter(specimen), "hooks", {})
    if unknown := [event for event in hooks if event not in HOOKED]:
        raise Violation(f"there is no event {shown(unknown[0])}; events are {', '.join(HOOKED)}")
    if nameless := [event for event, native in hooks.items() if not isinstance(native, str) or not native]:
        raise Violation(f"what the host calls {nameless[0]} is {shown(hooks[nameless[0]])}")


@plugin_check("hosts")
def check_adapter_takes_an_empty_payload(specimen: Specimen) -> None:
    """What a host leaves out of its event is an empty text, and no error: hosts leave things out."""
    adapter = _adapter(specimen)
    for event in HOOKED:
        adapter.read(_Call(specimen, event, {}))
    for name in ("session", "prompt", "transcript"):
        if hasattr(adapter, name):
            _is_a(str, f"{name}({{}})", getattr(adapter, name)({}))


@plugin_check("hosts")
def check_adapter_answers_where_the_host_never_ran(specimen: Specimen) -> None:
    """The folder of the host is a path, and questions about its sessions have answers before there is one."""
    adapter = _adapter(specimen)
    if not hasattr(adapter, "user_folder"):
        raise NotApplicable("it says nothing about the host's files")
    folder = adapter.user_folder(specimen.device)
    _is_a(str, "folder(place)", folder)
    if not folder.startswith(specimen.home):
        raise Violation(f"folder(place) gave {shown(folder)}, which is not below the home of that place")
    _is_a((int, float), "last_session(folder)", adapter.last_session(folder))
    _is_a(str, "find_transcript(folder, session)", adapter.find_transcript(folder, "check"))
    for text in adapter.contexts({}):
        _is_a(str, "a text of contexts({})", text)


def _is_a(kind: type | tuple[type, ...], what: str, found: object) -> None:
    if not isinstance(found, kind):
        wanted = "a text" if kind is str else "a number"
        raise Violation(f"{what} gave {shown(found)}, which is not {wanted}")


@plugin_check("hosts")
def check_connecting_can_be_undone(specimen: Specimen) -> None:
    """`agentm connect` adds the adapter's entries, once, and `agentm disconnect` leaves every file as it was."""
    _adapter(specimen)
    home = ConnectedHome(specimen)
    made = home.connects_and_back({})
    if not made:
        raise Violation("there was nothing to connect: no file was changed")
    for path in made:
        if mine := _OF_THE_USER.get(path.rpartition(".")[2]):
            home.connects_and_back({path: mine})


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
