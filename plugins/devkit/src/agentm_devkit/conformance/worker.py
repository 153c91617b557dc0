"""The other side of `processes`: what runs inside a child."""

from __future__ import annotations

import os
import pickle
import sys
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.expect import NotApplicable, Violation, surprise
from agentm_devkit.conformance.within import place_outside

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from agentm_kernel.plugin import StorageBackend


class Child:
    """What a task gets to work with: the store, opened in this process, and a way to tell the parent things."""

    def __init__(self, store: StorageBackend, parent: BinaryIO) -> None:
        self.store = store
        self._parent = parent

    def say(self, value: object) -> None:
        """Tell the parent at once, before anything else is done."""
        _send(self._parent, "said", value)


def is_child() -> bool:
    """Whether this process was started by a check."""
    return _parent is not None


_parent: BinaryIO | None = None


def main() -> None:
    """Read the job, open the store, wait for the word, do the task, report."""
    global _parent
    _parent = parent = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the backend prints must not end up among the messages
    scratch, home, work = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by our own parent
    try:
        if home is not None:
            _import_home(*home)
        open_store, task, arguments = pickle.loads(work)  # noqa: S301
        child = Child(open_store(scratch), parent)
    except Exception as error:  # noqa: BLE001 - whatever it is, the check has to hear of it
        _send(parent, "failed", surprise(error))
        return
    _send(parent, "ready")
    if sys.stdin.buffer.read(2) == b"go":
        _report(child, parent, task, arguments)


def _report(child: Child, parent: BinaryIO, task: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    try:
        _send(parent, "returned", task(child, *arguments))
    except Violation as violation:
        _send(parent, "violated", str(violation))
    except NotApplicable as reason:
        _send(parent, "not applicable", str(reason))
    except Exception as error:  # noqa: BLE001
        _send(parent, "failed", f"{surprise(error)} (at {place_outside(error) or 'the check itself'})")


def _send(parent: BinaryIO, kind: str, value: object = None) -> None:
    parent.write(pickle.dumps((kind, value)))
    parent.flush()


def _import_home(name: str, file: str) -> None:
    """Make the author's module importable under the name that pickle knows it by."""
    import importlib.util

    try:
        if name != "__main__" and getattr(__import__(name, fromlist=["_"]), "__file__", None) == file:
            return
    except ImportError:
        pass
    # A script keeps its `if __name__ == "__main__"` block to itself when its module has another name.
    spec = importlib.util.spec_from_file_location("agentm_subject" if name == "__main__" else name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
