"""The only place that starts git.

Every call gets an environment made for it: nothing of the user's or the system's configuration, no variable of git's
own, and everything that could run another program switched off. The git directory that git sees is private to agentm
(see `private_dir`), so hooks, filters, drivers and settings in the clone's own `.git` are not even read. Every call
has a deadline, after which its whole process group is ended, and its error output becomes a typed error.

Why the command and not libgit2: `tests/benchmarks git_engines` has both. libgit2 commits in a third of the time once
it is imported, but importing it costs each command and event four times as much as starting git does; pushes over a
network take the same. And a call that hangs or breaks can be ended with its process, which a library's cannot.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

from agentm_kernel.plugin import StorageIOError, StorageSelectionError, one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

OLDEST = (2, 38)
"""The first git with `merge-tree --write-tree`. What makes the environment safe is older (2.31)."""

LOCAL_LIMIT = 60.0
"""Seconds for a step that uses no network: far more than it needs, so only what hangs is ended."""

_KEPT = ("GIT_EXEC_PATH",)  # where a git that was moved finds its parts; as trustworthy as PATH
_DROPPED = ("SSH_ASKPASS", "DISPLAY", "EDITOR", "VISUAL", "PAGER", "PREFIX")
_PROTOCOLS = ("https", "http", "ssh", "git", "file")

_NO_FILE = os.devnull
_SETTINGS = {
    # nothing of the repository's is run
    "core.hooksPath": _NO_FILE,
    "core.fsmonitor": "false",
    "core.attributesFile": _NO_FILE,
    "core.editor": ":",
    "core.pager": "cat",
    "core.askPass": "",
    "core.gitProxy": "",
    "credential.helper": "",
    "credential.interactive": "false",
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
    "diff.external": "",
    "protocol.allow": "never",
    **{f"protocol.{name}.allow": "always" for name in _PROTOCOLS},
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "no",
    "push.recurseSubmodules": "no",
    # nothing in a tree leads out of it
    "core.symlinks": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "transfer.fsckObjects": "true",
    "fetch.fsckObjects": "true",
    # bytes stay bytes, and what was committed survives a power cut
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.fileMode": "false",
    "core.quotePath": "false",
    "core.excludesFile": _NO_FILE,
    "core.fsync": "committed,loose-object",
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    "core.sparseCheckout": "false",
    "core.commitGraph": "false",
    # nothing happens behind our back, and results do not depend on taste
    "gc.auto": "0",
    "maintenance.auto": "false",
    "fetch.writeCommitGraph": "false",
    "merge.renames": "false",
    "merge.directoryRenames": "false",
    "diff.renames": "false",
    "status.renames": "false",
    "push.followTags": "false",
    "http.followRedirects": "initial",
    "http.sslVerify": "true",
    "user.useConfigOnly": "true",
    "i18n.commitEncoding": "utf-8",
    "i18n.logOutputEncoding": "utf-8",
}


class GitFailed(StorageIOError):
    """Git ended with an error. `status` is its exit code, `said` its own words, without anything secret, and `output`
    what it printed before.
    """

    def __init__(self, message: str, status: int = 0, said: str = "", output: bytes = b"") -> None:
        super().__init__(message, errno=errno.EIO)
        self.status = status
        self.said = said
        self.output = output


class _Held(threading.local):
    def __init__(self) -> None:
        self.locks: list[int] = []


class Git:
    """Git on one clone. `locks` are descriptors that every child inherits: while it lives, the locks are held."""

    def __init__(self, git_dir: str, work_tree: str, objects: str, environ: Mapping[str, str]) -> None:
        self._environ = _clean(environ) | {
            "GIT_DIR": git_dir,
            "GIT_WORK_TREE": work_tree,
            "GIT_OBJECT_DIRECTORY": objects,
            "GIT_INDEX_FILE": os.path.join(git_dir, "index"),
        }
        self._environ |= _as_environ(_SETTINGS)
        self._work_tree = work_tree
        self._held = _Held()

    @property
    def locks(self) -> list[int]:
        """The locks of this thread: another one may give its own back at any time."""
        return self._held.locks

    def with_index(self, index: str) -> Git:
        """The same, on another index file."""
        other = Git.__new__(Git)
        other._environ = {**self._environ, "GIT_INDEX_FILE": index}  # noqa: SLF001 - of our own kind
        other._work_tree = self._work_tree  # noqa: SLF001
        other._held = self._held  # noqa: SLF001
        return other

    def text(self, *arguments: str, **options: object) -> str:
        """What git prints, without the line's end."""
        return self.run(*arguments, **options).decode().rstrip("\n")  # type: ignore[arg-type]

    def fields(self, *arguments: str, **options: object) -> list[str]:
        """What git prints between NUL characters. Names that are no text keep their bytes as surrogates."""
        return os.fsdecode(self.run(*arguments, **options)).split("\0")[:-1]  # type: ignore[arg-type]

    def run(
        self,
        *arguments: str,
        data: bytes | None = None,
        good: Collection[int] = (0,),
        settings: Mapping[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
        limit: float = LOCAL_LIMIT,
    ) -> bytes:
        """What git prints; `GitFailed` if it ends with another code than the `good` ones.

        `settings` are more of git's configuration, given in the environment: they are in no file and no process
        list. `extra` are more variables; `secrets` are taken out of whatever git says.
        """
        check_version(self._environ)
        told = _as_environ(settings, after=len(_SETTINGS)) if settings else {}
        environ = {**self._environ, **told, **(extra or {})}
        command = ["git", "--no-pager", "--literal-pathspecs", *arguments]
        status, output, said = run_bounded(command, environ, self._work_tree, data, limit, self.locks)
        if status not in good:
            words = _without(said, secrets)
            why = _gist(words) or f"it ended with {status}"
            raise GitFailed(f"git {arguments[0]} failed: {why}", status, words, output)
        return output


def make_repository(path: str, branch: str, environ: Mapping[str, str]) -> None:
    """An empty repository at `path`, without anything from a template."""
    clean = _clean(environ)
    check_version(clean)
    command = ["git", "init", "--quiet", "--template=", f"--initial-branch={branch}", "--", path]
    status, _, said = run_bounded(
        command, {**clean, **_as_environ(_SETTINGS)}, os.path.dirname(path), None, LOCAL_LIMIT
    )
    if status:
        raise GitFailed(f"git cannot make a repository at {path}: {_gist(said)}", status, said)


def user_settings(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """What `user.name` and `user.email` are for the operator in `folder`: the one question that the operator's own
    configuration is read for. Nothing in it is run by asking, and no answer is as good as none.
    """
    allowed = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", *_KEPT)
    clean = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in allowed}
    command = ["git", "--no-pager", "config", "--includes", "--null", "--get-regexp", r"^user\.(name|email)$"]
    status, output, _ = run_bounded(command, {**clean, "LC_ALL": "C"}, folder, None, LOCAL_LIMIT)
    entries = (entry.partition("\n") for entry in output.decode(errors="replace").split("\0") if entry)
    return {key.removeprefix("user."): value for key, _, value in entries} if status == 0 else {}


def run_bounded(
    command: list[str],
    environ: Mapping[str, str],
    folder: str,
    data: bytes | None,
    limit: float,
    locks: Iterable[int] = (),
) -> tuple[int, bytes, str]:
    """Exit code, output and error output of a program that may take `limit` seconds and no longer."""
    try:
        process = subprocess.Popen(  # noqa: S603 - a list of words, and no shell
            command,
            stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(environ),
            pass_fds=tuple(locks),
            process_group=0 if os.name == "posix" else None,
        )
    except FileNotFoundError as error:
        if error.filename != command[0]:
            raise StorageIOError(f"the folder {folder} is missing", errno=errno.ENOENT) from None
        raise StorageSelectionError(
            f"the command `{command[0]}` is not installed", hint=f"install {command[0]} and try again"
        ) from None
    except OSError as error:
        raise StorageIOError(f"{command[0]} cannot be started: {error.strerror}", errno=error.errno) from error
    watchdog = _Watchdog(process, max(limit, 0.1))
    try:
        output, said = process.communicate(data)
    except BaseException:
        _end(process)
        process.communicate()
        raise
    finally:
        watchdog.cancel()
    if watchdog.has_bitten:
        raise StorageIOError(
            f"{' '.join(command[:1] + _verb(command))} did not end within {max(limit, 0):.0f} s and was stopped",
            errno=errno.ETIMEDOUT,
            hint="check the network and the remote, then try again; nothing was lost",
        )
    return process.returncode, output, said.decode(errors="replace")


class _Watchdog(threading.Timer):
    """Ends a program that takes too long. Not the time limit of `subprocess`, which polls for the end of the program:
    that costs a commit of three short ones a tenth of its time.
    """

    def __init__(self, process: subprocess.Popen[bytes], limit: float) -> None:
        super().__init__(limit, self._bite)
        self._process = process
        self.has_bitten = False
        self.daemon = True
        self.start()

    def _bite(self) -> None:
        if self._process.returncode is None:
            self.has_bitten = True
            _end(self._process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and everything that it started."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass


def _verb(command: list[str]) -> list[str]:
    return [word for word in command[1:] if not word.startswith("-")][:1]


# ------------------------------------------------------------------------------------------------ environment


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in environ.items()
        if (not name.startswith("GIT_") or name in _KEPT) and name not in _DROPPED and not name.startswith("LC_")
    }
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ADVICE": "0",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "SSH_ASKPASS_REQUIRE": "never",
        "LC_ALL": "C",
        "LANGUAGE": "C",
    }


