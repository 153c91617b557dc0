"""From a working directory to the root of its project. Looks at names only; git is never started."""

from __future__ import annotations

import os
import stat

from agentm_kernel.errors import ConfigError
from agentm_kernel.files.evidence import observe

HARNESS_DIR = ".harness"
GIT_ENTRY = ".git"

# What is looked at in one directory after the other, many thousand times a second; joining would cost as much again.
_HARNESS = f"{os.sep}{HARNESS_DIR}"
_GIT = f"{os.sep}{GIT_ENTRY}"
_HEAD = f"{_GIT}{os.sep}HEAD"


def find_project_root(cwd: str | None = None) -> str:
    """The nearest directory upward that has `.harness/` or is a git work tree; the working directory without one.

    The answer is a path without links: a project that is entered through one is still the same project.
    """
    return project_root_above(physical_directory(cwd))


def project_root_above(start: str) -> str:
    """`find_project_root` of a directory whose path has no links."""
    directory = start
    while not (observe(_has_harness, directory) or observe(is_work_tree, directory)):
        parent = os.path.dirname(directory)
        if parent == directory:
            return start
        directory = parent
    return directory


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
        return stat.S_ISDIR(os.stat(directory + _HARNESS).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _cannot_look(directory + _HARNESS, error) from error


def physical_directory(cwd: str | None = None) -> str:
    """The path without links of `cwd`, or of the current directory."""
    try:
        here = os.getcwd()
        if cwd is None or cwd == here:
            return here  # the system's own answer has no links; resolving them again is half of a lookup's cost
    except OSError as error:
        if cwd is None or not os.path.isabs(cwd):
            raise ConfigError(
                f"the current directory cannot be used: {error.strerror}", hint="change to a directory that exists"
            ) from error
    path = os.path.realpath(cwd)
    if not os.path.isdir(path):
        raise ConfigError(f"{cwd} is not a directory", hint="name the directory that you work in")
    return path


def _cannot_look(path: str, error: OSError) -> ConfigError:
    return ConfigError(
        f"cannot tell whether there is a project at {os.path.dirname(path)}: {path}: {error.strerror}",
        hint="check the permissions of that directory, or start further down, in the project itself",
    )
