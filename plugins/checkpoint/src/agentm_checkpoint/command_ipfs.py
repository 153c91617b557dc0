"""`agentm checkpoint push` and `pull`: a checkpoint on an IPFS daemon."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentm_checkpoint.cids import parse_cid
from agentm_checkpoint.command_context import CommandContext, fields_of
from agentm_checkpoint.remote import pull, push
from agentm_checkpoint.settings import settings_of
from agentm_checkpoint.texts import counted
from agentm_kernel.command import echo_json, json_option
from agentm_kernel.plugin import SWAP_PROVIDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_checkpoint.image import Image
    from agentm_checkpoint.ipfs import Daemon
    from agentm_checkpoint.remote import Report
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_checkpoint.tree import Blocks
    from agentm_kernel.plugin import Device

_CONFIGURED = ""
Result = TypeVar("Result")


def ipfs_option(text: str) -> Callable[[Any], Any]:
    """`--ipfs [URL]`: without a URL, what the configuration says."""
    return click.option("--ipfs", metavar="[URL]", is_flag=False, flag_value=_CONFIGURED, help=text)


def daemon_at(device: Device, url: str | None) -> Daemon:
    from agentm_checkpoint.ipfs import Daemon  # an HTTP client: half of what `create` would load

    settings = settings_of(device)
    return Daemon(url or settings.ipfs_api, allow_remote=settings.ipfs_allow_remote, timeout=settings.ipfs_timeout)


@click.command("push")
@click.argument("name", metavar="[ID]", default="latest")
@ipfs_option("The daemon's API (default: the configured one, or http://127.0.0.1:5001).")
@json_option
def push_command(name: str, ipfs: str | None, as_json: bool) -> None:
    """Push a checkpoint to an IPFS daemon and have it pinned there. Who can reach the daemon can read the notes."""
    here = CommandContext()
    snapshot = here.image.find_certain(name)
    sent = push_to(here, snapshot, ipfs, as_json)
    if as_json:
        echo_json(**fields_of(snapshot), blocks_sent=sent)
    else:
        click.echo(f"{snapshot.id} is pinned on IPFS; {counted(sent, 'block')} sent")


def push_to(here: CommandContext, snapshot: Snapshot, url: str | None, as_json: bool) -> int:
    """Push with a progress bar; how many blocks were sent. What guards the store has to let its notes go there."""
    here.backend.check_allowed(SWAP_PROVIDER)
    return _with_bar(
        "Pushing", as_json, lambda report: push(daemon_at(here.device, url), here.image, snapshot, report)
    )


@click.command("pull")
@click.argument("cid", metavar="CID")
@ipfs_option("The daemon's API (default: the configured one, or http://127.0.0.1:5001).")
@json_option
def pull_command(cid: str, ipfs: str | None, as_json: bool) -> None:
    """Get a checkpoint from an IPFS daemon into the image. The store is not touched; `restore` does that."""
    here = CommandContext()
    snapshot = pull_from(here, cid, ipfs, as_json)
    if as_json:
        echo_json(**fields_of(snapshot))
    else:
        size = counted(snapshot.root.notes, "file")
        click.echo(f"pulled checkpoint {snapshot.id} of {size} into {here.image.path}")


def pull_from(here: CommandContext, cid: str, url: str | None, as_json: bool) -> Snapshot:
    """Fetch, verify everything, and only then append it to the image; a checkpoint that is there stays as it is."""
    snapshot, blocks = fetch_from(here.device, cid, url, as_json)
    keep_pulled(here.image, snapshot, blocks)
    return snapshot


def fetch_from(device: Device, cid: str, url: str | None, as_json: bool) -> tuple[Snapshot, Blocks]:
    """A checkpoint from the daemon with all of its blocks, verified and kept nowhere yet."""
    wanted = parse_cid(cid)
    return _with_bar("Pulling", as_json, lambda report: pull(daemon_at(device, url), wanted, None, report))


def keep_pulled(image: Image, snapshot: Snapshot, blocks: Blocks) -> None:
    missing = {found: block for found, block in blocks.items() if not image.is_whole(found)}
    if missing or snapshot.cid not in image:
        image.append(missing, snapshot)


def _with_bar(label: str, as_json: bool, work: Callable[[Report | None], Result]) -> Result:
    if as_json or not sys.stderr.isatty():
        return work(None)
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def report(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return work(report)