def _as_environ(settings: Mapping[str, str], after: int = 0) -> dict[str, str]:
    """Git's way to be configured by its environment; `after` is how many settings are there already."""
    environ = {"GIT_CONFIG_COUNT": str(after + len(settings))}
    for number, (key, value) in enumerate(settings.items(), start=after):
        environ[f"GIT_CONFIG_KEY_{number}"] = key
        environ[f"GIT_CONFIG_VALUE_{number}"] = value
    return environ


_checked: set[str | None] = set()


def check_version(environ: Mapping[str, str]) -> None:
    """Raise unless git is new enough; asked once for each PATH. An older one would ignore what keeps it safe."""
    path = environ.get("PATH")
    if path in _checked:
        return
    _, output, _ = run_bounded(["git", "version"], environ, os.sep, None, LOCAL_LIMIT)
    numbers = [word for word in output.decode(errors="replace").split() if word[:1].isdigit()]
    found = tuple(int(part) for part in (numbers or ["0"])[0].split(".")[:2] if part.isdigit())
    if found < OLDEST:
        raise StorageSelectionError(
            f"git {'.'.join(map(str, found))} is too old: agentm needs {'.'.join(map(str, OLDEST))} or newer",
            hint="install a newer git",
        )
    _checked.add(path)


# ------------------------------------------------------------------------------------------------ words


def _gist(said: str) -> str:
    """The line of git's error output that tells the most."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "!"))]
    chosen = (marked or lines or [""])[0]
    return one_line(chosen.removeprefix("fatal:").removeprefix("error:").strip())[:300]


def _without(said: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        if secret:
            said = said.replace(secret, "***")
    return said
