"""Where trials may be made, and what is made of what `agentm hosts` answers: without a process of its own."""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import shutil
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import Device, FileStore, stamp_store
from agentm_prove import hosts, place, small_disk
from agentm_prove.laboratory import Laboratory, sweep
from agentm_prove.place import PREFIX, Place, file_system_of, find_place, places_to_sweep
from agentm_prove.trial import Broken, NotTried

if TYPE_CHECKING:
    from pathlib import Path

MOUNTS = (
    "/dev/a / ext4 rw 0 0\ntmpfs /mnt/my\\040disk tmpfs rw 0 0\n/dev/b /mnt vfat rw 0 0\n/dev/c /mnt xfs rw 0 0\n"
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ana", "ext4"),
        ("/mnt", "xfs"),
        ("/mnt/my disk/notes", "tmpfs"),
        ("/mnt/my disks", "xfs"),
        ("/mntx", "ext4"),
    ],
)
def test_a_path_is_on_the_file_system_that_is_mounted_nearest_to_it(
    path: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtins, "open", lambda *_given, **_options: io.StringIO(MOUNTS))
    assert file_system_of(path) == kind


def test_where_the_system_does_not_name_its_file_systems_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_given: object, **_options: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(builtins, "open", missing)
    assert file_system_of("/") == "a file system that this system does not name"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(place.tempfile, "gettempdir", lambda: str(temporary))
    monkeypatch.setattr(place, "file_system_of", lambda path: f"the one of {path}")
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def a_device(home: Path, **environ: str) -> Device:
    return Device({"HOME": str(home), **environ})


def test_trials_are_made_among_agentm_s_own_files_and_never_in_a_store(home: Path) -> None:
    found = find_place(a_device(home))
    assert not isinstance(found, str)
    assert (found.parent, found.protocol, found.remarks) == (str(home), "device-local", ())
    stamp_store(FileStore(home))
    found = find_place(a_device(home))
    assert not isinstance(found, str)
    assert found.parent == str(home.parent)
    assert list(home.parent.rglob(f"{PREFIX}*")) == []


def test_a_store_on_another_file_system_is_tried_there_or_the_other_one_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = home.parent / "disk"
    (disk / "notes").mkdir(parents=True)
    device = a_device(home, AGENTM_DEVICE_LOCAL_ROOT=str(disk / "notes"))
    monkeypatch.setattr(place, "_device_of", lambda path: 2 if str(path).startswith(str(disk)) else 1)
    found = find_place(device)
    assert not isinstance(found, str)
    assert (found.parent, found.remarks) == (str(disk), ())
    may_make = place._may_make_folders
    monkeypatch.setattr(place, "_may_make_folders", lambda path: path != str(disk) and may_make(path))
    found = find_place(device)
    assert not isinstance(found, str)
    (remark,) = found.remarks
    assert f"(the one of {disk}/notes): the one of {found.parent} was tried instead" in remark
    monkeypatch.setattr(place, "_may_make_folders", lambda _path: False)
    assert str(find_place(device)).startswith("no folder can be written to: ")


def test_a_store_that_cannot_be_used_is_said_and_the_default_kind_tried(home: Path) -> None:
    config = home / ".config" / "agentm" / ".agentm-config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"storage.backend": "nobodys"}')
    found = find_place(a_device(home))
    assert not isinstance(found, str)
    assert found.protocol == "device-local"
    (remark,) = found.remarks
    assert remark.startswith("the configured store cannot be used now: ")


def test_what_an_earlier_run_left_is_removed_where_it_may_have_made_something(home: Path) -> None:
    left, other = home / f"{PREFIX}1", home / "mine"
    (left / "1").mkdir(parents=True)
    other.mkdir()
    (home / f"{PREFIX}file").touch()
    assert sweep([*places_to_sweep(a_device(home)), str(home / "nowhere")]) == 1
    assert sorted(path.name for path in home.iterdir()) == [f"{PREFIX}file", "mine"]


def test_state_comes_before_cache_then_the_store_s_neighbourhood_then_what_is_temporary(home: Path) -> None:
    device = a_device(home)
    for folder in (device.state_dir, device.cache_dir, home / "notes"):
        os.makedirs(folder)
    temporary = str(home.parent / "temporary")
    assert list(place._candidates(device, str(home / "notes"))) == [
        device.state_dir,
        device.cache_dir,
        str(home),
        temporary,
    ]
    assert list(place._candidates(device, None)) == [device.state_dir, device.cache_dir, temporary]


