"""Which plan is the active one. A marker that leads nowhere is an error: guessing would bind work to another plan."""

from __future__ import annotations

import os

from agentm_kernel import errors
from agentm_kernel.projects import harness_path
from agentm_kernel.seam.locator import normalize_key
from agentm_kernel.state.routing import ACTIVE_MARKER, Resolution, read_marker, state_file_path

PLAN, PROGRESS = "PLAN.md", "progress.md"

# What sync tools and our own stores call versions that lost, for folders whose store does not know them. A vault
# leaves out every kind by itself; one of its tests holds these lists to the names that it knows. A word alone is no
# mark: `PLAN-merge_conflict-ui.md` is a plan. The tool adds a date or a number, or puts it into brackets.
_DATED = (".sync-conflict-", "_conflict-")
_NUMBERED = ("-safebackup-", ".conflict", "..path")
_IN_BRACKETS = (
    *("conflicted copy", "conflicting copy", "[conflict", "(sfconflict ", "(unseen ", "(case clash ", " conflict)"),
    *("konflikt stehende kopie", "konfliktkopie", "copie en conflit", "copia en conflicto", "copia conflictiva"),
    *("in conflitto", "em conflito", "\u7af6\u5408\u30b3\u30d4\u30fc", "\u554f\u984c\u306e\u3042\u308b"),
    *("\u51b2\u7a81\u526f\u672c", "\u51b2\u7a81\u7684\u526f\u672c", "\u885d\u7a81\u526f\u672c"),
    *("\u885d\u7a81\u7684\u526f\u672c", "\u885d\u7a81\u8907\u672c", "\u885d\u7a81\u7684\u8907\u672c"),
)
_BRACKETS = ("(", "[", "\uff08")


def plan_files(name: str) -> tuple[str, str]:
    """The plan file and the progress file of a plan; `foo`, `PLAN-foo` and `PLAN-foo.md` are the same plan."""
    stem = name.strip().removesuffix(".md")
    if stem in ("", "PLAN", "PLAN-"):
        return PLAN, PROGRESS
    slug = stem.removeprefix("PLAN-")
    if slug == "PLAN":  # `PLAN` is the plan without a name, so nobody can tell which of the two files is meant
        raise errors.UnsafePlanNameError(
            f"unsafe plan name {ascii(name)}: it could be PLAN.md, too",
            hint="say `PLAN` for PLAN.md; give a file PLAN-PLAN.md another name",
        )
    files = (f"PLAN-{slug}.md", f"progress-{slug}.md")
    try:  # names that every store can hold, and nothing but names
        is_safe = slug not in (".", "..") and "/" not in slug and all(normalize_key(file) == file for file in files)
    except errors.InvalidLocatorError:
        is_safe = False
    if not is_safe:
        raise errors.UnsafePlanNameError(
            f"unsafe plan name {ascii(name)}", hint="use a plain name such as `foo` for PLAN-foo.md"
        )
    return files


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
    except errors.UnsafePlanNameError as error:
        raise _bad_marker(resolution, f"holds the {error.message}") from error
    from agentm_kernel.state.files import is_written

    if not is_written(resolution, plan):
        raise _bad_marker(resolution, f"names {plan}, which is not there or empty")
    return plan, progress


def active_plan_path(resolution: Resolution, which: str, plan_arg: str | None) -> str:
    """Where this device has the file of the active plan, or with `progress` its progress file."""
    here = resolution.on_this_device()
    return state_file_path(here, resolve_active_plan(here, plan_arg)[which == "progress"])


def meant_file(resolution: Resolution, file: str) -> str:
    """The name of a state file: `plan` and `progress` are the active plan's, and `PLAN-foo` is `PLAN-foo.md`."""
    ending = ".md" if file == "PLAN" or (file.startswith(("PLAN-", "progress-")) and "." not in file) else ""
    return resolve_active_plan(resolution)[file == "progress"] if file in ("plan", "progress") else file + ending


