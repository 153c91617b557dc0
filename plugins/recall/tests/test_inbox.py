"""Proposals: what agents want to save waits for the operator, and counts for nothing until then."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import (
    AgentmError,
    ConcurrentModificationError,
    ConfigError,
    Device,
    HookContext,
    InvalidContentError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    StorageBackend,
    ToolCall,
    content_hash,
)
from agentm_recall import inbox
from agentm_recall.inbox import APPEND, REPLACE, SAVE, Proposal, accept, find, look, pending, propose, reject
from agentm_recall.page_inbox import accept_shown
from agentm_recall.tool_reading import read, recall, search
from agentm_recall.tool_writing import append, feedback, save

if TYPE_CHECKING:
    from conftest import Home

TARGET = "projects/widgets/facts/use-uv.md"


class Days:
    """A configuration that knows one setting."""

    def __init__(self, days: int | None = None) -> None:
        self.days = days

    def get(self, key: str) -> object:
        assert key == "inbox.days"
        return self.days


NEW = Proposal(SAVE, TARGET, "fact", "# Use uv\n\nIt is fast.\n", by="codex")


def at_a_terminal(home: Home, *arguments: str, answer: str = "yes\n") -> tuple[int, str]:
    """The command in a session of its own, with a terminal that the operator types `answer` at."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home.project)
        program = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"
        os.execve(sys.executable, [sys.executable, "-c", program, *arguments], home.environ)
    said = b""
    has_answered = False
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                piece = os.read(terminal, 4096)
            except OSError:  # EIO: the command has ended
                break
            said += piece
            if not piece:
                break
        if not has_answered and b"Type yes" in said:
            os.write(terminal, answer.encode())
            has_answered = True
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.decode()


@pytest.fixture
def call(home: Home, store: StorageBackend) -> ToolCall:
    environ = {"HOME": str(home.path)}
    return ToolCall(Device.now(environ), (str(home.project),), "codex", lambda *_: None)


def approve(home: Home, what: str) -> None:
    done = home.run("config", "set", "capture.approve", what)
    assert done.returncode == 0, done.stderr


def keys(store: StorageBackend) -> list[str]:
    return [info.locator.key for info in store.walk(Locator()) if not info.is_dir]


# ------------------------------------------------------------------------------------------------ the inbox itself


def test_a_proposal_is_kept_whole_and_accepted_once(any_store: StorageBackend) -> None:
    name = propose(any_store, NEW, Days())
    [waiting] = pending(any_store)
    assert (waiting.name, waiting.action, waiting.target, waiting.by) == (name, SAVE, TARGET, "codex")
    assert waiting.body == NEW.body
    assert not any_store.exists(Locator(TARGET))
    assert accept(any_store, waiting) == [Locator(TARGET)]
    assert any_store.read(Locator(TARGET)).endswith(NEW.body)
    assert pending(any_store) == []
    log = any_store.read(Locator("_meta/inbox.md"))
    assert f"accepted {name}: save {TARGET}, sha256 {content_hash(NEW.body)}, by codex" in log
    with pytest.raises(NotFoundError):
        accept(any_store, waiting)


def test_the_same_proposal_again_is_the_one_that_waits(any_store: StorageBackend) -> None:
    assert propose(any_store, NEW, Days()) == propose(any_store, NEW, Days())
    assert len(pending(any_store)) == 1


def test_a_part_of_a_name_that_two_have_means_neither(any_store: StorageBackend) -> None:
    names = [propose(any_store, replace(NEW, target=TARGET.replace("uv", which)), Days()) for which in ("uv", "pip")]
    with pytest.raises(InvalidContentError, match="'use-' could be any of: ") as caught:
        find(any_store, "use-")
    assert all(name in caught.value.message for name in names)
    assert caught.value.hint is not None
    assert [find(any_store, name).name for name in names] == names
    for nobody in ("", "use-poetry"):
        with pytest.raises(NotFoundError, match="there is no proposal"):
            find(any_store, nobody)


def test_what_is_rejected_is_no_note_and_in_the_log(any_store: StorageBackend) -> None:
    name = propose(any_store, NEW, Days())
    reject(any_store, find(any_store, name[-4:]))
    assert pending(any_store) == []
    assert not any_store.exists(Locator(TARGET))
    assert f"rejected {name}" in any_store.read(Locator("_meta/inbox.md"))


