"""The bucket as a backend: its objects, with a copy of the projects' state on this device.

Hooks import this module, so whatever talks to the network is imported by the verbs that do: a hook reads the copy and
never loads the client library.
"""

from __future__ import annotations

import os

from agentm_bucket.objects import ObjectStore
from agentm_bucket.place import parse_options
from agentm_kernel.plugin import MAX_CONTENT_BYTES, MirroredState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from agentm_bucket.credentials import Credentials
    from agentm_bucket.place import Place, Timing
    from agentm_kernel.plugin import Device, Opening

PROTOCOL = "bucket"


class BucketBackend(MirroredState):
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
        super().__init__(
            ObjectStore(place, timing, credentials, opening.state_dir, self.check_stamp, size_limit=size_limit),
            os.path.join(opening.state_dir, PROTOCOL, _folder_name(place)),
            read_only=opening.read_only,
        )

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        from agentm_bucket.credentials import Credentials

        place, timing, size_limit, names = parse_options(options)
        credentials = Credentials(place.kind, names, device.environ)
        return cls(place, timing, credentials, opening, size_limit=size_limit)

    def before_first_change(self) -> None:
        """The objects look at the stamp themselves, within the deadline of the verb."""


def _folder_name(place: Place) -> str:
    """A folder name for a place: readable, and another one for another place."""
    import zlib  # hashlib would cost every hook 4 ms

    text = f"{place.bucket}-{place.prefix}-{place.endpoint.partition('://')[2]}"
    readable = "".join(character if character.isalnum() else "-" for character in text)
    return f"{readable[:100].strip('-')}-{zlib.crc32(repr(place).encode()):08x}"
