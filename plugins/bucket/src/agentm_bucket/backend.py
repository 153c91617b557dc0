"""The object store as a backend. Hooks import this module, so whatever talks to the network is imported by the verbs
that do: a hook reads the copy on this host and never loads the client library.
"""

from __future__ import annotations

import os

from agentm_bucket.place import parse_options
from agentm_kernel.plugin import (
    MAX_CONTENT_BYTES,
    STAMP_KEY,
    Capabilities,
    ConcurrentModificationError,
    DeviceCopy,
    FileStore,
    Locator,
    NotFoundError,
    StorageBackend,
    StorageReadOnlyError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator, Mapping
    from typing import Any, Self

    from agentm_bucket.credentials import Credentials
    from agentm_bucket.kept import Kept
    from agentm_bucket.mirror import Mirror, Synced
    from agentm_bucket.place import Place, Timing
    from agentm_bucket.verbs import Verbs
    from agentm_bucket.waiting import Deadline
    from agentm_kernel.plugin import Absent, Device, Info, Opening

PROTOCOL = "bucket"


class BucketBackend(StorageBackend, DeviceCopy):
    """Options: `kind` (s3, azure, gcs), `bucket`, `prefix`, `endpoint`, `region`, `account`; `deadline` and `attempt`
    in seconds; `size_limit` in bytes; `allow_http`; and the names of the environment variables with credentials.
    `scratch` is any text, and names a place of its own below the prefix.
    """

    scratch_options = {"scratch": "{scratch}"}  # noqa: RUF012 - as the seam declares it

    def __init__(
        self,
        place: Place,
        timing: Timing,
        credentials: Credentials,
        opening: Opening,
        *,
        size_limit: int = MAX_CONTENT_BYTES,
    ) -> None:
        self.place = place
        self._timing = timing
        self._credentials = credentials
        self._state_dir = opening.state_dir
        self._read_only = opening.read_only
        self._size_limit = size_limit
        self._lazy_verbs: Verbs | None = None
        self._lazy_mirror: Mirror | None = None
        self._deletes_on_condition: bool | None = None
        self._capabilities = Capabilities(concurrent_writers=True, sync=True, delete=True)

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        from agentm_bucket.credentials import Credentials

        place, timing, size_limit, names = parse_options(options)
        credentials = Credentials(place.kind, names, device.environ)
        return cls(place, timing, credentials, opening, size_limit=size_limit)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def describe(self) -> str:
        return str(self.place)

    def check_usable(self, *, read_only: bool) -> None:
        if not read_only:  # a hook reads the copy, and needs no credentials for that
            self._credentials.check_present()

    def check_reachable(self, seconds: float) -> None:
        from agentm_bucket.reach import check_reachable

        check_reachable(self.place, self._credentials, seconds)

    # -- verbs ----------------------------------------------------------------------------------------------

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

        deadline = self._prepare(locator)
        try:
            write(self._verbs, locator, content, if_match, deadline)
        except ConcurrentModificationError:
            if (
                locator.key == STAMP_KEY
            ):  # of two devices that mark a bucket at once, the slower one takes over the mark
                self._mirror.note_stamp(self._stamp_there(deadline))
            raise
        self._mirror.wrote(locator, content)
        return locator

    def mkdir(self, locator: Locator) -> Locator:
        from agentm_bucket.writing import mkdir

        return mkdir(self._verbs, locator, self._prepare(locator))

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        from agentm_bucket.writing import delete

        deadline = self._prepare(locator)
        delete(self._verbs, locator, if_match, deadline, on_condition=bool(self._deletes_on_condition))

    # -- the copy on this host ------------------------------------------------------------------------------

    def device_path(self, locator: Locator) -> str:
        return os.path.join(self._copy_root, *locator.parts)

    def stamp_text(self) -> str | None:
        try:
            return FileStore(self._copy_root, create_root=True).read(Locator(STAMP_KEY))
        except NotFoundError:
            return None

    def copy_age(self) -> float | None:
        import time

        try:
            pulled = os.stat(os.path.join(self._device_folder, PULLED)).st_mtime
        except FileNotFoundError:
            return None
        return max(0.0, time.time() - pulled)

    def pull(self) -> None:
        self.synchronise(pushing=False)

    def push(self) -> None:
        self.synchronise(pushing=True)

    def synchronise(self, *, pushing: bool, through: StorageBackend | None = None) -> Synced:
        """Bring the copy up to date; with `pushing`, send what changed in it first. Says what was done.

        `through` is this store with the layers around it, whose rules every verb has to pass: a policy's, say.
        """
        self._mirror.check_stamp(self.describe(), self._stamp_there)
        return self._mirror.synchronise(through or self, pushing=pushing)

    def kept_versions(self) -> builtins.list[Kept]:
        """Versions of plans that lost to the bucket's, as this device's copy has them."""
        return self._mirror.kept_versions()

    def fetch_stamp(self) -> str | None:
        """The stamp that the bucket carries now, put into the copy: how a device joins a store that others made."""
        return self._mirror.note_stamp(self._stamp_there())

    # -- what is made when it is needed -----------------------------------------------------------------------

    @property
    def _device_folder(self) -> str:
        return os.path.join(self._state_dir, PROTOCOL, _short_name(self.place))

    @property
    def _copy_root(self) -> str:
        return os.path.join(self._device_folder, "copy")

    @property
    def _verbs(self) -> Verbs:
        if self._lazy_verbs is None:
            from agentm_bucket.client import Client
            from agentm_bucket.verbs import Verbs

            self._lazy_verbs = Verbs(Client(self.place, self._credentials, self._timing), self._size_limit)
        return self._lazy_verbs

    @property
    def _mirror(self) -> Mirror:
        if self._lazy_mirror is None:
            from agentm_bucket.mirror import Mirror

            self._lazy_mirror = Mirror(self._device_folder, self._copy_root)
        return self._lazy_mirror

    def _prepare(self, locator: Locator) -> Deadline:
        """Before anything is written: the server has shown that it honours conditions, and the bucket is the one that
        this device knows. The deadline of the verb, which has begun with that.
        """
        if self._read_only:
            raise StorageReadOnlyError(f"'{locator}' was not changed: the store was opened to be read")
        deadline = self._verbs.client.deadline()
        if self._deletes_on_condition is None:
            from agentm_bucket.proof import proven

            self._mirror.check_stamp(self.describe(), lambda: self._stamp_there(deadline))
            shown = self._verbs.asked(
                "proving that conditions hold", lambda: proven(self._verbs.client, self._state_dir, deadline)
            )
            self._deletes_on_condition = shown.deletes_on_condition
        return deadline

    def _stamp_there(self, deadline: Deadline | None = None) -> str | None:
        try:
            return self._verbs.read(Locator(STAMP_KEY), deadline)
        except NotFoundError:
            return None


PULLED = "pulled"
"""Its modification time is when the copy was last known to be current."""


def _short_name(place: Place) -> str:
    """A folder name for a place: readable, and another one for another place."""
    import zlib  # hashlib would cost every hook 4 ms

    text = f"{place.bucket}-{place.prefix}-{place.endpoint.partition('://')[2]}"
    readable = "".join(character if character.isalnum() else "-" for character in text)
    return f"{readable[:100].strip('-')}-{zlib.crc32(repr(place).encode()):08x}"
