"""The read-only view that a process (a hook, a phase, a server) calls.

Programs that are not written in Python call `agentm`, or `python -P -m agentm_kernel.process_seam`.
Nothing here creates or changes a file anywhere. `recall_here` and `offer_save_here` never raise: memory that cannot
be had is an empty answer and a line on standard error. `state_path` does raise: a wrong place is worse than none.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` searches the working directory first: a `json.py` in a repository would be run in place of Python's.
    del sys.path[0]

from agentm_kernel.device.installed import RECALL
from agentm_kernel.errors import AgentmError, StorageSelectionError, one_line
from agentm_kernel.projects import find_project_root, is_no_project, working_directory
from agentm_kernel.state import Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from agentm_kernel.state.routing import Resolution

PHASES = ("setup", "plan", "work", "review", "release", "bugfix", "documenter")
DEFAULT_PHASE = "work"


def recall_here(
    context: Mapping[str, Any] | None = None,
    *,
    query: str | None = None,
    limit: int | None = None,
    device: Device | None = None,
) -> str:
    """What memory holds for the project and phase of `context`, as Markdown; `""` where there is nothing."""
    try:
        device = device or Device.now()
        label, recall = _recall_provider(device)
        if recall is None:
            return ""
        cwd, phase = working_directory(context), (context or {}).get("phase")
        phase = phase if phase in PHASES else DEFAULT_PHASE
        parts = [own_notes(device, cwd, limit, phase=phase, query=query)]
        try:
            parts.append(_ask(label, recall, device.memory(cwd), phase=phase, query=query, limit=limit))
        except StorageSelectionError as error:
            if device.bound_store(cwd) is None:
                raise
            why = f"{error.message} ({error.hint})" if error.hint else error.message
            parts.append(f"# Memory of this project\n\nIts notes are not available: {one_line(why)}\n")
        return "\n".join(part for part in parts if part)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a recall must never stop the agent; what failed is said
        _warn("recall", error)
        return ""


def offer_save_here(
    context: Mapping[str, Any] | None, candidate: Any, *, device: Device | None = None
) -> list[dict[str, Any]]:
    """`candidate`, completed with the project and the place where it would be saved. Saves nothing.

    None where there is no project: a note of the whole disk would be nobody's.
    """
    try:
        if not candidate:
            return []
        from agentm_kernel.selection import choose

        device = device or Device.now()
        resolution = device.memory(working_directory(context))
        if is_no_project(resolution.root):
            return []
        assert resolution.project_locator is not None  # there is a store, so there is a place in it
        offer = dict(candidate) if isinstance(candidate, dict) else {"body": candidate}
        offer.setdefault("project", resolution.slug)
        if context and context.get("phase"):
            offer.setdefault("phase", context["phase"])
        offer["target"] = resolution.project_locator.key
        offer["protocol"] = choose(device.of_store(resolution.store_name)).protocol
        return [offer]
    except Exception as error:  # noqa: BLE001 - as above
        _warn("offer-save", error)
        return []


def why_here(
    device: Device, note: str, cwd: str | None, phase: str | None, query: str | None, limit: int | None
) -> str:
    """Why a note is recalled, or why not. A person asks, so what goes wrong is raised."""
    label, explain = _recall_provider(device, "why")
    if explain is None:
        who = f"{label} cannot" if label else "no plugin is installed that can"
        raise AgentmError(f"{who} say why a note is recalled")
    phase = phase if phase in PHASES else DEFAULT_PHASE
    return _ask(label, explain, device.memory(cwd), note=note, phase=phase, query=query, limit=limit)


def state_path(context: Mapping[str, Any] | None, which: str) -> Path:
    """The path of the active plan's file, `which` being `plan` or `progress`; raises rather than guess."""
    from pathlib import Path

    from agentm_kernel.state.plans import active_plan_path

    if which not in ("plan", "progress"):
        raise ValueError(f"state_path knows 'plan' and 'progress', not {which!r}")
    project = Device.now().project(working_directory(context))
    return Path(active_plan_path(project, which, (context or {}).get("plan")))


def is_available() -> bool:
    """Whether the configured store can be had."""
    from agentm_kernel.selection import Decision, inspect_store

    return isinstance(inspect_store(Device.now()), Decision)


def own_notes(
    device: Device, cwd: str | None, limit: int | None, *, phase: str = DEFAULT_PHASE, query: str | None = None
) -> str:
    """The operator's own notes, where the project is bound to a further store: whatever is wrong with that one."""
    if device.bound_store(cwd) is None:
        return ""
    label, own = _recall_provider(device, "own")
    if own is None:
        return ""
    try:
        return _ask(label, own, device, phase=phase, query=query, limit=limit)
    except AgentmError as error:
        _warn("recall", error)
        return ""


def recall_at_start(device: Device, resolution: Resolution, limit: int) -> str:
    """What a session should remember when it starts."""
    label, recall = _recall_provider(device)
    if recall is None:
        return ""
    memory = resolution if resolution.backend is not None else device.memory(resolution.root)
    return _ask(label, recall, memory, phase=DEFAULT_PHASE, query=None, limit=limit)


def recall_for_prompt(device: Device, cwd: str | None, prompt: str, limit: int, known: tuple[str, ...]) -> str | None:
    """The notes that answer a prompt, `""` if none does; `None` where the provider cannot tell."""
    label, for_prompt = _recall_provider(device, "for_prompt")
    if for_prompt is None:
        return None
    try:
        memory = device.memory(cwd)
    except StorageSelectionError as error:
        from agentm_kernel.state.routing import Resolution

        if (name := device.bound_store(cwd)) is None:
            raise
        _warn("recall", error)  # a further store that cannot be had costs its own notes, and not the operator's
        memory = Resolution(find_project_root(cwd), None, device=device, store_name=name)
    return _ask(label, for_prompt, memory, prompt=prompt, limit=limit, known=known)


def _ask(label: str, ask: Any, about: Resolution | Device, **asked: object) -> str:
    from agentm_kernel.plugins import Call, StdoutToStderr, wrong_answer

    with StdoutToStderr(), Call(label, "recalling"):
        answer: object = ask(about, **asked)
    if not isinstance(answer, str):
        raise wrong_answer(label, "recalling", answer, "text")
    return answer


def _recall_provider(device: Device, ability: str | None = None) -> tuple[str, Any]:
    """The name for the one installed recall provider, empty without one; and itself or its `ability`, `None` if it
    has none. What it is, and what it may be able to do: `docs/how-to/write-a-recall-provider.md`.
    """
    if not device.plugins.of(RECALL):
        return "", None
    from agentm_kernel.plugins.table import load, permitted

    records = permitted(device, RECALL)
    if not records:
        return "", None
    if len(records) > 1:
        owners = " and ".join(sorted(record.distribution for record in records))
        raise AgentmError(
            f"more than one recall provider is installed: {owners}",
            hint="disable one: `agentm config set plugin_policy.disabled NAME`",
        )
    provider = load(records[0])
    return str(records[0]), provider if ability is None else getattr(provider, ability, None)


def _warn(doing: str, error: BaseException) -> None:
    message = error.message if isinstance(error, AgentmError) else f"{type(error).__name__}: {error}"
    sys.stderr.write(f"agentm {doing}: {one_line(message)}\n")


if __name__ == "__main__":
    from agentm_kernel.cli.main import main

    sys.exit(main(only=("recall-here", "state-path", "offer-save-here")))
