"""Backends that read something where there is nothing, or nothing where there is something."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

from broken_backends.table import Memory, broken

from agentm_kernel.errors import NotFoundError
from agentm_kernel.seam import Info
from agentm_kernel.seam.locator import Locator


@broken(
    "read_of_nothing",
    saying="read('missing.md') returned ''",
    also=("read_below_file", "case_when_reading", "delete", "update", "update_keeps_a_rival_edit", "errors"),
)
class ReadsNothingAsEmpty(Memory):
    def read(self, locator):
        if self._notes and not self.exists(locator):
            return ""
        return super().read(locator)


@broken(
    "read_from_new_store",
    saying="read('missing.md') returned ''",
    also=("update", "update_keeps_a_rival_edit", "mkdir_makes_directory"),
)
class ReadsNewStoreAsEmpty(Memory):
    def read(self, locator):
        return super().read(locator) if self._notes else ""


@broken(
    "read_of_directory",
    saying="read('dir') returned ''",
    also=("parents_appear", "neighbours", "mkdir_makes_directory", "delete"),
)
class ReadsDirectoriesAsEmpty(Memory):
    def read(self, locator):
        return "" if locator.key and locator in self._directories else super().read(locator)


@broken("read_of_root", saying="read('') raised the untyped IsADirectoryError")
class RootIsARawError(Memory):
    def read(self, locator):
        if not locator.key:
            raise IsADirectoryError(21, "Is a directory")
        return super().read(locator)


@broken("read_below_file", saying="raised the untyped NotADirectoryError")
class ReadBelowFileIsARawError(Memory):
    def read(self, locator):
        if locator.parent in self._notes:
            raise NotADirectoryError(20, "Not a directory")
        return super().read(locator)


@broken("exists", saying="exists('dir') gave False", also=("mkdir_makes_directory",))
class DirectoriesDoNotExist(Memory):
    def exists(self, locator):
        return locator in self._notes or not locator.key


@broken("exists_of_nothing", saying="exists('di') gave True", also=("delete", "delete_on_condition"))
class PrefixesExist(Memory):
    def exists(self, locator):
        return super().exists(locator) or any(note.key.startswith(locator.key) for note in self._notes)


@broken("info_type", saying="info('dir/note.md') gave namespace(")
class InfoIsANamespace(Memory):
    def info(self, locator):
        info = super().info(locator)
        return SimpleNamespace(**{name: getattr(info, name) for name in Info.__slots__})


@broken("info_of_nothing", saying="info('missing.md') returned Info(")
class InfoOfNothingIsZero(Memory):
    def info(self, locator):
        if not self.exists(locator) and locator.parent not in self._notes:
            return Info(locator, False, 0, 0.0, "")
        return super().info(locator)


@broken("info_below_file", saying="raised the untyped NotADirectoryError")
class InfoBelowFileIsARawError(Memory):
    def info(self, locator):
        if locator.parent in self._notes:
            raise NotADirectoryError(20, "Not a directory")
        return super().info(locator)


@broken("info_kind", saying="info('dir/note.md').is_dir gave True")
class EverythingIsADirectory(Memory):
    def info(self, locator):
        info = super().info(locator)
        return Info(locator, True, info.size, info.mtime, info.version)


@broken("info_size", saying="info('dir/note.md').size gave 8 and not 12")
class CountsCharacters(Memory):
    def info(self, locator):
        info = super().info(locator)
        return info if info.is_dir else Info(locator, False, len(self.read(locator)), info.mtime, info.version)


@broken("info_mtime", saying="it is '2024-01-01'")
class TellsTheDate(Memory):
    def info(self, locator):
        info = super().info(locator)
        return Info(locator, info.is_dir, info.size, "2024-01-01", info.version)


@broken("version_changes", saying="after another write it went from '5' to '5'")
class VersionIsTheSize(Memory):
    def info(self, locator):
        info = super().info(locator)
        return Info(locator, info.is_dir, info.size, info.mtime, str(info.size))


@broken("version_stays", saying="info.version after a read", also=("walk_agrees_with_info",))
class VersionIsNeverTheSame(Memory):
    _ticks = itertools.count()

    def info(self, locator):
        info = super().info(locator)
        return Info(locator, info.is_dir, info.size, info.mtime, f"{info.version}-{next(self._ticks)}")


@broken("info_of_nothing", saying="raised the untyped KeyError", also=("exists_of_nothing", "info_below_file"))
class NothingIsAKeyError(Memory):
    def info(self, locator):
        try:
            return super().info(locator)
        except NotFoundError:
            raise KeyError(Locator(locator.key)) from None
