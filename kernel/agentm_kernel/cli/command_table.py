"""Commands that have to be quick, declared once and, in their plain spellings, parsed without click.

Whatever is not plain (help, completion, an unknown or abbreviated option, a missing value) is left to click, which
reads the same declaration, calls the same function, and says what is wrong. So there is one code path. The names of
all commands of the kernel are here too, known without importing one of them, or click.
"""

from __future__ import annotations

from agentm_kernel import errors
from agentm_kernel.cli import json_text, read_text, show_text, write_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from agentm_kernel.state import Device

    Function = TypeVar("Function", bound=Callable[..., int | None])

HOOK_EVENTS = ("session-start", "prompt", "pre-compact", "post-compact", "turn-end", "session-end")
"""What a hook can be about: events that plugins are told of."""


class Parameter:
    """One argument (`which`), option (`--cwd DIR`) or flag (`--json`) of a declared command."""

    __slots__ = ("choices", "help", "required", "spelled")

    def __init__(
        self, spelled: str, text: str = "", *, choices: tuple[str, ...] = (), required: bool = False
    ) -> None:  # hooks make them all: what a spelling says is found out when it is asked for
        self.spelled, self.help, self.choices, self.required = spelled, text, choices, required

    @property
    def name(self) -> str:
        return self.spelled.partition(" ")[0]

    @property
    def metavar(self) -> str:
        return self.spelled.partition(" ")[2]

    @property
    def is_option(self) -> bool:
        return self.spelled.startswith("-")

    @property
    def flag(self) -> bool:
        return self.is_option and " " not in self.spelled

    @property
    def key(self) -> str:
        """The keyword under which the command's function gets the value."""
        return self.name.lstrip("-").replace("-", "_")


class DeclaredCommand:
    """A command path, its parameters, and the function that does the work, or where it lives (`module:function`)."""

    __slots__ = ("help", "parameters", "path", "target")

    def __init__(self, path: str, target: str | Callable[..., int | None], text: str, *parameters: Parameter) -> None:
        self.path = tuple(path.split())
        self.target, self.help, self.parameters = target, text, parameters

    def run(self, device: Device, values: dict[str, object]) -> int:
        """Do the work; the function writes its own output and returns the exit code, `None` for 0."""
        function = self.target
        if isinstance(function, str):
            module, _, name = function.partition(":")
            function = getattr(__import__(f"agentm_kernel.{module}", fromlist=[name]), name)
        return function(device, **values) or 0


_CWD = Parameter("--cwd DIR", "Directory of the project; the current one if not given.")
_JSON = Parameter("--json", "Answer in JSON.")

COMMANDS = [
    DeclaredCommand(
        "completion",
        "cli.app:completion",
        'Print the completion script of SHELL.\n\nFor bash, add to ~/.bashrc:  eval "$(agentm completion bash)"',
        Parameter("shell", choices=("bash", "zsh", "fish")),
    ),
    DeclaredCommand(
        "doctor",
        "cli.doctor:doctor",
        "Check this installation: configuration, selected store, plugins. Changes nothing.\n\n"
        "Exits 1 if anything fails; warnings do not count.",
        Parameter(
            "--requires NAMES",
            "Also fail unless the store has these capabilities, separated by commas: "
            "concurrent_writers, conflict_files, encryption, sync, device_files, delete",
        ),
        _JSON,
    ),
    DeclaredCommand(
        "event",
        "cli.event:tell_plugins",
        "Tell plugins that something happened in the agent's life: turn-start, turn-end, workspace-open …",
        Parameter("name"),
        _CWD,
    ),
    DeclaredCommand(
        "hook",
        "cli.hook:answer",
        "Answer a hook of an agent host: JSON on standard input, what the agent is told on standard output.\n\n"
        "Takes 2 seconds at most, and on any failure lets the agent go on. `agentm connect` writes the hook lines.",
        Parameter("event", choices=HOOK_EVENTS),
        Parameter("--host HOST", "Whose output format to use: claude-code, codex, gemini … or plain."),
    ),
]
"""Those whose functions live elsewhere; the others follow, each with its function, whose docstring is its help."""


def _declared(path: str, *parameters: Parameter) -> Callable[[Function], Function]:
    def declare(function: Function) -> Function:
        COMMANDS.append(DeclaredCommand(path, function, function.__doc__ or "", *parameters))
        return function

    return declare


@_declared("config get", Parameter("key"), _JSON)
def config_get(device: Device, key: str, json: bool) -> int:
    """Print one configuration value; exit 1 if it is not set."""
    value = device.config.get(key)
    if json:
        write_text(json_text(key=key, value=value))
    elif value is not None:
        write_text(f"{as_text(value)}\n")
    return 0 if value is not None else 1


def as_text(value: object) -> str:
    """A text as it is, so that a shell can use it; everything else as JSON."""
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)


@_declared(
    "state-path",
    Parameter("which", choices=("plan", "progress")),
    _CWD,
    Parameter("--plan NAME", "A named plan instead of the active one."),
)
def state_path(device: Device, which: str, cwd: str | None, plan: str | None) -> None:
    """Print where the active plan or its progress file lives."""
    from agentm_kernel.state.plans import active_plan_path

    show_text(active_plan_path(device.project(cwd), which, plan) + "\n")


