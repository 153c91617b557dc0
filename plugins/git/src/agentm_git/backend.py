"""`FileStore` in a clone of a git repository. Hooks open it, so git itself is a matter of other modules."""

from __future__ import annotations

import os

from agentm_git.medium import GIT, CloneFolder
from agentm_git.settings import PROTOCOL, Settings, parse_options
from agentm_kernel.plugin import (
    MAX_CONTENT_BYTES,
    AgentmError,
    Capabilities,
    FileStore,
    LocatorConflictError,
    StorageIOError,
    StorageSelectionError,
    SyncTrigger,
    WorkingCopy,
)

TYPE_CHECKING = False  # importing `typing` would cost hooks more than this module does
if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self

    from agentm_git.clone import Clone
    from agentm_kernel.plugin import Author, Device, Locator, Opening, SyncOutcome

_CAPABILITIES = Capabilities(concurrent_writers=True, sync=True, device_files=True, delete=True)
PULLED = (GIT, "agentm", "pulled")
"""A file below the root that tells by its time when the origin was last reached."""
_BRING = "run `agentm event workspace-open`, or `agentm git sync`: the first pull brings it"


class _StoreFolder(CloneFolder):
    """The same under the verbs of a store: the clone has to be here, and may want each write committed."""

    def __init__(self, store: GitStore) -> None:
        self._store = store

    def check_here(self) -> None:
        self._store.check_here()

    def before_change(self, locator: Locator) -> None:
        self._store.before_change(locator)

    def after_change(self, locator: Locator) -> None:
        self._store.after_change(locator)


