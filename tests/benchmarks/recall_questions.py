"""Recall on the later questions: pasted traces, whole task prompts, questions without an answer, and others.

Nothing is fitted to these questions; what has to be fitted is fitted to `memory/tuning.txt` and the first questions.
The rivals are SQLite's own BM25, plain and stemmed, over the files of the project and the personal ones.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from agentm_device_local import DeviceLocalBackend
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.search import Scope, day_of, search
from tests.benchmarks.memory.burying import buried
from tests.benchmarks.memory.corpus import fill, later_questions, notes
from tests.benchmarks.memory.judging import Places
from tests.benchmarks.memory.rivals import PlainBm25
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_recall.index.database import Database
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.memory.corpus import Entry, Question
    from tests.benchmarks.tables import Row

DEPTH = 10
TODAY = day_of("2025-08-01")
"""The corpus is as old as it is: recency must not depend on when the benchmark runs."""
NO_ANSWER = "no-answer"


class Answer(NamedTuple):
    """The notes that were found, best first, and whether they were thought to be an answer."""

    keys: list[str]
    confident: bool


def run(setting: Setting) -> Table:
    entries = notes(more=True)
    store = DeviceLocalBackend(setting.scratch / "store")
    fill(store, entries)
    with RecallIndex(store, {"HOME": str(setting.scratch)}).opened(may_write=False) as opened:
        asked = later_questions(entries)
        marks = judge([*asked, *buried(asked)], askers(opened.database, entries))
    note = (
        f"{len(entries)} notes, each question asked in its project. `hit@1`: the first note answers; `any@5`, "
        "`all@5`: one, or every one, of the notes that answer is among the first five. `wrong above`: questions "
        "for which a replaced note stood before the answer. `given`: those whose notes recall takes for an answer; "
        "`lost`: those that had an answer among five notes which recall did not take for one."
    )
    return Table("recall_questions", "Recall: later questions, by kind", note, rows(marks))


def askers(database: Database, entries: list[Entry]) -> dict[str, Callable[[Question], Answer]]:
    by_project = {
        project: {entry.locator.key: entry.text for entry in entries if entry.project in (project, None)}
        for project in {entry.project for entry in entries if entry.project}
    }
    plain = {project: PlainBm25(texts) for project, texts in by_project.items()}
    stemmed = {project: PlainBm25(texts, stemmed=True) for project, texts in by_project.items()}

    def recall(question: Question) -> Answer:
        result = search(database, question.text, Scope(project=question.project), limit=DEPTH, today=TODAY)
        return Answer([hit.note.key for hit in result.hits], result.is_answer)

    def rival(rivals: dict[str, PlainBm25]) -> Callable[[Question], Answer]:
        def ask(question: Question) -> Answer:
            found = rivals[question.project].ask(question.text, DEPTH)
            return Answer(found, bool(found))

        return ask

    return {"recall": recall, "BM25": rival(plain), "stemmed": rival(stemmed)}


def judge(asked: list[Question], answering: dict[str, Callable[[Question], Answer]]) -> dict[str, dict[str, Places]]:
    marks: dict[str, dict[str, Places]] = defaultdict(lambda: defaultdict(Places))
    for question in asked:
        for name, ask in answering.items():
            answer = ask(question)
            kinds = (question.category,) if question.category == NO_ANSWER else (question.category, "all answered")
            for kind in kinds:
                marks[kind][name].judge(answer.keys, question.answers, question.wrong, given=answer.confident)
    return marks


def rows(marks: dict[str, dict[str, Places]]) -> list[Row]:
    found: list[Row] = []
    for kind in sorted(marks, key=lambda name: (name.startswith("all"), name == NO_ANSWER, name)):
        row: Row = {"questions": f"{kind} ({len(marks[kind]['recall'].given)})"}
        if kind != NO_ANSWER:
            for name, earned in marks[kind].items():
                row |= earned.figures(name)
            row["lost"] = marks[kind]["recall"].share_lost
            row["wrong above"] = "/".join(str(earned.wrong_above) for earned in marks[kind].values())
        row["given"] = marks[kind]["recall"].share_given
        found.append(row)
    return found
