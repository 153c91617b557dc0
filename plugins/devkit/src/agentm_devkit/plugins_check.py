"""`agentm plugins check`: the conformance kit on a scratch store of an installed backend."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING

import click

from agentm_devkit.scratch import PLACEHOLDER, ScratchStore
from agentm_kernel.command import current_device, echo_json, json_option, styled
from agentm_kernel.plugin import BACKENDS, find_plugin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_devkit.conformance import Report, Result


@click.command("check")
@click.argument("name")
@click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help=f"An option of the backend; {PLACEHOLDER} in the value stands for an empty folder. May be repeated.",
)
@click.option(
    "--env",
    "variables",
    metavar="VARIABLE",
    multiple=True,
    help="Pass this environment variable on. May be repeated.",
)
@click.option(
    "--only", "only", metavar="CHECK", multiple=True, help="Run this check or group of checks. May be repeated."
)
@json_option
def command(
    name: str, options: tuple[str, ...], variables: tuple[str, ...], only: tuple[str, ...], as_json: bool
) -> int:
    """Run the conformance kit on the backend NAME, in scratch folders.

    Your own store is not touched: neither its configuration nor the environment reaches the backend. Exits 1 if a
    check fails.
    """
    from agentm_devkit.conformance import all_checks, run
    from agentm_devkit.conformance.runner import selected

    store = ScratchStore(find_plugin(current_device(), BACKENDS, name), _options(options), _environment(variables))
    with tempfile.TemporaryDirectory(prefix="agentm-check-") as folder:
        store.check_opens(os.path.realpath(folder))
    try:
        chosen = selected(only or None, all_checks())
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    with click.progressbar(
        length=len(chosen), label=f"checking {name}", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        report = run(store, checks=chosen, on_result=lambda _: bar.update(1))
    if as_json:
        echo_json(plugin=name, ok=report.ok, results=[_fields(result) for result in report.results])
    else:
        _show(name, report)
    return int(not report.ok)


def _options(given: Iterable[str]) -> dict[str, str]:
    options = {}
    for option in given:
        name, equals, value = option.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--option takes NAME=VALUE, not '{option}'")
        options[name] = value
    return options


def _environment(variables: Iterable[str]) -> dict[str, str]:
    missing = [name for name in variables if name not in os.environ]
    if missing:
        raise click.UsageError(f"not set in this environment: {', '.join(missing)}")
    return {name: os.environ[name] for name in variables}


def _show(name: str, report: Report) -> None:
    for result in report.results:
        if result.outcome != "passed":
            status = styled("FAIL", fg="red") if result.outcome == "failed" else "SKIP"
            click.echo(f"{status}  {result.check.group}/{result.check.name}: {result.detail}")
    counts = ", ".join(f"{len(report.having(outcome))} {outcome}" for outcome in ("passed", "failed", "skipped"))
    click.echo(f"{name}: {counts}")


def _fields(result: Result) -> dict[str, str]:
    return {
        "check": result.check.name,
        "group": result.check.group,
        "outcome": result.outcome,
        "detail": result.detail,
    }
