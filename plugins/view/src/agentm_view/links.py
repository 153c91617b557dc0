"""Where things are: the same screens have addresses on the server and file names in an export."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping


class Links:
    """The addresses of a page that is served."""

    is_live = True

    def screen(self, name: str, query: Mapping[str, str] | None = None) -> str | None:
        """`""` is the first screen. `None`: there is no such place."""
        return f"/{quote(name)}" + (f"?{urlencode(query)}" if query else "")

    def note(self, key: str) -> str:
        return f"/note/{quote(key)}"

    def project(self, slug: str) -> str:
        return f"/project/{quote(slug)}"

    def panel(self, name: str, query: Mapping[str, str]) -> str | None:
        return self.screen(f"panel/{name}", query)


class ExportLinks(Links):
    """The same as files: relative, so that the folder may lie anywhere, and opened by a browser without a server."""

    is_live = False

    def __init__(self, depth: int, projects: frozenset[str] | set[str] = frozenset()) -> None:
        self._up = "../" * depth
        self._projects = projects

    def screen(self, name: str, query: Mapping[str, str] | None = None) -> str | None:
        return None if query else self._up + quote(screen_file(name))

    def note(self, key: str) -> str:
        return self._up + quote(note_file(key))

    def project(self, slug: str) -> str:
        return self._up + quote(project_file(slug))

    def panel(self, name: str, query: Mapping[str, str]) -> str | None:
        return None if query else self._up + quote(panel_file(name))

    def static(self, name: str) -> str:
        return f"{self._up}static/{name}"


def screen_file(name: str) -> str:
    return f"{name or 'index'}.html"


def note_file(key: str) -> str:
    return f"note/{key}.html"


def project_file(slug: str) -> str:
    return f"project/{slug}.html"


def panel_file(name: str) -> str:
    return f"panel/{name}.html"
