"""Backends that list too much, too little, or in another order."""

from __future__ import annotations

from broken_backends.table import Memory, broken

from agentm_kernel.seam import Info


@broken(
    "list_type",
    saying="it gave (Locator(",
    also=("listing", "declaring", "spelling", "deepest_keys", "empty_note_exists"),
)
class ListsATuple(Memory):
    def list(self, locator):
        return tuple(super().list(locator))


@broken("list_children", saying="list('') gave", also=("walk_finds_all", "case_as_stored", "delete_leaves_no_ghost"))
class ListsGrandchildren(Memory):
    def list(self, locator):
        children = super().list(locator)
        if locator.key:
            return children
        return sorted(
            [*children, *(deeper for child in children for deeper in super(ListsGrandchildren, self).list(child))]
        )


@broken("list_order", saying="list('') gave", also=("walk_finds_all",))
class SortsDirectoriesAsPrefixes(Memory):
    """As an object store, in which a directory is a name that ends in a slash."""

    def list(self, locator):
        return sorted(super().list(locator), key=lambda child: child.key + "/" * (child in self._directories))


@broken("list_order", saying="list('') gave", also=("walk_finds_all",))
class SortsByUtf16(Memory):
    def list(self, locator):
        return sorted(super().list(locator), key=lambda child: child.key.encode("utf-16-be"))


@broken("list_of_nothing", saying="list('a/su') gave")
class ListsByPrefix(Memory):
    def list(self, locator):
        if self.exists(locator):
            return super().list(locator)
        return sorted(note for note in self._notes if note.key.startswith(locator.key))


@broken("list_of_file", saying="list('a.md') gave [Locator('a.md')]", also=("walk_of_nothing",))
class ListsAFileAsItself(Memory):
    def list(self, locator):
        return [locator] if locator in self._notes else super().list(locator)

    def walk(self, locator):
        return iter(()) if locator in self._notes else super().walk(locator)


@broken("walk_finds_all", saying="walk('') gave")
class WalksBreadthFirst(Memory):
    def walk(self, locator):
        level = [locator]
        while level:
            infos = [self.info(child) for directory in level for child in self.list(directory)]
            yield from infos
            level = [info.locator for info in infos if info.is_dir]


@broken("walk_agrees_with_info", saying="walk(''), at '10.md', gave Info(")
class WalksWithoutSizes(Memory):
    def walk(self, locator):
        for info in super().walk(locator):
            yield Info(info.locator, info.is_dir, 0, info.mtime, info.version)


@broken("walk_of_nothing", saying="walk('a.md') gave [Info(")
class WalksAFileAsItself(Memory):
    def walk(self, locator):
        if locator in self._notes:
            yield self.info(locator)
        yield from super().walk(locator)
