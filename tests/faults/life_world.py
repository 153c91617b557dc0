"""The world of a life: two devices with checkouts, the stores that they use, and what stands in every file."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from unittest import mock

from memory_bucket import KEYS, Objects

from agentm_bucket import events as bucket_events
from agentm_encryption import events as encryption_events
from agentm_encryption.envelope import is_sealed
from agentm_kernel.cli import exit_code_of, hook
from agentm_kernel.cli.app import run
from agentm_kernel.plugin import Device, HookContext, ToolCall
from agentm_recall import tool_writing
from agentm_recall.commands import inbox
from tests.faults.life_members import Recovery
from tests.faults.life_texts import is_text, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.faults.life_texts import Raw

DEVICES = ("ana", "ben")
REMOTES = {
    "widgets": "git@example.com:acme/widgets.git",
    "other/widgets": "git@example.com:ben/widgets.git",
    "plain": "",
}
"""Three repositories; two have one name, and one has no remote, so that it is another project on each device."""
APPROVED = "open-question"
"""The kind of notes that wait for the operator when agents save them."""
_HARNESS = ".harness"


@dataclass(frozen=True)
class Answer:
    """What a command said, and what it changed."""

    code: int
    out: str
    err: str
    before: Raw
    after: Raw

    @property
    def changed(self) -> set[tuple[str, str]]:
        """Which files are new, gone, or say something else. One more kept version may be anywhere."""
        return {
            (place, key)
            for place in self.before.keys() | self.after.keys()
            for key in self.before.get(place, {}).keys() | self.after.get(place, {}).keys()
            if self.before.get(place, {}).get(key) != self.after.get(place, {}).get(key)
            and (not key.startswith("_meta/conflicts/") or key in self.before[place])
        }


@dataclass
class Checkout:
    """A work tree on a device, which can be moved, copied, and get another remote."""

    device: str
    path: str
    remote: str


@dataclass
class World:
    """Two devices in a folder, as one of the set-ups has them."""

    folder: str
    set_up: str
    default: dict[str, str] = field(default_factory=dict)
    """By device: the place of its default store."""
    checkouts: dict[tuple[str, str], Checkout] = field(default_factory=dict)
    objects: Objects = field(default_factory=Objects)
    """Those of the bucket."""
    recovery: Recovery = field(default_factory=Recovery)
    is_sealed: bool = False
    """Whether the store that both devices share is encrypted now."""
    keeper: str = ""
    """Which device has made it plain, and kept its keys."""

    def __post_init__(self) -> None:
        self.is_sealed = "encrypted" in self.set_up
        for device in DEVICES:
            os.mkdir(os.path.join(self.folder, device))
            for name, remote in REMOTES.items():
                self.checkouts[device, name] = checkout = Checkout(device, self.path(device, "code", name), remote)
                os.makedirs(os.path.join(checkout.path, ".git"))
                with open(os.path.join(checkout.path, ".git", "HEAD"), "w", encoding="ascii") as file:
                    file.write("ref: refs/heads/main\n")
                self.set_remote(device, name, remote)
            self.default[device] = device

    # -- places ---------------------------------------------------------------------------------------------------

    def path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def folder_of(self, place: str) -> str:
        """Places are `ana` (the store of that device alone), `ana/team`, `vault`, and `ana:widgets` (a checkout)."""
        if ":" in place:
            device, _, name = place.partition(":")
            return os.path.join(self.checkouts[device, name].path, _HARNESS)
        return self.path(place, ".agentm", "memory") if place in DEVICES else self.path(place)

    def place_at(self, path: str) -> str:
        return next((place for place in self.stores if self.folder_of(place) == path), "bucket")

    @property
    def stores(self) -> tuple[str, ...]:
        return (*DEVICES, *(f"{device}/team" for device in DEVICES), "vault", "bucket")

    def team(self, device: str) -> str:
        """The place of the store of a device that is not its own alone."""
        kind = self.set_up.rpartition(" ")[2]
        return {"git": f"{device}/team", "bucket": "bucket"}.get(kind, "vault")

    @property
    def of_team(self) -> tuple[str, ...]:
        """What names that store in a command."""
        return ("--store", "team") if "further" in self.set_up else ()

    def keeps_state(self, place: str) -> bool:
        return place not in DEVICES

    def raw(self) -> Raw:
        """Every note, plan and kept version, as other programs see them."""
        places = (*self.stores, *(f"{device}:{name}" for device, name in self.checkouts))
        return {place: {key: self.recovery.text(text) for key, text in self._stored(place)} for place in places}

    def text(self, place: str, key: str) -> str:
        """What any file of a store says; nothing if there is none."""
        if place == "bucket":
            return self.objects[key][1].decode() if key in self.objects else ""
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self.folder_of(place), key)) as file:
            return self.recovery.text(file.read())
        return ""

    def in_plain(self, place: str) -> list[str]:
        """The notes and plans that can be read without a key."""
        return [key for key, text in self._stored(place) if not is_sealed(text)]

    def _stored(self, place: str) -> Iterator[tuple[str, str]]:
        if place == "bucket":
            yield from ((key, data.decode()) for key, (_, data) in self.objects.items() if is_text(key))
            return
        folder = self.folder_of(place)
        self.recovery.learn(folder)
        yield from texts(folder)

    # -- commands -------------------------------------------------------------------------------------------------

    def environ(self, device: str) -> dict[str, str]:
        return {
            "HOME": self.path(device),
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": device,
            **KEYS,
        }

    def agentm(
        self, device: str, checkout: str, *words: str, text: str = "", more: Mapping[str, str] | None = None
    ) -> Answer:
        """The command in this process, as a person gives it in the checkout; a question is answered with yes."""
        with mock.patch.object(inbox, "ask_operator"):
            return self._do(device, checkout, lambda: run(Device.now(), list(words)), text, more)

    def done(self, device: str, *words: str) -> str:
        """The same where it has to succeed."""
        answer = self.agentm(device, "plain", *words)
        assert answer.code == 0, (words, answer.err)
        return answer.out

    def synced(self) -> None:
        """What each device has reaches the other, where that takes a command."""
        for device in (*DEVICES, *DEVICES) if self.set_up.endswith("git") else ():
            self.done(device, *self.of_team, "git", "sync")

    def propose(self, device: str, checkout: str, title: str, body: str) -> Answer:
        """What an agent there wants to remember, by its tool."""

        def call_tool() -> int:
            roots = (self.checkouts[device, checkout].path,)
            tool_writing.save(ToolCall(Device.now(), roots, "codex", lambda *_: None), title, body, APPROVED)
            return 0

        return self._do(device, checkout, call_tool)

    def _do(
        self,
        device: str,
        checkout: str,
        work: Callable[[], int],
        text: str = "",
        more: Mapping[str, str] | None = None,
    ) -> Answer:
        given, out, err = (
            io.TextIOWrapper(io.BytesIO(start), encoding="utf-8") for start in (text.encode(), b"", b"")
        )
        before = self.raw()
        with contextlib.ExitStack() as around:
            around.enter_context(contextlib.chdir(self.checkouts[device, checkout].path))
            around.enter_context(mock.patch.dict(os.environ, {**self.environ(device), **(more or {})}, clear=True))
            around.enter_context(mock.patch.object(sys, "stdin", given))
            around.enter_context(mock.patch("agentm_bucket.client.Client", self.objects.client))
            around.enter_context(contextlib.redirect_stdout(out))
            around.enter_context(contextlib.redirect_stderr(err))
            try:
                code = exit_code_of(work)
            except SystemExit as ended:
                code = int(ended.code or 0)
        return Answer(code, _written(out), _written(err), before, self.raw())

    def session_start(self, device: str, checkout: str) -> Answer:
        """What an agent that begins there is told. Its time is not limited: it would end this process."""
        event = {"cwd": self.checkouts[device, checkout].path}

        def answer() -> int:
            hook.answer(Device.now(), "session-start", None)
            return 0

        with (
            tempfile.TemporaryFile(dir=self.folder) as said,
            mock.patch.object(hook, "in_a_thread"),
            mock.patch.object(hook, "read_event", return_value=event),
            mock.patch.object(hook, "divert_stdout", side_effect=lambda: os.dup(said.fileno())),
        ):
            done = self._do(device, checkout, answer)
            said.seek(0)
            return replace(done, out=said.read().decode())

    def event(self, device: str, checkout: str, name: str) -> Answer:
        """What plugins with a copy of a shared store on the device do at an event of an agent there."""
        root = self.checkouts[device, checkout].path

        def tell() -> int:
            own = Device.now()
            for each in (own, own.of_store(own.bound_store(root))):
                for plugin in (encryption_events, bucket_events):
                    plugin.agentm_event(name, HookContext(each, root))
            return 0

        return self._do(device, checkout, tell)

    def has_copy(self, place: str) -> bool:
        """Whether hooks of a device read a copy of the store that they have there."""
        return place == "bucket" or (self.is_sealed and place in ("vault", *(f"{device}/team" for device in DEVICES)))

    # -- what happens to checkouts ----------------------------------------------------------------------------------

    def set_remote(self, device: str, name: str, remote: str) -> None:
        checkout = self.checkouts[device, name]
        checkout.remote = remote
        with open(os.path.join(checkout.path, ".git", "config"), "w", encoding="ascii") as file:
            file.write(f'[remote "origin"]\n\turl = {remote}\n' if remote else "")

    def copy(self, device: str, name: str, new: str) -> None:
        there = self.checkouts[device, name]
        copied = Checkout(device, self.path(device, "code", new), there.remote)
        shutil.copytree(there.path, copied.path)
        self.checkouts[device, new] = copied

    def move(self, device: str, name: str, folder: str) -> None:
        checkout = self.checkouts[device, name]
        moved = self.path(device, "code", folder)
        os.rename(checkout.path, moved)
        checkout.path = moved


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined,no-any-return]
