"""A layer around a store: what it is not about, it hands on. These checks apply to layers alone (`LayerSubject`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import NotApplicable, Violation, refused, same, shown, unchanged
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_devkit.conformance.subject import LayerSubject
from agentm_kernel.plugin import (
    FACETS,
    MAX_CONTENT_BYTES,
    Appends,
    Capabilities,
    InvalidContentError,
    Locator,
    StorageError,
    TierLayout,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_devkit.conformance.bench import Bench
    from agentm_kernel.plugin import StorageBackend

_NOTE = Locator("dir/note.md")


class _Inner(MemoryBackend):
    """A sound store that declares what it is told to, offers the facets that it is given, and notes the questions."""

    def __init__(self, flags: tuple[str, ...] = (), facets: dict[type, object] | None = None) -> None:
        super().__init__()
        self._declared = Capabilities(**dict.fromkeys(flags, True))
        self._facets = facets or {}
        self.asked: list[tuple[str, object]] = []

    @property
    def capabilities(self) -> Capabilities:
        return self._declared

    def facet(self, kind: type[Any]) -> Any:
        return self._facets.get(kind)

    def describe(self) -> str:
        return "the inner store"

    @property
    def tier_layout(self) -> TierLayout:
        return TierLayout(source=Locator("of-the-inner-store"))

    def check_usable(self, *, read_only: bool) -> None:
        self.asked.append(("check_usable", read_only))

    def check_reachable(self, seconds: float) -> None:
        self.asked.append(("check_reachable", seconds))

    def check_allowed(self, action: str) -> None:
        self.asked.append(("check_allowed", action))

    def make_place(self) -> None:
        self.asked.append(("make_place", None))


def _some(kind: type) -> object:
    """An object that has a facet's methods, and does nothing."""
    methods = {name: lambda *_, **__: None for name in getattr(kind, "__abstractmethods__", ())}
    return type(f"Some{kind.__name__}", (kind,), methods)()


def _wrapped(bench: Bench, inner: StorageBackend) -> StorageBackend:
    subject = bench.subject
    if not isinstance(subject, LayerSubject) or subject.wrap is None:
        raise NotApplicable("this is not a layer")
    return subject.wrap(inner, bench.outside)


@check("layering")
def check_layer_is_what_is_opened(bench: Bench) -> None:
    """`open` of a `LayerSubject` gives the layer around a sound store: the other checks are about what it gives."""
    layer = _wrapped(bench, MemoryBackend())
    if not isinstance(bench.store, type(layer)):
        raise Violation(f"it gave a {type(bench.store).__name__}, and `wrap` makes a {type(layer).__name__}")


@check("layering")
def check_layer_hands_on_flags(bench: Bench) -> None:
    """A layer declares what the store in it declares, each capability by itself, but for those it says it changes."""
    subject = bench.subject
    every = Capabilities.__slots__
    for flags in (*((flag,) for flag in every), every, ()):
        declared = _wrapped(bench, _Inner(flags)).capabilities
        for flag in every:
            if flag not in getattr(subject, "changes", ()):
                inside = f"a store that declares {', '.join(flags) or 'nothing'}"
                same(f"around {inside}, the layer's {flag}", getattr(declared, flag), flag in flags)


@check("layering")
def check_layer_lists_its_facets(bench: Bench) -> None:
    """A layer lets through the facets that its `passes` names, and no other: what it has not heard of is `None`."""
    for kind in FACETS:
        offered: Any = _some(kind)
        layer = _wrapped(bench, _Inner(facets={kind: offered}))
        found: Any = layer.facet(kind)
        passes = kind in getattr(layer, "passes", ())
        if isinstance(layer, kind) or (found is not None and found is not offered and not passes):
            continue  # it offers this facet itself
        if found is not None and not passes:
            raise Violation(f"{kind.__name__} comes through, and `passes` does not name it")
        if found is None and passes:
            raise Violation(f"`passes` names {kind.__name__}, and it does not come through")

    class Unheard:
        """A facet that nobody has heard of."""

    if _wrapped(bench, _Inner(facets={Unheard: Unheard()})).facet(Unheard) is not None:
        raise Violation("a facet that it cannot know comes through")


