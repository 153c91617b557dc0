"""Around every backend and layer of a plugin: what it raises or answers wrongly is a typed error that names it."""

from __future__ import annotations

from agentm_kernel.errors import AgentmError
from agentm_kernel.plugins import Call, wrong_answer
from agentm_kernel.seam import Capabilities, Info
from agentm_kernel.seam.backend import BackendLayer, FolderWalk
from agentm_kernel.seam.facets import FACETS, DeviceFiles
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator
    from typing import Any, TypeVar

    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.seam.folders import Folder
    from agentm_kernel.seam.tier_layout import TierLayout

    Answer = TypeVar("Answer")
    F = TypeVar("F")


class PluginGuard(BackendLayer):
    """Passes everything on; `label` names the plugin in messages."""

    passes = FACETS

    def __init__(self, inner: StorageBackend, label: str) -> None:
        super().__init__(inner)
        self.label = label
        self.own_wrappers = inner.own_wrappers  # type: ignore[misc]

    def _checked(self, doing: str, answer: Answer, *kinds: type) -> Answer:
        if not isinstance(answer, kinds):
            raise wrong_answer(self.label, doing, answer, kinds[0].__name__)
        return answer

    def _ask(self, kind: type[Answer], verb: str, *given: object, **named: object) -> Answer:
        """What the verb of the plugin's backend answers, if it is of this kind."""
        with Call(self.label, verb):
            answer: Answer = getattr(self.inner, verb)(*given, **named)
            return self._checked(verb, answer, kind)

    def facet(self, kind: type[F]) -> F | None:
        with Call(self.label, "facet"):
            return super().facet(kind)

    def wrap_facet(self, kind: type[Any], found: Any) -> Any:
        """Hooks ask for paths, so what goes wrong there is told in the plugin's name too. A plugin asks for the other
        facets of its own store, and gets the object that it made.
        """
        return _GuardedFiles(self.label, self._checked("facet", found, kind)) if kind is DeviceFiles else found

    @property
    def capabilities(self) -> Capabilities:
        with Call(self.label, "capabilities"):
            return self._checked("capabilities", self.inner.capabilities, Capabilities)

    def read(self, locator: Locator) -> str:
        return self._ask(str, "read", locator)

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        return self._ask(Locator, "write", locator, content, if_match=if_match)

    def list(self, locator: Locator) -> builtins.list[Locator]:
        children: builtins.list[Locator] = self._ask(list, "list", locator)
        for child in children:
            self._checked("list", child, Locator)
        return children

    def exists(self, locator: Locator) -> bool:
        return self._ask(bool, "exists", locator)

    def info(self, locator: Locator) -> Info:
        return self._ask(Info, "info", locator)

    def mkdir(self, locator: Locator) -> Locator:
        return self._ask(Locator, "mkdir", locator)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        with Call(self.label, "delete"):
            self.inner.delete(locator, if_match=if_match)

    def walk(self, locator: Locator) -> Iterator[Info]:
        with Call(self.label, "walk"):
            walk = self.inner.walk(locator)
            return _GuardedWalk(self.label, walk) if isinstance(walk, FolderWalk) else _guarded(self.label, walk)

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        with Call(self.label, "foreign_entries"):
            return iter([*self.inner.foreign_entries(locator)])

    def describe(self) -> str:
        return self._ask(str, "describe")

    def check_usable(self, *, read_only: bool) -> None:
        with Call(self.label, "check_usable"):
            self.inner.check_usable(read_only=read_only)

    def check_reachable(self, seconds: float) -> None:
        with Call(self.label, "check_reachable"):
            self.inner.check_reachable(seconds)

    def check_allowed(self, action: str) -> None:
        with Call(self.label, "check_allowed"):
            self.inner.check_allowed(action)

    def stamp_text(self) -> str | None:
        with Call(self.label, "stamp_text"):
            return self._checked("stamp_text", self.inner.stamp_text(), str, type(None))

    @property
    def tier_layout(self) -> TierLayout:
        with Call(self.label, "tier_layout"):
            return self.inner.tier_layout


class _GuardedFiles(DeviceFiles):
    def __init__(self, label: str, files: DeviceFiles) -> None:
        self._label = label
        self._files = files

    def device_path(self, locator: Locator) -> str:
        with Call(self._label, "device_path"):
            path = self._files.device_path(locator)
            if not isinstance(path, str):
                raise wrong_answer(self._label, "device_path", path, "str")
            return path


def _guarded(label: str, walk: Iterator[Info]) -> Iterator[Info]:
    """The items of a walk. Only what advances the walk is the plugin's: what the reader does with an item is not."""
    while True:
        try:
            info = next(walk)
        except StopIteration:
            return
        except AgentmError:
            raise
        except Exception as error:
            with Call(label, "walk"):
                raise error from None
        if not isinstance(info, Info):
            raise wrong_answer(label, "walk", info, "Info")
        yield info


class _GuardedWalk(FolderWalk):
    """A walk that can go folder by folder still can."""

    def __init__(self, label: str, walk: FolderWalk) -> None:
        self._label = label
        self._walk = walk

    def __next__(self) -> Info:
        with Call(self._label, "walk"):
            return next(self._walk)

    def folders(self) -> Iterator[Folder]:
        with Call(self._label, "walk"):
            return self._walk.folders()
