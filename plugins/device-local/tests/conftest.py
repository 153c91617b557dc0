"""A folder that people edit, and processes of agentm on it."""

from __future__ import annotations

import pytest

from agentm_device_local.local_fs import LocalFolder
from agentm_kernel.plugin import Device, Opening, ProviderContext, SyncRules


class Desk:
    """A folder that people edit, and as many processes of agentm as a test opens on it."""

    def __init__(self, home):
        self.folder, self.state = home / "notes", home / "state"
        self.folder.mkdir()

    def context(self, policy="abort", *, read_only=False, excluded=()):
        opening = Opening(read_only=read_only, state_dir=str(self.state))
        return ProviderContext(
            Device({}), opening, "STORAGE.md", SyncRules("watch", policy), lambda key: key.startswith(tuple(excluded))
        )

    def process(self, policy="abort", **options):
        return LocalFolder(str(self.folder), self.context(policy, **options))

    def person_writes(self, text, name="plan.md"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def text(self, name="plan.md"):
        return (self.folder / name).read_text()

    def names(self):
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)
