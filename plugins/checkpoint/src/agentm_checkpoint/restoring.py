"""Bringing a store back to a checkpoint, in two phases: a plan that only looks, then writes on condition.

The plan rests on a checkpoint of the store as it is, taken just before, so whatever is replaced can be had back. Each
write and each deletion is on condition that the note still is what that checkpoint says. What somebody changes
meanwhile is left as they made it, and the restore says so.
"""

from __future__ import annotations

from shlex import quote

from agentm_checkpoint.reading import read_note
from agentm_checkpoint.sealed import as_stored, is_sealed, opened
from agentm_checkpoint.texts import counted
from agentm_checkpoint.tree import MAX_PART
from agentm_kernel.plugin import (
    ABSENT,
    Absent,
    ConcurrentModificationError,
    IntegrityError,
    InvalidContentError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    StorageError,
    content_hash,
    decode_content,
    layout,
    read_record,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentm_checkpoint.reading import Fetch
    from agentm_checkpoint.tree import Leaf
    from agentm_kernel.plugin import StorageBackend

    Progress = Callable[[str, Iterable["Step"]], Iterable["Step"]]

CREATE = "create"
REPLACE = "replace"
DELETE = "delete"


class Step:
    """One note to be written or deleted: what the store holds now, and what it is to hold."""

    __slots__ = ("key", "now", "wanted")

    def __init__(self, key: str, now: Leaf | None, wanted: Leaf | None) -> None:
        self.key = key
        self.now = now
        self.wanted = wanted

    @property
    def verb(self) -> str:
        if self.wanted is None:
            return DELETE
        return CREATE if self.now is None else REPLACE


def plan_restore(
    backend: StorageBackend,
    wanted: Mapping[str, Leaf],
    now: Mapping[str, Leaf],
    *,
    paths: Sequence[str] = (),
    keep_extra: bool = False,
) -> list[Step]:
    """What has to be done; refuses what the store would refuse half-way.

    `paths` limits it to those notes and folders; `keep_extra` leaves notes alone that the checkpoint does not have.
    """
    for path in paths:
        if not any(map(chooser([path]), wanted.keys() | now.keys())):
            raise NotFoundError(f"there is nothing at '{path}'", hint="`agentm checkpoint show ID` lists the notes")
    is_chosen = chooser(paths)
    different = [key for key, leaf in wanted.items() if now.get(key) != leaf]
    if not keep_extra:
        different += [key for key in now if key not in wanted]
    steps = [Step(key, now.get(key), wanted.get(key)) for key in sorted(different) if is_chosen(key)]
    if steps:
        check_encryption(backend, wanted)
    deletions = [step.key for step in steps if step.verb == DELETE]
    if deletions and not backend.capabilities.delete:
        extra = counted(len(deletions), "file")
        raise StorageError(
            f"the checkpoint does not have {extra}, and this store cannot delete: {deletions[0]} …",
            hint="add --keep-extra to leave them where they are",
        )
    if paths:
        check_read(backend, [step.key for step in steps if step.wanted is not None])
    _check_room(backend, steps, now)
    steps.sort(key=lambda step: step.verb != DELETE)  # a folder may come where a note was
    return steps


def chooser(paths: Iterable[str]) -> Callable[[str], bool]:
    """Whether a key is one of `paths` or lies below one. Without paths every key is, but for the log of alerts
    and the keys of encryption: going back must not make it look as if nothing had happened, nor lock the store.
    """
    keys = [Locator(path).key for path in paths]
    if not keys:
        return lambda key: key != layout.ALERTS_KEY and not key.startswith(f"{layout.KEYS}/")
    return lambda key: any(not path or key == path or key.startswith(f"{path}/") for path in keys)


def check_encryption(backend: StorageBackend, wanted: Mapping[str, Leaf]) -> None:
    """Raise if the checkpoint has sealed notes and the store plain ones, or the other way round."""
    was_encrypted = any(key.startswith(f"{layout.KEYS}/") for key in wanted)
    if was_encrypted and not is_sealed(backend):
        raise StorageError(
            "the checkpoint is of this store while it was encrypted; it is plain now, and sealed texts are no notes",
            hint="`agentm encryption init` on the device that made it plain, which has the keys, opens them again",
        )
    if is_sealed(backend) and not was_encrypted:
        raise StorageError(
            "the checkpoint is of this store before it was encrypted, and nothing plain is taken for a note of it",
            hint="make it plain (`agentm encryption decrypt`), restore, and encrypt it again",
        )


def check_read(backend: StorageBackend, keys: Iterable[str]) -> None:
    """Raise if a project has moved since it had these keys: nobody would read a part of it under the name before."""
    parts = [key.split("/") for key in keys]
    for tree, slug in sorted({(key[0], key[1]) for key in parts if len(key) > 2 and key[0] in layout.PROJECT_TREES}):
        record = read_record(backend, slug)
        away = None if record is None else record.unread_in(Locator(f"{tree}/{slug}"))
        if record is None or away is None:
            continue
        first = f"`agentm project rename {quote(record.slug)} {quote(slug)}` first, and back again afterwards"
        if record.elsewhere is not None:
            first = "bring it back first, in its folder: `agentm project use-store default --move`"
        raise LocatorConflictError(away, hint=first)


def _check_room(backend: StorageBackend, steps: list[Step], now: Mapping[str, Leaf]) -> None:
    """New notes that the store would refuse: where a folder is, below a note, or like another but for case."""
    created = {step.key for step in steps if step.verb == CREATE}
    if not created:
        return
    gone = {step.key for step in steps if step.verb == DELETE}
    after = {key for key in now if key not in gone} | created
    for key in created:
        above = key
        while above := above.rpartition("/")[0]:
            if above in after:
                raise _no_room(key, f"'{above}' is a note, and '{key}' would lie below it")
        _check_free(backend, key)
    spelled: dict[str, str] = {}
    for key in sorted(after, key=created.__contains__):
        path = ""
        for name in key.split("/"):
            path = f"{path}/{name}" if path else name
            other = spelled.setdefault(path.casefold(), path)
            if other != path and key in created:
                raise _no_room(key, f"'{path}' differs from '{other}' only in case")


def _check_free(backend: StorageBackend, key: str) -> None:
    try:
        if backend.info(Locator(key)).is_dir:
            raise _no_room(key, f"'{key}' is a folder now, and a note in the checkpoint")
        as_stored(backend).read(Locator(key))
    except NotFoundError:
        pass
    except InvalidContentError:
        raise _no_room(key, f"what is at '{key}' is no text, so no checkpoint would have it") from None


def _no_room(key: str, why: str) -> LocatorConflictError:
    return LocatorConflictError(
        f"'{key}' cannot be restored: {why}", hint="move what is in the way, and run it again; nothing was written"
    )


def check_contents(steps: Iterable[Step], fetch: Fetch) -> None:
    """Take out and compare every byte that will be written, before anything is."""
    for step in steps:
        if step.wanted is not None:
            _text(step, fetch)


def apply_restore(backend: StorageBackend, steps: list[Step], fetch: Fetch, progress: Progress | None = None) -> None:
    """Carry the plan out. `ConcurrentModificationError` at the first note that is not what the plan saw."""
    for done, step in enumerate(progress("Restoring", steps) if progress is not None else steps):
        try:
            _carry_out(backend, step, fetch)
        except (ConcurrentModificationError, NotFoundError) as error:
            raise ConcurrentModificationError(
                f"'{step.key}' was changed by somebody else meanwhile and was left alone; "
                f"{done} of {counted(len(steps), 'file')} restored",
                hint="run the restore again to go on from what is there now",
            ) from error


def _carry_out(backend: StorageBackend, step: Step, fetch: Fetch) -> None:
    text = None if step.wanted is None else opened(backend, step.key, _text(step, fetch).encode()).decode()
    try:
        _change(backend, step, text, ABSENT if step.now is None else _hash_now(backend, step, fetch))
    except IntegrityError:
        if step.now is None or not is_sealed(backend):
            raise
        # What is there is no note to the encryption: damaged, planted, or older than what was seen. So it is compared
        # as it is stored; a write without a condition is made on that of what the encryption then finds.
        if as_stored(backend).read(Locator(step.key)).encode() != read_note(step.now, fetch):
            raise ConcurrentModificationError(f"'{step.key}' was changed", hint="run the restore again") from None
        _change(backend, step, text, None)


def _change(backend: StorageBackend, step: Step, text: str | None, condition: str | Absent | None) -> None:
    if text is not None:
        backend.write(Locator(step.key), text, if_match=condition)
    elif not isinstance(condition, Absent):
        backend.delete(Locator(step.key), if_match=condition)


def _hash_now(backend: StorageBackend, step: Step, fetch: Fetch) -> str:
    """The hash that the verbs know the present text by: where it is stored sealed, that of what it says."""
    if is_sealed(backend):
        assert step.now is not None
        return content_hash(opened(backend, step.key, read_note(step.now, fetch)))
    return _hash_of(step.now, fetch)


def _hash_of(leaf: Leaf | None, fetch: Fetch) -> str:
    """The content hash of a note: the digest in its identifier, unless the note is kept in parts."""
    assert leaf is not None
    return leaf[1][4:].hex() if leaf[0] <= MAX_PART else content_hash(read_note(leaf, fetch))


def _text(step: Step, fetch: Fetch) -> str:
    assert step.wanted is not None
    try:
        return decode_content(read_note(step.wanted, fetch), Locator(step.key))
    except ValueError as error:  # InvalidContentError: every note that was captured is text
        raise IntegrityError(f"the checkpoint's note '{step.key}' is not text: {error}") from error
