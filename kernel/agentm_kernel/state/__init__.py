"""Harness state: where a project's plan and progress live, and reading and writing them there.

`Device`: this machine as one process sees it, with its store and its projects.

Made by `main()` and by the public functions (`here.py`), handed down to everything else, plugins included.
"""

from __future__ import annotations

from agentm_kernel.device import DeviceFacts
from agentm_kernel.projects import find_project_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam import Capabilities
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state.routing import Resolution


class Device(DeviceFacts):
    """Environment, directories, configuration and plugins of this device, and what is found through them."""

    __slots__ = ()

    def store(
        self, name: str | None = None, *, read_only: bool = True, required: Capabilities | None = None
    ) -> StorageBackend:
        """The default store, or the one called `name`, or `StorageSelectionError`; never another one instead."""
        from agentm_kernel.selection import inspect_store, require

        return require(inspect_store(self.of_store(name), read_only=read_only), required)

    def project(self, cwd: str | None = None, *, read_only: bool = True) -> Resolution:
        """The project that `cwd` lies in, and where its state belongs. Its name is looked up when it is asked for."""
        from agentm_kernel.state.routing import route

        return route(self, find_project_root(cwd), read_only=read_only)

    def memory(self, cwd: str | None = None, *, read_only: bool = True) -> Resolution:
        """The project and the store of its notes: the mode decides about state, and notes are not state."""
        from agentm_kernel.state.routing import in_store

        return in_store(self, find_project_root(cwd), read_only=read_only)

    def bound_store(self, cwd: str | None = None) -> str | None:
        """The further store that the project that `cwd` lies in is bound to; `None` for the default one."""
        from agentm_kernel.state.routing import bound_store

        return bound_store(self, find_project_root(cwd))
