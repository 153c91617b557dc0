"""`agentm view`: open the page, or write it as files."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import click

from agentm_kernel.command import current_device, store_device
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from agentm_view.opening import Opener
    from agentm_view.server import PageServer


@click.command("view")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="A port of your choice; a free one if not given."
)
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
@click.option("--read-only", is_flag=True, help="Show everything and change nothing.")
@click.option(
    "--export", "folder", metavar="DIR", type=click.Path(), help="Write the page as files into DIR, and end."
)
def command(port: int, no_browser: bool, read_only: bool, folder: str | None) -> None:
    """Open a page with everything that agents remember: look, search, correct, decide.

    The page is served on this machine only, to whoever has its address, and ends with Ctrl-C or after half an hour
    without use. Each address opens one tab; Enter in this terminal makes another one.

    With --export it is written as files that any browser opens, with a search, without a server.
    """
    from agentm_view.memory import Memory

    store = store_device().store_name
    if folder is not None:
        from agentm_view.export import export

        click.echo(export(Memory(read_only=True, store=store), folder))
        return
    from agentm_view.opening import Opener
    from agentm_view.server import PageServer

    try:
        server = PageServer(Memory(read_only=read_only, store=store), port)
    except OSError as error:
        raise AgentmError(
            f"port {port} cannot be used: {error.strerror}", hint="choose another with --port, or leave it out"
        ) from error
    opener = Opener(current_device())
    _show(server, opener, no_browser=no_browser)
    if sys.stdin.isatty():
        threading.Thread(target=_more_addresses, args=(server,), daemon=True).start()
    threading.Thread(target=_close_when_entered, args=(server, opener), daemon=True).start()
    try:
        server.serve()
        click.echo("The page was not used for a while and has ended.", err=True)
    except KeyboardInterrupt:
        click.echo("\nThe page has ended.", err=True)
    finally:
        opener.close()


def _show(server: PageServer, opener: Opener, *, no_browser: bool) -> None:
    address = server.access.new_address()
    if no_browser or not opener.open(address):
        click.echo(f"Open this address in your browser; it works once:\n\n    {address}\n")
    else:
        click.echo(f"The page is open in your browser, at {server.access.origin}")
    click.echo("Ctrl-C ends it." + (" Enter shows another address." if sys.stdin.isatty() else ""))


def _more_addresses(server: PageServer) -> None:
    for _ in sys.stdin:
        click.echo(f"    {server.access.new_address()}")


def _close_when_entered(server: PageServer, opener: Opener) -> None:
    server.entered.wait()
    opener.close()
