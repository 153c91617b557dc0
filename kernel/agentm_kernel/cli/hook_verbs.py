"""What the declared hook commands do. Both the tiny parser and click call these functions."""

from __future__ import annotations

import sys

from agentm_kernel.cli.main import UsageError, report
from agentm_kernel.errors import AgentmError, NotFoundError, PluginError, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
"""The shape of every JSON answer; a change that readers would notice gets the next number."""


def state_path(which: str, cwd: str | None, plan: str | None) -> None:
    from agentm_kernel.process_seam import state_path_text

    write_text(state_path_text(_context(cwd=cwd, plan=plan), which) + "\n")


def state_read(file: str, json: bool, cwd: str | None) -> None:
    from agentm_kernel.state.files import find_state_file
    from agentm_kernel.state.routing import route_project

    text = find_state_file(route_project(_context(cwd=cwd), read_only=True), file)
    if text is None:
        raise NotFoundError(f"there is no state file {file} here", hint="`agentm state list` shows what there is")
    if json:
        from agentm_kernel.seam.content import content_hash

        text = json_text(file=file, hash=content_hash(text), text=text)
    write_text(text)


def recall_here(cwd: str | None, phase: str | None, query: str | None, limit: str | None) -> None:
    from agentm_kernel.process_seam import recall_here as recall

    write_text(recall(_context(cwd=cwd, phase=phase), query=query, limit=_positive(limit)))


def offer_save_here(
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
    write_text(json.dumps(offer(_context(cwd=cwd, phase=phase), candidate), indent=2, ensure_ascii=False) + "\n")


def session_start(host: str | None) -> None:
    from agentm_kernel.cli.session_start import answer

    answer(host)


def event(name: str, cwd: str | None) -> int:
    """Tell every plugin what happened; their lines go to standard error, because hosts read standard output."""
    from agentm_kernel.cli.agent_hosts import read_event, working_directory
    from agentm_kernel.plugins.hooks import current_context, installed_plugins
    from agentm_kernel.plugins.values import HookContext
    from agentm_kernel.projects.root import find_project_root

    payload = read_event()
    here = current_context()
    root = find_project_root(cwd or working_directory(payload))
    host = installed_plugins(HookContext(here.surroundings, root, here.config))
    for line in host.event(name, payload):
        sys.stderr.write(f"{one_line(line)}\n")
    # Several plugins that cannot have the store say the same: once is enough.
    said = dict.fromkeys((failure.message, failure.hint, failure.code) for failure in host.failures)
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


def read_text(path: str) -> str:
    """The text of `path`, or of standard input for `-`, byte for byte."""
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode()
        with open(path, "rb") as file:
            return file.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise AgentmError(
            f"cannot read {path}: {error}", hint="give a file with UTF-8 text, or - for standard input"
        ) from error


def json_text(**fields: Any) -> str:
    """One JSON object, with the number of its shape first."""
    from json import dumps

    return dumps({"schema": SCHEMA, **fields}, indent=2, ensure_ascii=False) + "\n"


def write_text(text: str) -> None:
    """Print `text` as UTF-8 bytes, as it is: a locale that cannot express a path must not change it."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
