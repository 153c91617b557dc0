"""What whole commands show only now and then: counts after a change, projects elsewhere, weighed passages."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agentm_kernel.plugin import AgentmError, Locator
from agentm_recall.commands.notes_changing import _kind_of_place
from agentm_recall.gathering import _forget
from agentm_recall.index.long_questions import _IN_TITLE, _IN_TITLE_OF_PASTE, _SECOND_PASSAGE, _WHOLE, _score
from agentm_recall.index.outlines import Outline

FOLDER = "projects/widgets/facts"


@pytest.mark.parametrize(
    ("state", "left"), [(0, (4, 3, 2)), (1, (5, 2, 2)), (2, (5, 3, 1)), (None, (5, 3, 2))], ids=str
)
def test_a_note_that_changed_is_taken_out_of_the_count_that_it_was_in(state, left):
    outline = Outline()
    outline.states = {FOLDER: (5, 3, 2), "personal/facts": (1, 1, 1)}
    _forget(outline, f"{FOLDER}/port.md", state)
    assert outline.states == {FOLDER: left, "personal/facts": (1, 1, 1)}
    _forget(outline, "projects/others/facts/port.md", state)
    assert outline.states == {FOLDER: left, "personal/facts": (1, 1, 1)}


def test_the_kind_of_a_note_is_known_from_its_folder():
    assert _kind_of_place(Locator("projects/widgets/known-issues/slow.md")) == "known-issue"
    with pytest.raises(AgentmError, match="has no kind"):
        _kind_of_place(Locator("projects/widgets/elsewhere/slow.md"))


@pytest.mark.parametrize(("is_pasted", "in_title"), [(False, _IN_TITLE), (True, _IN_TITLE_OF_PASTE)])
def test_the_passage_that_a_note_answers_best_counts_most_and_the_next_one_a_little(is_pasted, in_title):
    question = SimpleNamespace(is_pasted=is_pasted, pairs=[])
    plan = SimpleNamespace(question=question, stems={"cache": 4.0, "port": 1.0, "none": 9.0}, whole={}, stems_of={})
    contents = SimpleNamespace(heads={1: {"port"}}, bodies={1: {"cache", "port"}})
    port = 1.0 + in_title
    for passages in ([{"cache"}, {"port"}, {"none"}], [{"none"}, {"port"}, {"cache"}]):
        best, second = sorted((4.0, port), reverse=True)
        wanted = _WHOLE * (4.0 + port) + best + _SECOND_PASSAGE * second
        assert _score(plan, contents, 1, passages) == pytest.approx(wanted)
    assert _score(plan, contents, 2, [{"cache"}]) == 0
