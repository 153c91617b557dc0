"""`agentm config`: `get` is declared with the hook commands, the rest is here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentm_kernel.cli.command_table import as_text
from agentm_kernel.cli.output import answering, completing, current_device, echo_json, echo_table, json_option
from agentm_kernel.device.config import find, spellings
from agentm_kernel.device.config_writer import set_value, unset_value
from agentm_kernel.device.installed import BACKENDS, WRAPPERS
from agentm_kernel.device.json_text import MalformedJson, parse
from agentm_kernel.device.settings import is_list, is_text
from agentm_kernel.errors import ConfigError, PluginError, StorageSelectionError
from agentm_kernel.plugins.table import find_plugin
from agentm_kernel.seam.options import check_option

if TYPE_CHECKING:
    from agentm_kernel.seam.options import Option
    from agentm_kernel.state import Device

_OURS = (
    *("storage", "stores", "state_mode", "plugins", "plugin_policy", "wrappers", "capture", "inbox", "vault_path"),
)
"""What every setting of agentm begins with."""
_MASK = "********"


@click.group("config")
def command() -> None:
    """Read and change the configuration."""


def _known_keys(device: Device) -> dict[str, str]:
    """Settings of the kernel, and the options that installed plugins declare with what they mean."""
    from agentm_kernel.device.settings import KNOWN
    from agentm_kernel.plugins.table import known_option_keys

    return {**dict.fromkeys(KNOWN, ""), **{k: option.meaning for k, option in known_option_keys(device).items()}}


@command.command("set")
@click.argument("key", shell_complete=completing(_known_keys))
@click.argument("value")
@click.option("--allow-secrets", is_flag=True, help="Keep a value that only looks like a secret, or has to be here.")
@answering
def set_command(key: str, value: str, allow_secrets: bool, answer: dict[str, object]) -> None:
    """Give the setting KEY a VALUE.

    Lists are written a,b,c or as JSON. An option of a plugin is read as JSON where it is JSON (true, 3, [1, 2]) and
    is a text otherwise; '"3"' is the text 3. A value that looks like a secret is refused.
    """
    device = current_device()
    environ = device.environ
    _refuse_unknown(device, key)
    if not allow_secrets:
        refuse_secret(key, value)
    key = spellings(key)[0]
    declared, table, name = _declared_options(device, key)
    wanted = value_of(key, value, next((option.kind for option in declared or () if option.name == name), "any"))
    if declared is not None:
        check_option(table, name, wanted, declared, _place(key))
    _ask_to_leave(device, key)
    before, _, was_legacy = find(environ)
    set_value(environ, key, wanted)
    after = find(environ)[0]
    answer.update(key=key, path=after)
    click.echo(f"set {key} in {after}" + (f", with everything from {before}" if was_legacy else ""))
    _warn_of_missing(device, key, wanted)


@command.command("unset")
@click.argument("key", shell_complete=completing(_known_keys))
@answering
def unset_command(key: str, answer: dict[str, object]) -> None:
    """Remove the setting KEY, or all settings under it."""
    device = current_device()
    _ask_to_leave(device, key)
    environ = device.environ
    if not unset_value(environ, key):
        raise ConfigError(f"'{key}' is not set", hint="`agentm config list` shows what is")
    answer.update(key=key, path=find(environ)[0])
    click.echo(f"removed {key} from {answer['path']}")


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Show every setting, and what it means where a plugin declares it; values that look like secrets are masked."""
    device = current_device()
    config = device.config
    options = _options_set(device)
    meanings = {key: option.meaning for key, option in options.items()}
    settings = {
        key: _MASK if key in options and options[key].secret else _masked(key, value) for key, value in config.items()
    }
    if as_json:
        echo_json(
            path=config.path,
            present=config.is_present,
            legacy=config.is_legacy,
            settings=settings,
            meanings=meanings,
        )
    else:
        echo_table(
            ("key", "value", "meaning"),
            [
                tuple(map(_on_one_line, (key, as_text(value), meanings.get(key, ""))))
                for key, value in settings.items()
            ],
            nothing="nothing is set: the defaults apply",
        )


