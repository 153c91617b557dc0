"""`agentm hook EVENT --host H`: one process, a hard deadline, always exit 0, whatever happens.

The host gives its event as JSON on standard input. An adapter (group `agentm.hosts`) reads it, says what the agent is
told, and puts that into the envelope that this host understands; without `--host` the text is printed as it is. When
the answer has been sent, plugins are told of the event by a process that nobody waits for.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

from agentm_kernel.cli import end_process, waiting_for
from agentm_kernel.cli.event import in_the_background, read_event, tell, working_directory
from agentm_kernel.errors import AgentmError, one_line
from agentm_kernel.files import in_a_thread
from agentm_kernel.plugins import Call, divert_stdout, reason_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state import Device

DEADLINE_SECONDS = 1.9
CONTEXT_LIMIT = 10_000  # characters: what every agent host takes
PLAIN = "plain"
_FOR_SYNC = 0.8  # seconds that a session waits for a store elsewhere to bring its copy up to date


class PlainAdapter:
    """`--host plain`, and what the kernel asks of an adapter: an object with this attribute and these methods."""

    limit = CONTEXT_LIMIT  # characters that the host takes; what is more, it cuts off without a word

    def read(self, call: HookCall) -> None:
        """Understand what the host sent: set `call.cwd`, change `call.raises`."""

    def compose(self, call: HookCall) -> None:
        """Say what the agent is told, with `call.add` and `call.add_session`; what is late is not in it."""
        if call.event in ("session-start", "post-compact"):
            call.add_session()
        elif call.event == "prompt":
            call.add(call.recall(str(call.payload.get("prompt", "")), 600) or "")

    def envelope(self, call: HookCall, text: str) -> str:
        """`text` as this host takes it; it is called once, perhaps by the thread that guards the deadline."""
        return f"{text}\n" if text else ""

    def sent(self, call: HookCall) -> None:
        """The answer has gone out. The host still waits for the process to end: take a millisecond."""

    def afterwards(self, call: HookCall) -> None:
        """What takes longer, in a process that nobody waits for."""


def answer(device: Device, event: str, host: str | None) -> None:
    """Print what the agent is told at this event, then tell plugins of it."""
    call = HookCall(device, event, host or PLAIN)
    try:
        in_a_thread(call.answer_late)
        call.compose()
    except BaseException as error:  # noqa: BLE001 - the agent must go on; what broke is shown
        call.fail(error)
    call.send()
    call.finish()


class HookCall:
    """One event of an agent host while it is answered, by whoever is first, with what is known by then.

    It has standard output for itself: whatever else is printed, by a plugin or a program that it starts, goes to
    standard error from here on. Hosts take the output apart, and one stray line would spoil it.
    """

    def __init__(self, device: Device, event: str, host: str) -> None:
        self.device, self.event, self.host = device, event, host
        self.payload: dict[str, Any] = {}  # what the host sent
        self.cwd: str | None = None  # where the session is; `None` for the current directory
        self.raises: tuple[str, ...] = ()  # the events that plugins are told of
        if host != PLAIN:
            self.raises = (event, "turn-start") if event == "prompt" else (event,)
        self.text = ""  # what was said in the end
        self.closing = ""  # what the answer ends with, however late it is
        self.doing = "starting"
        self.adapter: Any = None
        self._lacking = "Project state is"
        self._deadline = time.monotonic() + DEADLINE_SECONDS
        self._parts: list[str] = []
        self._is_told = False
        self._unsent = _thread.allocate_lock()
        self._output = divert_stdout()

    @property
    def time_left(self) -> float:
        """Seconds until the answer is given as it is."""
        return self._deadline - time.monotonic()

    @property
    def room(self) -> int:
        """Characters that the host still takes."""
        return int(self.adapter.limit) - sum(len(part) + 2 for part in (*self._parts, self.closing))

    def add(self, part: str) -> None:
        """Tell the agent this."""
        if part:
            self._parts.append(part)

    def add_session(self, closing: str | None = None) -> None:
        """Tell the agent what it reads when a session starts, with `closing` as the lines on how to remember."""
        from agentm_kernel.cli.session_text import add_session_text

        if self.device.bound_store(self.cwd) is not None:  # the operator's own first, whatever the other store does
            from agentm_kernel.process_seam import own_notes

            self._lacking = "The notes and plans of this project are"
            self.doing = "recalling your own notes"
            self.add(own_notes(self.device, self.cwd, self.room // 4).rstrip())
        self.doing = "finding the project's state"
        project = self.device.project(self.cwd)
        self._bring_up_to_date(project.backend)
        add_session_text(self, project, closing)

    def recall(self, prompt: str, limit: int, known: tuple[str, ...] = ()) -> str | None:
        """The notes but `known` ones that answer a prompt, in `limit` tokens; `None` if recall cannot tell."""
        from agentm_kernel.process_seam import recall_for_prompt

        self.doing = "recalling notes"
        return recall_for_prompt(self.device, self.cwd, prompt, limit, known)

    # -- the life of a call -----------------------------------------------------------------------------------

    def compose(self) -> None:
        if self.host == PLAIN:
            self.adapter = PlainAdapter()
        else:
            from agentm_kernel.device.installed import HOSTS
            from agentm_kernel.plugins.table import find, load

            record = find(self.device, HOSTS, self.host)
            if record is None:
                sys.stderr.write(f"agentm: no installed plugin knows the agent host {ascii(self.host)}\n")
                return
            self.adapter = load(record)
        self.doing = "reading the host's event"
        self.payload = read_event()
        self.cwd = working_directory(self.payload)
        with Call(f"adapter '{self.host}'", "read"):
            self.adapter.read(self)
        self.doing = "finding what to say"
        self.adapter.compose(self)

    def fail(self, error: BaseException) -> None:
        why = f"{self.doing} failed ({self.host}): {reason_of(error)}"
        if isinstance(error, AgentmError):
            why = f"{error.message}{f' ({error.hint})' if error.hint else ''}"
        self._say(f"{self._lacking} not available: {why}")

    def _say(self, text: str) -> None:
        """Where a session starts, the agent is told, because the operator has no other place to see it."""
        line = one_line(f"[agentm] {text}")
        if self.event == "session-start" and not self._unsent.locked():
            self.add(line)
        else:
            sys.stderr.write(f"{line}\n")

    def answer_late(self) -> None:
        """Answer for a main thread that is stuck, in a system call perhaps, where nothing else can reach it."""
        time.sleep(max(0.0, self.time_left))
        late = f"{self.doing} took more than {DEADLINE_SECONDS:g} s{waiting_for()}"
        self._say(f"Not everything is here: {late}. Run `agentm doctor`.")
        self.send()
        end_process(0)

    def send(self) -> None:
        if not self._unsent.acquire(blocking=False) or self._output is None:
            return
        if self.adapter is None:  # nobody can tell whether it may be loaded, and most hosts take plain text as well
            self.adapter, self.host = PlainAdapter(), PLAIN
        said = fitted("\n\n".join(self._parts), int(self.adapter.limit) - len(self.closing) - 2)
        self.text = "\n\n".join(part for part in (said, self.closing) if part)
        try:
            with Call(f"adapter '{self.host}'", "envelope"):
                answer = self.adapter.envelope(self, self.text).encode("utf-8", "backslashreplace")
        except AgentmError as error:
            self._say(f"The answer is plain text, which most hosts take as well: {error.message}")
            answer = f"{self.text}\n".encode("utf-8", "backslashreplace")
        view = memoryview(answer)
        try:
            while view:
                view = view[os.write(self._output, view) :]
            self.adapter.sent(self)
        except OSError:
            pass  # the host has gone: there is nobody to tell

    def finish(self) -> None:
        """What nobody waits for; what fails now is a line on standard error."""
        self._let_go()
        if self.adapter is None or self.host == PLAIN:
            return
        try:
            in_the_background(self._afterwards)
        except (AgentmError, OSError) as error:
            sys.stderr.write(f"agentm: {one_line(str(error))}\n")

    def _afterwards(self) -> int:
        if not self._is_told:
            self._tell()
        self.adapter.afterwards(self)
        return 0

    def _tell(self) -> int:
        """In a process that may outlive this one."""
        self._let_go()
        return max((tell(self.device, name, self.payload, self.cwd) for name in self.raises), default=0)

    def _let_go(self) -> None:
        """A host waits until nobody holds its pipe any more."""
        if self._output is not None:
            os.close(self._output)
            self._output = None

    def _bring_up_to_date(self, store: StorageBackend | None) -> None:
        """Let a store that lies elsewhere fetch what is new, for a moment: what takes longer is there next time."""
        if not self.raises or store is None:
            return
        from agentm_kernel.seam.backend import DeviceCopy
        from agentm_kernel.seam.facets import WorkingCopy

        if store.facet(DeviceCopy) or store.facet(WorkingCopy):
            self.doing = "fetching what is new"
            self._is_told = in_the_background(self._tell, wait=_FOR_SYNC, or_here=False)  # if not: after the answer


def fitted(text: str, limit: int) -> str:
    """Whole lines up to the limit, and how much was left out: what a host cuts off, it cuts off without a word."""
    if len(text) <= limit:
        return text
    end = max(text.rfind("\n", 0, limit - 100), 0) or limit - 100
    return f"{text[:end]}\n[agentm] {len(text) - end:,} more characters were left out: agent hosts take no more."