def test_a_laboratory_that_somebody_else_removed_ends_all_the_same(tmp_path: Path) -> None:
    with Laboratory(Place(str(tmp_path), "ext4", "device-local", ())) as laboratory:
        assert os.path.dirname(laboratory.base) == str(tmp_path)
        shutil.rmtree(laboratory.base)
    assert list(tmp_path.iterdir()) == []


def test_a_call_of_the_system_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_disk.ctypes, "get_errno", lambda: errno.EPERM)
    small_disk._check(0)
    with pytest.raises(PermissionError, match="Operation not permitted"):
        small_disk._check(-1)


# ------------------------------------------------------------------------------------------------ agent hosts


def test_each_connected_host_is_a_trial_and_all_the_others_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, 0, {"hosts": [{"name": "codex", "connected": True}]})
    device = plugins("hosts", "cursor", "codex")
    assert [trial.name for trial in hosts.host_trials(device)] == ["host codex", "hosts-not-connected"]
    (alone,) = hosts.host_trials(plugins())
    with pytest.raises(NotTried, match="no adapter for an agent host is installed"):
        alone.run(None)  # type: ignore[arg-type]


def answered(monkeypatch: pytest.MonkeyPatch, code: int, out: object, err: str = "") -> list[tuple[Any, Any]]:
    """`agentm hosts` answers so; what was run, and how."""
    asked: list[tuple[Any, Any]] = []

    def run(words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        asked.append((words, options))
        return subprocess.CompletedProcess(words, code, out if isinstance(out, str) else json.dumps(out), err)

    monkeypatch.setattr(hosts.subprocess, "run", run)
    return asked


def test_a_host_whose_model_got_the_text_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answered(monkeypatch, 0, {})
    hosts._check_program("codex")
    ((words, options),) = asked
    assert words[-4:] == ["hosts", "check", "codex", "--json"]
    assert options["timeout"] == 20, "a program that hangs does not hang the trial"
    assert (options["stdin"], options["encoding"]) == (subprocess.DEVNULL, "utf-8"), "and asks nobody"


@pytest.mark.parametrize(
    ("code", "out", "err", "kind", "saying"),
    [
        (1, {"error": "there is no command codex"}, "", NotTried, "connected, but there is no command codex"),
        (1, {"cannot": "nobody knows how"}, "", NotTried, "connected, but nobody knows how"),
        (1, {}, "", Broken, "its program was started, and its model did not get the text"),
        (3, "no JSON", "first\nlast\n", Broken, "`agentm hosts check codex` failed: last"),
        (3, "no JSON", "", Broken, "`agentm hosts check codex` failed: exit 3"),
    ],
)
def test_a_host_that_was_not_reached_is_told_from_one_that_was_not_tried(
    monkeypatch: pytest.MonkeyPatch, code: int, out: object, err: str, kind: type[Exception], saying: str
) -> None:
    answered(monkeypatch, code, out, err)
    with pytest.raises(kind) as caught:
        hosts._check_program("codex")
    assert str(caught.value) == saying


def test_a_program_that_does_not_finish_was_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(words: list[str], **_options: Any) -> None:
        raise subprocess.TimeoutExpired(words, 20)

    monkeypatch.setattr(hosts.subprocess, "run", late)
    with pytest.raises(NotTried, match="did not finish within 20 s"):
        hosts._check_program("codex")
    assert hosts._connected(plugins("hosts")) == set()


def plugins(*names: str) -> Any:
    records = [SimpleNamespace(name=name) for name in names]
    return SimpleNamespace(plugins=SimpleNamespace(of=lambda _group: records))


@pytest.mark.parametrize(
    ("out", "connected"),
    [
        (
            {"hosts": [{"name": "codex", "connected": True}, {"host": "cursor", "connected": True}]},
            {"codex", "cursor"},
        ),
        ({"hosts": [{"name": "codex", "connected": False}, "odd"]}, set()),
        ([], set()),
        ("no JSON", set()),
    ],
)
def test_what_is_connected_is_what_the_list_says(
    monkeypatch: pytest.MonkeyPatch, out: object, connected: set[str]
) -> None:
    asked = answered(monkeypatch, 0, out)
    assert hosts._connected(plugins("hosts")) == connected
    assert asked[0][0][-3:] == ["hosts", "list", "--json"]
    assert hosts._connected(plugins("other")) == set(), "where nobody has that command, nobody is asked"
    assert len(asked) == 1
