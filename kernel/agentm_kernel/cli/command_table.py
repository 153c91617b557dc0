"""Commands that have to be quick, declared once and, in their plain spellings, parsed without click.

Whatever is not plain (help, completion, an unknown or abbreviated option, a missing value) is left to click, which
reads the same declaration, calls the same function, and says what is wrong. So there is one code path. The names of
all commands of the kernel are here too, known without importing one of them, or click.
"""

from __future__ import annotations

from agentm_kernel.cli import UsageError, json_text, read_text, show_text, write_text
from agentm_kernel.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agentm_kernel.state import Device


class Parameter:
    """One argument (`which`) or option (`--cwd`) of a declared command. Every hook makes all of these."""

    __slots__ = ("choices", "flag", "help", "metavar", "name", "required")

    def __init__(
        self,
        name: str,
        text: str = "",
        *,
        metavar: str | None = None,
        choices: tuple[str, ...] = (),
        flag: bool = False,
        required: bool = False,
    ) -> None:
        self.name, self.help, self.metavar = name, text, metavar
        self.choices, self.flag, self.required = choices, flag, required

    @property
    def is_option(self) -> bool:
        return self.name.startswith("-")

    @property
    def key(self) -> str:
        """The keyword under which the command's function gets the value."""
        return self.name.lstrip("-").replace("-", "_")


class DeclaredCommand:
    """A command path, its parameters, and where the function that does the work lives (`module:function`)."""

    __slots__ = ("help", "parameters", "path", "target")

    def __init__(self, path: str, target: str, text: str, *parameters: Parameter) -> None:
        self.path = tuple(path.split())
        self.target, self.help, self.parameters = target, text, parameters

    def run(self, device: Device, values: dict[str, object]) -> int:
        """Do the work; the function writes its own output and returns the exit code, `None` for 0."""
        module, _, name = self.target.partition(":")
        function = getattr(__import__(f"agentm_kernel.{module}", fromlist=[name]), name)
        return function(device, **values) or 0


_CWD = Parameter("--cwd", "Directory of the project; the current one if not given.", metavar="DIR")
_JSON = Parameter("--json", "Answer in JSON.", flag=True)

