"""Where an export may go, what it replaces, and what stays when it cannot be written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentm_kernel.plugin import AgentmError, InvalidContentError, StorageIOError
from agentm_view.export import export
from agentm_view.memory import Listing, Memory


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    for name in ("STATE", "CACHE", "CONFIG", "DATA"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return Memory(read_only=True, cwd=str(tmp_path))


def test_a_folder_of_somebody_is_not_exported_to(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    hint = "name a folder that is new, or an earlier export"
    for name, why in [
        ("mine", "holds something else than a page"),
        ("mine/thesis.txt", "is not a folder"),
        ("link", "is not a folder"),
    ]:
        with pytest.raises(InvalidContentError) as refused:
            export(memory, str(tmp_path / name))
        assert (refused.value.message, refused.value.hint) == (f"{tmp_path / name} {why}", hint)
    assert os.listdir(tmp_path / "mine") == ["thesis.txt"]


def test_an_empty_folder_and_an_earlier_export_are_replaced(memory: Memory, tmp_path: Path) -> None:
    place = tmp_path / "out" / "page"
    place.mkdir(parents=True)
    mark = place / "agentm-page.json"
    for _ in range(2):
        assert export(memory, str(place)) == f"wrote 0 notes to {place / 'index.html'}"
        (place / "old.html").touch()  # of a note that is gone by now
        written = json.loads(mark.read_text())
        mark.write_text(json.dumps({**written, "files": [*written["files"], "old.html"]}))
    export(memory, str(place))
    assert not (place / "old.html").exists()
    assert os.listdir(tmp_path / "out") == ["page"]


@pytest.mark.parametrize("name", ["thesis.txt", "note/thesis.txt", "static/link"])
def test_what_somebody_put_into_an_export_is_not_deleted_by_the_next_one(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    """The folder was replaced as a whole."""
    place = tmp_path / "page"
    export(memory, str(place))
    (place / name).parent.mkdir(exist_ok=True)
    if name.endswith("link"):
        (place / name).symlink_to(tmp_path)
    else:
        (place / name).write_text("years of work")
    with pytest.raises(InvalidContentError) as refused:
        export(memory, str(place))
    assert refused.value.message == f"{place} holds '{name}', which no export wrote"
    assert (place / name).exists()
    (place / name).unlink()
    export(memory, str(place))


@pytest.mark.parametrize(("count", "said"), [(1, "1 note"), (2, "2 notes"), (1234, "1,234 notes")])
def test_what_was_written_is_counted(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, said: str
) -> None:
    listing = Listing([{"key": str(number), "project": "", "current": False} for number in range(count)], [], 0)
    monkeypatch.setattr(memory, "listing", lambda: listing)
    monkeypatch.setattr("agentm_view.export._Export.write", lambda _export: None)
    assert export(memory, str(tmp_path / "page")) == f"wrote {said} to {tmp_path / 'page' / 'index.html'}"


def test_a_store_is_not_exported_into_and_is_said_to_be_one(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "shared" / "_meta").mkdir(parents=True)
    (tmp_path / "shared" / "_meta" / "store.json").write_text("{}")
    for place in ("shared", "shared/deep/page"):
        with pytest.raises(InvalidContentError) as refused:
            export(memory, str(tmp_path / place))
        assert refused.value.message == f"{tmp_path / 'shared'} is a store; nothing was written"
        assert refused.value.hint == "name a folder outside it: `agentm view --export ~/page`"


def test_an_export_that_cannot_be_written_leaves_nothing_and_says_why(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageIOError, match=r"the page cannot be written to .*/file/page: File exists"):
        export(memory, str(tmp_path / "file" / "page"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agentm_view.export._put", full)
    with pytest.raises(StorageIOError, match="No space left"):
        export(memory, str(tmp_path / "out" / "page"))
    assert os.listdir(tmp_path / "out") == []


def test_a_store_that_is_not_for_this_device_alone_is_asked_before_notes_leave_it(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(_provider: object) -> None:
        raise AgentmError("a policy forbids it")

    monkeypatch.setattr(memory, "store", lambda: SimpleNamespace(check_allowed=forbid))
    with pytest.raises(AgentmError, match="a policy forbids it"):
        export(memory, str(tmp_path / "page"))
    assert not (tmp_path / "page").exists()
