"""A git repository as its files show it, and the address of its `origin`; git is started only as a last resort.

Its configuration is read as git reads it, line by line, because hooks read one on every run: most lines have neither
quotes, escapes nor comments and cost a few string operations. A test holds the answers equal to `git config`'s.
"""

from __future__ import annotations

import os

from agentm_kernel.errors import ConfigError
from agentm_kernel.projects import GIT_ENTRY, is_work_tree, read_checkout_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANKS = " \t\r"
_COMMENTS = ("#", ";")
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}
_FALSE = ("", "false", "no", "off", "0")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_SECTION = _NAME | {"."}


class BadGitConfig(ValueError):
    """A line that git would not accept either; `line` counts from one."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line} is not valid git configuration")
        self.line = line


def parse_git_config(text: str) -> Iterator[tuple[str, str | None]]:
    """Each setting in order: its full name, such as `remote.origin.url`, and its value.

    A name alone, without `=`, has the value `None`: git reads it as true.
    """
    lines = _Lines(text)
    section = ""
    while lines.has_more():
        rest = lines.next().lstrip(_BLANKS)
        while rest.startswith("["):
            section, rest = _header(rest, lines.number)
        if rest and not rest.startswith(_COMMENTS):
            name, equals, rest = rest.partition("=")
            name = _checked_name(name.rstrip(" \t"), lines.number)
            yield f"{section}{name}", _value(rest, lines) if equals else None


def is_true(value: str | None) -> bool:
    """How git reads a setting that is either on or off."""
    return value is None or value.lower() not in _FALSE


class _Lines:
    """The lines of a text, and the number of the last one given out."""

    __slots__ = ("_lines", "number")

    def __init__(self, text: str) -> None:
        self._lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        self.number = 0

    def has_more(self) -> bool:
        return self.number < len(self._lines)

    def next(self) -> str:
        """The next line; after the last one, empty ones for ever, as git sees the end of a file."""
        self.number += 1
        return self._lines[self.number - 1] if self.number <= len(self._lines) else ""


def _checked_name(name: str, line: int) -> str:
    if not (name[:1].isalpha() and _NAME.issuperset(name)):
        raise BadGitConfig(line)
    return name.lower()


def _header(text: str, line: int) -> tuple[str, str]:
    """`[section]`, `[section "subsection"]` or `[section.subsection]`: the prefix of its names, and what follows."""
    base, bracket, rest = text[1:].partition("]")
    if bracket and base and _SECTION.issuperset(base):
        return f"{base.lower()}.", rest.lstrip(_BLANKS)
    length = next((index for index, character in enumerate(base) if character not in _SECTION), 0)
    if text[length + 1 : length + 2] not in (" ", "\t", "\r"):
        raise BadGitConfig(line)
    subsection, rest = _subsection(text[length + 1 :].lstrip(_BLANKS), line)
    return f"{base[:length].lower()}.{subsection}.", rest.lstrip(_BLANKS)


def _subsection(text: str, line: int) -> tuple[str, str]:
    """`"name"]`, in which a backslash protects the next character: the name, and what follows."""
    found: list[str] = []
    index = 1 if text.startswith('"') else len(text)
    while index < len(text):
        character = text[index]
        if character == '"' and text[index + 1 : index + 2] == "]":
            return "".join(found), text[index + 2 :]
        if character == "\\":
            index += 1
            character = text[index : index + 1]
        elif character == '"':
            break
        found.append(character)
        index += 1
    raise BadGitConfig(line)


def _value(text: str, lines: _Lines) -> str:
    if not ('"' in text or "\\" in text or "#" in text or ";" in text):
        return text.strip(_BLANKS)
    return _quoted_value(text, lines)


def _quoted_value(text: str, lines: _Lines) -> str:
    """A value with quotes, escapes, a comment behind it or continued on the next line.

    Blanks at both ends go unless quotes protect them: `end` is where the value ends if only blanks follow.
    """
    found: list[str] = []
    end = index = 0
    is_quoted = False
    while index < len(text):
        character = text[index]
        index += 1
        if character == '"':
            is_quoted = not is_quoted
            end = len(found)
            continue
        if not is_quoted and character in _COMMENTS:
            break
        if not is_quoted and character in _BLANKS:
            if found:
                found.append(character)
            continue
        if character == "\\":
            if index == len(text):
                text, index, end = lines.next(), 0, len(found)
                continue
            character = _escaped(text[index], lines.number)
            index += 1
        found.append(character)
        end = len(found)
    if is_quoted:
        raise BadGitConfig(lines.number)
    return "".join(found[:end])


def _escaped(character: str, line: int) -> str:
    try:
        return _ESCAPES[character]
    except KeyError:
        raise BadGitConfig(line) from None


_ORIGIN_URL = "remote.origin.url"
_WORKTREE_CONFIG = "extensions.worktreeconfig"
_DEEPEST_INCLUDE = 10  # git's own limit


class Repository:
    """The repository of one work tree: a plain one, a linked worktree, a submodule, one with its files elsewhere."""

    __slots__ = ("common_dir", "git_dir", "work_tree")

    def __init__(self, work_tree: str, git_dir: str, common_dir: str) -> None:
        self.work_tree = work_tree
        self.git_dir = git_dir
        self.common_dir = common_dir
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
            urls = [url for url in self._origin_urls() if url]
        except _AskGit:
            urls = origin_urls(self.work_tree)
        return urls[0] if urls else None

    def _origin_urls(self) -> Iterator[str]:
        config = os.path.join(self.common_dir, "config")
        has_own = False
        for name, value, file in _settings(config):
            if name == _ORIGIN_URL:
                yield _checked_url(value, file)
            elif name == _WORKTREE_CONFIG and file == config:
                has_own = is_true(value)
        if has_own:
            for name, value, file in _settings(os.path.join(self.git_dir, "config.worktree")):
                if name == _ORIGIN_URL:
                    yield _checked_url(value, file)


def find_repository(directory: str) -> Repository | None:
    """The repository whose work tree holds `directory`, found upward as git does; `None` outside of one."""
    while not is_work_tree(directory):
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent
    git_dir = os.path.join(directory, GIT_ENTRY)
    if os.path.isdir(git_dir) and not os.path.islink(git_dir):
        return Repository(directory, git_dir, git_dir)
    git_dir = _git_dir(directory)
    return Repository(directory, git_dir, _common_dir(git_dir))


def _git_dir(work_tree: str) -> str:
    """What a `.git` that is a file or a link leads to."""
    entry = os.path.join(work_tree, GIT_ENTRY)
    if os.path.isdir(entry):
        return entry
    pointer = read_checkout_file(entry) or b""
    if not pointer.startswith(b"gitdir: "):
        raise ConfigError(
            f"{entry} is a file but does not point to a git repository",
            hint="git cannot use it either: remove it, or restore the repository",
        )
    git_dir = os.path.normpath(os.path.join(work_tree, _path_in(pointer.removeprefix(b"gitdir: "))))
    if not os.path.isdir(git_dir):
        raise ConfigError(
            f"{entry} points to {git_dir}, which is not there",
            hint="make that repository available here (a container may not mount it) or run `git worktree repair` in "
            "it; or name the project with `vault_project` in .harness/project.json",
        )
    return git_dir


def _common_dir(git_dir: str) -> str:
    shared = read_checkout_file(os.path.join(git_dir, "commondir"))
    return git_dir if shared is None else os.path.normpath(os.path.join(git_dir, _path_in(shared)))


def _path_in(line: bytes) -> str:
    return os.fsdecode(line.rstrip(b"\r\n"))


# ------------------------------------------------------------------------------------------------ configuration


class _AskGit(Exception):
    """The files alone do not tell: a condition that only git can judge decides about the answer."""


def _settings(path: str, depth: int = 0) -> Iterator[tuple[str, str | None, str]]:
    """Every setting of a configuration file with the file it stands in; included files where they are named."""
    data = read_checkout_file(path)
    if data is None:
        return
    try:
        # Only the address must be UTF-8: a name in an old encoding elsewhere in the file is none of our business.
        for name, value in parse_git_config(data.decode("utf-8", "surrogateescape")):
            if name == "include.path" and value is not None:
                yield from _included(value, path, depth)
            elif name.startswith("includeif.") and name.endswith(".path") and value is not None:
                if any(included[0] == _ORIGIN_URL for included in _included(value, path, depth)):
                    raise _AskGit
            else:
                yield name, value, path
    except BadGitConfig as error:
        raise ConfigError(
            f"{path}: {error}", hint="git cannot read it either: `git config --list` says the same; correct that line"
        ) from error


def _included(value: str, path: str, depth: int) -> Iterator[tuple[str, str | None, str]]:
    if depth == _DEEPEST_INCLUDE:
        raise ConfigError(
            f"{path}: files include each other more than {_DEEPEST_INCLUDE} levels deep",
            hint="git cannot read it either: remove the include that leads back",
        )
    if value.startswith("%(prefix)/"):
        raise _AskGit
    included = os.path.join(os.path.dirname(path), os.path.expanduser(value) if value.startswith("~") else value)
    return _settings(included, depth + 1)


def _checked_url(value: str | None, path: str) -> str:
    if value is None:
        raise ConfigError(f"{path}: {_ORIGIN_URL} has no value", hint="run `git remote set-url origin URL`")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ConfigError(
                f"{path}: {_ORIGIN_URL} is not UTF-8 text", hint="run `git remote set-url origin URL`"
            ) from None
    return value


# ------------------------------------------------------------------------------------------------ the git command


_LIMIT_SECONDS = 1.0
_OF_THE_REPOSITORY = ("local", "worktree")
# Of git's own variables only those that say which configuration to trust: the others could redirect it elsewhere.
_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH")


def origin_urls(work_tree: str) -> list[str]:
    """Every address of `origin` in the repository's own configuration, in git's order.

    For the few configurations that the files alone do not settle: conditional includes.
    """
    answer = _run(work_tree, "config", "--null", "--show-scope", "--includes", "--get-all", "remote.origin.url")
    fields = answer.split("\0")[:-1]
    return [url for scope, url in zip(fields[::2], fields[1::2], strict=True) if scope in _OF_THE_REPOSITORY and url]


def _run(work_tree: str, *arguments: str) -> str:
    import subprocess

    command = ["git", "--no-pager", "-C", work_tree, *arguments]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, and no shell
            command, check=False, capture_output=True, stdin=subprocess.DEVNULL, env=environ, timeout=_LIMIT_SECONDS
        )
    except FileNotFoundError:
        raise _refusal(work_tree, "the `git` command is not installed") from None
    except subprocess.TimeoutExpired:
        raise _refusal(work_tree, f"git did not answer within {_LIMIT_SECONDS:g} s") from None
    except OSError as error:
        raise _refusal(work_tree, f"git cannot be started: {error.strerror}") from error
    if done.returncode == 1:
        return ""  # git's way to say that there is no such setting
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise _refusal(work_tree, reason or f"git ended with {done.returncode}")
    try:
        return done.stdout.decode()
    except UnicodeDecodeError:
        raise _refusal(work_tree, "it is not UTF-8 text") from None


def _refusal(work_tree: str, reason: str) -> ConfigError:
    return ConfigError(
        f"the remote of {work_tree} cannot be found out: {reason}",
        hint="its git configuration includes files on a condition, so git has to be asked; "
        "or name the project with `vault_project` in .harness/project.json",
    )
