"""Turning the guard on: once good versions of guarded notes are known, nobody has to edit the configuration for it.

The first `create` of a store that has such notes knows them as they are in that checkpoint. From then on only the
operator's `accept` and writes through agentm make a version good. A guard that the operator took out of the
configuration again is not put back by `create`: that they are not guarded is said instead.
"""

from __future__ import annotations

import os

from agentm_checkpoint.guard import NAME, find_guard
from agentm_checkpoint.guarded import stored_keys
from agentm_checkpoint.patterns import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.known_good import Record
    from agentm_checkpoint.tree import Leaf
    from agentm_kernel.plugin import Device, StorageBackend


def guard_patterns(device: Device) -> Patterns:
    """Which notes would be under guard, whether or not the guard is on."""
    return Patterns(device.config.options(NAME).get("guard"))


def first_unguarded(backend: StorageBackend, device: Device) -> str | None:
    """A note that should be guarded where nothing guards; `None` if there is none, or the guard is on."""
    if find_guard(backend) is not None:
        return None
    return next(iter(stored_keys(backend, guard_patterns(device))), None)


def say_unguarded(key: str, record: Record, device: Device) -> tuple[str, str]:
    """That a note is not guarded, and what to do about it."""
    what = f"agents obey '{key}', and nothing guards it against changes from outside"
    if not os.path.exists(record.path):
        return what, "`agentm checkpoint create` knows it as it is now, and turns the guard on"
    wanted = [*device.config.wrappers, NAME]
    listed = ", ".join(f'"{name}"' for name in wanted)
    return what, f"`agentm config set {device.config.wrapped_by} '[{listed}]'` turns the guard on again"


def know_first(leaves: dict[str, Leaf], image: Image, record: Record, device: Device, backend: StorageBackend) -> int:
    """Know the guarded notes of a checkpoint as good, if none was ever known of this store; how many these are."""
    from agentm_checkpoint.reading import read_note
    from agentm_checkpoint.sealed import opened
    from agentm_checkpoint.sections import marks_of
    from agentm_checkpoint.tree import leaf_of

    is_guarded = guard_patterns(device).match
    guarded = {key: leaf for key, leaf in leaves.items() if is_guarded(key)}
    if not guarded or os.path.exists(record.path):
        return 0
    with record.edit() as edit:
        for key, leaf in guarded.items():
            text = opened(backend, key, read_note(leaf, image.fetch))
            edit.settle(key, leaf_of(text), marks_of(text))
    return len(guarded)


def turn_on(device: Device) -> str:
    """Add the wrapper to the configuration; what was done, for the operator."""
    from agentm_kernel.plugin import add_wrapper

    return f"the guard is on from now: `{NAME}` was added to {add_wrapper(device, NAME)}"
