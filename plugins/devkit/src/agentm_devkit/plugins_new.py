"""`agentm plugins new`: a distribution with a working plugin of some kind, for an author to start from."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

import click

from agentm_devkit.plugins_check import KINDS
from agentm_kernel import __version__
from agentm_kernel.command import answering, current_device
from agentm_kernel.plugin import API_VERSION, PluginError

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


_DECLARES_OPTIONS = '\n[project.entry-points."agentm.options"]\n$name = "$package.options:OPTIONS"\n'


class Start(NamedTuple):
    """What a new plugin of one kind consists of."""

    word: str
    """What it is called in sentences."""
    module: str
    target: str
    """What the entry point names inside of the package."""
    suffix: str
    """What the name of its class ends with."""
    meaning: str
    """What the entry point does, once this is installed."""
    try_it: str
    """The command with which the author sees it at work."""
    guide: str
    modules: tuple[str, ...] = ()
    """Its modules beside `module`."""
    tests: tuple[str, ...] = ()
    needs: str = ""
    """A distribution besides the kernel."""
    more: str = ""
    """Further entry points."""


STARTS = {
    "backend": Start(
        *("store", "backend", ".backend:$class_name", "Backend"),
        "What makes `agentm config set storage.backend $name` work once this is installed.",
        "agentm config set storage.backend $name",
        "write-a-backend.md",
        modules=("options",),
        tests=("test_conformance", "test_backend"),
        more=_DECLARES_OPTIONS,
    ),
    "wrapper": Start(
        *("wrapper", "layer", ".layer:wrap", "Layer"),
        "What makes `agentm config set wrappers $name` work once this is installed.",
        "agentm config set wrappers $name",
        "write-a-wrapper.md",
        modules=("options",),
        tests=("test_layer",),
        more=_DECLARES_OPTIONS,
    ),
    "hooks": Start(
        *("hook plugin", "hooks", ".hooks", "Hooks"),
        "agentm calls the hooks of this module; `agentm.plugins.<hook>` instead would be called for that one alone.",
        "agentm doctor",
        "write-a-hook-plugin.md",
        tests=("test_hooks",),
    ),
    "command": Start(
        *("command", "command", ".command:command", "Command"),
        "What makes `agentm $name` work once this is installed.",
        "agentm $name",
        "write-a-command.md",
        tests=("test_command",),
    ),
    "host": Start(
        *("adapter", "adapter", ".adapter:ADAPTER", "Adapter"),
        "What makes `agentm connect $name` work once this is installed.",
        "agentm connect $name --dry-run",
        "write-an-adapter.md",
        tests=("test_adapter",),
        needs="agentm-hosts",
    ),
    "importer": Start(
        *("importer", "importer", ".importer:IMPORTER", "Importer"),
        "What makes `agentm import $name` work once this is installed.",
        "agentm import $name PATH",
        "import/write-an-importer.md",
        tests=("test_importer",),
        needs="agentm-import",
    ),
    "tool": Start(
        *("tool", "tool", ".tool:TOOL", "Tool"),
        "What makes agents find the tool `$entry` once this is installed.",
        "agentm mcp --help",
        "write-a-tool.md",
        tests=("test_tool",),
    ),
}


@click.command("new")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(tuple(STARTS)),
    metavar="KIND",
    default="backend",
    show_default=True,
    help=f"What it is: {', '.join(STARTS)}.",
)
@click.option(
    "--dir", "parent", default=".", metavar="DIR", help="Make its folder in DIR; the current one if not given."
)
@answering
def command(name: str, kind: str, parent: str, answer: dict[str, object]) -> None:
    """Write a distribution for a new plugin called NAME that works as it is: a store, or another --kind.

    It has tests that pass, the conformance kit among them, and a README. What is there already is never overwritten.
    """
    start = STARTS[kind]
    _check_name(name, kind)
    words = _words(name, kind)
    shown = os.path.join(parent, words["distribution"])  # pip takes ./name for a folder, and name for a download
    folder = Path(shown)
    try:
        folder.mkdir(parents=True)
        for target, template in _files(start).items():
            file = folder / Template(target).substitute(words)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_filled(template, kind, words), encoding="utf-8")
    except FileExistsError:
        raise PluginError(
            f"{shown} exists already; nothing was written", hint="choose another name, or another place with --dir"
        ) from None
    except OSError as error:
        raise PluginError(f"cannot write {shown}: {error.strerror}", hint="name another folder with --dir") from error
    steps = [f'pip install -e "{shown}[test]"', f"pytest {shown}", words["try_it"]]
    answer.update(folder=shown, kind=kind, next=steps)
    click.echo(f"wrote {shown}; next:")
    for line in steps:
        click.echo(f"  {line}")


def _files(start: Start) -> dict[str, str | None]:
    """What is written, relative to the new folder, and the template that it is made from."""
    modules = ("__init__", start.module, *start.modules)
    return {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        **{f"src/$package/{module}.py": f"{module}.py" for module in modules},
        "src/$package/py.typed": None,
        **{f"tests/{test}.py": f"{test}.py" for test in start.tests},
    }


def _check_name(name: str, kind: str) -> None:
    word = STARTS[kind].word
    if not _NAME.fullmatch(name):
        example = "memory-count, whose tool is memory_count" if kind == "tool" else "my-store"
        raise click.UsageError(
            f"'{name}' cannot name a {word}: use small letters, digits and hyphens, as in {example}"
        )
    for record in current_device().plugins.of(KINDS[kind]):
        if record.name in (name, name.replace("-", "_")):
            raise PluginError(f"the {word} '{name}' exists already: it is the {record}", hint="choose another name")


def _words(name: str, kind: str) -> dict[str, str]:
    start = STARTS[kind]
    distribution = name if name.startswith("agentm-") else f"agentm-{name}"
    major, minor, *_ = __version__.split(".")
    versions = f">={major}.{minor},<{major}.{int(minor) + 1}"
    needed = ["agentm-kernel", *([start.needs] if start.needs else [])]
    words = {
        "name": name,
        "title": name.replace("-", " ").capitalize(),
        "entry": name.replace("-", "_") if kind == "tool" else name,  # agents take no other letters
        "kind": start.word,
        "kind_option": kind,
        "module": start.module,
        "distribution": distribution,
        "package": distribution.replace("-", "_"),
        "class_name": "".join(part.capitalize() for part in name.split("-")) + start.suffix,
        "dependencies": ", ".join(f'"{each}{versions}"' for each in needed),
        "api_version": str(API_VERSION),
        "group": KINDS[kind],
        "guide": f"docs/how-to/{start.guide}",
    }
    later = {"target": start.target, "meaning": start.meaning, "try_it": start.try_it, "more": start.more}
    return words | {word: Template(text).substitute(words) for word, text in later.items()}


def _filled(template: str | None, kind: str, words: dict[str, str]) -> str:
    """A kind's own template, or the one of all kinds."""
    if template is None:
        return ""
    scaffold = files("agentm_devkit").joinpath("scaffold")
    own = scaffold.joinpath(kind, f"{template}.template")
    found = own if own.is_file() else scaffold.joinpath(f"{template}.template")
    return Template(found.read_text(encoding="utf-8")).substitute(words)
