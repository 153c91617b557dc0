"""The life of a command: which modules its data passes through, in order, and what is looked up how often.

`python -m tests.architecture.trace` writes the answer into `docs/explanation/architecture.md`, where a test holds it
true, and below it a line for each file of the kernel, in its own words. A module counts from the first call of one of
its functions; that it is imported does not count.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "architecture.md"

TRACER = """
import json, os, sys
before = set(sys.modules)
import agentm_kernel.cli as deadline

order, counts = [], {"scan": 0, "load": 0}
COUNTED = {("agentm_kernel.device.installed", "scan"): "scan", ("agentm_kernel.device.config", "load"): "load"}
real = deadline.end_process

NOT_CALLS = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>")  # from Python 3.12 on, comprehensions are none

def entered(frame, event, argument):
    if event != "call" or frame.f_code.co_name in NOT_CALLS:
        return
    above = frame.f_back
    if above is not None and above.f_code.co_name == "<module>" and above.f_globals.get("__name__") != "__main__":
        return  # part of an import: the body of a class, a decorator
    name = frame.f_globals.get("__name__", "")
    if name.startswith("agentm_"):
        if name not in order:
            order.append(name)
        counted = COUNTED.get((name, frame.f_code.co_name))
        if counted:
            counts[counted] += 1

def report():
    sys.setprofile(None)
    with open(answer, "w") as file:
        json.dump({"order": order, "counts": counts, "imported": sorted(set(sys.modules) - before)}, file)

def end(code):
    report()
    real(code)

deadline.end_process = end
answer, sys.argv = sys.argv[1], ["agentm", *sys.argv[2:]]
from agentm_kernel.cli.main import main
sys.setprofile(entered)
code = main()
report()
sys.exit(code)
"""

COMMANDS = {
    "state-path plan": ("device-local", ("state-path", "plan"), ""),
    "state append": ("vault", ("state", "append", "progress.md"), "- done\n"),
    "save": ("device-local", ("save", "--kind", "decision", "--slug", "ports"), "Port 80.\n"),
    "hook session-start": ("device-local", ("hook", "session-start", "--host", "plain"), "{}"),
    "plugins list": ("device-local", ("plugins", "list"), ""),
}


class Life:
    """One command, traced on a device of its own."""

    def __init__(self, folder: Path, store: str) -> None:
        self.home = folder / "home"
        self.project = folder / "widgets"
        for made in (self.home, self.project, folder / "vault"):
            made.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", str(self.project)], check=True, capture_output=True)
        self.environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONHASHSEED": "0"}
        self.run("state", "write", "PLAN.md", text="# Plan\n")
        self.run("save", "--kind", "fact", "--slug", "first", text="The first note.\n")
        time.sleep(0.2)  # a folder that has just changed is looked at again by everybody
        self.run("reindex", "--update")
        if store == "vault":
            self.run("vault", "init", str(folder / "vault"), "--use")
            self.run("state", "append", "progress.md", text="- begun\n")

    def run(self, *arguments: str, text: str = "") -> None:
        command = [sys.executable, "-m", "agentm_kernel.cli.main", *arguments]
        subprocess.run(
            command, cwd=self.project, env=self.environ, input=text, text=True, check=True, capture_output=True
        )

    def trace(self, arguments: tuple[str, ...], text: str) -> dict[str, object]:
        answer = self.home / "trace.json"
        command = [sys.executable, "-c", TRACER, str(answer), *arguments]
        done = subprocess.run(
            command, cwd=self.project, env=self.environ, input=text, text=True, capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"agentm {' '.join(arguments)}: {done.stderr}")
        found: dict[str, object] = json.loads(answer.read_text())
        return found


def trace(command: str, folder: Path) -> dict[str, object]:
    """What `command` passed through, and how often it scanned plugins and read the configuration."""
    store, arguments, text = COMMANDS[command]
    return Life(folder, store).trace(arguments, text)


def drawn(order: list[str]) -> str:
    """The modules as a column, grouped by room, in the order in which they were entered."""
    lines: list[str] = []
    room = ""
    for name in order:
        package, _, rest = name.partition(".")
        here, _, module = rest.rpartition(".")
        place = f"{'kernel' if package == 'agentm_kernel' else package} {here}".strip()
        if place != room:
            lines.append(f"{place:<24}{module or rest or package}")
            room = place
        else:
            lines[-1] += f" → {module or rest or package}"
    return "\n".join(lines)


def block(command: str, text: str) -> str:
    return f"<!-- life of {command} -->\n```text\n{text}\n```\n<!-- end -->"


def files() -> str:
    """A row for each file of the kernel: the first sentence that it says of itself."""
    kernel = ROOT / "kernel" / "agentm_kernel"
    rows = ["<!-- files -->", "| file | what it is for |", "|---|---|"]
    for path in sorted(kernel.rglob("*.py"), key=lambda path: (path.parent != kernel, path)):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        sentence, stop, _ = " ".join(said.partition("\n\n")[0].split()).partition(". ")
        name = path.relative_to(kernel).as_posix()
        rows.append(f"| `{name}` | {(sentence + stop).strip().rstrip('.').replace('|', chr(92) + '|')} |")
    return "\n".join([*rows, "<!-- end -->"])


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    start = page.index("<!-- files -->")
    page = page[:start] + files() + page[page.index("<!-- end -->", start) + len("<!-- end -->") :]
    for command in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            found = trace(command, Path(folder))
        order = found["order"]
        assert isinstance(order, list)
        start = page.index(f"<!-- life of {command} -->")
        end = page.index("<!-- end -->", start) + len("<!-- end -->")
        page = page[:start] + block(command, drawn(order)) + page[end:]
        sys.stdout.write(f"{command}: {len(order)} modules, {found['counts']}\n")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