def _masked(key: str, value: object) -> object:
    """`value` without what is a secret by its key, by a key inside it, or by itself."""
    from agentm_kernel.seam.secrets import is_secret_field, names_a_secret

    if value is not None and names_a_secret(key, anywhere=True):
        return _MASK
    if isinstance(value, dict):
        return {name: _masked(name, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked("", inner) for inner in value]
    return _MASK if isinstance(value, str) and is_secret_field(key, value) else value


def _options_set(device: Device) -> dict[str, Option]:
    """The declared options among the settings; only the plugins that these belong to are asked."""
    found = {}
    for key in dict(device.config.items()):
        try:
            declared, _, name = _declared_options(device, spellings(key)[0])
        except (PluginError, StorageSelectionError):
            continue  # `plugins show` and `doctor` say what is wrong with it
        for option in declared or ():
            if option.name == name.partition(".")[0]:
                found[key] = option
    return found


@command.command("path")
@answering
def path_command(answer: dict[str, object]) -> None:
    """Show which file holds the configuration, or would hold it."""
    path, status, is_legacy = find(current_device().environ)
    answer.update(path=path, present=status is not None, legacy=is_legacy)
    click.echo(path)


def _declared_options(device: Device, key: str) -> tuple[tuple[Option, ...] | None, str, str]:
    """The options that a plugin declares for the table of `key`, the table and the option's name; `None` without."""
    from agentm_kernel.plugins.table import declared_options

    group, _, rest = key.partition(".")
    table, _, name = rest.partition(".")
    if group == "stores" and name not in ("", "backend", "wrappers"):
        group, table = "plugins", device.config.for_store(table).storage_backend or ""
    return declared_options(device, table) if group == "plugins" and name else None, table, name


def _place(key: str) -> str:
    """The table of a further store that `key` is in; empty for any other."""
    group, _, rest = key.partition(".")
    return f"stores.{rest.partition('.')[0]}" if group == "stores" else ""


def _refuse_unknown(device: Device, key: str) -> None:
    """A key of somebody else may stand in the file, but is not set from here: most are ours with a slip in them."""
    if key.partition(".")[0] in _OURS:
        return
    from difflib import get_close_matches

    near = get_close_matches(key.lower(), _known_keys(device), n=1) or get_close_matches(key.lower(), _OURS, n=1)
    meant = f"did you mean {near[0]}?" if near else f"all of them begin with {', '.join(_OURS[:-1])}:"
    raise ConfigError(
        f"'{key}' is not a setting of agentm; nothing was changed", hint=f"{meant} see `agentm config set --help`"
    )


def _warn_of_missing(device: Device, key: str, wanted: object) -> None:
    """A plugin may be installed after it is chosen; but as often its name has a slip in it."""
    group = {"storage.backend": BACKENDS, "wrappers": WRAPPERS}.get(key)
    if place := _place(key):
        group = {f"{place}.backend": BACKENDS, f"{place}.wrappers": WRAPPERS}.get(key)
    if group is None:
        return
    for name in wanted if isinstance(wanted, list) else [wanted]:
        try:
            find_plugin(device, group, str(name).strip())
        except PluginError as error:
            click.echo(
                f"warning: {error.message}; until one does, the store does not open\nhint: {error.hint}", err=True
            )


def _ask_to_leave(device: Device, key: str) -> None:
    """Another store is another place for the notes: whatever guards the selected one has to agree."""
    if key.partition(".")[0] == "storage":
        from agentm_kernel.selection import check_may_leave

        check_may_leave(device)


def refuse_secret(key: str, value: str) -> None:
    """The file is copied, backed up and shown to agents. Plugins take secrets from the environment or a keyring."""
    from agentm_kernel.seam.secrets import OVERRIDE, is_secret_field

    if is_secret_field(key.rpartition(".")[2], value):
        raise ConfigError(
            f"the value of '{key}' looks like a secret; nothing was changed",
            hint=f"keep it in the environment or in a keyring; if it is none, or has to be here, add {OVERRIDE}",
        )


def _on_one_line(text: str) -> str:
    return text if text.isprintable() else ascii(text)


def value_of(key: str, text: str, kind: str) -> object:
    """What the word on the command line means for this key, or for an option of this kind."""
    if is_text(key):
        return text
    if is_list(key) and not text.lstrip().startswith("["):
        return [name.strip() for name in text.split(",") if name.strip()]
    try:
        value = parse(text)
    except MalformedJson as error:
        if is_list(key):
            raise click.BadParameter(f"not a list in JSON: {error}", param_hint="VALUE") from None
        return text
    return text if kind in ("text", "path") and not isinstance(value, str) else value
