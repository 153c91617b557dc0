"""What hooks are given and what they answer with."""

from __future__ import annotations

from agentm_kernel.seam.values import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.device.installed import PluginRecord
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state.device import Device
    from agentm_kernel.state.resolution import Resolution

STATUSES = ("ok", "warn", "fail")


class HookContext(Frozen):
    """Where and about what a hook is called. Hooks read it from here, never from the process's globals."""

    __slots__ = ("device", "cwd", "project", "store")
    device: Device
    cwd: str
    project: Resolution | None
    """The project that `cwd` belongs to, where the caller knows it."""
    store: StorageBackend | None
    """The selected store; `None` if the caller needs none, or none can be had."""

    def __init__(
        self,
        device: Device,
        cwd: str,
        project: Resolution | None = None,
        store: StorageBackend | None = None,
    ) -> None:
        self._set(device=device, cwd=cwd, project=project, store=store)


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
    """What one plugin did wrong. The others went on."""

    __slots__ = ("record", "message", "hint", "code")
    record: PluginRecord
    message: str
    hint: str | None
    code: str | None
    """The stable name of what was refused, where a specification fixes one: then the plugin did what it should."""

    def __init__(self, record: PluginRecord, message: str, hint: str | None = None, code: str | None = None) -> None:
        self._set(record=record, message=message, hint=hint, code=code)
