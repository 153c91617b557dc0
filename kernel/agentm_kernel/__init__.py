"""agentm: the memory of a coding agent that provably does not lose or misplace a note.

The door for hooks and callers. Plugins have two more: `agentm_kernel.plugin` for what they build on, and
`agentm_kernel.command` for their commands. Every name is loaded when it is first used, so importing a door costs next
to nothing. The names are listed in the door's stub (`__init__.pyi` here), for type checkers and at run time alike.
Where a name lives inside the package may change; that it can be had from its door does not.
"""

from __future__ import annotations

import sys

__version__ = "0.2.0"


def _lazy_door(door: str) -> tuple[object, object]:
    """`__getattr__` and `__dir__` of a module whose names live elsewhere and are loaded when first used."""
    read = list[str]()

    def stub() -> str:
        """The text of the door's stub, read for the first name: a hook passes this door and takes nothing from it."""
        if not read:
            spec = sys.modules[door].__spec__
            data = spec.loader.get_data(f"{spec.origin.rpartition('.')[0]}.pyi")  # from a zip file, if it is in one
            read.append(data.decode())
        return read[0]

    def home_of(name: str) -> str | None:
        """Looked for in the text, since hooks need a few of many names: the stub hands it on with `name as name`. A
        line with a remark is for checkers alone.
        """
        text = stub()
        at = text.find(f" {name} as {name}")
        line = text[text.rfind("\nfrom agentm_kernel.", 0, at) + 20 : text.find("\n", at)]
        return line.partition(" ")[0] if at >= 0 and "#" not in line else None

    def homes() -> dict[str, str]:
        words = [word for word, behind in zip(stub().split(), stub().split()[1:], strict=False) if behind == "as"]
        return {name: home for name in words if (home := home_of(name)) is not None}

    def load(name: str) -> object:
        if name in ("__all__", "_HOMES"):
            return sorted(homes()) if name == "__all__" else homes()
        home = None if name in ("plugin", "command") else home_of(name)  # Python looks for the doors after us
        if home is None:
            raise AttributeError(f"module {door!r} has no attribute {name!r}")
        # not importlib.import_module: importing importlib is a tenth of what a hook may cost
        value: object = getattr(__import__(f"agentm_kernel.{home}", fromlist=[name]), name)
        vars(sys.modules[door])[name] = value
        return value

    return load, lambda: sorted({*vars(sys.modules[door]), *homes()})


__getattr__, __dir__ = _lazy_door(__name__)
