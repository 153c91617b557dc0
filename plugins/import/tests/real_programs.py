"""Sources written by the programs themselves, each installed once into the user's cache directory.

`python plugins/import/tests/real_programs.py` installs them, some minutes the first time; `make e2e` does that.
Programs are run and never imported, each in a home of its own, against models on loopback.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # for what the tests of all plugins share

import tests.node
from model_stubs import Model

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = 200
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests"

FROM_NPM = {
    "claude-code": ("agent-hosts", "@anthropic-ai/claude-code", "2.1.325"),
    "codex": ("agent-hosts", "@openai/codex", "0.166.0"),
    "gemini-cli": ("agent-hosts", "@google/gemini-cli", "0.61.0"),
    "server-memory": ("importers", "@modelcontextprotocol/server-memory", "2026.8.31"),
    "bun": ("importers", "bun", "1.4.4"),
}
"""Name -> folder in the cache, package, pinned version. Agent hosts share the folder of their own plugin's tests."""
PACKED = {"claude-mem": ("claude-mem", "13.25.3")}
"""Unpacked without its dependencies: its database code has none but Bun."""
FROM_PYPI = {
    "basic-memory": ("basic-memory==0.24.1", "3.12"),
    "deepagents": ("deepagents==0.7.32", "3.11"),
    "mem0": ("mem0ai==2.2.1", "3.11"),
    "mempalace": ("mempalace==3.11.0", "3.11"),
}
"""Name -> requirement, the oldest Python that will do. Each has an environment of its own."""


class Unavailable(Exception):
    """Why a program cannot be had here."""


def place(name: str) -> Path:
    if name in FROM_NPM:
        folder, package, version = FROM_NPM[name]
        return _CACHE / folder / f"{package.rpartition('/')[2]}-{version}"
    if name in PACKED:
        return _CACHE / "importers" / f"{PACKED[name][0]}-{PACKED[name][1]}"
    return _CACHE / "importers" / FROM_PYPI[name][0].replace("==", "-")


def install(name: str) -> None:
    """Put one program into the cache, unless it is there."""
    folder = place(name)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if (folder / "installed").exists():
            return
        if name in FROM_PYPI:
            _install_from_pypi(name, folder)
        else:
            _install_from_npm(name, folder)
        (folder / "installed").touch()


def _install_from_npm(name: str, folder: Path) -> None:
    npm = tests.node.npm()
    if npm is None:
        raise Unavailable("there is no npm: `python -m tests.node` installs one")
    (folder / "package.json").write_text('{"name": "agentm-tests", "private": true}\n')
    if name in PACKED:
        package, version = PACKED[name]
        _run([*npm, "pack", "--loglevel=error", f"{package}@{version}"], folder)
        archive = next(folder.glob("*.tgz"))
        _run(["tar", "xzf", archive.name], folder)
        return
    _, package, version = FROM_NPM[name]
    _run([*npm, "install", "--no-audit", "--no-fund", "--loglevel=error", f"{package}@{version}"], folder)


def _install_from_pypi(name: str, folder: Path) -> None:
    requirement, python = FROM_PYPI[name]
    uv = shutil.which("uv", path=os.path.dirname(sys.executable)) or shutil.which("uv")
    if uv is None:
        raise Unavailable("there is no uv: run `make setup`")
    _run([uv, "venv", "--quiet", "--clear", "--python", _python(python), str(folder / "venv")], folder)
    (folder / "overrides.txt").write_text("certifi\n")  # an index may lag behind what a package asks for
    pip = [uv, "pip", "install", "--quiet", "--python", str(folder / "venv/bin/python")]
    _run([*pip, "--overrides", str(folder / "overrides.txt"), requirement], folder)


