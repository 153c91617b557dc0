"""What the fast commands do. Both the tiny parser and click call these functions."""

from __future__ import annotations

from agentm_kernel.cli.reporting import UsageError
from agentm_kernel.cli.streams import json_text, read_text, show_text, write_text
from agentm_kernel.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agentm_kernel.state.device import Device


def config_get(device: Device, key: str, json: bool) -> int:
    """Print the value of `key`; 1 and, but for JSON, not a word if it is not set."""
    from agentm_kernel.cli.config_values import as_text

    value = device.config.get(key)
    if json:
        write_text(json_text(key=key, value=value))
    elif value is not None:
        write_text(f"{as_text(value)}\n")
    return 0 if value is not None else 1


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


def recall_here(
    device: Device, cwd: str | None, phase: str | None, query: str | None, limit: str | None, why: str | None
) -> None:
    from agentm_kernel.process_seam import recall_here as recall

    context = _context(cwd=cwd, phase=phase, why=why)
    show_text(recall(context, query=query, limit=_positive(limit), device=device))


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


def hook(device: Device, event: str, host: str | None) -> None:
    from agentm_kernel.cli.hook import answer

    answer(device, event, host)


def event(device: Device, name: str, cwd: str | None) -> int:
    """Tell every plugin what happened; their lines go to standard error, because agent hosts read standard output."""
    from agentm_kernel.cli.event import tell_plugins

    return tell_plugins(device, name, cwd)


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
