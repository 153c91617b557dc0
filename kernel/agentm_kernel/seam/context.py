"""What a backend is told about the process that opens it."""

from __future__ import annotations

from agentm_kernel.seam.values import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class OpenContext(Frozen):
    """The surroundings of one opening, passed in so that a backend never reads the process's globals."""

    __slots__ = ("environ", "home", "state_dir", "read_only")
    environ: Mapping[str, str]
    home: str
    state_dir: str
    """Where this device keeps what is not the store: `<state_dir>/…`, never inside a store."""
    read_only: bool
    """The opener will only read: create nothing, lock nothing."""

    def __init__(self, environ: Mapping[str, str], home: str, state_dir: str, read_only: bool = False) -> None:
        self._set(environ=environ, home=home, state_dir=state_dir, read_only=read_only)

    def expand(self, path: str) -> str:
        """`path` with a leading `~` replaced by this context's home."""
        if path == "~" or path.startswith(("~/", "~\\")):
            return self.home + path[1:]
        return path
