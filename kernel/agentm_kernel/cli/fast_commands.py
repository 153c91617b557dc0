"""What the fast commands do. Both the tiny parser and click call these functions."""

from __future__ import annotations

import sys

from agentm_kernel.cli.reporting import UsageError, report
from agentm_kernel.cli.streams import json_text, read_text, show_text, write_text
from agentm_kernel.errors import AgentmError, NotFoundError, PluginError, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agentm_kernel.state.device import Device


def state_path(device: Device, which: str, cwd: str | None, plan: str | None) -> None:
    from agentm_kernel.process_seam import state_path_text

    show_text(state_path_text(_context(cwd=cwd, plan=plan), which, device=device) + "\n")


def state_read(device: Device, file: str, json: bool, cwd: str | None) -> None:
    from agentm_kernel.state.files import find_state_file

    text = find_state_file(device.project(cwd), file)
    if text is None:
        raise NotFoundError(f"there is no state file {file} here", hint="`agentm state list` shows what there is")
    if json:
        from agentm_kernel.seam.content import content_hash

        text = json_text(file=file, hash=content_hash(text), text=text)
    show_text(text)


def recall_here(device: Device, cwd: str | None, phase: str | None, query: str | None, limit: str | None) -> None:
    from agentm_kernel.process_seam import recall_here as recall

    show_text(recall(_context(cwd=cwd, phase=phase), query=query, limit=_positive(limit), device=device))


def offer_save_here(
    device: Device,
    kind: str,
    slug: str,
    body_file: str | None,
    cwd: str | None,
    phase: str | None,
    confidence: str | None,
    confidence_reason: str | None,
) -> None:
    import json

    from agentm_kernel.process_seam import offer_save_here as offer

    candidate = _context(kind=kind, slug=slug, confidence=confidence, confidence_reason=confidence_reason)
    if body_file is not None:
        candidate["body"] = read_text(body_file)
    offers = offer(_context(cwd=cwd, phase=phase), candidate, device=device)
    write_text(json.dumps(offers, indent=2, ensure_ascii=False) + "\n")


def session_start(device: Device, host: str | None) -> None:
    from agentm_kernel.cli.session_start import answer

    answer(device, host)


def event(device: Device, name: str, cwd: str | None) -> int:
    """Tell every plugin what happened; their lines go to standard error, because agent hosts read standard output.

    Never exits with 2: agent hosts take that for "erase the prompt".
    """
    from agentm_kernel.cli.agent_hosts import read_event, working_directory
    from agentm_kernel.plugins.events import EVENTS, is_event
    from agentm_kernel.plugins.hooks import HookCaller
    from agentm_kernel.plugins.values import HookContext
    from agentm_kernel.projects.root import find_project_root

    if not is_event(name):
        raise AgentmError(
            f"there is no event '{name}'", hint=f"events are {', '.join(known.name for known in EVENTS)}"
        )
    payload = read_event()
    root = find_project_root(cwd or working_directory(payload))
    caller = HookCaller(HookContext(device, root))
    for line in caller.event(name, payload):
        sys.stderr.write(f"{one_line(line)}\n")
    # Several plugins that cannot have the store say the same: once is enough.
    said = dict.fromkeys((failure.message, failure.hint, failure.code) for failure in caller.failures)
    for message, hint, code in said:
        error = PluginError(message, hint=hint)
        error.code = code
        report(error)
    return int(bool(said))


def _context(**given: str | None) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def _positive(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) == 0:
        raise UsageError(
            f"--limit takes a positive number of tokens, not {text!r}", hint="run `agentm recall-here --help`"
        )
    return int(text)
