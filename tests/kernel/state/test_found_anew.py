"""An answer that is given again is the answer that would be found: whatever changed, and however."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from agentm_kernel.state.memo import Memo
from hypothesis import HealthCheck, given, settings, strategies as st

from agentm_kernel import AgentmError, harness_state_dir, read_state_file, resolve_project, write_state_file
from agentm_kernel.files import evidence
from agentm_kernel.selection import open as selection
from agentm_kernel.state import resolve
from agentm_kernel.state.routing import route_project, state_directory

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel import Resolution


def outcome(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except AgentmError as error:
        return type(error), error.message


def described(resolution: Resolution) -> tuple[object, ...]:
    backend = resolution.backend
    place = backend and (backend.describe(), type(backend).__name__)
    return resolution.root, resolution.slug, resolution.project_locator, resolution.layout, place


def answers() -> tuple[object, object]:
    return outcome(lambda: str(harness_state_dir())), outcome(lambda: described(resolve_project(read_only=True)))


def found_anew() -> tuple[object, object]:
    def directory() -> str:
        return state_directory(route_project(read_only=True))

    return outcome(directory), outcome(lambda: described(route_project(read_only=True)))


class World:
    """A device with two stores and a project, and everything that can change about them."""

    def __init__(self, device, monkeypatch) -> None:
        self.device = device
        self.patch = monkeypatch
        self.root = device.project(remote="git@example.com:ana/widgets.git")
        (self.root / "src" / "deep").mkdir(parents=True)
        self.harness = self.root / ".harness"
        self.aside = device.store.with_name("aside")
        device.found_store("stub")
        device.uses("stub")
        monkeypatch.chdir(self.root)

    def write(self, path: Path, text: str | None, how: str) -> None:
        """Give a file a text, in place or by replacing it, or remove it."""
        if text is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if how == "in place":
            path.write_text(text)
        else:
            path.with_name("new").write_text(text)
            os.replace(path.with_name("new"), path)

    def marker(self, text: str | None, how: str) -> None:
        self.write(self.harness / ".project-mode", text, how)

    def config(self, text: str | None, how: str) -> None:
        self.write(self.device.config, text, how)

    def legacy_config(self, text: str | None, how: str) -> None:
        self.write(self.device.home / ".claude" / ".agentm-config.json", text, how)

    def project_file(self, text: str | None, how: str) -> None:
        self.write(self.harness / "project.json", text, how)

    def git_config(self, text: str | None, how: str) -> None:
        self.write(self.root / ".git" / "config", text, how)

    def owner(self, text: str | None, how: str) -> None:
        if self.device.store.is_dir():
            self.write(self.device.store / "projects" / "widgets" / "_project.json", text, how)

    def stamp(self, text: str | None, how: str) -> None:
        if self.device.store.is_dir():
            self.write(self.device.store / "_meta" / "store.json", text, how)

    def known_stores(self, text: str | None, how: str) -> None:
        self.write(self.device.state_dir / "stores.json", text, how)

    def folder(self, name: str, there: bool) -> None:
        """A folder of the store, or one of the checkout that makes it another project."""
        base = self.device.store if name.endswith("widgets") else self.root
        if there and base.is_dir():
            (base / name).mkdir(parents=True, exist_ok=True)
        elif not there:
            shutil.rmtree(base / name, ignore_errors=True)

    def nested_repository(self, there: bool) -> None:
        head = self.root / "src" / ".git" / "HEAD"
        self.write(head, "ref: refs/heads/main\n" if there else None, "in place")

    def move_store(self, away: bool) -> None:
        source, target = (self.device.store, self.aside) if away else (self.aside, self.device.store)
        if source.is_dir() and not target.exists():
            source.rename(target)

    def empty_store(self) -> None:
        if not self.device.store.exists():
            self.device.store.mkdir()

    def variable(self, name: str, value: str | None) -> None:
        if value is None:
            self.patch.delenv(name, raising=False)
        else:
            self.patch.setenv(name, value)

    def directory(self, name: str) -> None:
        self.patch.chdir(self.root / name)


def config(**settings_: object) -> str:
    return json.dumps({"storage.backend": "stub", "plugins.stub.root": "STORE", **settings_})


HOW = st.sampled_from(["in place", "replaced"])
TEXTS = {
    "marker": [None, "", "local", "backend", "vault ", "garbage"],
    "config": [None, config(), config(state_mode="local"), config(state_mode="backend"), "{", '{"storage.x": 1}'],
    "legacy_config": [None, config(), '{"state_mode": "local"}'],
    "project_file": [None, '{"vault_project": "gadgets"}', '{"github": {"repo": "a/b"}}', "{"],
    "git_config": [None, '[remote "origin"]\nurl = git@example.com:ben/gadgets.git\n', "[core]\n", "[broken"],
    "owner": [None, *(f'{{"version": 1, "remote": "example.com/{who}/widgets"}}' for who in ("ana", "ben")), "{"],
    "stamp": [None, '{"id": "another", "layout": 1}', "{"],
    "known_stores": [None, "{}", "{"],
}
CHANGES = st.one_of(
    *(st.tuples(st.just(name), st.sampled_from(texts), HOW) for name, texts in TEXTS.items()),
    st.tuples(
        st.just("folder"),
        st.sampled_from(["projects/widgets", "personal-projects/widgets", "src/.harness", ".harness"]),
        st.booleans(),
    ),
    st.tuples(st.just("nested_repository"), st.booleans()),
    st.tuples(st.just("move_store"), st.booleans()),
    st.tuples(st.just("empty_store")),
    st.tuples(st.just("variable"), st.just("XDG_CONFIG_HOME"), st.sampled_from([None, "/nowhere"])),
    st.tuples(st.just("variable"), st.just("MEMORY_VAULT_PATH"), st.sampled_from([None, "/nowhere"])),
    st.tuples(st.just("directory"), st.sampled_from([".", "src", "src/deep"])),
)


def play(device_class, folder: Path, monkeypatch, changes: list[tuple[object, ...]]) -> None:
    """Make one change after the other, and hold the kept answers against fresh ones after each."""
    folder.mkdir()
    with monkeypatch.context() as patch:
        world = World(device_class(folder), patch)
        patch.setenv("HOME", str(world.device.home))
        assert answers() == found_anew()
        for name, *arguments in changes:
            store = str(world.device.store)
            getattr(world, str(name))(
                *(each.replace("STORE", store) if isinstance(each, str) else each for each in arguments)
            )
            assert answers() == found_anew(), (name, arguments)
            assert answers() == found_anew(), ("again", name, arguments)
    shutil.rmtree(folder)


@pytest.mark.parametrize("is_settled", [False, True])
def test_after_any_change_the_kept_answer_is_the_one_that_would_be_found(device, monkeypatch, tmp_path, is_settled):
    """Young files are compared by content. Old ones by signature alone: then two changes within one tick of the
    file system's clock that leave the size alone could look alike, so only such as do not are made."""
    if is_settled:
        monkeypatch.setattr(evidence, "_SETTLED_AFTER_NS", -(10**18))
    folders = (tmp_path / str(number) for number in range(10**6))

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(CHANGES, max_size=12))
    def run(changes: list[tuple[object, ...]]) -> None:
        if is_settled:
            changes = [tuple("replaced" if each == "in place" else each for each in change) for change in changes]
        play(type(device), next(folders), monkeypatch, changes)

    run()


