"""R14: images that are cut or have a bit flipped, guarded notes that are changed, stores that go and come back.

Never a wrong note, never a changed store, never a change under guard that goes unseen. The images are those of the
checkpoint plugin; the store under test is whatever the campaign was given.
"""

from __future__ import annotations

import importlib.util
import os
import random
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from agentm_checkpoint import (
    car as car_module,
    guard as guard_module,
    image as image_module,
    index as index_module,
    survey_cache as survey_cache_module,
)
from agentm_checkpoint.capture import take
from agentm_checkpoint.car import frames, read_varint
from agentm_checkpoint.cids import matches
from agentm_checkpoint.guard import IntegrityGuard
from agentm_checkpoint.image import Image
from agentm_checkpoint.index import Index
from agentm_checkpoint.ipfs import Daemon
from agentm_checkpoint.reading import reachable, read_note
from agentm_checkpoint.remote import pull, push
from agentm_checkpoint.restoring import apply_restore, check_contents, plan_restore
from agentm_checkpoint.verifying import verified_leaves, verify_image
from agentm_kernel import AgentmError, Locator
from agentm_kernel.plugin import Device, IntegrityError, Opening
from tests.faults.harness import Outcome, scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_kernel.plugin import StorageBackend
    from tests.faults.harness import Intensity

    Notes = dict[str, bytes]

STORE_ID = "00000000-1111-2222-3333-444444444444"
STAMP = f'{{"id": "{STORE_ID}", "layout": 1}}\n'
HARD = {
    "crlf.md": "one\r\ntwo\r\n",
    "bom.md": "\ufeff# Title\n",
    "empty.md": "",
    "bare-cr.md": "one\rtwo",
    "ünïcode/日本語 🧠.md": "\u2028ï\n",
    "/".join(f"d{level}" for level in range(80)) + "/deep.md": "deep\n",
    "long.md": "a long line of a long note\n" * 60_000,
}


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("cuts, flips and changes of images and guarded notes")
    trials = intensity.pick(short=40, full=1000)
    _damage(intensity, trials, outcome)
    _tamper(intensity, trials, outcome)
    _go_and_come_back(intensity, intensity.pick(short=60, full=10_000), outcome)
    if intensity.full:
        _over_a_daemon(intensity, 10_000, outcome)
    for name, (broken, work) in CONTROLS.items():
        found = Outcome(name)
        for trials in (8, 60):  # a few are enough for most
            with broken():
                work(intensity, trials, found)
            if found.violations:
                break
        outcome.control(name, found)
    return outcome


def _notes(count: int, generator: random.Random) -> dict[str, str]:
    notes = dict(HARD)
    for number in range(count - len(HARD)):
        lines = "".join(f"- {generator.random()}\n" for _ in range(generator.randint(0, 40)))
        notes[f"projects/p{number % 25}/decisions/note-{number:05}.md"] = f"# Note {number}\n\n{lines}"
    return notes


# ------------------------------------------------------------------------------------------------ damaged images


def _damage(intensity: Intensity, trials: int, outcome: Outcome) -> None:
    generator = intensity.random("images")
    with scratch() as folder, _believing_versions():
        store = intensity.store.open(os.path.join(folder, "store"))
        file = Path(folder) / "image.car"
        history, ends = _history(store, str(file), generator)
        good = file.read_bytes()
        newest = [*history.values()][-1]
        sound = Image(str(file), STORE_ID)
        needed = {shot.cid: {shot.cid, *reachable(shot.root.cid, sound.fetch)} for shot in sound.snapshots}
        head = read_varint(good, 0)
        assert head is not None
        blocks = [*frames(good, sum(head))]
        for number in range(trials):
            cut = generator.randrange(len(good))
            file.write_bytes(good[:cut])
            _check_cut(str(file), cut, history, ends, outcome)
            if intensity.full or number % 3 == 0:
                _check_next(store, str(file), cut, newest, outcome)
            place = generator.randrange(len(good))
            file.write_bytes(good[:place] + bytes([good[place] ^ 1 << generator.randrange(8)]) + good[place + 1 :])
            hit = next((cid for cid, _, end in blocks if sum(head) <= place < end), None)
            unhurt = {cid for cid, parts in needed.items() if hit not in parts}
            _check_flip(str(file), place, history, unhurt, outcome)
            outcome.count += 2


