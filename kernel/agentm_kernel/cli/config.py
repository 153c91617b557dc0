"""`agentm config`: `get` is declared with the hook commands, the rest is here."""

from __future__ import annotations

import click

from agentm_kernel import errors
from agentm_kernel.cli.command_table import as_text
from agentm_kernel.cli.output import Answer, KernelGroup, completing, nearest
from agentm_kernel.device.config import KNOWN, find, is_group, is_list, is_text, spellings
from agentm_kernel.device.config_writer import set_value, unset_value
from agentm_kernel.device.installed import BACKENDS, WRAPPERS
from agentm_kernel.device.json_text import parse
from agentm_kernel.errors import ConfigError, PluginError, StorageSelectionError
from agentm_kernel.plugins.table import declared_options, find_plugin, known_option_keys
from agentm_kernel.seam.options import Option, check_option
from agentm_kernel.seam.secrets import OVERRIDE, is_secret_field, names_a_secret
from agentm_kernel.selection.adopting import check_may_leave
from agentm_kernel.state import Device

command = KernelGroup("config", help="Read and change the configuration.")

_MASK = "********"


def _known_keys(device: Device) -> dict[str, str]:
    """Settings of the kernel, and the options that installed plugins declare with what they mean."""
    return {**dict.fromkeys(KNOWN, ""), **{k: option.meaning for k, option in known_option_keys(device).items()}}


@command.answering("set")
@click.argument("key", shell_complete=completing(_known_keys))
@click.argument("value")
@click.option("--allow-secrets", is_flag=True, help="Keep a value that only looks like a secret, or has to be here.")
def set_command(device: Device, key: str, value: str, allow_secrets: bool, answer: Answer) -> None:
    """Give the setting KEY a VALUE.

    Lists are written a,b,c or as JSON. An option of a plugin is read as JSON where it is JSON (true, 3, [1, 2]) and
    is a text otherwise; '"3"' is the text 3. A value that looks like a secret is refused.
    """
    _refuse_unknown(device, key)
    if not allow_secrets:
        refuse_secret(key, value)
    key = spellings(key)[0]
    declared, table, name = _declared_options(device, key)
    wanted = checked_value(key, value, declared, table, name, _place(key))
    _ask_to_leave(device, key)
    before, _, was_legacy = find(device.environ)
    set_value(device.environ, key, wanted)
    answer.update(key=key, path=find(device.environ)[0])
    click.echo(f"set {key} in {answer['path']}" + (f", with everything from {before}" if was_legacy else ""))
    _warn_of_missing(device, key, wanted)


def _refuse_unknown(device: Device, key: str) -> None:
    """A key of somebody else may stand in the file, but is not set from here: most are ours with a slip in them."""
    current, known = spellings(key)[0], _known_keys(device)
    if current in (*KNOWN, "bindings") or current.startswith(("plugins.", "stores.")) or is_group(current):
        return
    end = f".{key.rpartition('.')[2]}".lower()
    near = next((name for name in known if name.endswith(end)), "") or nearest(key.lower(), known)
    meant = f"did you mean {near}?" if near else f"there are {', '.join(KNOWN)}, and options of plugins:"
    hint = f"{meant} see `agentm config set --help`"
    raise ConfigError(f"'{key}' is not a setting of agentm; nothing was changed", hint=hint)


def refuse_secret(key: str, value: str) -> None:
    """The file is copied, backed up and shown to agents. Plugins take secrets from the environment or a keyring."""
    if is_secret_field(key.rpartition(".")[2], value):
        hint = f"keep it in the environment or in a keyring; if it is none, or has to be here, add {OVERRIDE}"
        raise ConfigError(f"the value of '{key}' looks like a secret; nothing was changed", hint=hint)


def checked_value(
    key: str, text: str, declared: tuple[Option, ...] | None, table: str, name: str, place: str
) -> object:
    """What the word on the command line means for this key; `ConfigError` unless the declared option can have it."""
    kind = next((option.kind for option in declared or () if option.name == name), "any")
    value: object = text
    if is_list(key) and not text.lstrip().startswith("["):
        value = [item.strip() for item in text.split(",") if item.strip()]
    elif not is_text(key):
        try:
            parsed = parse(text)
        except errors.MalformedJson as error:
            if is_list(key):
                raise click.BadParameter(f"not a list in JSON: {error}", param_hint="VALUE") from None
        else:
            value = parsed if kind not in ("text", "path") or isinstance(parsed, str) else text
    if declared is not None:
        check_option(table, name, value, declared, place)
    return value


