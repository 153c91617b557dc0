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
    from collections.abc import Iterable, Iterator

    from agentm_kernel.device.zipped import ZippedFolder

BACKENDS = "agentm.backends"
WRAPPERS = "agentm.wrappers"
PROVIDERS = "agentm.providers"
RECALL = "agentm.recall"
COMMANDS = "agentm.commands"
NOTES = "agentm.notes"
NOTE_FORMATS = "agentm.note_formats"
IMPORTERS = "agentm.importers"
HOSTS = "agentm.hosts"
OPTIONS = "agentm.options"
TOOLS = "agentm.tools"
SERVERS = "agentm.servers"
VERIFIERS = "agentm.verifiers"
PLUGINS = "agentm.plugins"
HOOKS = ("doctor_checks", "session_start", "event", "page_panels", "alert", "replaced")
"""The hooks of `hookspecs`, which pluggy would have to be imported to ask; a test holds the two equal."""

KINDS = {
    BACKENDS: "backend",
    WRAPPERS: "wrapper",
    PROVIDERS: "provider",
    RECALL: "recall provider",
    COMMANDS: "command",
    NOTES: "notes service",
    NOTE_FORMATS: "format of notes",
    IMPORTERS: "importer",
    HOSTS: "adapter",
    OPTIONS: "table of options",
    TOOLS: "tool",
    SERVERS: "server",
    VERIFIERS: "verifier",
    PLUGINS: "hook plugin",
    **dict.fromkeys((f"{PLUGINS}.{hook}" for hook in HOOKS), "hook plugin"),
}
"""The groups that the kernel knows, each with the word for one of its entries."""

API_GROUP = "agentm.api"
"""Not plugins: the names in this group are the API versions that the distribution was built for (see `load`)."""

_PREFIX = "agentm."
_METADATA_SUFFIXES = (".dist-info", ".egg-info")
_SHORT = 4096
_LARGEST = 1_000_000
"""Bytes of a metadata file. Real ones have a few thousand; a larger one is somebody's accident or attack."""
_SETTLED_AFTER_NS = 2_000_000_000  # the coarsest clock of a file system in use
_STANDARD_LIBRARY = os.path.dirname(getattr(os, "__file__", "")) or None
_NEVER_SITES = frozenset((_STANDARD_LIBRARY, f"{_STANDARD_LIBRARY}{os.sep}lib-dynload"))
"""Python's own folders: no installer puts a distribution there, and looking through their names takes a while."""


class PluginRecord(Frozen):
    """One entry point of an installed distribution, as its metadata declares it."""

    group: str
    name: str
    value: str
    """Where the object is: `module:attribute`."""
    distribution: str
    """The canonical name, as `pip install` and `plugin_policy` know it."""
    version: str
    location: str
    """The folder of the distribution's metadata."""
    api: tuple[str, ...] = ()
    """The kernel API versions that the distribution declares; empty if it declares none."""

    def __init__(
        self,
        group: str,
        name: str,
        value: str,
        distribution: str,
        version: str,
        location: str,
        api: tuple[str, ...] = (),
    ) -> None:
        _keep_group(self, group)
        _keep_name(self, name)
        _keep_value(self, value)
        _keep_distribution(self, distribution)
        _keep_version(self, version)
        _keep_location(self, location)
        _keep_api(self, api)

    def __str__(self) -> str:
        return f"{kind_of(self.group)} '{self.name}' of {self.distribution} {self.version}"


# The slots themselves: every hook makes a hundred of these.
_keep_group, _keep_name, _keep_value, _keep_distribution, _keep_version, _keep_location, _keep_api = (
    vars(PluginRecord)[name].__set__ for name in PluginRecord.__slots__
)


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


class Installed:
    """Every plugin along a search path, in a stable order: one scan."""

    __slots__ = ("records", "unreadable")

    def __init__(self, records: tuple[PluginRecord, ...], unreadable: tuple[str, ...]) -> None:
        self.records = records
        self.unreadable = unreadable
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
    """Read the metadata of every distribution along `path`.

    A distribution that is there several times counts once: the first one, which is the one that would be imported.
    """
    unreadable: list[str] = []
    found = [record for metadata in _distributions(path, unreadable) for record in metadata.records()]
    found.sort(key=lambda record: (record.group, record.name, record.distribution, record.value))
    return Installed(tuple(found), tuple(unreadable))


# ------------------------------------------------------------------------------------------------ metadata folders


def _distributions(path: Iterable[str], unreadable: list[str]) -> Iterator[_Metadata]:
    """The metadata folders along `path` that declare something of ours, each distribution once."""
    searched, taken = set(), set()
    word = _PREFIX.encode()
    for root in path:
        if not isinstance(root, str) or root in searched or root in _NEVER_SITES:
            continue
        searched.add(root)
        site = _open(root, unreadable)
        if site is None:
            continue
        place = os.path.abspath(root)
        for folder in sorted(_metadata_names(root, site.names)):
            # name-version.dist-info, name-version-py3.11.egg-info, name.egg-info; what else there is says it inside
            name = folder.rpartition(".")[0].partition("-")[0] if folder.endswith(_METADATA_SUFFIXES) else ""
            key = canonical_name(name or _header(site, folder, "Name") or folder)
            if key not in taken:
                taken.add(key)
                if site.mentions(folder, word):
                    yield _Metadata(site, place, folder, key)


