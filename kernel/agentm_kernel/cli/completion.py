"""`agentm completion SHELL`: the script that makes a shell complete agentm's commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    For bash, add to ~/.bashrc:  eval "$(agentm completion bash)"
    """
    from agentm_kernel.cli.app import app

    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(completion(app, {}, "agentm", "_AGENTM_COMPLETE").source())
