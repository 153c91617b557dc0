"""Which store this device uses, and opening it: its class, its options, the layers around it; or the refusal."""

from __future__ import annotations

import os
import sys

from agentm_kernel import errors
from agentm_kernel.device.installed import BACKENDS, WRAPPERS
from agentm_kernel.errors import AgentmError
from agentm_kernel.plugins import Call, StdoutToStderr, wrong_answer
from agentm_kernel.plugins.table import find, load, load_backend
from agentm_kernel.seam import Capabilities, Frozen, Info, Opening
from agentm_kernel.seam.backend import (
    AT_HAND,
    Appends,
    BackendLayer,
    DeviceFiles,
    Identity,
    PersonalSpace,
    StorageBackend,
    passed_on,
)
from agentm_kernel.seam.locator import Locator
from agentm_kernel.selection.identity import adopt_store, check_store, unmarked

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from agentm_kernel.device import DeviceFacts
    from agentm_kernel.seam.tier_layout import TierLayout
    from agentm_kernel.selection.refusing import Refusal
    from agentm_kernel.state import Device

    Answer = TypeVar("Answer")
    F = TypeVar("F")
    Verb = TypeVar("Verb", bound=Callable[..., Any])

VAULT_VARIABLE = "MEMORY_VAULT_PATH"
DEFAULT_PROTOCOL = "device-local"
BY_DEFAULT = "the default"


class Choice(Frozen):
    """A protocol, in words where the choice comes from, and what the choosing setting says beyond the name."""

    protocol: str
    origin: str
    setting: str | None = None
    """The setting that chose it, where that is not `storage.backend`: unsetting it chooses anew."""


class Decision(Frozen):
    """A store that can be used. `warning` is for people only."""

    choice: Choice
    backend: StorageBackend
    warning: str | None
    wrappers: tuple[str, ...] = ()  # the layers around the backend, the innermost first


def choose(device: DeviceFacts) -> Choice:
    """The choice, made or refused; nothing is loaded for it."""
    config = device.config
    chosen = config.storage_backend
    if config.shortcut is not None:
        setting, protocol, _ = config.shortcut
        if chosen not in (None, protocol):
            raise errors.StorageSelectionError(
                f"{config.chosen_by} and {setting} in {config.path} name two stores",
                hint=f"keep one: run `agentm config unset {config.chosen_by}` or `agentm config unset {setting}`",
            )
        return Choice(protocol, f"{setting} in {config.path}", setting)
    if chosen is not None:
        return Choice(chosen, f"{config.chosen_by} in {config.path}", None)
    if device.environ.get(VAULT_VARIABLE, "").strip():
        return Choice("vault", f"${VAULT_VARIABLE}", None)
    path = config.options("vault").get("vault_path")
    if path is not None:  # older installs took it for a choice, and an empty store must not replace the notes there
        raise errors.StorageSelectionError(
            f"{config.path} says where a vault is ({path}), but not which store to use",
            hint="run `agentm config set storage.backend vault` to use the vault, or "
            f"`agentm config set storage.backend {DEFAULT_PROTOCOL}` to use the store of this device",
        )
    return Choice(DEFAULT_PROTOCOL, BY_DEFAULT, None)


def inspect_store(device: Device, *, read_only: bool = True) -> Decision | Refusal:
    """Choose, load and open the configured store. Creates nothing and never raises an expected failure."""
    choice = None
    try:
        choice = choose(device)
        opening = Opening(device.store_name or "default", read_only, device.state_dir)
        store = open_identified(device, choice, opening)
        warning = None
        if store.store_id is None and not store.self_stamping:
            warning = f"{unmarked(store, choice.protocol).message}; reading works"
        layered: StorageBackend = store
        if not read_only:
            from agentm_kernel.selection.replacing import with_listeners

            layered = with_listeners(device, store)
        wrappers = device.config.wrappers
        layered = with_wrappers(device, layered, (*wrappers, *store.inner.own_wrappers), opening)
        return Decision(choice, layered, warning, wrappers)
    except AgentmError as error:
        from agentm_kernel.selection.refusing import Refusal, as_selection_error

        protocol = choice.protocol if choice else None
        return Refusal(choice, as_selection_error(error, of=device.store_name, protocol=protocol))


def open_identified(device: Device, choice: Choice, opening: Opening) -> IdentityGuard:
    backend = open_backend(device, choice, opening)
    backend.check_usable(read_only=opening.read_only)
    return IdentityGuard(device, backend, choice.protocol)


