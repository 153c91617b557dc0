"""The hooks of group `agentm.plugins`: what is told to every plugin that wants to hear it, and with which values; and
the tools that agents call.

A plugin is a module or an object with functions of these names, each marked with `agentm_kernel.plugin.hookimpl`. A
function may leave out arguments that it does not need. Hooks are called one plugin at a time: one that raises is
reported and the others are called all the same, and a wrapper around a hook wraps only its own plugin's. What a
plugin prints goes to standard error.
"""

from __future__ import annotations

from agentm_kernel.seam import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pluggy import HookimplMarker

    from agentm_kernel.device.installed import PluginRecord
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.state import Device
    from agentm_kernel.state.routing import Resolution

PROJECT = "agentm"
MARK = f"{PROJECT}_impl"
"""The attribute of a function that is a hook: pluggy reads what it wants to be from there, and so does `hooks`."""

if TYPE_CHECKING:
    hookimpl = HookimplMarker(PROJECT)
else:

    def hookimpl(function: Callable | None = None, **options: object) -> Callable:
        """Mark a function as the hook of its name, as pluggy's marker does; pluggy is not imported for that."""

        def mark(marked: Callable) -> Callable:
            setattr(marked, MARK, options)
            return marked

        return mark if function is None else mark(function)


def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    """What `agentm doctor` should say about this plugin: where its data lies, what is wrong with it.

    Changes nothing and waits for nothing.
    """


def agentm_session_start(context: HookContext) -> list[Section] | None:
    """What the agent should read when a session starts in `context.cwd`.

    A hook of the agent's host waits for the answer: take milliseconds, and leave the network alone.
    """


def agentm_event(name: str, payload: Mapping[str, object], context: HookContext) -> str | None:
    """Something happened in an agent's life: `turn-start`, `turn-end`, … with what the host said about it.

    The answer is one line about what was done, for the operator; `None` if there is nothing to say.
    """


def agentm_page_panels(context: HookContext) -> list[Panel] | None:
    """What this plugin adds to the page that a person looks at. Making the list reads nothing: `show` does, later."""


def agentm_alert(alert: Alert, context: HookContext) -> None:
    """Something that the operator has to see was noticed. Carry it where it will be seen."""


def agentm_replaced(locator: Locator, old: str | None, new: str | None, context: HookContext) -> None:
    """A write or a deletion of ours through the selected store replaces `old` at `locator` by `new`.

    `old` is `None` for a new note, which is told once it is there. `new` is `None` for a deletion. A version is told
    before it is replaced, so that a crash in between loses nothing; if the write then fails, it is still there. A
    plugin that fails is reported, and the note is written all the same. Every write waits for the answer.
    """


STATUSES = ("ok", "warn", "fail")


class HookContext(Frozen):
    """Where and about what a hook is called. Hooks read it from here, never from the process's globals."""

    device: Device
    cwd: str
    project: Resolution | None = None  # the project that `cwd` belongs to, where the caller knows it
    store: StorageBackend | None = None  # the selected store; `None` if the caller needs none, or none can be had


class DoctorRow(Frozen):
    """One line of `agentm doctor`."""

    status: str  # `ok`, `warn` or `fail`; only `fail` makes the command fail
    check: str  # what was looked at, in a word
    message: str
    hint: str | None = None  # what to do about it
    code: str | None = None  # the stable name of what is wrong, where a specification fixes one

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"the status of a doctor row is {', '.join(STATUSES)}; not {self.status!r}")


class Section(Frozen):
    """A part of what an agent reads when its session starts."""

    title: str
    text: str


class Alert(Frozen):
    """Something that the operator has to see, wherever it was noticed."""

    subject: str  # what it is about: a locator, a plugin
    message: str
    hint: str | None = None


class Panel(Frozen):
    """A part of the page that a person looks at (`agentm view`): what it shows, and what can be done there.

    The page knows no plugin: it asks for blocks, which are plain data (`docs/reference/page.md`), and draws them.
    """

    name: str  # its address: lower-case letters, digits and hyphens
    title: str
    place: str  # `today` and `decide`: on the first screen; `note`: beside each note; `more`: on a screen of its own
    show: Callable[[Mapping[str, str]], list[Mapping[str, object]]]
    """The blocks; `[]` if there is nothing to say. Given what the address says: `note`, and what blocks link with."""
    actions: Mapping[str, Callable[[Mapping[str, str]], str]] = {}
    """What can be done, by name: given the fields of a block's action, it answers one line, or raises."""


class PluginFailure(Frozen):
    """What one plugin did wrong. The others went on."""

    record: PluginRecord
    message: str
    hint: str | None = None
    code: str | None = None
    """The stable name of what was refused, where a specification fixes one: then the plugin did what it should."""


class Tool(Frozen):
    """Something that an agent may call: what an entry point of group `agentm.tools` names, under the same name.

    The schema is declared and not derived from the function: deriving it takes `inspect` and `typing`, which cost
    more than the answer to `tools/list` may, and what a model reads should be written for it.
    """

    name: str
    description: str
    function: Callable[..., Mapping[str, object]]
    """Called with a `ToolCall` and the arguments by name. Its answer is short fields; `text` among them is prose."""
    parameters: Mapping[str, Mapping[str, object]] = {}  # the JSON Schema of each argument
    required: tuple[str, ...] = ()
    only_reads: bool = True
    """Nothing is changed by it. What does change something takes nothing away that cannot be had back."""
    seconds: float = 30.0  # how long a call may take


class ToolCall(Frozen):
    """Where, and for whom, a tool is called."""

    device: Device
    roots: tuple[str, ...]  # the folders that the agent works in; one, unless the agent host has several open
    client: str  # what the agent host calls itself
    progress: Callable[[float, float, str], None]
    """Says how far the work is: done, of how much, and what. Raises if the call was cancelled meanwhile."""
