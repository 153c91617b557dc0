"""Keeping a working copy in step with its origin, driven by events: there is no daemon.

A debounced write is committed by the next write after its window, by the next event, or by an explicit flush. What
fails is recorded and said again until it succeeds; the notes are safe in the working copy all the while.
"""

from __future__ import annotations

from _thread import RLock

from agentm_kernel.plugin import AgentmError, StorageConflictError, SyncTrigger
from agentm_storage_policy import audit, lifecycle
from agentm_storage_policy.definition import TOKENS
from agentm_storage_policy.errors import (
    StorageCommitFailedError,
    StorageDeniedError,
    StoragePullFailedError,
    StoragePushFailedError,
)
from agentm_storage_policy.grants import COMMIT, PUSH
from agentm_storage_policy.lifecycle import EventBus, LifecycleEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentm_kernel.plugin import Author, StorageError, SyncOutcome, WorkingCopy
    from agentm_storage_policy.definition import SyncPlan
    from agentm_storage_policy.gate import AccessRules
    from agentm_storage_policy.sync_state import Failure, SyncState


_CHANGES = (lifecycle.WRITE, lifecycle.DELETE)
"""What `each-write` means: a note that was deleted is a change like any other."""
_AGAIN = "the notes are safe in the working copy; `agentm event manual` tries again"


class Report:
    """What one event led to: lines for the operator, and what failed."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.errors: list[AgentmError] = []


class SyncDriver:
    """Pulls, commits and pushes one working copy when its plan says so."""

    def __init__(
        self,
        copy: WorkingCopy,
        plan: SyncPlan,
        rules: AccessRules,
        state: SyncState,
        authors: Callable[[], Sequence[Author]],
        bus: EventBus | None = None,
    ) -> None:
        self._copy = copy
        self._plan = plan
        self._rules = rules
        self._state = state
        self._authors = authors
        self._report = Report()
        self._alone = RLock()
        self.bus = bus or EventBus()
        # In this order: a tree with changes is never pulled over, and what is pushed has to be committed.
        for wanted, handler in (
            (plan.commit_on, self._commit_on_event),
            (plan.pull_on, self._pull_on_event),
            (plan.push_on, self._push_on_event),
        ):
            for name in _CHANGES if wanted == lifecycle.WRITE else (wanted,):
                if name is not None:
                    self.bus.on(name, handler)

    def waiting_since(self) -> float | None:
        """When the oldest write was made that is not committed."""
        return self._state.waiting_since()

    def failure(self) -> Failure | None:
        """What went wrong last and has not succeeded since."""
        return self._state.failure()

    # -- triggers -------------------------------------------------------------------------------------------

    def handle(self, name: str, payload: Mapping[str, object]) -> Report:
        """An event of the agent's life."""
        event = LifecycleEvent(name, payload, source_kind="session")
        canonical = lifecycle.canonical(name)
        with self._alone:
            report = self._report = Report()
            gathers = self._plan.commit_on == lifecycle.WRITE
            if canonical == lifecycle.MANUAL or (gathers and canonical in lifecycle.ENDINGS):
                self._commit(event)  # whatever is known to wait: a writer that was killed has noted nothing
            elif gathers and canonical not in _CHANGES:
                self._commit_what_waited(event, whatever_the_window=False)
            self.bus.emit(event)
        return report

    def before_write(self) -> None:
        """Commit the batch whose window is over, before the write that begins the next one."""
        if self._plan.commit_on != lifecycle.WRITE:
            return
        with self._alone:
            self._report = Report()
            self._commit_what_waited(LifecycleEvent(lifecycle.WRITE, source_kind="storage"), False)
            self._say_errors()

    def after_write(self, event: str, key: str) -> None:
        happened = LifecycleEvent(event, {"path": key}, source_kind="storage", source_id=self._rules.name)
        with self._alone:
            self._state.note_write()
            self._report = Report()
            self.bus.emit(happened)
            self._say_errors()

    def _say_errors(self) -> None:
        """The write itself succeeded, so what failed around it is logged and kept for the next event, not raised."""
        for error in self._report.errors:
            audit.warn(error.message)

    # -- commit ---------------------------------------------------------------------------------------------

    def _commit_on_event(self, event: LifecycleEvent) -> None:
        if lifecycle.canonical(event.name) in _CHANGES:
            self._commit_what_waited(event, whatever_the_window=self._plan.commit_window == 0)
        elif lifecycle.canonical(event.name) != lifecycle.MANUAL:
            self._commit(event)

    def _commit_what_waited(self, event: LifecycleEvent, whatever_the_window: bool) -> None:
        since = self._state.waiting_since()
        if since is None:
            return
        if whatever_the_window or self._state.now() - since >= self._plan.commit_window:
            self._commit(event)

    def _commit(self, event: LifecycleEvent) -> None:
        if self._rules.read_only or not self._copy.has_changes():
            self._state.note_commit(None)
            return
        since = self._state.waiting_since()
        # Before the commit, so that a write that comes in between is not forgotten.
        self._state.note_commit(None)

        def commit() -> SyncOutcome:
            self._rules.require(COMMIT)
            authors = self._authors()
            message = render(self._plan.message_template, event, authors[0].name if authors else "agentm")
            return self._copy.commit(message, authors, _trigger(event))

        outcome = self._attempt("commit", StorageCommitFailedError, commit)
        if outcome is None:
            self._state.note_commit(self._state.now() if since is None else since)
        elif outcome.changed:
            self._completed("committed", lifecycle.COMMITTED, outcome, event)

    # -- pull and push --------------------------------------------------------------------------------------

    def _pull_on_event(self, event: LifecycleEvent) -> None:
        pulled, ttl = self._state.pulled_at(), self._plan.pull_ttl
        if ttl is not None and pulled is not None and 0 <= self._state.now() - pulled < ttl:
            return
        if self._copy.has_changes():
            self._report.lines.append("not pulled: there are changes that are not committed yet")
            return
        self._emit(lifecycle.PULL_STARTED, event, None)
        outcome = self._attempt("pull", StoragePullFailedError, lambda: self._copy.pull(_trigger(event)))
        if outcome is None:
            self._emit(lifecycle.PULL_FAILED, event, None)
            return
        self._state.note_pull()
        if outcome.changed:
            self._completed("pulled", lifecycle.PULLED, outcome, event)

    def _push_on_event(self, event: LifecycleEvent) -> None:
        if self._rules.read_only:
            return

        def push() -> SyncOutcome:
            self._rules.require(PUSH)
            return self._copy.push(_trigger(event))

        outcome = self._attempt("push", StoragePushFailedError, push)
        if outcome is not None and outcome.changed:
            self._completed("pushed", lifecycle.PUSHED, outcome, event)

    # -- outcomes -------------------------------------------------------------------------------------------

    def _attempt(self, step: str, kind: type[StorageError], work: Callable[[], SyncOutcome]) -> SyncOutcome | None:
        """What the provider did; its failure is typed, recorded, and in the report."""
        try:
            outcome = work()
        except StorageConflictError as error:
            failure: AgentmError = error
        except StorageDeniedError as error:
            error.code = kind.code  # to be kept from a step is one of the ways in which it fails
            failure = error
        except AgentmError as error:
            failure = kind(f"the {step} of {self._rules.name} failed: {error.message}", hint=error.hint or _AGAIN)
        except Exception as error:  # noqa: BLE001 - a provider's failure, named and kept
            failure = kind(f"the {step} of {self._rules.name} failed: {type(error).__name__}: {error}", hint=_AGAIN)
        else:
            self._state.clear_failure()
            return outcome
        self._report.errors.append(failure)
        self._state.note_failure(failure)
        return None

    def _completed(self, verb: str, name: str, outcome: SyncOutcome, event: LifecycleEvent) -> None:
        parts = [f"{verb} {outcome.ref or self._rules.name}", outcome.note, outcome.url]
        self._report.lines.append(": ".join(part for part in parts if part))
        self._emit(name, event, outcome)

    def _emit(self, name: str, cause: LifecycleEvent, outcome: SyncOutcome | None) -> None:
        told = {key: cause.payload[key] for key in ("conversationId", "turnId") if key in cause.payload}
        about = {"ref": outcome.ref, "prUrl": outcome.url} if outcome else {}
        payload = {"storageId": self._rules.name, **told, **about}
        self.bus.emit(LifecycleEvent(name, payload, source_kind="storage", source_id=self._rules.name))


