"""The inbox on a person's page, and what wants to be looked at again: shown whole, settled only as it was shown."""

from __future__ import annotations

import json
import time
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import (
    BackendLayer,
    ConcurrentModificationError,
    Device,
    FileStore,
    HookContext,
    InvalidContentError,
    Locator,
    StorageReadOnlyError,
    content_hash,
    registry,
)
from agentm_recall.inbox import APPEND, REPLACE, SAVE, Proposal, pending, propose
from agentm_recall.page_panels import agentm_page_panels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conftest import Home

    from agentm_kernel.plugin import Absent, Opening, Panel, StorageBackend

TARGET = "projects/widgets/facts/use-uv.md"
OLD = "2020-01-01T00:00:00+00:00"


def context(home: Home) -> HookContext:
    device = Device.now({"HOME": str(home.path)})
    return HookContext(device, str(home.project), store=device.store())


def panel(home: Home, name: str) -> Panel:
    panels = agentm_page_panels(context(home))
    assert panels is not None
    return next(one for one in panels if one.name == name)


def blocks(home: Home, name: str) -> list[Mapping[str, Any]]:
    return list(panel(home, name).show({}))


def settings(home: Home, **values: object) -> None:
    file = home.path / ".config" / "agentm" / ".agentm-config.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(values))


def put(home: Home, store: StorageBackend, action: str = SAVE, target: str = TARGET, **given: str) -> Proposal:
    fields = {"by": "codex", "body": "It is fast.\n", **given}
    body = fields.pop("body")
    propose(store, Proposal(action, target, "fact", body, **fields), context(home).device.config)
    return next(one for one in pending(store) if one.target == target)


# ------------------------------------------------------------------------------------------------ proposals


def test_without_a_store_there_is_nothing_to_settle(home: Home) -> None:
    assert agentm_page_panels(HookContext(Device.now({"HOME": str(home.path)}), str(home.project))) is None


def test_the_panels_ask_for_a_decision(home: Home, store: StorageBackend) -> None:
    panels = agentm_page_panels(context(home))
    assert panels is not None
    assert [(one.name, one.title, sorted(one.actions)) for one in panels] == [
        ("inbox", "Proposed by agents", ["accept", "reject"]),
        ("review", "Look at these again", []),
    ]
    assert [blocks(home, one.name) for one in panels] == [[], []]


def test_a_new_note_is_a_card_with_its_text_and_both_answers(home: Home, store: StorageBackend) -> None:
    one = put(home, store)
    (block,) = blocks(home, "inbox")
    fields = {"name": one.name, "hash": one.hash}
    assert block == {
        "type": "card",
        "title": TARGET,
        "text": "codex proposes a new note (fact).",
        "time": pytest.approx(time.time(), abs=120),
        "note": "",
        "actions": [
            {"action": "accept", "label": "Accept", "fields": fields, "first": True},
            {"action": "reject", "label": "Reject", "fields": fields, "danger": True},
        ],
        "markdown": "It is fast.\n",
    }


def test_another_text_stands_beside_the_one_that_is_there(home: Home, store: StorageBackend) -> None:
    home.note(TARGET, "It is slow.\n")
    put(home, store, REPLACE, expect=content_hash("It is slow.\n"))
    (block,) = blocks(home, "inbox")
    assert (block["type"], block["note"]) == ("sides", TARGET)
    assert block["text"] == "codex proposes a new text for the note (fact)."
    assert block["left"] == {"title": "The note now", "text": "It is slow.\n"}
    assert block["right"] == {"title": "Proposed", "text": "It is fast.\n"}
    store.delete(Locator(TARGET))
    (block,) = blocks(home, "inbox")
    assert (block["type"], block["note"]) == ("card", "")


def test_a_note_whose_project_was_renamed_is_shown_where_it_is_now(home: Home, store: StorageBackend) -> None:
    put(home, store, REPLACE, expect=content_hash("It is slow.\n"))
    record = {"version": 1, "id": "1", "remotes": []}
    for name, more in (("gadgets", {}), ("widgets", {"moved_to": "gadgets"})):
        store.write(Locator(f"projects/{name}/_project.json"), json.dumps({**record, **more}))
    now = TARGET.replace("widgets", "gadgets")
    home.note(now, "It is slow.\n")
    (block,) = blocks(home, "inbox")
    assert (block["type"], block["title"], block["note"]) == ("sides", now, now)


def test_more_text_is_a_card_beside_the_note_that_it_is_for(home: Home, store: StorageBackend) -> None:
    home.note(TARGET, "It is slow.\n")
    put(home, store, APPEND)
    (block,) = blocks(home, "inbox")
    assert (block["type"], block["note"], block["markdown"]) == ("card", TARGET, "It is fast.\n")
    assert block["text"] == "codex proposes more text at the end of the note (fact)."


