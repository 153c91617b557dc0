"""Renaming and merging projects in a store: nothing is lost wherever it is cut off, and every checkout follows."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from agentm_import.moving.projects import merge_projects, rename_project
from agentm_kernel import Locator
from agentm_kernel.plugin import (
    AgentmError,
    BackendLayer,
    ConfigError,
    FileStore,
    InvalidContentError,
    NotFoundError,
    ProjectRecord,
    claim_name,
    create_record,
    list_repos,
    read_record,
    records,
    register_repo,
    stamp_store,
)
from agentm_kernel.projects.lookup import read_pointer
from agentm_recall.note_format import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from import_home import Home

MINE, THEIRS = "github.com/ada/widgets", "github.com/bob/widgets"
FILES = {"facts/a.md": "a\n", "facts/b.md": "b\n", "_harness/PLAN.md": "the plan\n"}


class Killed(BaseException):
    """The process ends here; nothing of ours catches it."""


class CutOff(BackendLayer):
    """Ends the process before or after its n-th change."""

    def __init__(self, inner: FileStore, after: int, *, done: bool) -> None:
        super().__init__(inner)
        self._left = after
        self._done = done

    def write(self, locator, content, **condition):  # type: ignore[no-untyped-def]
        return self._count(lambda: self.inner.write(locator, content, **condition))

    def delete(self, locator, **condition):  # type: ignore[no-untyped-def]
        return self._count(lambda: self.inner.delete(locator, **condition))

    def _count(self, change):  # type: ignore[no-untyped-def]
        self._left -= 1
        if self._left == 0 and not self._done:
            raise Killed
        answer = change()
        if self._left == 0:
            raise Killed
        return answer


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "store", create_root=True)


def project(store: FileStore, slug: str, remote: str | None, **more: str) -> None:
    assert claim_name(store, remote, [slug]) is not None
    for key, text in {**FILES, **more}.items():
        store.write(Locator(f"projects/{slug}/{key}"), text)


def files(store: FileStore, slug: str) -> dict[str, str]:
    folder = Locator(f"projects/{slug}")
    return {
        info.locator.key.removeprefix(f"{folder}/"): store.read(info.locator)
        for info in store.walk(folder)
        if not info.is_dir and info.locator.name != "_project.json"
    }


def test_a_renamed_project_has_everything_and_is_found_by_its_old_name(store: FileStore) -> None:
    project(store, "widgets", MINE)
    before = read_record(store, "widgets")
    assert rename_project(store, "widgets", "gadgets") == (3, {})
    assert (files(store, "gadgets"), files(store, "widgets")) == (FILES, {})
    after = read_record(store, "widgets")
    assert before is not None
    assert after is not None
    assert (after.slug, after.id, after.remotes) == ("gadgets", before.id, (MINE,))
    assert read_pointer(store, MINE) == "gadgets"
    other = claim_name(store, THEIRS, ["widgets", "bob-widgets"])
    assert other is not None
    assert other.slug == "bob-widgets"


@pytest.mark.parametrize(
    ("move", "known", "left"),
    [
        (rename_project, ("widgets",), [("gadgets", "/src/widgets")]),
        (merge_projects, ("widgets", "gadgets"), [("gadgets", "/src/gadgets")]),
        (rename_project, (), []),
    ],
)
def test_the_registry_knows_a_project_by_its_new_name_only(
    store: FileStore, move: Callable[..., object], known: tuple[str, ...], left: list[tuple[str, str]]
) -> None:
    """`agentm project list` went on showing the old name beside the new one."""
    project(store, "widgets", MINE)
    if move is merge_projects:
        project(store, "gadgets", THEIRS)
    for slug in known:
        register_repo(store, slug, f"/src/{slug}", remote=MINE)
    move(store, "widgets", "gadgets")
    assert [(repo["slug"], repo["root_path"]) for repo in list_repos(store)] == left


@pytest.mark.parametrize("move", [rename_project, merge_projects])
def test_nothing_is_moved_while_the_registry_cannot_be_understood(
    store: FileStore, move: Callable[..., object]
) -> None:
    """It would be refused again and again, with all of it moved."""
    project(store, "widgets", MINE)
    if move is merge_projects:
        project(store, "gadgets", THEIRS)
    store.write(Locator("_meta/repos.json"), "{")
    before = files(store, "widgets")
    with pytest.raises(InvalidContentError, match=r"_meta/repos\.json"):
        move(store, "widgets", "gadgets")
    assert files(store, "widgets") == before


def test_a_merged_project_is_both_and_loses_no_text(store: FileStore) -> None:
    project(store, "widgets", MINE, **{"facts/a.md": "ours\n", "facts/c.md": "c\n"})
    project(store, "gadgets", THEIRS)
    moved = merge_projects(store, "widgets", "gadgets")
    assert moved.beside == {"projects/gadgets/facts/a-from-widgets.md": "projects/gadgets/facts/a.md"}
    assert files(store, "gadgets") == {**FILES, "facts/a-from-widgets.md": "ours\n", "facts/c.md": "c\n"}
    record = read_record(store, "gadgets")
    assert record is not None
    assert record.remotes == (THEIRS, MINE)
    assert [read_pointer(store, remote) for remote in (MINE, THEIRS)] == ["gadgets", "gadgets"]
    assert merge_projects(store, "widgets", "gadgets") == (0, {})


def noted(fields: str) -> str:
    return f"---\nkind: fact\n{fields}\n---\n\nA fact.\n"


OLD, NEW = noted("created: 2026-01-01"), noted("created: 2026-03-01\nsupersedes: [a]")


@pytest.mark.parametrize(
    ("mine", "theirs", "hidden"),
    [
        ({"facts/a.md": noted("status: superseded"), "facts/new.md": NEW}, {"facts/a.md": OLD}, "gadgets/facts/a"),
        ({"facts/new.md": NEW}, {"decisions/a.md": OLD}, "gadgets/decisions/a"),
        (
            {"decisions/a.md": OLD},
            {"facts/a.md": noted("status: superseded"), "facts/new.md": NEW},
            "widgets/decisions/a",
        ),
    ],
)
def test_a_merge_that_would_hide_a_note_is_refused_with_what_to_run(
    home: Home, mine: dict[str, str], theirs: dict[str, str], hidden: str
) -> None:
    store = home.device().store(read_only=False)
    stamp_store(store)
    project(store, "widgets", MINE, **mine)
    project(store, "gadgets", THEIRS, **theirs)
    before = {slug: files(store, slug) for slug in ("widgets", "gadgets")}
    refused = home.run("project", "merge", "widgets", "gadgets")
    slug = hidden.partition("/")[0]
    assert f"'projects/{hidden}.md' would be hidden" in refused.stderr
    assert {slug: files(store, slug) for slug in ("widgets", "gadgets")} == before
    way_out = f"agentm notes move projects/{hidden} --project {slug} --slug NEW"
    assert way_out in refused.stderr
    assert home.run(*way_out.replace("NEW", "other").split()[1:]).returncode == 0
    merged = home.run("project", "merge", "widgets", "gadgets")
    assert merged.returncode == 0, merged.stderr
    assert "gadgets/" in home.run("notes", "path", "other", "--project", "gadgets").stdout


@pytest.mark.parametrize("after", range(1, 12))
@pytest.mark.parametrize("remote", [MINE, None])
def test_a_merge_that_was_cut_off_between_two_notes_of_which_one_hides_the_other_is_finished(
    store: FileStore, remote: str | None, after: int
) -> None:
    project(store, "widgets", remote, **{"facts/a.md": OLD, "facts/new.md": NEW})
    project(store, "gadgets", THEIRS)
    store.delete(Locator("projects/gadgets/facts/a.md"))
    with suppress(Killed):  # a change that the store refuses is none
        merge_projects(CutOff(store, after, done=True), "widgets", "gadgets", FORMAT)
    merge_projects(store, "widgets", "gadgets", FORMAT)
    assert files(store, "gadgets").keys() >= {"facts/a.md", "facts/new.md"}


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("move", [rename_project, merge_projects])
def test_what_was_cut_off_anywhere_is_finished_by_running_it_again(tmp_path: Path, move: object, done: bool) -> None:
    for number in range(1, 40):
        store = FileStore(tmp_path / f"store-{number}", create_root=True)
        project(store, "widgets", MINE, **{"facts/a.md": "ours\n"})
        if move is merge_projects:
            project(store, "gadgets", THEIRS)
        try:
            move(CutOff(store, number, done=done), "widgets", "gadgets")  # type: ignore[operator]
            is_complete = True
        except Killed:
            is_complete = False
        move(store, "widgets", "gadgets")  # type: ignore[operator]
        found = files(store, "gadgets")
        assert sorted(found.values()) == sorted({**FILES, "facts/a.md": "ours\n"}.values()) or sorted(
            found.values()
        ) == sorted([*FILES.values(), "ours\n"])
        assert files(store, "widgets") == {}
        record = read_record(store, "widgets")
        assert record is not None
        assert record.slug == "gadgets"
        assert MINE in record.remotes
        if is_complete:
            return
    pytest.fail("it was never complete")


@pytest.mark.parametrize("taken", ["facts/A.md", "facts/a.md/deep.md"], ids=["another spelling", "a folder"])
def test_a_name_that_the_other_project_has_in_another_form_does_not_stop_a_merge(
    store: FileStore, taken: str
) -> None:
    project(store, "widgets", MINE)
    create_record(store, ProjectRecord(Locator("projects/bobs"), ("2",), (THEIRS,)))
    store.write(Locator(f"projects/bobs/{taken}"), "theirs\n")
    merge_projects(store, "widgets", "bobs")
    assert store.read(Locator(f"projects/bobs/{taken}")) == "theirs\n"
    assert store.read(Locator("projects/bobs/facts/a-from-widgets.md")) == "a\n"
    assert files(store, "widgets") == {}


@pytest.mark.parametrize("tree", ["projects", "personal-projects"])
@pytest.mark.parametrize("move", [rename_project, merge_projects])
def test_what_came_to_the_old_name_afterwards_is_taken_along_by_renaming_it_again(
    store: FileStore, move: Callable[[FileStore, str, str], object], tree: str
) -> None:
    create_record(store, ProjectRecord(Locator(f"{tree}/widgets"), ("1",), (MINE,)))
    store.write(Locator(f"{tree}/widgets/facts/a.md"), "a\n")
    if move is merge_projects:
        create_record(store, ProjectRecord(Locator("projects/gadgets"), ("2",), (THEIRS,)))
    move(store, "widgets", "gadgets")
    store.write(Locator(f"{tree}/widgets/facts/a.md"), "late\n")
    store.write(Locator(f"{tree}/widgets/facts/late.md"), "late\n")
    assert rename_project(store, "widgets", "gadgets") == (
        2,
        {"projects/gadgets/facts/a-from-widgets.md": "projects/gadgets/facts/a.md"},
    )
    assert files(store, "gadgets") == {
        "facts/a.md": "a\n",
        "facts/a-from-widgets.md": "late\n",
        "facts/late.md": "late\n",
    }
    record = read_record(store, "widgets")
    assert record is not None
    assert (record.slug, MINE in record.remotes) == ("gadgets", True)


def test_an_edit_while_a_file_is_moved_is_not_lost(store: FileStore) -> None:
    class Edited(BackendLayer):
        is_edited = False

        def delete(self, locator, **condition):  # type: ignore[no-untyped-def]
            if not self.is_edited:
                self.is_edited = True
                self.inner.write(locator, "edited\n")
            return self.inner.delete(locator, **condition)

    project(store, "widgets", MINE)
    rename_project(Edited(store), "widgets", "gadgets")
    assert files(store, "gadgets") == {**FILES, "_harness/PLAN.md": "edited\n"}
    assert files(store, "widgets") == {}


def test_an_edit_at_both_places_while_a_file_is_moved_keeps_both(store: FileStore) -> None:
    class Edited(BackendLayer):
        is_edited = False

        def delete(self, locator, **condition):  # type: ignore[no-untyped-def]
            if not self.is_edited:
                self.is_edited = True
                self.inner.write(locator, "edited\n")
                self.inner.write(Locator(locator.key.replace("widgets", "gadgets")), "edited there\n")
            return self.inner.delete(locator, **condition)

    project(store, "widgets", MINE)
    rename_project(Edited(store), "widgets", "gadgets")
    texts = {"_harness/PLAN.md": "edited there\n", "_harness/PLAN-from-widgets.md": "edited\n"}
    assert files(store, "gadgets") == {**FILES, **texts}
    assert files(store, "widgets") == {}


def test_what_cannot_be_moved_is_refused_before_anything_changes(store: FileStore, tmp_path: Path) -> None:
    project(store, "widgets", MINE)
    project(store, "gadgets", THEIRS)
    store.write(Locator("projects/unclaimed/note.md"), "whose?\n")
    picture = tmp_path / "store" / "projects" / "gadgets" / "picture.png"
    picture.write_bytes(b"\x89PNG\xff")
    before = {info.locator.key: info.version for info in store.walk(Locator())}
    attempts: list[tuple[object, str, str, type[AgentmError]]] = [
        (rename_project, "widgets", "gadgets", ConfigError),
        (rename_project, "widgets", "unclaimed", ConfigError),
        (rename_project, "widgets", "widgets", ConfigError),
        (rename_project, "gone", "new", NotFoundError),
        (merge_projects, "widgets", "gone", NotFoundError),
        (rename_project, "gadgets", "new", InvalidContentError),
    ]
    for move, old, new, error in attempts:
        with pytest.raises(error):
            move(store, old, new)  # type: ignore[operator]
    assert {info.locator.key: info.version for info in store.walk(Locator())} == before
    assert json.loads(store.read(Locator("projects/widgets/_project.json")))["remotes"] == [MINE]


def test_a_project_can_have_its_first_name_back(store: FileStore) -> None:
    project(store, "widgets", MINE)
    rename_project(store, "widgets", "gadgets")
    rename_project(store, "gadgets", "gears")

    rename_project(store, "gears", "widgets")

    assert all(read_record(store, name).slug == "widgets" for name in ("widgets", "gadgets", "gears"))  # type: ignore[union-attr]
    assert files(store, "widgets") == FILES


def test_a_project_is_not_merged_into_a_name_that_it_had(store: FileStore) -> None:
    project(store, "widgets", MINE)
    rename_project(store, "widgets", "gadgets")

    with pytest.raises(ConfigError, match="'widgets' is called 'gadgets' now"):
        merge_projects(store, "gadgets", "widgets")

    assert files(store, "gadgets") == FILES


def test_a_merged_project_is_known_by_the_id_that_checkouts_remember_wherever_its_old_name_went(
    store: FileStore,
) -> None:
    """Another clone may have claimed the old name meanwhile: then its record is that project's."""
    for name, remote in (("plain", "example.com/ben/plain"), ("widgets", MINE)):
        project(store, name, remote)
    before = [read_record(store, name) for name in ("plain", "widgets")]

    merge_projects(store, "plain", "widgets")

    record = read_record(store, "widgets")
    assert record is not None
    assert {each for one in before if one for each in one.ids} == set(record.ids)
    rename_project(store, "widgets", "gizmos")
    assert set(record.ids) == {each for record in records(store) for each in record.ids}


