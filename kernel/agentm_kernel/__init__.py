"""agentm: the memory of a coding agent that provably does not lose or misplace a note.

The door for hooks and callers. Plugins have two more: `agentm_kernel.plugin` for what they build on, and
`agentm_kernel.command` for their commands. Every name is loaded when it is first used, so importing a door costs next
to nothing. Where a name lives inside the package may change; that it can be had from its door does not.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see; a test holds it equal to the table below
    # fmt: off
    from collections.abc import Callable
    from typing import Any

    from agentm_kernel.errors import AgentmError as AgentmError
    from agentm_kernel.here import harness_state_dir as harness_state_dir, read_state_file as read_state_file, resolve_project as resolve_project, select_backend as select_backend, storage_preview as storage_preview, update_state_file as update_state_file, write_state_file as write_state_file
    from agentm_kernel.process_seam import is_available as is_available, offer_save_here as offer_save_here, recall_here as recall_here, state_path as state_path
    from agentm_kernel.seam.locator import Locator as Locator
    from agentm_kernel.seam.update import update as update
    from agentm_kernel.seam import Capabilities as Capabilities
    # fmt: on

_BY_HOME = {
    "errors": "AgentmError",
    "here": "harness_state_dir read_state_file resolve_project select_backend storage_preview update_state_file write_state_file",
    "process_seam": "is_available offer_save_here recall_here state_path",
    "seam.locator": "Locator",
    "seam.update": "update",
    "seam": "Capabilities",
}
_HOMES = {name: home for home, names in _BY_HOME.items() for name in names.split()}

__version__ = "0.2.0"


def _lazy_door(
    door: str, homes: dict[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module whose names live elsewhere and are loaded when first used.

    Without `homes`, the door's stub lists them: hooks need a few of many names, and each is looked for in its text.
    """
    stub = "" if homes is not None else _stub_of(door)

    def load(name: str) -> object:
        if name in ("__all__", "_HOMES"):
            every = _listed_in(stub) if homes is None else homes
            return sorted(every) if name == "__all__" else every
        home = _home_in(stub, name) if homes is None else homes.get(name)
        if home is None:
            raise AttributeError(f"module {door!r} has no attribute {name!r}")
        # not importlib.import_module: importing importlib is a tenth of what a hook may cost
        value: object = getattr(__import__(f"agentm_kernel.{home}", fromlist=[name]), name)
        vars(sys.modules[door])[name] = value
        return value

    return load, lambda: sorted({*vars(sys.modules[door]), *(_listed_in(stub) if homes is None else homes)})


def _stub_of(door: str) -> str:
    spec: Any = sys.modules[door].__spec__
    stub: bytes = spec.loader.get_data(spec.origin.rpartition(".")[0] + ".pyi")  # out of a zip file, if it is in one
    return stub.decode()


def _home_in(stub: str, name: str) -> str | None:
    """The home of a name that a door's stub hands on, `name as name`. A line with a remark is for checkers alone."""
    at = stub.find(f" {name} as {name}")
    line = stub[stub.rfind("\nfrom agentm_kernel.", 0, at) + 20 : stub.find("\n", at)]
    return line.partition(" ")[0] if at >= 0 and "#" not in line else None


def _listed_in(stub: str) -> dict[str, str]:
    """The home of every name that the stub hands on."""
    words = [word for word, behind in zip(stub.split(), stub.split()[1:], strict=False) if behind == "as"]
    return {name: home for name in words if (home := _home_in(stub, name)) is not None}


if not TYPE_CHECKING:  # hidden from type checkers: for them, a misspelt name must stay an error
    __getattr__, __dir__ = _lazy_door(__name__, _HOMES)
