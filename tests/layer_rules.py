"""What holds for every layer around a store: nothing that it is given or says gets lost on the way.

`Recorder` is a store that writes down each call and answers with values of its own. It is made from the seam itself,
so a verb, an argument, a flag or a facet that is added there is asked for here without anybody's doing.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from agentm_kernel import Capabilities, Locator
from agentm_kernel.plugin import ABSENT, Info, StorageBackend, TierLayout, content_hash
from agentm_kernel.seam.facets import FACETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from agentm_kernel.plugin import BackendLayer

NOTE = Locator("notes/a.md")
STAMP = '{"id": "recorder", "created": "2026-01-01T00:00:00+00:00", "layout": 1}'

_ANSWERS = {
    "read": "the text",
    "list": [Locator("notes/a.md/b")],
    "exists": True,
    "info": Info(NOTE, False, 8, 1.0, "v"),
    "describe": "the recorder",
    "stamp_text": STAMP,
    "check_usable": None,
    "check_reachable": None,
    "check_allowed": None,
    "make_place": None,
    "device_path": "/a/path",
    "personal_path": "/a/personal/path",
    "delete": None,
}
_ITERATED: dict[str, list[object]] = {"walk": [Info(NOTE, False, 8, 1.0, "v")], "foreign_entries": ["no key"]}
_PROPERTIES = {
    "tier_layout": TierLayout(source=Locator("of-the-recorder")),
}
# The values that an argument of this name is given; each of them has to arrive.
_VALUES: dict[str, tuple[object, ...]] = {
    "locator": (NOTE,),
    "content": ("new text",),
    "text": ("more text",),
    "data": (b"an index",),
    "copy": (NOTE,),
    "below": (NOTE,),
    "version_id": ("v1",),
    "authorization": ("the operator's word",),
    "if_match": (ABSENT, content_hash("the text")),
    "read_only": (True, False),
    "message": ("a message",),
    "authors": (("somebody",),),
    "trigger": ("turn-end",),
    "through": ("the selected store",),
    "action": ("storage:push",),
    "seconds": (2.0,),
    "seal": ("what seals",),
    "stop": ("a stop",),
}
_NOT_VERBS = {"create", "resolve", "facet"}


def verbs_of(kind: type) -> Iterator[tuple[str, inspect.Signature]]:
    """The public methods of a class, in the order of their names."""
    for name, member in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and name not in _NOT_VERBS:
            yield name, inspect.signature(member)


def calls_of(name: str, signature: inspect.Signature, without: object = None) -> Iterator[dict[str, object]]:
    """Arguments for calls of a method which together give every value of every argument."""
    names = [parameter for parameter in signature.parameters if parameter != "self"]
    for parameter in names:
        assert parameter in _VALUES, f"give `{name}` a value for its argument `{parameter}` here"
    first = {parameter: _VALUES[parameter][0] for parameter in names}
    yield first
    for parameter in names:
        for value in _VALUES[parameter][1:]:
            yield {**first, parameter: value}
    for parameter in names:
        if signature.parameters[parameter].default is without:
            yield {key: value for key, value in first.items() if key != parameter}


class Calls:
    """What was called, with every argument by its name, those that were left out too."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, object]]] = []

    def method(self, name: str, signature: inspect.Signature) -> Callable[..., Any]:
        def called(_self: object, *args: object, **kwargs: object) -> object:
            bound = signature.bind(_self, *args, **kwargs)
            bound.apply_defaults()
            arguments = {key: value for key, value in bound.arguments.items() if key != "self"}
            self.seen.append((name, arguments))
            if name in _ITERATED:
                return iter(_ITERATED[name])
            return _ANSWERS[name] if name in _ANSWERS else arguments.get("locator")

        return called

    def arrived(self, name: str, signature: inspect.Signature, given: dict[str, object]) -> bool:
        wanted = {key: p.default for key, p in signature.parameters.items() if key != "self"} | given
        return (name, wanted) in self.seen


