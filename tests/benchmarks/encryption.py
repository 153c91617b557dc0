"""What encryption costs: a note written and read against the plain store, and a session with sealed notes."""

from __future__ import annotations

import subprocess
from functools import partial
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import pyrage

from agentm_device_local import DeviceLocalBackend
from agentm_encryption.envelope import note_in
from agentm_encryption.store import EncryptedStore
from agentm_kernel import Locator
from agentm_kernel.plugin import Sealed
from tests.benchmarks.installed import Installed
from tests.benchmarks.measure import interleave
from tests.benchmarks.recall_start import BARE, fill
from tests.benchmarks.tables import Table
from tests.benchmarks.writes import NOTE
from tests.faults.stores import RECOVERY, encrypt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_encryption.epochs import Keys
    from agentm_kernel.plugin import StorageBackend
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

NOTES = 1000
COMMANDS = ("hook session-start", "recall-here --query retries", "search retries")
GOALS = {"overwrite": "≤ 1.5 ×", "read": "≤ 3 ×", COMMANDS[0]: "≤ 5 ×"}
VERBS = {
    "overwrite": "overwrite 2 kB, sealed",
    "read": "read 2 kB, sealed, for the first time",
    "floor": "– the file, and age around it, nothing else",
    "age": "– age alone, for these 2 kB in its armor",
    "empty": "– age alone, for an empty text without armor",
    "inside": "– the fields and the code inside of it",
    "seen": "– its revision among those that were seen",
    "read again": "read 2 kB, sealed, again by the same process",
}
PARTS = ("floor", "age", "empty", "inside", "seen")
"""Of a first read; what they cost is told as a multiple of a plain read too."""
_AT = Locator("projects/agentm/decisions/decision.md")


def run(setting: Setting) -> Table:
    rows = [*_verbs(setting), *_processes(setting)]
    note = (
        "2 kB notes in the default store, sealed and plain in turn; below a first read its parts, in memory but for "
        "the file. Commands as whole processes among 100 distributions, compiled, with "
        f"{NOTES:,} notes and an index that is up to date."
    )
    return Table("encryption", "Encryption", note, rows)


def _verbs(setting: Setting) -> list[Row]:
    plain: StorageBackend = DeviceLocalBackend(setting.scratch / "plain")
    layered = encrypt(DeviceLocalBackend(setting.scratch / "sealed"), str(setting.scratch / "state"))
    sealed = layered.facet(Sealed)
    assert isinstance(sealed, EncryptedStore)  # without the layer that only tests want
    turn = 0

    def overwrite(store: StorageBackend) -> None:
        nonlocal turn
        turn += 1
        store.write(_AT, f"{turn}\n{NOTE}")

    others = [Locator(f"projects/agentm/decisions/other-{number}.md") for number in range(200)]
    work: dict[str, Callable[[], object]] = {}
    for name, store in (("plain", plain), ("sealed", sealed)):
        for locator in (_AT, *others):
            store.write(locator, NOTE)
        work[f"{name} overwrite"] = partial(overwrite, store)
        work[f"{name} read"] = partial(_read_next, store, cycle(others))  # more than a process remembers
        work[f"{name} read again"] = partial(store.read, _AT)
    work |= _parts(sealed, cycle(others))
    samples = interleave(work, rounds=setting.rounds(120, 12), batch=5)
    return [
        {
            "work": VERBS[verb],
            "time (ms)": samples.seconds(f"sealed {verb}") * 1e3,
            "against": "the plain store",
            "ratio (×)": samples.cost(f"sealed {verb}", f"plain {'read' if verb in PARTS else verb}"),
            "goal": GOALS.get(verb, ""),
        }
        for verb in VERBS
    ]


def _parts(store: EncryptedStore, locators: Iterator[Locator]) -> dict[str, Callable[[], object]]:
    """What a first read does, one thing at a time. The floor is the least that one with age can cost."""
    keys = store.keys
    stored = store.as_stored.read(_AT).encode()
    empty = pyrage.encrypt(b"", [keys.current.recipient])
    payload = _decrypted(stored, keys)
    return {
        "sealed floor": lambda: _decrypted(store.as_stored.read(next(locators)).encode(), keys),
        "sealed age": partial(_decrypted, stored, keys),
        "sealed empty": partial(_decrypted, empty, keys),
        "sealed inside": partial(note_in, keys, payload, _AT.key),
        "sealed seen": partial(store.seen.record, _AT.key, 1),
    }


def _decrypted(sealed: bytes, keys: Keys) -> bytes:
    opened = BytesIO()
    pyrage.decrypt_io(BytesIO(sealed), opened, keys.identities)
    return opened.getvalue()


def _read_next(store: StorageBackend, locators: Iterator[Locator]) -> None:
    store.read(next(locators))


def _processes(setting: Setting) -> list[Row]:
    installed = Installed(setting.scratch, ("agentm-device-local", "agentm-recall", "agentm-encryption"))
    installed.fill(100)
    environ = installed.home("sealed-notes", "state write PLAN.md")
    fill(Path(environ["HOME"]) / ".agentm" / "memory", installed.project.name, NOTES)
    for command in (f"encryption init --recovery {RECOVERY} --yes", "reindex"):
        subprocess.run(
            [installed.agentm, *command.split()],
            cwd=installed.project,
            env=environ,
            check=True,
            capture_output=True,
        )
    work = {command: installed.starting(command, environ) for command in (BARE, *COMMANDS)}
    samples = interleave(work, rounds=setting.rounds(40, 5), batch=1)
    return [
        {
            "work": f"agentm {command}",
            "time (ms)": samples.seconds(command) * 1e3,
            "against": BARE,
            "ratio (×)": samples.cost(command, BARE),
            "goal": GOALS.get(command, ""),
        }
        for command in COMMANDS
    ]