BLIND_SPOTS = {
    "projects.root.saw_nothing": [("folder", ".harness", True), ("marker", "local", "replaced")],
    "projects.root.saw_file": [("git_config", TEXTS["git_config"][1], "replaced")],
    "projects.root.observe": [("directory", "src"), ("folder", "src/.harness", True)],
    "device.config.saw_nothing": [("config", None, "replaced"), ("config", config(), "replaced")],
    "device.config.saw_file": [("config", config(state_mode="local"), "replaced")],
    "selection.identity.saw_file": [("known_stores", '{"stub STORE": "another"}', "replaced")],
    "selection.open.observe": [("move_store", True)],
    "state.resolve._see": [("stamp", TEXTS["stamp"][1], "replaced")],
    "state.resolve.saw_process": [("variable", "XDG_CONFIG_HOME", "/nowhere")],
}


@pytest.mark.parametrize(("blind", "changes"), BLIND_SPOTS.items())
def test_a_look_that_is_forgotten_is_caught(device, monkeypatch, tmp_path, blind, changes):
    """The test above would fail, were any room to forget to say what it looks at."""
    monkeypatch.setattr(evidence, "_SETTLED_AFTER_NS", -(10**18))
    play(type(device), tmp_path / "seeing", monkeypatch, changes)

    def look_only(*arguments):
        return arguments[0](arguments[1]) if blind.endswith("observe") else None

    monkeypatch.setattr(f"agentm_kernel.{blind}", look_only)
    if blind == "selection.open.observe":  # the stamp is seen to vanish with the store, too
        monkeypatch.setattr("agentm_kernel.state.resolve._see", lambda path: None)
    with pytest.raises(AssertionError):
        play(type(device), tmp_path / "blind", monkeypatch, changes)


