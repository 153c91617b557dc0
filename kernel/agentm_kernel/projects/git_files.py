"""A git repository as its files show it, and the address of its `origin`.

Hooks ask on every run, so its configuration is read here as far as it is plain, which is how git itself writes it: a
section, a setting or a comment on each line. At the first line that is not, and that could matter, git is asked
instead. A test holds the answers equal to `git config`'s.
"""

from __future__ import annotations

import os
import stat

from agentm_kernel import errors
from agentm_kernel.projects import is_work_tree, read_checkout_file, upward
from agentm_kernel.seam import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ORIGIN_URL = "remote.origin.url"
_WORKTREE_CONFIG = "extensions.worktreeconfig"
_INCLUDE, _INCLUDE_IF = "include.path", "includeif."
_SECTIONS, _NAMES = ("remote.origin.", "extensions.", "include."), ("url", "worktreeconfig", "path")
_FALSE = ("", "false", "no", "off", "0")
_DEEPEST_INCLUDE = 10  # git's own limit

_BLANKS = " \t\r"
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_SECTION = _NAME | {"."}
_SPECIAL = frozenset('"\\#;')
_ESCAPES = ("\\\\", '\\"', "\\n", "\\t", "\\b")


class Repository(Frozen):
    """The repository of one work tree: a plain one, a linked worktree, a submodule, one with its files elsewhere."""

    work_tree: str
    git_dir: str
    common_dir: str
    """Where linked worktrees share their configuration; `git_dir` itself for all others."""

    @property
    def home(self) -> str:
        """The directory that the repository is known by: from a linked worktree, that of the main one.

        Without a remote it gives the project its name and identity, so a worktree must not have another.
        """
        if self.common_dir == self.git_dir:
            return self.work_tree
        parent, name = os.path.split(self.common_dir)
        return parent if name.startswith(".") else self.common_dir

    def origin_url(self) -> str | None:
        """The address that git fetches `origin` from, as it is written: no `insteadOf` applied; `None` if none."""
        try:
            settings = list(_settings(f"{self.common_dir}{os.sep}config"))
            own = [value for name, value in settings if name == _WORKTREE_CONFIG]
            if own and own[-1].lower() not in _FALSE:
                settings += _settings(os.path.join(self.git_dir, "config.worktree"))
            urls = [value for name, value in settings if name == _ORIGIN_URL]
        except _AskGit:
            urls = origin_urls(self)
        return next(filter(None, urls), None)


def find_repository(directory: str) -> Repository | None:
    """The repository whose work tree holds `directory`, found upward as git does; `None` outside of one."""
    for work_tree in upward(directory):
        if is_work_tree(work_tree):
            break
    else:
        return None
    entry = f"{work_tree.rstrip(os.sep)}{os.sep}.git"
    try:
        if stat.S_ISDIR(os.lstat(entry).st_mode):
            return Repository(work_tree, entry, entry)
    except OSError:
        pass  # it was there just now: what follows says what is wrong with it
    git_dir = entry if os.path.isdir(entry) else _pointed_to(work_tree, entry)
    shared = read_checkout_file(os.path.join(git_dir, "commondir"))
    return Repository(work_tree, git_dir, git_dir if shared is None else _joined(git_dir, shared))


def _pointed_to(work_tree: str, entry: str) -> str:
    """What a `.git` that is a file leads to."""
    pointer = read_checkout_file(entry) or b""
    if not pointer.startswith(b"gitdir: "):
        hint = "git cannot use it either: remove it, or restore the repository"
        raise errors.ConfigError(f"{entry} is a file but does not point to a git repository", hint=hint)
    git_dir = _joined(work_tree, pointer.removeprefix(b"gitdir: "))
    if not os.path.isdir(git_dir):
        raise errors.ConfigError(
            f"{entry} points to {git_dir}, which is not there",
            hint="make that repository available here (a container may not mount it) or run `git worktree repair` in "
            "it; or name the project with `vault_project` in .harness/project.json",
        )
    return git_dir


def _joined(folder: str, line: bytes) -> str:
    return os.path.normpath(os.path.join(folder, os.fsdecode(line.rstrip(b"\r\n"))))


class _AskGit(Exception):
    """The files alone do not tell: a line is not plain, or a condition decides that only git can judge."""