@_declared("state read", Parameter("file"), _JSON, _CWD)
def state_read(device: Device, file: str, json: bool, cwd: str | None) -> None:
    """Print FILE byte for byte; exit 1 if it does not exist. In JSON also its hash, for `write --if-match`."""
    from agentm_kernel.state.files import find_state_file
    from agentm_kernel.state.plans import meant_file

    project = device.project(cwd)
    file = meant_file(project, file)
    text = find_state_file(project, file)
    if text is None:
        from agentm_kernel.cli.session_text import left_behind

        hint = left_behind(project, file) or "`agentm state list` shows what there is"
        raise errors.NotFoundError(f"there is no state file {file} here", hint=hint)
    if json:
        from agentm_kernel.seam.content import content_hash

        text = json_text(file=file, hash=content_hash(text), text=text)
    show_text(text)


@_declared(
    "recall-here",
    _CWD,
    Parameter("--phase PHASE", "setup, plan, work, review, release, bugfix or documenter; any other counts as work."),
    Parameter("--query TEXT", "Words to look for."),
    Parameter("--limit N", "Budget in tokens."),
    Parameter("--why NOTE", "Say instead why this note is among them, or why not."),
)
def recall_here(
    device: Device, cwd: str | None, phase: str | None, query: str | None, limit: str | None, why: str | None
) -> None:
    """Print what memory holds for this project and phase; nothing if there is nothing."""
    from agentm_kernel.process_seam import recall_here as recall, why_here

    if limit is not None and not (limit.isdigit() and int(limit)):
        hint = "run `agentm recall-here --help`"
        raise errors.UsageError(f"--limit takes a positive number of tokens, not {limit!r}", hint=hint)
    tokens = None if limit is None else int(limit)
    if why is not None:
        show_text(why_here(device, why, cwd, phase, query, tokens))
    else:
        show_text(recall(_given(cwd=cwd, phase=phase), query=query, limit=tokens, device=device))


@_declared(
    "offer-save-here",
    Parameter("--kind KIND", "Kind of note.", required=True),
    Parameter("--slug SLUG", "Short name of the note.", required=True),
    Parameter("--body-file FILE", "File with the text, - for standard input."),
    _CWD,
    Parameter("--phase PHASE", "Phase of the work."),
    Parameter("--confidence TEXT", "How sure you are."),
    Parameter("--confidence-reason TEXT", "Why."),
)
def offer_save_here(
    device: Device, body_file: str | None, cwd: str | None, phase: str | None, **candidate: str | None
) -> None:
    """Print, as JSON, what could be saved and where. Saves nothing."""
    from agentm_kernel.device.json_text import encoded
    from agentm_kernel.process_seam import offer_save_here as offer

    body = None if body_file is None else read_text(body_file)
    offers = offer(_given(cwd=cwd, phase=phase), _given(**candidate, body=body), device=device)
    write_text(encoded(offers).decode())


def _given(**values: str | None) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


# ------------------------------------------------------------------------------------------------ plain spellings


def match(arguments: list[str]) -> tuple[DeclaredCommand, dict[str, object]] | None:
    """The declared command that `arguments` spell plainly, with its values."""
    command = next((one for one in COMMANDS if one.path == tuple(arguments[: len(one.path)])), None)
    if command is None:
        return None
    options = {parameter.name: parameter for parameter in command.parameters if parameter.is_option}
    pending = [parameter for parameter in command.parameters if not parameter.is_option]
    values: dict[str, object] = {parameter.key: False if parameter.flag else None for parameter in command.parameters}
    remaining = iter(arguments[len(command.path) :])
    for word in remaining:
        if word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            option = options.get(name)
            if option is None or (option.flag and equals):
                return None
            given: object = option.flag or (value if equals else next(remaining, None))
            if isinstance(given, str) and given.startswith("-") and given != "-":
                return None  # it looks like an option: click has to decide
        elif pending:
            option, given = pending.pop(0), word
        else:
            return None
        is_allowed = not option.choices or given in option.choices
        if given is None or not is_allowed or values[option.key] not in (None, False):
            return None
        values[option.key] = given
    missing = pending or [p for p in command.parameters if p.required and values[p.key] is None]
    return None if missing else (command, values)


# ------------------------------------------------------------------------------------------------ all names

# Each is a module of this package with a click group called `command`, and all that it holds, declared or not;
# a test holds it equal to the groups themselves.
GROUPS = {
    "config": ("get", "list", "path", "set", "unset"),
    "plan": ("clear", "list", "use"),
    "plugins": ("list", "show"),
    "project": ("check", "list", "register", "show", "unregister"),
    "state": ("append", "list", "path", "read", "write"),
    "store": ("add", "forget", "list", "remove", "show"),
}
KERNEL_COMMANDS = frozenset({*GROUPS, *(command.path[0] for command in COMMANDS)})  # names that no plugin can take
LIMITED = frozenset(
    ("state-path", "state read", "state list", "state path")
    + ("store list", "store show", "project list", "project show")
)
"""Commands that only look something up: they end with an error rather than wait for a store that hangs."""

ABOUT_ALL_STORES = frozenset(
    ("config set", "config unset", "store add", "store remove", "store forget", "project use-store")
)
"""Commands that change which stores there are: as if there were only one, they would not see the others."""


def kernel_subcommands(group: str) -> frozenset[str]:
    """The kernel's names below `group`, at the top for an empty one; nothing if that is no group of the kernel."""
    return frozenset(GROUPS.get(group, ())) if group else KERNEL_COMMANDS


def misplaced(name: str) -> tuple[str, str] | None:
    """Why no command of a plugin can have this name, as state and reason; `None` if it can."""
    group, _, last = name.rpartition(" ")
    own = kernel_subcommands(group)
    if not own:
        return "unknown", f"the kernel has no group of commands '{group}'"
    return ("conflict", "the kernel has a command of that name") if last in own else None
