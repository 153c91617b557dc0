"""The laboratory, its homes and its workers, with stand-ins for the processes."""

from __future__ import annotations

import ctypes
import io
import json
import os
import signal
import subprocess
import sys
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_kernel.plugin import FileStore
from agentm_prove import laboratory, small_disk, worker
from agentm_prove.laboratory import Home, Laboratory, sweep
from agentm_prove.place import PREFIX, Place
from agentm_prove.trial import NotTried
from agentm_prove.worker import Desk
from agentm_prove.worker_handle import Refused, Worker

# -- a laboratory -----------------------------------------------------------------------------------------------


class Process:
    """A process that notes what is done to it."""

    def __init__(self, done: list[str]) -> None:
        self._done = done
        self.stdin = SimpleNamespace(close=lambda: done.append("stdin closed"))

    def wait(self) -> None:
        self._done.append("waited for")


@pytest.fixture
def done() -> list[str]:
    return []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: list[str]) -> Place:
    monkeypatch.setattr(laboratory, "_start_cleaner", lambda _folder: Process(done))
    return Place(str(tmp_path), "ext4", "vault", ())


def test_a_laboratory_is_locked_while_it_is_used_and_gone_afterwards(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    started = SimpleNamespace(kill=lambda: done.append("worker killed"))
    monkeypatch.setattr(laboratory, "Worker", lambda *_given, **_options: started)
    with Laboratory(place) as made:
        (folder,) = tmp_path.iterdir()
        assert made.base == str(folder)
        assert folder.name.startswith(f"{PREFIX}{os.getpid()}-")
        assert sweep([str(tmp_path)]) == 0, "somebody is at work there"
        lock = made._lock
        assert lock is not None
        home = made.fresh()
        home.start()
        assert done == []
    assert done == ["worker killed", "stdin closed", "waited for"]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(lock)


def test_each_trial_has_a_home_and_a_store_of_its_own(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("MEMORY_VAULT_PATH", "/home/ana/vault")
    monkeypatch.delenv("LC_ALL", raising=False)
    with Laboratory(place) as made:
        made._options = {"root": "{scratch}", "other": "1"}
        first, second = made.fresh(), made.fresh()
        assert [os.path.relpath(home.folder, made.base) for home in (first, second)] == ["1", "2"]
        config = Path(first.folder, "config", ".agentm-config.json").read_text()
        assert json.loads(config) == {
            "storage.backend": "vault",
            "plugins": {"vault": {"root": first.store_folder, "other": "1"}},
        }
        assert os.path.isdir(first.store_folder)
        assert os.path.isdir(first.project)
        assert first.store_folder == os.path.join(first.place, "store")
    folder = first.folder
    own = {name: value for name, value in first.environ.items() if folder in value}
    assert own == {
        "HOME": folder,
        "USERPROFILE": folder,
        "TMPDIR": folder,
        "AGENTM_INSTALL_PREFIX": f"{folder}/config",
        **{f"XDG_{name}_HOME": f"{folder}/{name.lower()}" for name in ("STATE", "CACHE", "CONFIG", "DATA")},
    }
    assert (first.environ["LANG"], first.environ["PYTHONDONTWRITEBYTECODE"]) == ("C.UTF-8", "1")
    assert {"MEMORY_VAULT_PATH", "LC_ALL"}.isdisjoint(first.environ)


def test_a_worker_opens_the_store_of_its_home_within_half_a_minute(tmp_path: Path) -> None:
    started: list[Any] = []

    def start(home: Home, *, disk_of: int = 0) -> Any:
        started.append((home, disk_of))
        return SimpleNamespace(ask=lambda verb, *, limit: started.append((verb, limit)))

    home = Home(SimpleNamespace(start=start), str(tmp_path / "1"), "vault")  # type: ignore[arg-type]
    home.opened(disk_of=7)
    home.start()
    assert started == [(home, 7), ("open", 30), (home, 0)]


@pytest.mark.parametrize(
    ("answers", "protocol", "options", "remarks"),
    [
        ({"vault": True}, "vault", {"path": "{scratch}"}, ()),
        (
            {"vault": False, "device-local": True},
            "device-local",
            {"root": "{scratch}"},
            ("a 'vault' store in an empty folder is not files, so the default store was tried",),
        ),
        (
            {"vault": Refused("E", (), "it has no key"), "device-local": True},
            "device-local",
            {"root": "{scratch}"},
            ("a 'vault' store cannot be made in an empty folder: it has no key",),
        ),
    ],
)
def test_the_user_s_kind_of_store_is_tried_or_the_default_one_with_the_reason(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    answers: dict[str, Any],
    protocol: str,
    options: dict[str, str],
    remarks: tuple[str, ...],
) -> None:
    with Laboratory(place) as made:
        ended: list[str] = []

        def fresh() -> Any:
            def ask(_verb: str) -> dict[str, bool]:
                if isinstance(answers[made.protocol], Exception):
                    raise answers[made.protocol]
                return {"device_files": answers[made.protocol]}

            return SimpleNamespace(opened=lambda: SimpleNamespace(ask=ask))

        monkeypatch.setattr(made, "fresh", fresh)
        monkeypatch.setattr(made, "end_workers", lambda: ended.append(made.protocol))
        given = {"vault": {"path": "{scratch}"}, "device-local": {"root": "{scratch}"}}
        assert made.settle_protocol(given) == remarks
        assert (made.protocol, made._options) == (protocol, options)
        assert ended == list(dict.fromkeys(("vault", protocol)))
        answers["vault"] = answers["device-local"] = False
        with pytest.raises(NotTried, match=r"a 'vault' store .*; a 'device-local' store "):
            made.settle_protocol(given)


def test_only_what_nobody_uses_and_is_ours_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, used, link = (tmp_path / f"{PREFIX}{name}" for name in ("left", "used", "link"))
    left.mkdir()
    used.mkdir()
    link.symlink_to(tmp_path / "mine")
    (tmp_path / "mine").mkdir()
    descriptor = os.open(used, os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        with monkeypatch.context() as somebody:
            somebody.setattr(os, "geteuid", lambda: 12345)
            assert sweep([str(tmp_path)]) == 0
        assert sweep([str(tmp_path / "nowhere"), str(tmp_path)]) == 1
    finally:
        os.close(descriptor)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{PREFIX}link", f"{PREFIX}used", "mine"]


# -- workers ----------------------------------------------------------------------------------------------------


def test_a_worker_is_a_process_of_this_interpreter_in_the_home_that_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[Any] = []
    said = io.BytesIO(b'{"said": 1}\n{"done": "text"}\n{"half')
    heard = io.BytesIO()
    process = SimpleNamespace(stdin=heard, stdout=said, wait=lambda: -9, kill=lambda: None)

    def popen(words: list[str], **options: Any) -> Any:
        started.append((words, options))
        return process

    monkeypatch.setattr(subprocess, "Popen", popen)
    made = Worker({"HOME": "/h", "A": "b"}, "/h/disk", disk_of=7)
    ((words, options),) = started
    assert words == [sys.executable, "-P", "-m", "agentm_prove.worker", "/h/disk", "7"]
    assert (options["env"], options["cwd"]) == ({"HOME": "/h", "A": "b"}, "/h")
    assert (options["stdin"], options["stdout"]) == (subprocess.PIPE, subprocess.PIPE)
    assert options["stderr"] == subprocess.DEVNULL
    assert made.ask("read", key="a.md") == "text"
    assert json.loads(heard.getvalue()) == {"verb": "read", "key": "a.md"}
    assert made.said_so_far() == []
    made.kill()
    assert heard.closed
    assert said.closed


def test_a_worker_that_is_dead_is_not_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.BytesIO):
        def flush(self) -> None:
            raise BrokenPipeError

    done: list[str] = []
    process = SimpleNamespace(
        stdin=Gone(), stdout=io.BytesIO(), wait=lambda: done.append("waited"), kill=lambda: done.append("killed")
    )
    monkeypatch.setattr(subprocess, "Popen", lambda *_given, **_options: process)
    made = Worker({"HOME": "/h"}, "/h/disk")
    made.send("read", key="a.md")
    made.kill()
    assert done == ["killed", "waited"]


@pytest.mark.parametrize(("verb", "number"), [("pause", signal.SIGSTOP), ("go_on", signal.SIGCONT)])
def test_a_worker_is_paused_and_goes_on(verb: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda process, what: sent.append((process, what)))
    made = Worker.__new__(Worker)
    made._process = SimpleNamespace(pid=77)  # type: ignore[assignment]
    getattr(made, verb)()
    assert sent == [(77, number)]


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    """Asks a desk with a store of files, and returns what it tells."""
    answers = io.BytesIO()
    made = Desk(answers, str(tmp_path))
    made._store = FileStore(tmp_path / "store", create_root=True)

    def ask(verb: str, **arguments: Any) -> Any:
        start = answers.tell()
        made.serve({"verb": verb, **arguments})
        return json.loads(answers.getvalue()[start:])

    return SimpleNamespace(ask=ask, made=made)


def test_a_desk_reads_writes_and_lists_what_is_not_the_store_s_own(desk: Any, tmp_path: Path) -> None:
    assert desk.ask("write", key="a/b.md", text="one\n") == {"done": None}
    assert desk.ask("read", key="a/b.md") == {"done": "one\n"}
    assert desk.ask("write", key="a/b.md", text="two\n", after="one\n") == {"done": None}
    refused = desk.ask("write", key="a/b.md", text="three\n", after="one\n")
    assert refused["raised"] == "ConcurrentModificationError"
    assert {"ConcurrentModificationError", "AgentmError", "Exception"} <= set(refused["kinds"])
    desk.ask("add_lines", key="a/c.md", lines=["1", "2"])
    desk.ask("append_lines", key="a/c.md", lines=["3"])
    assert desk.ask("read", key="a/c.md") == {"done": "1\n2\n3\n"}
    desk.ask("write", key="_meta/own.md", text="own\n")
    assert desk.ask("keys") == {"done": ["a/b.md", "a/c.md"]}
    assert desk.ask("everything") == {"done": "two\n\n1\n2\n3\n"}
    assert desk.ask("copies") == {"done": []}
    assert desk.ask("file_of", key="a/b.md") == {"done": str(tmp_path / "store" / "a" / "b.md")}
    assert desk.ask("facts")["done"]["device_files"] is True


def test_a_desk_says_what_it_cannot_do(desk: Any) -> None:
    assert desk.ask("dance")["raised"] == "AttributeError"
    desk.ask("write", key="a.md", text="one\n")
    missing = desk.ask("read", key="none.md")
    assert missing["raised"] == "NotFoundError"
    assert "none.md" in missing["message"]
    desk.made.trouble = PermissionError(1, "not here")
    assert desk.ask("read", key="none.md")["raised"] == "PermissionError"


def test_a_store_that_cannot_be_added_to_in_place_is_written_anew(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(desk.made.store), "facet", lambda _store, _kind: None)
    assert desk.ask("append_lines", key="a.md", lines=["1", "2"]) == {"done": None}
    assert desk.ask("read", key="a.md") == {"done": "1\n2\n"}
    assert desk.ask("copies") == {"done": []}


def test_the_disk_is_filled_until_there_is_no_room_and_then_emptied(
    desk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() > 8_000:
                raise OSError(28, "No space left on device")
            return super().write(data)

    opened: list[Any] = []

    def filler(path: str, mode: str, *, buffering: int) -> Full:
        opened.append((path, mode, buffering))
        return Full()

    monkeypatch.setattr(worker, "open", filler, raising=False)
    assert desk.ask("fill") == {"done": 8192}
    assert opened == [(str(tmp_path / "filler"), "wb", 0)]
    (tmp_path / "filler").touch()
    desk.ask("make_room")
    assert not (tmp_path / "filler").exists()


@pytest.mark.parametrize(("user", "flags"), [(0, 0x00020000), (1000, 0x10020000)])
def test_a_small_disk_is_mounted_where_nobody_else_sees_it(
    user: int, flags: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []

    class Libc:
        def unshare(self, given: int) -> int:
            called.append(("unshare", given))
            return 0

        def mount(self, what: Any, where: bytes, kind: Any, given: Any, options: Any) -> int:
            called.append(("mount", what, where, kind, given.value, options))
            return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda _name, *, use_errno: Libc() if use_errno else None)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "getegid", lambda: 100)
    monkeypatch.setattr(small_disk, "_be_oneself", lambda *given: called.append(given))
    small_disk.mount_small_disk("/mnt/é", 4096)
    assert called == [
        ("unshare", flags),
        *([(user, 100)] if user else []),
        ("mount", None, b"/", None, 0x44000, None),
        ("mount", b"agentm-prove", "/mnt/é".encode(), b"tmpfs", 0, b"size=4096,mode=0700"),
    ]
