"""The read-only view of a process: what it answers, and what it does instead of raising."""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import TYPE_CHECKING

import pytest

from agentm_devkit.conformance.stubs import LocalStub, SyncedStub
from agentm_kernel import (
    is_available,
    offer_save_here,
    read_state_file,
    recall_here,
    resolve_project,
    state_path,
    update_state_file,
    write_state_file,
)
from agentm_kernel.plugin import ActivePlanError, Device, StorageSelectionError
from agentm_kernel.process_seam import PHASES, own_notes, recall_at_start, recall_for_prompt, why_here
from agentm_kernel.projects.checkout import identify_project
from agentm_kernel.projects.claiming import claim_as
from agentm_kernel.projects.lookup import Checkouts
from agentm_kernel.seam.registry import registry
from agentm_kernel.selection.identity import stamp_store

if TYPE_CHECKING:
    from pathlib import Path

_numbers = count()


class Here:
    """A project, a home and a search path with nothing installed on it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.site = folder / "site"
        self.store = folder / "store"
        self.project = folder / "widgets"
        for made in (self.home, self.site, self.store, self.project / ".harness"):
            made.mkdir(parents=True)

    def configure(self, **settings: object) -> None:
        path = self.home / ".config" / "agentm" / ".agentm-config.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))

    def use_synced_store(self, **settings: object) -> None:
        stamp_store(SyncedStub(self.store))
        self.configure(**{"storage.backend": "stub", "plugins.stub.root": str(self.store), **settings})

    def install_recall(self, source: str, name: str = "memory") -> None:
        """A recall provider, `provide`, in a distribution of its own."""
        module = f"recall_provider_{next(_numbers)}"  # an import lasts for the whole of a process
        (self.site / f"{module}.py").write_text(source)
        info = self.site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text(f"[agentm.recall]\n{name} = {module}:provide\n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    made = Here(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "AGENTM_INSTALL_PREFIX", "MEMORY_VAULT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setattr(registry, "_classes", {"device-local": LocalStub, "stub": SyncedStub})
    bare = [entry for entry in sys.path if "site-packages" not in entry]
    monkeypatch.setattr(sys, "path", [str(made.site), *bare])
    monkeypatch.chdir(made.project)
    return made


ECHO = """
def provide(resolution, *, phase, query, limit):
    return f"{resolution.slug} {phase} {query} {limit} {type(resolution.backend).__name__}"
"""


# ------------------------------------------------------------------------------------------------ recall


def test_without_a_provider_there_is_nothing_to_recall(here, capsys):
    assert recall_here() == ""
    assert recall_here({"cwd": here.project, "phase": "plan"}, query="words", limit=100) == ""
    assert capsys.readouterr() == ("", "")


def test_the_provider_is_asked_with_project_phase_query_and_limit(here):
    here.install_recall(ECHO)

    assert recall_here({"phase": "review"}, query="locks", limit=50) == "widgets review locks 50 IdentityGuard"


@pytest.mark.parametrize("mode", ["backend", "local"])
def test_a_session_that_starts_asks_for_its_share_without_a_query(here, mode):
    """Notes are in a store wherever the project's state is."""
    here.install_recall(ECHO)
    here.configure(state_mode=mode)

    asked = recall_at_start(Device.now(), resolve_project(), 70)

    assert asked == "widgets work None 70 IdentityGuard"


@pytest.mark.parametrize(("phase", "known"), [("plan", "plan"), ("dance", "work"), (None, "work")])
def test_who_asks_why_asks_as_recall_would(here, phase, known):
    why = (
        "def why(memory, *, note, phase, query, limit):\n    return f'{memory.slug} {note} {phase} {query} {limit}'\n"
    )
    here.install_recall(f"{ECHO}{why}provide.why = why\n")

    assert why_here(Device.now(), "a.md", None, phase, "locks", 50) == f"widgets a.md {known} locks 50"


@pytest.mark.parametrize("phase", [None, "", "dance", 5, ["work"]])
def test_an_unknown_phase_counts_as_work(here, phase):
    here.install_recall(ECHO)

    assert recall_here({"phase": phase}).split()[1] == "work"


def test_every_phase_of_the_loop_is_known(here):
    here.install_recall(ECHO)

    assert [recall_here({"phase": phase}).split()[1] for phase in PHASES] == [*PHASES]


