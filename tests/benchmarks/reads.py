"""Reading a note through the seam against opening the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_device_local import DeviceLocalBackend
from tests.benchmarks.bare import BareFolder
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table
from tests.benchmarks.writes import DEEP, FLAT, NOTE

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

FOLDER_SIZE = 200


def run(setting: Setting) -> Table:
    store = DeviceLocalBackend(setting.scratch / "store")
    bare = BareFolder(str(setting.scratch / "bare"))
    bare.write("decision.md", NOTE.encode())
    store.write(FLAT, NOTE)
    store.write(DEEP, NOTE)
    folder = store.mkdir(store.resolve("folder"))
    host_folder = setting.scratch / "store" / "folder"
    for number in range(FOLDER_SIZE):
        (host_folder / f"note-{number}.md").write_text(NOTE)

    against = "bare open and read"
    work = {
        against: lambda: bare.read("decision.md"),
        "read at the root": lambda: store.read(FLAT),
        "read three folders down": lambda: store.read(DEEP),
        "info": lambda: store.info(FLAT),
        f"list a folder of {FOLDER_SIZE}": lambda: store.list(folder),
    }
    samples = interleave(work, rounds=setting.rounds(100, 20), batch=20)
    bare.close()
    rows: list[Row] = [
        {
            "work": name,
            "rate (1/s)": samples.per_second(name),
            "median (µs)": samples.seconds(name) * 1e6,
            "against bare (×)": samples.speed(name, against),
        }
        for name in work
    ]
    note = "2 kB notes, cached. A read walks from the open root and follows no link; a bare open trusts the path."
    return Table("reads", "Reads", note, rows)
