"""`agentm mcp`: a Model Context Protocol server on standard input and output.

It is written on the standard library on purpose. The official SDK takes between half a second and two seconds to
import, and an agent host that has waited half a second asks its model without the tools, silently. The SDK's own
client is the judge in our tests instead.
"""

from __future__ import annotations

import gc
import os

from agentm_mcp.channel import Channel
from agentm_mcp.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Device

_TO_FINISH = 10.0
"""Seconds for what is under way when the host closes its end."""


def serve(device: Device) -> int:
    """Serve until the host closes its end. Each request is answered by a device that is looked up anew."""
    gc.enable()  # commands do without; this process may live for days
    end = os._exit  # as it is now: while a plugin runs, it is refused
    channel = Channel.of_process()
    session = Session(channel, device)
    for line in channel.lines():
        session.receive(line)
    if not session.calls.finish(_TO_FINISH):
        end(0)  # threads that hang must not keep the process
    return 0
