"""`agentm hosts`: which agent hosts there are, and whether what they are told arrives."""

from __future__ import annotations

import click

from agentm_hosts.adapter import PROMISED, UNPROVEN
from agentm_hosts.commands.connect import say
from agentm_hosts.connecting import adapter_named
from agentm_hosts.report import reports
from agentm_kernel.command import answering, completing, current_device, echo_json, echo_table, json_option

_SUPPORT = {PROMISED: "tested", UNPROVEN: "not tested"}


@click.group()
def command() -> None:
    """See whether agent hosts are connected, and whether what they are told arrives."""


@command.command("list")
@json_option
def list_hosts(as_json: bool) -> None:
    """Show each agent host: connected or not, what arrived, and what only you can do.

    The last column says how well agentm is known to work with it: tested with the program itself, made by its
    documentation as well as we can (best effort), or not tested yet.
    """
    found = reports(current_device())
    if as_json:
        echo_json(hosts=[report.as_json() for report in found])
        return
    rows = [
        (
            report.host,
            "here" if report.is_present else "not found",
            ", ".join(report.connected) or "not connected",
            report.deliveries,
            _SUPPORT.get(report.proof, report.proof),
        )
        for report in found
    ]
    echo_table(("host", "installed", "connected", "told", "support"), rows)
    for report in found:
        for step in report.open_steps:
            say(f"{report.host}: still to do: {step}")
        for line in report.advice:
            say(f"{report.host}: note: {line}")


@command.command()
@click.argument("host", shell_complete=completing("agentm.hosts"))
@click.option("--program", metavar="PATH", help="The program to check, if it is not on the search path.")
@json_option
def check(host: str, program: str | None, as_json: bool) -> int:
    """Prove now that HOST's installed program passes memory on to its model.

    It runs in a scratch home, with a model stub on loopback and a note with a canary; your own home, credentials and
    network are not used. Your trust and managed settings are not part of the proof.
    """
    from agentm_hosts.check.run import check_host

    adapter = adapter_named(current_device(), host)
    result = check_host(current_device(), adapter, program=program)
    if as_json:
        echo_json(**result.as_json())
    else:
        for line in result.lines():
            click.echo(line)
    return 0 if result.has_arrived else 1


@command.command()
@click.argument("directory", metavar="DIR", type=click.Path())
@answering
def folder(directory: str, answer: dict[str, list[str]]) -> None:
    """Write a plugin folder into DIR that agent hosts install from a path or a repository."""
    from agentm_hosts.folder import write_folder

    answer["files"] = list(write_folder(directory))
    for path in answer["files"]:
        click.echo(path)