def _history(store: StorageBackend, path: str, generator: random.Random) -> tuple[dict[Cid, Notes], dict[Cid, int]]:
    """Five checkpoints: what each holds, and where in the file it is complete."""
    store.write(Locator("_meta/store.json"), STAMP)
    for key, text in HARD.items():
        store.write(Locator(key), text[:5000])
    history, ends = {}, {}
    for number in range(5):
        for _ in range(10):
            store.write(Locator(f"notes/{generator.randrange(25)}.md"), f"{generator.random()}\n" * 20)
        image = Image(path, STORE_ID)
        snapshot = take(store, image, author="a", reason=str(number)).snapshot
        history[snapshot.cid] = _held(image, snapshot)
        ends[snapshot.cid] = os.path.getsize(path)
    return history, ends


def _held(image: Image, snapshot: Snapshot) -> Notes:
    leaves = verified_leaves(image, snapshot)
    return {key: read_note(leaf, image.fetch) for key, leaf in leaves.items()}


def _usable(path: str) -> dict[Cid, Notes]:
    image = Image(path, STORE_ID)
    verification = verify_image(image)
    found = {}
    for snapshot in image.snapshots:
        try:
            found[snapshot.cid] = _held(image, snapshot)
        except IntegrityError:
            continue
    if found and verification.last_whole is None:
        raise AssertionError("the last whole checkpoint was not offered")
    return found


def _check_cut(path: str, cut: int, history: dict[Cid, Notes], ends: dict[Cid, int], outcome: Outcome) -> None:
    try:
        found = _usable(path)
    except AgentmError:
        found = {}
    except Exception as error:
        outcome.violation("untyped", f"cut at {cut}: {error!r}")
        return
    complete = {cid: notes for cid, notes in history.items() if ends[cid] <= cut}
    if any(history.get(cid) != notes for cid, notes in found.items()):
        outcome.violation("wrong", f"cut at {cut}: a note is not what it was")
    elif found != complete:
        outcome.violation("lost", f"cut at {cut}: {len(found)} of {len(complete)} complete checkpoints")


def _check_next(store: StorageBackend, path: str, cut: int, notes: Notes, outcome: Outcome) -> None:
    """The checkpoint that is taken after a cut is whole: it counts on nothing that the cut took or left."""
    try:
        image = Image(path, STORE_ID)
        snapshot = take(store, image, author="a", reason="next").snapshot
        if _held(Image(path, STORE_ID), snapshot) != notes:
            outcome.violation("wrong", f"cut at {cut}: the next checkpoint is not the store")
    except AgentmError as error:
        outcome.violation("incomplete", f"cut at {cut}: the next checkpoint is not whole: {error}")


@contextmanager
def _believing_versions() -> Iterator[None]:
    """Let versions be believed at once, as those of old notes are, so that checkpoints take over what they can."""
    with mock.patch.object(survey_cache_module, "SETTLED_AFTER", -3600.0):
        yield


def _check_flip(path: str, place: int, history: dict[Cid, Notes], unhurt: set[Cid], outcome: Outcome) -> None:
    """A flipped bit is noticed, costs the checkpoints that need its block, and no other."""
    try:
        found = _usable(path)
        noticed = not verify_image(Image(path, STORE_ID)).is_good
    except AgentmError as error:
        outcome.violation("lost", f"bit at {place}: nothing can be had: {error}")
        return
    except Exception as error:
        outcome.violation("untyped", f"bit at {place}: {error!r}")
        return
    if any(history.get(cid) != notes for cid, notes in found.items()):
        outcome.violation("wrong", f"bit at {place}: a note is not what it was")
    elif unhurt - found.keys():
        outcome.violation("lost", f"bit at {place}: {len(unhurt - found.keys())} checkpoints that do not need it")
    elif not noticed:
        outcome.violation("unseen", f"bit at {place}: nothing was noticed")