def test_what_waited_too_long_can_only_be_rejected(home: Home, store: StorageBackend) -> None:
    settings(home, inbox={"days": 7})
    text = f"---\nproposal: save\ntarget: {TARGET}\nkind: fact\nmade: {OLD}\n---\n\nOld.\n"
    store.write(Locator("_inbox/old.md"), text)
    (block,) = blocks(home, "inbox")
    assert block["text"].endswith(" It has waited more than 7 days and cannot be accepted any more.")
    assert [action["action"] for action in block["actions"]] == ["reject"]
    assert block["time"] == 1_577_836_800
    with pytest.raises(InvalidContentError, match="has waited more than 7 days"):
        panel(home, "inbox").actions["accept"]({"name": "old", "hash": content_hash(text)})
    assert not store.exists(Locator(TARGET))


def test_a_proposal_without_a_moment_has_none(home: Home, store: StorageBackend) -> None:
    store.write(Locator("_inbox/odd.md"), f"---\nproposal: save\ntarget: {TARGET}\nmade: soon\n---\n\nText.\n")
    (block,) = blocks(home, "inbox")
    assert block["time"] is None


@pytest.mark.parametrize(("count", "said"), [(20, []), (22, ["2 more are shown when these are settled."])])
def test_many_are_shown_a_page_at_a_time(home: Home, store: StorageBackend, count: int, said: list[str]) -> None:
    for number in range(count):
        text = f"---\nproposal: save\ntarget: projects/widgets/facts/n{number}.md\nkind: fact\n---\n\nText.\n"
        store.write(Locator(f"_inbox/n{number:02}.md"), text)
    shown = blocks(home, "inbox")
    assert [block["title"] for block in shown[:20]] == [
        f"projects/widgets/facts/n{number}.md" for number in range(20)
    ]
    assert [block["text"] for block in shown[20:]] == said


def test_the_command_that_has_to_agree_is_named_where_something_waits(home: Home, store: StorageBackend) -> None:
    settings(home, inbox={"confirm": "true"})
    assert blocks(home, "inbox") == []
    put(home, store)
    first, _ = blocks(home, "inbox")
    assert first == {"type": "text", "text": "Before one is accepted, this command has to agree: true", "quiet": True}


def test_a_file_that_is_no_proposal_is_named_below(home: Home, store: StorageBackend) -> None:
    store.write(Locator("_inbox/odd.md"), "no front matter\n")
    put(home, store)
    *_, last = blocks(home, "inbox")
    (row,) = last["rows"]
    assert (last["type"], row["status"], row["label"]) == ("rows", "warn", "_inbox/odd.md")
    assert "is not a proposal" in row["text"]
    assert row["hint"] == "repair the file or move it away"


def test_a_store_of_the_project_that_cannot_be_had_is_named_below(home: Home, store: StorageBackend) -> None:
    bound = {"example.com/ana/widgets": {"store": "team"}}
    settings(home, stores={"team": {"backend": "none-such"}}, bindings=bound)
    put(home, store)
    card, last = blocks(home, "inbox")
    (row,) = last["rows"]
    assert (card["type"], row["status"], row["label"]) == ("card", "warn", "this folder's project")
    assert "none-such" in row["text"]
    assert row["hint"]


def test_what_was_shown_is_taken_or_turned_down_and_found_at_once(home: Home, store: StorageBackend) -> None:
    taken, left = put(home, store), put(home, store, target="projects/widgets/facts/use-pip.md")
    actions = panel(home, "inbox").actions
    assert actions["accept"]({"name": taken.name, "hash": taken.hash}) == f"Accepted: {TARGET}"
    assert store.exists(Locator(TARGET))
    said = actions["reject"]({"name": left.name, "hash": left.hash})
    assert said == "Rejected. The log keeps that it was proposed."
    assert pending(store) == []
    assert not store.exists(Locator(left.target))
    assert f"rejected {left.name}" in store.read(Locator("_meta/inbox.md"))


class Strict(BackendLayer):
    """A store that whoever opens it to be read cannot write to, as those of policies and of servers are."""

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> StorageBackend:
        files = FileStore(options["root"])
        return cls(files) if opening.read_only else files

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        raise StorageReadOnlyError(f"'{locator}' was not changed: the store was opened to be read")

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        raise StorageReadOnlyError(f"'{locator}' was not changed: the store was opened to be read")


@pytest.mark.parametrize("action", ["accept", "reject"])
def test_what_was_shown_from_a_store_that_was_opened_to_be_read_can_be_settled(
    home: Home, store: StorageBackend, action: str
) -> None:
    registry.register("strict", Strict)
    try:
        settings(home, storage={"backend": "strict"}, plugins={"strict": {"root": str(home.root)}})
        one = put(home, store)
        (block,) = blocks(home, "inbox")
        panel(home, "inbox").actions[action](block["actions"][action == "reject"]["fields"])
    finally:
        registry.unregister("strict")
    assert pending(store) == []
    assert store.exists(Locator(one.target)) is (action == "accept")


