"""What earlier versions left in somebody's home, as text that any home can be filled with.

`python -m tests.packaging.left_behind AGENTM NAME` lets the installed command AGENTM leave its data and writes them
to `left_behind/NAME.json`. `make wheels` does the same with wheels of 0.1, in minutes; a test takes this instead.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.packaging.installing import User, leave_data

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "left_behind"
HOME, LAUNCHER = "@HOME@", "@AGENTM@"
_RECEIPTS = "/agentm/connections/"
_NOT_LEFT = ("widgets/.git/", ".cache/")


def pack(user: User) -> dict[str, list[str]]:
    """Each file of the home: its lines, or its bytes as `base64:…` where it is no text."""
    packed = {}
    for name, data in user.files().items():
        if name.startswith(_NOT_LEFT) and not name.endswith("agentm-checkout"):
            continue
        try:
            text = data.decode().replace(user.agentm, LAUNCHER).replace(str(user.home), HOME)
            packed[name] = text.splitlines(keepends=True)
        except UnicodeDecodeError:
            packed[name] = ["base64:" + base64.b64encode(data).decode()]
    return packed


def unpack(name: str, user: User) -> None:
    """Fill the home with what the version of that name left."""
    found: Mapping[str, list[str]] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for path, lines in found.items():
        text = "".join(lines)
        file = user.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("base64:"):
            file.write_bytes(base64.b64decode(text.removeprefix("base64:")))
        else:
            text = text.replace(LAUNCHER, user.agentm).replace(HOME, str(user.home))
            if _RECEIPTS in path and path.endswith(".json"):  # named after the path of the file that it is about
                about = hashlib.sha256(json.loads(text)["path"].encode()).hexdigest()[:16]
                file = file.with_name(f"{file.name.rpartition('-')[0]}-{about}.json")
            file.write_bytes(text.encode())


def main() -> None:
    agentm, name = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="agentm-left-") as folder:
        user = User(Path(folder))
        user.agentm = agentm
        if name != "0.1":  # which had no hosts
            user.run("agentm", "connect", "claude-code")
        leave_data(user)
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{name}.json").write_text(json.dumps(pack(user), indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
