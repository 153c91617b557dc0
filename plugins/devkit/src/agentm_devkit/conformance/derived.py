"""For plugins that derive something from a store, an index say: can it be deleted at any time?"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from agentm_devkit.conformance.expect import ConformanceFailure
from agentm_kernel.plugin import Locator

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from agentm_kernel.plugin import DerivedMaintenance, StorageBackend, Tier

_NAME = "rebuildable"


def check_rebuildable(
    derived: DerivedMaintenance,
    tier: Tier,
    *,
    source: StorageBackend,
    folder: str | os.PathLike[str],
    answers: Callable[[], object],
) -> None:
    """A derived tier that was deleted and made anew answers as before, and making it leaves its source as it is.

    `folder` is where the tier lies, and is deleted; `answers` asks it something whose answer can be compared.
    """
    notes = _notes(source)
    derived.reindex(tier)
    before = answers()
    shutil.rmtree(folder)
    derived.reindex(tier)
    if (after := answers()) != before:
        raise ConformanceFailure(_NAME, f"made anew, {tier.value} answers {after!r}; it was {before!r}")
    if _notes(source) != notes:
        raise ConformanceFailure(_NAME, f"making {tier.value} anew changed the notes that it is made from")


def _notes(source: StorageBackend) -> dict[str, str]:
    notes = (info.locator for info in source.walk(Locator()) if not info.is_dir)
    return {note.key: source.read(note) for note in notes}
