"""Which plugins are installed, read from their metadata. Nothing is imported.

The answer is that of `importlib.metadata`, which hooks cannot afford: importing it costs four times what a bare
interpreter does. So the same folders are read here, and a test holds the two answers against each other.
"""

from __future__ import annotations

import os
import sys
import time

from agentm_kernel.files import NOT_WAITING, read_small_file
from agentm_kernel.seam import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PLUGINS = "agentm.plugins"
HOOKS = ("doctor_checks", "session_start", "event", "page_panels", "alert", "replaced")
"""The hooks of `hookspecs`, which pluggy would have to be imported to ask; a test holds the two equal."""

KINDS = {
    (BACKENDS := "agentm.backends"): "backend",
    (WRAPPERS := "agentm.wrappers"): "wrapper",
    (PROVIDERS := "agentm.providers"): "provider",
    (RECALL := "agentm.recall"): "recall provider",
    (COMMANDS := "agentm.commands"): "command",
    (NOTES := "agentm.notes"): "notes service",
    (NOTE_FORMATS := "agentm.note_formats"): "format of notes",
    (IMPORTERS := "agentm.importers"): "importer",
    (HOSTS := "agentm.hosts"): "adapter",
    (OPTIONS := "agentm.options"): "table of options",
    (TOOLS := "agentm.tools"): "tool",
    (SERVERS := "agentm.servers"): "server",
    (VERIFIERS := "agentm.verifiers"): "verifier",
    PLUGINS: "hook plugin",
    **dict.fromkeys((f"{PLUGINS}.{hook}" for hook in HOOKS), "hook plugin"),
}
"""The groups that the kernel knows, each with the word for one of its entries."""

API_GROUP = "agentm.api"
"""Not plugins: the names in this group are the API versions that the distribution was built for (see `load`)."""

_PREFIX, _MENTION = "agentm.", b"agentm."
_METADATA_SUFFIXES = (".dist-info", ".egg-info")
_SHORT = 479
"""Bytes that tell of most distributions that they are none of ours: as many as Python has memory for at hand."""
_LARGEST = 1_000_000
"""Bytes of a metadata file. Real ones have a few thousand; a larger one is somebody's accident or attack."""
_SETTLED_AFTER_NS = 2_000_000_000  # the coarsest clock of a file system in use
_LIBRARY = os.path.dirname(getattr(os, "__file__", "")) or None
_NEVER_SITES = frozenset((_LIBRARY, f"{_LIBRARY}{os.sep}lib-dynload"))
"""Python's own folders: no installer puts a distribution there, and looking through their names takes a while."""


class PluginRecord(Frozen):
    """One entry point of an installed distribution, as its metadata declares it."""

    group: str
    name: str
    value: str  # where the object is: `module:attribute`
    distribution: str  # the canonical name, as `pip install` and `plugin_policy` know it
    version: str
    location: str  # the folder of the distribution's metadata
    api: tuple[str, ...] = ()  # the kernel API versions that the distribution declares; empty if it declares none

    def __str__(self) -> str:
        return f"{kind_of(self.group)} '{self.name}' of {self.distribution} {self.version}"


def kind_of(group: str) -> str:
    """The word for an entry of `group`."""
    return KINDS.get(group, f"{group} entry")


def canonical_name(name: str) -> str:
    """A distribution's name in the one spelling that stands for all: `My.Store`, `my_store` → `my-store`."""
    plain = name.lower().replace("_", "-").replace(".", "-")
    while "--" in plain:
        plain = plain.replace("--", "-")
    return plain


def is_hook_plugin(record: PluginRecord) -> bool:
    """Whether it listens to hooks: to all of them, or to one by the group's name."""
    return kind_of(record.group) == KINDS[PLUGINS]


