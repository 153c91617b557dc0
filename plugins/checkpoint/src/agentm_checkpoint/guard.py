"""The wrapper `integrity`: guarded notes are compared with what is known to be good each time they are read.

A note under guard that is not what this device knows is locked: reading it raises `IntegrityError`, writing is
refused, and the operator is alerted once. Writes through this wrapper are known from the moment before they happen,
so they never lock. Only the operator unlocks, with `accept` or `restore`.

A wrapper is loaded by every hook that opens the store: what only a write or a failure needs is imported there.
"""

from __future__ import annotations

from agentm_checkpoint.directories import folder_of, store_id
from agentm_checkpoint.known_good import KnownGood, Record
from agentm_checkpoint.patterns import Patterns
from agentm_checkpoint.tree import leaf_of
from agentm_kernel.plugin import (
    ABSENT,
    BackendLayer,
    ConcurrentModificationError,
    ConflictCopies,
    DeviceCopy,
    DeviceFiles,
    Identity,
    IntegrityError,
    NotFoundError,
    PersonalSpace,
    Rules,
    Sealed,
    Unguarded,
    WatchedStore,
    WorkingCopy,
    current_directory,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from agentm_checkpoint.known_good import Edit
    from agentm_checkpoint.tree import Leaf
    from agentm_kernel.plugin import Absent, Device, Locator, Opening, StorageBackend

    Tell = Callable[["IntegrityGuard", str, str], None]

NAME = "integrity"
_LOOKS = 50


def wrap(backend: StorageBackend, options: Mapping[str, Any], device: Device, opening: Opening) -> StorageBackend:
    """The entry point of group `agentm.wrappers`."""
    if options:
        from agentm_checkpoint.options import GUARD_OPTIONS
        from agentm_kernel.plugin import check_options

        check_options(NAME, options, GUARD_OPTIONS)
    return IntegrityGuard(backend, options.get("guard"), device, opening)


class IntegrityGuard(BackendLayer, Unguarded):
    """Every verb of `inner`, with the notes that match `patterns` under guard."""

    passes = (
        DeviceFiles,
        DeviceCopy,
        PersonalSpace,
        ConflictCopies,
        Identity,
        Rules,
        Sealed,
        WorkingCopy,
        WatchedStore,
    )

    def __init__(
        self,
        inner: StorageBackend,
        patterns: object,
        device: Device,
        opening: Opening,
        tell: Tell | None = None,
    ) -> None:
        super().__init__(inner)
        self.device = device
        self.opening = opening
        self.patterns = Patterns(patterns)
        self.is_guarded = self.patterns.match
        self._tell = tell or _tell_plugins
        self._lazy_record: Record | None = None
        self.is_operator_present = False
        self._told: set[str] = set()

    @property
    def unguarded(self) -> StorageBackend:
        return self.inner

    @property
    def record(self) -> Record:
        """What is known about this store. Its id is asked for when it is needed: a new store has none yet."""
        if self._lazy_record is None:
            self._lazy_record = Record(folder_of(self.opening.state_dir, store_id(self.inner)))
        return self._lazy_record

    # -- reading ----------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        if not self.is_guarded(locator.key):
            return self.inner.read(locator)
        text = self.checked(locator)
        if text is None:
            raise NotFoundError(f"'{locator}' does not exist")
        return text

    def checked(self, locator: Locator) -> str | None:
        """The text of a guarded note, `None` if there rightly is none; else the note is locked."""
        text, known = self._judge(locator)
        if known is None:
            return text
        if known.lock(locator.key) is not None:
            raise _locked(locator.key, known)
        return self._refuse(locator, text, known)

    def stored(self, locator: Locator) -> Leaf | None:
        """What is in the store now, good or not; `None` if nothing is."""
        text = self._look(locator)
        return None if text is None else leaf_of(text.encode())

    def problem(self, locator: Locator) -> str | None:
        """What is wrong with a guarded note, if anything is. Looks only: locks nothing and alerts nobody."""
        text, known = self._judge(locator)
        if known is None:
            return None
        lock = known.lock(locator.key)
        return lock.what if lock is not None else describe(locator.key, text, known)

    def _judge(self, locator: Locator) -> tuple[str | None, KnownGood | None]:
        """The text of a note, `None` if there is none; and, if that is not good, the record that says so.

        What agentm writes is in the record before it is in the store, so a text that is read first and looked up
        afterwards is found, unless it was replaced in between. So it is not good only if it stays what it is, twice,
        while the record does not know it.
        """
        key = locator.key
        text = self._look(locator)
        unknown = 0
        for _ in range(_LOOKS):
            leaf = None if text is None else leaf_of(text.encode())
            known = self._known()
            if known.lock(key) is None and known.accepts(key, leaf):
                return text, None
            known = self.record.read()
            again = self._look(locator)
            unknown = unknown + 1 if again == text and not known.accepts(key, leaf) else 0
            if known.lock(key) is not None or unknown == 2:
                return text, known
            text = again
        raise ConcurrentModificationError(f"'{locator}' keeps changing and cannot be compared", hint="try again")

    def _known(self) -> KnownGood:
        if self._lazy_record is None and self.inner.stamp_text() is None:
            return KnownGood()  # a store that nobody has written to yet
        return self.record.current()

    def _look(self, locator: Locator) -> str | None:
        try:
            return self.inner.read(locator)
        except NotFoundError:
            return None

    # -- writing ----------------------------------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        if not self.is_guarded(locator.key):
            return self.inner.write(locator, content, if_match=if_match)
        from agentm_kernel.plugin import encode_content

        data = encode_content(content, locator)
        self._change(locator, data, lambda seen: self.inner.write(locator, content, if_match=_given(if_match, seen)))
        return locator

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        if not self.is_guarded(locator.key):
            self.inner.delete(locator, if_match=if_match)
            return

        def remove(seen: str | None) -> None:
            condition = _given(if_match, seen)
            self.inner.delete(locator, if_match=condition if isinstance(condition, str) else None)

        self._change(locator, None, remove)

    def _change(self, locator: Locator, data: bytes | None, carry_out: Callable[[str | None], object]) -> None:
        """Check what is there, announce what will be, carry it out on condition, and only then know it as good."""
        from agentm_checkpoint.sections import marks_of

        self._settle_identity(locator)
        key = locator.key
        leaf = None if data is None else leaf_of(data)
        seen = None
        for attempt in range(_LOOKS):
            try:
                with self.record.edit() as edit:
                    self._clear_leftovers(edit)
                    seen = self._check_before_change(locator, edit)
                    edit.expect(key, leaf)
                    try:
                        carry_out(seen)
                    except BaseException:
                        edit.give_up(key)
                        raise
                    edit.settle(key, leaf, marks_of(data) if data is not None else [])
            except _Unexpected as found:
                self._refuse(locator, found.text, self.record.read())
            except ConcurrentModificationError:
                # The caller's own condition failed, or somebody outside of agentm came between: look once more.
                if attempt + 1 == _LOOKS or self._look(locator) == seen:
                    raise
            else:
                return

    def _clear_leftovers(self, edit: Edit) -> None:
        """What is pending while we hold the lock was left by writers that died: see what became of it."""
        from agentm_checkpoint.sections import marks_of
        from agentm_kernel.plugin import Locator

        for key in edit.leftovers():
            text = self._look(Locator(key))
            data = None if text is None else text.encode()
            leaf = None if data is None else leaf_of(data)
            if edit.expects(key, leaf) and edit.lock(key) is None:
                edit.settle(key, leaf, marks_of(data) if data is not None else [])
            else:
                edit.drop(key)

    def _check_before_change(self, locator: Locator, edit: Edit) -> str | None:
        """What the note is now; an error if it is locked or not what is known."""
        seen = self._look(locator)
        if self.is_operator_present:
            return seen
        if edit.lock(locator.key) is not None:
            raise _locked(locator.key, edit)
        if not edit.accepts(locator.key, None if seen is None else leaf_of(seen.encode())):
            raise _Unexpected(seen)
        return seen

    def _settle_identity(self, locator: Locator) -> None:
        """A new store gets its identity from its first write: have that happen before the record is looked for."""
        if self._lazy_record is None and self.inner.stamp_text() is None:
            self.inner.mkdir(locator.parent)

    # -- the operator -----------------------------------------------------------------------------------------

    def operator(self) -> _OperatorPresent:
        """`with guard.operator():` lets writes through to locked notes and unlocks them. For commands that asked."""
        return _OperatorPresent(self)

    def accept(self, locator: Locator, shown: Leaf | None) -> None:
        """Know the note as good and unlock it, provided that it still is what the operator was shown."""
        from agentm_checkpoint.sections import marks_of

        with self.record.edit() as edit:
            text = self._look(locator)
            data = None if text is None else text.encode()
            if shown != (None if data is None else leaf_of(data)):
                raise ConcurrentModificationError(
                    f"'{locator}' was changed again meanwhile, and was not accepted", hint="look at it once more"
                )
            edit.settle(locator.key, shown, marks_of(data) if data is not None else [])

    # -- refusing ---------------------------------------------------------------------------------------------

    def _refuse(self, locator: Locator, text: str | None, known: KnownGood) -> str | None:
        """Lock the note, alert the operator once, and raise; a process that only reads can do none of it for good.

        Whoever may lock has the last look while nobody writes: if the note is good after all, that is its text.
        """
        key = locator.key
        what = describe(key, text, known)
        if self.opening.read_only:
            is_new = key not in self._told
            self._told.add(key)
        else:
            with self.record.edit() as edit:
                text = self._look(locator)
                if edit.lock(key) is None and edit.accepts(key, None if text is None else leaf_of(text.encode())):
                    return text
                is_new = edit.add_lock(key, what)
        if is_new:
            self._tell(self, key, what)
        raise IntegrityError(f"{what}; it is locked", hint=_hint(key))


def _locked(key: str, known: KnownGood) -> IntegrityError:
    lock = known.lock(key)
    assert lock is not None
    return IntegrityError(f"{lock.what}; it is locked", hint=_hint(key))


def _hint(key: str) -> str:
    from shlex import quote

    accept, restore = f"agentm checkpoint accept {quote(key)}", f"restore ID --path {quote(key)}"
    return f"look at it: `agentm checkpoint verify`; then `{accept}` or `{restore}`"


class _Unexpected(Exception):
    """What is in the store is not what is known. Ends the edit: setting the lock takes one of its own."""

    def __init__(self, text: str | None) -> None:
        super().__init__()
        self.text = text


class _OperatorPresent:
    def __init__(self, guard: IntegrityGuard) -> None:
        self._guard = guard

    def __enter__(self) -> None:
        self._guard.is_operator_present = True

    def __exit__(self, *_: object) -> None:
        self._guard.is_operator_present = False


def _given(if_match: str | Absent | None, seen: str | None) -> str | Absent:
    """The caller's condition, or that the note still is what was just found good."""
    if if_match is not None:
        return if_match
    from agentm_kernel.plugin import content_hash

    return ABSENT if seen is None else content_hash(seen)


def describe(key: str, text: str | None, known: KnownGood) -> str:
    """What is wrong with a guarded note, as precisely as can be said without repeating what a stranger wrote."""
    from agentm_checkpoint.sections import changes

    if known.leaf(key) is None:
        return f"'{key}' is under guard and nobody has accepted it yet"
    if text is None:
        return f"'{key}' is under guard and was removed outside of agentm"
    found = changes(known.marks(key), text.encode())
    shown = "; ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    return f"'{key}' is under guard and was changed outside of agentm: {shown}"


def find_guard(backend: StorageBackend) -> IntegrityGuard | None:
    """The guard among the layers of a selected store, if the configuration has one."""
    found = backend.facet(Unguarded)
    return found if isinstance(found, IntegrityGuard) else None


def below_guard(backend: StorageBackend) -> StorageBackend:
    """The store without its guard, to look at: a checkpoint records what is there, good or not, sealed or not."""
    from agentm_checkpoint.sealed import as_stored

    found = backend.facet(Unguarded)
    return as_stored(backend if found is None else found.unguarded)


def _tell_plugins(guard: IntegrityGuard, key: str, what: str) -> None:
    """Through the hook `agentm_alert`. A plugin that fails is reported; the note is locked all the same."""
    import sys

    from agentm_kernel.plugin import Alert, HookCaller, HookContext

    store = None if guard.opening.read_only else guard  # nothing is written down where nothing may be
    caller = HookCaller(HookContext(guard.device, current_directory(), store=store))
    caller.alert(Alert(key, what, _hint(key)))
    for failure in caller.failures:
        sys.stderr.write(f"agentm: {failure.message}\n")
