"""Layers that lose something of the store in them."""

from __future__ import annotations

import base64

from broken_backends.table import BROKEN, Around, Broken, broken_layer

from agentm_devkit.conformance import LayerSubject
from agentm_kernel.errors import NotFoundError, StorageError
from agentm_kernel.files.store import FileStore
from agentm_kernel.seam import Capabilities, Info
from agentm_kernel.seam.backend import Appends, BackendLayer
from agentm_kernel.seam.facets import FACETS, History, Sealed


class Transparent(BackendLayer):
    """A sound layer that has no say in anything."""

    passes = FACETS


@broken_layer("layer_hands_on_flags", saying="the layer's delete gave False", also=("delete_refused",))
class ForgetsTheNewestFlag(Transparent):
    @property
    def capabilities(self):
        inner = self.inner.capabilities
        return inner.replace(delete=False)


@broken_layer("layer_hands_on_flags", saying="the layer's conflict_files gave False")
class ListsTheFlagsItKnows(Transparent):
    @property
    def capabilities(self):
        inner = self.inner.capabilities
        return Capabilities(
            concurrent_writers=inner.concurrent_writers, device_files=inner.device_files, delete=inner.delete
        )


@broken_layer("layer_hands_on_flags", saying="the layer's encryption gave True")
class SaysThatItEncrypts(Transparent):
    @property
    def capabilities(self):
        return self.inner.capabilities.replace(encryption=True)


@broken_layer("layer_lists_its_facets", saying="DeviceFiles comes through, and `passes` does not name it")
class HandsOutEveryFacet(BackendLayer):
    def facet(self, kind):
        return self if isinstance(self, kind) else self.inner.facet(kind)


@broken_layer("layer_lists_its_facets", saying="Sealed comes through, and `passes` does not name it")
class HandsOutTheStoreBeneathTheEncryption(BackendLayer):
    def facet(self, kind):
        return self.inner.facet(kind) if kind is Sealed else super().facet(kind)


@broken_layer("layer_lists_its_facets", saying="`passes` names History, and it does not come through")
class DropsAFacetThatItLists(Transparent):
    def wrap_facet(self, kind, found):
        return None if kind is History else found


@broken_layer("layer_hands_on_questions", saying="check_usable(False) arrived as")
class AsksOnlyForReading(Transparent):
    def check_usable(self, *, read_only):
        self.inner.check_usable(read_only=True)


@broken_layer("layer_hands_on_questions", saying="check_allowed(storage:push) arrived as []")
class AllowsEverything(Transparent):
    def check_allowed(self, action):
        pass


@broken_layer("layer_hands_on_questions", saying="describe() says 'a layer'")
class DescribesItself(Transparent):
    def describe(self):
        return "a layer"


@broken_layer("layer_hands_on_stamping", saying="self_stamping gave False and not True")
class ForgetsToStamp(Transparent):
    def __init__(self, inner):
        super().__init__(inner)
        self.self_stamping = False


def _sealed(text):
    return base64.b64encode(text.encode()).decode()


class _Encoding(BackendLayer):
    """Sound: stores everything encoded, and gives it back as it was; facets that lead around it are not passed on."""

    changes = ("device_files",)

    @property
    def capabilities(self):
        return self.inner.capabilities.replace(device_files=False)

    def read(self, locator):
        return base64.b64decode(self.inner.read(locator)).decode()

    def write(self, locator, content, *, if_match=None):
        from agentm_kernel.plugin import ABSENT, MAX_CONTENT_BYTES, content_hash, encode_content

        encode_content(content, locator, limit=MAX_CONTENT_BYTES)
        if if_match is None or if_match is ABSENT:
            self.inner.write(locator, _sealed(content), if_match=if_match)
            return locator
        current = self._current(locator)
        condition = (
            content_hash(_sealed(current)) if current is not None and content_hash(current) == if_match else "no"
        )
        self.inner.write(locator, _sealed(content), if_match=condition)
        return locator

    def delete(self, locator, *, if_match=None):
        from agentm_kernel.plugin import content_hash

        if if_match is not None:
            current = self._current(locator)
            if_match = content_hash(_sealed(current)) if current and content_hash(current) == if_match else "no"
        self.inner.delete(locator, if_match=if_match)

    def _current(self, locator):
        try:
            return self.read(locator)
        except NotFoundError:
            return None

    def info(self, locator):
        return self._plain(self.inner.info(locator))

    def walk(self, locator):
        return map(self._plain, self.inner.walk(locator))

    def _plain(self, info):
        if info.is_dir:
            return info
        return Info(info.locator, False, len(self.read(info.locator).encode()), info.mtime, info.version)


_OF_ENCODING = ("content", "reading", "keys", "conditions", "writing", "errors", "routing", "listing")


@broken_layer("layer_tells_the_sizes_of_the_text", saying="size gave 8 and not 4", also=_OF_ENCODING)
class TellsStoredSizes(_Encoding):
    def info(self, locator):
        return self.inner.info(locator)

    def walk(self, locator):
        return self.inner.walk(locator)


@broken_layer(
    "layer_tells_the_sizes_of_the_text", saying="walk(''), at 'dir/note.md', the size gave", also=_OF_ENCODING
)
class WalksStoredSizes(_Encoding):
    def walk(self, locator):
        return self.inner.walk(locator)


@broken_layer("layer_does_not_write_past_itself", saying="", also=_OF_ENCODING)
class AppendsPastItself(_Encoding):
    passes = (Appends,)


class _Limiting(BackendLayer):
    """Sound: takes a kilobyte, and lets nothing through that leads around that."""

    changes = ("device_files",)
    size_limit = 1_000

    @property
    def capabilities(self):
        return self.inner.capabilities.replace(device_files=False)

    def write(self, locator, content, *, if_match=None):
        from agentm_kernel.plugin import encode_content

        encode_content(content, locator, limit=self.size_limit)
        return self.inner.write(locator, content, if_match=if_match)


@broken_layer("layer_limits_what_is_appended", saying="append(")
class AppendsPastItsLimit(_Limiting):
    passes = (Appends,)


@broken_layer(
    "layer_passes_errors_on", saying="read reported absence where the store reported a failure", also=("disk",)
)
class TurnsFailureIntoAbsence(Transparent):
    def read(self, locator):
        try:
            return self.inner.read(locator)
        except NotFoundError:
            raise
        except StorageError as error:
            raise NotFoundError(f"'{locator}' does not exist") from error


@broken_layer(
    "layer_passes_errors_on",
    saying="list answered [] where the store reported a failure",
    also=("disk", "failing_calls"),
)
class HidesWhatCannotBeListed(Transparent):
    def list(self, locator):
        try:
            return self.inner.list(locator)
        except StorageError:
            return []


class _OpensPlain(Around):
    """The author handed the kit the store, and not the layer around it."""

    def __call__(self, scratch):
        return FileStore(scratch)


_forgotten = _OpensPlain(Transparent)
BROKEN.append(
    Broken(
        LayerSubject(_forgotten, wrap=_forgotten.wrap),
        ("layer_is_what_is_opened",),
        "it gave a FileStore, and `wrap` makes a Transparent",
        (),
    )
)
