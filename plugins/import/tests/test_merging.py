"""A store moves into one that has notes already: collisions are listed, kept apart or refused, never overwritten."""

from __future__ import annotations

import json

import pytest
from import_home import Home

from agentm_devkit.conformance.stubs import SyncedStub
from agentm_import.moving.merging import plan_merge, unite_projects
from agentm_import.moving.stores import copy_notes, settle
from agentm_kernel import Locator
from agentm_kernel.plugin import ConcurrentModificationError, LocatorConflictError, stamp_store
from agentm_recall.note_format import FORMAT

MINE, THEIRS = "projects/widgets/decisions/tea.md", "projects/widgets/decisions/tea-from-old.md"


def quietly(label, items):
    return items


def content(store):
    return {
        info.locator.key: store.read(info.locator)
        for info in store.walk(Locator())
        if not info.is_dir and info.locator.key != "_meta/store.json"
    }


def record(store, slug, *remotes, name=None):
    store.write(
        Locator(f"projects/{slug}/_project.json"),
        json.dumps({"version": 1, "id": name or f"{slug}-{len(remotes)}", "remotes": list(remotes)}) + "\n",
    )


@pytest.fixture
def stores(tmp_path):
    made = []
    for name in ("source", "target"):
        (tmp_path / name).mkdir()
        store = SyncedStub(tmp_path / name)
        stamp_store(store)
        made.append(store)
    return made


def merge(source, target, *, keep_apart=False):
    plan = plan_merge(source, target, quietly, "old", keep_apart=keep_apart)
    copy_notes(source, target, plan, quietly)
    settle(source, target, plan, quietly)
    unite_projects(source, target, plan)
    return plan


def test_a_merge_that_would_hide_a_note_is_refused_before_anything_is_written(stores):
    source, target = stores
    source.write(Locator("personal/facts/tea.md"), "---\nstatus: superseded\n---\n\nMine.\n")
    source.write(Locator("personal/facts/coffee.md"), "---\nsupersedes: [tea]\n---\n\nCoffee.\n")
    target.write(Locator("personal/facts/tea.md"), "Theirs.\n")
    with pytest.raises(LocatorConflictError, match=r"'personal/facts/tea\.md' would be hidden") as refused:
        plan_merge(source, target, quietly, "old", keep_apart=True, notes=FORMAT)
    assert "`agentm notes move personal/facts/tea --slug NEW`" in refused.value.hint
    target.write(Locator("personal/facts/tea-time.md"), target.read(Locator("personal/facts/tea.md")))
    target.delete(Locator("personal/facts/tea.md"))
    plan = plan_merge(source, target, quietly, "old", keep_apart=True, notes=FORMAT)
    copy_notes(source, target, plan, quietly)
    again = plan_merge(source, target, quietly, "old", keep_apart=True, notes=FORMAT)
    assert again.missing == []


@pytest.mark.parametrize("copied", ["tea", "coffee"])
def test_a_merge_that_was_cut_off_between_a_note_and_the_one_that_replaced_it_goes_on(stores, copied):
    source, target = stores
    source.write(Locator("personal/facts/tea.md"), "Mine.\n")
    source.write(Locator("personal/facts/coffee.md"), "---\nsupersedes: [tea]\n---\n\nCoffee.\n")
    place = Locator(f"personal/facts/{copied}.md")
    target.write(place, source.read(place))
    plan = plan_merge(source, target, quietly, "old", keep_apart=False, notes=FORMAT)
    assert len([file for file in plan.missing if file.suffix == ".md"]) == 1


def test_what_does_not_collide_comes_beside_what_is_there(stores):
    source, target = stores
    source.write(Locator("projects/widgets/decisions/tea.md"), "Tea.\n")
    source.write(Locator("personal/facts/same.md"), "Same.\n")
    target.write(Locator("personal/facts/same.md"), "Same.\n")
    target.write(Locator("projects/gadgets/decisions/coffee.md"), "Coffee.\n")
    before = content(source)
    plan = merge(source, target)
    assert content(target) == {**before, "projects/gadgets/decisions/coffee.md": "Coffee.\n"}
    assert content(source) == before
    assert [locator.key for locator in plan.missing] == ["projects/widgets/decisions/tea.md"]
    assert merge(source, target).missing == []


