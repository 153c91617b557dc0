"""What the adapters promise beyond the interfaces that they serve: nothing is lost, and nothing is read wrongly."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import fsspec
import pytest

from agentm_device_local import DeviceLocalBackend
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.plugin import Absent, ConcurrentModificationError, InvalidContentError, Locator, StorageBackend
from agentm_mcp.adapters.names import name_of, segment_of
from agentm_mcp.adapters.octets import PREFIX, bytes_of, text_of
from agentm_mcp.adapters.tree import Tree

SECRET = "gh" + "p_" + "Q7w2Zk9" * 5 + "x"


@pytest.fixture(params=["device-local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StorageBackend:
    return DeviceLocalBackend(str(tmp_path / "store")) if request.param == "device-local" else MemoryBackend()


# ------------------------------------------------------------------------------------------------ parts


@pytest.mark.parametrize(
    "data", [b"", b"text\r\n", "é".encode(), b"\xff\x00", PREFIX.encode(), PREFIX.encode() + b"AAAA", b"\x00"]
)
def test_bytes_come_back_as_they_went(data: bytes) -> None:
    assert bytes_of("a.bin", text_of("a.bin", data)) == data


@pytest.mark.parametrize("rest", ["not base 64!", "AA\nAA", "A"])
def test_a_text_that_only_begins_like_bytes_is_a_text(rest: str) -> None:
    assert bytes_of("a.bin", PREFIX + rest) == (PREFIX + rest).encode()


def test_a_note_is_text_and_nothing_else() -> None:
    with pytest.raises(InvalidContentError, match="a note is text"):
        text_of("a.md", b"\xff")
    assert text_of("a.md", PREFIX.encode()) == PREFIX


@pytest.mark.parametrize("name", ["plain", "Plain", "a/b", "..", "con", "é", "a b", "x\n", "%41", "🙂", "a.b"])
def test_names_become_segments_and_back(name: str) -> None:
    segment = segment_of(name)
    assert str(Locator(f"a/{segment}.json")) == f"a/{segment}.json"
    assert name_of(segment) == name
    assert segment == segment.lower()


def test_long_names_are_kept_apart() -> None:
    assert segment_of("x" * 500) != segment_of("x" * 501)
    assert str(Locator(segment_of("é" * 500)))


def test_a_folder_is_there_while_something_is_in_it_or_it_was_made(store: StorageBackend) -> None:
    tree = Tree(store, "work")
    tree.write("a/b/file.md", "x")
    assert tree.kind("a/b") == "directory"
    tree.delete("a/b/file.md")
    assert tree.kind("a") is None
    assert tree.entries("") == []
    tree.make_folder("made")
    assert [entry.path for entry in tree.entries("")] == ["made"]
    assert tree.entries("made") == []


# ------------------------------------------------------------------------------------------------ fsspec


def test_a_url_reaches_the_store_of_this_device(tmp_path: Path) -> None:
    code = (
        "import fsspec\n"
        "with fsspec.open('agentm://personal/facts/tabs.md', 'w') as file: file.write('Tabs.')\n"
        "print(fsspec.open('agentm://personal/facts/tabs.md', 'r').open().read())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("Tabs.\n", "")
    assert (tmp_path / ".agentm" / "memory" / "personal" / "facts" / "tabs.md").read_text() == "Tabs."


def test_a_file_that_changed_while_it_was_open_is_not_overwritten(store: StorageBackend) -> None:
    fs = fsspec.filesystem("agentm", store=store)
    fs.pipe("a.md", b"first")
    file = fs.open("a.md", "wb")
    file.write(b"mine")
    fs.pipe("a.md", b"theirs")
    with pytest.raises(ConcurrentModificationError):
        file.close()
    assert fs.cat("a.md") == b"theirs"
    known = fs.checksum("a.md")
    fs.pipe_file("a.md", b"merged", if_match=known)
    with pytest.raises(ConcurrentModificationError):
        fs.pipe_file("a.md", b"again", if_match=known)
    with fs.open("a.md", "r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(b" twice")
    assert fs.cat("a.md") == b"merged twice"


def test_appending_from_many_threads_loses_nothing(store: StorageBackend) -> None:
    fs = fsspec.filesystem("agentm", store=store)

    def add(number: int) -> None:
        with fs.open("log.md", "ab") as file:
            file.write(f"{number}\n".encode())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert sorted(map(int, fs.cat("log.md").split())) == list(range(40))


def test_a_transaction_stores_at_its_end_or_not_at_all(store: StorageBackend) -> None:
    fs = fsspec.filesystem("agentm", store=store)
    with fs.transaction:
        with fs.open("a.md", "wb") as file:
            file.write(b"x")
        fs.pipe("b.md", b"y")
        assert not fs.exists("a.md")
    assert fs.cat("a.md") + fs.cat("b.md") == b"xy"
    with suppress(KeyError), fs.transaction:
        fs.pipe("c.md", b"z")
        raise KeyError
    assert not fs.exists("c.md")


def test_moving_leaves_nothing_and_keeps_what_came_meanwhile(store: StorageBackend) -> None:
    fs = fsspec.filesystem("agentm", store=store)
    fs.pipe({"from/a.bin": b"\xff", "from/deep/b.md": b"b"})
    fs.mkdir("from/empty")
    fs.mv("from", "to", recursive=True)
    assert sorted(fs.find("to")) == ["to/a.bin", "to/deep/b.md"]
    assert fs.cat("to/a.bin") == b"\xff"
    assert fs.info("to/a.bin")["size"] == 1
    assert fs.isdir("to/empty")
    assert not fs.exists("from")
    fs.mv("to/a.bin", "/to/a.bin")
    assert fs.exists("to/a.bin")


class Interrupted(MemoryBackend):
    """Somebody else writes to `theirs` right after `copy` was written."""

    def __init__(self, copy: str, *theirs: str) -> None:
        super().__init__()
        self.copy, self.theirs = copy, theirs

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        done = super().write(locator, content, if_match=if_match)
        if locator.key == self.copy:
            for key in self.theirs:
                super().write(Locator(key), "theirs")
        return done


def test_a_file_that_is_edited_while_it_moves_stays() -> None:
    fs = fsspec.filesystem("agentm", store=Interrupted("new.md", "old.md"))
    fs.pipe("old.md", b"mine")
    with pytest.raises(ConcurrentModificationError):
        fs.mv("old.md", "new.md")
    assert fs.cat("old.md") == b"theirs"


def test_a_stale_copy_goes_unless_it_was_edited_too() -> None:
    for edited, left in ((("old.md",), ["old.md"]), (("old.md", "new.md"), ["new.md", "old.md"])):
        tree = Tree(Interrupted("new.md", *edited), "")
        tree.create("old.md", "mine")
        with pytest.raises(ConcurrentModificationError):
            tree.move("old.md", "new.md")
        found = [info.locator.key for info in tree.files()]
        assert (sorted(found), {tree.read(key) for key in found}) == (left, {"theirs"})


def test_a_file_that_is_there_is_not_made_anew(store: StorageBackend) -> None:
    tree = Tree(store, "")
    tree.create("a.md", "theirs")
    with pytest.raises(ConcurrentModificationError):
        tree.create("a.md", "mine")
    assert tree.read("a.md") == "theirs"


def test_nothing_is_overwritten_by_a_move(store: StorageBackend) -> None:
    tree = Tree(store, "")
    tree.create("old.md", "mine")
    tree.create("new.md", "theirs")
    with pytest.raises(ConcurrentModificationError):
        tree.move("old.md", "new.md")
    assert (tree.read("old.md"), tree.read("new.md")) == ("mine", "theirs")


def test_what_is_agentms_own_is_read_and_not_written(store: StorageBackend) -> None:
    store.write(Locator("_meta/store.json"), "{}")
    fs = fsspec.filesystem("agentm", store=store)
    assert fs.cat("_meta/store.json") == b"{}"
    for path in ("_meta/store.json", "_inbox/x.md", "projects/a/_project.json"):
        with pytest.raises(ValueError, match="agentm's own"):
            fs.pipe(path, b"x")
    with pytest.raises(ValueError, match="agentm's own"):
        fs.rm("_meta/store.json")
    store.write(Locator("a.md"), "kept")
    for everything in (lambda: Tree(store, "").delete(""), lambda: Tree(store, "").move("", "elsewhere")):
        with pytest.raises(ValueError, match="agentm's own"):
            everything()
    assert store.read(Locator("a.md")) == "kept"


# ------------------------------------------------------------------------------------------------ the others


def test_a_workspace_does_not_overwrite_what_it_has_not_read(store: StorageBackend) -> None:
    from pydantic_ai.workspaces import Workspace

    from agentm_mcp.adapters.pydantic_workspace import AgentmWorkspace

    async def work() -> None:
        one, other = Workspace(AgentmWorkspace(store)), Workspace(AgentmWorkspace(store))
        await one.write_text("plan.md", "first")
        assert await other.read_text("plan.md") == "first"
        await one.write_text("plan.md", "second")
        with pytest.raises(ConcurrentModificationError):
            await other.write_text("plan.md", "third")
        assert await other.read_text("plan.md") == "second"
        await other.write_text("plan.md", "third")
        with pytest.raises(ValueError, match="secret.*leave it out, and say where it is kept"):
            await other.write_text("token.md", SECRET)
        await one.make_dir("a/empty")
        shown = [(entry.name, entry.path, entry.is_dir, entry.size) for entry in await other.list_dir(".")]
        assert shown == [("a", "/memory/a", True, None), ("plan.md", "/memory/plan.md", False, 5)]
        with pytest.raises(FileNotFoundError):
            await other.read_text("/etc/passwd")

    asyncio.run(work())


def test_a_workspace_that_is_gone_is_not_made_again(store: StorageBackend) -> None:
    from pydantic_ai.workspaces import Workspace, WorkspaceUnavailableError

    from agentm_mcp.adapters.pydantic_workspace import AgentmWorkspace

    async def work() -> None:
        workspace = Workspace(AgentmWorkspace(store))
        await workspace.write_text("plan.md", "first")
        for info in [info for info in store.walk(Locator()) if not info.is_dir]:
            store.delete(info.locator)
        with pytest.raises(WorkspaceUnavailableError, match="is gone from the store"):
            await workspace.write_text("plan.md", "second")

    asyncio.run(work())
    assert not any(not info.is_dir for info in store.walk(Locator()))


def test_items_of_a_graph_are_readable_files_that_another_process_finds(store: StorageBackend) -> None:
    from agentm_mcp.adapters.langgraph_store import AgentmStore

    first = AgentmStore(store)
    first.put(("users", "Ana"), "prefs", {"text": "prefers dark roast coffee"})
    first.put(("users", "Ana"), "home", {"text": "lives in Lisbon"})
    created = first.get(("users", "Ana"), "prefs")
    first.put(("users", "Ana"), "prefs", {"text": "prefers green tea now"})
    (file,) = [info.locator for info in store.walk(Locator()) if info.locator.name == "prefs.json"]
    assert json.loads(store.read(file))["namespace"] == ["users", "Ana"]
    second = AgentmStore(store)
    found = second.search(("users",), query="which tea")
    assert [item.key for item in found] == ["prefs", "home"]
    assert found[0].score
    assert found[1].score is None
    assert created is not None
    assert found[0].created_at == created.created_at < found[0].updated_at
    store.write(Locator("langgraph/users/broken.json"), "{")
    with pytest.raises(InvalidContentError, match=r"broken\.json"):
        second.search(("users",))
    with pytest.raises(ValueError, match="secret"):
        second.put(("users",), "token", {"text": SECRET})


def test_a_search_sees_what_another_process_has_changed_since_the_last_one() -> None:
    from agentm_mcp.adapters.langgraph_store import AgentmStore

    store = MemoryBackend()
    one, other = AgentmStore(store), AgentmStore(store)
    for number in range(3):
        other.put(("n",), "k", {"a": number})
        for _ in range(2):
            assert [item.value for item in one.search(("n",))] == [{"a": number}]


def test_namespaces_of_a_graph_are_listed_by_their_ends_and_to_a_depth() -> None:
    from agentm_mcp.adapters.langgraph_store import AgentmStore

    graph = AgentmStore(MemoryBackend())
    long = "x" * 300  # no file system has such a name: it is read from the item
    for namespace in (("users", "Ana", "prefs"), ("users", "Bo", "prefs"), ("teams", "one"), (long,)):
        graph.put(namespace, "k", {"a": 1})
    users = [("users", "Ana", "prefs"), ("users", "Bo", "prefs")]
    assert graph.list_namespaces() == [("teams", "one"), *users, (long,)]
    assert graph.list_namespaces(prefix=("users",)) == users
    assert graph.list_namespaces(suffix=("prefs",), prefix=("*", "Bo")) == [("users", "Bo", "prefs")]
    assert graph.list_namespaces(max_depth=1) == [("teams",), ("users",), (long,)]
    assert graph.list_namespaces(limit=1, offset=1) == users[:1]


def test_what_is_asked_in_a_batch_is_answered_as_it_was_before_the_batch() -> None:
    from langgraph.store.base import GetOp, PutOp

    from agentm_mcp.adapters.langgraph_store import AgentmStore

    graph, put = AgentmStore(MemoryBackend()), (PutOp(("n",), "k", {"a": 1}), PutOp(("n",), "k", {"a": 2}))
    assert graph.batch([*put, GetOp(("n",), "k")]) == [None, None, None]
    item = graph.get(("n",), "k")
    assert item is not None
    assert item.value == {"a": 2}, "of two that are put the last counts"
    graph.delete(("n",), "k")
    graph.delete(("n",), "k")
    assert graph.get(("n",), "k") is None
    with pytest.raises(TypeError, match="no operation"):
        graph.batch(["nothing"])  # type: ignore[list-item]


@pytest.mark.parametrize("is_async", [False, True])
def test_what_means_the_same_comes_first_and_what_is_not_indexed_last(is_async: bool) -> None:
    from agentm_mcp.adapters.langgraph_store import AgentmStore

    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, 0.0] if "drink" in text or "tea" in text else [0.0, 1.0] for text in texts]

    graph = AgentmStore(MemoryBackend(), index={"dims": 2, "embed": embed, "fields": ["text"]})
    values = {"tea": {"text": "green tea", "year": 1}, "car": {"text": "a car", "year": 2}}

    async def work() -> list[str]:
        for key, value in values.items():
            await graph.aput(("n",), key, value)
        await graph.aput(("n",), "tea, unindexed", {"text": "black tea", "year": 3}, index=False)
        await graph.aput(("n",), "by another field", {"text": "tea", "else": "a drink", "year": 4}, index=["else"])
        return [item.key for item in await graph.asearch(("n",), query="a drink")]

    def work_at_once() -> list[str]:
        for key, value in values.items():
            graph.put(("n",), key, value)
        graph.put(("n",), "tea, unindexed", {"text": "black tea", "year": 3}, index=False)
        graph.put(("n",), "by another field", {"text": "tea", "else": "a drink", "year": 4}, index=["else"])
        return [item.key for item in graph.search(("n",), query="a drink")]

    found = asyncio.run(work()) if is_async else work_at_once()
    assert (set(found[:2]), found[2:]) == ({"tea", "by another field"}, ["car", "tea, unindexed"])
    assert asked == ["green tea", "a car", "a drink", "a drink"]
    assert [item.key for item in graph.search(("n",), filter={"year": {"$gt": 2}}, limit=1)] == ["by another field"]
    assert [item.key for item in graph.search(("n",), offset=3)] == ["tea"], "the newest first"


def test_many_writers_of_one_session_lose_nothing(store: StorageBackend) -> None:
    from agentm_mcp.adapters.openai_session import AgentmSession

    async def add(number: int) -> None:
        session = AgentmSession("shared", store)
        await session.add_items([{"role": "user", "content": f"{number}-{part}"} for part in range(2)])

    async def all_of_them() -> None:
        await asyncio.gather(*map(add, range(20)))
        said = [item["content"] for item in await AgentmSession("shared", store).get_items()]
        assert sorted(said) == sorted(f"{number}-{part}" for number in range(20) for part in range(2))
        assert all(second == f"{first[:-1]}1" for first, second in zip(said[::2], said[1::2], strict=True))
        taken = await asyncio.gather(*(AgentmSession("shared", store).pop_item() for _ in range(40)))
        assert sorted(item["content"] for item in taken if item) == sorted(said)
        assert await AgentmSession("shared", store).pop_item() is None

    asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("module", "framework"),
    [
        ("anthropic_memory", "anthropic"),
        ("fsspec_store", "fsspec"),
        ("langgraph_store", "langgraph"),
        ("openai_session", "agents"),
        ("pydantic_workspace", "pydantic_ai"),
    ],
)
def test_an_adapter_imports_its_own_framework_and_no_other(module: str, framework: str) -> None:
    code = (
        f"import sys, agentm_mcp.adapters.{module}\n"
        "print(*{'anthropic', 'fsspec', 'langgraph', 'agents', 'pydantic_ai'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [framework]


def test_the_package_itself_needs_no_framework() -> None:
    from importlib.metadata import requires

    needed = requires("agentm-mcp") or []
    assert [each.partition("<")[0] for each in needed if "extra ==" not in each] == ["agentm-kernel"]
    code = "import sys, agentm_mcp.adapters, agentm_mcp.server\nprint(*sys.modules)\n"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"anthropic", "fsspec", "langgraph", "agents", "pydantic_ai", "mcp"} & set(loaded)