def _ask_to_leave(device: Device, key: str) -> None:
    """Another store, or another place of it, is another place for the notes: what guards it has to agree."""
    key = spellings(key)[0]
    group, _, rest = key.partition(".")
    name, _, option = rest.partition(".")
    try:
        is_further = group == "stores" and name in device.config.stores
        is_ours = is_further or (group == "plugins" and name in ("", device.config.storage_backend))
        declared = (_declared_options(device, key)[0] or ()) if is_ours else ()
    except ConfigError:
        return  # what cannot be read guards nothing, and is repaired one setting at a time
    paths = [known.name for known in declared if known.kind == "path"]  # what says where a store lies
    if group == "storage" or (is_ours and option in ("", "backend", *paths)):
        check_may_leave(device.of_store(name) if is_further else device)


def _warn_of_missing(device: Device, key: str, wanted: object) -> None:
    """A plugin may be installed after it is chosen; but as often its name has a slip in it."""
    place = _place(key) or "storage"
    chosen = {f"{place}.backend": BACKENDS, "wrappers": WRAPPERS, f"{place}.wrappers": WRAPPERS}
    if key not in chosen:
        return
    for name in wanted if isinstance(wanted, list) else [wanted]:
        try:
            find_plugin(device, chosen[key], str(name).strip())
        except PluginError as error:
            missing = f"warning: {error.message}; until one does, the store does not open"
            click.echo(f"{missing}\nhint: {error.hint}", err=True)


@command.answering("unset")
@click.argument("key", shell_complete=completing(_known_keys))
def unset_command(device: Device, key: str, answer: Answer) -> None:
    """Remove the setting KEY, or all settings under it."""
    _ask_to_leave(device, key)
    if not unset_value(device.environ, key):
        raise ConfigError(f"'{key}' is not set", hint="`agentm config list` shows what is")
    answer.update(key=key, path=find(device.environ)[0])
    click.echo(f"removed {key} from {answer['path']}")


@command.answering("list")
def list_command(device: Device, answer: Answer) -> None:
    """Show every setting, and what it means where a plugin declares it; values that look like secrets are masked."""
    config, settings, meanings = device.config, {}, {}
    for key, value in config.items():
        try:
            declared, _, name = _declared_options(device, key)
        except (PluginError, StorageSelectionError):
            declared, name = None, ""  # `plugins show` and `doctor` say what is wrong with it
        option = next((option for option in declared or () if option.name == name.partition(".")[0]), None)
        settings[key] = _MASK if option and option.secret else _masked(key, value)
        if option:
            meanings[key] = option.meaning
    answer.update(path=config.path, present=config.is_present, legacy=config.is_legacy)
    answer.update(settings=settings, meanings=meanings)
    found = [(key, as_text(value), meanings.get(key, "")) for key, value in settings.items()]
    rows = [[text if text.isprintable() else ascii(text) for text in row] for row in found]
    answer.show(("key", "value", "meaning"), rows, nothing="nothing is set: the defaults apply")


def _masked(key: str, value: object) -> object:
    """`value` without what is a secret by its key, by a key inside it, or by itself."""
    if value is not None and names_a_secret(key, anywhere=True):
        return _MASK
    if isinstance(value, dict):
        return {name: _masked(name, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked("", inner) for inner in value]
    return _MASK if isinstance(value, str) and is_secret_field(key, value) else value


@command.answering("path")
def path_command(device: Device, answer: Answer) -> None:
    """Show which file holds the configuration, or would hold it."""
    path, status, is_legacy = find(device.environ)
    answer.tell(path, path=path, present=status is not None, legacy=is_legacy)


def _declared_options(device: Device, key: str) -> tuple[tuple[Option, ...] | None, str, str]:
    """The options that a plugin declares for the table of `key`, the table and the option's name; `None` without."""
    group, table, name = (*key.split(".", 2), "", "")[:3]
    if group == "stores" and name not in ("", "backend", "wrappers"):
        group, table = "plugins", device.config.for_store(table).storage_backend or ""
    return declared_options(device, table) if group == "plugins" and name else None, table, name


def _place(key: str) -> str:
    """The table of a further store that `key` is in; empty for any other."""
    return ".".join(key.split(".")[:2]) if key.startswith("stores.") else ""
