"""What a backend says about itself: capabilities, version, where it is."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import Violation, same, shown
from agentm_kernel.plugin import (
    API_VERSION,
    AgentmError,
    Capabilities,
    DeviceCopy,
    Locator,
    TierLayout,
    find_secrets,
)

if TYPE_CHECKING:
    from types import FrameType

    from agentm_devkit.conformance.bench import Bench

_OUTSIDE_WORLD = ("posix", "nt", "_socket", "_posixsubprocess", "_io", "io", "select", "_sqlite3")
_HARMLESS = ("fspath", "getpid", "_path_normpath", "_path_splitroot", "_path_splitroot_ex")


@check("declaring")
def check_capabilities_type(bench: Bench) -> None:
    """`capabilities` is a `Capabilities`."""
    declared = bench.store.capabilities
    if type(declared) is not Capabilities:
        raise Violation(f"it is {shown(declared)}")


@check("declaring")
def check_capabilities_constant(bench: Bench) -> None:
    """`capabilities` stays the same for as long as the backend lives."""
    before = bench.store.capabilities
    bench.store.write(Locator("a.md"), "one\n")
    same("asking again after a write", bench.store.capabilities, before)


@check("declaring")
def check_capabilities_cheap(bench: Bench) -> None:
    """`capabilities` is asked for all the time, so it touches neither disk nor network."""
    store = bench.store
    touched: list[str] = []

    def watch(_frame: FrameType, event: str, called: Any) -> None:
        module = getattr(called, "__module__", None) or type(getattr(called, "__self__", None)).__module__
        if event == "c_call" and module in _OUTSIDE_WORLD and called.__name__ not in _HARMLESS:
            touched.append(called.__name__)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        store.capabilities  # noqa: B018 - asking is the point
    finally:
        sys.setprofile(before)
    if touched:
        raise Violation(f"asking for it called {', '.join(sorted(set(touched)))}")


@check("declaring")
def check_copied_store_is_synced(bench: Bench) -> None:
    """A store with a copy of its state here (`MirroredState`) declares `sync`: else state stays in each checkout."""
    if bench.store.facet(DeviceCopy) is not None and not bench.store.capabilities.sync:
        raise Violation("it has the facet DeviceCopy and no `sync`, so nobody uses the copy")


@check("declaring")
def check_api_version(bench: Bench) -> None:
    """`api_version` is the version of the contract that this kit checks."""
    same("api_version", bench.store.api_version, API_VERSION)


@check("declaring")
def check_describe(bench: Bench) -> None:
    """`describe` says in one line of text where the store is."""
    told = bench.store.describe()
    if type(told) is not str or not told.strip() or len(told.splitlines()) != 1:
        raise Violation(f"it gave {shown(told)}")


@check("declaring")
def check_describe_is_the_same(bench: Bench) -> None:
    """`describe` says the same for every opening of one store: this device knows its stores by it."""
    same("another opening's describe()", bench.subject.open(bench.scratch).describe(), bench.store.describe())


@check("declaring")
def check_no_secret_is_told(bench: Bench) -> None:
    """No password or token that the store is opened with is in `describe`, in `repr` or in an error's text."""
    store = bench.store
    told = {"describe()": store.describe(), "repr()": repr(store)}
    try:
        store.read(Locator("missing.md"))
    except AgentmError as error:
        told["an error"] = f"{error} {error!r} {error.hint}"
    for what, text in told.items():
        if any(secret and secret in text for secret in bench.subject.secrets):
            raise Violation(f"{what} has one that the store was opened with")
        if what != "repr()" and (found := [*find_secrets(text)] or _PASSWORD.findall(text)):
            raise Violation(f"{what} has what looks like one ({len(found)} found)")


_PASSWORD = re.compile(r"://[^/@\s:]+:[^/@\s]+@")


@check("declaring")
def check_tier_layout(bench: Bench) -> None:
    """`tier_layout` is a `TierLayout`."""
    layout = bench.store.tier_layout
    if not isinstance(layout, TierLayout):
        raise Violation(f"it is {shown(layout)}")


@check("declaring")
def check_new_store_is_empty(bench: Bench) -> None:
    """A new store holds nothing."""
    same("list('')", bench.store.list(Locator()), [])


@check("declaring")
def check_root_is_a_directory(bench: Bench) -> None:
    """The root is always there, and is a directory, even in a store that nobody has written to."""
    same("exists('')", bench.store.exists(Locator()), True)
    same("info('').is_dir", bench.store.info(Locator()).is_dir, True)


@check("declaring")
def check_resolve(bench: Bench) -> None:
    """`resolve` gives the `Locator` of its parts, and the root for none."""
    same("resolve()", bench.store.resolve(), Locator())
    same("resolve('a', 'b/c.md')", bench.store.resolve("a", "b/c.md"), Locator("a/b/c.md"))
