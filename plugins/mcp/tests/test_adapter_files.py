"""What programs are told by each adapter: their own errors, what is listed, what is found and in what order."""

from __future__ import annotations

import asyncio
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.plugin import (
    ConcurrentModificationError,
    InvalidLocatorError,
    Locator,
    LocatorConflictError,
    StorageSelectionError,
)
from agentm_mcp.adapters.names import HASHED, segment_of
from agentm_mcp.adapters.octets import PREFIX
from agentm_mcp.adapters.ranking import by_meaning, by_words, packed, passes, unpacked
from agentm_mcp.adapters.tree import Entry, Tree, open_store


@pytest.fixture
def store() -> MemoryBackend:
    return MemoryBackend()


@pytest.fixture
def fs(store: MemoryBackend) -> Any:
    fs = fsspec.filesystem("agentm", store=store)
    fs.pipe({"a/one.md": b"12345", "a/b/two.md": b"12", "file": b"x"})
    return fs


# ------------------------------------------------------------------------------------------------ a tree


def test_a_tree_tells_files_folders_and_sizes_as_their_reader_gets_them(store: MemoryBackend) -> None:
    tree = Tree(store, "work")
    tree.write_bytes("a/octets.bin", b"\xff\x00")
    tree.write("a/note.md", PREFIX)
    tree.make_folder("a/empty")
    tree.make_folder("a")
    found = {entry.name: entry for entry in tree.entries("a")}
    assert {name: (entry.path, entry.is_dir, entry.size) for name, entry in found.items()} == {
        "empty": ("a/empty", True, 0),
        "note.md": ("a/note.md", False, len(PREFIX)),
        "octets.bin": ("a/octets.bin", False, 2),
    }
    assert tree.entry("a/note.md") == found["note.md"]
    assert tree.entry("") == Entry("", True, 0, 0.0)
    assert [info.locator.name for info in tree.files("a")] == [".keep", "note.md", "octets.bin"]
    assert tree.read_bytes("a/octets.bin") == b"\xff\x00"
    assert [tree.kind(path) for path in ("", "a", "a/note.md", "none")] == ["directory", "directory", "file", None]
    with pytest.raises(FileNotFoundError):
        tree.entry("none")
    with pytest.raises(FileNotFoundError):
        tree.edit("none", lambda text: text)
    assert tree.edit("a/note.md", lambda text: f"{text}!") == f"{PREFIX}!"


def test_a_folder_is_moved_file_by_file_and_not_into_itself(store: MemoryBackend) -> None:
    tree = Tree(store, "work")
    tree.write("a/one.md", "1")
    tree.write("a/b/two.md", "2")
    with pytest.raises(LocatorConflictError, match="'a' cannot be moved into itself"):
        tree.move("a", "a/b/c")
    tree.move("a", "ab")
    assert {info.locator.key: store.read(info.locator) for info in tree.files()} == {
        "work/ab/one.md": "1",
        "work/ab/b/two.md": "2",
    }
    assert Tree(store, "").path_of(Locator("work/ab/one.md")) == "work/ab/one.md"


def test_a_store_that_is_named_is_opened_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "AGENTM_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StorageSelectionError):
        Tree("team", "desk")
    Tree(None, "desk").write("a.md", "x")
    assert (tmp_path / ".agentm/memory/desk/a.md").read_text() == "x"
    device = SimpleNamespace(store=lambda name, *, read_only=True: (name, read_only))
    monkeypatch.setattr("agentm_kernel.plugin.Device.now", lambda: device)
    assert open_store("team") == ("team", False)


def test_a_name_that_no_file_may_have_is_spelled_otherwise() -> None:
    assert segment_of("a-b_0") == "a-b_0"
    assert segment_of("com1") == "%63%6f%6d%31"
    assert segment_of("x" * 150) == "x" * 150
    assert segment_of("x" * 151).startswith(HASHED)
    for wrong in ("", "\ud800"):
        with pytest.raises(InvalidLocatorError):
            segment_of(wrong)


