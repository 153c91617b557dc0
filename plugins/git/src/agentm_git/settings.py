"""What the options say about one clone, checked. Hooks open stores, so this stays small."""

from __future__ import annotations

from agentm_kernel.plugin import MAX_CONTENT_BYTES, Frozen, StorageSelectionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PROTOCOL = "git"

REBASE = "rebase"
MERGE = "merge"
ABORT = "abort"
MANUAL = "manual"
LAST_WRITER_WINS = "last-writer-wins"
SPLIT_CONFLICTS = "split-conflicts"

CONFLICTS = (REBASE, MERGE, ABORT, MANUAL, LAST_WRITER_WINS, SPLIT_CONFLICTS)

_CHOICES = {
    "conflict": CONFLICTS,
    "branch_policy": ("main", "per-turn", "per-conversation"),
    "pr_policy": ("none", "manual", "auto"),
    "commit": ("event", "write"),
}
_TEXTS = ("root", "remote", "branch", "name", "email", "token_env", "username")
_COMMANDS = ("credential_command", "pr_command")
_NUMBERS = ("deadline", "pull_ttl", "size_limit")


class Settings(Frozen):
    """One clone, its origin, and the rules between the two."""

    __slots__ = (
        "remote",
        "branch",
        "conflict",
        "branch_policy",
        "pr_policy",
        "commit",
        "name",
        "email",
        "token_env",
        "username",
        "credential_command",
        "pr_command",
        "deadline",
        "pull_ttl",
        "installation_id",
        "sparse",
    )
    remote: str
    """The address of the origin; empty where there is none."""
    branch: str
    conflict: str
    branch_policy: str
    pr_policy: str
    commit: str
    """`write` for a commit after every write, `event` for one when an event or a command says so."""
    name: str
    email: str
    token_env: str
    """The environment variable that holds the token; its value is in no option."""
    username: str
    """What goes with a token where the server wants a name; most take any."""
    credential_command: tuple[str, ...]
    """Prints a token."""
    pr_command: tuple[str, ...]
    """Opens a pull request and prints its address."""
    deadline: float
    """Seconds for a whole pull or push."""
    pull_ttl: float
    """Seconds for which events take what was pulled for good enough."""
    installation_id: str
    sparse: tuple[str, ...]
    """Only these paths are brought into the folder; empty for all."""

    def __init__(self, **given: Any) -> None:
        values = {**_DEFAULTS, **given}
        for name, choices in _CHOICES.items():
            if values[name] not in choices:
                raise StorageSelectionError(
                    f"plugins.{PROTOCOL}.{name} is {ascii(values[name])}", hint=f"it is one of {', '.join(choices)}"
                )
        _check_branch(values["branch"])
        _check_remote(values["remote"])
        self._set(**values)


_DEFAULTS: dict[str, Any] = {
    "remote": "",
    "branch": "main",
    "conflict": REBASE,
    "branch_policy": "main",
    "pr_policy": "none",
    "commit": "event",
    "name": "",
    "email": "",
    "token_env": "",
    "username": "x-access-token",
    "credential_command": (),
    "pr_command": (),
    "deadline": 60.0,
    "pull_ttl": 60.0,
    "installation_id": "",
    "sparse": (),
}


def parse_options(options: Mapping[str, Any]) -> tuple[str, Settings, int]:
    """Root, settings and size limit of what the configuration has below `plugins.git`."""
    if options.keys() - {"root", "remote"}:  # as often: then hooks need not load the declarations
        from agentm_git.options import OPTIONS
        from agentm_kernel.plugin import check_options

        check_options(PROTOCOL, options, OPTIONS)
    given = {name: value for name, value in options.items() if value not in ("", None)}  # empty is as good as not set
    texts = {name: _text(name, given[name]) for name in (*_TEXTS, *_CHOICES) if name in given}
    commands = {name: _words(name, given[name]) for name in _COMMANDS if name in given}
    numbers = {name: _number(name, given[name]) for name in _NUMBERS if name in given}
    size_limit = int(numbers.pop("size_limit", MAX_CONTENT_BYTES))
    return texts.pop("root", ""), Settings(**texts, **commands, **numbers), size_limit


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise StorageSelectionError(f"plugins.{PROTOCOL}.{name} must be text, not {type(value).__name__}")
    return value


def _words(name: str, value: object) -> tuple[str, ...]:
    """A command as a list of words, or as one line in the shell's quoting. No shell ever sees it."""
    if isinstance(value, str):
        import shlex

        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise StorageSelectionError(f"plugins.{PROTOCOL}.{name} cannot be read: {error}") from None
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return tuple(value)
    raise StorageSelectionError(f"plugins.{PROTOCOL}.{name} must be a command: a text or a list of texts")


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 < number < float("inf"):
        raise StorageSelectionError(f"plugins.{PROTOCOL}.{name} must be a positive number")
    return number


# ------------------------------------------------------------------------------------------------ names that git gets


_NOT_IN_BRANCHES = frozenset(" ~^:?*[\\\x7f") | frozenset(map(chr, range(32)))


def _check_branch(branch: str) -> None:
    """Git's own rules for the name of a branch, and none that could be taken for an option."""
    parts = branch.split("/")
    is_odd = (
        not branch
        or branch.startswith("-")
        or branch in ("HEAD", "@")
        or ".." in branch
        or "@{" in branch
        or branch.endswith(".")
        or not _NOT_IN_BRANCHES.isdisjoint(branch)
        or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
    )
    if is_odd:
        raise StorageSelectionError(
            f"plugins.{PROTOCOL}.branch is {ascii(branch)}, which is no name of a branch",
            hint=f"run `agentm config set plugins.{PROTOCOL}.branch main`",
        )


_SCHEMES = ("https://", "http://", "ssh://", "git://", "file://")


def _check_remote(remote: str) -> None:
    """An address that git fetches from and does not run: no remote helper, no option, no password in it."""
    if not remote:
        return
    is_scp_like = "://" not in remote and "::" not in remote and ":" in remote.partition("/")[0]
    is_known = is_scp_like or remote.startswith((*_SCHEMES, "/"))  # a drive of Windows looks like a host
    if remote.startswith("-") or not is_known or not remote.isprintable():
        raise StorageSelectionError(
            f"the remote {ascii(_without_user(remote))} is not an address that agentm uses",
            hint="give an https://, ssh://, git:// or file:// address, user@host:path, or a full path",
        )
    host = remote.partition("://")[2].partition("/")[0]
    user = host.rpartition("@")[0]
    if ":" in user or (user and remote.startswith("http")):
        raise StorageSelectionError(
            f"the remote {_without_user(remote)} carries a name or a password, which would end up in files",
            hint=f"give the address without it, and name the variable with the token in plugins.{PROTOCOL}.token_env",
        )


def _without_user(remote: str) -> str:
    scheme, separator, rest = remote.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else remote
