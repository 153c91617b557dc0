"""`agentm project`, over a store that claims to be synced and lies in a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentm_devkit.conformance.stubs import SyncedStub
from agentm_kernel import Locator
from agentm_kernel.cli import exit_code_of
from agentm_kernel.cli.app import run as run_click
from agentm_kernel.plugin import Device, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

MINE, THEIRS = "git@github.com:ada/widgets.git", "git@github.com:bob/widgets.git"


class Shared(SyncedStub):
    self_stamping = True


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shared]:
    """The configured store of an otherwise empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AGENTM_INSTALL_PREFIX", str(tmp_path))
    for name in ("XDG_STATE_HOME", "MEMORY_VAULT_PATH"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "store"
    root.mkdir()
    settings = {"storage.backend": "shared", "plugins.shared.root": str(root)}
    (tmp_path / ".agentm-config.json").write_text(json.dumps(settings))
    registry.register("shared", Shared)
    yield Shared(root)
    registry.unregister("shared")


@pytest.fixture
def run(store: Shared, capfd: pytest.CaptureFixture[str]) -> Run:
    """`agentm project ARGUMENTS`: exit code, output, errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        run_it = lambda: run_click(Device.now(), ["project", *arguments])  # noqa: E731
        code = exit_code_of(run_it, as_json="--json" in arguments)
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a work tree as far as agentm looks at one, and enters it."""

    def enter(folder: str, remote: str = MINE) -> Path:
        root = tmp_path / folder
        (root / ".git").mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (root / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n')
        monkeypatch.chdir(root)
        return root

    return enter


def shown(run: Run) -> dict[str, object]:
    return json.loads(run("show", "--json")[1])


def test_show_tells_the_name_and_where_it_comes_from(run, checkout, store, monkeypatch):
    root = checkout("folder")
    (root / "src").mkdir()
    monkeypatch.chdir(root / "src")
    assert shown(run) == {
        "schema": 1,
        "slug": "widgets",
        "named_by": "the remote `origin`",
        "root": str(root),
        "remote": "github.com/ada/widgets",
        "store": store.describe(),
        "place": "projects/widgets",
        "layout": "new",
        "claimed": False,
        "owners": [],
        "also": None,
        "registered": False,
        "notice": None,
        "problem": None,
    }
    code, table, _ = run("show")
    assert code == 0
    assert "named by    the remote `origin`\n" in table
    assert "owners      no remote yet\n" in table


def test_show_changes_nothing(run, checkout, store):
    checkout("widgets")
    run("show")
    assert store.list(Locator()) == []


def test_show_asks_no_store_where_state_is_local(run, checkout, tmp_path):
    root = checkout("widgets")
    (root / ".harness").mkdir()
    (root / ".harness" / ".project-mode").write_text("local\n")
    (tmp_path / "store").rmdir()
    code, output, _ = run("show", "--json")
    assert code == 0
    assert "store" not in json.loads(output)


def test_show_tells_of_a_project_while_the_record_of_another_one_cannot_be_read(run, checkout, store):
    store.write(Locator("projects/gadgets/_project.json"), "{ torn")
    checkout("widgets")
    assert shown(run)["place"] == "projects/widgets"
    assert "'projects/gadgets/_project.json' is not valid JSON" in str(shown(run)["also"])
    assert run("show")[0] == 0


def test_show_says_what_it_knows_before_it_refuses(run, checkout, tmp_path):
    checkout("widgets")
    (tmp_path / "store").rmdir()
    code, output, errors = run("show", "--json")
    assert code == 1
    assert errors.startswith("error: ")
    assert json.loads(output)["slug"] == "widgets"
    assert json.loads(output)["problem"] in errors


def test_register_enters_the_project_and_claims_its_name(run, checkout):
    root = checkout("folder", "https://ada:s3cret@github.com/ada/widgets.git")
    assert run("register", "--wiki-path", "/wiki") == (0, "widgets\n", "")
    entry = {"slug": "widgets", "root_path": str(root), "remote": "github.com/ada/widgets", "wiki_path": "/wiki"}
    assert json.loads(run("list", "--json")[1]) == {"schema": 1, "repos": [entry]}
    assert run("list")[1] == f"widgets  {root}  github.com/ada/widgets\n"
    assert (shown(run)["owners"], shown(run)["registered"]) == (["github.com/ada/widgets"], True)


def test_another_repository_of_the_name_gets_the_next_one_or_the_one_that_it_asks_for(run, checkout):
    checkout("mine/widgets", MINE)
    run("register")
    checkout("theirs/widgets", THEIRS)
    assert (shown(run)["slug"], shown(run)["claimed"]) == ("bob-widgets", False)
    assert run("register") == (0, "bob-widgets\n", "")
    code, _, errors = run("register", "--slug", "gadgets")
    assert code == 1
    assert "agentm project rename bob-widgets gadgets" in errors

    root = checkout("third/widgets", "git@github.com:eve/widgets.git")
    code, _, errors = run("register", "--slug", "widgets")
    assert code == 1
    assert "belongs to github.com/ada/widgets; this is github.com/eve/widgets" in errors
    (root / ".harness").mkdir()
    (root / ".harness" / "project.json").write_text('{"kept": true}')
    assert run("register", "--slug", "gadgets") == (0, "gadgets\n", "")
    assert json.loads((root / ".harness" / "project.json").read_text()) == {"kept": True, "vault_project": "gadgets"}
    assert (run("show")[0], shown(run)["slug"]) == (0, "gadgets")


def test_notes_without_an_owner_are_claimed_by_registering(run, checkout, store):
    store.write(Locator("projects/widgets/facts/old.md"), "old\n")
    checkout("widgets", MINE)
    code, _, errors = run("show")
    assert code == 1
    assert "run `agentm project register` here" in errors
    assert run("register") == (0, "widgets\n", "")
    assert shown(run)["owners"] == ["github.com/ada/widgets"]


@pytest.mark.parametrize(
    ("remote", "slug", "code"), [(MINE, None, 0), (MINE, "gadgets", 1), (None, None, 3), (None, "gadgets", 3)]
)
def test_check_compares_the_name_with_the_remote(run, checkout, remote, slug, code):
    root = checkout("widgets", remote or MINE)
    if remote is None:
        (root / ".git" / "config").unlink()
    if slug:
        run("register", "--slug", slug)
    assert run("check")[0] == code


def test_a_project_without_a_remote_can_be_registered_and_adopted_by_a_second_checkout(run, checkout):
    root = checkout("widgets")
    (root / ".git" / "config").unlink()
    assert run("register") == (0, "widgets\n", "")
    assert run("register") == (0, "widgets\n", "")
    second = checkout("second/widgets")
    (second / ".git" / "config").unlink()
    assert shown(run)["slug"] == "widgets-2"
    assert run("register", "--adopt") == (0, "widgets\n", "")
    assert shown(run)["slug"] == "widgets"


def test_a_name_that_is_taken_is_not_declared(run, checkout):
    checkout("mine/widgets", MINE)
    run("register")
    root = checkout("gadgets", "git@github.com:bob/gadgets.git")
    assert run("register", "--slug", "widgets")[0] == 1
    assert not (root / ".harness").exists()


def test_a_checkout_without_a_remote_that_is_refused_a_name_is_still_one_that_was_no_project_before(run, checkout):
    root = checkout("mine/widgets")
    (root / ".git" / "config").unlink()
    run("register")
    second = checkout("second/widgets")
    (second / ".git" / "config").unlink()
    before = shown(run)
    code, _, errors = run("register", "--slug", "widgets")
    assert code == 1
    assert "belongs to another checkout, which has no remote" in errors
    assert not (second / ".git" / "agentm-checkout").exists()
    assert shown(run) == before
    assert run("register") == (0, "widgets-2\n", "")


def test_the_same_project_under_another_remote_can_be_adopted(run, checkout):
    checkout("mine/widgets", MINE)
    run("register")
    checkout("moved/widgets", THEIRS)
    assert run("register", "--adopt") == (0, "widgets\n", "")
    assert (run("show")[0], shown(run)["owners"]) == (0, ["github.com/ada/widgets", "github.com/bob/widgets"])


@pytest.mark.parametrize("name", ["", "a/b", ".."])
def test_a_name_that_is_no_plain_name_is_refused(run, checkout, store, name):
    checkout("widgets")
    assert run("register", "--slug", name)[0] == 1
    assert store.list(Locator()) == []


def test_unregister_takes_the_project_here_or_the_named_one_out(run, checkout, store):
    checkout("widgets", MINE)
    run("register")
    store.write(Locator("projects/widgets/note.md"), "kept\n")
    assert run("unregister") == (0, "removed widgets from the registry\n", "")
    assert run("list")[1].split() == ["widgets", "github.com/ada/widgets"]  # a project, of no known folder
    assert store.read(Locator("projects/widgets/note.md")) == "kept\n"
    code, _, errors = run("unregister", "widgets")
    assert code == 1
    assert "not registered" in errors
