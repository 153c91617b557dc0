"""`HostAdapter`: what is known about one agent host. An entry point of group `agentm.hosts` names one.

The first half is what a hook needs, and hooks are started all day: nothing here imports more than it uses. The second
half says how the host is connected, and where it writes down what it gave to its model.
"""

from __future__ import annotations

import os
import sys

try:  # `json` itself costs as much as the rest of a hook
    from _json import encode_basestring_ascii
except ImportError:
    from json.encoder import encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from agentm_hosts.place import Change, Place
    from agentm_kernel.plugin import Device, HookCall

PROMISED = "promised"
BEST_EFFORT = "best effort"
UNPROVEN = "unproven"

TOLD = ("session-start", "prompt", "post-compact")
"""The events at which the model itself is told something, which can be found again in the transcript."""

_PROMPT_TOKENS = 600
_LOOKED_AT = 200


class HostAdapter:
    """An agent host. Subclasses say what differs; most of it is data."""

    name = ""
    """What `--host` and `agentm connect` call it."""
    title = ""
    """What people call it."""
    proof = UNPROVEN
    """How well it is known to work: `promised` (tested with the real program), `best effort` or `unproven`."""
    limit = 9_900
    """Characters of context that the host takes at once."""
    hooks: Mapping[str, str] = {}
    """Our events, and what the host calls the hook that reports each."""
    programs: tuple[str, ...] = ()
    """Commands of the host: one of them on the search path means that it is installed."""
    writes_down: tuple[str, ...] = ()
    """The events of which its transcript says what the model was given, so that arrival can be seen."""
    starts_at_once = False
    """Whether it starts the hooks of a session's start and of its first prompt at the same time."""
    tool_name = "{tool}"
    """What the model calls a tool of our MCP server."""

    # -- hooks ------------------------------------------------------------------------------------------------

    def read(self, call: HookCall) -> None:
        """Understand what the host sent. A session that goes on after compaction is told to plugins as that."""
        if call.event == "session-start" and call.payload.get("source") == "compact":
            call.raises = ("post-compact", "session-start")

    def session(self, payload: Mapping[str, Any]) -> str:
        """The host's name for the session."""
        return str(payload.get("session_id") or payload.get("sessionId") or "")

    def prompt(self, payload: Mapping[str, Any]) -> str:
        """What the user asked."""
        return str(payload.get("prompt") or "")

    def compose(self, call: HookCall) -> None:
        """What the agent is told at each event."""
        if call.event in ("session-start", "post-compact"):
            call.add_session(self._closing(call))
        elif call.event == "prompt":
            from agentm_hosts.prompts import answers

            session = self.session(call.payload)
            if self.starts_at_once:
                from agentm_hosts.ledger import await_session

                await_session(call.device.state_dir, call.host, session, call.time_left / 2)
            call.add(answers(call, session, self.prompt(call.payload), _PROMPT_TOKENS))
        elif call.event == "pre-compact":
            from agentm_hosts.compaction import what_must_survive

            call.add(what_must_survive(call))
        elif call.event == "turn-end":
            from agentm_hosts.reminder import reminder

            call.add(reminder(call, self.session(call.payload)))

    def envelope(self, call: HookCall, text: str) -> str:
        """`text` with its receipt, as this host takes it; nothing where there is nothing to say."""
        if not text or not self.passes_on(call.event):
            return ""
        from agentm_hosts.receipt import stamped

        return self.wrap(call.event, stamped(text) if call.event in TOLD else text)

    def passes_on(self, event: str) -> bool:
        """Whether the host gives the model what a hook says at this event."""
        return event in TOLD

    def wrap(self, event: str, text: str) -> str:
        """The envelope that most hosts share. Nothing else may be in it: Codex refuses keys that it does not know."""
        return (
            f'{{"hookSpecificOutput": {{"hookEventName": {quoted(self.hooks.get(event, ""))}, '
            f'"additionalContext": {quoted(text)}}}}}\n'
        )

    def sent(self, call: HookCall) -> None:
        """Write down what was said, so that it can be looked for in the transcript."""
        from agentm_hosts.ledger import note_delivery
        from agentm_kernel.plugin import Call, PluginError

        try:
            with Call(f"adapter '{self.name}'", "session or transcript"):
                note_delivery(self, call)
        except PluginError as error:  # the answer has gone out, and counts
            sys.stderr.write(f"agentm: {error.message}\n")

    def afterwards(self, call: HookCall) -> None:
        """Look, at the end of a turn or session, whether what was said has arrived."""
        if call.event in ("turn-end", "session-end"):
            from agentm_hosts.settling import settle

            settle(call.device, self)

    def _closing(self, call: HookCall) -> str | None:
        """How to remember: by our tools where they are connected, else by the command."""
        if not os.path.exists(mcp_mark(call.device.state_dir, self.name)):
            return None
        save, find = (self.tool_name.format(tool=tool) for tool in ("memory_save", "memory_search"))
        return (
            f"[agentm] To remember a decision or a fact, call the tool {save}.\n"
            f"[agentm] To look something up, call the tool {find}."
        )

    # -- connecting -------------------------------------------------------------------------------------------

    def folder(self, place: Place) -> str:
        """Where the host keeps its settings."""
        raise NotImplementedError

    def is_present(self, place: Place) -> bool:
        """Whether the host is installed or has been used here."""
        return self.program(place) is not None or os.path.isdir(self.folder(place))

    def program(self, place: Place) -> str | None:
        """The host's command."""
        import shutil

        found = (shutil.which(name, path=place.environ.get("PATH")) for name in self.programs)
        return next((path for path in found if path), None)

    def changes(self, place: Place) -> list[Change]:
        """What `agentm connect` changes, file by file."""
        raise NotImplementedError

    def hook_command(self, place: Place, event: str) -> str:
        """The line that a shell runs. It stays the same over upgrades, because Codex would distrust a changed one."""
        return f"{place.quoted_launcher} hook {event} --host {self.name}"

    def open_steps(self, place: Place) -> list[str]:
        """What only the user can do, and must before all of it works: to trust us, say."""
        return []

    def advice(self, place: Place) -> list[str]:
        """What the user may want to know or to do."""
        return []

    # -- delivered or not -------------------------------------------------------------------------------------

    def transcript(self, payload: Mapping[str, Any]) -> str:
        """The file in which the host writes the session down; nothing where it is not known."""
        path = payload.get("transcript_path") or payload.get("transcriptPath")
        return path if isinstance(path, str) else ""

    def user_folder(self, device: Device) -> str:
        """Where the host keeps its settings and transcripts for this user."""
        from agentm_hosts.place import Place

        return self.folder(Place(device.home, device.environ, "agentm", device.state_dir))

    def find_transcript(self, folder: str, session: str) -> str:
        """The same for a host that does not say it to its hooks, below the user's folder."""
        return ""

    def last_session(self, folder: str) -> float:
        """When the newest session of this host was, by its transcripts; 0 where that is not known."""
        return 0.0

    def contexts(self, entry: Mapping[str, Any]) -> Iterator[str]:
        """The texts in one line of the transcript that the host says it gave to the model as context. Not what it
        merely logged, and never what a tool or a user said.
        """
        return iter(())

    def is_about_context(self, line: bytes) -> bool:
        """A quick look at a line of the transcript, before it is taken apart."""
        return b"[agentm " in line


def quoted(text: str) -> str:
    """`text` as a JSON string."""
    found: str = encode_basestring_ascii(text)
    return found


def newest(folder: str, depth: int, suffix: str = ".jsonl") -> tuple[float, str]:
    """When the newest transcript so many folders below was written, and its path; of each folder some are seen."""
    best = (0.0, "")
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name, reverse=True)
    except OSError:
        return best
    for entry in entries[:_LOOKED_AT]:
        if depth and entry.is_dir(follow_symlinks=False):
            best = max(best, newest(entry.path, depth - 1, suffix))
        elif not depth and entry.name.endswith(suffix):
            best = max(best, (entry.stat(follow_symlinks=False).st_mtime, entry.path))
    return best


def mcp_mark(state_dir: str, host: str) -> str:
    """The file that is there while our MCP server is connected to a host."""
    return os.path.join(state_dir, "connections", f"{host}.mcp")
