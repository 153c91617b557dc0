"""Who takes part: what people keep an agent's memory in, and agentm on each of its stores.

Each keeps one note, or what it has instead of one, below `site.disk`. A program that cannot be had here raises
`Unavailable` with the reason, and is left out by name.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from tests.benchmarks.rivals.clients import Desk, Program, Refused, Tools

_REPOSITORY = Path(__file__).resolve().parents[3]
sys.path += [str(_REPOSITORY / "plugins" / name / "tests") for name in ("import", "bucket")]

from real_programs import FROM_NPM, FROM_PYPI, Unavailable, install, place  # noqa: E402

PERSON = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ana"), ("EMAIL", "ana@example.com"))
}


class Site:
    """The folders of one trial: `disk`, which may go away or fill up, and a home beside it for each device."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.disk = folder / "disk"
        self.disk.mkdir(parents=True, exist_ok=True)
        self.url = ""
        self._warm: Any = None

    def keep_warm(self, client: Any) -> None:
        """The program that made the note, for the work to go on with: some take ten seconds to start."""
        self._warm = client
        self.stack.callback(client.kill)

    def take_warm(self) -> Any:
        client, self._warm = self._warm, None
        return client

    def home(self, number: int = 0) -> Path:
        home = self.folder / f"home-{number}"
        home.mkdir(exist_ok=True)
        return home

    def environ(self, number: int = 0, **more: str) -> dict[str, str]:
        """Nothing of the user's own; git is told who works."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        git = {"GIT_CONFIG_NOSYSTEM": "1", **PERSON}
        home = str(self.home(number))
        return {**kept, **git, "HOME": home, "XDG_CONFIG_HOME": f"{home}/.config", **more}


class Contestant:
    """`prepare` makes the note, `start` a program that adds to it."""

    name: str
    has_file = True
    """Whether the note is a text file that other programs may change."""
    on_disk = True
    """Whether what is added lies on this device."""

    def version(self) -> str:
        raise NotImplementedError

    def prepare(self, site: Site, text: str) -> None:
        """`text`: what the note begins with, in whole lines."""
        raise NotImplementedError

    def start(self, site: Site, number: int = 0) -> Any:
        raise NotImplementedError

    def file(self, site: Site) -> Path:
        return site.disk / "shared.md"

    def as_text(self, line: str) -> str:
        """How a line stands in the file."""
        return f"{line}\n"


# ------------------------------------------------------------------------------------------------ by hand


class PlainFiles(Contestant):
    name = "plain files"

    def version(self) -> str:
        return "read, change, write"

    def prepare(self, site: Site, text: str) -> None:
        self.file(site).write_text(text)

    def start(self, site: Site, number: int = 0) -> Desk:
        return Desk(sys.executable, "plain_files", [str(self.file(site))], site.environ(), str(site.folder))


class GitByHand(Contestant):
    name = "git by hand"

    def version(self) -> str:
        return subprocess.run(["git", "version"], check=True, capture_output=True, text=True).stdout.split()[2]

    def file(self, site: Site) -> Path:
        return site.disk / "clone-0" / "shared.md"

    def prepare(self, site: Site, text: str) -> None:
        self._git(site, "init", "-q", "--bare", "-b", "main", str(site.folder / "origin.git"))
        self._clone(site, 0)
        self.file(site).write_text(text)
        self._git(site, "-C", str(self.file(site).parent), "add", "-A")
        self._git(site, "-C", str(self.file(site).parent), "commit", "-q", "-m", "begin")
        self._git(site, "-C", str(self.file(site).parent), "push", "-q", "-u", "origin", "HEAD:main")

    def start(self, site: Site, number: int = 0) -> Desk:
        if number:
            self._clone(site, number)
        clone = str(site.disk / f"clone-{number}")
        return Desk(sys.executable, "git_by_hand", [clone], site.environ(), str(site.folder))

    def _clone(self, site: Site, number: int) -> None:
        clone = site.disk / f"clone-{number}"
        if not clone.exists():
            self._git(site, "clone", "-q", str(site.folder / "origin.git"), str(clone))

    def _git(self, site: Site, *arguments: str) -> None:
        done = subprocess.run(["git", *arguments], check=False, env=site.environ(), capture_output=True, text=True)
        if done.returncode:
            raise Refused(f"git: {done.stderr.strip()[-200:]}")


# ------------------------------------------------------------------------------------------------ programs


class ServerMemory(Contestant):
    """The reference memory server of MCP: a graph in one file of JSON lines. A line is an entity of its own."""

    name = "MCP server-memory"

    def version(self) -> str:
        install("server-memory")
        return FROM_NPM["server-memory"][2]

    def file(self, site: Site) -> Path:
        return site.disk / "memory.jsonl"

    def as_text(self, line: str) -> str:
        return "\n" + json.dumps({"type": "entity", **_entity(line)})

    def prepare(self, site: Site, text: str) -> None:
        self.file(site).write_text("".join(map(self.as_text, text.splitlines())).lstrip())

    def start(self, site: Site, number: int = 0) -> _Graph:
        from tests.node import node

        index = place("server-memory") / "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
        environ = site.environ(MEMORY_FILE_PATH=str(self.file(site)))
        return _Graph([node() or "node", str(index)], environ, str(site.folder))


def _entity(line: str) -> dict[str, Any]:
    return {"name": line[:40], "entityType": "fact", "observations": [line]}


class _Graph(Tools):
    def add(self, line: str) -> None:
        self.call("create_entities", entities=[_entity(line)])

    def read(self) -> str:
        found = json.loads(self.call("read_graph"))["entities"]
        return "\n".join(text for entity in found for text in entity["observations"])


class BasicMemory(Contestant):
    """Run as a program, as an agent host runs it; its files and its database lie on the disk that is tried."""

    name = "basic-memory"

    def version(self) -> str:
        install("basic-memory")
        return FROM_PYPI["basic-memory"][0].partition("==")[2]

    def prepare(self, site: Site, text: str) -> None:
        client = self.start(site)
        client.call("write_note", title="shared", directory="/", content=text or "begin\n")
        site.keep_warm(client)

    def start(self, site: Site, number: int = 0) -> _Notes:
        program = str(place("basic-memory") / "venv/bin/basic-memory")
        environ = site.environ(
            BASIC_MEMORY_HOME=str(site.disk),
            BASIC_MEMORY_CONFIG_DIR=str(site.home() / "basic-memory"),
            BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED="false",
            BASIC_MEMORY_AUTO_UPDATE="false",
        )
        return _Notes([program, "mcp"], environ, str(site.folder))


class _Notes(Tools):
    def add(self, line: str) -> None:
        said = self.call("edit_note", identifier="shared", operation="append", content=f"{line}\n")
        if re.search(r"^# (Edit Failed|Error)", said, re.MULTILINE):
            raise Refused(said[:300])

    def read(self) -> str:
        said = self.call("read_note", identifier="shared")
        if "[fact" not in said and "Note Not Found" in said:
            raise Refused(said[:300])
        return said


class DeepAgents(Contestant):
    name = "deepagents files"

    def version(self) -> str:
        install("deepagents")
        return FROM_PYPI["deepagents"][0].partition("==")[2]

    def prepare(self, site: Site, text: str) -> None:
        client = self.start(site)
        client.ask("prepare", text=text)
        site.keep_warm(client)

    def start(self, site: Site, number: int = 0) -> Desk:
        python = str(place("deepagents") / "venv/bin/python")
        return Desk(python, "deepagents_files", [str(site.disk)], site.environ(), str(site.folder))


class Mem0(Contestant):
    """Records with vectors in its local store. The vectors come from a stand-in; nothing else of it is replaced."""

    name = "mem0"
    has_file = False

    def version(self) -> str:
        install("mem0")
        return FROM_PYPI["mem0"][0].partition("==")[2]

    def prepare(self, site: Site, text: str) -> None:
        from model_stubs import Model

        site.url = site.stack.enter_context(Model(lambda _: [])).url
        client = self.start(site)
        client.add(text or "begin")
        site.keep_warm(client)

    def start(self, site: Site, number: int = 0) -> Desk:
        python = str(place("mem0") / "venv/bin/python")
        environ = site.environ(MEM0_TELEMETRY="False", MEM0_DIR=str(site.home(number) / "mem0"))
        return Desk(python, "mem0_memory", [str(site.disk), site.url], environ, str(site.folder))


# ------------------------------------------------------------------------------------------------ agentm


class Agentm(Contestant):
    """Through agentm: the configured store with every layer around it, as commands and hooks have it."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.name = f"agentm, {protocol}"
        self.has_file = self.on_disk = protocol != "bucket"

    def version(self) -> str:
        distribution = {"vault": "agentm-obsidian-vault"}.get(self.protocol, f"agentm-{self.protocol}")
        return version_of(distribution)

    def file(self, site: Site) -> Path:
        return site.disk / "store-0" / "shared.md"

    def prepare(self, site: Site, text: str) -> None:
        getattr(self, f"_prepare_{self.protocol.replace('-', '_')}")(site)
        client = self.start(site)
        if text:
            client.ask("prepare", line=text.removesuffix("\n"))
        site.keep_warm(client)

    def start(self, site: Site, number: int = 0) -> Desk:
        number = number if self.protocol in ("git", "bucket") else 0  # else all writers are on one device
        if self.protocol == "git" and number and not (site.disk / f"store-{number}").exists():
            self._join(site, number)
        if self.protocol == "bucket" and not (site.home(number) / ".config").exists():
            self._configure(site, number)
        environ = site.environ(number, **getattr(site, "credentials", {}))
        return Desk(sys.executable, "agentm_store", [], environ, str(site.home(number)))

    def _prepare_device_local(self, site: Site) -> None:
        (site.disk / "store-0").mkdir()
        self._agentm(site, 0, "config", "set", "plugins.device-local.root", str(site.disk / "store-0"))

    def _prepare_vault(self, site: Site) -> None:
        (site.disk / "store-0").mkdir()
        self._agentm(site, 0, "vault", "init", str(site.disk / "store-0"), "--use")

    def _prepare_git(self, site: Site) -> None:
        subprocess.run(
            ["git", "init", "-q", "--bare", "-b", "main", str(site.folder / "origin.git")],
            check=True,
            env=site.environ(),
        )
        self._join(site, 0)

    def _join(self, site: Site, number: int) -> None:
        clone = str(site.disk / f"store-{number}")
        self._agentm(site, number, "git", "init", clone, f"file://{site.folder}/origin.git", "--use")

    def _prepare_bucket(self, site: Site) -> None:
        from bucket_servers import ServerMissingError, running

        for name in ("seaweedfs", "moto"):
            try:
                server = site.stack.enter_context(running(name, str(site.folder / name))).server
                break
            except ServerMissingError as error:
                missing = str(error)
        else:
            raise Unavailable(missing)
        site.server, site.credentials = server, server.environ  # type: ignore[attr-defined]
        self._configure(site, 0)

    def _configure(self, site: Site, number: int) -> None:
        from bucket_servers import BUCKET

        server = site.server  # type: ignore[attr-defined]
        options = ("--kind", server.kind, "--endpoint", server.endpoint, "--prefix", "rivals")
        self._agentm(site, number, "bucket", "init", BUCKET, *options, "--use")

    def _agentm(self, site: Site, number: int, *arguments: str) -> None:
        program = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"
        environ = site.environ(number, **getattr(site, "credentials", {}))
        done = subprocess.run(
            [sys.executable, "-P", "-c", program, *arguments],
            check=False,
            env=environ,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise Refused(f"agentm {arguments[0]}: {done.stderr.strip()[-300:]}")


CONTESTANTS: tuple[Contestant, ...] = (
    PlainFiles(),
    GitByHand(),
    ServerMemory(),
    BasicMemory(),
    DeepAgents(),
    Mem0(),
    *(Agentm(protocol) for protocol in ("device-local", "vault", "git", "bucket")),
)
LEFT_OUT = {"engram": "it is in no registry of packages; it comes as a program from its own pages"}
"""Rivals that cannot be had from a registry, and why."""
__all__ = ["CONTESTANTS", "LEFT_OUT", "Contestant", "Program", "Site", "Unavailable"]