def listens_to(record: PluginRecord, hook: str) -> bool:
    """Whether a hook plugin has to be loaded when `hook` is told.

    Group `agentm.plugins` hears everything; group `agentm.plugins.doctor_checks` only that hook. A plugin that merely
    adds rows to doctor must not slow down the start of every session.
    """
    return record.group in (PLUGINS, f"{PLUGINS}.{hook.removeprefix('agentm_')}")


class Installed(Frozen):
    """Every plugin along a search path, in a stable order: one scan."""

    records: tuple[PluginRecord, ...]
    unreadable: tuple[str, ...]
    """What could not be read, a line each. It is left out rather than fatal: one damaged distribution of somebody
    else must not take every plugin away."""

    def of(self, group: str) -> list[PluginRecord]:
        """The plugins of one group."""
        return [record for record in self.records if record.group == group]


def installed_plugins(path: Iterable[str] | None = None) -> Installed:
    """The plugins along `path` (`sys.path` if not given). Scanned again only if a folder of the path has changed.

    Long-lived processes ask before every answer, and a scan of a hundred distributions takes a millisecond.
    """
    global _last_scan
    folders = tuple(sys.path if path is None else path)
    times = tuple(_change_time(folder) for folder in folders if folder not in _NEVER_SITES)
    last = _last_scan
    if last is not None and last[:2] == (folders, times):
        return last[2]
    found = scan(folders)
    # The clock of a file system ticks slowly: a folder that changed just now may change again and look the same.
    if time.time_ns() - max(times, default=0) > _SETTLED_AFTER_NS:
        _last_scan = folders, times, found
    return found


_last_scan: tuple[tuple[str, ...], tuple[int, ...], Installed] | None = None