# ------------------------------------------------------------------------------------------------ fsspec


def test_files_are_listed_with_their_facts(fs: Any) -> None:
    assert fs.ls("agentm://a", detail=False) == ["a/b", "a/one.md"]
    facts = fs.ls("/a/")
    assert [(one["name"], one["size"], one["type"]) for one in facts] == [
        ("a/b", 0, "directory"),
        ("a/one.md", 5, "file"),
    ]
    assert fs.ls("a/one.md", detail=False) == ["a/one.md"]
    info = fs.info("a/one.md")
    assert fs.modified("a/one.md").timestamp() == pytest.approx(info["mtime"])
    assert fs.cat_file("a/one.md", 1, 3) == b"23"
    assert fs._strip_protocol(["agentm://a/", "b"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("what", "error"),
    [
        (lambda fs: fs.cat_file("a"), IsADirectoryError),
        (lambda fs: fs.cat_file("none"), FileNotFoundError),
        (lambda fs: fs.info("none"), FileNotFoundError),
        (lambda fs: fs.open("a", "rb"), IsADirectoryError),
        (lambda fs: fs.open("a", "wb"), IsADirectoryError),
        (lambda fs: fs.open("none", "rb"), FileNotFoundError),
        (lambda fs: fs.open("none", "r+b"), FileNotFoundError),
        (lambda fs: fs.open("file", "xb"), FileExistsError),
        (lambda fs: fs._open("file", "a+b"), ValueError),
        (lambda fs: fs.pipe_file("file", b"y", mode="create"), FileExistsError),
        (lambda fs: fs.pipe_file("file/below", b"y"), NotADirectoryError),
        (lambda fs: fs.pipe_file("a", b"y"), IsADirectoryError),
        (lambda fs: fs.mkdir("a"), FileExistsError),
        (lambda fs: fs.mkdir("file"), FileExistsError),
        (lambda fs: fs.mkdir("file/below"), NotADirectoryError),
        (lambda fs: fs.makedirs("a"), FileExistsError),
        (lambda fs: fs.makedirs("file", exist_ok=True), FileExistsError),
        (lambda fs: fs.rmdir("a"), OSError),
        (lambda fs: fs.rmdir("file"), NotADirectoryError),
        (lambda fs: fs.rmdir("none"), FileNotFoundError),
        (lambda fs: fs.rm_file("a"), IsADirectoryError),
        (lambda fs: fs.rm_file("none"), FileNotFoundError),
        (lambda fs: fs.rm("none"), FileNotFoundError),
        (lambda fs: fs.rm("a"), OSError),
    ],
)
def test_what_cannot_be_done_is_one_of_pythons_own_errors_and_changes_nothing(
    what: Callable[[Any], object], error: type[Exception], fs: Any
) -> None:
    before = {path: fs.cat(path) for path in fs.find("")}
    with pytest.raises(error):
        what(fs)
    assert (
        {path: fs.cat(path) for path in fs.find("")}
        == before
        == {"a/b/two.md": b"12", "a/one.md": b"12345", "file": b"x"}
    )


def test_folders_are_made_and_removed_and_what_is_below_them_goes(fs: Any) -> None:
    fs.makedirs("a", exist_ok=True)
    fs.mkdir("new/deep")
    assert fs.isdir("new/deep")
    fs.rmdir("new/deep")
    assert not fs.exists("new")
    fs.rm("a", recursive=True)
    assert (fs.find(""), fs.exists("a")) == (["file"], False)
    fs.rm_file("file")
    assert fs.ls("") == []
    fs.rmdir("")


def test_an_open_file_is_stored_whole_when_it_is_closed(fs: Any, store: MemoryBackend) -> None:
    with fs.open("new.md", "wb") as file:
        file.write(b"one")
        assert (file.writable(), file.readable(), file.size) == (True, False, 0)
        assert not fs.exists("new.md")
    assert fs.cat("new.md") == b"one"
    with fs.open("new.md", "r+b") as file:
        assert (file.writable(), file.readable(), file.size, file.read()) == (True, True, 3, b"one")
        file.write(b" two")
    with fs.open("new.md", "ab") as file:
        file.write(b" three")
        fs.pipe("new.md", b"0")
    assert fs.cat("new.md") == b"0 three"
    with fs.open("new.md", "rb") as file:
        assert (file.writable(), file.readable()) == (False, True)
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"x")
    file = fs.open("other.md", "wb")
    fs.pipe("other.md", b"theirs")
    with pytest.raises(FileExistsError):
        file.close()
    file.close()
    assert fs.cat("other.md") == b"theirs"
    fs.pipe_file("other.md", b"mine", if_match=fs.checksum("other.md"))
    with pytest.raises(ConcurrentModificationError):
        fs.pipe_file("other.md", b"late", if_match="0" * 64)
    assert fs.cat("other.md") == b"mine"