class GitStore(FileStore, WorkingCopy):
    """Notes in the clone at `root`. Settings are those of `settings.Settings`, by name.

    `is_excluded` tells which keys stay on this device; `credentials` are the variables that a policy lets us see.
    `clones_itself`: whether the first pull, or the first verb of a process that may write, makes the clone; the store
    of a policy does, one of the configuration is made by `agentm git init`. `read_only` is a process that may not.
    """

    scratch_options = {"root": "{scratch}"}  # noqa: RUF012 - as the seam declares it

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        environ: Mapping[str, str] | None = None,
        credentials: Mapping[str, str] | None = None,
        is_excluded: Callable[[str], bool] | None = None,
        clones_itself: bool = False,
        read_only: bool = False,
        size_limit: int = MAX_CONTENT_BYTES,
        settings: Settings | None = None,
        **given: Any,
    ) -> None:
        super().__init__(root, medium=_StoreFolder(self), size_limit=size_limit)
        self.settings = settings or Settings(**given)
        self.self_stamping = clones_itself
        self._environ = os.environ if environ is None else environ
        self._credentials = credentials or {}
        self._is_excluded = is_excluded
        self._clones_itself = clones_itself
        self._read_only = read_only
        self._lazy_clone: Clone | None = None

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        root, settings, size_limit = parse_options(options)
        if not root or not os.path.isabs(path := device.expand(root)):
            raise StorageSelectionError(
                "git is selected, but not where the clone is" if not root else f"plugins.git.root is {ascii(root)}",
                hint="run `agentm git init PATH [URL] --use`, with a path that begins with / or ~",
            )
        store = cls(path, settings=settings, size_limit=size_limit, environ=device.environ)
        store.state_dir = opening.state_dir
        return store

    @classmethod
    def found_options(cls, options: Mapping[str, Any], device: Device) -> Mapping[str, Any]:
        """The origin of a clone that is there: without it, its history would stay on this device."""
        from agentm_git.setup import known_origin

        root = device.expand(str(options.get("root", "")))
        is_clone = bool(root) and os.path.isdir(os.path.join(root, ".git"))
        origin = known_origin(root, device.environ) if is_clone else ""
        return {"remote": origin} if origin else {}

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    # -- a clone that may not be there yet ----------------------------------------------------------------

    @property
    def is_here(self) -> bool:
        """Whether the origin was ever reached: a clone that was begun and not filled must not look empty."""
        return not self._clones_itself or os.path.exists(os.path.join(self.root, *PULLED))

    def check_usable(self, *, read_only: bool) -> None:
        if self.is_here:
            super().check_usable(read_only=read_only)
        elif read_only:
            raise StorageSelectionError(self._not_here, hint=_BRING)

    @property
    def _not_here(self) -> str:
        return f"the clone of {self.settings.remote} is not on this device yet"

    def make_place(self) -> None:
        """A clone, with what its origin has: a checkpoint that fills the place must not come over newer notes."""
        from agentm_git.setup import fill, make_clone

        super().make_place()
        if self._clones_itself:
            return  # its first pull makes it
        make_clone(self.describe(), self.settings, self._environ)
        if not self.settings.remote:
            return
        try:
            fill(self, self.describe(), is_new=True)
        except AgentmError as error:
            error.hint = (
                f"{error.hint or 'try again when the origin can be reached'}; if the origin is gone for good, run "
                "`agentm config unset plugins.git.remote` first"
            )
            raise

    def stamp_text(self) -> str | None:
        return super().stamp_text() if self.is_here else None

    def check_here(self) -> None:
        if not self.is_here:
            if self._read_only:  # a hook, perhaps: it waits for no network
                raise StorageIOError(self._not_here, hint=_BRING)
            self.pull(SyncTrigger("read"))  # whoever is going to write has to know first what there is

    # -- around every change ------------------------------------------------------------------------------

    def before_change(self, locator: Locator) -> None:
        if not self.is_here:
            self.pull(SyncTrigger("write"))
        if self.settings.commit == "write" and self.clone.private.is_clone:
            self.clone.check_ready()  # what cannot be committed is not written either
        if self.settings.sparse:
            from agentm_git.folder import is_in

            if not is_in(self.settings.sparse, locator.key):
                raise LocatorConflictError(
                    f"'{locator}' lies outside of what this device has of the repository",
                    hint="add it to sparse_checkout",
                )

    def after_change(self, locator: Locator) -> None:
        if self.settings.commit == "write" and self.clone.private.is_clone:
            self.clone.commit(f"agentm: {locator}", (), only=locator.key)

    # -- the working copy ---------------------------------------------------------------------------------

    @property
    def clone(self) -> Clone:
        """The clone under the store, for whoever needs more than the verbs."""
        if self._lazy_clone is None:
            from agentm_git.clone import Clone
            from agentm_git.folder import Folder

            if self._clones_itself:
                from agentm_git.setup import make_clone

                make_clone(self.describe(), self.settings, self._environ)
            folder = Folder(self.describe(), self._is_excluded, self.settings.sparse, self.size_limit)
            self._lazy_clone = Clone(folder, self.settings, self._environ, self._credentials)
        return self._lazy_clone

    def has_changes(self) -> bool:
        return self.is_here and bool(self.clone.changes())

    def commit(self, message: str, authors: Sequence[Author], trigger: SyncTrigger) -> SyncOutcome:
        return self.clone.commit(message, authors)

    def pull(self, trigger: SyncTrigger) -> SyncOutcome:
        return self.clone.pull()

    def push(self, trigger: SyncTrigger) -> SyncOutcome:
        return self.clone.push(trigger)

    def operator(self) -> Author | None:
        """Whoever git would sign a commit with: a policy that names nobody has their commits."""
        from agentm_kernel.plugin import Author

        told = self.clone.operator
        return Author(told["name"], told.get("email", "")) if "name" in told else None

    def sync(
        self, trigger: SyncTrigger, message: str = "", conflict: str | None = None, rewritten: str | None = None
    ) -> builtins.list[SyncOutcome]:
        """Commit, pull and push, as far as there is an origin; `conflict` is a policy for this once, `rewritten` the
        answer where the origin took out commits that are here.
        """
        done = [self.clone.commit(message or f"agentm: {trigger.event}", ())]
        if self.settings.remote:
            done.append(self.clone.pull(conflict, rewritten))
            done.append(self.clone.push(trigger, conflict))
        return done


__all__ = ["PROTOCOL", "GitStore"]
