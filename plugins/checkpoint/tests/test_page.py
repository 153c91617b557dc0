"""What checkpoints add to the page of a person: what is shown, and that nothing is written over unseen changes."""

from __future__ import annotations

import os
import time

import pytest

from agentm_checkpoint.capture import open_image, take
from agentm_checkpoint.page import agentm_page_panels
from agentm_checkpoint.past import open_past
from agentm_kernel import Locator, select_backend
from agentm_kernel.errors import AgentmError, ConcurrentModificationError, IntegrityError, NotFoundError
from agentm_kernel.plugin import Device, HookContext, content_hash

NOTE = Locator("notes/a.md")


def panels(store_of=lambda device: device.store(read_only=True)):
    here = Device.now()
    return {panel.name: panel for panel in agentm_page_panels(HookContext(here, os.getcwd(), store=store_of(here)))}


def show(name, **query):
    return panels()[name].show(query)


def do(name, action, **fields):
    return panels()[name].actions[action](fields)


def timeline(blocks):
    (items,) = [block["items"] for block in blocks if block["type"] == "timeline"]
    return items


def action(blocks):
    (found,) = [block for block in blocks if block["type"] == "action"]
    return found["action"], found["fields"]


def types(blocks):
    return [block["type"] for block in blocks]


@pytest.fixture
def changed(device):
    """A note of which this device has two earlier versions."""
    store = select_backend()
    for text in ("one\n", "second\n", "third time\n"):
        store.write(NOTE, text)
    return device


# ------------------------------------------------------------------------------------------------ where there are any


def test_without_a_store_there_is_nothing_to_show():
    assert agentm_page_panels(HookContext(Device.now(), os.getcwd())) is None


def test_a_store_that_nobody_has_written_to_has_nothing_to_show(device):
    device.store.delete(Locator("_meta/store.json"))

    assert agentm_page_panels(HookContext(Device.now(), os.getcwd(), store=device.store)) is None


def test_each_panel_has_its_place(device):
    assert {name: (panel.place, {*panel.actions}) for name, panel in panels().items()} == {
        "locked": ("decide", set()),
        "versions": ("note", {"restore"}),
        "checkpoints": ("more", {"create", "bring-back"}),
    }


# ------------------------------------------------------------------------------------------------ versions of a note


def test_a_note_without_earlier_versions_has_no_panel(device):
    select_backend().write(NOTE, "one\n")

    assert show("versions", note=NOTE.key) == []
    assert show("versions") == []


def test_the_versions_of_a_note_are_listed_newest_first_with_their_size_and_time(changed):
    before = time.time()

    newest, oldest = timeline(show("versions", note=NOTE.key))

    assert (newest["text"], oldest["text"]) == ("7 bytes", "4 bytes")
    assert newest["title"] == "changed; this is what was there before"
    assert before - 60 < oldest["time"] <= newest["time"] <= before
    assert newest["open"]["note"] == NOTE.key


def test_the_forty_newest_versions_are_listed(device):
    store = select_backend()
    for number in range(42):
        store.write(NOTE, f"{number}\n")

    items = timeline(show("versions", note=NOTE.key))

    assert len(items) == 40
    assert items[0]["open"] == {"note": NOTE.key, "version": entries()[-1].id}


def entries():
    here = Device.now()
    return open_past(here.store(read_only=True), here).of(NOTE.key)


def test_a_version_is_shown_beside_the_note_and_comes_back(changed):
    _, oldest = timeline(show("versions", note=NOTE.key))
    rows, diff, _ = blocks = show("versions", **oldest["open"])

    assert (diff["before"], diff["after"]) == ("one\n", "third time\n")
    assert rows["rows"][0]["note"] == NOTE.key
    assert "as it was until" in rows["rows"][0]["text"]
    name, fields = action(blocks)
    assert "Brought back as it was until" in do("versions", name, **fields)
    assert changed.store.read(NOTE) == "one\n"
    assert timeline(show("versions", note=NOTE.key))[0]["text"] == "11 bytes"


