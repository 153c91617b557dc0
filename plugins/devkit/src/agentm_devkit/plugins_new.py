"""`agentm plugins new`: a distribution with a working backend, for an author to start from."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from agentm_kernel import __version__
from agentm_kernel.command import current_device
from agentm_kernel.plugin import API_VERSION, BACKENDS, PluginError

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

# What is written, relative to the new folder, and the template that it is made from.
_FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "src/$package/__init__.py": "__init__.py",
    "src/$package/backend.py": "backend.py",
    "src/$package/py.typed": None,
    "tests/test_conformance.py": "test_conformance.py",
    "tests/test_backend.py": "test_backend.py",
}


@click.command("new")
@click.argument("name")
@click.option(
    "--dir", "parent", default=".", metavar="DIR", help="Make its folder in DIR; the current one if not given."
)
def command(name: str, parent: str) -> None:
    """Write a distribution for a new store called NAME: a backend, tests that pass the conformance kit, a README.

    What is there already is never overwritten.
    """
    _check_name(name)
    words = _words(name)
    shown = os.path.join(parent, words["distribution"])  # pip takes ./name for a folder, and name for a download
    folder = Path(shown)
    try:
        folder.mkdir(parents=True)
        for target, template in _FILES.items():
            file = folder / Template(target).substitute(words)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_filled(template, words), encoding="utf-8")
    except FileExistsError:
        raise PluginError(
            f"{shown} exists already; nothing was written", hint="choose another name, or another place with --dir"
        ) from None
    except OSError as error:
        raise PluginError(f"cannot write {shown}: {error.strerror}", hint="name another folder with --dir") from error
    click.echo(f"wrote {shown}; next:")
    for line in (f'pip install -e "{shown}[test]"', f"pytest {shown}", f"agentm config set storage.backend {name}"):
        click.echo(f"  {line}")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise click.UsageError(f"'{name}' cannot name a store: use small letters, digits and hyphens, as in my-store")
    for record in current_device().plugins.of(BACKENDS):
        if record.name == name:
            raise PluginError(f"the store '{name}' exists already: it is the {record}", hint="choose another name")


def _words(name: str) -> dict[str, str]:
    distribution = name if name.startswith("agentm-") else f"agentm-{name}"
    major, minor, *_ = __version__.split(".")
    return {
        "name": name,
        "distribution": distribution,
        "package": distribution.replace("-", "_"),
        "class_name": "".join(part.capitalize() for part in name.split("-")) + "Backend",
        "kernel_range": f">={major}.{minor},<{major}.{int(minor) + 1}",
        "api_version": str(API_VERSION),
    }


def _filled(template: str | None, words: dict[str, str]) -> str:
    if template is None:
        return ""
    text = files("agentm_devkit").joinpath("scaffold", f"{template}.template").read_text(encoding="utf-8")
    return Template(text).substitute(words)
