"""`agentm checkpoint push` and `pull`: a checkpoint on an IPFS daemon."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentm_checkpoint.cids import parse_cid
from agentm_checkpoint.remote import pull, push
from agentm_checkpoint.words import counted
from agentm_checkpoint.workplace import Workplace, fields_of
from agentm_kernel.command import echo_json, json_option
from agentm_kernel.plugin import SWAP_PROVIDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_checkpoint.ipfs import Daemon
    from agentm_checkpoint.remote import Report
    from agentm_checkpoint.snapshot import Snapshot

_CONFIGURED = ""
Result = TypeVar("Result")


def ipfs_option(text: str) -> Callable[[Any], Any]:
    """`--ipfs [URL]`: without a URL, what the configuration says."""
    return click.option("--ipfs", metavar="[URL]", is_flag=False, flag_value=_CONFIGURED, help=text)


def daemon_at(place: Workplace, url: str | None) -> Daemon:
    from agentm_checkpoint.ipfs import Daemon  # an HTTP client: half of what `create` would load

    settings = place.settings
    return Daemon(url or settings.ipfs_api, allow_remote=settings.ipfs_allow_remote, timeout=settings.ipfs_timeout)


@click.command("push")
@click.argument("name", metavar="[ID]", default="latest")
@ipfs_option("The daemon's API (default: the configured one, or http://127.0.0.1:5001).")
@json_option
def push_command(name: str, ipfs: str | None, as_json: bool) -> None:
    """Push a checkpoint to an IPFS daemon and have it pinned there. Who can reach the daemon can read the notes."""
    place = Workplace()
    snapshot = place.image.find(name)
    sent = push_to(place, snapshot, ipfs, as_json)
    if as_json:
        echo_json(**fields_of(snapshot), blocks_sent=sent)
    else:
        click.echo(f"{snapshot.id} is pinned on IPFS; {counted(sent, 'block')} sent")


def push_to(place: Workplace, snapshot: Snapshot, url: str | None, as_json: bool) -> int:
    """Push with a progress bar; how many blocks were sent. What guards the store has to let its notes go there."""
    place.backend.check_allowed(SWAP_PROVIDER)
    return _with_bar("Pushing", as_json, lambda report: push(daemon_at(place, url), place.image, snapshot, report))


@click.command("pull")
@click.argument("cid", metavar="CID")
@ipfs_option("The daemon's API (default: the configured one, or http://127.0.0.1:5001).")
@json_option
def pull_command(cid: str, ipfs: str | None, as_json: bool) -> None:
    """Get a checkpoint from an IPFS daemon into the image. The store is not touched; `restore` does that."""
    place = Workplace()
    snapshot = pull_from(place, cid, ipfs, as_json)
    if as_json:
        echo_json(**fields_of(snapshot))
    else:
        size = counted(snapshot.root.notes, "note")
        click.echo(f"pulled checkpoint {snapshot.id} of {size} into {place.image.path}")


def pull_from(place: Workplace, cid: str, url: str | None, as_json: bool) -> Snapshot:
    """Fetch, verify everything, and only then append it to the image; a checkpoint that is there stays as it is."""
    wanted = parse_cid(cid)
    snapshot, blocks = _with_bar("Pulling", as_json, lambda report: pull(daemon_at(place, url), wanted, None, report))
    missing = {found: block for found, block in blocks.items() if not place.image.is_whole(found)}
    if missing or snapshot.cid not in place.image:
        place.image.append(missing, snapshot)
    return snapshot


def _with_bar(label: str, as_json: bool, work: Callable[[Report | None], Result]) -> Result:
    if as_json or not sys.stderr.isatty():
        return work(None)
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def report(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return work(report)