def _settings(path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The settings of a file that matter here, and those about the origin of the files that it includes."""
    for name, value in _watched(path):
        if name == _ORIGIN_URL:
            yield name, _checked_url(value, path)
        elif name == _WORKTREE_CONFIG and not depth:
            yield name, "true" if value is None else value
        elif name == _INCLUDE:
            yield from _settings(_included(value, path, depth), depth + 1)
        elif name.startswith(_INCLUDE_IF) and name.endswith(".path"):
            for _ in _settings(_included(value, path, depth), depth + 1):
                raise _AskGit  # the condition decides about the answer


def _watched(path: str) -> Iterator[tuple[str, str | None]]:
    """Every setting that may matter, in order; a name alone, without `=`, has the value `None`."""
    text = (read_checkout_file(path) or b"").decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    section, is_watched = "", False
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(_BLANKS)
        first = line[:1]
        if not first or first in "#;":
            continue
        if first == "[" and "]" in line:
            section = _section(line)
            is_watched = section in _SECTIONS or section.startswith(_INCLUDE_IF)
            continue
        name, equals, value = line.partition("=")
        name = name.rstrip(" \t")
        if not (first.isalpha() and _NAME.issuperset(name)):
            hint = "git cannot read it either: `git config --list` says the same; correct that line"
            raise errors.ConfigError(f"{path}: line {number} is not valid git configuration", hint=hint)
        matters = is_watched and name.lower() in _NAMES
        if not _SPECIAL.isdisjoint(value) and (matters or not _is_sound(value)):
            raise _AskGit
        if matters:
            yield f"{section}{name.lower()}", value.strip(_BLANKS) if equals else None


def _section(header: str) -> str:
    """How the names below `[section]` or `[section "part"]` begin: `section.`, `section.part.`."""
    base, is_parted, rest = header[1:-1].partition(' "')
    part, is_closed, more = rest.partition('"')
    is_plain = bool(base) and _SECTION.issuperset(base) and "\\" not in part and bool(is_parted) == bool(is_closed)
    if header[-1] != "]" or more or not is_plain:
        raise _AskGit
    return f"{base.lower()}.{part}." if is_parted else f"{base.lower()}."


def _is_sound(value: str) -> bool:
    """Whether a value with quotes or escapes ends with its line and is one that git takes, whatever it says."""
    for escape in _ESCAPES:  # the escaped backslash first: what follows it is not escaped
        value = value.replace(escape, "")
    return "\\" not in value and value.count('"') % 2 == 0


def _included(value: str | None, path: str, depth: int) -> str:
    if depth == _DEEPEST_INCLUDE:
        raise errors.ConfigError(
            f"{path}: files include each other more than {_DEEPEST_INCLUDE} levels deep",
            hint="git cannot read it either: remove the include that leads back",
        )
    if value is None or value.startswith("%(prefix)/"):
        raise _AskGit
    return os.path.join(os.path.dirname(path), os.path.expanduser(value) if value.startswith("~") else value)


def _checked_url(value: str | None, path: str) -> str:
    try:
        if value is not None:
            value.encode()
            return value
        why = "has no value"
    except UnicodeEncodeError:
        why = "is not UTF-8 text"
    raise errors.ConfigError(f"{path}: {_ORIGIN_URL} {why}", hint="run `git remote set-url origin URL`")


_LIMIT_SECONDS = 1.0
_OWN = ("local", "worktree")
# Of git's own variables only those that say which configuration to trust: the others could redirect it elsewhere.
_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH")


def origin_urls(repository: Repository) -> list[str]:
    """Every address of `origin` in the repository's own configuration, as git says it and in its order."""
    fields = ask_git(repository, "config", "--null", "--show-scope", "--includes", "--list").split("\0")[:-1]
    entries = [entry.partition("\n") for scope, entry in zip(fields[::2], fields[1::2], strict=True) if scope in _OWN]
    urls = [value if has_value else None for name, has_value, value in entries if name == _ORIGIN_URL]
    return [_checked_url(url, repository.work_tree) for url in urls]


def ask_git(repository: Repository, *arguments: str) -> str:
    """What git prints; nothing where it has nothing to say.

    Git is told where the repository is: where it has to search, it passes over another user's without a word.
    """
    import subprocess

    place = (f"--git-dir={repository.git_dir}", f"--work-tree={repository.work_tree}")
    command = ["git", "--no-pager", *place, *arguments]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, and no shell
            command, check=False, capture_output=True, stdin=subprocess.DEVNULL, env=environ, timeout=_LIMIT_SECONDS
        )
        if done.returncode in (0, 1):  # one is git's way to say that there is no such setting
            return done.stdout.decode()
        reason = (
            done.stderr.decode(errors="replace").strip().partition("\n")[0] or f"git ended with {done.returncode}"
        )
    except FileNotFoundError:
        reason = "the `git` command is not installed"
    except subprocess.TimeoutExpired:
        reason = f"git did not answer within {_LIMIT_SECONDS:g} s"
    except OSError as error:
        reason = f"git cannot be started: {error.strerror}"
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    raise errors.ConfigError(
        f"the remote of {repository.work_tree} cannot be found out: {reason}",
        hint="its git configuration is not plain enough to be read without git (an include on a condition, a value "
        "in quotes); correct it, or name the project with `vault_project` in .harness/project.json",
    )
