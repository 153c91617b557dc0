"""`python -m agentm_devkit.gates [PATH…] [--json]`: 0 clean, 1 findings, 2 something could not be judged."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from agentm_devkit.gates import Report, check

JSON_SCHEMA = 1


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def main(paths: tuple[str, ...], *, as_json: bool) -> None:
    """Check the architecture of the packages at or below PATH (by default here).

    Exit code: 0 clean, 1 findings, 2 a path that is missing or cannot be parsed.
    """
    report = check(paths or (".",))
    if as_json:
        click.echo(json.dumps(_as_json(report), indent=2))
    else:
        _print(report)
    sys.exit(report.exit_code)


def _as_json(report: Report) -> dict[str, object]:
    return {
        "schema": JSON_SCHEMA,
        "modules": report.modules,
        "findings": [asdict(finding) for finding in report.findings],
        "unreadable": [asdict(finding) for finding in report.unreadable],
    }


def _print(report: Report) -> None:
    for finding in (*report.unreadable, *report.findings):
        click.echo(str(finding))
    if not report.exit_code:
        click.echo(f"{report.modules} modules, no findings")


if __name__ == "__main__":
    main(prog_name="python -m agentm_devkit.gates")
