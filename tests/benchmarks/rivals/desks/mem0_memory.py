"""`mem0_memory.py FOLDER URL`: mem0 with a vector store on this disk; the vectors come from a stand-in at URL."""

from __future__ import annotations

import sys

from desk import serve
from mem0 import Memory

folder, url = sys.argv[1:]
_MODEL = {"api_key": "none", "openai_base_url": f"{url}/v1"}
memory = Memory.from_config(
    {
        "embedder": {"provider": "openai", "config": {**_MODEL, "embedding_dims": 4}},
        "llm": {"provider": "openai", "config": _MODEL},
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": f"{folder}/qdrant", "on_disk": True, "embedding_model_dims": 4},
        },
        "history_db_path": f"{folder}/history.db",
    }
)


def add(line: str) -> None:
    if not memory.add(line, user_id="ana", infer=False)["results"]:
        raise RuntimeError("nothing was added")


def read() -> str:
    found = memory.get_all(filters={"user_id": "ana"}, top_k=100_000)
    return "\n".join(each["memory"] for each in found["results"])


serve(prepare=add, add=add, read=read)