def _metadata_names(root: str, names: Iterable[str]) -> list[str]:
    # Folders of modules have many hundred names, and most are out at the first glance.
    candidates = [(name, name.lower()) for name in names if name[-5:].lower() == "-info"]
    is_egg = root.lower().endswith(".egg")
    return [
        name
        for name, lowered in candidates
        # A name that begins with ~ is what pip moved aside in an upgrade and could not remove: not installed.
        if (lowered.endswith(_METADATA_SUFFIXES) and name[0] != "~") or (is_egg and lowered == "egg-info")
    ]


def _open(root: str, unreadable: list[str]) -> _Folder | ZippedFolder | None:
    try:
        try:
            return _Folder(root, os.listdir(root or "."), unreadable)
        except NotADirectoryError:
            from agentm_kernel.device.zipped import open_zip

            return open_zip(root, _LARGEST, unreadable)
    except (FileNotFoundError, NotADirectoryError):
        return None  # an entry of sys.path need not exist
    except OSError as error:
        unreadable.append(f"{root}: {error.strerror}")
        return None


class _Folder:
    """A directory on the search path."""

    __slots__ = ("_prefix", "_unreadable", "names", "root")

    def __init__(self, root: str, names: list[str], unreadable: list[str]) -> None:
        self.root = root
        self.names = names
        self._prefix = os.path.join(root, "")
        self._unreadable = unreadable

    def mentions(self, folder: str, word: bytes) -> bool:
        """Whether entry points may have `word` in them: no other distribution is worth a closer look."""
        try:
            descriptor = os.open(f"{self._prefix}{folder}{os.sep}entry_points.txt", NOT_WAITING)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            beginning = os.read(descriptor, _SHORT)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return word in beginning or not 0 < len(beginning) < _SHORT

    def read(self, folder: str, file: str) -> bytes:
        """The bytes of a metadata file; nothing if it is not there."""
        path = f"{self._prefix}{folder}{os.sep}{file}"  # joining costs more than opening
        try:
            return read_small_file(path, _LARGEST)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except OSError as error:
            self.report(f"{path}: {error.strerror}")
            return b""

    def report(self, line: str) -> None:
        self._unreadable.append(line)


class _Metadata:
    """One metadata folder: which distribution it describes, and the plugins that this declares."""

    __slots__ = ("_folder", "_key", "_place", "_site")

    def __init__(self, site: _Folder | ZippedFolder, place: str, folder: str, key: str) -> None:
        self._site, self._place, self._folder, self._key = site, place, folder, key

    def records(self) -> list[PluginRecord]:
        entries = dict.fromkeys(_entries(self._decoded(self._site.read(self._folder, "entry_points.txt"))))
        api = tuple(sorted(name for group, name, _ in entries if group == API_GROUP))
        version = self._folder.rpartition(".")[0].partition("-")[2].partition("-")[0]
        version = version or _header(self._site, self._folder, "Version") or "unknown"
        location = os.path.join(self._place, self._folder)
        return [
            PluginRecord(group, name, value, self._key, version, location, api)
            for group, name, value in entries
            if group != API_GROUP
        ]

    def _decoded(self, data: bytes) -> str:
        """A file that is not UTF-8 is reported, and keeps its good entries."""
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            self._site.report(
                f"{os.path.join(self._site.root, self._folder)}: entry_points.txt is not UTF-8: {error.reason}"
            )
            return data.decode("utf-8", "backslashreplace")


def _header(site: _Folder | ZippedFolder, folder: str, field: str) -> str:
    """One field of the metadata file, which eggs call PKG-INFO."""
    data = site.read(folder, "METADATA") or site.read(folder, "PKG-INFO")
    for line in data.decode("utf-8", "replace").splitlines():
        if not line:
            break  # the description follows
        name, _, value = line.partition(":")
        if name.lower() == field.lower():
            return value.strip()
    return ""


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Group, name and value of the entries that are ours, read as `importlib.metadata` reads them, quirks included.

    A line without `=` is the one exception: there it breaks the whole lookup, here it is an entry without a value,
    which is refused with its name when it is loaded.
    """
    group, is_ours = "", False
    for raw in text.splitlines():
        line = raw.strip()
        if line[:1] == "[" and line[-1] == "]":
            group = line.strip("[]")
            is_ours = group.startswith(_PREFIX)
        elif is_ours and line and line[0] != "#":
            name, _, value = line.partition("=")
            yield group, name.strip(), value.strip()
