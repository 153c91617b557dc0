"""How a worker opens a store, holds it, and becomes the owner of its own disk."""

from __future__ import annotations

import builtins
import io
import json
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import FileStore, Locator
from agentm_prove import small_disk, worker
from agentm_prove.worker import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(io.BytesIO(), str(tmp_path))
    made._store = FileStore(tmp_path / "store", create_root=True)
    return made


@pytest.mark.parametrize(
    ("known", "stamps_itself", "names", "is_adopted"),
    [
        (None, False, [], True),
        ("an id", False, [], False),
        (None, True, [], False),
        (None, False, ["note.md"], False),
    ],
)
def test_a_store_that_nobody_has_used_is_marked_before_it_is_opened(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    known: str | None,
    stamps_itself: bool,
    names: list[str],
    is_adopted: bool,
) -> None:
    done: list[Any] = []
    backend = SimpleNamespace(self_stamping=stamps_itself, list=lambda _top: names)
    found = SimpleNamespace(known=known, backend=backend, protocol="vault")

    def store(*, read_only: bool) -> str:
        done.append(("opened", read_only))
        return "the store"

    device = SimpleNamespace(renewed=lambda: SimpleNamespace(store=store), store=store)
    monkeypatch.setattr("agentm_kernel.plugin.Device", SimpleNamespace(now=lambda: device))
    monkeypatch.setattr("agentm_kernel.plugin.open_unidentified", lambda given: found if given is device else None)
    monkeypatch.setattr("agentm_kernel.plugin.adopt_store", lambda *given: done.append(given))
    desk.do_open()
    assert done == [*([(device, backend, "vault")] if is_adopted else []), ("opened", False)]
    opened: Any = desk._store
    assert opened == "the store"
    done.clear()
    desk.do_reopen()
    assert done == [("opened", False)]


def test_whoever_holds_the_store_has_it_for_itself_until_it_has_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    @contextmanager
    def mutex(place: str) -> Iterator[None]:
        done.append(f"took {place}")
        yield
        done.append("gave back")

    def readline() -> bytes:
        done.append("waited")
        return b"\n"

    store = desk.store
    monkeypatch.setattr("agentm_kernel.plugin.store_mutex", mutex)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(readline=readline)))
    monkeypatch.setattr(desk, "_tell", lambda **said: done.append(str(said["said"])))
    monkeypatch.setattr(store, "write", lambda locator, text: done.append(f"wrote {locator.key}: {text}"))
    desk.do_hold("a.md", "text")
    assert done == [f"took {store.describe()}", "inside", "waited", "wrote a.md: text", "gave back"]


def test_a_writer_says_each_version_once_it_is_written(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    said: list[Any] = []

    def tell(**message: Any) -> None:
        said.append((message["said"], desk.store.read(Locator("a.md"))))
        if len(said) == 3:
            raise Killed

    monkeypatch.setattr(desk, "_tell", tell)
    with pytest.raises(Killed):
        desk.do_write_until_killed("a.md", 50)
    assert said == [(number, f"version {number:012d}\n" * 2) for number in (1, 2, 3)]


@pytest.mark.parametrize(("root", "is_files"), [("/here", True), ("s3://there", False)])
def test_a_store_is_files_only_if_its_folder_is_known(desk: Desk, root: str, is_files: bool) -> None:
    capabilities = desk.store.capabilities
    desk._store = SimpleNamespace(capabilities=capabilities, describe=lambda: root)  # type: ignore[assignment]
    facts = desk.do_facts()
    assert facts["device_files"] is is_files
    assert facts["delete"] is capabilities.delete
    assert set(facts) == set(capabilities.__slots__)


def test_every_version_that_is_kept_beside_a_note_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.do_write("a.md", "one\n")
    kept = [SimpleNamespace(note=Locator("a.md"), copy=Locator("a.copy.md"))]
    copies = SimpleNamespace(conflict_copies=lambda _top: kept, read_copy=lambda copy: f"text of {copy.key}")
    monkeypatch.setattr(desk.store, "facet", lambda _kind: copies)
    assert desk.do_copies() == [["a.md", "text of a.copy.md"]]
    assert desk.do_everything() == "one\n\ntext of a.copy.md"


def test_in_its_own_namespace_a_user_stays_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    files: dict[str, str] = {}

    class File(io.StringIO):
        def __init__(self, path: str) -> None:
            super().__init__()
            self._path = path

        def close(self) -> None:
            files[self._path] = self.getvalue()
            super().close()

    def opened(path: str, mode: str, *, encoding: str) -> File:
        assert (mode, encoding) == ("w", "ascii")
        return File(path)

    with monkeypatch.context() as here:
        here.setattr(builtins, "open", opened)
        small_disk._be_oneself(1000, 100)
    assert list(files.items()) == [
        ("/proc/self/setgroups", "deny"),
        ("/proc/self/uid_map", "1000 1000 1"),
        ("/proc/self/gid_map", "100 100 1"),
    ]


@pytest.mark.parametrize("disk_of", [0, 4096])
@pytest.mark.parametrize("is_refused", [False, True])
def test_a_worker_answers_on_the_pipe_that_it_was_given_and_nobody_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk_of: int, is_refused: bool
) -> None:
    done: list[Any] = []
    answers = io.BytesIO()

    def mount(folder: str, size: int) -> None:
        done.append((folder, size))
        if is_refused:
            raise PermissionError(1, "not here")

    descriptors = SimpleNamespace(
        dup=lambda number: number + 100,
        fdopen=lambda number, mode: answers if (number, mode) == (101, "wb") else None,
        dup2=lambda *given: done.append(given),
        mkdir=lambda path: done.append(path),
        path=SimpleNamespace(join=lambda *parts: "/".join(parts)),
    )
    monkeypatch.setattr(worker, "os", descriptors)
    monkeypatch.setattr(worker, "_die_with_parent", lambda: done.append("dies with its parent"))
    monkeypatch.setattr(small_disk, "mount_small_disk", mount)
    monkeypatch.setattr(sys, "argv", ["worker", str(tmp_path), str(disk_of)])
    asked = io.BytesIO(b'{"verb": "dance"}\n{"verb": "dance"}\n')
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=asked))
    worker.main()
    made = [(str(tmp_path), 4096), *([] if is_refused else [f"{tmp_path}/store"])] if disk_of else []
    assert done == [(2, 1), "dies with its parent", *made]
    raised = "PermissionError" if disk_of and is_refused else "AttributeError"
    assert [json.loads(line)["raised"] for line in answers.getvalue().splitlines()] == [raised] * 2


def test_an_answer_is_sent_at_once() -> None:
    class Pipe(io.BytesIO):
        sent = b""

        def flush(self) -> None:
            self.sent = self.getvalue()

    pipe = Pipe()
    Desk(pipe, "/nowhere").serve({"verb": "dance"})
    assert json.loads(pipe.sent)["raised"] == "AttributeError"
    assert pipe.sent.endswith(b"\n")