def test_files_are_put_copied_and_moved(fs: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file.bin").write_bytes(b"\xff")
    seen: list[tuple[str, int]] = []

    class Watching(fsspec.Callback):  # type: ignore[misc]
        def set_size(self, size: int) -> None:
            seen.append(("size", size))
            assert not fs.exists("put/file.bin"), "it is said before the work"

        def relative_update(self, inc: int = 1) -> None:
            seen.append(("done", inc))

    fs.put_file(str(tmp_path / "folder" / "file.bin"), "put/file.bin", callback=Watching())
    assert (fs.cat("put/file.bin"), seen) == (b"\xff", [("size", 1), ("done", 1)])
    with pytest.raises(FileExistsError):
        fs.put_file(str(tmp_path / "folder" / "file.bin"), "put/file.bin", mode="create")
    fs.put_file(str(tmp_path / "folder"), "made")
    fs.put_file(str(tmp_path / "folder"), "made")
    assert fs.isdir("made")
    fs.cp_file("put/file.bin", "copy.bin")
    fs.cp_file("put", "put2")
    assert (fs.cat("copy.bin"), fs.isdir("put2"), fs.ls("put2")) == (b"\xff", True, [])
    fs.mv("a", "moved", recursive=True)
    assert [path for path in fs.find("") if ".md" in path] == ["moved/b/two.md", "moved/one.md"]
    assert not fs.exists("a")
    fs.mv("copy.bin", "copy.bin")
    assert fs.cat("copy.bin") == b"\xff"


# ------------------------------------------------------------------------------------------------ LangGraph


@pytest.mark.parametrize(
    ("wanted", "is_found"),
    [
        (None, True),
        ({"n": 2}, True),
        ({"n": 3}, False),
        ({"n": True}, False),
        ({"flag": True}, True),
        ({"flag": 1}, False),
        ({"n": {"$gt": 1, "$lte": 2}}, True),
        ({"n": {"$gte": 3}}, False),
        ({"n": {"$lt": 2}}, False),
        ({"n": {"$eq": 2}}, True),
        ({"n": {"$ne": 2}}, False),
        ({"text": {"$gt": 1}}, False),
        ({"none": {"$gt": 1}}, False),
        ({"deep": {"a": 1}}, True),
        ({"deep": {"a": 2}}, False),
        ({"n": {"a": 2}}, False),
        ({"deep.a": 1}, True),
        ({"deep.b.c": 1}, False),
        ({"dotted.name": 1}, True),
        ({"list": [1, 2]}, True),
        ({"list": (1,)}, False),
        ({"text": [1]}, False),
        ({"n": 2, "text": "x"}, False),
    ],
)
def test_a_filter_holds_if_every_field_does(wanted: dict[str, Any] | None, is_found: bool) -> None:
    value = {"n": 2, "flag": True, "text": "t", "deep": {"a": 1}, "dotted.name": 1, "list": [1, 2]}
    assert passes(value, wanted) is is_found


def test_a_sign_that_no_filter_knows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a filter knows \$eq, .*, not \$in"):
        passes({"a": 1}, {"a": {"$in": [1]}})


def test_words_that_are_rare_count_for_more() -> None:
    scores = by_words("green TEA", ["green green", "tea", "tea time", "nothing"])
    assert scores[3] is None
    green, tea, time, _ = scores
    assert green is not None
    assert tea is not None
    assert green > tea == time > 0
    assert by_words("green tea", ["green tea"]) == [pytest.approx(1.0)]
    assert by_words("green tea", ["green", "x", "y"])[0] == pytest.approx(math.log(2.5) / math.log(10))
    assert by_words("", ["green"]) == [None]
    assert by_words("茶", ["我喝茶。", "eat"])[1] is None
    assert by_words("茶", ["我喝茶。"])[0] is not None
    assert by_words("art", ["party"]) == [None]


def test_words_of_every_script_are_found_in_the_items_of_a_graph(store: MemoryBackend) -> None:
    from agentm_mcp.adapters.langgraph_store import AgentmStore

    graph = AgentmStore(store)
    for key, text in (("tea", "我喝茶。"), ("café", "un café")):
        graph.put(("n",), key, {"text": text})
    assert [item.key for item in graph.search(("n",), query="茶") if item.score] == ["tea"]
    assert [item.key for item in graph.search(("n",), query="café") if item.score] == ["café"]


def test_the_nearest_vector_of_an_item_counts() -> None:
    assert by_meaning([1.0, 0.0], [[0.0, 1.0], [3.0, 0.0]]) == pytest.approx(1.0)
    assert by_meaning([1.0, 0.0], [[1.0, 0.0, 0.0]]) is None
    assert by_meaning([1.0, 0.0], [[0.0, 0.0]]) == 0.0
    assert by_meaning([1.0, 1.0], [[1.0, 0.0]]) == pytest.approx(0.7071, abs=1e-4)
    assert list(unpacked(packed([0.5, -2.0]))) == [0.5, -2.0]


# ------------------------------------------------------------------------------------------------ Pydantic AI


def test_a_workspace_answers_with_the_errors_that_its_framework_knows(store: MemoryBackend) -> None:
    from pydantic_ai.workspaces import WorkspaceRef

    from agentm_mcp.adapters.pydantic_workspace import AgentmWorkspace

    async def work() -> None:
        workspace = AgentmWorkspace(store, folder="w")
        assert workspace.ref is None
        assert await workspace.working_dir() == "/memory"
        assert workspace.ref == WorkspaceRef(provider="agentm", id="w")
        await workspace.write_bytes("/memory/a/one.bin", b"\xff")
        assert await workspace.read_bytes("/memory/a/../a/one.bin") == b"\xff"
        root, folder, file = [await workspace.stat(f"/memory{path}") for path in ("", "/a", "/a/one.bin")]
        assert (root.name, root.path, root.is_dir, root.size) == ("memory", "/memory", True, None)
        assert (folder.name, folder.path, folder.is_dir, folder.size) == ("a", "/memory/a", True, None)
        assert (file.name, file.path, file.is_dir, file.size) == ("one.bin", "/memory/a/one.bin", False, 1)
        exist = [await workspace.exists(path) for path in ("/memory/a", "/memory/none", "/etc/passwd", "/memoryx")]
        assert exist == [True, False, False, False]
        assert await workspace.realpath("b/../a") == "/memory/a"
        for wrong, error in (
            (workspace.read_bytes("/memory/a"), IsADirectoryError),
            (workspace.write_bytes("/memory/a", b"x"), IsADirectoryError),
            (workspace.write_bytes("/memory/a/one.bin/x", b"x"), NotADirectoryError),
            (workspace.list_dir("/memory/a/one.bin"), NotADirectoryError),
            (workspace.list_dir("/memory/none"), FileNotFoundError),
            (workspace.make_dir("/memory/a/one.bin"), FileExistsError),
            (workspace.make_dir("/memory/a/one.bin/x"), NotADirectoryError),
            (workspace.remove("/memory/none"), FileNotFoundError),
            (workspace.remove("/memory"), ValueError),
            (workspace.remove("/"), ValueError),
            (workspace.stat("/memory/none"), FileNotFoundError),
            (workspace.read_bytes("/elsewhere/x"), FileNotFoundError),
        ):
            with pytest.raises(error):
                await wrong
        await workspace.remove("/memory/a")
        assert not await workspace.exists("/memory/a")
        await workspace.write_bytes("/memory/a/one.bin", b"new")
        again = AgentmWorkspace(store, ref=workspace.ref)
        assert await again.read_bytes("/memory/a/one.bin") == b"new"

    asyncio.run(work())


# ------------------------------------------------------------------------------------------------ OpenAI Agents


def test_a_session_gives_the_latest_items_and_passes_over_broken_lines(store: MemoryBackend) -> None:
    from agentm_mcp.adapters.openai_session import AgentmSession

    def item(text: str) -> dict[str, str]:
        return {"role": "user", "content": text}

    place = Locator("sessions/%41na.jsonl")

    async def work() -> None:
        session = AgentmSession("Ana", store)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.clear_session()
        await session.add_items([])
        assert not store.exists(place)
        await session.add_items([item("one"), item("two é")])  # type: ignore[list-item]
        await session.add_items([item("half \ud800")])  # type: ignore[list-item]
        lines = store.read(place).split("\n")
        assert lines[1:] == [
            '{"role": "user", "content": "two é"}',
            r'{"role": "user", "content": "half \ud800"}',
            "",
        ]
        for limit, said in ((None, 3), (2, 2), (0, 0), (-1, 3), (9, 3)):
            assert len(await session.get_items(limit)) == said
        assert await AgentmSession("Ana", store, session_settings={"limit": 1}).get_items() == [item("half \ud800")]
        store.write(place, store.read(place) + "{broken\n\n")
        assert len(await session.get_items()) == 3
        assert await session.pop_item() == item("half \ud800")
        assert [json.loads(line)["content"] for line in store.read(place).splitlines()] == ["one", "two é"]
        await session.clear_session()
        assert await session.get_items() == []
        session.close()
        for late in (
            session.get_items(),
            session.add_items([item("x")]),
            session.pop_item(),
            session.clear_session(),
        ):  # type: ignore[list-item]
            with pytest.raises(RuntimeError, match="this AgentmSession is closed"):
                await late

    asyncio.run(work())


def test_the_end_of_a_session_is_replaced_only_if_it_is_still_the_same(store: MemoryBackend) -> None:
    from agentm_mcp.adapters.openai_session import AgentmSession

    def items(*texts: str) -> Any:
        return [{"role": "user", "content": text} for text in texts]

    async def work() -> None:
        session = AgentmSession("s", store)

        async def said() -> list[object]:
            return [item["content"] for item in await session.get_items()]  # type: ignore[typeddict-item]

        await session.add_items(items("old", "a", "b", "c"))
        snapshot = await session._get_compaction_snapshot(2, prune_prefix=lambda item: item["content"] == "old")
        assert snapshot.items == items("b", "c")
        replace = next(value for value in vars(snapshot).values() if callable(value))
        await session.add_items(items("d"))
        assert not await replace(0, items("summary"))
        assert await said() == ["old", "a", "b", "c", "d"]
        await session.pop_item()
        assert await replace(1, items("summary"))
        assert await said() == ["a", "b", "summary"], "what has expired goes as well"
        place = Locator("sessions/s.jsonl")
        store.write(place, store.read(place) + "{broken\n")
        assert await session._get_compaction_snapshot(2) is None
        await session.clear_session()
        assert not await replace(0, items("x"))

    asyncio.run(work())
