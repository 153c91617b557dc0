"""The tools for a project's plan and progress: execution state, which is the kernel's."""

from __future__ import annotations

from agentm_kernel.plugin import InvalidContentError, Tool, content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Resolution, ToolCall

_PLAN = {"plan": {"type": "string", "description": "a named plan; the active one if left out"}}


def _read(call: ToolCall, plan: str | None = None) -> dict[str, object]:
    from agentm_kernel import read_state_file
    from agentm_kernel.plugin import resolve_active_plan

    here = _project(call)
    plan_file, progress_file = resolve_active_plan(here, plan)
    text, progress = read_state_file(here, plan_file), read_state_file(here, progress_file)
    fields = {"project": here.slug, "plan": plan_file, "progress": progress_file}
    if not text and not progress:
        return {**fields, "status": "there is no plan and no progress yet"}
    parts = [f"## {name}\n{part.rstrip()}" for name, part in ((plan_file, text), (progress_file, progress)) if part]
    return {**fields, "plan_hash": content_hash(text) if text else None, "text": "\n\n".join(parts)}


def _append(call: ToolCall, text: str, plan: str | None = None) -> dict[str, object]:
    from agentm_kernel import update_state_file
    from agentm_kernel.plugin import resolve_active_plan

    here = _project(call, read_only=False)
    _, progress_file = resolve_active_plan(here, plan)
    line = text if text.endswith("\n") else f"{text}\n"

    def added(current: str | None) -> str:
        before = current or ""
        return before + ("\n" if before and not before.endswith("\n") else "") + line

    path = update_state_file(here, progress_file, added)
    return {"status": "saved", "project": here.slug, "file": str(path)}


def _project(call: ToolCall, *, read_only: bool = True) -> Resolution:
    if len(call.roots) > 1:
        folders = ", ".join(call.roots)
        raise InvalidContentError(
            f"several folders are open ({folders}), and each has a plan of its own",
            hint="use the state files of the folder that is meant: `agentm state read PLAN.md --cwd FOLDER`",
        )
    return call.device.project(call.roots[0], read_only=read_only)


PLAN_READ = Tool(
    "plan_read",
    "Read this project's active plan and the progress made on it. Do this first when work goes on.",
    _read,
    _PLAN,
)
PROGRESS_APPEND = Tool(
    "progress_append",
    "Add lines to the progress of this project's plan: what was done, what comes next.",
    _append,
    {"text": {"type": "string", "minLength": 1}, **_PLAN},
    required=("text",),
    only_reads=False,
)
