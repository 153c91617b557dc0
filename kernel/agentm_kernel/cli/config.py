"""`agentm config`: `get` is declared with the hook commands, the rest is here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentm_kernel.cli.config_values import as_text, masked
from agentm_kernel.cli.output import current_device, echo_json, echo_table, json_option
from agentm_kernel.device.config import find
from agentm_kernel.device.config_writer import set_value, unset_value
from agentm_kernel.device.json_text import MalformedJson, parse
from agentm_kernel.device.settings import is_list, is_text
from agentm_kernel.errors import ConfigError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from agentm_kernel.state.device import Device

_OURS = ("storage", "state_mode", "plugins", "plugin_policy", "wrappers", "vault_path")
"""What every setting of agentm begins with."""


@click.group("config")
def command() -> None:
    """Read and change the configuration."""


def _complete_key(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Settings of the kernel, and the options that installed plugins declare."""
    from click.shell_completion import CompletionItem

    from agentm_kernel.device.settings import KNOWN
    from agentm_kernel.plugins.options import known_option_keys

    keys = {**dict.fromkeys(KNOWN, ""), **{k: o.meaning for k, o in known_option_keys(current_device()).items()}}
    return [CompletionItem(key, help=text or None) for key, text in keys.items() if key.startswith(incomplete)]


@command.command("set")
@click.argument("key", shell_complete=_complete_key)
@click.argument("value")
@click.option("--allow-secrets", is_flag=True, help="Keep a value that only looks like a secret, or has to be here.")
def set_command(key: str, value: str, allow_secrets: bool) -> None:
    """Give the setting KEY a VALUE.

    Lists are written a,b,c or as JSON. An option of a plugin is read as JSON where it is JSON (true, 3, [1, 2]) and
    is a text otherwise; '"3"' is the text 3. A value that looks like a secret is refused.
    """
    _refuse_misspelt(key)
    if not allow_secrets:
        _refuse_secret(key, value)
    device = current_device()
    environ = device.environ
    wanted = _value_of(key, value)
    _check_option(device, key, wanted)
    _ask_to_leave(device, key)
    before, _, was_legacy = find(environ)
    set_value(environ, key, wanted)
    after = find(environ)[0]
    click.echo(f"set {key} in {after}" + (f", with everything from {before}" if was_legacy else ""))


@command.command("unset")
@click.argument("key")
def unset_command(key: str) -> None:
    """Remove the setting KEY, or all settings under it."""
    device = current_device()
    _ask_to_leave(device, key)
    environ = device.environ
    if not unset_value(environ, key):
        raise ConfigError(f"'{key}' is not set", hint="`agentm config list` shows what is")
    click.echo(f"removed {key} from {find(environ)[0]}")


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Show every setting; values that look like secrets are masked."""
    config = current_device().config
    settings = {key: masked(key, value) for key, value in config.items()}
    if as_json:
        echo_json(path=config.path, present=config.is_present, legacy=config.is_legacy, settings=settings)
    else:
        echo_table(
            ("key", "value"), [(_on_one_line(key), _on_one_line(as_text(value))) for key, value in settings.items()]
        )


@command.command("path")
@json_option
def path_command(as_json: bool) -> None:
    """Show which file holds the configuration, or would hold it."""
    path, status, is_legacy = find(current_device().environ)
    if as_json:
        echo_json(path=path, present=status is not None, legacy=is_legacy)
    else:
        click.echo(path)


def _check_option(device: Device, key: str, value: object) -> None:
    """An option of a plugin that declares its options is one of these, and of the declared kind."""
    from agentm_kernel.plugins.options import declared_options
    from agentm_kernel.seam.options import check_option

    group, _, rest = key.partition(".")
    table, _, name = rest.partition(".")
    if group == "plugins" and name and (declared := declared_options(device, table)) is not None:
        check_option(table, name, value, declared)


def _refuse_misspelt(key: str) -> None:
    """A key of somebody else may stand in the file. One that is nearly ours is meant for us, and would do nothing."""
    from difflib import get_close_matches

    first = key.partition(".")[0]
    if first in _OURS:
        return
    near = get_close_matches(first.lower(), _OURS, n=1, cutoff=0.75)
    if near:
        raise ConfigError(f"'{key}' is not a setting of agentm", hint=f"did you mean {near[0]}? nothing was changed")


def _ask_to_leave(device: Device, key: str) -> None:
    """Another store is another place for the notes: whatever guards the selected one has to agree."""
    if key.partition(".")[0] == "storage":
        from agentm_kernel.selection.open import check_may_leave

        check_may_leave(device)


def _refuse_secret(key: str, value: str) -> None:
    """The file is copied, backed up and shown to agents. Plugins take secrets from the environment or a keyring."""
    from agentm_kernel.seam.secrets import OVERRIDE, is_secret_field

    if is_secret_field(key.rpartition(".")[2], value):
        raise ConfigError(
            f"the value of '{key}' looks like a secret; nothing was changed",
            hint=f"keep it in the environment or in a keyring; if it is none, or has to be here, add {OVERRIDE}",
        )


def _on_one_line(text: str) -> str:
    return text if text.isprintable() else ascii(text)


def _value_of(key: str, text: str) -> object:
    """What the word on the command line means for this key."""
    if is_text(key):
        return text
    if is_list(key) and not text.lstrip().startswith("["):
        return [name.strip() for name in text.split(",") if name.strip()]
    try:
        return parse(text)
    except MalformedJson as error:
        if is_list(key):
            raise click.BadParameter(f"not a list in JSON: {error}", param_hint="VALUE") from None
        return text