def test_notes_are_recalled_also_where_state_is_local(here):
    here.install_recall(ECHO)
    here.configure(state_mode="local")

    assert recall_here() == "widgets work None None IdentityGuard"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise ImportError('missing')", "cannot be loaded"),
        ("def provide(*a, **k): raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
        ("def provide(*a, **k): raise SystemExit(3)", "it called sys.exit(3)"),
        ("def provide(*a, **k): return 5", "answered with int"),
        ("def provide(): return ''", "TypeError"),
    ],
)
def test_a_provider_that_fails_is_an_empty_answer_and_one_line(here, capsys, source, said):
    here.install_recall(source)

    assert recall_here() == ""
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("agentm recall: ")
    assert said in err


def test_what_a_provider_prints_is_not_part_of_the_answer(here, capsys):
    here.install_recall("def provide(*a, **k):\n    print('noise')\n    return 'answer'")

    assert recall_here() == "answer"
    assert capsys.readouterr() == ("", "noise\n")


def test_two_providers_are_not_chosen_between(here, capsys):
    here.install_recall(ECHO, "one")
    here.install_recall(ECHO, "two")

    assert recall_here() == ""
    assert "more than one recall provider is installed: one and two" in capsys.readouterr().err
    here.configure(**{"plugin_policy.disabled": ["two"]})
    assert recall_here() != ""


@pytest.mark.parametrize(
    "settings", [{"storage.backend": "not installed"}, {"storage.bakend": "x"}, {"storage.backend": "stub"}]
)
def test_a_store_that_cannot_be_had_is_an_empty_answer_and_one_line(here, capsys, settings):
    here.install_recall(ECHO)
    here.configure(**settings)

    assert recall_here() == ""
    assert offer_save_here(None, {"kind": "decision"}) == []
    recalled, offered = capsys.readouterr().err.splitlines()
    assert recalled.startswith("agentm recall: ")
    assert offered.startswith("agentm offer-save: ")


def test_a_directory_that_is_not_there_is_an_empty_answer_and_one_line(here, capsys):
    here.install_recall(ECHO)

    assert recall_here({"cwd": "/no/such/folder"}) == ""
    assert recall_here({"cwd": 5}) == ""
    assert capsys.readouterr().err.count("\n") == 2


# ------------------------------------------------------------------------------------------------ offers


def test_an_offer_says_where_a_note_would_go(here):
    candidate = {"kind": "decision", "slug": "locks", "body": "…"}

    offers = offer_save_here({"phase": "plan"}, candidate)

    assert offers == [
        {**candidate, "project": "widgets", "phase": "plan", "target": "projects/widgets", "protocol": "device-local"}
    ]
    assert candidate == {"kind": "decision", "slug": "locks", "body": "…"}


def test_an_offer_names_the_older_place_where_the_project_lies_there(here):
    here.use_synced_store()
    folder = here.store / "personal-projects" / "widgets"
    folder.mkdir(parents=True)
    folder.joinpath("note.md").write_text("a note\n")
    assert offer_save_here(None, {"kind": "decision"}) == []  # nobody has said whose notes these are
    device = Device.now()
    project = identify_project(str(here.project))
    store = device.store(read_only=False)
    claim_as(store, project, Checkouts(device.state_dir, store), "widgets", adopting=False)

    (offer,) = offer_save_here(None, {"kind": "decision"})

    assert (offer["target"], offer["protocol"]) == ("personal-projects/widgets", "stub")


def test_what_the_candidate_says_itself_is_kept(here):
    (offer,) = offer_save_here({"phase": "plan"}, {"project": "other", "phase": "work"})

    assert (offer["project"], offer["phase"]) == ("other", "work")


def test_anything_may_be_a_candidate(here):
    assert offer_save_here(None, "just text")[0]["body"] == "just text"


@pytest.mark.parametrize("candidate", [None, {}, "", [], 0])
def test_nothing_is_not_offered(here, candidate):
    assert offer_save_here(None, candidate) == []


def test_a_name_that_belongs_to_another_repository_is_not_offered(here, capsys):
    here.use_synced_store()
    record = here.store / "projects" / "widgets" / "_project.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"version": 1, "remote": "example.com/somebody/widgets"}')

    (offer,) = offer_save_here(None, {"kind": "decision"})
    assert offer["target"] == "projects/widgets-2"


# ------------------------------------------------------------------------------------------------ paths


