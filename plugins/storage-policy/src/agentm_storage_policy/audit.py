"""The audit log of this device: who was let in or kept out, and never what they got.

One JSON object on each line of `audit.jsonl` in the state directory, readable by the user alone. Where the line
cannot be written, what it would tell of does not happen. A process that may not write anything says it to the
`logging` module.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import StorageIOError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import Opening

FILE = "audit.jsonl"
LOGGER = "agentm.storage_policy"


def record(opening: Opening, event: str, fields: Mapping[str, object], *, always: bool = False) -> None:
    """Write one line; `always` even from a process that is to leave no trace."""
    import json
    import logging

    from agentm_kernel.plugin import make_private_folder

    line = json.dumps({"event": event, "timestamp": _now(), **fields}, ensure_ascii=False, default=str) + "\n"
    if opening.read_only and not always:
        logging.getLogger(LOGGER).info("%s", line.rstrip())
        return
    path = os.path.join(opening.state_dir, FILE)
    try:
        make_private_folder(opening.state_dir)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            os.write(
                descriptor, line.encode("utf-8", "backslashreplace")
            )  # one call: lines of two processes stay whole
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageIOError(
            f"the audit log {path} cannot be written: {error.strerror}",
            errno=error.errno,
            hint="check its permissions and the free space; what cannot be recorded is not done",
        ) from error


def warn(message: str) -> None:
    """Something that is skipped and has to be known."""
    import logging

    logging.getLogger(LOGGER).warning("%s", message)


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="milliseconds")
