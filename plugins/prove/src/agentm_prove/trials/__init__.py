"""The trials of a store, in the order in which they are made. Each module has one."""

from __future__ import annotations

from agentm_prove.trial import Trial
from agentm_prove.trials import (
    conflict_copy,
    durable,
    eight_writers,
    full_disk,
    killed_writers,
    open_file,
    paused_holder,
    session_start,
    unmounted,
)

STORE_TRIALS = (
    Trial("on-the-disk", "what is saved is on the disk before agentm says so", durable.run),
    Trial("eight-writers", "eight programs that write at once lose nothing", eight_writers.run),
    Trial("killed-writers", "a killed writer tears no note and blocks nobody", killed_writers.run),
    Trial("paused-holder", "a paused writer keeps its turn", paused_holder.run),
    Trial("open-file", "lines that another program adds with >> are kept", open_file.run),
    Trial("unmounted", "a store that is not mounted is refused, not replaced", unmounted.run),
    Trial("conflict-copy", "what another device wrote is not overwritten", conflict_copy.run),
    Trial("full-disk", "a full disk is an error, and the note stays whole", full_disk.run),
)
HOOK_TRIAL = Trial("session-start", "an agent is told about its project when it starts", session_start.run)