def test_a_version_that_is_what_the_note_says_now_offers_no_way_back(changed):
    select_backend().write(NOTE, "one\n")

    *_, oldest = timeline(show("versions", note=NOTE.key))

    assert types(show("versions", **oldest["open"])) == ["rows", "diff"]


def test_a_note_that_was_deleted_comes_back_only_while_nobody_wrote_another(changed):
    select_backend().delete(NOTE)
    newest, *_ = timeline(show("versions", note=NOTE.key))
    rows, diff, _ = blocks = show("versions", **newest["open"])

    assert (diff["before"], diff["after"]) == ("third time\n", "")
    assert "not there now" in rows["rows"][0]["text"]
    assert rows["rows"][0]["note"] == ""
    name, fields = action(blocks)
    assert do("versions", name, **fields)
    assert changed.store.read(NOTE) == "third time\n"
    with pytest.raises(ConcurrentModificationError):
        do("versions", name, **fields)


def test_what_was_written_after_the_page_was_shown_is_not_replaced(changed):
    _, oldest = timeline(show("versions", note=NOTE.key))
    name, fields = action(show("versions", **oldest["open"]))
    select_backend().write(NOTE, "meanwhile\n")

    with pytest.raises(ConcurrentModificationError):
        do("versions", name, **fields)
    with pytest.raises(AgentmError, match="did not say what it showed"):
        do("versions", name, **{**fields, "expect": ""})
    assert changed.store.read(NOTE) == "meanwhile\n"


def test_a_version_that_is_not_there_any_more_is_refused(changed):
    made_it = entries()[0].id  # nothing was there before

    for version in ({"note": NOTE.key, "version": one} for one in ("nothing", made_it)):
        with pytest.raises(NotFoundError, match="no such version"):
            show("versions", **version)
        with pytest.raises(NotFoundError, match="no such version"):
            do("versions", "restore", **version, expect=content_hash("third time\n"))


# ------------------------------------------------------------------------------------------------ checkpoints


def test_a_store_without_a_checkpoint_says_so_and_offers_one(device):
    text, offer, items = show("checkpoints")

    assert "no checkpoint yet" in text["text"]
    assert offer["action"] == "create"
    assert items["items"] == []


def test_a_checkpoint_is_taken_from_the_page_unless_nothing_has_changed(device):
    device.store.write(NOTE, "one\n")
    (device.root / "binary.md").write_bytes(b"\xff\xfe")

    assert do("checkpoints", "create") == "Took a checkpoint of 1 file. 1 entry left out, because no note."
    assert do("checkpoints", "create") == "Nothing has changed since the last checkpoint."
    (item,) = timeline(show("checkpoints"))
    assert item["title"] == "from the page"
    assert time.time() - 60 < item["time"] <= time.time()
    assert types(show("checkpoints")) == ["action", "timeline"]


def test_checkpoints_are_listed_newest_first_and_say_which_were_automatic(device):
    device.store.write(NOTE, "one\n")
    device.run("create", "--reason", "before")
    device.store.write(Locator("notes/b.md"), "b\n")
    take(device.store, open_image(device.store, Device.now()), author="me", reason="", automatic=True)

    newest, oldest = timeline(show("checkpoints"))

    assert (oldest["title"], newest["title"]) == ("before", "checkpoint")
    assert oldest["text"].startswith("1 file, by ")
    assert newest["text"] == "2 files, by me, automatic"
    assert "automatic" not in oldest["text"]


def test_a_checkpoint_shows_what_is_new_changed_and_gone_in_it(device):
    for key in ("notes/stays.md", "notes/a.md", "notes/goes.md"):
        device.store.write(Locator(key), "one\n")
    device.run("create")
    device.store.write(NOTE, "two\n")
    device.store.write(Locator("notes/new.md"), "new\n")
    device.store.delete(Locator("notes/goes.md"))
    device.run("create", "--reason", "after")
    newest, oldest = timeline(show("checkpoints"))

    row, table = show("checkpoints", **newest["open"])
    _, first = show("checkpoints", **oldest["open"])

    assert [(cell["text"] if isinstance(cell, dict) else cell, what) for cell, what in table["rows"]] == [
        ("notes/a.md", "changed"),
        ("notes/new.md", "new"),
        ("notes/goes.md", "gone"),
    ]
    assert {what for _, what in first["rows"]} == {"new"}
    assert row["rows"][0]["text"].endswith(". after")
    assert f"restore {newest['open']['checkpoint']}`" in row["rows"][0]["hint"]