def _change_time(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except (OSError, ValueError, TypeError):
        return 0  # an entry of the search path need not exist, nor be a path at all


def scan(path: Iterable[str]) -> Installed:
    """Read the metadata of every distribution along `path`; of one that is there twice, the one `import` takes."""
    unreadable: list[str] = []
    found: dict[str, list[PluginRecord]] = {}
    others: list[str] = []
    for root in dict.fromkeys(root for root in path if isinstance(root, str) and root not in _NEVER_SITES):
        try:
            _scan_folder(root, os.listdir(root or "."), found, others, unreadable)
        except FileNotFoundError:
            pass  # an entry of sys.path need not exist
        except NotADirectoryError:
            _scan_archive(root, found, others, unreadable)
        except OSError as error:
            unreadable.append(f"{root}: {error.strerror}")
    records = [record for of_one in found.values() for record in of_one]
    records.sort(key=lambda record: (record.group, record.name, record.distribution, record.value))
    return Installed(tuple(records), tuple(unreadable))


def _scan_folder(
    root: str, names: list[str], found: dict[str, list[PluginRecord]], others: list[str], unreadable: list[str]
) -> None:
    """Put what is ours into `found`, and where all other distributions are into `others`."""
    # Folders of modules have many hundred names, and most are out at the first glance. One that begins with ~ is what
    # pip moved aside in an upgrade and could not remove: not installed.
    candidates = [name for name in names if name[-5:].lower() == "-info" and name[0] != "~"]
    is_egg = root.lower().endswith(".egg")
    prefix, place = os.path.join(root, ""), os.path.abspath(root)
    for folder in sorted(candidates):
        if not (low := folder.lower()).endswith(_METADATA_SUFFIXES) and not (is_egg and low == "egg-info"):
            continue
        path = f"{prefix}{folder}"  # joining costs more than opening
        if not _mentions_us(f"{path}{os.sep}entry_points.txt"):
            others.append(path)
            continue
        key, version = _name_and_version(path, unreadable)
        if _is_first(key, found, others, unreadable):
            text = _decoded(_read(f"{path}{os.sep}entry_points.txt", unreadable), path, unreadable)
            version = version or header(path, "Version", unreadable) or "unknown"
            found[key] = _records(text, key, version, os.path.join(place, folder))


def _name_and_version(path: str, unreadable: list[str]) -> tuple[str, str]:
    """`name-version.dist-info`, `name-version-py3.11.egg-info`, `name.egg-info`; all others say it inside."""
    folder = os.path.basename(path)
    is_plain = folder.endswith(_METADATA_SUFFIXES)
    name, _, version = (folder.rpartition(".")[0] if is_plain else "").partition("-")
    return canonical_name(name or header(path, "Name", unreadable) or folder), version.partition("-")[0]


def _is_first(key: str, found: dict[str, list[PluginRecord]], others: list[str], unreadable: list[str]) -> bool:
    """Whether no distribution before had this name. Theirs are asked for only now: they matter where ours follow."""
    while others:
        found.setdefault(_name_and_version(others.pop(), unreadable)[0], [])
    return key not in found


def _scan_archive(root: str, found: dict[str, list[PluginRecord]], others: list[str], unreadable: list[str]) -> None:
    """A zip archive on the search path (a zipapp) is rare enough for `importlib.metadata` to read it."""
    if not os.path.isfile(root):
        return  # opening a FIFO would wait for somebody who writes to it
    from importlib.metadata import distributions

    for distribution in distributions(path=[root]):
        try:
            key = canonical_name(distribution.metadata["Name"])
            text = distribution.read_text("entry_points.txt") or ""
            location = os.path.join(os.path.abspath(root), f"{key}-{distribution.version}")
            if _is_first(key, found, others, unreadable):
                found[key] = _records(text, key, distribution.version, location)
        except Exception as error:  # noqa: BLE001 - an archive can be damaged in many ways
            unreadable.append(f"{root}: {error}")


def _records(text: str, key: str, version: str, location: str) -> list[PluginRecord]:
    """The plugins that the entry points of one distribution declare, read as `importlib.metadata` reads them, quirks
    included. A line without `=` is the one exception: there it breaks the whole lookup, here it is an entry without a
    value, which is refused with its name when it is loaded.
    """
    entries: dict[tuple[str, str, str], None] = {}
    group = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line[:1] == "[" and line[-1] == "]":
            group = line.strip("[]")
        elif line and line[0] != "#" and group.startswith(_PREFIX):
            name, _, value = line.partition("=")
            entries[group, name.strip(), value.strip()] = None
    api = tuple(sorted(name for group, name, _ in entries if group == API_GROUP))
    return [PluginRecord(*entry, key, version, location, api) for entry in entries if entry[0] != API_GROUP]


def _mentions_us(path: str) -> bool:
    """Whether entry points may be of interest: no other distribution is worth a closer look."""
    try:
        descriptor = os.open(path, NOT_WAITING)
        try:
            beginning = os.read(descriptor, _SHORT)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    # Not `in`, which takes bytes for a number first, and fails at it, for twice the price.
    return beginning.find(_MENTION) >= 0 or not 0 < len(beginning) < _SHORT


def _read(path: str, unreadable: list[str]) -> bytes:
    """The bytes of a metadata file; nothing if it is not there."""
    try:
        return read_small_file(path, _LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        unreadable.append(f"{path}: {error.strerror}")
        return b""


def _decoded(data: bytes, folder: str, unreadable: list[str]) -> str:
    """A file that is not UTF-8 is reported, and keeps its good entries."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        unreadable.append(f"{folder}: entry_points.txt is not UTF-8: {error.reason}")
        return data.decode("utf-8", "backslashreplace")


def header(path: str, field: str, unreadable: list[str] | None = None) -> str:
    """One field of the metadata file in the folder `path`, which eggs call PKG-INFO; nothing if it has none."""
    unreadable = [] if unreadable is None else unreadable
    data = _read(f"{path}{os.sep}METADATA", unreadable) or _read(f"{path}{os.sep}PKG-INFO", unreadable)
    for line in data.decode("utf-8", "replace").splitlines():
        if not line:
            break  # the description follows
        name, _, value = line.partition(":")
        if name.lower() == field.lower():
            return value.strip()
    return ""