def _concrete(kind: type, calls: Calls, properties: dict[str, object]) -> type:
    members: dict[str, object] = {name: calls.method(name, signature) for name, signature in verbs_of(kind)}
    return type(f"Recorded{kind.__name__}", (kind,), {**members, **properties})


class Recording:
    """A store that has every facet, and what was asked of it and of them."""

    def __init__(self, capabilities: Capabilities | None = None) -> None:
        self.calls = Calls()
        values = {"capabilities": capabilities or Capabilities(), **_PROPERTIES}
        self.facet_calls = {kind: Calls() for kind in FACETS}
        self.facets: dict[type, object] = {}
        for kind in FACETS:
            properties = {
                name: f"the {name}" for name, _ in inspect.getmembers(kind, lambda m: isinstance(m, property))
            }
            self.facets[kind] = _concrete(kind, self.facet_calls[kind], properties)()
        store_class = _concrete(StorageBackend, self.calls, values)
        store_class.facet = lambda _self, kind: self.facets.get(kind)  # type: ignore[attr-defined]
        self.store: StorageBackend = store_class()


def check_verbs(make: Callable[[StorageBackend], BackendLayer], *, own: frozenset[str] = frozenset()) -> None:
    """Every argument of every verb arrives, and the store's answer comes back, but for verbs that are its `own`."""
    for name, signature in verbs_of(StorageBackend):
        if name in own:
            continue
        for given in calls_of(name, signature):
            if name == "delete" and given.get("if_match") is ABSENT:
                continue
            recording = Recording()
            verb = getattr(make(recording.store), name)
            recording.calls.seen.clear()
            answer = verb(**_as_callers_do(signature, given))
            assert recording.calls.arrived(name, signature, given), (name, given, recording.calls.seen)
            if name in _ITERATED:
                assert list(answer) == _ITERATED[name]
            else:
                assert answer == (_ANSWERS[name] if name in _ANSWERS else given["locator"]), name


def _as_callers_do(signature: inspect.Signature, given: dict[str, object]) -> dict[str, object]:
    return {key: given[key] for key in signature.parameters if key in given}


def check_flags(make: Callable[[StorageBackend], BackendLayer], **sets: bool) -> None:
    """Each flag alone, all of them, and none: the layer says what the store says, but for those that it `sets`; its
    tiers and stamping too.
    """
    every = Capabilities.__slots__
    for flags in (*((flag,) for flag in every), every, ()):
        capabilities = Capabilities(**dict.fromkeys(flags, True))
        assert make(Recording(capabilities).store).capabilities == capabilities.replace(**sets)
    for name, value in _PROPERTIES.items():
        assert getattr(make(Recording().store), name) == value
    for stamps in (True, False):
        store = Recording().store
        store.self_stamping = stamps
        assert make(store).self_stamping is stamps


def check_facets(
    make: Callable[[StorageBackend], BackendLayer], *, passes: set[type], offers: set[type] | None = None
) -> None:
    """Exactly these facets come through, with every argument of every method; the ones it `offers` are its own."""
    offers = offers or set()
    for kind in FACETS:
        recording = Recording()
        layer = make(recording.store)
        found = layer.facet(kind)
        assert (found is not None) == (kind in passes | offers), kind
        if kind in offers:
            assert found is not recording.facets[kind]
        elif found is not None:
            _check_facet(found, kind, recording.facet_calls[kind])
        recording.facets.clear()
        if kind not in offers:
            assert make(recording.store).facet(kind) is None

    class Unheard:
        """A facet that no layer has heard of."""

    recording = Recording()
    recording.facets[Unheard] = Unheard()
    assert make(recording.store).facet(Unheard) is None


def _check_facet(found: object, kind: type, calls: Calls) -> None:
    for name, signature in verbs_of(kind):
        for given in calls_of(name, signature):
            calls.seen.clear()
            getattr(found, name)(**given)
            assert calls.arrived(name, signature, given), (kind, name, given, calls.seen)
