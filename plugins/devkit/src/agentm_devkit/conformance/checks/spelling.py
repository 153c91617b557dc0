"""Keys that differ only in case: one file on Windows and macOS, so at most one of them in any store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import refused, same, unchanged
from agentm_kernel.plugin import Locator, LocatorConflictError, NotFoundError

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench


@check("spelling", rows=(7,))
def check_case_of_files(bench: Bench) -> None:
    """Creating a key that differs from a stored one only in case raises `LocatorConflictError`; nothing changes."""
    bench.store.write(Locator("dir/Plan.md"), "one\n")
    with unchanged(bench.store):
        refused(LocatorConflictError, bench.store.write, Locator("dir/plan.md"), "two\n")


@check("spelling", rows=(7,))
def check_case_of_directories(bench: Bench) -> None:
    """Case clashes are found in directories above a new note too."""
    bench.store.write(Locator("Notes/deep/a.md"), "one\n")
    with unchanged(bench.store):
        refused(LocatorConflictError, bench.store.write, Locator("notes/b.md"), "two\n")
        refused(LocatorConflictError, bench.store.write, Locator("Notes/DEEP/b.md"), "two\n")


@check("spelling", rows=(7,))
def check_case_of_file_and_directory(bench: Bench) -> None:
    """A file and a directory whose names differ only in case clash as well."""
    bench.store.write(Locator("notes/a.md"), "one\n")
    with unchanged(bench.store):
        refused(LocatorConflictError, bench.store.write, Locator("NOTES"), "two\n")


@check("spelling", rows=(7,))
def check_case_in_mkdir(bench: Bench) -> None:
    """`mkdir` of a name that differs from a stored one only in case raises `LocatorConflictError`."""
    bench.store.write(Locator("Notes/a.md"), "one\n")
    with unchanged(bench.store):
        refused(LocatorConflictError, bench.store.mkdir, Locator("notes"))


@check("spelling", rows=(7,))
def check_case_beyond_ascii(bench: Bench) -> None:
    """Case is folded in every script."""
    for stored, rival in (("É.md", "é.md"), ("Straße.md", "STRASSE.md"), ("ΣΑΣ.md", "σας.md")):
        bench.store.write(Locator(stored), "one\n")
        with unchanged(bench.store):
            refused(LocatorConflictError, bench.store.write, Locator(rival), "two\n")


@check("spelling", rows=(7,))
def check_case_when_reading(bench: Bench) -> None:
    """Another case of a stored key holds nothing: it reads as `NotFoundError` and does not exist."""
    bench.store.write(Locator("dir/Plan.md"), "one\n")
    for key in ("dir/plan.md", "DIR/Plan.md"):
        refused(NotFoundError, bench.store.read, Locator(key))
        same(f"exists('{key}')", bench.store.exists(Locator(key)), False)


@check("spelling")
def check_case_as_stored(bench: Bench) -> None:
    """The spelling that is stored can be written again, and names that only look alike can be created."""
    store = bench.store
    for key in ("Plan.md", "Plan.md", "Planb.md", "plan.txt"):
        store.write(Locator(key), "one\n")
    wanted = [Locator(key) for key in ("Plan.md", "Planb.md", "plan.txt")]
    same("list('')", store.list(Locator()), wanted)