def open_backend(device: Device, choice: Choice, opening: Opening) -> PluginGuard:
    """The chosen backend, opened; refused if it cannot be had or does not keep the contract."""
    registering = sys.modules.get("agentm_kernel.seam.registry")  # one that nobody has imported is empty
    backend_class = registering.registry.get(choice.protocol) if registering else None
    label = f"backend '{choice.protocol}'"
    if backend_class is None:
        record = find(device, BACKENDS, choice.protocol)
        if record is None:
            from agentm_kernel.selection.refusing import not_installed

            raise not_installed(device, choice, is_default=choice.origin == BY_DEFAULT)
        backend_class, label = load_backend(record), str(record)
    options = options_of(device, choice.protocol)
    try:
        return _made(label, "create", backend_class.create, options, device, opening)
    except AgentmError as error:
        cause = error.__cause__
        if not isinstance(cause, (TypeError, ValueError)) or isinstance(cause, AgentmError):
            raise
        raise errors.StorageSelectionError(
            f"the {label} cannot be opened: {type(cause).__name__}: {cause}",
            hint=f"check its options: `agentm config list` shows plugins.{choice.protocol}.*",
        ) from cause


def with_wrappers(
    device: Device, backend: StorageBackend, names: tuple[str, ...], opening: Opening
) -> StorageBackend:
    """The layers around the backend, first one innermost. One that cannot be had is a refusal: none is skipped."""
    for name in names:
        record = find(device, WRAPPERS, name)
        if record is None:
            from agentm_kernel.plugins.published import how_to_install

            raise errors.StorageSelectionError(
                f"the wrapper '{name}' is configured but no installed plugin provides it",
                hint=f"{how_to_install(WRAPPERS, name) or 'install the plugin'}, or take '{name}' out of `wrappers`; "
                "a guard is never skipped",
            )
        wrap: Any = load(record)
        backend = _made(str(record), "opening", wrap, backend, options_of(device, name), device, opening)
    return backend


def _made(label: str, doing: str, make: Callable[..., Any], *given: object) -> PluginGuard:
    """The backend or layer that a plugin makes, behind the guard that names the plugin from now on."""
    with StdoutToStderr(), Call(label, doing):
        made = make(*given)
        capabilities = getattr(made, "capabilities", None)
    if not isinstance(made, StorageBackend):
        raise wrong_answer(label, doing, made, "a StorageBackend")
    if not isinstance(capabilities, Capabilities):
        raise wrong_answer(label, "capabilities", capabilities, "Capabilities")
    return PluginGuard(made, label)


def options_of(device: Device, name: str) -> dict[str, Any]:
    """The table `plugins.<name>`, with what a setting that chooses the store says for it: a path, relative to the
    configuration, because what is relative to the working directory would be another one in each.
    """
    config = device.config
    options = config.options(name)
    if config.shortcut is not None and config.shortcut[1] == name:
        options["path"] = os.path.join(os.path.dirname(config.path), device.expand(config.shortcut[2]))
    return options


def require(found: Decision | Refusal, required: Capabilities | None = None) -> StorageBackend:
    """The store that an inspection found, if it can be used and does what is required of it; else raises."""
    if not isinstance(found, Decision):
        raise found.error
    missing = found.backend.capabilities.missing_from(required) if required is not None else ()
    if missing:
        raise errors.CapabilityMismatchError(
            found.choice.protocol,
            missing,
            hint="choose a store that has them (`agentm plugins list --verify` shows which) with "
            "`agentm config set storage.backend NAME`",
        )
    return found.backend


class _SettledFacet(PersonalSpace, Appends):
    """Either facet, of a store whose identity is settled before each write."""

    def __init__(self, inner: Any, settle: Callable[[], None]) -> None:
        self.inner, self.settle = inner, settle

    personal_path = passed_on(PersonalSpace.personal_path)
    write_personal = passed_on(PersonalSpace.write_personal, lambda facet: facet.settle())
    append = passed_on(Appends.append, lambda facet: facet.settle())
    keep_sealed = passed_on(Appends.keep_sealed)


class IdentityGuard(BackendLayer, Identity):
    """The innermost layer around every selected backend: no write before the store's identity is settled."""

    def __init__(self, device: DeviceFacts, inner: StorageBackend, protocol: str) -> None:
        super().__init__(inner)
        self.store_id = check_store(device, inner, protocol)
        self._device, self._protocol = device, protocol
        self._is_settled = False

    def settle(self) -> None:
        """Make sure, before the first write, that this is the store that this device knows, or may come to know."""
        if not self._is_settled:
            adopt_store(self._device, self.inner, self._protocol, may_stamp=self.inner.self_stamping)
            self._is_settled = True

    write = passed_on(BackendLayer.write, settle)
    mkdir = passed_on(BackendLayer.mkdir, settle)
    delete = passed_on(BackendLayer.delete, settle)

    def wrap_facet(self, kind: type[Any], found: Any) -> Any:
        return _SettledFacet(found, self.settle) if kind in (PersonalSpace, Appends) else found

    def _lets_through(self, kind: type) -> bool:
        if kind in AT_HAND:
            return True
        from agentm_kernel.seam.facets import FACETS, Sealed

        return kind in FACETS and kind is not Sealed


