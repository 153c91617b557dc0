"""Who may import whom: the kernel no plugin, a plugin the kernel's public modules only, plugins not each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.gates.imports import imports_of
from agentm_devkit.gates.layers import ROOMS
from agentm_devkit.gates.names import Names
from agentm_devkit.gates.sources import KERNEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_devkit.gates.findings import Finding
    from agentm_devkit.gates.imports import Import
    from agentm_devkit.gates.sources import Module, Sources

PUBLIC_MODULES = (f"{KERNEL}.plugin", f"{KERNEL}.command")
"""The doors that a plugin may import from besides `agentm_kernel` itself."""

_PLUGIN_PREFIX = "agentm_"

_FOR_ADAPTERS = ("agentm_hosts.adapter", "agentm_hosts.place", "agentm_hosts.check")
"""What `agentm-hosts` offers to adapters of agent hosts that others write; they depend on it."""

_LOADER = f"{KERNEL}.plugins"
"""The room that imports what others wrote. Only it computes the name of a module."""


def check_import_direction(sources: Sources) -> Iterator[Finding]:
    """`kernel-imports-plugin`, `computed-import`, `plugin-imports-private` and `plugin-imports-plugin`."""
    names = Names(sources)
    plugins = {module.package for module in sources.plugins}
    for module in sources.modules.values():
        for found in imports_of(module, names):
            if module.is_kernel:
                yield from _check_kernel(module, found, plugins)
            else:
                yield from _check_plugin(sources, module, found, plugins)


def _check_kernel(module: Module, found: Import, plugins: set[str]) -> Iterator[Finding]:
    if _is_plugin(found, plugins):
        yield module.finding(
            found.line,
            "kernel-imports-plugin",
            f"the kernel imports the plugin `{found.text}`: let it be found through its entry point",
        )
    elif not found.complete and "." not in found.module and not _is_in(module.name, (_LOADER,)):
        yield module.finding(
            found.line,
            "computed-import",
            "the name of the imported module is computed, so nobody can tell that it is no plugin: spell it out",
        )


def _check_plugin(sources: Sources, module: Module, found: Import, plugins: set[str]) -> Iterator[Finding]:
    if found.package == KERNEL:
        if (private := _private_part(found)) is not None:
            yield module.finding(
                found.line,
                "plugin-imports-private",
                f"`{private}` is not public and may change without notice: "
                f"import names from `{KERNEL}.plugin` or `{KERNEL}.command`",
            )
    elif _is_plugin(found, plugins) and not (
        _is_own(sources, module, found.package) or _is_in(found.module, _FOR_ADAPTERS)
    ):
        yield module.finding(
            found.line,
            "plugin-imports-plugin",
            f"the plugin imports the plugin `{found.text}`: meet through the kernel's entry points and hooks",
        )


def _is_plugin(found: Import, plugins: set[str]) -> bool:
    return found.package != KERNEL and (found.package.startswith(_PLUGIN_PREFIX) or found.package in plugins)


def _is_own(sources: Sources, module: Module, package: str) -> bool:
    if package == module.package:
        return True
    return module.distribution is not None and sources.distribution_of(package) == module.distribution


def _private_part(found: Import) -> str | None:
    """The private module or name that an import of the kernel reaches for, if it does."""
    target = f"{found.module}.{found.name}" if found.name else found.module
    if found.name and found.name.startswith("_") and not found.name.startswith("__"):
        return target
    if found.module == KERNEL:
        # A name taken from the door is public by definition, unless it is one of the rooms behind it.
        return target if found.name in ROOMS and not _is_public(target) else None
    return None if _is_public(found.module) or (found.name and _is_public(target)) else found.text


def _is_public(name: str) -> bool:
    return _is_in(name, PUBLIC_MODULES)


def _is_in(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)
