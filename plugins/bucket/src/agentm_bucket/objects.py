"""The verbs of the seam straight on the bucket. What talks to the network is imported by the verbs that do."""

from __future__ import annotations

from agentm_kernel.plugin import MAX_CONTENT_BYTES, STAMP_KEY, Capabilities, Locator, NotFoundError, StorageBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterator

    from agentm_bucket.credentials import Credentials
    from agentm_bucket.place import Place, Timing
    from agentm_bucket.verbs import Verbs
    from agentm_bucket.waiting import Deadline
    from agentm_kernel.plugin import Absent, Info

_CAPABILITIES = Capabilities(concurrent_writers=True, sync=True, delete=True)


class ObjectStore(StorageBackend):
    """One place in a bucket. `state_dir` is where this device keeps what the server has shown about itself;
    `check_stamp` compares the stamp that it is shown with the one that this device knows.
    """

    def __init__(
        self,
        place: Place,
        timing: Timing,
        credentials: Credentials,
        state_dir: str,
        check_stamp: Callable[[Callable[[], str | None]], None],
        *,
        size_limit: int = MAX_CONTENT_BYTES,
    ) -> None:
        self.place = place
        self._timing = timing
        self._credentials = credentials
        self._state_dir = state_dir
        self._check_stamp = check_stamp
        self._size_limit = size_limit
        self._lazy_verbs: Verbs | None = None
        self._deletes_on_condition: bool | None = None

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    def describe(self) -> str:
        return str(self.place)

    def check_usable(self, *, read_only: bool) -> None:
        if not read_only:  # a hook reads the copy, and needs no credentials for that
            self._credentials.check_present()

    def check_reachable(self, seconds: float) -> None:
        from agentm_bucket.reach import check_reachable

        check_reachable(self.place, self._credentials, seconds)

    def read(self, locator: Locator) -> str:
        return self._verbs.read(locator)

    def list(self, locator: Locator) -> builtins.list[Locator]:
        return self._verbs.list(locator)

    def exists(self, locator: Locator) -> bool:
        return self._verbs.exists(locator)

    def info(self, locator: Locator) -> Info:
        return self._verbs.info(locator)

    def walk(self, locator: Locator) -> Iterator[Info]:
        return self._verbs.walk(locator)

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        return self._verbs.foreign_entries(locator)

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        from agentm_bucket.writing import write

        write(self._verbs, locator, content, if_match, self._prepare())
        return locator

    def mkdir(self, locator: Locator) -> Locator:
        from agentm_bucket.writing import mkdir

        return mkdir(self._verbs, locator, self._prepare())

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        from agentm_bucket.writing import delete

        deadline = self._prepare()
        delete(self._verbs, locator, if_match, deadline, on_condition=bool(self._deletes_on_condition))

    @property
    def _verbs(self) -> Verbs:
        if self._lazy_verbs is None:
            from agentm_bucket.client import Client
            from agentm_bucket.verbs import Verbs

            self._lazy_verbs = Verbs(Client(self.place, self._credentials, self._timing), self._size_limit)
        return self._lazy_verbs

    def _prepare(self) -> Deadline:
        """Before anything is written: the bucket is the one that this device knows, and the server has shown that it
        honours conditions. The deadline of the verb, which has begun with that.
        """
        deadline = self._verbs.client.deadline()
        if self._deletes_on_condition is None:
            from agentm_bucket.proof import proven

            self._check_stamp(lambda: self._stamp(deadline))
            shown = self._verbs.asked(
                "proving that conditions hold", lambda: proven(self._verbs.client, self._state_dir, deadline)
            )
            self._deletes_on_condition = shown.deletes_on_condition
        return deadline

    def _stamp(self, deadline: Deadline) -> str | None:
        try:
            return self._verbs.read(Locator(STAMP_KEY), deadline)
        except NotFoundError:
            return None