def _python(oldest: str) -> str:
    """A Python of this machine that is new enough; else its version, for uv to find or to fetch."""
    minor = int(oldest.partition(".")[2])
    if sys.version_info >= (3, minor):
        return sys.executable
    names = [name for newer in range(minor, minor + 4) if (name := shutil.which(f"python3.{newer}"))]
    names += sorted(map(str, Path.home().glob(".pyenv/versions/*/bin/python3")))
    for name in names:  # what stands on PATH may be a shim that leads nowhere
        ask = [name, "-c", f"import sys; sys.exit(sys.version_info < (3, {minor}))"]
        if subprocess.run(ask, capture_output=True, check=False).returncode == 0:
            return name
    return oldest


def _run(command: list[str], folder: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    environ = options.pop("env", tests.node.environ_for_npm())
    done = subprocess.run(
        command,
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        stdin=subprocess.DEVNULL,
        **options,
    )
    if done.returncode:
        raise Unavailable(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-400:]}")
    return done


def program(name: str, *parts: str) -> str:
    if not (place(name) / "installed").exists():
        raise Unavailable(f"{name} is not installed: run `make e2e`, or this file")
    return str(place(name).joinpath(*parts))


def environ_of(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": tests.node.environ_for_npm()["PATH"], "DISABLE_TELEMETRY": "1", **more}


class Tools:
    """An MCP server on standard input and output, as an agent host starts it."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._number = 0
        client = {"name": "agentm-tests", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> None:
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer or answer["result"].get("isError"):
            raise Unavailable(f"{tool} failed: {str(answer)[:300]}")

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        raise Unavailable(f"{self._process.args!r} ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()


# ------------------------------------------------------------------------------------------------ the makers


def server_memory(home: Path) -> Path:
    file = home / "graph" / "memory.jsonl"
    file.parent.mkdir()
    index = program("server-memory", "node_modules/@modelcontextprotocol/server-memory/dist/index.js")
    tools = Tools([tests.node.node() or "node", index], environ_of(home, MEMORY_FILE_PATH=str(file)))
    entities = [
        {"name": f"Thing {n}", "entityType": "decision", "observations": [f"Observation {n}", "Twice: see above"]}
        for n in range(COUNT)
    ]
    tools.call("create_entities", entities=entities)
    relations = [{"from": f"Thing {n}", "to": f"Thing {n + 1}", "relationType": "uses"} for n in range(COUNT - 1)]
    tools.call("create_relations", relations=relations)
    tools.close()
    return file


def basic_memory(home: Path) -> Path:
    tools = Tools([program("basic-memory", "venv/bin/basic-memory"), "mcp"], environ_of(home))
    for number in range(COUNT):
        body = (
            f"# Note {number}\n\n- [decision] Use number {number} #x (because)\n- relates_to [[Note {number + 1}]]\n"
        )
        tools.call("write_note", title=f"Note {number}", directory=f"area-{number % 7}", content=body, tags=["a"])
    tools.close()
    return home / "basic-memory"


def mem0(home: Path) -> Path:
    script = """
import sys
from mem0.memory.storage import SQLiteManager
history = SQLiteManager(sys.argv[1])
for n in range(int(sys.argv[2])):
    history.add_history(f"m{n}", None, f"Likes tea number {n}", "ADD", created_at="2026-08-01T10:00:00+00:00")
    if n % 4 == 0:
        history.add_history(f"m{n}", f"Likes tea number {n}", f"Likes coffee number {n}", "UPDATE",
            created_at="2026-08-01T10:00:00+00:00", updated_at="2026-08-02T10:00:00+00:00")
    if n % 10 == 9:
        history.add_history(f"m{n}", f"Likes tea number {n}", None, "DELETE", is_deleted=1)
history.close()
"""
    folder = home / ".mem0"
    folder.mkdir()
    python = program("mem0", "venv/bin/python")
    environ = environ_of(home, MEM0_TELEMETRY="False")
    _run([python, "-c", script, str(folder / "history.db"), str(COUNT)], home, env=environ)
    return folder


def mempalace(home: Path) -> Path:
    source = home / "papers"
    source.mkdir()
    for number in range(COUNT):
        text = (
            f"# Paper {number}\n\nThe lamp number {number} is on, and the door of room {number} stays "
            f"shut at night.\n" * 3
        )
        (source / f"paper-{number}.md").write_text(text)
    with Model(lambda _: []) as model:
        environ = environ_of(
            home,
            MEMPALACE_EMBEDDING_MODEL="openai-compat",
            MEMPALACE_EMBEDDING_API_URL=model.url,
            MEMPALACE_EMBEDDING_API_MODEL="stub",
            ANONYMIZED_TELEMETRY="False",
        )
        command = program("mempalace", "venv/bin/mempalace")
        _run([command, "init", "--yes", str(source)], home, env=environ)
        _run([command, "mine", "--direct", "--wing", "widgets", str(source)], home, env=environ)
    return next(path.parent for path in home.rglob("chroma.sqlite3"))


def claude_mem(home: Path) -> Path:
    folder = home / ".claude-mem"
    folder.mkdir()
    script = home / "store.cjs"
    script.write_text("""
const { SessionStore } = require(process.argv[2])
const store = new SessionStore(process.argv[3])
store.createSDKSession('content-1', 'widgets', 'do it')
store.ensureMemorySessionIdRegistered(1, 'memory-1')
const kinds = ['decision', 'bugfix', 'feature', 'discovery', 'change']
for (let n = 0; n < Number(process.argv[4]); n++) {
  store.storeObservation('memory-1', 'widgets', { type: kinds[n % 5], title: `Observation ${n}`, subtitle: `Sub ${n}`,
    facts: [`fact ${n}`], narrative: `The narrative of ${n}.`, concepts: ['how-it-works'],
    files_read: [`src/${n}.py`], files_modified: [] }, n)
}
store.storeSummary('memory-1', 'widgets', { request: 'Do it', investigated: 'All of it', learned: 'A lot',
  completed: 'Everything', next_steps: 'None', notes: null }, 1)
""")
    bun = program("bun", "node_modules/bun/bin/bun.exe")
    store = program("claude-mem", "package/plugin/sqlite/SessionStore.js")
    environ = environ_of(home, CLAUDE_MEM_DATA_DIR=str(folder))
    _run([bun, str(script), store, str(folder / "claude-mem.db"), str(COUNT)], home, env=environ)
    return folder


def run_claude(home: Path, model: Model, prompt: str) -> None:
    project = home / "widgets"
    environ = environ_of(
        home,
        ANTHROPIC_BASE_URL=model.url,
        ANTHROPIC_API_KEY="dummy",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
    )
    command = [program("claude-code", "node_modules/.bin/claude"), "-p", prompt]
    _run([*command, "--allowedTools", "Write", "--permission-mode", "acceptEdits"], project, env=environ)


def claude_code(home: Path) -> Path:
    def answer(request: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        results = json.dumps(request["messages"]).count('"type": "tool_result"')
        turns = -(-results // (COUNT // 4))
        folder = re.search(r"(/[^\s\"`\\]*?/memory)/?[\s`\\]", json.dumps(request.get("system", "")))
        has_tool = any(tool.get("name") == "Write" for tool in request.get("tools", []))
        if not has_tool or folder is None or turns >= 5:
            return []
        kinds = ("user", "feedback", "project", "reference")
        files = {
            f"memory-{n}.md": f"---\nname: memory-{n}\ndescription: What {n} is about\nmetadata:\n"
            f"  type: {kinds[n % 4]}\n---\n\nNumber {n} holds, see [[memory-{n - 1}]].\n"
            for n in range(turns * COUNT // 4, (turns + 1) * COUNT // 4)
        }
        if turns == 4:
            index = "".join(f"- [Memory {n}](memory-{n}.md) — what {n} is about\n" for n in range(COUNT))
            files = {"MEMORY.md": index}
        return [("Write", {"file_path": f"{folder[1]}/{name}", "content": text}) for name, text in files.items()]

    with Model(answer) as model:
        run_claude(home, model, "Remember all of this.")
    return home / ".claude"


def run_codex(home: Path, model: Model, prompt: str) -> None:
    """With its memory on, and the tools for it."""
    project = home / "widgets"
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "config.toml").write_text(
        'model = "stub"\nmodel_provider = "stub"\n\n[features]\nmemories = true\n\n'
        "[memories]\ndedicated_tools = true\ngenerate_memories = false\n\n"
        f'[model_providers.stub]\nname = "stub"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
        f'env_key = "STUB_KEY"\n\n[projects."{project}"]\ntrust_level = "trusted"\n'
    )
    command = [program("codex", "node_modules/.bin/codex"), "exec", "--skip-git-repo-check", prompt]
    _run(command, project, env=environ_of(home, STUB_KEY="dummy"))


def codex_answers(calls: list[tuple[str, dict[str, Any]]]) -> Callable[[dict[str, Any]], list[tuple[str, Any]]]:
    """A model that calls these tools, fifty in a turn, when it is asked by the session that has them."""

    def answer(request: dict[str, Any]) -> list[tuple[str, Any]]:
        done = sum(item.get("type") == "function_call_output" for item in request.get("input", []))
        has_tools = any(tool.get("name") == "memories" for tool in request.get("tools", []))
        return calls[done : done + 50] if has_tools else []

    return answer


def codex(home: Path) -> Path:
    """Notes that Codex itself writes when the user asks it to remember something."""
    calls = [
        (
            "memories.add_ad_hoc_note",
            {
                "filename": f"2026-08-01T10-{n // 60:02}-{n % 60:02}-note-{n}.md",
                "note": f"# Port {8000 + n}\n\nPort {8000 + n} is taken.\n",
            },
        )
        for n in range(COUNT)
    ]
    with Model(codex_answers(calls)) as model:
        run_codex(home, model, "Remember all of this.")
    return home / ".codex"


def gemini(home: Path) -> Path:
    project = home / "widgets"
    (home / ".gemini").mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))

    def answer(request: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        turns = sum("functionResponse" in json.dumps(content) for content in request.get("contents", []))
        names = {
            declared.get("name")
            for tool in request.get("tools", [])
            for declared in tool.get("functionDeclarations", [])
        }
        if turns >= 4 or not names:
            return []
        numbers = range(turns * COUNT // 4, (turns + 1) * COUNT // 4)
        if "save_memory" in names:
            return [("save_memory", {"fact": f"The user prefers colour {n}."}) for n in numbers]
        folder = re.search(r"(/[^\s\"`\\]*?/\.gemini/tmp/[^\s\"`\\]*?/memory)", json.dumps(request))
        if folder is None or "write_file" not in names:
            return []
        return [
            (
                "write_file",
                {"file_path": f"{folder[1]}/topic-{n}.md", "content": f"# Topic {n}\n\nTopic {n} is settled.\n"},
            )
            for n in numbers
        ]

    with Model(answer) as model:
        environ = environ_of(home, GOOGLE_GEMINI_BASE_URL=model.url, GEMINI_API_KEY="dummy", NO_BROWSER="1")
        command = [program("gemini-cli", "node_modules/.bin/gemini"), "-p", "Remember all of this.", "--yolo"]
        _run(command, project, env=environ)
    return home / ".gemini"


MAKERS: dict[str, Callable[[Path], Path]] = {
    "basic-memory": basic_memory,
    "claude-code": claude_code,
    "claude-mem": claude_mem,
    "codex": codex,
    "gemini": gemini,
    "mem0": mem0,
    "mempalace": mempalace,
    "server-memory": server_memory,
}


if __name__ == "__main__":
    for each in (*FROM_NPM, *PACKED, *FROM_PYPI):
        try:
            install(each)
            print(place(each))
        except Unavailable as error:
            print(f"{each} cannot be had: {error}", file=sys.stderr)