def test_what_changed_since_it_was_shown_is_not_accepted(any_store: StorageBackend) -> None:
    propose(any_store, NEW, Days())
    [shown] = pending(any_store)
    file = Locator(f"_inbox/{shown.name}.md")
    any_store.write(file, any_store.read(file) + "And do as I say.\n")
    with pytest.raises(ConcurrentModificationError, match="changed since it was shown"):
        accept(any_store, shown)
    assert not any_store.exists(Locator(TARGET))


def test_replacing_and_appending_wait_and_are_on_condition(any_store: StorageBackend) -> None:
    target = Locator(TARGET)
    any_store.write(target, "---\nkind: fact\n---\n\nOld.\n")
    expect = content_hash(any_store.read(target))
    propose(any_store, Proposal(REPLACE, TARGET, "fact", "New.\n", expect=expect), Days())
    propose(any_store, Proposal(APPEND, TARGET, "fact", "More.\n"), Days())
    replacing, appending = sorted(pending(any_store), key=lambda one: one.action, reverse=True)
    accept(any_store, appending)
    assert any_store.read(target).endswith("Old.\nMore.\n")
    with pytest.raises(ConcurrentModificationError):
        accept(any_store, replacing)
    assert [one.name for one in pending(any_store)] == [replacing.name]  # still there to decide about
    assert any_store.read(target).endswith("Old.\nMore.\n")


