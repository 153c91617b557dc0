"""R10: long random sequences of verbs, on a backend and on a dictionary; every answer must be the same."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

import hypothesis
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from agentm_kernel import AgentmError, Locator, update
from agentm_kernel.files import reading, writing
from agentm_kernel.plugin import ABSENT, BackendLayer, content_hash
from tests.faults.dictionary import DictionaryStore, Refusal
from tests.faults.folding import on_a_folding_file_system
from tests.faults.harness import Outcome, StoreUnderTest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from agentm_kernel.plugin import Info
    from agentm_kernel.seam.backend import Absent, StorageBackend
    from tests.faults.harness import Intensity

STEPS_PER_STORE = 40
STEPS_OF_A_CONTROL = 20_000
"""At most: a control ends with the first difference, which a few hundred steps nearly always bring."""
# Few keys, so that they meet; other cases and Unicode forms of each other, so that they clash.
KEYS = st.sampled_from(
    ("a", "A", "a/b", "a/B", "a/b/c", "A/x", "note.md", "Note.md", "a/note.md")
    + ("caf\u00e9", "cafe\u0301", "CAF\u00c9", "caf\u00e9/x", "stra\u00dfe", "STRASSE/x")
)
TEXTS = st.sampled_from(("", "x", "other", "\ufeffbom\r\n", "nul \0", "\u00e9\u65e5\n")) | st.text(max_size=20)
CONDITIONS = st.sampled_from(("none", "absent", "current", "wrong"))


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("verbs compared with a dictionary")
    steps = intensity.pick(short=300, full=5_000)
    compare(intensity.store, nullcontext, steps, intensity.seed, outcome)
    compare(intensity.store, on_a_folding_file_system, steps, intensity.seed, outcome)
    for name, (layer, surroundings) in CONTROLS.items():
        broken = Outcome(name)
        store = StoreUnderTest(name, lambda root, layer=layer: layer(intensity.store.open(root)))  # type: ignore[misc]
        compare(store, surroundings, STEPS_OF_A_CONTROL, intensity.seed, broken)
        outcome.control(name, broken)
    return outcome


def compare(
    store: StoreUnderTest,
    surroundings: Callable[[], AbstractContextManager[None]],
    steps: int,
    seed: int,
    outcome: Outcome,
) -> None:
    """Run until `steps` verbs were compared, or a difference was found."""
    goal = outcome.count + steps
    with surroundings():
        while outcome.count < goal and not outcome.violations:
            seed += 1

            @hypothesis.seed(seed)
            def machine() -> Comparison:
                return Comparison(store, outcome)

            try:
                run_state_machine_as_test(cast("Any", machine), settings=_settings())
            except Exception as error:
                found = "\n".join([str(error), *getattr(error, "__notes__", ())])
                outcome.violation("difference", f"{store.name}, {surroundings.__name__}: {found}")


def _settings() -> settings:
    return settings(
        max_examples=10,
        stateful_step_count=STEPS_PER_STORE,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


class Comparison(RuleBasedStateMachine):
    """One store, one dictionary, and every verb done to both."""

    def __init__(self, store: StoreUnderTest, outcome: Outcome) -> None:
        super().__init__()
        self._root = tempfile.mkdtemp(prefix="agentm-faults-")
        self._backend: StorageBackend = store.open(self._root)
        self._model = DictionaryStore()
        self._outcome = outcome

    def teardown(self) -> None:
        shutil.rmtree(self._root)

    # -- the verbs ------------------------------------------------------------------------------------------

    @rule(key=KEYS, text=TEXTS, condition=CONDITIONS)
    def write(self, key: str, text: str, condition: str) -> None:
        note, if_match = Locator(key), self._condition(Locator(key), condition)
        self._both(
            lambda: self._backend.write(note, text, if_match=if_match).key,
            lambda: self._model.write(note.key, text, if_match),
        )

    @rule(key=KEYS, text=TEXTS)
    def update(self, key: str, text: str) -> None:
        note = Locator(key)
        before = self._model.files.get(note.key, "")
        self._both(
            lambda: update(self._backend, note, lambda old: (old or "") + text + ".", timeout=0.1).key,
            lambda: self._model.write(note.key, before + text + ".", None),
        )

    @rule(key=KEYS)
    def mkdir(self, key: str) -> None:
        folder = Locator(key)
        self._both(lambda: self._backend.mkdir(folder).key, lambda: self._model.mkdir(folder.key))

    @rule(key=KEYS, condition=st.sampled_from(("none", "current", "wrong")))
    def delete(self, key: str, condition: str) -> None:
        note, if_match = Locator(key), self._condition(Locator(key), condition)
        assert not isinstance(if_match, type(ABSENT))
        self._both(
            lambda: self._backend.delete(note, if_match=if_match), lambda: self._model.delete(note.key, if_match)
        )

    @rule(key=KEYS)
    def read(self, key: str) -> None:
        note = Locator(key)
        self._both(lambda: self._backend.read(note), lambda: self._model.read(note.key))

    @rule(key=KEYS)
    def look(self, key: str) -> None:
        note = Locator(key)
        self._both(lambda: self._backend.exists(note), lambda: self._model.exists(note.key))
        self._both(lambda: _facts(self._backend.info(note)), lambda: self._model.info(note.key))

    @rule(key=KEYS | st.just(""))
    def look_around(self, key: str) -> None:
        place = Locator(key)
        self._both(
            lambda: [child.key for child in self._backend.list(place)], lambda: self._model.children(place.key)
        )
        self._both(lambda: [_facts(info) for info in self._backend.walk(place)], lambda: self._model.walk(place.key))

    # -- comparing ------------------------------------------------------------------------------------------

    def _condition(self, note: Locator, condition: str) -> Any:
        stored = self._model.files.get(note.key, "")
        return {
            "none": None,
            "absent": ABSENT,
            "current": content_hash(stored),
            "wrong": content_hash(stored + "!"),
        }[condition]

    def _both(self, real: Callable[[], object], model: Callable[[], object]) -> None:
        """Do it on both sides, compare the answers, then compare everything that is stored."""
        self._outcome.count += 1
        try:
            expected = model()
        except Refusal as refusal:
            self._expect_refusal(real, refusal)
        else:
            assert real() == expected
        stored = [_facts(info) for info in self._backend.walk(Locator())]
        assert stored == self._model.walk("")
        texts = {key: self._backend.read(Locator(key)) for key, is_dir, _ in stored if not is_dir}
        assert texts == self._model.files

    def _expect_refusal(self, real: Callable[[], object], refusal: Refusal) -> None:
        wanted = " or ".join(error.__name__ for error in refusal.errors)
        try:
            answer = repr(real())
        except refusal.errors:
            return
        except AgentmError as error:
            answer = repr(error)
        raise AssertionError(f"{answer} instead of {wanted}")


def _facts(info: Info) -> tuple[str, bool, int]:
    return info.locator.key, info.is_dir, info.size


# ------------------------------------------------------------------------------------------------ controls


class _CreatesOver(BackendLayer):
    """Takes ABSENT for "no condition"."""

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        return super().write(locator, content, if_match=None if if_match is ABSENT else if_match)


class _DeletesAnyway(BackendLayer):
    """Forgets the condition of a delete."""

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        super().delete(locator)


class _WalksBackwards(BackendLayer):
    """Gives siblings in the wrong order."""

    def walk(self, locator: Locator) -> Iterator[Info]:
        return iter(sorted(super().walk(locator), key=lambda info: info.locator.key, reverse=True))


@contextmanager
def _trusting_the_file_system() -> Iterator[None]:
    """A folding file system, under a store that believes that what it reached is what it asked for."""
    with (
        on_a_folding_file_system(),
        mock.patch.object(reading, "is_spelled_like_this", return_value=True),
        mock.patch.object(writing, "is_spelled_like_this", return_value=True),
    ):
        yield


CONTROLS: dict[str, tuple[type[BackendLayer], Callable[[], AbstractContextManager[None]]]] = {
    "creates over a note": (_CreatesOver, nullcontext),
    "deletes without looking": (_DeletesAnyway, nullcontext),
    "walks backwards": (_WalksBackwards, nullcontext),
    "trusts a folding file system": (BackendLayer, _trusting_the_file_system),
}
