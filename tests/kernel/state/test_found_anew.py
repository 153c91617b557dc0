"""Whatever changed, and however: the next answer of a long-lived process is the one that a new process finds."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentm_kernel import AgentmError, harness_state_dir, read_state_file, resolve_project, write_state_file
from agentm_kernel.here import resolve_active_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.plugin import Resolution


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


@pytest.fixture
def fresh_process():
    """The answers of a process that has looked at nothing before: a child, forked before the first look."""
    asking, answering = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(asking[1])
        os.close(answering[0])
        _serve(asking[0], answering[1])
    os.close(asking[0])
    os.close(answering[1])
    with os.fdopen(asking[1], "w") as questions, os.fdopen(answering[0]) as found:

        def ask() -> object:
            questions.write(json.dumps([os.getcwd(), dict(os.environ)]) + "\n")
            questions.flush()
            return json.loads(found.readline())

        yield ask
    os.waitpid(child, 0)


def _serve(asking: int, answering: int) -> None:
    """Answer each question in a process of its own, which is thrown away."""
    with os.fdopen(asking) as questions, os.fdopen(answering, "w") as answer:
        for line in questions:
            cwd, environ = json.loads(line)
            one = os.fork()
            if one == 0:
                os.chdir(cwd)
                os.environ.clear()
                os.environ.update(environ)
                answer.write(json.dumps(answers(), default=str) + "\n")
                answer.flush()
                os._exit(0)
            os.waitpid(one, 0)
    os._exit(0)


def play(device_class, folder: Path, monkeypatch, changes: list[tuple[object, ...]], fresh_process) -> None:
    """Make one change after the other, and hold our answers against those of a new process after each."""
    folder.mkdir()
    with monkeypatch.context() as patch:
        world = World(device_class(folder), patch)
        patch.setenv("HOME", str(world.device.home))
        assert json.loads(json.dumps(answers(), default=str)) == fresh_process()
        for name, *arguments in changes:
            store = str(world.device.store)
            getattr(world, str(name))(
                *(each.replace("STORE", store) if isinstance(each, str) else each for each in arguments)
            )
            assert json.loads(json.dumps(answers(), default=str)) == fresh_process(), (name, arguments)
    shutil.rmtree(folder)


def test_after_any_change_a_process_that_goes_on_answers_as_a_new_one_does(
    device, monkeypatch, tmp_path, fresh_process
):
    folders = (tmp_path / str(number) for number in range(10**6))

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(CHANGES, max_size=12))
    def run(changes: list[tuple[object, ...]]) -> None:
        play(type(device), next(folders), monkeypatch, changes, fresh_process)

    run()


def test_a_kept_resolution_is_looked_up_again(synced, monkeypatch):
    root = synced.project(remote="git@example.com:ana/widgets.git")
    monkeypatch.chdir(root)
    kept = resolve_project()
    assert harness_state_dir(kept) == synced.store / "projects" / "widgets" / "_harness"

    (root / ".harness").mkdir()
    (root / ".harness" / ".project-mode").write_text("local")

    assert harness_state_dir(kept) == root / ".harness"
    (root / ".harness" / "PLAN-ship.md").write_text("# Ship\n")
    (root / ".harness" / "active-plan").write_text("ship\n")
    assert resolve_active_plan(kept) == ("PLAN-ship.md", "progress-ship.md")


def test_read_only_and_writable_are_different_questions(device, monkeypatch):
    monkeypatch.chdir(device.project())

    assert resolve_project() is not resolve_project(read_only=True)


def test_a_conditional_include_is_asked_again(synced, monkeypatch):
    """Git reads files of its own then, and nobody knows which."""
    root = synced.project()
    (root / "work").write_text('[remote "origin"]\nurl = git@example.com:ana/gizmos.git\n')
    (root / ".git" / "config").write_text(f'[includeIf "gitdir:{root}/"]\npath = {root}/work\n')
    monkeypatch.setattr("agentm_kernel.projects.git_files.origin_urls", lambda _: ["git@example.com:a/one.git"])
    monkeypatch.chdir(root)
    assert resolve_project().slug == "one"

    monkeypatch.setattr("agentm_kernel.projects.git_files.origin_urls", lambda _: ["git@example.com:a/two.git"])

    assert resolve_project().slug == "two"


def test_a_write_is_seen_by_the_next_question(synced, monkeypatch):
    monkeypatch.chdir(synced.project(remote="git@example.com:ana/widgets.git"))
    resolution = resolve_project()
    write_state_file(resolution, "PLAN.md", "one")
    assert read_state_file(resolution, "PLAN.md") == "one"
    write_state_file(resolution, "PLAN.md", "two")

    assert read_state_file(resolve_project(), "PLAN.md") == "two"