def test_the_path_is_that_of_the_active_plan(here):
    harness = here.project / ".harness"
    assert state_path(None, "plan") == harness / "PLAN.md"
    assert state_path({}, "progress") == harness / "progress.md"
    assert state_path({"plan": "foo"}, "progress") == harness / "progress-foo.md"
    (harness / "PLAN-foo.md").write_text("# Foo")
    (harness / "active-plan").write_text("foo")

    assert state_path({"cwd": here.project}, "plan") == harness / "PLAN-foo.md"


def test_the_path_leads_into_a_synced_store(here):
    here.use_synced_store()

    assert state_path(None, "plan") == here.store / "projects" / "widgets" / "_harness" / "PLAN.md"


@pytest.mark.parametrize("which", ["Plan", "", None, "roadmap"])
def test_only_plan_and_progress_have_a_path(here, which):
    with pytest.raises(ValueError, match="'plan' and 'progress'"):
        state_path(None, which)


def test_a_wrong_place_is_worse_than_none(here):
    (here.project / ".harness" / "active-plan").write_text("gone")
    with pytest.raises(ActivePlanError):
        state_path(None, "plan")
    with pytest.raises(ValueError, match="unsafe"):
        state_path({"plan": "../x"}, "plan")
    here.configure(**{"storage.backend": "not installed"})
    with pytest.raises(StorageSelectionError):
        state_path(None, "plan")


def test_whether_the_store_can_be_had_is_known(here):
    assert is_available() is True
    here.use_synced_store()
    assert is_available() is True
    write_state_file(resolve_project(), "PLAN.md", "x")  # from now on this device knows the store
    here.store.rename(here.store.with_name("elsewhere"))
    assert is_available() is False
    here.configure(**{"storage.backend": "not installed"})
    assert is_available() is False


# ------------------------------------------------------------------------------------------------ a further store

OWN = """
def provide(resolution, *, phase, query, limit):
    return ""

def own(device, *, phase, query, limit):
    if query == "fail":
        raise ValueError("no words")
    return f"{type(device).__name__} {phase} {query} {limit}"

def for_prompt(memory, *, prompt, limit, known):
    return f"{memory.store_name} {prompt} {limit} {known}"

provide.own, provide.for_prompt = own, for_prompt
"""


@pytest.fixture
def bound(here, monkeypatch):
    """The project is bound to a further store."""
    monkeypatch.setattr(Device, "bound_store", lambda self, cwd=None: "team")
    return here


def test_beside_a_further_store_the_operator_s_own_notes_are_asked_for(bound, capsys):
    bound.install_recall(OWN)
    assert own_notes(Device.now(), None, 50, phase="plan", query="locks") == "Device plan locks 50"
    assert own_notes(Device.now(), None, 50, query="fail") == ""
    assert "no words" in capsys.readouterr().err


def test_whoever_recalls_there_is_given_them_for_the_same_question(bound):
    bound.install_recall(OWN)
    assert "Device plan locks 50" in recall_here({"phase": "plan"}, query="locks", limit=50)


def test_a_provider_that_knows_no_own_notes_is_not_asked_for_them(bound, capsys):
    assert own_notes(Device.now(), None, 50) == ""
    bound.install_recall(ECHO)
    assert own_notes(Device.now(), None, 50) == ""
    assert capsys.readouterr().err == ""


def test_without_a_further_store_there_are_no_notes_beside(here):
    here.install_recall(OWN)
    assert own_notes(Device.now(), None, 50) == ""


def test_a_prompt_is_answered_without_a_further_store_that_cannot_be_had(bound, capsys):
    bound.install_recall(OWN)
    bound.configure(**{"storage.backend": "not installed"})
    assert recall_for_prompt(Device.now(), None, "words", 50, ("a",)) == "team words 50 ('a',)"
    assert capsys.readouterr().err.startswith("agentm recall: ")


def test_a_prompt_without_a_store_is_an_error(here):
    here.install_recall(OWN)
    here.configure(**{"storage.backend": "not installed"})
    with pytest.raises(StorageSelectionError):
        recall_for_prompt(Device.now(), None, "words", 50, ())


def test_whoever_only_reads_a_project_needs_no_store_that_can_be_written(here, monkeypatch):
    here.use_synced_store()
    asked = []
    monkeypatch.setattr(SyncedStub, "check_usable", lambda _, *, read_only: asked.append(read_only))
    for read_only in (True, False):
        found = resolve_project(read_only=read_only)
    assert asked == [True, False]
    read_state_file(found, "PLAN.md")
    update_state_file(found, "PLAN.md", lambda _: "# Plan\n")
    assert asked[2:] == [True, False], "a question of its own for each"
