"""agentm as people install, upgrade and remove it, from a folder of wheels: with pip, with uv and with pipx.

Each way has a home of its own with the settings of an agent host in it. What was there before has to be there
afterwards, byte for byte, and beside it only what belongs to the operator.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.packaging.built import REPOSITORY, uv, wheels_in
from tests.packaging.environment import Failed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BUNDLE = "agentm-memory"
PREVIOUS = "139a49a"
"""The commit that was 0.1; a clone without it cannot try the upgrade."""
OURS = (".agentm/memory", ".config/agentm", ".local/state/agentm", ".cache/agentm", "widgets/.git/agentm-checkout")
"""The store, and what `docs/how-to/everyday.md` says to remove with it."""
SETTINGS = '{\n    "model": "opus" ,\n    "hooks": {}\n}\n'


class Unavailable(Exception):
    """What is needed for this is not here; the text says what."""


class User:
    """Somebody with an empty home, an agent host and a project; no git configuration, no locale, few columns."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "widgets"
        self.project.mkdir(parents=True)
        (self.home / ".claude").mkdir()
        (self.home / ".claude" / "settings.json").write_text(SETTINGS)
        (self.project / "README.md").write_text("# Widgets\n")
        subprocess.run(["git", "init", "--quiet", str(self.project)], check=True)
        self.tools = folder / "tools"
        self.agentm = ""

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "PIP_", "SSL_"))}
        return {
            **kept,
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(self.tools / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]),
            "COLUMNS": "60",
            "AGENTM_PATIENCE": "30",  # what is tried here does not depend on how busy the machine is
            "GIT_CONFIG_NOSYSTEM": "1",
            # Tools and their caches are not of agentm: they lie elsewhere, so that all that is left is ours.
            "UV_TOOL_DIR": str(self.tools / "uv"),
            "UV_TOOL_BIN_DIR": str(self.tools / "bin"),
            "PIPX_HOME": str(self.tools / "pipx"),
            "PIPX_BIN_DIR": str(self.tools / "bin"),
            "UV_CACHE_DIR": _uv_cache(),
            "UV_CREDENTIALS_DIR": str(self.tools / "credentials"),
            "PIP_CACHE_DIR": str(self.tools / "pip-cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, *command: str, text: str = "") -> str:
        """The output of a command in the project; `Failed` if it fails."""
        words = [self.agentm if command[0] == "agentm" else command[0], *command[1:]]
        done = subprocess.run(
            words, cwd=self.project, env=self.environ, input=text, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def answer(self, *words: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.run("agentm", *words, "--json"))
        return found

    def files(self) -> dict[str, bytes]:
        """Everything in the home, by its path there."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }


def _uv_cache() -> str:
    return subprocess.run([uv(), "cache", "dir"], check=True, capture_output=True, text=True).stdout.strip()


# ------------------------------------------------------------------------------------------------ ways to install


def with_pip(user: User, dist: Path) -> Callable[[], object]:
    """`pip install agentm-memory` in a virtual environment; what removes it again."""
    place = user.tools / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    user.agentm = str(place / "bin" / "agentm")
    user.run(str(place / "bin" / "pip"), "install", "--quiet", "--find-links", str(dist), BUNDLE)
    return lambda: shutil.rmtree(place)


def with_uv(user: User, dist: Path) -> Callable[[], object]:
    """`uv tool install agentm-memory`."""
    fresh = [f"--refresh-package={wheel.distribution}" for wheel in wheels_in(dist)]
    user.run(uv(), "tool", "install", "--quiet", "--find-links", str(dist), *fresh, BUNDLE)
    user.agentm = str(user.tools / "bin" / "agentm")
    return lambda: user.run(uv(), "tool", "uninstall", "--quiet", BUNDLE)


def with_pipx(user: User, dist: Path) -> Callable[[], object]:
    """`pipx install agentm-memory`, by the pipx that is here, or one that uv fetches."""
    found = shutil.which("pipx")
    pipx = [found] if found else [uv(), "tool", "run", "--quiet", "pipx"]
    try:
        user.run(*pipx, "--version")
    except Failed as failure:
        raise Unavailable(f"pipx cannot be had: {failure}") from failure
    user.run(*pipx, "install", "--quiet", f"--pip-args=--find-links {dist}", BUNDLE)
    user.agentm = str(user.tools / "bin" / "agentm")
    return lambda: user.run(*pipx, "uninstall", BUNDLE)


WAYS: dict[str, Callable[[User, Path], Callable[[], object]]] = {"pip": with_pip, "uv": with_uv, "pipx": with_pipx}


def install_use_and_remove(way: str, folder: Path, dist: Path) -> str:
    """From nothing to a note that a session gets, and back; `Failed` if anything but the store is left."""
    user = User(folder)
    before = user.files()
    remove = WAYS[way](user, dist)
    use(user)
    user.run("agentm", "disconnect")
    if not os.path.exists(user.agentm):
        raise Failed(f"{user.agentm} is not there")
    remove()
    if os.path.lexists(user.agentm):
        raise Failed(f"{user.agentm} is still there")
    return compare(before, user)


def use(user: User) -> None:
    """What a first day looks like."""
    user.run("agentm", "setup", "--yes")
    user.run("agentm", "save", "--kind", "decision", "--slug", "database", text="Payments use SQLite.\n")
    user.run("agentm", "save", "--slug", "database", "--kind", "decision", "--update", text="They use Postgres.\n")
    told = user.run("agentm", "hook", "session-start", "--host", "claude-code", text='{"session_id": "1"}')
    if "They use Postgres." not in told:
        raise Failed(f"the session was told {told!r}")
    user.run("agentm", "search", "payments")
    user.run("agentm", "checkpoint", "create")
    user.run("agentm", "doctor")
    if "They use Postgres." not in user.run("agentm", "notes", "show", "database"):
        raise Failed("the note is not there")


def compare(before: dict[str, bytes], user: User) -> str:
    """Fail unless what was there is there, and everything else lies where the page says that agentm keeps things."""
    after = user.files()
    changed = [name for name, data in before.items() if after.get(name) != data]
    if changed:
        raise Failed(f"no longer what they were: {', '.join(changed)}")
    strange = [name for name in after if name not in before and not name.startswith(OURS)]
    if strange:
        raise Failed(f"left behind outside of agentm's own folders: {', '.join(strange)}")
    for ours in OURS[1:]:
        subprocess.run(["rm", "-rf", str(user.home / ours)], check=True)
    kept = {name for name in user.files() if name not in before}
    if not any(name.endswith("decisions/database.md") for name in kept):
        raise Failed("the store went too")
    return f"{len(kept)} files of the store are left, and nothing else"


# ------------------------------------------------------------------------------------------------ upgrading


def build_previous(folder: Path) -> Path:
    """The wheels of 0.1, built from its commit."""
    known = subprocess.run(["git", "cat-file", "-e", f"{PREVIOUS}^{{commit}}"], cwd=REPOSITORY, check=False)
    if known.returncode:
        raise Unavailable(f"this clone does not have {PREVIOUS}, the commit of 0.1")
    tree, dist = folder / "tree", folder / "dist"
    tree.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", PREVIOUS], cwd=REPOSITORY, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    command = [uv(), "build", "--quiet", "--all-packages", "--wheel", "--out-dir", str(dist)]
    done = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)}\n{done.stderr}")
    return dist


def install_previous(user: User, old: Path) -> None:
    """0.1 in a virtual environment, with what somebody has who uses it."""
    place = user.tools / "venv"
    subprocess.run([uv(), "venv", "--quiet", "--python", sys.executable, str(place)], check=True)
    user.agentm = str(place / "bin" / "agentm")
    _pip(user, old, "agentm-device-local", "agentm-recall", "agentm-checkpoint")


def _pip(user: User, dist: Path, *names: str) -> None:
    fresh = [f"--refresh-package={wheel.distribution}" for wheel in wheels_in(dist)]
    python = str(user.tools / "venv" / "bin" / "python")
    user.run(uv(), "pip", "install", "--quiet", "--python", python, "--find-links", str(dist), *fresh, *names)


def leave_data(user: User) -> None:
    """Notes, one of them changed, a personal one, a plan, a setting, a checkpoint: by commands that 0.1 has."""
    for slug, text in (("database", "Payments use SQLite.\n"), ("port", "The server has port 80.\n")):
        user.run("agentm", "save", "--kind", "decision", "--slug", slug, text=text)
    user.run("agentm", "save", "--kind", "fact", "--slug", "tabs", "--personal", text="I use tabs.\n")
    user.run("agentm", "checkpoint", "create")
    user.run("agentm", "save", "--kind", "decision", "--slug", "database", "--update", text="They use Postgres.\n")
    user.run("agentm", "state", "write", "PLAN.md", text="# Plan: ship the widget\n")
    user.run("agentm", "config", "set", "storage.backend", "device-local")


def find_data(user: User) -> None:
    """`Failed` unless everything that `leave_data` left is there, and can be worked on."""
    if "`agentm project register`" not in user.run("agentm", "doctor"):  # 0.1 did not say whose notes they are
        raise Failed("doctor does not say how the notes get their project")
    user.run("agentm", "project", "register")
    said = {
        ("notes", "show", "database"): "They use Postgres.",
        ("notes", "show", "tabs"): "I use tabs.",
        ("search", "server port"): "port",
        ("state", "read", "PLAN.md"): "# Plan: ship the widget",
        ("config", "get", "storage.backend"): "device-local",
        ("hook", "session-start"): "The server has port 80.",
    }
    for words, text in said.items():
        if text not in (found := user.run("agentm", *words)):
            raise Failed(f"agentm {' '.join(words)} says {found!r}")
    (checkpoint,) = user.answer("checkpoint", "list")["checkpoints"]  # type: ignore[misc]
    name = "projects/widgets/decisions/database.md"
    if "SQLite" not in user.run("agentm", "checkpoint", "show", checkpoint["id"], "--path", name):  # type: ignore[has-type]
        raise Failed("the checkpoint does not have the note as it was")
    user.run("agentm", "checkpoint", "restore", "latest", "--path", name, "--yes")
    if "SQLite" not in user.run("agentm", "notes", "show", "database"):
        raise Failed("the checkpoint of the version before cannot be restored")
    user.run("agentm", "notes", "undo", "database")
    user.run("agentm", "doctor")


def upgrade(folder: Path, dist: Path) -> str:
    """Data of 0.1, then the wheels of `dist` over it."""
    old = build_previous(folder / "previous")
    user = User(folder)
    install_previous(user, old)
    if "0.1." not in user.run("agentm", "--version"):
        raise Failed("the previous version is not 0.1")
    leave_data(user)
    before = user.files()
    _pip(user, dist, BUNDLE)
    find_data(user)
    lost = [name for name in before if name.startswith(".agentm/") and name not in user.files()]
    if lost:
        raise Failed(f"gone from the store: {', '.join(lost)}")
    return f"{user.run('agentm', '--version').strip()} found everything that 0.1 had left"