# ------------------------------------------------------------------------------------------------ words


def render(template: str, event: LifecycleEvent, operator: str = "agentm") -> str:
    """A commit message: `{{operator}}`, `{{summary}}`, `{{event}}`, `{{conversation}}`, `{{turn}}` are filled in.

    `operator` is who acts here, where the agent host does not say. What the host says comes from outside: it is kept
    to one line and to a reasonable length.
    """
    trigger = _trigger(event)
    summary = event.payload.get("summary")
    values = {
        "operator": trigger.operator or operator,
        "summary": summary if isinstance(summary, str) and summary.strip() else f"notes at {trigger.event}",
        "event": trigger.event,
        "conversation": trigger.conversation or "",
        "turn": trigger.turn or "",
    }
    message = template
    for name in TOKENS:
        value = "".join(c if c.isprintable() else " " for c in values[name])[:200].replace("{{", "{ {")
        message = message.replace("{{" + name + "}}", value)
    return message.strip() or f"agentm: {trigger.event}"


def _trigger(event: LifecycleEvent) -> SyncTrigger:
    payload = event.payload

    def text(*names: str) -> str | None:
        return next((value for name in names if isinstance(value := payload.get(name), str) and value), None)

    return SyncTrigger(
        lifecycle.canonical(event.name),
        text("conversationId", "conversation_id", "session_id"),
        text("turnId", "turn_id"),
        text("operator", "operatorId"),
    )