@check("layering")
def check_layer_hands_on_questions(bench: Bench) -> None:
    """What is asked about a store, `check_usable` and its like, reaches the store in the layer as it was asked."""
    inner = _Inner(("delete",))
    layer = _wrapped(bench, inner)
    questions: tuple[tuple[Callable[[], object], tuple[str, object]], ...] = (
        (lambda: layer.check_usable(read_only=True), ("check_usable", True)),
        (lambda: layer.check_usable(read_only=False), ("check_usable", False)),
        (lambda: layer.check_reachable(1.5), ("check_reachable", 1.5)),
        (lambda: layer.check_allowed("storage:push"), ("check_allowed", "storage:push")),
        (layer.make_place, ("make_place", None)),
    )
    for ask, asked in questions:
        inner.asked.clear()
        ask()
        if asked not in inner.asked:
            raise Violation(f"{asked[0]}({asked[1]}) arrived as {shown(inner.asked)}")
    if "the inner store" not in layer.describe():
        raise Violation(f"describe() says {shown(layer.describe())}, not where the store is")
    same("tier_layout", layer.tier_layout, inner.tier_layout)


@check("layering")
def check_layer_hands_on_stamping(bench: Bench) -> None:
    """A layer marks itself like the store in it: `self_stamping` and `stamp_text` say what that one says."""
    for stamps in (True, False):
        inner = _Inner(("delete",))
        inner.self_stamping = stamps
        same("self_stamping", _wrapped(bench, inner).self_stamping, stamps)
    inner = _Inner(("delete",))
    same("stamp_text() of an unmarked store", _wrapped(bench, inner).stamp_text(), None)


@check("layering")
def check_layer_tells_the_sizes_of_the_text(bench: Bench) -> None:
    """Sizes are those of the text that a reader gets, whatever the layer stores: in `info` and in `walk`."""
    layer = _wrapped(bench, _Inner(Capabilities.__slots__))
    for text in ("", "one\n", "é" * 100, "x" * min(10_000, getattr(layer, "size_limit", 10_000))):
        layer.write(_NOTE, text)
        size = len(text.encode())
        same(f"info({shown(_NOTE)}).size", layer.info(_NOTE).size, size)
        walked = {info.locator: info.size for info in layer.walk(Locator())}
        same(f"walk(''), at {shown(_NOTE)}, the size", walked.get(_NOTE), size)


@check("layering")
def check_layer_does_not_write_past_itself(bench: Bench) -> None:
    """What is added through a facet is read through the layer like everything else: no way leads around its rule."""
    store = bench.store
    if not isinstance(bench.subject, LayerSubject):
        raise NotApplicable("this is not a layer")
    appends = store.facet(Appends)
    if appends is None:
        raise NotApplicable("the layer offers no way to add in place")
    store.write(_NOTE, "one\n")
    appends.append(_NOTE, "two\n")
    same(f"read({shown(_NOTE)}) after an append", store.read(_NOTE), "one\ntwo\n")


@check("layering")
def check_layer_limits_what_is_appended(bench: Bench) -> None:
    """A layer that declares `size_limit` keeps it for what is added in place too, and changes nothing then."""
    store, limit = bench.store, getattr(bench.store, "size_limit", MAX_CONTENT_BYTES)
    if not isinstance(bench.subject, LayerSubject):
        raise NotApplicable("this is not a layer")
    appends = store.facet(Appends)
    if appends is None or limit >= MAX_CONTENT_BYTES:
        raise NotApplicable("the layer offers no way to add in place, or takes what every store takes")
    store.write(_NOTE, "one\n")
    with unchanged(store):
        refused(InvalidContentError, appends.append, _NOTE, "x" * limit)


@check("layering")
def check_layer_passes_errors_on(bench: Bench) -> None:
    """An error of the store in it stays an error: a layer turns no failure into absence or into an answer."""

    class Failing(_Inner):
        def read(self, locator: Locator) -> str:
            raise StorageError(f"'{locator}' cannot be read: the kit lets it fail")

        def list(self, locator: Locator) -> list[Locator]:
            raise StorageError(f"'{locator}' cannot be listed: the kit lets it fail")

        def exists(self, locator: Locator) -> bool:
            raise StorageError(f"'{locator}' cannot be looked at: the kit lets it fail")

    layer = _wrapped(bench, Failing(Capabilities.__slots__))
    for verb in (layer.read, layer.list, layer.exists):
        try:
            answer = verb(_NOTE)
        except StorageError as error:
            if isinstance(error, FileNotFoundError):
                raise Violation(f"{verb.__name__} reported absence where the store reported a failure") from error
            continue
        raise Violation(f"{verb.__name__} answered {shown(answer)} where the store reported a failure")
