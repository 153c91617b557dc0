"""Projects: which one a working directory belongs to, what it is called, and whose name that is in a store.

From a working directory to the root of its project, and the small files that lie there. Git is never started.
"""

from __future__ import annotations

import os
import stat

from agentm_kernel import errors
from agentm_kernel.files import read_small_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

HARNESS_DIR = ".harness"
PROJECT_FILE = "project.json"  # in there: what the project is called, and without git which one it is

_LIMIT = 4 * 1024 * 1024

# What is looked at in one directory after the other, many thousand times a second; joining would cost as much again.
_HARNESS = f"{os.sep}{HARNESS_DIR}"
_GIT = f"{os.sep}.git"
_HEAD = f"{_GIT}{os.sep}HEAD"


def working_directory(context: Mapping[str, Any] | None) -> str | None:
    """`context["cwd"]`; `None` for the current directory."""
    cwd = (context or {}).get("cwd")
    return os.fspath(cwd) if cwd else None


def harness_path(root: str, name: str = "") -> str:
    """The path of `.harness/` in the checkout at `root`, or of a file in there."""
    folder = root.rstrip(os.sep) + _HARNESS
    return f"{folder}{os.sep}{name}" if name else folder


def find_project_root(cwd: str | None = None) -> str:
    """The nearest directory upward that has `.harness/` or is a git work tree; the working directory without one.

    The answer is a path without links: a project that is entered through one is still the same project. Whatever is
    found, `.harness` is no link there.
    """
    start = physical_directory(cwd)
    for above in upward(start):
        if _has_harness(above) or is_work_tree(above):
            return above
    return start


def upward(directory: str) -> Iterator[str]:
    """A directory whose path has no links, and every one above it."""
    yield directory
    while (parent := os.path.dirname(directory)) != directory:
        directory = parent
        yield directory


def is_no_project(root: str) -> bool:
    """Whether `root` is where everything lies: the top of the disk, the home, the temporary folder.

    One that has `.harness/` or a repository was made a project on purpose.
    """
    if _has_harness(root) or is_work_tree(root):
        return False
    common = (os.path.dirname(root), os.path.expanduser("~"), os.environ.get("TMPDIR", "/tmp"), "/var/tmp")  # noqa: S108
    return root in map(os.path.realpath, common)


def is_work_tree(directory: str) -> bool:
    """Whether `directory` is the top of a git work tree: it has a repository, or a file that points to one.

    An empty `.git` folder is neither, for git as for us.
    """
    try:
        os.lstat(directory + _HEAD)
    except NotADirectoryError:
        return os.path.isfile(directory + _GIT)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _cannot_look(directory + _GIT, error) from error
    return True


def _has_harness(directory: str) -> bool:
    try:
        mode = os.lstat(directory + _HARNESS).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _cannot_look(directory + _HARNESS, error) from error
    if stat.S_ISLNK(mode):
        refuse_linked_harness(directory)
    return stat.S_ISDIR(mode)


def refuse_linked_harness(root: str) -> None:
    """`.harness` may not be a link: a cloned repository could bring one that leads into another project."""
    path = harness_path(root)
    if os.path.islink(path):
        raise errors.ConfigError(
            f"{path} is a symbolic link, and state is neither read nor written through one",
            hint="a repository that you cloned may have brought it; remove it, or put a folder there",
        )


def physical_directory(cwd: str | None = None) -> str:
    """The path without links of `cwd`, or of the current directory."""
    try:
        here = os.getcwd()
        if cwd is None or cwd == here:
            return here  # the system's own answer has no links; resolving them again is half of a lookup's cost
    except OSError as error:
        if cwd is None or not os.path.isabs(cwd):
            raise errors.ConfigError(
                f"the current directory cannot be used: {error.strerror}", hint="change to a directory that exists"
            ) from error
    path = os.path.realpath(cwd)
    if not os.path.isdir(path):
        raise errors.ConfigError(f"{cwd} is not a directory", hint="name the directory that you work in")
    return path


def _cannot_look(path: str, error: OSError) -> errors.ConfigError:
    return errors.ConfigError(
        f"cannot tell whether there is a project at {os.path.dirname(path)}: {path}: {error.strerror}",
        hint="check the permissions of that directory, or start further down, in the project itself",
    )


def read_rare_file(path: str) -> bytes | None:
    """`read_checkout_file` for one that most checkouts do not have: a look is less than opening it in vain."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        pass  # not absence: reading it will say what it is
    return read_checkout_file(path)


def read_checkout_file(path: str) -> bytes | None:
    """The bytes of a small file of a checkout, say a marker or git's configuration; `None` when there is none.

    Whatever else is there, or goes wrong, is a `ConfigError`: an error reading is never absence.
    A FIFO or a device is not waited for, and a link that leads nowhere is broken, not absent.
    """
    try:
        return read_small_file(path, _LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.islink(path):
            return None
        why, cause = "it is a link that leads nowhere", None
    except OSError as error:
        why, cause = str(error.strerror), error
    except ValueError:
        why, cause = "its name holds a NUL", None
    raise errors.ConfigError(f"{path} cannot be read: {why}", hint="repair or remove that file") from cause
