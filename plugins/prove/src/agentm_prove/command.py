"""`agentm prove`: try what agentm promises, on this device, in scratch folders, in under a minute."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from agentm_kernel.command import current_device, echo_json, json_option, shown, styled, terminal_width, wrapped
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from types import FrameType

    from agentm_prove.run import Run
    from agentm_prove.trial import Finding, State

_INDENT = 14
"""Columns before what a trial says: its outcome, and how long it took."""
_WORDS: dict[State, tuple[str, str]] = {
    "kept": ("ok", "green"),
    "broken": ("FAIL", "red"),
    "not tried": ("SKIP", "yellow"),
}
_COUNTED: dict[State, str] = {"kept": "kept", "broken": "broken", "not tried": "could not be tried here"}


@click.command("prove")
@click.option("--store", "only_store", is_flag=True, help="Only what is promised of the store.")
@click.option("--hosts", "only_hosts", is_flag=True, help="Only what agent hosts are told.")
@click.option(
    "--only", metavar="TRIAL", multiple=True, help="Only this trial, by its name in the report. May be repeated."
)
@click.option("--report", metavar="FILE", help="Where the report goes; agentm's own folder if not given.")
@json_option
def command(only_store: bool, only_hosts: bool, only: tuple[str, ...], report: str | None, as_json: bool) -> int:
    """Try on this device what agentm promises: that no note is lost, torn or misplaced.

    Eight writers at once, killed and paused ones, a program that keeps the file open, an unmounted store, a full
    disk: each is really made to happen, in a scratch folder on the file system of your store. Your store itself is
    not touched, and nothing stays behind. Takes less than a minute; exits 1 if a promise is broken.
    """
    from agentm_prove.run import Run

    signal.signal(signal.SIGTERM, _end)
    began = time.monotonic()
    run = Run(current_device(), with_store=only_store or not only_hosts, with_hosts=only_hosts or not only_store)
    if unknown := run.keep_only(only):
        raise click.UsageError(f"no trial is called '{unknown}'; there are {', '.join(run.names)}")
    try:
        findings = _try_all(run, as_json)
    except (_Ended, KeyboardInterrupt):
        raise AgentmError("ended before all was tried; nothing was left behind") from None
    seconds = time.monotonic() - began
    path = run.write_report(findings, report)
    ok = all(finding.state != "broken" for finding in findings) and any(f.state == "kept" for f in findings)
    if as_json:
        echo_json(
            ok=ok,
            seconds=round(seconds, 1),
            store=run.kind,
            remarks=list(run.remarks),
            report=path,
            trials=[_fields(finding) for finding in findings],
        )
    else:
        _conclude(findings, run.remarks, seconds, path)
    return int(not ok)


def _try_all(run: Run, as_json: bool) -> list[Finding]:
    findings = []
    for trial, finding in run.findings():
        if finding is None:
            _announce(trial.promise, as_json)
        else:
            findings.append(finding)
            _show(finding, as_json)
    return findings


class _Ended(BaseException):
    """Somebody asked for the end. Not an `Exception`: a trial would take that for its own failure."""


def _end(_number: int, _frame: FrameType | None) -> None:
    raise _Ended


def _announce(promise: str, as_json: bool) -> None:
    """What is going on, for somebody who watches: the line is replaced by the outcome."""
    if not as_json and sys.stdout.isatty():
        click.echo(f"  ...          {promise}"[: terminal_width() - 1], nl=False)


def _show(finding: Finding, as_json: bool) -> None:
    if as_json:
        return
    word, colour = _WORDS[finding.state]
    said, lines = shown(f"{finding.promise}: {finding.saw}"), []
    if sys.stdout.isatty():
        click.echo("\r\033[K", nl=False)
        said, *lines = wrapped(said, terminal_width() - _INDENT)
    click.echo(f"{styled(f'{word:<4}', fg=colour)}  {finding.seconds:4.1f} s  {said}")
    for line in lines:
        click.echo(" " * _INDENT + line)


def _conclude(findings: list[Finding], remarks: tuple[str, ...], seconds: float, path: str | None) -> None:
    for remark in remarks:
        click.echo(f"note: {remark}")
    counts = [
        f"{number} {words}"
        for state, words in _COUNTED.items()
        if (number := sum(finding.state == state for finding in findings))
    ]
    click.echo(f"{', '.join(counts)}; {seconds:.0f} s{f'; report: {path}' if path else ''}")


def _fields(finding: Finding) -> dict[str, object]:
    return {
        "name": finding.name,
        "promise": finding.promise,
        "state": finding.state,
        "saw": finding.saw,
        "seconds": round(finding.seconds, 2),
    }
