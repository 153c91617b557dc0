"""Which plan is the active one. A marker that leads nowhere is an error: guessing would bind work to another plan."""

from __future__ import annotations

import os

from agentm_kernel.errors import ActivePlanError, ConfigError, InvalidLocatorError
from agentm_kernel.projects import HARNESS_DIR
from agentm_kernel.seam.locator import normalize_key
from agentm_kernel.state.routing import ACTIVE_MARKER, read_marker, state_file_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.state.routing import Resolution

PLAN, PROGRESS = "PLAN.md", "progress.md"

# What sync tools and our own stores call versions that lost, for folders whose store does not know them. A vault
# leaves out every kind by itself; one of its tests holds this list to the names that it knows.
_CONFLICT_MARKS = (
    *(
        ".sync-conflict-",
        "conflicted copy",
        "conflicting copy",
        "_conflict-",
        "(conflict ",
        "[conflict",
        "(sfconflict",
    ),
    *("(unseen ", " conflict)", " conflict ", "(case clash", "-safebackup-", ".conflict1", ".conflict2", "..path"),
    *("konflikt stehende kopie", "konfliktkopie", "copie en conflit", "copia en conflicto", "copia conflictiva"),
    *("in conflitto", "em conflito", "\u7af6\u5408\u30b3\u30d4\u30fc", "\u554f\u984c\u306e\u3042\u308b"),
    *("\u51b2\u7a81", "\u885d\u7a81"),
)


class UnsafePlanNameError(ConfigError, ValueError):
    """A plan name that is not a plain file name."""


def plan_files(name: str) -> tuple[str, str]:
    """The plan file and the progress file of a plan; `foo`, `PLAN-foo` and `PLAN-foo.md` are the same plan."""
    stem = name.strip().removesuffix(".md")
    if stem in ("", "PLAN", "PLAN-"):
        return PLAN, PROGRESS
    slug = stem.removeprefix("PLAN-")
    if slug == "PLAN":  # `PLAN` is the plan without a name, so nobody can tell which of the two files is meant
        raise UnsafePlanNameError(
            f"unsafe plan name {ascii(name)}: it could be PLAN.md, too",
            hint="say `PLAN` for PLAN.md; give a file PLAN-PLAN.md another name",
        )
    if not _is_safe(slug):
        raise UnsafePlanNameError(
            f"unsafe plan name {ascii(name)}", hint="use a plain name such as `foo` for PLAN-foo.md"
        )
    return f"PLAN-{slug}.md", f"progress-{slug}.md"


def resolve_active_plan(resolution: Resolution, plan_arg: str | None = None) -> tuple[str, str]:
    """`(plan file, progress file)`: the explicit plan, else the marker's, else `PLAN.md` and `progress.md`."""
    if plan_arg is not None:
        return plan_files(plan_arg)
    marked = active_marker(resolution)
    if marked is None:
        return PLAN, PROGRESS
    if not marked:
        raise _bad_marker(resolution, "is empty")
    try:
        plan, progress = plan_files(marked)
    except UnsafePlanNameError as error:
        raise _bad_marker(resolution, f"holds the {error.message}") from error
    from agentm_kernel.state.files import is_written

    if not is_written(resolution, plan):
        raise _bad_marker(resolution, f"names {plan}, which is not there or empty")
    return plan, progress


def active_plan_path(resolution: Resolution, which: str, plan_arg: str | None) -> str:
    """Where this device has the file of the active plan, or with `progress` its progress file."""
    here = resolution.on_this_device()
    plan, progress = resolve_active_plan(here, plan_arg)
    return state_file_path(here, progress if which == "progress" else plan)


def active_marker(resolution: Resolution) -> str | None:
    """The text of the active-plan marker, which always lies in the checkout; `None` without one."""
    try:
        return read_marker(_marker_path(resolution))
    except ConfigError as error:
        raise ActivePlanError(error.message, hint=error.hint) from error


