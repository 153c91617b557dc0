"""What the commands have in common: options, progress, and how outcomes are told."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentm_encryption.device_identity import PLAIN, WAYS
from agentm_encryption.epochs import format_fingerprint
from agentm_kernel.command import shown
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    from agentm_encryption.epochs import Keys
    from agentm_kernel.plugin import Locator

    F = TypeVar("F", bound=Callable[..., object])

_LISTED = 20


def identity_option(function: F) -> F:
    return click.option(
        "--identity",
        "way",
        type=click.Choice(WAYS),
        default=PLAIN,
        help="How this device keeps its own key: in a private file, under a passphrase, or in the keyring.",
    )(function)


def name_option(function: F) -> F:
    return click.option("--name", default=None, help="What this device is called among the members.")(function)


def recovery_options(function: F) -> F:
    function = click.option("--recovery", metavar="RECIPIENT", help="The public half (age1…) of a recovery key.")(
        function
    )
    return click.option(
        "--recovery-file",
        type=click.Path(dir_okay=False),
        help="Make a recovery key in this file; take the file off this device afterwards.",
    )(function)


def recovery_maker(recovery: str | None, recovery_file: str | None) -> Callable[[], str] | None:
    """What gives the recovery key that was named, or makes the one that was asked for; `None` without either."""
    from agentm_encryption.membership import new_recovery_file

    if recovery and recovery_file:
        raise click.UsageError("--recovery and --recovery-file are two ways to say one thing: give one of them")
    if recovery_file:
        return lambda: new_recovery_file(recovery_file)
    return None if recovery is None else lambda: recovery


def bar(label: str, items: list[Locator]) -> Iterator[Locator]:
    """The items with a progress bar, where somebody is looking and it takes a while."""
    hidden = not sys.stderr.isatty() or len(items) < 100
    with click.progressbar(items, label=label, file=sys.stderr, hidden=hidden) as progress:
        yield from progress


def say_keys(keys: Keys) -> None:
    click.echo(f"fingerprint of the keys (epoch {keys.current.number}):")
    click.echo(f"  {format_fingerprint(keys.fingerprint)}")


def key_fields(keys: Keys) -> dict[str, object]:
    """What `say_keys` says, for programs."""
    return {"epoch": keys.current.number, "fingerprint": format_fingerprint(keys.fingerprint)}


def listed(reasons: Mapping[str, str]) -> Iterable[str]:
    """Keys with their reasons, as many as fit."""
    for key, reason in sorted(reasons.items())[:_LISTED]:
        yield shown(f"  {key}: {reason}")
    if len(reasons) > _LISTED:
        yield f"  and {len(reasons) - _LISTED} more"


def say_left(paths: Iterable[str]) -> None:
    for path in paths:
        click.echo(f"a plain version that another program has open, or has written to, is left: {path}", err=True)


def refuse_left(left: Mapping[str, str], what: str, hint: str) -> None:
    """Say what was left alone, and end with an error."""
    for line in listed(left):
        click.echo(line, err=True)
    error = AgentmError(f"{len(left)} of the notes were left as they are, so {what}", hint=hint)
    error.details = {"left": dict(left)}
    raise error
