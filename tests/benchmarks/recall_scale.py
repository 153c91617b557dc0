"""What 100,000 notes cost beside 1,000: whole commands, as a person, a hook and an agent start them.

The notes lie in twenty projects and five kinds, a hundred folders; the commands are run in one of the projects. The
words are those of the corpus in new combinations, so every word is in a hundred times as many notes: harder than in
life, where more notes bring more words.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.installed import Installed, every_plugin
from tests.benchmarks.measure import interleave
from tests.benchmarks.memory.corpus import notes
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.measure import Samples, Setting
    from tests.benchmarks.tables import Row

SIZES = (1000, 10_000, 100_000)
QUICK_SIZES = (200, 1000, 4000)
BARE = "python -c pass"
_PROJECTS = 20
_FOLDERS = {
    "convention": "conventions",
    "decision": "decisions",
    "fact": "facts",
    "known-issue": "known-issues",
    "reference": "references",
}
_SENTENCES = 8
_LONG_AGO = 86_400 * 30
_QUESTION = "why are uploads to the bucket retried with a growing delay"
_SEARCH, _PROMPT, _START, _SAVE = "search", "hook prompt", "hook session-start", "save"
_START_AFTER = "hook session-start, after a save"
_GOALS = {_SEARCH: 0.2, _PROMPT: 0.2, _START: 0.1, _SAVE: 0.15, _START_AFTER: 0.1}


def run(setting: Setting) -> Table:
    installed = Installed(setting.scratch, every_plugin())
    installed.fill(100)
    sizes = QUICK_SIZES if setting.quick else SIZES
    homes = {size: _Home(installed, size) for size in sizes}
    bare = installed.starting(BARE, homes[sizes[0]].environ)
    rows: list[Row] = []
    # What has just been saved is looked at again until the turn ends: so once without, once with it.
    for commands in ((_SEARCH, _PROMPT, _START), (_SAVE, _START_AFTER)):
        work: dict[str, Callable[[], object]] = {BARE: bare}
        for size, home in homes.items():
            work |= {f"{command} {size}": home.starting(command) for command in commands}
        samples = interleave(work, rounds=setting.rounds(15, 3), batch=1)
        rows += [_row(samples, command, sizes) for command in commands]
    rows += _changes(homes[sizes[-1]])
    rows.append({"command": "agentm reindex", **{f"{size:,} notes (ms)": home.built for size, home in homes.items()}})
    note = (
        "Every plugin of this repository installed, compiled, among 100 distributions. Notes of "
        f"{_SENTENCES} sentences in {_PROJECTS} projects, {len(_FOLDERS)} folders each; a question of ten words. "
        "`found by the next`: a note that was saved, and a file that another program replaced, is looked for at once."
    )
    return Table("recall_scale", "Recall: 100,000 notes", note, rows)


def _row(samples: Samples, command: str, sizes: tuple[int, ...]) -> Row:
    row: Row = {"command": f"agentm {command}"}
    for size in sizes:
        row[f"{size:,} notes (ms)"] = samples.seconds(f"{command} {size}") * 1e3
    row["largest / smallest (×)"] = samples.cost(f"{command} {sizes[-1]}", f"{command} {sizes[0]}")
    row["largest / python -c pass (×)"] = samples.cost(f"{command} {sizes[-1]}", BARE)
    row["goal"] = f"≤ {_GOALS[command] * 1e3:.0f} ms, ≤ 2 ×"
    return row


class _Home:
    """A user with so many notes."""

    def __init__(self, installed: Installed, size: int) -> None:
        self._installed = installed
        self.environ = installed.home(f"scale-{size}", "state write PLAN.md")
        self.root = Path(self.environ["HOME"]) / ".agentm" / "memory"
        self._saved = 0
        self.save("first", "# First\n\nThe project's name is taken by its first note.\n")
        _fill(self.root, installed.project.name, size)
        started = time.perf_counter()
        self.run("reindex")
        time.sleep(2.5)  # what has just changed is looked at twice
        self.run("reindex", "--update")
        self.built = (time.perf_counter() - started - 2.5) * 1e3

    def run(self, *words: str, given: str = "") -> str:
        done = subprocess.run(
            [self._installed.agentm, *words],
            cwd=self._installed.project,
            env=self.environ,
            input=given,
            text=True,
            check=True,
            capture_output=True,
        )
        return done.stdout

    def prompt(self, text: str) -> str:
        given = json.dumps({"prompt": text, "cwd": str(self._installed.project)})
        return self.run("hook", "prompt", given=given)

    def starting(self, command: str) -> Callable[[], object]:
        if command == _SEARCH:
            return lambda: self.run("search", _QUESTION)
        if command == _PROMPT:
            return lambda: self.prompt(_QUESTION)
        if command in (_START, _START_AFTER):
            return lambda: self.run("hook", "session-start", given="{}")
        return self._save

    def _save(self) -> None:
        self._saved += 1
        self.save(f"saved-{self._saved}", f"# Saved {self._saved}\n\nOne more sentence about uploads.\n")

    def save(self, slug: str, text: str) -> None:
        self.run("save", "--kind", "fact", "--slug", slug, given=text)


def _changes(home: _Home) -> list[Row]:
    """Whether what has changed is found at once."""
    home.save("saved-word", "# The quokka\n\nThe quokkamarker decides about quokkas.\n")
    saved = _found(home, "quokkamarker", "saved-word")
    file = next((home.root / "projects" / home._installed.project.name / "decisions").iterdir())
    other = file.with_suffix(".new")
    other.write_text(file.read_text() + "\nThe wombatmarker decides about wombats.\n")
    os.replace(other, file)
    replaced = _found(home, "wombatmarker", file.stem)
    return [
        {"command": "found by the next search, prompt: a saved note", "goal": saved},
        {"command": "found by the next search, prompt: a file that was replaced", "goal": replaced},
    ]


def _found(home: _Home, word: str, slug: str) -> str:
    """The prompt first: a search brings the index up to date."""
    in_prompt = slug in home.prompt(f"what does the {word} decide about")
    in_search = slug in home.run("search", word)
    return ", ".join("yes" if found else "no" for found in (in_search, in_prompt))


def _fill(root: Path, project: str, size: int) -> None:
    """Written without ceremony: the store is not what is measured."""
    generator = random.Random(6)
    entries = notes()
    sentences = [sentence for entry in entries for sentence in entry.body.split(". ")]
    projects = [project, *(f"project-{number}" for number in range(1, _PROJECTS))]
    kinds = list(_FOLDERS.items())
    for name in projects:
        for folder in _FOLDERS.values():
            (root / "projects" / name / folder).mkdir(parents=True, exist_ok=True)
    then = time.time() - _LONG_AGO
    for number in range(size):
        name = projects[number % _PROJECTS]
        kind, folder = kinds[number // _PROJECTS % len(kinds)]
        date = f"2025-{generator.randint(1, 7):02}-{generator.randint(1, 28):02}T10:00:00+00:00"
        body = ".\n".join(generator.choice(sentences) for _ in range(_SENTENCES))
        title = generator.choice(entries).title
        head = f"kind: {kind}\nstatus: active\nproject: {name}\ncreated: {date}\nupdated: {date}\nsource: agent"
        file = root / "projects" / name / folder / f"note-{number}.md"
        file.write_text(f"---\n{head}\n---\n\n# {title}\n\n{body}.\n")
        os.utime(file, (then, then))
