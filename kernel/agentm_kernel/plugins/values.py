"""What hooks are given and what they answer with."""

from __future__ import annotations

from agentm_kernel.seam.values import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.device.config import Config
    from agentm_kernel.device.installed import PluginRecord
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.values import OpenContext

STATUSES = ("ok", "warn", "fail")


class HookContext(Frozen):
    """The surroundings of one call. Hooks read them from here, never from the process's globals."""

    __slots__ = ("surroundings", "cwd", "config", "backend", "project")
    surroundings: OpenContext
    """Environment, home and state directory."""
    cwd: str
    config: Config | None
    """`None` if there is one that cannot be read."""
    backend: StorageBackend | None
    """The selected store; `None` if the caller needs none, or none can be had."""
    project: str | None
    """The slug of the project that `cwd` belongs to, where the caller knows it."""

    def __init__(
        self,
        surroundings: OpenContext,
        cwd: str,
        config: Config | None = None,
        backend: StorageBackend | None = None,
        project: str | None = None,
    ) -> None:
        self._set(surroundings=surroundings, cwd=cwd, config=config, backend=backend, project=project)


class DoctorRow(Frozen):
    """One line of `agentm doctor`."""

    __slots__ = ("status", "check", "message", "hint", "code")
    status: str
    """`ok`, `warn` or `fail`; only `fail` makes the command fail."""
    check: str
    """What was looked at, in a word."""
    message: str
    hint: str | None
    """What to do about it."""
    code: str | None
    """The stable name of what is wrong, where a specification fixes one."""

    def __init__(
        self, status: str, check: str, message: str, hint: str | None = None, code: str | None = None
    ) -> None:
        if status not in STATUSES:
            raise ValueError(f"the status of a doctor row is {', '.join(STATUSES)}; not {status!r}")
        self._set(status=status, check=check, message=message, hint=hint, code=code)


class Section(Frozen):
    """A part of what an agent reads when its session starts."""

    __slots__ = ("title", "text")
    title: str
    text: str

    def __init__(self, title: str, text: str) -> None:
        self._set(title=title, text=text)


class Alert(Frozen):
    """Something that the operator has to see, wherever it was noticed."""

    __slots__ = ("subject", "message", "hint")
    subject: str
    """What it is about: a locator, a plugin."""
    message: str
    hint: str | None

    def __init__(self, subject: str, message: str, hint: str | None = None) -> None:
        self._set(subject=subject, message=message, hint=hint)


class PluginFailure(Frozen):
    """What one plugin could not do, or did wrong. The others went on.

    A typed error (`AgentmError`) is what the plugin has to say: its words, its hint and its code stand here as they
    are. Anything else that a plugin raises is a defect, and the message names the plugin.
    """

    __slots__ = ("record", "message", "hint", "code")
    record: PluginRecord
    message: str
    hint: str | None
    code: str | None

    def __init__(self, record: PluginRecord, message: str, hint: str | None = None, code: str | None = None) -> None:
        self._set(record=record, message=message, hint=hint, code=code)
