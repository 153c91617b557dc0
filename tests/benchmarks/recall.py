"""How well recall finds what a question asks for, against plain BM25 and grep.

The notes and questions of `memory/` were written and frozen before the ranking was tuned. Each question is asked in
its project, as `recall_here` asks it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from agentm_device_local import DeviceLocalBackend
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.search import Scope, day_of, search
from tests.benchmarks.memory.corpus import fill, notes, questions
from tests.benchmarks.memory.judging import Marks
from tests.benchmarks.memory.rivals import Grep, PlainBm25
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.measure import Setting
    from tests.benchmarks.memory.corpus import Entry, Question
    from tests.benchmarks.tables import Row

    Asker = Callable[[Question], list[str]]

DEPTH = 10
TODAY = day_of("2025-08-01")
"""The corpus is as old as it is: recency must not depend on when the benchmark runs."""


def run(setting: Setting) -> Table:
    entries = notes()
    store = DeviceLocalBackend(setting.scratch / "store")
    fill(store, entries)
    texts = {entry.locator.key: entry.text for entry in entries}
    bm25, grep = PlainBm25(texts), Grep(texts)
    scoped = {project: PlainBm25(_texts_of(project, entries)) for project in {entry.project for entry in entries}}
    with RecallIndex(store, {"HOME": str(setting.scratch)}).opened(may_write=False) as opened:
        askers: dict[str, Asker] = {
            "recall": lambda question: [
                hit.note.key
                for hit in search(
                    opened.database, question.text, Scope(project=question.project), limit=DEPTH, today=TODAY
                ).hits
            ],
            "BM25": lambda question: bm25.ask(question.text, DEPTH),
            "BM25 there": lambda question: scoped[question.project].ask(question.text, DEPTH),
            "grep": lambda question: grep.ask(question.text, DEPTH),
        }
        marks = _judge(questions(entries), askers)
    note = (
        f"{len(entries)} notes of six projects, each question asked in its project. `@5`: share of the notes that "
        "answer a question among the first five; MRR: mean of 1 / place of the first one. `wrong above`: questions "
        "for which a superseded note or one of another project stood before the answer. BM25 is SQLite's own over "
        "whole files, `there` over those of the project and the personal ones; grep counts the words it finds."
    )
    return Table("recall", "Recall: this project's own questions", note, _rows(marks))


def _texts_of(project: str | None, entries: list[Entry]) -> dict[str, str]:
    return {entry.locator.key: entry.text for entry in entries if entry.project in (project, None)}


def _judge(asked: list[Question], askers: dict[str, Asker]) -> dict[str, dict[str, Marks]]:
    marks: dict[str, dict[str, Marks]] = defaultdict(lambda: defaultdict(Marks))
    for question in asked:
        for name, ask in askers.items():
            ranked = ask(question)
            for category in (question.category, "all"):
                marks[category][name].judge(ranked, question.answers, question.wrong)
    return marks


def _rows(marks: dict[str, dict[str, Marks]]) -> list[Row]:
    rows: list[Row] = []
    for category in sorted(marks, key=lambda name: (name == "all", name)):
        row: Row = {"questions": f"{category} ({len(marks[category]['recall'].at_5)})"}
        for name, earned in marks[category].items():
            row |= earned.figures(name)
        row["wrong above"] = "/".join(str(earned.wrong_above) for earned in marks[category].values())
        rows.append(row)
    return rows
