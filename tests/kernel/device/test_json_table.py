"""The small tables that this device keeps: whole or refused, and no change of anybody lost."""

from __future__ import annotations

import json
import multiprocessing
import os
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.device.json_text import JsonTable
from agentm_kernel.errors import ConfigError, StorageIOError

if TYPE_CHECKING:
    from pathlib import Path


def is_text(value: object) -> bool:
    return isinstance(value, str)


def refusal(path: str, why: str) -> ConfigError:
    return ConfigError(f"{path}: {why}", hint="repair it")


def table_in(folder: Path) -> JsonTable:
    return JsonTable(str(folder / "state" / "table.json"), is_text, refusal)


def test_without_a_file_it_is_empty_and_reading_makes_none(tmp_path: Path) -> None:
    assert table_in(tmp_path).read() == {}
    assert not (tmp_path / "state").exists()


def test_where_its_folder_is_on_a_disk_that_is_not_mounted_it_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to("/nowhere/at/all")

    with pytest.raises(ConfigError, match="state leads to no folder"):
        table_in(tmp_path).read()


def test_values_are_given_and_taken_out_and_all_others_stay(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    table.change({"b": "2", "a": "ž"})
    table.change({"c": "3", "b": None, "never there": None})
    assert table.read() == {"a": "ž", "c": "3"}
    assert list(json.loads((tmp_path / "state" / "table.json").read_text(encoding="utf-8"))) == ["a", "c"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', '{"a": "b", "a": "c"}', '{"a": null}', "\ufeff{}"])
def test_one_that_cannot_be_relied_on_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    table = table_in(tmp_path)
    path = tmp_path / "state" / "table.json"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    for use in (table.read, lambda: table.change({"b": "2"})):
        with pytest.raises(ConfigError, match=r"table\.json: "):
            use()
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")
@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: os.symlink(path, path)], ids=["FIFO", "dir", "loop"]
)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, make) -> None:
    (tmp_path / "state").mkdir()
    make(tmp_path / "state" / "table.json")
    with pytest.raises(ConfigError, match=r"table\.json: "):
        table_in(tmp_path).read()


def test_where_nothing_can_be_kept_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file is in the way")
    with pytest.raises(ConfigError, match=r"table\.json: Not a directory"):
        table_in(tmp_path).read()
    with pytest.raises(StorageIOError, match="cannot write") as caught:
        table_in(tmp_path).change({"a": "1"})
    assert "writable" in (caught.value.hint or "")


def test_a_path_that_is_no_text_comes_back_as_it_was(tmp_path: Path) -> None:
    path = os.fsdecode(b"/home/b\xe9la/\xc5\xbe")
    table_in(tmp_path).change({path: "x"})
    table_in(tmp_path).change({"another": "y"})
    assert table_in(tmp_path).read() == {path: "x", "another": "y"}


def add(path: str, number: int) -> None:
    JsonTable(path, is_text, refusal).change({f"key {number}": "x"})


def test_changes_from_many_processes_at_once_are_all_kept(tmp_path: Path) -> None:
    path = table_in(tmp_path).path
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.starmap(add, [(path, number) for number in range(12)])
    assert len(table_in(tmp_path).read()) == 12
