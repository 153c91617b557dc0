"""LangGraph's `BaseStore` on an agentm store: the long-term memory of a graph, one readable JSON file an item.

    from agentm_mcp.adapters.langgraph_store import AgentmStore

    graph = builder.compile(store=AgentmStore())

`put` has no condition and means "this is the value now": of two that happen at once the later one stays, whole, and
nothing else is touched; each is one conditional write, so that `created_at` is kept. What one `batch` asks is
answered from before it, and it is not one transaction. Items do not expire. Values that seem to hold a secret are
refused.

`search` with a `query` ranks by meaning where `index` names an embedding (the vectors lie in the items, so that they
never disagree with them), and by words where it does not. Items that do not match follow without a score.
"""

from __future__ import annotations

import json
from asyncio import to_thread
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    PutOp,
    SearchItem,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from agentm_kernel.plugin import InvalidContentError, Locator, NotFoundError, refuse_secrets
from agentm_mcp.adapters.names import HASHED, name_of, segment_of
from agentm_mcp.adapters.ranking import by_meaning, by_words, packed, passes, unpacked
from agentm_mcp.adapters.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from langgraph.store.base import IndexConfig, MatchCondition, Op, Result

    from agentm_kernel.plugin import StorageBackend

    Vectors = Mapping[str, list[float]]

_SUFFIX = ".json"