def test_accepting_an_append_again_after_a_kill_appends_nothing_twice(
    any_store: StorageBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Locator(TARGET)
    any_store.write(target, "---\nkind: fact\n---\n\nSame.\n")
    name = propose(any_store, Proposal(APPEND, TARGET, "fact", "Same.\n"), Days())
    with monkeypatch.context() as patched:
        patched.setattr(inbox, "_settle", _killed)
        with pytest.raises(KeyboardInterrupt):
            accept(any_store, find(any_store, name))
    appended = any_store.read(target)
    assert appended.endswith("\n\nSame.\nSame.\n")  # what the note said before is no reason to leave it out
    any_store.write(target, appended + "Somebody else's.\n")
    accept(any_store, find(any_store, name))
    assert any_store.read(target) == appended + "Somebody else's.\n"
    assert pending(any_store) == []


def test_accepting_an_append_again_appends_it_where_the_kill_came_before(
    any_store: StorageBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Locator(TARGET)
    any_store.write(target, "---\nkind: fact\n---\n\nSame.\n")
    name = propose(any_store, Proposal(APPEND, TARGET, "fact", "Same.\n"), Days())
    with monkeypatch.context() as patched:
        patched.setattr(inbox, "append", _killed)
        with pytest.raises(KeyboardInterrupt):
            accept(any_store, find(any_store, name))
    accept(any_store, find(any_store, name))
    assert any_store.read(target).endswith("\n\nSame.\nSame.\n")
    assert pending(any_store) == []


def test_accepting_another_text_again_after_a_kill_settles_it(
    any_store: StorageBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = "---\nkind: fact\n---\n\nOld.\n"
    any_store.write(Locator(TARGET), old)
    name = propose(any_store, Proposal(REPLACE, TARGET, "fact", "New.\n", expect=content_hash(old)), Days())
    with monkeypatch.context() as patched:
        patched.setattr(inbox, "_settle", _killed)
        with pytest.raises(KeyboardInterrupt):
            accept(any_store, find(any_store, name))
    replaced = any_store.read(Locator(TARGET))
    accept(any_store, find(any_store, name))
    assert any_store.read(Locator(TARGET)) == replaced
    assert pending(any_store) == []


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_note_that_came_meanwhile_is_not_overwritten(any_store: StorageBackend) -> None:
    propose(any_store, NEW, Days())
    any_store.write(Locator(TARGET), "---\nkind: fact\n---\n\nSomebody else's.\n")
    with pytest.raises(LocatorConflictError):
        accept(any_store, pending(any_store)[0])
    assert "Somebody else's" in any_store.read(Locator(TARGET))
    assert len(pending(any_store)) == 1


@pytest.mark.parametrize("target", ["_meta/store.md", "projects/widgets/_harness/PLAN.md", "AGENTS.md"])
def test_a_file_in_the_inbox_cannot_send_a_note_anywhere_else(any_store: StorageBackend, target: str) -> None:
    text = f"---\nproposal: save\ntarget: {target}\nkind: fact\n---\n\nHarmless.\n"
    any_store.write(Locator("_inbox/planted.md"), text)
    with pytest.raises(InvalidContentError):
        accept(any_store, find(any_store, "planted"))
    assert not any_store.exists(Locator(target))


@pytest.mark.parametrize("action", ["replace", "append"])
def test_what_is_no_note_is_not_changed_by_one(any_store: StorageBackend, action: str) -> None:
    any_store.write(Locator("projects/widgets/_harness/PLAN.md"), "# Plan\n")
    digest = content_hash("# Plan\n")
    text = f"---\nproposal: {action}\ntarget: projects/widgets/_harness/PLAN.md\nexpect: {digest}\n---\n\nEvil.\n"
    any_store.write(Locator("_inbox/planted.md"), text)
    with pytest.raises(InvalidContentError):
        accept(any_store, find(any_store, "planted"))
    assert any_store.read(Locator("projects/widgets/_harness/PLAN.md")) == "# Plan\n"


def test_a_file_that_is_no_proposal_is_named_and_in_nobodys_way(any_store: StorageBackend) -> None:
    any_store.write(Locator("_inbox/odd.md"), "no front matter\n")
    propose(any_store, NEW, Days())
    proposals, problems = look(any_store)
    assert len(proposals) == 1
    assert problems == [("_inbox/odd.md", "'_inbox/odd.md' is not a proposal: it has no front matter")]


def test_what_waited_too_long_stays_until_the_inbox_is_full_and_is_then_in_the_log(
    any_store: StorageBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = "proposal: save\ntarget: projects/w/facts/old.md\nkind: fact\nmade: 2020-01-01T00:00:00+00:00\n"
    any_store.write(Locator("_inbox/old.md"), f"---\n{fields}---\n\nOld.\n")
    assert pending(any_store)[0].age() > 2000
    propose(any_store, NEW, Days(30))
    assert {one.target for one in pending(any_store)} == {TARGET, "projects/w/facts/old.md"}
    monkeypatch.setattr(inbox, "_MOST", 2)
    propose(any_store, replace(NEW, body="Another.\n"), Days(30))
    assert {one.target for one in pending(any_store)} == {TARGET}
    assert "expired old" in any_store.read(Locator("_meta/inbox.md"))
    with pytest.raises(InvalidContentError, match="2 proposals wait already"):
        propose(any_store, replace(NEW, body="A third.\n"), Days(30))


def test_what_waited_too_long_can_be_proposed_again(any_store: StorageBackend) -> None:
    name = propose(any_store, NEW, Days())
    file = Locator(f"_inbox/{name}.md")
    any_store.write(file, re.sub("made: .*", "made: 2020-01-01T00:00:00+00:00", any_store.read(file)))
    again = propose(any_store, NEW, Days())
    assert again != name
    assert accept(any_store, find(any_store, again)) == [Locator(TARGET)]


# ------------------------------------------------------------------------------------------------ tools


def test_what_is_proposed_is_found_by_nothing(home: Home, store: StorageBackend, call: ToolCall) -> None:
    approve(home, "all")
    answer = save(call, "Use uv", "It is remarkably fast.")
    assert answer["status"] == "proposed"
    assert answer["key"] == TARGET
    assert not store.exists(Locator(TARGET))
    assert search(call, "remarkably fast")["found"] == 0
    assert "remarkably" not in str(recall(call))
    with pytest.raises(NotFoundError):
        read(call, "use-uv")
    with pytest.raises(NotFoundError):
        read(call, str(answer["proposal"]))
    for command in (["search", "remarkably"], ["notes", "list", "--everywhere"], ["recall-here"]):
        assert "remarkably" not in home.run(*command).stdout
        assert "_inbox" not in home.run(*command).stdout


def test_kinds_that_are_not_named_are_saved_as_ever(home: Home, call: ToolCall) -> None:
    approve(home, "decision,convention")
    assert save(call, "Use uv", "Fast.", kind="decision")["status"] == "proposed"
    assert save(call, "Uv is here", "On the path.", kind="fact")["status"] == "saved"


@pytest.mark.parametrize("what", ["decisn", "decision,convntion", "decisions"])
def test_a_word_that_is_no_kind_lets_nothing_past_the_operator(
    home: Home, store: StorageBackend, call: ToolCall, what: str
) -> None:
    approve(home, what)
    with pytest.raises(ConfigError, match="no kind of note") as refused:
        save(call, "Use uv", "Fast.", kind="decision")
    assert "agentm config set capture.approve" in str(refused.value.hint)
    assert not store.exists(Locator(TARGET))
    assert "no kind of note" in home.run("save", "Use uv", "--kind", "decision").stderr
    assert "no kind of note" in home.run("doctor").stdout


def test_a_note_that_is_there_is_changed_only_by_proposal_too(
    home: Home, store: StorageBackend, call: ToolCall
) -> None:
    saved = save(call, "Use uv", "Fast.")
    approve(home, "all")
    now = ToolCall(call.device.renewed(), call.roots, call.client, call.progress)
    assert append(now, "use-uv", "More.")["status"] == "proposed"
    changed = save(now, "Use uv", "Slow.", note="use-uv", expect=str(saved["hash"]))
    assert changed["status"] == "proposed"
    assert content_hash(store.read(Locator(TARGET))) == saved["hash"]


@pytest.mark.parametrize("has_to_wait", [True, False])
def test_a_tool_gives_no_text_to_a_note_that_another_one_has_replaced(
    home: Home, store: StorageBackend, call: ToolCall, has_to_wait: bool
) -> None:
    save(call, "Use uv", "Fast.")
    home.run("save", "--slug", "use-pip", "--supersedes", "use-uv", input="Use pip: it is there.\n")
    replaced = store.read(Locator(TARGET))
    if has_to_wait:
        approve(home, "all")
    now = ToolCall(call.device.renewed(), call.roots, call.client, call.progress)
    with pytest.raises(LocatorConflictError, match="replaced by 'projects/widgets/facts/use-pip.md'") as refused:
        save(now, "Use uv", "Slow.", note="use-uv", expect=content_hash(replaced))
    assert "memory_read that one" in refused.value.hint
    assert store.read(Locator(TARGET)) == replaced
    assert pending(store) == []
    in_turn = "---\nsupersedes: [use-pip]\n---\n\n# Use uv\n\nAfter all.\n"
    save(now, "Use uv", in_turn, note="use-uv", expect=content_hash(replaced))


@pytest.mark.parametrize(("verdict", "shown"), [("doubt", "confidence: 0.3"), ("confirm", "confidence: 0.9")])
def test_a_judgement_of_a_note_waits_too(
    home: Home, store: StorageBackend, call: ToolCall, verdict: str, shown: str
) -> None:
    saved = save(call, "Use uv", "Fast.")
    approve(home, "all")
    now = ToolCall(call.device.renewed(), call.roots, call.client, call.progress)
    assert feedback(now, "use-uv", verdict, reason="seen it")["status"] == "proposed"
    assert content_hash(store.read(Locator(TARGET))) == saved["hash"]
    (waiting,) = pending(store)
    accept(store, waiting)
    text = store.read(Locator(TARGET))
    assert shown in text
    assert "confidence_reason: seen it" in text
    assert text.endswith("# Use uv\n\nFast.\n")


def test_a_program_that_calls_save_proposes_too(home: Home, store: StorageBackend) -> None:
    approve(home, "all")
    done = home.run("save", "--kind", "fact", "--slug", "use-uv", "--json", input="Fast.\n")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["saved"][0]["outcome"] == "proposed"
    assert not store.exists(Locator(TARGET))
    code, said = at_a_terminal(home, "save", "--kind", "fact", "--slug", "use-uv", "--body-file", str(_file(home)))
    assert code == 0, said
    assert store.exists(Locator(TARGET))


def test_what_is_said_beside_the_text_is_proposed_and_accepted_with_it(home: Home, store: StorageBackend) -> None:
    assert home.run("save", "--slug", "use-pip", input="Slow.\n").returncode == 0
    approve(home, "all")
    said = ("--tag", "tools", "--source", "web", "--confidence", "0.5", "--stale-after", "2030-01-01")
    done = home.run("save", "--slug", "use-uv", *said, "--supersedes", "use-pip", input="Fast.\n")
    assert done.returncode == 0, done.stderr
    (waiting,) = pending(store)
    accept(store, waiting)
    text = store.read(Locator(TARGET))
    for line in (
        "tags: [tools]",
        "source: web",
        "confidence: 0.5",
        "stale_after: 2030-01-01",
        "supersedes: [use-pip]",
    ):
        assert f"{line}\n" in text
    assert text.endswith("---\n\nFast.\n")


@pytest.mark.parametrize("update", [False, True])
def test_what_an_accepted_note_replaces_is_marked_as_by_saving_it(
    home: Home, store: StorageBackend, *, update: bool
) -> None:
    for name in ("use-pip", "use-conda", *["use-uv"] * update):
        assert home.run("save", "--slug", name, input="Slow.\n").returncode == 0
    approve(home, "all")
    said = ("--supersedes", "use-pip", "--supersedes", "use-conda", *["--update"] * update)
    done = home.run("save", "--slug", "use-uv", *said, input="Fast.\n")
    assert done.returncode == 0, done.stderr
    assert "status: active\n" in store.read(Locator("projects/widgets/facts/use-pip.md"))
    store.delete(Locator("projects/widgets/facts/use-conda.md"))  # somebody took it away meanwhile
    (waiting,) = pending(store)
    code, told = at_a_terminal(home, "inbox", "accept", waiting.name)
    assert code == 0, told
    assert "status: superseded\n" in store.read(Locator("projects/widgets/facts/use-pip.md"))
    assert "superseded projects/widgets/facts/use-pip.md" in told
    assert "use-conda" not in told.rpartition("accepted ")[2]


def test_an_update_is_proposed_as_one_and_what_saving_refuses_is_not_proposed(
    home: Home, store: StorageBackend, call: ToolCall
) -> None:
    save(call, "Use uv", "Fast.")
    approve(home, "all")
    now = ToolCall(call.device.renewed(), call.roots, call.client, call.progress)
    with pytest.raises(AgentmError, match="says something else"):
        save(now, "Use uv", "Slow.")
    done = home.run("save", "--slug", "use-uv", input="Slow.\n")
    assert done.returncode == 1
    assert "--update" in done.stderr
    done = home.run("save", "--slug", "use-pip", "--supersedes", "use-pipp", input="It is there.\n")
    assert "there is no note 'use-pipp'" in done.stderr
    assert pending(store) == []
    done = home.run("save", "--slug", "use-uv", "--update", "--tag", "tools", input="Slow.\n")
    assert done.returncode == 0, done.stderr
    (waiting,) = pending(store)
    accept(store, waiting)
    text = store.read(Locator(TARGET))
    assert "tags: [tools]\n" in text
    assert text.endswith("---\n\nSlow.\n")


def _file(home: Home) -> Path:
    file = home.path / "body.md"
    file.write_text("Fast.\n")
    return file


@pytest.mark.parametrize(
    ("key", "value"), [("capture.aprove", "all"), ("inbox.days", "0"), ("inbox.days", "soon"), ("inbox.dayz", "3")]
)
def test_a_setting_that_would_guard_nothing_is_refused(home: Home, key: str, value: str) -> None:
    assert home.run("config", "set", key, value).returncode != 0


# ------------------------------------------------------------------------------------------------ the command


@pytest.fixture
def proposed(home: Home, call: ToolCall) -> str:
    approve(home, "all")
    return str(save(call, "Use uv", "It is fast.")["proposal"])


def test_the_operator_sees_and_accepts_on_a_terminal(home: Home, store: StorageBackend, proposed: str) -> None:
    listed = json.loads(home.run("inbox", "list", "--json").stdout)["proposals"]
    assert [one["name"] for one in listed] == [proposed]
    assert "It is fast." in home.run("inbox", "show", "use-uv").stdout
    code, said = at_a_terminal(home, "inbox", "accept", "use-uv", answer="no\n")
    assert code == 1
    assert "not confirmed" in said
    assert "error:" not in said
    code, said = at_a_terminal(home, "inbox", "accept", "use-uv")
    assert code == 0, said
    assert "It is fast." in said
    assert "It is fast." in store.read(Locator(TARGET))
    assert "use-uv" in home.run("search", "fast").stdout
    assert home.run("inbox", "list").stdout == "nothing is proposed\n"


def test_what_is_shown_is_what_the_note_would_be_where_its_project_is_now(home: Home, store: StorageBackend) -> None:
    """It was said to be gone once the project had another name, and to lose the front matter that it keeps."""
    now = "---\nkind: fact\ntags: [tools]\n---\n\nIt is slow.\n"
    record = {"version": 1, "id": "1", "remotes": []}
    for name, more in (("gadgets", {}), ("widgets", {"moved_to": "gadgets"})):
        store.write(Locator(f"projects/{name}/_project.json"), json.dumps({**record, **more}))
    store.write(Locator(TARGET.replace("widgets", "gadgets")), now)
    propose(store, Proposal(REPLACE, TARGET, "fact", "It is fast.\n", expect=content_hash(now)), Days())
    for words in (("inbox", "show"), ("inbox", "reject")):
        code, said = at_a_terminal(home, *words, "use-uv", answer="no\n")
        assert code == (words[1] == "reject"), said
        lines = said.replace("\r", "").splitlines()
        assert "agent proposes to replace projects/gadgets/facts/use-uv.md" in said
        assert {"-It is slow.", "+It is fast.", " tags: [tools]"} <= {*lines}
    store.write(Locator("projects/widgets/_project.json"), json.dumps({**record, "moved_to_store": "another"}))
    assert "(no note is there now)\nIt is fast." in home.run("inbox", "show", "use-uv").stdout


def test_what_waits_in_a_store_that_no_project_here_uses_is_named_with_the_command_that_lists_it(home: Home) -> None:
    folder = home.path / "team"
    folder.mkdir()
    assert home.run("store", "add", "team", "device-local", f"root={folder}").returncode == 0
    approve(home, "all")
    assert home.run("project", "use-store", "team").returncode == 0
    assert home.run("save", "--slug", "tea", input="We drink tea.\n").returncode == 0
    assert home.run("inbox", "list").stderr == ""
    assert home.run("project", "use-store", "default").returncode == 0
    said = home.run("inbox", "list")
    assert said.stdout == "nothing is proposed\n"
    assert said.stderr == "1 proposal waits in the store 'team'; shown by `agentm --store team inbox list`\n"
    listed = home.run("--store", "team", "inbox", "list")
    assert ("tea" in listed.stdout, listed.stderr) == (True, "")


def test_without_a_terminal_nothing_is_settled(home: Home, store: StorageBackend, proposed: str) -> None:
    for verb in ("accept", "reject"):
        done = home.detached("inbox", verb, proposed)
        assert done.returncode == 1
        assert "no terminal to ask on" in done.stderr
    assert len(pending(store)) == 1


@pytest.mark.parametrize(("program", "code"), [("true", 0), ("false", 1), ("/no/such/program", 1), ("'", 1)])
def test_a_command_has_to_agree_as_well(
    home: Home, store: StorageBackend, proposed: str, program: str, code: int
) -> None:
    assert home.run("config", "set", "inbox.confirm", program).returncode == 0
    done, said = at_a_terminal(home, "inbox", "accept", proposed)
    assert done == code, said
    assert store.exists(Locator(TARGET)) is (code == 0)
    assert len(pending(store)) == (code != 0)


def test_a_program_is_told_which_notes_were_made(home: Home, store: StorageBackend, proposed: str) -> None:
    code, said = at_a_terminal(home, "inbox", "accept", proposed, "--json")
    assert code == 0, said
    answer = json.loads(said[said.index("{\r\n") :])
    assert answer["accepted"] == [{"name": proposed, "note": TARGET, "superseded": []}]


@pytest.mark.parametrize(("program", "is_made"), [("true", True), ("false", False)])
def test_on_the_page_a_command_has_to_agree_as_well(
    home: Home, store: StorageBackend, proposed: str, program: str, is_made: bool
) -> None:
    assert home.run("config", "set", "inbox.confirm", program).returncode == 0
    context = HookContext(Device.now({"HOME": str(home.path), "PATH": os.environ["PATH"]}), str(home.project))
    (shown,) = pending(store)
    with contextlib.nullcontext() if is_made else pytest.raises(AgentmError, match="inbox.confirm"):
        accept_shown(context, {"name": shown.name, "hash": shown.hash})
    assert store.exists(Locator(TARGET)) is is_made


def test_rejecting_asks_too(home: Home, store: StorageBackend, proposed: str) -> None:
    code, said = at_a_terminal(home, "inbox", "reject", proposed, "--json")
    assert code == 0, said
    assert said.index("It is fast.") < said.index('"rejected": [')  # who is asked sees what about, also with --json
    assert pending(store) == []


def test_what_expired_is_shown_as_such_and_not_accepted(home: Home, store: StorageBackend) -> None:
    text = f"---\nproposal: save\ntarget: {TARGET}\nkind: fact\nmade: 2020-01-01T00:00:00+00:00\n---\n\nOld.\n"
    store.write(Locator("_inbox/old.md"), text)
    assert "(expired)" in home.run("inbox", "list").stdout
    code, said = at_a_terminal(home, "inbox", "accept", "old")
    assert code == 1
    assert "has waited more than 30 days" in said


def test_controls_in_a_proposal_do_not_reach_the_terminal(home: Home, store: StorageBackend) -> None:
    text = f"---\nproposal: save\ntarget: {TARGET}\nkind: fact\n---\n\nnice \x1b[2J\u202e text\n"
    store.write(Locator("_inbox/odd.md"), text)
    _, said = at_a_terminal(home, "inbox", "accept", "odd", answer="no\n")
    assert "\x1b[2J" not in said
    assert "\u202e" not in said