# ------------------------------------------------------------------------------------------------ guarded notes


def _tamper(intensity: Intensity, trials: int, outcome: Outcome) -> None:
    generator = intensity.random("tampering")
    with scratch() as folder:
        store = intensity.store.open(os.path.join(folder, "store"))
        store.write(Locator("_meta/store.json"), STAMP)
        skills = Path(folder) / "store" / "skills"
        around = Device({"HOME": folder}), Opening(state_dir=os.path.join(folder, "state"))
        for trial in range(trials):
            guard = IntegrityGuard(store, None, *around, tell=lambda *_: None)
            names = [f"{trial}-{letter}.md" for letter in "ab"]
            for name in names:
                text = "".join(generator.choice("abc# \n`") for _ in range(generator.randint(1, 400)))
                guard.write(Locator(f"skills/{name}"), f"{name}\n{text}")
                if guard.read(Locator(f"skills/{name}")) != f"{name}\n{text}":
                    outcome.violation("wrong", f"{name} is not what was written")
            how = generator.choice((_flip, _flip, _remove, _add, _swap))
            for name in how(skills, names, generator):
                _check_caught(guard, name, how.__name__, outcome)
            outcome.count += 1


def _check_caught(guard: IntegrityGuard, name: str, how: str, outcome: Outcome) -> None:
    try:
        guard.read(Locator(f"skills/{name}"))
    except (IntegrityError, ValueError):  # a flipped bit may leave bytes that are no text
        return
    except AgentmError as error:
        outcome.violation("unseen", f"{how} of {name}: {error!r}")
        return
    outcome.violation("unseen", f"{how} of {name} went unseen")


def _flip(skills: Path, names: list[str], generator: random.Random) -> list[str]:
    file = skills / names[0]
    status = file.stat()
    data = bytearray(file.read_bytes())
    data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    file.write_bytes(bytes(data))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    return names[:1]


def _remove(skills: Path, names: list[str], generator: random.Random) -> list[str]:
    (skills / names[0]).unlink()
    return names[:1]


def _add(skills: Path, names: list[str], generator: random.Random) -> list[str]:
    (skills / f"added-{names[0]}").write_text("# Do as I say\n")
    return [f"added-{names[0]}"]


def _swap(skills: Path, names: list[str], generator: random.Random) -> list[str]:
    one, other = (skills / name for name in names)
    one_data, other_data = one.read_bytes(), other.read_bytes()
    one.write_bytes(other_data)
    other.write_bytes(one_data)
    return names


# ------------------------------------------------------------------------------------------------ there and back


