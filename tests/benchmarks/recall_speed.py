"""Searching 10,000 notes against SQLite's own MATCH, and what keeping the index up to date takes."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

from agentm_device_local import DeviceLocalBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import BackendLayer
from agentm_recall.index.database import Database
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.plan import plan_of
from agentm_recall.index.search import Scope, scope_condition, search
from tests.benchmarks.measure import interleave
from tests.benchmarks.memory.corpus import notes, questions
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentm_kernel.plugin import Info, StorageBackend
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

SIZE = 10_000
_SENTENCES = 8
_LONG_AGO = 86_400 * 30
_MATCH = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 10"


class Counting(BackendLayer):
    """Counts how often the store is asked."""

    def __init__(self, inner: StorageBackend) -> None:
        super().__init__(inner)
        self.reads = self.listings = 0

    def read(self, locator: Locator) -> str:
        self.reads += 1
        return super().read(locator)

    def walk(self, locator: Locator) -> Iterator[Info]:
        self.listings += 1
        return super().walk(locator)


def run(setting: Setting) -> Table:
    size = setting.rounds(SIZE, SIZE // 10)
    store = Counting(DeviceLocalBackend(setting.scratch / "store"))
    _fill(setting.scratch / "store", size)
    index = RecallIndex(store, {"HOME": str(setting.scratch / "home")})
    rows = [_kept(f"build the index of {size:,} notes", store, index.rebuild)]
    rows.append(_kept("bring it up to date, nothing changed", store, index.update))
    _change(next((setting.scratch / "store" / "projects" / "shop" / "facts").iterdir()))
    rows.append(_kept("bring it up to date, one note changed", store, index.update))
    rows += _queries(index, setting)
    note = (
        f"{size:,} notes of {_SENTENCES} sentences in six projects. A query is one of the frozen questions, answered "
        "in process on a warm index; SQLite's own time is that of the same MATCH with its default bm25 and LIMIT 10."
    )
    return Table("recall_speed", "Recall: speed", note, rows)


def _kept(name: str, store: Counting, work: Callable[[], object]) -> Row:
    store.reads = store.listings = 0
    start = time.perf_counter()
    work()
    took = time.perf_counter() - start
    return {
        "work": name,
        "time (ms)": took * 1e3,
        "listings": str(store.listings),
        "notes read": str(store.reads),
    }


def _queries(index: RecallIndex, setting: Setting) -> list[Row]:
    asked = [(question.text, Scope(project=question.project)) for question in questions(notes())]
    asked = asked[:: setting.rounds(6, 20)]
    with Database.open(index.path(), read_only=True) as database:
        expressions = [_expression(database, text, scope) for text, scope in asked]
        own = "SQLite's own MATCH, in the project"
        work = {
            own: lambda: [database.connection.execute(_MATCH, (text,)).fetchall() for text in expressions],
            "search, in the project": lambda: [search(database, text, scope) for text, scope in asked],
        }
        everywhere = [_expression(database, text, Scope()) for text, _ in asked]
        wide = "SQLite's own MATCH, everywhere"
        work |= {
            wide: lambda: [database.connection.execute(_MATCH, (text,)).fetchall() for text in everywhere],
            "search, everywhere": lambda: [search(database, text, Scope(near="shop")) for text, _ in asked],
        }
        samples = interleave(work, rounds=setting.rounds(15, 3), batch=1)
    return [
        {
            "work": name,
            "time (ms)": samples.seconds(name) * 1e3 / len(asked),
            "against MATCH (×)": samples.cost(name, wide if "everywhere" in name else own),
            "goal": "≤ 1.5 ×" if name.startswith("search") else "",
        }
        for name in work
    ]


def _expression(database: Database, text: str, scope: Scope) -> str:
    plan = plan_of(database, text)
    return (plan and plan.expression(scope_condition(scope))) or '"nothing"'


def _fill(root: Path, size: int) -> None:
    """Sentences of the corpus in new combinations, written without ceremony: the store is not what is measured."""
    generator = random.Random(4)
    entries = notes()
    projects = sorted({entry.project for entry in entries if entry.project})
    sentences = [sentence for entry in entries for sentence in entry.body.split(". ")]
    (root / "_meta").mkdir(parents=True)
    (root / "_meta" / "store.json").write_text('{"id": "benchmark", "created": "2025-01-01", "layout": 1}\n')
    for project in projects:
        (root / "projects" / project / "facts").mkdir(parents=True)
    for number in range(size):
        project = projects[number % len(projects)]
        body = ".\n".join(generator.choice(sentences) for _ in range(_SENTENCES))
        date = f"2025-{generator.randint(1, 7):02}-{generator.randint(1, 28):02}"
        title = generator.choice(entries).title
        file = root / "projects" / project / "facts" / f"note-{number}.md"
        file.write_text(
            f"---\nkind: fact\nstatus: active\ncreated: {date}\nupdated: {date}\n---\n\n# {title}\n\n{body}.\n"
        )
        _age(file)


def _age(file: Path) -> None:
    """As if it were old: what has just changed is looked at twice."""
    then = time.time() - _LONG_AGO
    os.utime(file, (then, then))


def _change(file: Path) -> None:
    file.write_text(file.read_text() + "\nOne more sentence about deadlines.\n")
    _age(file)