def test_the_first_hundreds_of_what_a_checkpoint_changed_are_shown(device):
    (device.root / "notes").mkdir()
    for number in range(501):
        (device.root / f"notes/{number:03}.md").write_text(f"{number}\n")
    device.run("create")
    (item,) = timeline(show("checkpoints"))

    _, table = show("checkpoints", **item["open"])

    assert [cell["text"] for cell, _ in table["rows"]] == [f"notes/{number:03}.md" for number in range(500)]


def test_a_note_of_a_checkpoint_is_shown_beside_the_note_and_comes_back(device):
    device.store.write(NOTE, "one\n")
    device.run("create")
    device.store.write(NOTE, "two\n")
    (item,) = timeline(show("checkpoints"))
    _, table = show("checkpoints", **item["open"])

    rows, diff, _ = blocks = show("checkpoints", **table["rows"][0][0]["open"])
    assert (diff["before"], diff["after"]) == ("one\n", "two\n")
    assert "in the checkpoint of" in rows["rows"][0]["text"]
    name, fields = action(blocks)
    device.store.write(NOTE, "meanwhile\n")
    with pytest.raises(ConcurrentModificationError):
        do("checkpoints", name, **fields)
    fields["expect"] = content_hash("meanwhile\n")
    assert do("checkpoints", name, **fields).startswith("Brought back as in the checkpoint of ")
    assert device.store.read(NOTE) == "one\n"
    assert timeline(show("versions", note=NOTE.key))[0]["text"] == "10 bytes"  # what was replaced is kept


def test_whatever_changes_something_opens_the_store_as_somebody_who_writes(device, monkeypatch):
    device.store.write(NOTE, "one\n")
    device.run("create")
    opened = []
    real = Device.store
    monkeypatch.setattr(
        Device, "store", lambda self, *, read_only: opened.append(read_only) or real(self, read_only=read_only)
    )
    (item,) = timeline(show("checkpoints"))
    looked = len(opened)

    do("checkpoints", "create")
    do("checkpoints", "bring-back", **item["open"], note=NOTE.key, expect=content_hash("one\n"))

    assert all(opened[:looked])
    assert opened[looked:].count(False) == 2


def test_a_note_that_a_checkpoint_does_not_have_is_refused(device):
    device.store.write(NOTE, "one\n")
    device.run("create")
    (item,) = timeline(show("checkpoints"))

    with pytest.raises(NotFoundError, match=r"no note 'notes/none\.md'"):
        show("checkpoints", **item["open"], note="notes/none.md")
    with pytest.raises(NotFoundError, match=r"no note 'notes/none\.md'"):
        do("checkpoints", "bring-back", **item["open"], note="notes/none.md", expect="absent")


def test_a_damaged_image_is_said_first(device):
    device.store.write(NOTE, "one\n")
    device.run("create")
    (image,) = device.home.rglob("image.car")
    image.write_bytes(image.read_bytes()[:-20])

    first, *_ = show("checkpoints")

    assert first["rows"][0]["status"] == "fail"
    assert "not complete" in first["rows"][0]["text"]
    assert "verify" in first["rows"][0]["hint"]


# ------------------------------------------------------------------------------------------------ locks


def test_without_a_guard_or_with_good_notes_nothing_has_to_be_decided(guarded):
    assert show("locked") == []
    guarded.configure(wrappers=[])
    assert show("locked") == []


def test_a_locked_note_is_shown_with_what_to_run(guarded):
    guarded.store.write(Locator("skills/deploy.md"), "rm -rf /\n")
    with pytest.raises(IntegrityError):
        select_backend().read(Locator("skills/deploy.md"))

    (block,) = show("locked")

    (row,) = block["rows"]
    assert (row["status"], row["label"]) == ("fail", "skills/deploy.md")
    assert "accept" in row["hint"]