def _go_and_come_back(intensity: Intensity, count: int, outcome: Outcome) -> None:
    """A whole store, spoilt and restored, and then restored into an empty one: bit for bit."""
    generator = intensity.random("restore")
    notes = _notes(count, generator)
    with scratch() as folder:
        store = intensity.store.open(os.path.join(folder, "store"))
        store.write(Locator("_meta/store.json"), STAMP)
        for key, text in notes.items():
            store.write(Locator(key), text)
        image = Image(os.path.join(folder, "image.car"), STORE_ID)
        snapshot = take(store, image, author="a", reason="good").snapshot
        for key in generator.sample(sorted(notes), count // 10):
            store.write(Locator(key), "spoilt")
        store.write(Locator("extra.md"), "extra")
        empty = intensity.store.open(os.path.join(folder, "empty"))
        empty.write(Locator("_meta/store.json"), STAMP)
        for target in (store, empty):
            _restore(target, image, snapshot)
            held = {
                info.locator.key: target.read(info.locator)
                for info in target.walk(Locator())
                if not info.is_dir and info.locator.key != "_meta/store.json"
            }
            if held != notes:
                wrong = sum(held.get(key) != text for key, text in notes.items())
                outcome.violation("lost", f"{wrong} of {count} notes did not come back")
        outcome.count += 2


def _over_a_daemon(intensity: Intensity, count: int, outcome: Outcome) -> None:
    """The same over a real IPFS daemon, into an image that knows nothing: every block, bit for bit."""
    js_ipfs = _js_ipfs()
    try:
        js_ipfs.check_installed()
        daemon = js_ipfs.JsIpfs()
        daemon.start()
    except js_ipfs.Unavailable as reason:
        outcome.skips.append(f"the IPFS daemon: {reason}")
        return
    try:
        with scratch() as folder:
            store = intensity.store.open(os.path.join(folder, "store"))
            store.write(Locator("_meta/store.json"), STAMP)
            for key, text in _notes(count, intensity.random("ipfs")).items():
                store.write(Locator(key), text)
            image = Image(os.path.join(folder, "image.car"), STORE_ID)
            snapshot = take(store, image, author="a", reason="good").snapshot
            outcome.measured["blocks pushed"] = push(Daemon(daemon.api), image, snapshot)
            pulled, blocks = pull(Daemon(daemon.api), snapshot.cid)
            other = Image(os.path.join(folder, "other", "image.car"), STORE_ID)
            other.append(blocks, pulled)
            if pulled.block != snapshot.block or _held(other, pulled) != _held(image, snapshot):
                outcome.violation("wrong", "what came back from the daemon is not what was pushed")
            outcome.count += 1
    finally:
        daemon.stop()


def _js_ipfs() -> ModuleType:
    file = Path(__file__).parents[2] / "plugins" / "checkpoint" / "tests" / "js_ipfs.py"
    spec = importlib.util.spec_from_file_location("js_ipfs", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _restore(store: StorageBackend, image: Image, snapshot: Snapshot) -> None:
    wanted = verified_leaves(image, snapshot)
    now = verified_leaves(image, take(store, image, author="a", reason="before").snapshot)
    steps = plan_restore(store, wanted, now)
    check_contents(steps, image.fetch)
    apply_restore(store, steps, image.fetch)


# ------------------------------------------------------------------------------------------------ broken on purpose


@contextmanager
def _without_comparing() -> Iterator[None]:
    """An image that believes its blocks."""
    with (
        mock.patch.object(image_module, "matches", return_value=True),
        mock.patch.object(car_module, "matches", return_value=True),
    ):
        yield


@contextmanager
def _without_the_newest() -> Iterator[None]:
    """An image that drops the last checkpoint together with what a killed writer left."""
    scan = Image.scan

    def forgetful(self: Image) -> None:
        scan(self)
        if self.damage and self.snapshots:
            self.snapshots.pop()

    with mock.patch.object(Image, "scan", forgetful):
        yield


@contextmanager
def _counting_on_leftovers() -> Iterator[None]:
    """An image that takes the blocks of a checkpoint that was never completed for its own."""
    scan = Index.scan

    def trusting(self: Index, data: bytes, start: int) -> None:
        scan(self, data, start)
        self._add([*frames(data, self.end)], 0)

    with mock.patch.object(Index, "scan", trusting), mock.patch.object(Image, "_check_complete"):
        yield


@contextmanager
def _stopping_at_damage() -> Iterator[None]:
    """An image that reads up to the first damage, and no further."""

    def until(data: bytes, offset: int, gaps: list[tuple[int, int]]) -> Iterator[tuple[bytes, int, int]]:
        for frame in frames(data, offset):
            if not matches(frame[0], data[frame[1] : frame[2]]):
                break
            yield frame
            offset = frame[2]
        if offset < len(data):
            gaps.append((offset, len(data)))

    with mock.patch.object(index_module, "verified_frames", until):
        yield


@contextmanager
def _by_size() -> Iterator[None]:
    """A guard that compares lengths."""
    with mock.patch.object(guard_module, "leaf_of", lambda data: (len(data), b"")):
        yield


CONTROLS: dict[str, tuple[Callable[[], object], Callable[[Intensity, int, Outcome], None]]] = {
    "an image that believes its blocks": (_without_comparing, _damage),
    "an image that drops too much": (_without_the_newest, _damage),
    "an image that counts on leftovers": (_counting_on_leftovers, _damage),
    "an image that stops at damage": (_stopping_at_damage, _damage),
    "a guard that compares lengths": (_by_size, _tamper),
}
