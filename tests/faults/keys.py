"""R9: keys made of everything that has ever broken a store, thrown at the normaliser and then at the store."""

from __future__ import annotations

import os
import posixpath
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import hypothesis
from hypothesis import HealthCheck, given, settings, strategies as st

from agentm_kernel import Locator
from agentm_kernel.plugin import InvalidLocatorError, LocatorConflictError, normalize_key
from tests.faults.found import FOUND_KEYS
from tests.faults.harness import Outcome, scratch
from tests.faults.key_rules import danger_of
from tests.faults.workers import HANG, Crew, Stuck

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from agentm_kernel.seam.backend import StorageBackend
    from tests.faults.harness import Intensity

    Normalise = Callable[[str], str]

# What keys are made of: every class of hazard, and enough ordinary text to carry it.
ORDINARY = tuple("ab1-_ ~éßıİſ\N{PARTY POPPER}") + ("note", "PLAN", ".md", "日本")
SEPARATORS = ("/", "/", "//", "/./", "./", "/../", "..", "...")
FORBIDDEN = tuple('\\<>:"|?*') + ("\0", "\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\x9b")
INVISIBLE = tuple(
    "\u202e\u200b\u200c\u200d\u2066\ufeff\u00ad\u2028\u2029\u034f\u3164\ufe0f\ufffe\U000e0041\U000e0100"
)
DEVICES = ("CON", "nul", "COM1", "lpt\u00b9", "aux.txt", "conin$", "con ")
CONTROL = (
    ".git",
    ".GIT",
    ".g\u0131t",
    "git~1",
    ".obsidian",
    "OBSIDI~1",
    ".claude",
    ".agentm-x.tmp",
    ".vscode",
    ".Hg",
)
UNICODE = ("e\u0301", "\u212b", "\ufb01", "\u1e9b\u0323", "\u0344", "\ud800", "\udfff", "\U0001f468\u200d\U0001f469")
LONG = ("x" * 199, "é" * 100, "long/" * 60)
ENDS = (".", " ", "\u00a0", "\u3000")
EMOJI = ("\N{PARTY POPPER}", "\u200d", "\ufe0f", "\U0001f3fd", "a", "/")
STREAMS = 4
"""Workers, however many processors there are: a seed means the same keys on every machine."""
KEYS_PER_FOLDER = 50
HAZARDS = SEPARATORS + FORBIDDEN + INVISIBLE + DEVICES + CONTROL + UNICODE + LONG + ENDS


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("fuzzed keys")
    for key in FOUND_KEYS:
        _judge(normalize_key, key, outcome)
    _fuzz_in_parallel(normalize_key, intensity, intensity.pick(short=20_000, full=1_000_000), outcome)
    _fuzz_with_hypothesis(normalize_key, intensity, intensity.pick(short=300, full=20_000), outcome)
    _store_accepted(intensity, intensity.pick(short=500, full=20_000), outcome)
    for name, normalise in CONTROLS.items():
        broken = Outcome(name)
        for key in _keys(intensity.random(name), 5_000):
            _judge(normalise, key, broken)
        outcome.control(name, broken)
    return outcome


# ------------------------------------------------------------------------------------------------ the normaliser


def _judge(normalise: Normalise, key: str, outcome: Outcome) -> str | None:
    """Check one key, and return its normal form if it was accepted."""
    outcome.count += 1
    try:
        normal = normalise(key)
    except InvalidLocatorError:
        return None
    except Exception as error:
        outcome.violation("untyped", f"{error!r} for {ascii(key)[:80]}")
        return None
    try:
        again = normalise(normal)
    except Exception as error:
        again = repr(error)
    if again != normal:
        outcome.violation("unstable", f"{ascii(normal)[:80]} became {ascii(again)[:80]}")
    danger = danger_of(normal)
    if danger is not None:
        outcome.violation("unsafe", f"{ascii(normal)[:80]} was accepted although {ascii(danger)[:120]}")
    return normal


def _keys(draw: random.Random, count: int) -> Iterator[str]:
    """Keys of a few pieces, about every third piece a hazard, and now and then any character at all.

    Every fiftieth is made of what emoji are made of and nothing else: joiners and selectors in every wrong place.
    """
    for number in range(count):
        pieces: list[str] = []
        if number % 50 == 49:
            yield "".join(draw.choices(EMOJI, k=draw.randrange(1, 6)))
            continue
        for _ in range(draw.randrange(1, 7)):
            chance = draw.random()
            if chance < 0.62:
                pieces.append(draw.choice(ORDINARY))
            elif chance < 0.72:
                pieces.append("/")
            elif chance < 0.97:
                pieces.append(draw.choice(HAZARDS))
            else:
                pieces.append(chr(draw.randrange(0x110000)))
        yield "".join(pieces)


