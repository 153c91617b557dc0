"""What a plugin's author hands to the kit: one function that opens a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel.plugin import StorageBackend

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

OpenStore = Callable[[str], StorageBackend]
"""Opens the store that belongs to a scratch directory.

The first call with a directory, which is empty then, gives an empty store; later calls with the same directory, from
this process or another, give the same store. Where the store is not files, anything that follows from the path will
do: a prefix in a bucket, a remote beside a clone. Other processes import the function by name or unpickle it, so it
is a function or a class of a module, or an instance of one, and not a lambda.
"""


@dataclass(frozen=True)
class Subject:
    """A backend under test, with the few things that its capabilities do not tell."""

    open: OpenStore

    in_memory: bool = False
    """The store ends with the process that made it: what needs a second process is skipped."""

    time_limit: float = 60.0
    """Seconds after which a process that a check started counts as hanging; more for a slow network."""

    break_medium: Callable[[str], AbstractContextManager[object]] | None = None
    """While `break_medium(scratch)` is entered, the medium under the store of that directory does not work: the
    server is stopped, the disk gone. Without it the kit breaks what it can reach: files and sockets.
    """

    secrets: tuple[str, ...] = ()
    """Passwords and tokens that the store is opened with: they must not appear in anything that it says."""

    prepares: bool = False
    """`open` sets something up before it opens the store, such as a server's tables: what it touches says nothing."""

    @classmethod
    def of(cls, subject: Subject | OpenStore) -> Subject:
        return subject if isinstance(subject, Subject) else cls(subject)


@dataclass(frozen=True)
class LayerSubject(Subject):
    """A layer under test. `open` gives it around a sound store; `wrap` puts it around any other."""

    wrap: Callable[[StorageBackend, str], StorageBackend] | None = None
    """`wrap(inner, scratch)`: the layer around `inner`; `scratch` is a folder for what it keeps."""

    changes: tuple[str, ...] = ()
    """The capabilities that this layer does not pass on as they are: `("encryption", "device_files")`."""
