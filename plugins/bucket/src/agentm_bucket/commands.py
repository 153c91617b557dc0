"""`agentm bucket`: set a bucket up once, and bring the copy on this device up to date."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from agentm_bucket.backend import PROTOCOL, BucketBackend
from agentm_kernel.command import (
    answering,
    conclude_set_up,
    confirm,
    current_device,
    echo_json,
    echo_table,
    json_option,
    selected_store,
    shown,
)
from agentm_kernel.plugin import (
    STAMP_KEY,
    DeviceCopy,
    Locator,
    NotFoundError,
    Opening,
    StorageIOError,
    StorageSelectionError,
    adopt_store,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONS = ("kind", "bucket", "prefix", "endpoint", "region", "account")
_KIND = (BucketBackend, DeviceCopy, "bucket", "agentm bucket init BUCKET")


@click.group(PROTOCOL)
def command() -> None:
    """Set a bucket up, bring the copy of its plans on this device up to date, settle what both sides changed."""


@command.command("init")
@click.argument("bucket")
@click.option("--kind", default="s3", type=click.Choice(["s3", "azure", "gcs"]), help="What the server speaks.")
@click.option("--prefix", default="", help="A folder inside the bucket.")
@click.option("--endpoint", default="", help="The server, if it is not the vendor's own.")
@click.option("--region", default="", help="Of an S3 bucket.")
@click.option("--account", default="", help="Of an Azure container.")
@click.option("--adopt", is_flag=True, help="Accept a place that has notes already.")
@click.option("--use", "use_it", is_flag=True, help="Select the bucket on this device at once.")
@click.option("--take-along", is_flag=True, help="Select it, with the notes of the store before copied to it.")
@answering
def init(bucket: str, adopt: bool, use_it: bool, take_along: bool, answer: dict[str, object], **given: str) -> None:
    """Make BUCKET a store of the agent. One that another device made is joined.

    Credentials are read from the environment (AWS_ACCESS_KEY_ID and so on) and stored nowhere.
    """
    options = {name: value for name, value in {"bucket": bucket, **given}.items() if value and name in _OPTIONS}
    store = _opened(options)
    is_joined = store.fetch_stamp() is not None
    if not is_joined and not adopt and store.list(Locator()):
        raise StorageSelectionError(
            f"{store.describe()} has objects already and is no store of agentm",
            hint="choose another --prefix, or pass --adopt if they are the agent's notes",
        )
    if not is_joined:
        _refuse_nested(store, options)
    store_id = adopt_store(current_device(), store, PROTOCOL)
    store.pull(store)
    stale = dict.fromkeys(_configuration().keys() & set(_OPTIONS), "")
    answer |= conclude_set_up(
        PROTOCOL,
        {**stale, **options},
        store_id=store_id,
        place=store.describe(),
        was_there=is_joined,
        use_it=use_it,
        take_along=take_along,
    )


@command.command("sync")
@json_option
def sync(as_json: bool) -> None:
    """Send what changed in this device's copy of the plans, and fetch the rest."""
    selected, store = selected_store(*_KIND)
    done = store.push(selected)
    if as_json:
        echo_json(fetched=done.fetched, sent=done.sent, conflicts=list(done.conflicts))
        return
    click.echo(f"{done.fetched} fetched, {done.sent} sent")
    for key in done.conflicts:
        click.echo(shown(f"both sides changed; your version is kept as {key}"))
    if done.conflicts:
        click.echo("`agentm bucket conflicts` lists what is kept")


@command.command("conflicts")
@json_option
def conflicts(as_json: bool) -> None:
    """List the versions of plans that lost to another device's. Looks at this device's copy alone."""
    _, store = selected_store(*_KIND, read_only=True)
    found = store.conflict_copies(Locator())
    if as_json:
        kept = [{"file": kept.note.key, "version": kept.copy.key} for kept in found]
        echo_json(store=store.describe(), conflicts=kept)
    elif found:
        echo_table(("file", "kept version"), [(kept.note.key, kept.copy.key) for kept in found])
        click.echo("take over what is missing, then run `agentm bucket discard VERSION`")
    else:
        click.echo("no conflicts")


@command.command("discard")
@click.argument("version")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answering
def discard(version: str, yes: bool, answer: dict[str, object]) -> None:
    """Remove VERSION, which `conflicts` lists, on every device."""
    selected, store = selected_store(*_KIND)
    locator = Locator(version)
    if locator not in (kept.copy for kept in store.conflict_copies(Locator())):
        raise NotFoundError(f"'{version}' is no kept version of a plan", hint="`agentm bucket conflicts` lists them")
    confirm(f"Remove '{version}' on every device?", yes=yes)
    store.push(selected)  # an edit of it that another device made is seen, and kept
    selected.delete(locator)
    store.pull(selected)
    answer["version"] = version
    click.echo(f"removed {version}")


def _refuse_nested(store: BucketBackend, options: Mapping[str, str]) -> None:
    """Refuse a new store inside another one, or around one: the outer one would take the notes of the inner one for
    its own, and a restore delete them. A key may have no right to look above its prefix; then nobody looks.
    """
    parts = store.place.prefix.split("/") if store.place.prefix else []
    for above in ("/".join(parts[:length]) for length in range(len(parts))):
        outer = _opened({**options, "prefix": above}).inner
        with suppress(StorageIOError):
            if outer.exists(Locator(STAMP_KEY)):
                raise StorageSelectionError(
                    f"{store.describe()} lies inside the store {outer.describe()}",
                    hint="choose another --prefix; one store does not hold another",
                )
    for info in store.inner.walk(Locator()):
        if info.locator.key.endswith(f"/{STAMP_KEY}"):
            raise StorageSelectionError(
                f"{store.describe()} has another store in it, at {info.locator.key.removesuffix(f'/{STAMP_KEY}')}",
                hint="choose another --prefix; one store does not hold another",
            )


def _opened(options: Mapping[str, str]) -> BucketBackend:
    device = current_device()
    kept = {name: value for name, value in _configuration().items() if name not in _OPTIONS}
    store = BucketBackend.create({**kept, **options}, device, Opening(state_dir=device.state_dir))
    store.check_usable(read_only=False)
    return store


def _configuration() -> dict[str, Any]:
    return current_device().config.options(PROTOCOL)