def _fuzz_in_parallel(normalise: Normalise, intensity: Intensity, count: int, outcome: Outcome) -> None:
    share = count // STREAMS
    with Crew() as crew:
        workers = [
            crew.start(_fuzz, normalise, intensity.random(f"keys {number}"), share) for number in range(STREAMS)
        ]
        try:
            for worker in workers:
                found, accepted = worker.receive(20 * HANG)
                outcome.count += found.count
                outcome.violations += found.violations
                outcome.examples += found.examples
                outcome.measured["of them accepted"] = outcome.measured.get("of them accepted", 0) + accepted
        except Stuck as stuck:
            outcome.violation("stuck", str(stuck))


def _fuzz(connection: Connection, normalise: Normalise, draw: random.Random, count: int) -> None:
    found = Outcome("keys")
    accepted = sum(_judge(normalise, key, found) is not None for key in _keys(draw, count))
    connection.send((found, accepted))


def _fuzz_with_hypothesis(normalise: Normalise, intensity: Intensity, count: int, outcome: Outcome) -> None:
    """The same question to a generator that shrinks what it finds and knows corners of Unicode that we do not."""
    piece = st.sampled_from(ORDINARY + HAZARDS) | st.text(max_size=5) | st.characters()

    @hypothesis.seed(intensity.seed)
    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(piece, max_size=8).map("".join))
    def fuzz(key: str) -> None:
        found = Outcome("keys")
        normal = _judge(normalise, key, found)
        assert not found.violations, found.examples
        if normal is not None:
            _check_locator(normal)

    try:
        fuzz()
    except AssertionError as error:
        outcome.violation("hypothesis", ascii(str(error))[:300])
    outcome.count += count


def _check_locator(key: str) -> None:
    locator = Locator(key)
    assert locator.key == key
    assert Locator().child(*locator.parts) == locator
    assert locator.parent.child(locator.name) == locator


# ------------------------------------------------------------------------------------------------ the store


def _store_accepted(intensity: Intensity, wanted: int, outcome: Outcome) -> None:
    """Write accepted keys until `wanted` of them are stored; each must then be listed, and read back."""
    with scratch() as folder:
        root = os.path.join(folder, "store")
        backend = intensity.store.open(root)
        written: Counter[str] = Counter()
        for key in _keys(intensity.random("stored keys"), wanted * 20):
            if written["stored"] == wanted:
                break
            written[_store(backend, f"{written['stored'] // KEYS_PER_FOLDER}", key, outcome)] += 1
        _check_nothing_outside(folder, root, outcome)
    outcome.measured["of them stored, listed and read"] = written["stored"]
    outcome.measured["clashes refused"] = written["clash"]


def _store(backend: StorageBackend, folder: str, key: str, outcome: Outcome) -> str:
    """Try `key` below `folder`, and say what became of it."""
    text = f"text of {ascii(key)}"
    try:
        locator = Locator(f"{folder}/{key}")
        if locator.key == folder or backend.exists(locator):
            return "taken"
        backend.write(locator, text)
        if locator not in backend.list(locator.parent):
            outcome.violation("unlisted", ascii(locator.key)[:120])
        if backend.read(locator) != text:
            outcome.violation("lost", ascii(locator.key)[:120])
    except InvalidLocatorError:
        return "invalid"
    except LocatorConflictError:
        return "clash"
    except Exception as error:
        outcome.violation("untyped", f"{error!r} for {ascii(key)[:80]}")
        return "failed"
    return "stored"


def _check_nothing_outside(folder: str, root: str, outcome: Outcome) -> None:
    outside = [name for name in os.listdir(folder) if os.path.join(folder, name) != root]
    for name in outside:
        outcome.violation("escape", f"{name!r} appeared beside the root")


# ------------------------------------------------------------------------------------------------ controls


def _naive(key: str) -> str:
    """What most programs do: split, drop the dots, refuse the way up."""
    parts = [part for part in key.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in key:
        raise InvalidLocatorError("no way up")
    return "/".join(parts)


def _by_the_library(key: str) -> str:
    """Trust in normpath, and in a look at the first character."""
    key = posixpath.normpath(unicodedata.normalize("NFKC", key))
    if key.startswith(("/", "..")):
        raise InvalidLocatorError("outside")
    return key


CONTROLS: dict[str, Normalise] = {
    "a normaliser that knows only dots": _naive,
    "a normaliser that trusts normpath": _by_the_library,
}