def _checked(label: str, doing: str, answer: Answer, *kinds: type) -> Answer:
    if not isinstance(answer, kinds):
        raise wrong_answer(label, doing, answer, kinds[0].__name__)
    return answer


def _guarded(verb: Verb, *kinds: type) -> Verb:
    """A verb, carried out in the plugin's name. Its answer has to be of one of these kinds; `object` is any."""
    name = verb.__name__

    def ask(self: PluginGuard, *given: object, **named: object) -> object:
        with Call(self.label, name):
            return _checked(self.label, name, getattr(self.inner, name)(*given, **named), *kinds)

    return ask  # type: ignore[return-value]


class PluginGuard(BackendLayer):
    """Around every backend and layer of a plugin: what it raises or answers wrongly is a typed error, naming it."""

    def __init__(self, inner: StorageBackend, label: str) -> None:
        super().__init__(inner)
        self.label = label
        self.own_wrappers = inner.own_wrappers  # type: ignore[misc]

    def _lets_through(self, kind: type) -> bool:
        if kind in AT_HAND:
            return True
        from agentm_kernel.seam.facets import FACETS

        return kind in FACETS

    read = _guarded(BackendLayer.read, str)
    write = _guarded(BackendLayer.write, Locator)
    exists = _guarded(BackendLayer.exists, bool)
    info = _guarded(BackendLayer.info, Info)
    mkdir = _guarded(BackendLayer.mkdir, Locator)
    delete = _guarded(BackendLayer.delete, object)
    describe = _guarded(BackendLayer.describe, str)
    stamp_text = _guarded(BackendLayer.stamp_text, str, type(None))
    check_usable = _guarded(BackendLayer.check_usable, object)
    check_reachable = _guarded(BackendLayer.check_reachable, object)
    check_allowed = _guarded(BackendLayer.check_allowed, object)
    make_place = _guarded(BackendLayer.make_place, object)

    def facet(self, kind: type[F]) -> F | None:
        with Call(self.label, "facet"):
            return super().facet(kind)

    def wrap_facet(self, kind: type[Any], found: Any) -> Any:
        """Hooks ask for paths, so what goes wrong there is told in the plugin's name too. A plugin asks for the other
        facets of its own store, and gets the object that it made.
        """
        return _GuardedFiles(self.label, _checked(self.label, "facet", found, kind)) if kind is DeviceFiles else found

    @property
    def capabilities(self) -> Capabilities:
        with Call(self.label, "capabilities"):
            return _checked(self.label, "capabilities", self.inner.capabilities, Capabilities)

    @property
    def tier_layout(self) -> TierLayout:
        with Call(self.label, "tier_layout"):
            return self.inner.tier_layout

    def list(self, locator: Locator) -> builtins.list[Locator]:
        with Call(self.label, "list"):
            children = _checked(self.label, "list", self.inner.list(locator), list)
            for child in children:
                _checked(self.label, "list", child, Locator)
            return children

    def walk(self, locator: Locator) -> Iterator[Info]:
        with Call(self.label, "walk"):
            walk = self.inner.walk(locator)
            infos = _steps(self.label, iter(walk), Info)
        from agentm_kernel.seam.folders import FolderWalk

        if not isinstance(walk, FolderWalk):
            return infos
        return FolderWalk(infos, lambda: _steps(self.label, walk.folders(), object))

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        with Call(self.label, "foreign_entries"):
            return iter([*self.inner.foreign_entries(locator)])


class _GuardedFiles(DeviceFiles):
    def __init__(self, label: str, files: DeviceFiles) -> None:
        self._label, self._files = label, files

    def device_path(self, locator: Locator) -> str:
        with Call(self._label, "device_path"):
            return _checked(self._label, "device_path", self._files.device_path(locator), str)


def _steps(label: str, walk: Iterator[Any], kind: type) -> Iterator[Any]:
    """What a walk yields. Only what advances it is the plugin's: what the reader does with an item is not."""
    while True:
        try:
            with Call(label, "walk"):
                item = next(walk)
        except StopIteration:
            return
        yield _checked(label, "walk", item, kind)
