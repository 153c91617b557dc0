"""Anthropic's memory tool on a store of agentm: what the model reads after each command, and what is then stored."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.plugin import Locator, LockTimeout
from agentm_mcp.adapters.anthropic_memory import MemoryTool, _size

SECRET = "gh" + "p_" + "Q7w2Zk9" * 5 + "x"


class Model:
    """What a model asks for, and gets to read."""

    def __init__(self) -> None:
        self.store = MemoryBackend()
        self.tool = MemoryTool(self.store)

    def does(self, command: str, path: str = "", **fields: Any) -> str:
        fields = {"view_range": None, **({"path": path} if path else {}), **fields}
        answer = getattr(self.tool, command)(SimpleNamespace(**fields))
        assert isinstance(answer, str)
        return answer

    def text(self, name: str) -> str:
        return self.store.read(Locator(f"memories/{name}"))


@pytest.fixture
def model() -> Model:
    made = Model()
    made.does("create", "/memories/plan.md", file_text="one\ntwo\nthree\nfour\nfive\nsix\n")
    return made


def test_a_file_is_made_once(model: Model) -> None:
    assert model.text("plan.md").startswith("one\n")
    with pytest.raises(ToolError, match="File /memories/plan.md already exists"):
        model.does("create", "/memories/plan.md", file_text="another\n")
    assert model.text("plan.md").startswith("one\n")


@pytest.mark.parametrize(
    ("view_range", "shown"),
    [
        (None, "one two three four five six "),
        ([2, 3], "two three"),
        ([5, -1], "five six "),
        ([0, 1], "one"),
        ([4], "one two three four five six "),
    ],
)
def test_a_file_is_shown_with_the_numbers_of_its_lines(
    model: Model, view_range: list[int] | None, shown: str
) -> None:
    head, *lines = model.does("view", "/memories/plan.md", view_range=view_range).split("\n")
    assert head == "Here's the content of /memories/plan.md with line numbers:"
    numbers = ["one", "two", "three", "four", "five", "six", ""]
    assert lines == [f"{numbers.index(word) + 1:>6}\t{word}" for word in shown.split(" ")]


def test_a_folder_is_shown_two_levels_deep_with_sizes_and_without_what_is_hidden(model: Model) -> None:
    model.does("create", "/memories/a/big.md", file_text="x" * 1536)
    model.does("create", "/memories/a/b/deep.md", file_text="x" * 512)
    model.does("create", "/memories/.hidden/x.md", file_text="")
    assert model.does("view", "/memories").split("\n") == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "2.0K\t/memories",
        "2K\t/memories/a/",
        "512B\t/memories/a/b/",
        "1.5K\t/memories/a/big.md",
        "28B\t/memories/plan.md",
    ]


def test_one_text_takes_the_place_of_another_and_the_lines_around_it_are_shown(model: Model) -> None:
    answer = model.does("str_replace", "/memories/plan.md", old_str="four", new_str="4")
    assert model.text("plan.md") == "one\ntwo\nthree\n4\nfive\nsix\n"
    assert answer.split("\n")[1:] == ["     2\ttwo", "     3\tthree", "     4\t4", "     5\tfive", "     6\tsix"]
    answer = model.does("str_replace", "/memories/plan.md", old_str="one", new_str="1")
    assert answer.split("\n")[1:] == ["     1\t1", "     2\ttwo", "     3\tthree"]


@pytest.mark.parametrize("old", ["", "ten"])
def test_what_is_not_there_is_not_replaced(model: Model, old: str) -> None:
    with pytest.raises(ToolError, match="did not appear"):
        model.does("str_replace", "/memories/plan.md", old_str=old, new_str="x")


def test_what_is_there_twice_is_not_replaced_and_its_lines_are_named(model: Model) -> None:
    with pytest.raises(ToolError, match=r"in lines: 1, 2, 4\. Please"):
        model.does("str_replace", "/memories/plan.md", old_str="o", new_str="x")
    assert "x" not in model.text("plan.md").replace("six", "")


@pytest.mark.parametrize(("line", "text"), [(0, "new\none\ntwo\n"), (1, "one\nnew\ntwo\n"), (2, "one\ntwo\nnew\n")])
def test_a_line_comes_after_the_one_that_is_named(model: Model, line: int, text: str) -> None:
    for name, before in (("ended.md", "one\ntwo\n"), ("open.md", "one\ntwo")):
        model.does("create", f"/memories/{name}", file_text=before)
        model.does("insert", f"/memories/{name}", insert_line=line, insert_text="new\n")
        assert model.text(name) == text


@pytest.mark.parametrize("line", [-1, 7])
def test_a_line_that_is_not_there_is_named(model: Model, line: int) -> None:
    with pytest.raises(ToolError, match=rf"{line}\. It should be within the range \[0, 6\]"):
        model.does("insert", "/memories/plan.md", insert_line=line, insert_text="new")


def test_a_file_is_renamed_and_deleted_and_everything_can_go(model: Model) -> None:
    model.does("rename", old_path="/memories/plan.md", new_path="/memories/./old/../later.md")
    assert model.text("later.md").startswith("one\n")
    model.does("create", "/memories/plan.md", file_text="again\n")
    with pytest.raises(ToolError, match="already exists"):
        model.does("rename", old_path="/memories/plan.md", new_path="/memories/later.md")
    assert model.does("delete", "/memories/plan.md") == "Successfully deleted /memories/plan.md"
    with pytest.raises(ToolError, match="does not exist"):
        model.does("rename", old_path="/memories/plan.md", new_path="/memories/x.md")
    assert model.tool.clear_all_memory() == "All memory cleared"
    assert [*model.store.walk(Locator("memories"))] == []


@pytest.mark.parametrize(
    ("command", "fields", "saying"),
    [
        ("view", {"path": "/memories/none.md"}, "does not exist"),
        ("view", {"path": "/memoriesque"}, "must start with /memories"),
        ("view", {"path": "/etc/passwd"}, "must start with /memories"),
        ("view", {"path": "/memories/a/../../x"}, "would escape /memories"),
        ("view", {"path": "/memories/con.md"}, "cannot be stored"),
        ("delete", {"path": "/memories"}, "Cannot delete the /memories directory"),
        ("delete", {"path": "/memories/none.md"}, "does not exist"),
        ("rename", {"old_path": "/memories", "new_path": "/memories/x"}, "Cannot rename the /memories directory"),
        ("create", {"path": "/memories/con.md", "file_text": ""}, "cannot be stored"),
        ("create", {"path": "/memories/x.md", "file_text": SECRET}, "secret"),
        ("insert", {"path": "/memories/plan.md", "insert_line": 0, "insert_text": SECRET}, "secret"),
        ("str_replace", {"path": "/memories/plan.md", "old_str": "one", "new_str": SECRET}, "secret"),
        ("str_replace", {"path": "/memories/none.md", "old_str": "one", "new_str": "1"}, "does not exist"),
        ("str_replace", {"path": "/memories", "old_str": "one", "new_str": "1"}, "is not a file"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(
    model: Model, command: str, fields: dict[str, Any], saying: str
) -> None:
    with pytest.raises(ToolError, match=saying):
        model.does(command, **fields)
    assert [info.locator.key for info in model.store.walk(Locator()) if not info.is_dir] == ["memories/plan.md"]
    assert model.text("plan.md") == "one\ntwo\nthree\nfour\nfive\nsix\n"


def test_a_rename_that_the_store_refuses_is_told(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise LockTimeout("the store is locked")

    monkeypatch.setattr(model.store, "write", refuse)
    with pytest.raises(ToolError, match="the store is locked"):
        model.does("rename", old_path="/memories/plan.md", new_path="/memories/later.md")
    assert model.text("plan.md").startswith("one\n")


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0B"), (1023, "1023B"), (1024, "1K"), (1536, "1.5K"), (1024**2, "1M"), (1024**3, "1G"), (1024**4, "1024G")],
)
def test_a_size_is_shown_in_the_unit_that_fits(count: int, shown: str) -> None:
    assert _size(count) == shown