@pytest.mark.parametrize("action", ["accept", "reject"])
def test_what_was_shown_and_changed_since_is_not_settled(home: Home, store: StorageBackend, action: str) -> None:
    one = put(home, store)
    for fields in ({"name": one.name, "hash": "0" * 64}, {"name": "another", "hash": one.hash}, {}):
        with pytest.raises(ConcurrentModificationError, match="nothing was done") as refused:
            panel(home, "inbox").actions[action](fields)
        assert refused.value.hint == "look at the inbox again"
    assert len(pending(store)) == 1
    assert not store.exists(Locator(TARGET))


# ------------------------------------------------------------------------------------------------ looking again


def day(ago: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() - ago * 86_400))


def asked(home: Home, slug: str, ago: float, kind: str = "open-question", status: str = "active") -> None:
    fields = f"kind: {kind}\nstatus: {status}\nupdated: {day(ago)}\n"
    home.note(f"projects/widgets/{kind}s/{slug}.md", f"---\n{fields}---\n\n# The {slug}\n")


def test_a_question_and_an_issue_that_nobody_touched_for_months_come_back_oldest_first(
    home: Home, store: StorageBackend
) -> None:
    asked(home, "young", 118)
    asked(home, "old", 122)
    asked(home, "bug", 178, "known-issue")
    asked(home, "older-bug", 182, "known-issue")
    asked(home, "decision", 900, "decision")
    asked(home, "settled", 900, status="deleted")
    asked(home, "replaced", 900)
    home.note("projects/widgets/facts/answer.md", "---\nsupersedes: [replaced]\n---\n\nIt is 443.\n")
    home.note("projects/widgets/open-questions/undated.md", "---\nkind: open-question\n---\n\nWhen?\n")
    (block,) = blocks(home, "review")
    assert block["type"] == "rows"
    assert block["rows"] == [
        {
            "status": "info",
            "label": f"The {slug}",
            "text": f"{kind}, not touched since {day(ago)}",
            "note": f"projects/widgets/{kind}s/{slug}.md",
        }
        for slug, kind, ago in (("older-bug", "known-issue", 182), ("old", "open-question", 122))
    ]


@pytest.mark.parametrize(
    ("now", "is_old"), [("2026-04-30T23:59:00+00:00", False), ("2026-05-01T00:01:00+00:00", True)]
)
def test_a_question_is_old_as_soon_as_the_last_of_its_days_is_over(
    home: Home, store: StorageBackend, monkeypatch: pytest.MonkeyPatch, now: str, is_old: bool
) -> None:
    text = "---\nkind: open-question\nupdated: 2026-01-01\n---\n\n# The port\n"
    home.note("projects/widgets/open-questions/port.md", text)
    clock = SimpleNamespace(time=datetime.fromisoformat(now).timestamp, monotonic=time.monotonic)
    monkeypatch.setattr("agentm_recall.page_panels.time", clock)
    assert [row["label"] for block in blocks(home, "review") for row in block["rows"]] == ["The port"] * is_old


def test_of_many_old_ones_eight_come_at_a_time(home: Home, store: StorageBackend) -> None:
    for number in range(8):
        asked(home, f"q{number}", 200 + number)
    (block,) = blocks(home, "review")
    assert [row["label"] for row in block["rows"]] == [f"The q{number}" for number in range(7, -1, -1)]
    asked(home, "q8", 208)
    asked(home, "q9", 209)
    (block,) = blocks(home, "review")
    assert len(block["rows"]) == 9
    assert block["rows"][-1] == {
        "status": "info",
        "label": "2 more",
        "text": "are as old; they come when these are settled",
    }


def test_what_cannot_be_read_comes_before_what_is_old(home: Home, store: StorageBackend) -> None:
    asked(home, "old", 200)
    home.note("projects/widgets/facts/odd.md", "---\nkind: [open\n---\n\n# Odd\n")
    home.note("projects/widgets/facts/raw.md", b"\xff\xfe\n")
    (block,) = blocks(home, "review")
    raw, odd, old = block["rows"]
    assert (raw["status"], raw["label"]) == ("fail", "projects/widgets/facts/raw.md")
    assert raw["text"].startswith("cannot be read: ")
    assert raw["hint"] == "open the file in an editor"
    assert (odd["status"], odd["label"], odd["note"]) == ("warn", "Odd", "projects/widgets/facts/odd.md")
    assert odd["text"].startswith("its front matter cannot be read: its front matter is not YAML")
    assert old["status"] == "info"
