"""The versions of a note, of a store that has the facet `History`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import NotApplicable, Violation, refused, same, shown
from agentm_kernel.plugin import History, Locator, NotFoundError, Version

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench

_NOTE = Locator("dir/note.md")
_WRITTEN = ("one\n", "two\n", "three\n")


def _history(bench: Bench) -> History:
    history = bench.store.facet(History)
    if history is None:
        raise NotApplicable("the store has no facet History")
    for text in _WRITTEN:
        bench.store.write(_NOTE, text)
    return history


@check("history")
def check_versions_are_what_was_written(bench: Bench) -> None:
    """`versions` tells each version of a note once, the latest first, and `read_version` gives the text of it."""
    history = _history(bench)
    known = history.versions(_NOTE)
    if not isinstance(known, list):
        raise Violation(f"versions({shown(_NOTE)}) gave {shown(known)}, which is no list")
    for version in known:
        if not isinstance(version, Version) or not isinstance(version.id, str):
            raise Violation(
                f"versions({shown(_NOTE)}) holds {shown(version)}, which is no Version with a text as its id"
            )
    if not known:
        raise NotApplicable("the store knows no version of a note that was written just now")
    texts = [history.read_version(_NOTE, version.id) for version in known if version.what != "deleted"]
    if texts != [text for text in reversed(_WRITTEN) if text in texts]:
        raise Violation(f"of {shown(list(_WRITTEN))}, written in this order, the versions read {shown(texts)}")


@check("history")
def check_versions_of_nothing(bench: Bench) -> None:
    """A note that was never there has no versions, and a version that is not known is a `NotFoundError`."""
    history = _history(bench)
    same("versions('missing.md')", history.versions(Locator("missing.md")), [])
    refused(NotFoundError, history.read_version, _NOTE, "no-such-version")
