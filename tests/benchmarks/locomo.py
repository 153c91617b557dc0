"""Recall on a LoCoMo data set, against a stemmed BM25. None is in the tree: `AGENTM_LOCOMO=FILE` names one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.search import Scope, search
from tests.benchmarks.memory.judging import Marks
from tests.benchmarks.memory.locomo import load
from tests.benchmarks.memory.rivals import PlainBm25
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.benchmarks.measure import Setting
    from tests.benchmarks.memory.locomo import Conversation
    from tests.benchmarks.tables import Row

VARIABLE = "AGENTM_LOCOMO"
DEPTH = 10


def run(setting: Setting) -> Table:
    title = "Recall: a LoCoMo data set"
    path = os.environ.get(VARIABLE)
    if not path:
        return Table("locomo", title, f"Not measured: ${VARIABLE} names no file.", [])
    conversations = load(Path(path))[: setting.rounds(1000, 2)]
    rows = [_row("sessions", conversations), _row("turns", conversations)]
    note = (
        "Mean share of the sessions, or turns, that hold the evidence for a question among the first five and ten; "
        "each conversation is a store of its own. Stemmed BM25 is SQLite FTS5 with its Porter stemmer."
    )
    return Table("locomo", title, note, rows)


def _row(level: str, conversations: list[Conversation]) -> Row:
    ours, bm25 = Marks(), Marks()
    for conversation in conversations:
        texts = conversation.sessions if level == "sessions" else conversation.turns
        wanted = [
            (question, {turn.partition(":")[0] for turn in turns} if level == "sessions" else set(turns))
            for question, turns in conversation.questions
        ]
        rival = PlainBm25(texts, stemmed=True)
        with RecallIndex(_store(texts), {}).opened(may_write=False) as opened:
            for question, answers in wanted:
                hits = search(opened.database, question, Scope(), limit=DEPTH).hits
                ours.judge([hit.note.slug.replace("-", ":") for hit in hits], answers)
                bm25.judge(rival.ask(question, DEPTH), answers)
    return {"looked for": f"{level} ({len(ours.at_5)} questions)", **ours.figures("recall"), **bm25.figures("BM25")}


def _store(texts: Mapping[str, str]) -> MemoryBackend:
    """Every text a note; its name is the text's, with a letter that names may have."""
    store = MemoryBackend()
    for name, text in texts.items():
        store.write(Locator(f"personal/facts/{name.replace(':', '-')}.md"), text)
    return store
