"""Hook-class commands, declared once.

The tiny parser in `hot` serves their plain spellings without click; click serves the rest (help, completion, odd
spellings, usage errors) from the same declaration and calls the same function. So there is one code path.
"""

from __future__ import annotations


class Parameter:
    """One argument (`which`) or option (`--cwd`) of a declared command."""

    __slots__ = ("choices", "flag", "help", "metavar", "multiple", "name", "required")

    def __init__(
        self,
        name: str,
        help: str = "",  # noqa: A002 - click's word for it
        *,
        choices: tuple[str, ...] = (),
        flag: bool = False,
        required: bool = False,
        multiple: bool = False,
        metavar: str | None = None,
    ) -> None:
        self.name = name
        self.help = help
        self.choices = choices
        self.flag = flag
        self.required = required
        self.multiple = multiple
        self.metavar = metavar

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

    def __init__(self, path: str, target: str, help: str, *parameters: Parameter) -> None:  # noqa: A002
        self.path = tuple(path.split())
        self.target = target
        self.help = help
        self.parameters = parameters

    def run(self, values: dict[str, object]) -> int:
        """Do the work; the function writes its own output and returns the exit code, `None` for 0."""
        module, _, name = self.target.partition(":")
        function = getattr(__import__(f"agentm_kernel.{module}", fromlist=[name]), name)
        return function(**values) or 0


_CWD = Parameter("--cwd", "Directory of the project; the current one if not given.", metavar="DIR")
_JSON = Parameter("--json", "Answer in JSON.", flag=True)

COMMANDS = (
    DeclaredCommand(
        "config get",
        "cli.config_get:config_get",
        "Print one configuration value; exit 1 if it is not set.",
        Parameter("key"),
        _JSON,
    ),
    DeclaredCommand(
        "state-path",
        "cli.hook_verbs:state_path",
        "Print where the active plan or its progress file lives.",
        Parameter("which", choices=("plan", "progress")),
        _CWD,
        Parameter("--plan", "A named plan instead of the active one.", metavar="NAME"),
    ),
    DeclaredCommand(
        "recall-here",
        "cli.hook_verbs:recall_here",
        "Print what memory holds for this project and phase; nothing if there is nothing.",
        _CWD,
        Parameter("--phase", "Phase of the work; any other word counts as work.", metavar="PHASE"),
        Parameter("--query", "Words to look for.", metavar="TEXT"),
        Parameter("--limit", "Budget in tokens.", metavar="N"),
    ),
    DeclaredCommand(
        "offer-save-here",
        "cli.hook_verbs:offer_save_here",
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
        "event",
        "cli.hook_verbs:event",
        "Tell plugins that something happened in the agent's life: turn-start, turn-end, workspace-open …",
        Parameter("name"),
        _CWD,
    ),
    DeclaredCommand(
        "hook session-start",
        "cli.hook_verbs:session_start",
        "Answer an agent host's session-start hook: JSON on standard input, context on standard output. Exits 0.",
        Parameter(
            "--host",
            "Whose output format to use.",
            choices=("claude-code", "codex", "gemini", "cursor", "plain"),
        ),
    ),
)
