"""Word of where notes went, for those who keep what notes were: one file per move, which nobody changes.

So devices that move notes at the same time never write the same file. What is in it: `time` in milliseconds, `store`,
in which the notes were, `from` and `to`, each the key of a note or of a folder, and `into`, if that is another store.
"""

from __future__ import annotations

from agentm_kernel.projects.records import VERSION, dump_note
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.layout import MOVES
from agentm_kernel.seam.locator import Locator
from agentm_kernel.selection.identity import read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend


def record_move(
    source: StorageBackend, old: Locator, target: StorageBackend, new: Locator, milliseconds: int | None = None
) -> None:
    """Leave word in `target` that what was at `old` in `source` until then, by default now, is at `new`."""
    import os
    import time

    moment = int(time.time() * 1000) if milliseconds is None else milliseconds
    fields: dict[str, object] = {"version": VERSION, "time": moment, "store": read_stamp(source)}
    fields |= {"from": old.key, "to": new.key, "into": read_stamp(target)}
    target.write(Locator(f"{MOVES}/{moment}-{os.urandom(4).hex()}.json"), dump_note(fields), if_match=ABSENT)