class AgentmStore(BaseStore):
    """Items below `folder` of a store: this device's, the configured one of that name, or one that is given."""

    def __init__(
        self,
        store: StorageBackend | str | None = None,
        *,
        folder: str = "langgraph",
        index: IndexConfig | None = None,
    ) -> None:
        self._tree = Tree(store, folder)
        self.index_config = index
        self.embeddings = ensure_embeddings(index["embed"]) if index else None
        self._fields = [(path, _tokens(path)) for path in (index or {}).get("fields") or ["$"]]
        self._known: dict[str, tuple[str, dict[str, Any]]] = {}
        """Key -> version and content of the file, so that a search reads only what has changed."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = _checked(ops)
        texts, queries = self._to_embed(ops)
        vectors: dict[str, list[float]] = {}
        if self.embeddings is not None:
            if texts:
                vectors.update(zip(texts, self.embeddings.embed_documents(texts), strict=True))
            vectors.update((f"?{query}", self.embeddings.embed_query(query)) for query in queries)
        return self._answers(ops, vectors)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        ops = _checked(ops)
        texts, queries = self._to_embed(ops)
        vectors: dict[str, list[float]] = {}
        if self.embeddings is not None:
            if texts:
                vectors.update(zip(texts, await self.embeddings.aembed_documents(texts), strict=True))
            for query in queries:
                vectors[f"?{query}"] = await self.embeddings.aembed_query(query)
        return await to_thread(self._answers, ops, vectors)

    def _answers(self, ops: list[Op], vectors: Vectors) -> list[Result]:
        """What is asked is answered first, then what is put is written; of two puts to one key the last counts."""
        answers: list[Result] = []
        puts: dict[str, PutOp] = {}
        for op in ops:
            if isinstance(op, GetOp):
                answers.append(self._get(op))
            elif isinstance(op, SearchOp):
                answers.append(self._search(op, vectors))
            elif isinstance(op, ListNamespacesOp):
                answers.append(self._namespaces(op))
            elif isinstance(op, PutOp):
                puts[_path(op.namespace, op.key)] = op
                answers.append(None)
            else:
                raise TypeError(f"{op!r} is no operation of a store")
        for path, op in puts.items():
            self._put(path, op, vectors)
        return answers

    # -- one item ---------------------------------------------------------------------------------------------

    def _get(self, op: GetOp) -> Item | None:
        path = _path(op.namespace, op.key)
        try:
            return Item(**_item(_parsed(path, self._tree.read(path))))
        except NotFoundError:
            return None

    def _put(self, path: str, op: PutOp, vectors: Vectors) -> None:
        if op.value is None:
            try:
                self._tree.delete(path)
            except NotFoundError:
                pass
            return
        value = dict(op.value)
        refuse_secrets(f"the item '{op.key}'", json.dumps(value, ensure_ascii=False), hint="leave it out")
        now = datetime.now(UTC).isoformat()
        written: dict[str, Any] = {"namespace": list(op.namespace), "key": op.key, "value": value}
        meaning = [packed(vectors[text]) for text in self._texts(op) if text in vectors]

        def changed(current: str | None) -> str:
            created = now if current is None else _parsed(path, current)["created_at"]
            item = {**written, "created_at": created, "updated_at": now}
            if meaning:
                item["vectors"] = meaning
            return json.dumps(item, indent=1, ensure_ascii=False) + "\n"

        self._tree.update(path, changed)

    # -- many -------------------------------------------------------------------------------------------------

    def _search(self, op: SearchOp, vectors: Vectors) -> list[SearchItem]:
        found = [item for item in self._items(op.namespace_prefix) if passes(item["value"], op.filter)]
        found.sort(key=lambda item: item["updated_at"], reverse=True)
        scores: list[float | None] = [None] * len(found)
        if op.query and f"?{op.query}" in vectors:
            wanted = vectors[f"?{op.query}"]
            scores = [by_meaning(wanted, map(unpacked, item.get("vectors", ()))) for item in found]
        elif op.query:
            scores = by_words(op.query, [json.dumps(item["value"], ensure_ascii=False) for item in found])
        ranked = sorted(zip(scores, found, strict=True), key=lambda pair: (pair[0] is None, -(pair[0] or 0.0)))
        return [SearchItem(**_item(item), score=score) for score, item in ranked[op.offset : op.offset + op.limit]]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {self._namespace_of(path) for path, _, _ in self._files("")}
        matching = {
            namespace[: op.max_depth]
            for namespace in found
            if all(_matches(condition, namespace) for condition in op.match_conditions or ())
        }
        return sorted(matching)[op.offset : op.offset + op.limit]

    def _namespace_of(self, path: str) -> tuple[str, ...]:
        *segments, _ = path.split("/")
        if any(segment.startswith(HASHED) for segment in segments):
            return tuple(_parsed(path, self._tree.read(path))["namespace"])
        return tuple(map(name_of, segments))

    def _items(self, prefix: Iterable[str]) -> Iterator[dict[str, Any]]:
        for path, key, version in self._files("/".join(map(segment_of, prefix))):
            known = self._known.get(key)
            if known is None or known[0] != version:
                try:
                    known = version, _parsed(path, self._tree.store.read(Locator(key)))
                except NotFoundError:
                    continue  # it went just now
                self._known[key] = known
            yield known[1]

    def _files(self, folder: str) -> Iterator[tuple[str, str, str]]:
        """Path, key and version of every item below a folder."""
        for info in self._tree.files(folder):
            if info.locator.key.endswith(_SUFFIX):
                yield self._tree.path_of(info.locator), info.locator.key, info.version

    # -- meaning ----------------------------------------------------------------------------------------------

    def _to_embed(self, ops: list[Op]) -> tuple[list[str], list[str]]:
        """The texts of what is put, and the queries of what is searched; each once."""
        texts = dict.fromkeys(text for op in ops if isinstance(op, PutOp) for text in self._texts(op))
        queries = dict.fromkeys(op.query for op in ops if isinstance(op, SearchOp) and op.query)
        return list(texts), list(queries)

    def _texts(self, op: PutOp) -> list[str]:
        if self.embeddings is None or op.value is None or op.index is False:
            return []
        fields = self._fields if op.index is None else [(path, _tokens(path)) for path in op.index]
        return [text for _, tokens in fields for text in get_text_at_path(op.value, tokens)]


def _checked(ops: Iterable[Op]) -> list[Op]:
    given = list(ops)
    for op in given:
        validate_op_namespace(op)
    return given


def _tokens(path: str) -> Any:
    return path if path == "$" else tokenize_path(path)


def _path(namespace: Iterable[str], key: str) -> str:
    return "/".join((*map(segment_of, namespace), segment_of(key) + _SUFFIX))


def _parsed(path: str, text: str) -> dict[str, Any]:
    try:
        item = json.loads(text)
        if {"namespace", "key", "value", "created_at", "updated_at"} <= item.keys():
            return dict(item)
    except (ValueError, AttributeError):
        pass
    raise InvalidContentError(f"'{path}' is not an item of a LangGraph store", hint="repair it or move it away")


def _item(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "namespace": tuple(stored["namespace"]),
        "key": stored["key"],
        "value": json.loads(json.dumps(stored["value"])),  # a caller may change what it gets
        "created_at": datetime.fromisoformat(stored["created_at"]),
        "updated_at": datetime.fromisoformat(stored["updated_at"]),
    }


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return len(namespace) >= len(path) and all(want in ("*", have) for want, have in zip(path, part, strict=True))