def test_a_project_is_not_merged_into_another_one_by_a_name_that_it_had(store: FileStore) -> None:
    project(store, "widgets", MINE)
    rename_project(store, "widgets", "gadgets")
    project(store, "plain", "example.com/ben/plain")

    with pytest.raises(ConfigError, match="'widgets' is called 'gadgets' now") as refused:
        merge_projects(store, "plain", "widgets")

    assert refused.value.hint == "use that name"
    assert files(store, "plain") == files(store, "gadgets") == FILES


def test_a_project_without_notes_can_be_merged_into_once_it_is_entered_as_the_hint_says(home: Home) -> None:
    gadgets = home.path / "gadgets"
    (gadgets / ".git").mkdir(parents=True)
    (gadgets / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (gadgets / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:ana/gadgets.git\n')
    home.run("save", "--kind", "fact", "--slug", "port", input="8080\n")

    refused = home.run("project", "merge", "widgets", "gadgets")
    assert refused.returncode == 1
    assert "`agentm project register` in its folder" in refused.stderr
    assert home.run("project", "register", "--cwd", str(gadgets)).returncode == 0
    merged = home.run("project", "merge", "widgets", "gadgets")
    assert merged.returncode == 0, merged.stderr
    assert "1 file moved" in merged.stdout
    assert "port" in home.run("notes", "list", "--project", "gadgets").stdout


def test_a_plan_that_comes_beside_another_one_is_named(home: Home) -> None:
    """No session reads `progress-from-widgets.md`: who is told only that files were moved looks for it in vain."""
    store = home.device().store(read_only=False)
    stamp_store(store)
    project(store, "widgets", MINE, **{"_harness/progress.md": "ours\n"})
    project(store, "gadgets", THEIRS, **{"_harness/progress.md": "theirs\n"})
    merged = home.run("project", "merge", "widgets", "gadgets")
    harness = "projects/gadgets/_harness"
    said = f"{harness}/progress.md was there with another text, so what came is {harness}/progress-from-widgets.md"
    assert said in merged.stdout.splitlines()
    assert store.read(Locator(f"{harness}/progress-from-widgets.md")) == "ours\n"