def active_marker(resolution: Resolution) -> str | None:
    """The text of the active-plan marker, which always lies in the checkout; `None` without one."""
    try:
        return read_marker(harness_path(resolution.root, ACTIVE_MARKER))
    except errors.ConfigError as error:
        raise errors.ActivePlanError(error.message, hint=error.hint) from error


def list_plan_files(resolution: Resolution, names: list[str] | None = None) -> list[str]:
    """The plans of the project: `PLAN.md` first, then named ones by name; `names`, if its state files are known.

    No archives, no conflict copies, and nothing that is only white space: there is no plan in that.
    """
    from agentm_kernel.state.files import is_written, list_state_files

    candidates = filter(_is_plan, list_state_files(resolution) if names is None else names)
    plans = [name for name in candidates if is_written(resolution, name)]
    return sorted(plans, key=lambda name: (name != PLAN, name))


def list_plans_and_copies(resolution: Resolution) -> tuple[list[str], list[str]]:
    """The plans, and conflict copies of them or of progress: those beside them, and what stores keep elsewhere."""
    from agentm_kernel.seam.backend import ConflictCopies
    from agentm_kernel.state.files import list_state_files

    names = list_state_files(resolution)
    meant = ("PLAN", "progress")
    copies = [name for name in names if name.startswith(meant) and _is_copy(name)]
    kept = resolution.backend.facet(ConflictCopies) if resolution.backend and resolution.is_synced else None
    known = [] if kept is None else kept.conflict_copies(resolution.state_locator)
    copies += [copy.copy.key for copy in known if copy.note.name.startswith(meant) and copy.copy.name not in names]
    return list_plan_files(resolution, names), copies


def list_left_behind(resolution: Resolution, known: list[str]) -> list[str]:
    """Plans and progress files in the checkout that nobody reads: state belongs into a store, which has `known`."""
    if not resolution.is_synced:
        return []
    try:
        names = os.listdir(harness_path(resolution.root))
    except OSError:
        return []
    return sorted(name for name in names if _is_plan(name.replace("progress", "PLAN")) and name not in known)


def use_plan(resolution: Resolution, name: str) -> str:
    """Make a plan that exists the active one of this checkout; returns its file name."""
    from agentm_kernel.state.files import is_written, set_marker

    plan, _ = plan_files(name)
    if not is_written(resolution, plan):
        known = ", ".join(list_plan_files(resolution)) or "none"
        raise errors.ActivePlanError(
            f"there is no plan {plan}, or it is empty; plans of this project: {known}",
            hint=f"write it first: `agentm state write {plan}`",
        )
    word = plan.removesuffix(".md").removeprefix("PLAN-")
    set_marker(resolution, ACTIVE_MARKER, None if plan == PLAN else f"{word}\n")
    return plan


def clear_plan(resolution: Resolution) -> bool:
    """Remove the marker; whether there was one."""
    from agentm_kernel.state.files import set_marker

    return set_marker(resolution, ACTIVE_MARKER, None)


def _is_plan(name: str) -> bool:
    if name == PLAN:
        return True
    return name.startswith("PLAN-") and name.endswith(".md") and len(name) > len("PLAN-.md") and not _is_copy(name)


def _is_copy(name: str) -> bool:
    folded = name.casefold()
    if any(folded.partition(mark)[2][:1].isdigit() for mark in _NUMBERED):
        return True
    words = [word for mark in _DATED for word in folded.partition(mark)[2].replace(".", "-").split("-")]
    if any(len(word) == 8 and word.isdigit() for word in words):
        return True
    inside = next((folded[folded.index(bracket) :] for bracket in _BRACKETS if bracket in folded), "")
    told = inside.partition("conflict ")[2].partition(")")[0]  # a number, a time, or what the version is known by
    return any(mark in inside for mark in _IN_BRACKETS) or any(map(str.isdigit, told))


def _bad_marker(resolution: Resolution, why: str) -> errors.ActivePlanError:
    return errors.ActivePlanError(
        f"the active-plan marker {harness_path(resolution.root, ACTIVE_MARKER)} {why}",
        hint="run `agentm plan use NAME`, or `agentm plan clear`",
    )
