"""What must survive a compaction: the plan, the end of its progress, and questions that are open."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import HookCall

_PLAN = 3_000
_PROGRESS = 1_500
_QUESTION = 200
_MOST_QUESTIONS = 10
_SETTLED = ("deleted", "superseded")
_FOR_THE_PLAN = 1.0
"""Seconds of the hook's time that questions leave."""
_ASKED = "[agentm] Keep in the summary: the plan and its state, decisions with their reasons, and what is still open."


def what_must_survive(call: HookCall) -> str:
    """For the model that summarises, and for nobody else: the session itself gets it back when it goes on."""
    from agentm_kernel import read_state_file
    from agentm_kernel.plugin import list_plan_files, resolve_active_plan

    parts = [_ASKED]
    if questions := _open_questions(call):
        parts.append(f"Open questions:\n{_fenced(questions)}")
    project = call.device.project(call.cwd).on_this_device()
    if not list_plan_files(project):
        return "\n\n".join(parts)
    plan, progress = resolve_active_plan(project)
    for name, text in (
        (plan, _head(read_state_file(project, plan), _PLAN)),
        (progress, _tail(read_state_file(project, progress), _PROGRESS)),
    ):
        if text:
            parts.append(f"{name}:\n{_fenced(text)}")
    return "\n\n".join(parts)


def _open_questions(call: HookCall) -> str:
    """The notes of that kind, each by its name and beginning; none where the store is too far away to ask."""
    from agentm_kernel.plugin import AgentmError, one_line

    memory = call.device.memory(call.cwd)
    if memory.backend is None or memory.project_locator is None or not memory.is_claimed:
        return ""
    if not memory.backend.capabilities.device_files:
        return ""
    shown: list[str] = []
    for locator in memory.backend.list(memory.project_locator.child("open-questions")):
        if len(shown) == _MOST_QUESTIONS or call.time_left < _FOR_THE_PLAN:
            break
        if locator.suffix != ".md":
            continue
        try:
            status, body = _status_and_body(memory.backend.read(locator))
        except AgentmError:
            continue  # session start and `agentm doctor` say so; the plan must survive all the same
        if status not in _SETTLED:
            name = locator.name.removesuffix(".md")
            shown.append(one_line(f"- {name}: {' '.join(body.split())[:_QUESTION]}"))
    return "\n".join(shown)


def _status_and_body(text: str) -> tuple[str, str]:
    """What the front matter says the note is, as people write it, and the text below it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return "", text
    fields, _, body = text[3:].partition("\n---\n")
    for line in fields.split("\n"):
        key, _, value = line.partition(":")
        if key == "status":
            return value.partition("#")[0].strip(" \t\"'").lower(), body
    return "", body


def _head(text: str, most: int) -> str:
    return text if len(text) <= most else text[: text.rfind("\n", 0, most) + 1 or most] + "[…]"


def _tail(text: str, most: int) -> str:
    return text if len(text) <= most else "[…]\n" + text[text.find("\n", len(text) - most) + 1 :]


def _fenced(text: str) -> str:
    """Between fences that it cannot end, with what nobody sees spelled out."""
    from agentm_kernel.plugin import one_line

    text = "\n".join(one_line(line.rstrip("\r").expandtabs(4)) for line in text.rstrip().split("\n"))
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
