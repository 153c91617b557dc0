"""The source that the gates look at: parsed, never imported, so that a broken plugin can be judged as well."""

from __future__ import annotations

import ast
import os
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentm_devkit.gates.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KERNEL = "agentm_kernel"

_NOT_SHIPPED = frozenset({"__pycache__", "build", "dist", "docs", "node_modules", "tests"})
"""Folders below a given path that hold no code of the distribution itself."""


@dataclass(frozen=True, eq=False)
class Module:
    """One parsed file."""

    name: str
    file: Path
    tree: ast.Module
    distribution: Path | None
    """The folder with the nearest `pyproject.toml`: packages of one distribution belong together."""
    stub: ast.Module | None = None
    """What type checkers read in its place, where a `.pyi` lies beside it: a door lists its names there."""

    @property
    def package(self) -> str:
        """The top-level import package."""
        return self.name.partition(".")[0]

    @property
    def is_kernel(self) -> bool:
        return self.package == KERNEL

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the file: walked once, asked for by each gate."""
        return tuple(ast.walk(self.tree))

    def absolute(self, level: int, name: str) -> str:
        """The absolute name of a relative import: `level` dots before `name`."""
        if not level:
            return name
        parts = self.name.split(".")
        kept = len(parts) - level + (self.file.name == "__init__.py")
        return ".".join([*parts[: max(kept, 0)], *([name] if name else [])])

    def finding(self, line: int, rule: str, sentence: str) -> Finding:
        return Finding(display(self.file), line, rule, sentence)


@dataclass
class Sources:
    """Everything under check, and what could not be read of it."""

    modules: dict[str, Module] = field(default_factory=dict)
    manifests: dict[Path, dict[str, Any]] = field(default_factory=dict)
    """The content of each distribution's `pyproject.toml`, by the file's path."""
    unreadable: list[Finding] = field(default_factory=list)

    @property
    def kernel(self) -> Iterator[Module]:
        return (module for module in self.modules.values() if module.is_kernel)

    @property
    def plugins(self) -> Iterator[Module]:
        return (module for module in self.modules.values() if not module.is_kernel)

    def distribution_of(self, package: str) -> Path | None:
        module = self.modules.get(package)
        return module.distribution if module else None


def collect(paths: Iterable[str | os.PathLike[str]]) -> Sources:
    """Parse the packages at or below `paths`: a file, a package, or a folder that holds distributions."""
    sources = Sources()
    for path in map(Path, paths):
        files = list(_python_files(path))
        if not files:
            reason = "there is no Python package here" if path.exists() else "there is nothing at this path"
            sources.unreadable.append(Finding(display(path), 0, "unreadable", reason))
        for file in files:
            _add(sources, file.absolute())
    return sources


def display(path: Path) -> str:
    """`path` as a reader expects it: relative where it lies below the working directory."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.pardir) else relative


def _python_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if _is_source_folder(Path(folder, name)))
        # Loose files outside packages are tools (setup.py, noxfile.py); below src/ they are modules that ship.
        if "__init__.py" in files or Path(folder).name == "src":
            yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))


def _is_source_folder(folder: Path) -> bool:
    name = folder.name
    return not name.startswith(".") and name not in _NOT_SHIPPED and not (folder / "pyvenv.cfg").exists()


def _add(sources: Sources, file: Path) -> None:
    stub_file = file.with_suffix(".pyi")
    try:
        tree = ast.parse(file.read_bytes(), filename=str(file))
        stub = ast.parse(stub_file.read_bytes(), filename=str(stub_file)) if stub_file.exists() else None
    except (OSError, SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 0
        sources.unreadable.append(Finding(display(file), line, "unreadable", f"it cannot be parsed: {error}"))
        return
    manifest = _nearest_manifest(file)
    module = Module(_dotted_name(file), file, tree, manifest.parent if manifest else None, stub)
    sources.modules[module.name] = module
    if manifest and manifest not in sources.manifests:
        _add_manifest(sources, manifest)


def _add_manifest(sources: Sources, manifest: Path) -> None:
    content: dict[str, Any] = {}
    try:
        content = tomllib.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sources.unreadable.append(Finding(display(manifest), 0, "unreadable", f"it cannot be parsed: {error}"))
    sources.manifests[manifest] = content


def _nearest_manifest(file: Path) -> Path | None:
    return next((found for parent in file.parents if (found := parent / "pyproject.toml").is_file()), None)


def _dotted_name(file: Path) -> str:
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(parts))