def test_collisions_are_refused_and_nothing_is_written(stores):
    source, target = stores
    for number in range(7):
        source.write(Locator(f"personal/facts/n{number}.md"), "source\n")
        target.write(Locator(f"personal/facts/n{number}.md"), "target\n")
    source.write(Locator("personal/facts/free.md"), "free\n")
    before = content(target)
    with pytest.raises(LocatorConflictError) as refused:
        merge(source, target)
    assert all(f"n{number}.md" in refused.value.message for number in range(7)), "every one of them is named"
    assert "`agentm migrate` with `--merge --keep-apart`" in (refused.value.hint or "")
    assert content(target) == before


def test_collisions_are_kept_apart_and_a_second_run_adds_nothing(stores):
    source, target = stores
    source.write(Locator(MINE), "Tea, says the source.\n")
    target.write(Locator(MINE), "Tea, says the target.\n")
    plan = merge(source, target, keep_apart=True)
    after = content(target)
    assert after == {MINE: "Tea, says the target.\n", THEIRS: "Tea, says the source.\n"}
    assert {a.key: b.key for a, b in plan.places.items()} == {MINE: THEIRS}
    assert merge(source, target, keep_apart=True).missing == []
    assert content(target) == after
    source.write(Locator(MINE), "Tea, says the source anew.\n", if_match=None)
    merge(source, target, keep_apart=True)
    assert content(target)[THEIRS] == "Tea, says the source.\n", "what was kept apart is not overwritten either"
    assert "Tea, says the source anew.\n" in content(target).values()
    assert len(content(target)) == 3


def test_a_note_that_has_the_name_of_one_that_is_kept_apart_keeps_it(stores):
    source, target = stores
    source.write(Locator(MINE), "Tea.\n")
    source.write(Locator(THEIRS), "Tea, from an older store.\n")
    target.write(Locator(MINE), "Coffee.\n")
    plan = merge(source, target, keep_apart=True)
    assert target.read(Locator(THEIRS)) == "Tea, from an older store.\n"
    assert target.read(plan.place(Locator(MINE))) == "Tea.\n"
    assert target.read(Locator(MINE)) == "Coffee.\n"


@pytest.mark.parametrize("change", ["removed", "changed"])
def test_a_note_that_the_target_had_itself_stays_whatever_becomes_of_it_in_the_source(stores, change):
    source, target = stores
    for store in stores:
        store.write(Locator(MINE), "Tea.\n")
    plan = plan_merge(source, target, quietly, "old", keep_apart=False)
    if change == "removed":
        source.delete(Locator(MINE))
        settle(source, target, plan, quietly)
    else:
        source.write(Locator(MINE), "Green tea.\n")
        with pytest.raises(ConcurrentModificationError):
            settle(source, target, plan, quietly)
    assert target.read(Locator(MINE)) == "Tea.\n"


def test_one_project_in_both_stores_keeps_all_its_remotes(stores):
    source, target = stores
    record(source, "widgets", "example.com/ana/widgets", "example.com/fork/widgets")
    record(target, "widgets", "example.com/ana/widgets")
    source.write(Locator(MINE), "Tea.\n")
    target.write(Locator("projects/widgets/decisions/other.md"), "Other.\n")
    plan = merge(source, target)
    found = json.loads(target.read(Locator("projects/widgets/_project.json")))
    assert found["id"] == "widgets-1"
    assert set(found["remotes"]) == {"example.com/ana/widgets", "example.com/fork/widgets"}
    assert target.read(Locator(MINE)) == "Tea.\n"
    assert plan.united == ["widgets"]
    assert merge(source, target).missing == []


@pytest.mark.parametrize("keep_apart", [False, True])
def test_two_projects_of_one_name_are_never_mixed(stores, keep_apart):
    source, target = stores
    record(source, "widgets", "example.com/ana/widgets")
    record(target, "widgets", "example.com/bob/gadgets", name="bobs")
    source.write(Locator(MINE), "Ana's tea.\n")
    before = content(target)
    with pytest.raises(LocatorConflictError, match="two different projects.*widgets") as refused:
        merge(source, target, keep_apart=keep_apart)
    assert "agentm project rename" in (refused.value.hint or "")
    assert content(target) == before


@pytest.mark.parametrize("keep_apart", [False, True])
def test_one_repository_under_two_names_is_refused(stores, keep_apart):
    source, target = stores
    record(source, "widgets", "example.com/ana/widgets")
    record(target, "gizmos", "example.com/ana/widgets", name="g")
    with pytest.raises(LocatorConflictError, match=r"example\.com/ana/widgets") as refused:
        merge(source, target, keep_apart=keep_apart)
    assert "agentm project rename widgets gizmos" in (refused.value.hint or "")