COMMANDS = (
    DeclaredCommand(
        "config get",
        "cli.command_table:config_get",
        "Print one configuration value; exit 1 if it is not set.",
        Parameter("key"),
        _JSON,
    ),
    DeclaredCommand(
        "state-path",
        "cli.command_table:state_path",
        "Print where the active plan or its progress file lives.",
        Parameter("which", choices=("plan", "progress")),
        _CWD,
        Parameter("--plan", "A named plan instead of the active one.", metavar="NAME"),
    ),
    DeclaredCommand(
        "state read",
        "cli.command_table:state_read",
        "Print FILE byte for byte; exit 1 if it does not exist. In JSON also its hash, for `write --if-match`.",
        Parameter("file"),
        _JSON,
        _CWD,
    ),
    DeclaredCommand(
        "recall-here",
        "cli.command_table:recall_here",
        "Print what memory holds for this project and phase; nothing if there is nothing.",
        _CWD,
        Parameter("--phase", "Phase of the work; any other word counts as work.", metavar="PHASE"),
        Parameter("--query", "Words to look for.", metavar="TEXT"),
        Parameter("--limit", "Budget in tokens.", metavar="N"),
        Parameter("--why", "Say instead why this note is among them, or why not.", metavar="NOTE"),
    ),
    DeclaredCommand(
        "offer-save-here",
        "cli.command_table:offer_save_here",
        "Print, as JSON, what could be saved and where. Saves nothing.",
        Parameter("--kind", "Kind of note.", required=True, metavar="KIND"),
        Parameter("--slug", "Short name of the note.", required=True, metavar="SLUG"),
        Parameter("--body-file", "File with the text, - for standard input.", metavar="FILE"),
        _CWD,
        Parameter("--phase", "Phase of the work.", metavar="PHASE"),
        Parameter("--confidence", "How sure you are.", metavar="TEXT"),
        Parameter("--confidence-reason", "Why.", metavar="TEXT"),
    ),
    DeclaredCommand(
        "doctor",
        "cli.doctor:doctor",
        "Check this installation: configuration, selected store, plugins. Changes nothing.\n\n"
        "Exits 1 if anything fails; warnings do not count.",
        Parameter(
            "--requires",
            "Also fail unless the store has these capabilities, separated by commas: "
            "concurrent_writers, conflict_files, encryption, sync, device_files, delete",
            metavar="NAMES",
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
        Parameter(
            "event",
            choices=("session-start", "prompt", "pre-compact", "post-compact", "turn-end", "session-end"),
        ),
        Parameter("--host", "Whose output format to use: claude-code, codex, gemini … or plain.", metavar="HOST"),
    ),
)


# ------------------------------------------------------------------------------------------------ plain spellings


def match(arguments: list[str]) -> tuple[DeclaredCommand, dict[str, object]] | None:
    """The declared command that `arguments` spell plainly, with its values."""
    for command in COMMANDS:
        words = len(command.path)
        if tuple(arguments[:words]) == command.path:
            values = _parse(command, arguments[words:])
            return None if values is None else (command, values)
    return None


def _parse(command: DeclaredCommand, words: list[str]) -> dict[str, object] | None:
    options = {parameter.name: parameter for parameter in command.parameters if parameter.is_option}
    pending = [parameter for parameter in command.parameters if not parameter.is_option]
    values: dict[str, object] = {parameter.key: False if parameter.flag else None for parameter in command.parameters}
    remaining = iter(words)
    for word in remaining:
        if word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            option = options.get(name)
            if option is None or (option.flag and equals):
                return None
            given: object = True if option.flag else _plain(value if equals else next(remaining, None))
        elif pending:
            option, given = pending.pop(0), word
        else:
            return None
        is_allowed = not option.choices or given in option.choices
        if given is None or not is_allowed or values[option.key] not in (None, False):
            return None
        values[option.key] = given
    missing = pending or [p for p in command.parameters if p.required and values[p.key] is None]
    return None if missing else values


def _plain(word: str | None) -> str | None:
    """A value, unless it looks like an option: then click has to decide."""
    return None if word is None or (word.startswith("-") and word != "-") else word


GROUPS = ("completion", "config", "plan", "plugins", "project", "state", "store")
"""Each is a module of this package with a click object called `command`."""

# What these groups hold besides declared commands; a test holds it equal to the groups themselves.
_SUBCOMMANDS = {
    "config": ("list", "path", "set", "unset"),
    "plan": ("clear", "list", "use"),
    "plugins": ("list", "show"),
    "project": ("check", "list", "register", "show", "unregister"),
    "state": ("append", "list", "path", "write"),
    "store": ("add", "forget", "list", "remove", "show"),
}


KERNEL_COMMANDS = frozenset({*GROUPS, *(command.path[0] for command in COMMANDS)})
"""The names that no plugin can take."""


def kernel_subcommands(group: str) -> frozenset[str]:
    """The same below `group`; nothing if that is no group of the kernel."""
    declared = (command.path[1] for command in COMMANDS if command.path[0] == group and len(command.path) > 1)
    return frozenset({*_SUBCOMMANDS.get(group, ()), *declared})


def misplaced(name: str) -> tuple[str, str] | None:
    """Why no command of a plugin can have this name, as state and reason; `None` if it can."""
    group, _, last = name.rpartition(" ")
    own = kernel_subcommands(group) if group else KERNEL_COMMANDS
    if not own:
        return "unknown", f"the kernel has no group of commands '{group}'"
    return ("conflict", "the kernel has a command of that name") if last in own else None


LIMITED = frozenset(
    {
        "state-path",
        "state read",
        "state list",
        "state path",
        "store list",
        "store show",
        "project list",
        "project show",
    }
)
"""Commands that only look something up: they end with an error rather than wait for a store that hangs."""


# ------------------------------------------------------------------------------------------------ what they do


def config_get(device: Device, key: str, json: bool) -> int:
    """Print the value of `key`; 1 and, but for JSON, not a word if it is not set."""
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


def state_path(device: Device, which: str, cwd: str | None, plan: str | None) -> None:
    from agentm_kernel.state.plans import active_plan_path

    show_text(active_plan_path(device.project(cwd), which, plan) + "\n")


def state_read(device: Device, file: str, json: bool, cwd: str | None) -> None:
    from agentm_kernel.state.files import find_state_file

    project = device.project(cwd)
    text = find_state_file(project, file)
    if text is None:
        from agentm_kernel.cli.session_text import left_behind

        hint = left_behind(project, file) or "`agentm state list` shows what there is"
        raise NotFoundError(f"there is no state file {file} here", hint=hint)
    if json:
        from agentm_kernel.seam.content import content_hash

        text = json_text(file=file, hash=content_hash(text), text=text)
    show_text(text)


def recall_here(
    device: Device, cwd: str | None, phase: str | None, query: str | None, limit: str | None, why: str | None
) -> None:
    from agentm_kernel.process_seam import recall_here as recall, why_here

    if why is not None:
        show_text(why_here(device, why, cwd, phase, query, _positive(limit)))
    else:
        show_text(recall(_context(cwd=cwd, phase=phase), query=query, limit=_positive(limit), device=device))


def offer_save_here(
    device: Device,
    kind: str,
    slug: str,
    body_file: str | None,
    cwd: str | None,
    phase: str | None,
    confidence: str | None,
    confidence_reason: str | None,
) -> None:
    import json

    from agentm_kernel.process_seam import offer_save_here as offer

    candidate = _context(kind=kind, slug=slug, confidence=confidence, confidence_reason=confidence_reason)
    if body_file is not None:
        candidate["body"] = read_text(body_file)
    offers = offer(_context(cwd=cwd, phase=phase), candidate, device=device)
    write_text(json.dumps(offers, indent=2, ensure_ascii=False) + "\n")


def _context(**given: str | None) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def _positive(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) == 0:
        raise UsageError(
            f"--limit takes a positive number of tokens, not {text!r}", hint="run `agentm recall-here --help`"
        )
    return int(text)