@pytest.fixture
def selections(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Grows by one with every store that is opened."""
    opened: list[bool] = []
    real = selection.inspect

    def inspect(*arguments, **keywords):
        opened.append(True)
        return real(*arguments, **keywords)

    monkeypatch.setattr(selection, "inspect", inspect)
    return opened


@pytest.mark.parametrize("kind", ["device-local", "stub"])
def test_an_answer_that_holds_is_given_again_without_opening_the_store(device, monkeypatch, selections, kind):
    monkeypatch.setattr(evidence, "_SETTLED_AFTER_NS", -(10**18))
    monkeypatch.chdir(device.project())
    device.found_store(kind)
    device.uses(kind)
    first = resolve_project(), harness_state_dir()
    opened = len(selections)

    for _ in range(10):
        assert (resolve_project(), harness_state_dir()) == first
        assert resolve_project() is first[0]
        assert harness_state_dir(first[0]) == first[1]
        read_state_file(first[0], "PLAN.md")
    assert len(selections) == opened


def test_read_only_and_writable_are_different_questions(device, monkeypatch):
    monkeypatch.chdir(device.project())

    assert resolve_project() is not resolve_project(read_only=True)


def test_an_answer_found_through_a_wrapper_is_found_anew(synced, monkeypatch, selections):
    """What a wrapper goes by, only the wrapper knows."""
    monkeypatch.setattr(evidence, "_SETTLED_AFTER_NS", -(10**18))
    monkeypatch.chdir(synced.project())
    monkeypatch.setattr(selection, "_find_wrapper", lambda name, config: name)
    monkeypatch.setattr("agentm_kernel.plugins.load.load", lambda record: lambda backend, options, context: backend)
    synced.uses("stub", wrappers=["guard"])
    resolve_project()
    opened = len(selections)

    resolve_project()

    assert len(selections) > opened


def test_a_conditional_include_is_asked_again(synced, monkeypatch):
    """Git reads files of its own then, and nobody knows which."""
    root = synced.project()
    (root / "work").write_text('[remote "origin"]\nurl = git@example.com:ana/gizmos.git\n')
    (root / ".git" / "config").write_text(f'[includeIf "gitdir:{root}/"]\npath = {root}/work\n')
    monkeypatch.setattr("agentm_kernel.projects.git_command.origin_urls", lambda _: ["git@example.com:a/one.git"])
    monkeypatch.chdir(root)
    assert resolve_project().slug == "one"

    monkeypatch.setattr("agentm_kernel.projects.git_command.origin_urls", lambda _: ["git@example.com:a/two.git"])

    assert resolve_project().slug == "two"


def test_a_memo_keeps_a_few_answers_only():
    memo = Memo(limit=3)

    for question in range(10):
        assert memo.answer(question, lambda: question) == question  # noqa: B023
    assert len(memo._kept) <= 3


def test_a_failure_is_not_kept():
    memo = Memo()
    with pytest.raises(ZeroDivisionError):
        memo.answer("question", lambda: 1 // 0)

    assert memo.answer("question", lambda: "answer") == "answer"


def test_many_projects_are_kept_apart(synced, selections):
    roots = [synced.project(f"project-{number}") for number in range(40)]
    for _ in range(2):
        for root in roots:
            assert resolve_project({"cwd": root}).slug == root.name
    assert len(resolve._projects._kept) <= 32


def test_a_write_is_seen_by_the_next_question(synced, monkeypatch):
    monkeypatch.chdir(synced.project(remote="git@example.com:ana/widgets.git"))
    resolution = resolve_project()
    write_state_file(resolution, "PLAN.md", "one")
    assert read_state_file(resolution, "PLAN.md") == "one"
    write_state_file(resolution, "PLAN.md", "two")

    assert read_state_file(resolve_project(), "PLAN.md") == "two"
