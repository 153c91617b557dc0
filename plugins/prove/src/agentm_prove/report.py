"""The report of one run: a file that can be attached to an issue as it is."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentm_kernel import __version__
from agentm_kernel.plugin import StorageIOError, atomic_write, make_private_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_kernel.plugin import Device
    from agentm_prove.trial import Finding

_KEPT = 10
"""How many reports stay in agentm's own folder."""


def write_report(
    device: Device, findings: Sequence[Finding], remarks: Sequence[str], kind: str, where: str | None
) -> str:
    """Write the report to `where`, or among agentm's own files, and return its path."""
    text = _text(device, findings, remarks, kind)
    try:
        if where is not None:
            path = os.path.abspath(where)
        else:
            folder = os.path.join(device.state_dir, "prove")
            make_private_folder(folder)
            path = os.path.join(folder, f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.md")
            _drop_older(folder)
        atomic_write(path, text)
    except OSError as error:
        raise StorageIOError(
            f"the report cannot be written: {error.strerror}", hint="name another file with --report FILE"
        ) from error
    return path


def _drop_older(folder: str) -> None:
    names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    for name in names[: -_KEPT + 1]:
        os.unlink(os.path.join(folder, name))


def _text(device: Device, findings: Sequence[Finding], remarks: Sequence[str], kind: str) -> str:
    plugins = sorted({f"{record.distribution} {record.version}" for record in device.plugins.records})
    lines = [
        "# agentm prove",
        "",
        f"- made: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"- agentm-kernel {__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}",
        f"- store: {kind}",
        f"- plugins: {', '.join(plugins)}",
        *(f"- note: {remark}" for remark in remarks),
        "",
        "| trial | outcome | seconds | what was seen |",
        "|---|---|---|---|",
        *(
            f"| {finding.name} | {finding.state} | {finding.seconds:.1f} | {finding.saw.replace('|', '/')} |"
            for finding in findings
        ),
    ]
    return _without_home("\n".join(lines) + "\n", device)


def _without_home(text: str, device: Device) -> str:
    """Paths tell who somebody is. What is attached to an issue need not."""
    for path in (device.home, sys.prefix):
        if len(path) > 1:
            text = text.replace(path, "~" if path == device.home else "(python)")
    return text
