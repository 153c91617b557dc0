"""`agentm_store.py`: a note through agentm, in the store that the configuration of this home selects."""

from __future__ import annotations

from desk import serve

from agentm_kernel import Locator, update
from agentm_kernel.plugin import ConflictCopies, Device, SyncTrigger, layout

NOTE = Locator("shared.md")
store = Device.now().store(read_only=False)


def settle() -> None:
    """A store with an origin takes the same steps as git by hand: commit, pull, push."""
    inner = store
    while inner is not None and not hasattr(inner, "sync"):
        inner = getattr(inner, "inner", None)
    if inner is not None:
        inner.sync(SyncTrigger("manual"))


def add(line: str) -> None:
    update(store, NOTE, lambda text: f"{text or ''}{line}\n")
    settle()


def copies() -> list[str]:
    """What agentm keeps beside a note and lists as such: conflict copies, and versions that a write displaced."""
    found = [info.locator for info in store.walk(Locator(layout.META)) if not info.is_dir]
    texts = [store.read(each) for each in found if each.key.startswith(f"{layout.CONFLICTS}/")]
    facet = store.facet(ConflictCopies)
    if facet is not None:
        texts += [facet.read_copy(each.copy) for each in facet.conflict_copies(Locator())]
    return texts


def read() -> str:
    settle()
    return store.read(NOTE)


serve(prepare=add, add=add, read=read, copies=copies)