def list_plan_files(resolution: Resolution) -> list[str]:
    """The plans of the project: `PLAN.md` first, then named ones by name.

    No archives, no conflict copies, and nothing that is only white space: there is no plan in that.
    """
    from agentm_kernel.state.files import list_state_files

    return _plans_among(list_state_files(resolution), resolution)


def list_plans_and_copies(resolution: Resolution) -> tuple[list[str], list[str]]:
    """The plans, and their conflict copies: those that lie beside them, and those that the store keeps elsewhere."""
    from agentm_kernel.state.files import list_state_files

    names = list_state_files(resolution)
    return _plans_among(names, resolution), _copies_among(names, resolution)


def _plans_among(names: list[str], resolution: Resolution) -> list[str]:
    from agentm_kernel.state.files import is_written

    plans = [name for name in names if _is_plan(name) and is_written(resolution, name)]
    return sorted(plans, key=lambda name: (name != PLAN, name))


def _copies_among(names: list[str], resolution: Resolution) -> list[str]:
    from agentm_kernel.seam.facets import ConflictCopies

    found = [name for name in names if name.startswith("PLAN") and _is_copy(name)]
    if resolution.backend is not None and resolution.is_synced:
        copies = resolution.backend.facet(ConflictCopies)
        if copies is not None:
            known = copies.conflict_copies(resolution.state_locator)
            found += [copy.copy.key for copy in known if _is_plan(copy.note.name)]
    return found


def list_left_behind(resolution: Resolution, known: list[str]) -> list[str]:
    """Plans and progress files in the checkout that nobody reads: state belongs into a store, which has `known`."""
    if not resolution.is_synced:
        return []
    try:
        names = os.listdir(os.path.join(resolution.root, HARNESS_DIR))
    except OSError:
        return []
    return sorted(name for name in names if _is_plan(name.replace("progress", "PLAN", 1)) and name not in known)


def use_plan(resolution: Resolution, name: str) -> str:
    """Make a plan that exists the active one of this checkout; returns its file name."""
    from agentm_kernel.state.files import is_written, write_marker

    plan, _ = plan_files(name)
    if not is_written(resolution, plan):
        known = ", ".join(list_plan_files(resolution)) or "none"
        raise ActivePlanError(
            f"there is no plan {plan}, or it is empty; plans of this project: {known}",
            hint=f"write it first: `agentm state write {plan}`",
        )
    if plan == PLAN:
        clear_plan(resolution)
    else:
        write_marker(resolution, ACTIVE_MARKER, plan.removesuffix(".md").removeprefix("PLAN-") + "\n")
    return plan


def clear_plan(resolution: Resolution) -> bool:
    """Remove the marker; whether there was one."""
    from agentm_kernel.state.files import remove_marker

    return remove_marker(resolution, ACTIVE_MARKER)


def _is_safe(slug: str) -> bool:
    """Whether the two file names of the plan are names that every store can hold, and nothing but names."""
    names = (f"PLAN-{slug}.md", f"progress-{slug}.md")
    try:
        return slug not in (".", "..") and "/" not in slug and all(normalize_key(name) == name for name in names)
    except InvalidLocatorError:
        return False


def _is_plan(name: str) -> bool:
    if name == PLAN:
        return True
    return name.startswith("PLAN-") and name.endswith(".md") and len(name) > len("PLAN-.md") and not _is_copy(name)


def _is_copy(name: str) -> bool:
    folded = name.casefold()
    return any(mark in folded for mark in _CONFLICT_MARKS)


def _marker_path(resolution: Resolution) -> str:
    return os.path.join(resolution.root, HARNESS_DIR, ACTIVE_MARKER)


def _bad_marker(resolution: Resolution, why: str) -> ActivePlanError:
    return ActivePlanError(
        f"the active-plan marker {_marker_path(resolution)} {why}",
        hint="run `agentm plan use NAME`, or `agentm plan clear`",
    )
