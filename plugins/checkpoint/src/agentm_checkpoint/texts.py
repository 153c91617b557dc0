"""Numbers and other people's text in sentences."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Device


def counted(number: int, noun: str) -> str:
    """`1 note`, `2 notes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def agentm_of(device: Device) -> str:
    """How a command about the store of `device` begins, wherever it is run: with its name if there are several."""
    name = device.store_name or ("default" if device.config.stores else "")
    return f"agentm --store {name}" if name else "agentm"


def visible(text: str) -> str:
    """Text of a note or a file name for a terminal: control characters are shown, and never sent to it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