@pytest.mark.parametrize("said", [{"moved_to": "gizmos"}, {"moved_to_store": "another"}])
def test_nothing_comes_to_a_name_that_only_says_where_its_project_went(stores, said):
    source, target = stores
    record(source, "widgets", name="1")
    source.write(Locator(MINE), "Tea.\n")
    record(target, "gizmos", name="1")
    word = json.dumps({"version": 1, "id": "1", "remotes": [], **said})
    target.write(Locator("projects/widgets/_project.json"), word)
    before = content(target)
    with pytest.raises(LocatorConflictError, match="are in ('projects/gizmos'|another store)"):
        merge(source, target, keep_apart=True)
    assert content(target) == before


@pytest.mark.parametrize("trees", [("projects", "personal-projects"), ("personal-projects", "projects")])
@pytest.mark.parametrize("is_empty", [False, True])
def test_a_project_is_not_divided_between_the_folder_of_today_and_that_of_older_installs(stores, trees, is_empty):
    for store, tree in zip(stores, trees, strict=True):
        word = json.dumps({"version": 1, "id": "1", "remotes": ["example.com/ana/widgets"]})
        store.write(Locator(f"{tree}/widgets/_project.json"), word)
        if store is stores[1] or not is_empty:
            store.write(Locator(f"{tree}/widgets/facts/{tree}.md"), "Tea.\n")
    before = content(stores[1])
    with pytest.raises(LocatorConflictError, match=f"are in '{trees[1]}/widgets' now") as refused:
        merge(*stores, keep_apart=True)
    assert "agentm project rename widgets NEW" in (refused.value.hint or "")
    assert content(stores[1]) == before


def test_by_the_command_into_a_vault_that_has_notes(home: Home) -> None:
    save = ("save", "--kind", "decision", "--slug", "tea")
    assert home.run(*save, input="Tea in the vault.").returncode == 0
    vault = home.path / "Vault"
    vault.mkdir()
    assert home.run("vault", "init", str(vault)).returncode == 0
    assert home.run("config", "set", "storage.backend", "device-local").returncode == 0
    assert home.run("config", "set", "plugins.vault.vault_path", str(vault)).returncode == 0
    moved = home.run("migrate", "--to", "vault", "--yes")
    assert moved.returncode == 0, moved.stderr
    assert home.run("config", "set", "storage.backend", "device-local").returncode == 0
    assert home.run(*save, "--update", input="Tea on the device.").returncode == 0
    assert home.run("save", "--kind", "fact", "--slug", "port", input="8080").returncode == 0
    refused = home.run("migrate", "--to", "vault", "--yes")
    assert refused.returncode == 1
    assert "--merge" in refused.stderr
    planned = home.json("migrate", "--to", "vault", "--merge", "--keep-apart", "--dry-run")
    assert planned["apart"] == {MINE: "projects/widgets/decisions/tea-from-device-local.md"}
    done = home.run("migrate", "--to", "vault", "--merge", "--keep-apart", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"kept apart: {MINE}" in done.stdout
    assert "Tea in the vault." in (vault / MINE).read_text()
    kept = vault / "projects/widgets/decisions/tea-from-device-local.md"
    assert "Tea on the device." in kept.read_text()
    assert "8080" in home.run("notes", "show", "port").stdout


def test_plans_that_would_not_be_read_in_the_other_store_are_named(home: Home) -> None:
    vault = home.path / "Vault"
    vault.mkdir()
    assert home.run("vault", "init", str(vault), "--use").returncode == 0
    assert home.run("state", "write", "PLAN.md", input="# Plan\n").returncode == 0
    said = home.run("migrate", "--to", "device-local", "--yes").stdout
    assert "not read there: projects/widgets/_harness/PLAN.md; plans are in the checkout with device-local" in said
    assert "agentm state write NAME --body-file FILE" in said
    plan = str(vault / "projects" / "widgets" / "_harness" / "PLAN.md")
    assert home.run("state", "write", "PLAN.md", "--body-file", plan).returncode == 0
    assert home.run("state", "read", "PLAN.md").stdout == "# Plan\n"
    assert home.json("migrate", "--to", "vault", "--dry-run", "--merge")["unread_plans"] == []
