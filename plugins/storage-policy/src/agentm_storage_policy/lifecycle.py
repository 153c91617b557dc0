"""AIP-37: the names of events, their aliases, and a bus that carries them inside of one process.

Events of an agent's life are those of the kernel's list; stores under a policy raise a few of their own.
"""

from __future__ import annotations

from agentm_kernel.plugin import EVENTS, Frozen, is_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Handler = Callable[["LifecycleEvent"], None]

WRITE = "write"
DELETE = "delete"
MANUAL = "manual"
TURN_END = "turn-end"
WORKSPACE_OPEN = "workspace-open"
CONVERSATION_END = "conversation-end"
COMMITTED = "storage-commit-completed"
PUSHED = "storage-push-completed"
PULL_STARTED = "storage-pull-started"
PULLED = "storage-pull-completed"
PULL_FAILED = "storage-pull-failed"

OF_STORES = (PULL_STARTED, PULLED, PULL_FAILED, COMMITTED, PUSHED)
ALIASES = {
    "each-write": WRITE,
    "per-turn": TURN_END,
    "per-conversation": CONVERSATION_END,
    "per-commit": COMMITTED,
    "commit-completed": COMMITTED,
    "push-completed": PUSHED,
}
ENDINGS = (TURN_END, CONVERSATION_END, "workspace-close", MANUAL)
"""Events after which none may come for a long time: what waits is not made to wait longer."""


def canonical(name: str) -> str:
    """The event that a name or an alias stands for."""
    return ALIASES.get(name, name)


def is_known(name: str) -> bool:
    """Whether somebody may be expected to raise it, by this name or by an alias."""
    name = canonical(name)
    return name in OF_STORES or is_event(name)


def all_names() -> tuple[str, ...]:
    """What a policy can name, for people."""
    return (*(event.name for event in EVENTS), "idle-N", "conversation-idle-N", *OF_STORES, *ALIASES)


class LifecycleEvent(Frozen):
    """What happened, when, to whom, and what the host said about it."""

    __slots__ = ("name", "emitted_at", "source_kind", "source_id", "payload")
    name: str
    emitted_at: str
    """ISO 8601."""
    source_kind: str
    """`routine`, `storage`, `corpus`, `session`, `workflow` or `host`."""
    source_id: str
    payload: Mapping[str, object]

    def __init__(
        self,
        name: str,
        payload: Mapping[str, object] | None = None,
        *,
        source_kind: str = "host",
        source_id: str = "agentm",
        emitted_at: str | None = None,
    ) -> None:
        self._set(
            name=name,
            emitted_at=emitted_at or _now(),
            source_kind=source_kind,
            source_id=source_id,
            payload=dict(payload or {}),
        )


class EventBus:
    """Hands events to those who asked for them, in the order of asking.

    Handlers are called in turn, by whoever emits. What a handler emits is handed on after the event at hand, so that
    everybody sees events in one order.
    """

    def __init__(self) -> None:
        self._handlers: list[tuple[str, Handler]] = []
        self._waiting: list[LifecycleEvent] = []
        self._is_busy = False

    def on(self, name: str, handler: Handler) -> Callable[[], None]:
        """Ask for the events of a name or an alias, `*` for all; the answer takes it back."""
        entry = (canonical(name), handler)
        self._handlers.append(entry)
        return lambda: self._handlers.remove(entry)

    def emit(self, event: LifecycleEvent) -> None:
        self._waiting.append(event)
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._waiting:
                self._hand_over(self._waiting.pop(0))
        finally:
            self._is_busy = False
            self._waiting.clear()

    def _hand_over(self, event: LifecycleEvent) -> None:
        name = canonical(event.name)
        for wanted, handler in list(self._handlers):
            if wanted in (name, "*"):
                handler(event)


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="milliseconds")
