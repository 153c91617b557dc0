"""Every layer that is shipped hands on every verb, argument and flag, and exactly the facets that are named here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.layer_rules import STAMP, Recording, check_facets, check_flags, check_verbs

import agentm_kernel
from agentm_checkpoint.guard import IntegrityGuard
from agentm_encryption.key_source import KeySource
from agentm_encryption.names import SealedNames
from agentm_encryption.store import EncryptedStore
from agentm_kernel import Capabilities
from agentm_kernel.plugin import (
    Appends,
    BackendLayer,
    ConflictCopies,
    Device,
    DeviceCopy,
    DeviceFiles,
    History,
    Identity,
    MirroredState,
    Opening,
    PersonalSpace,
    Rules,
    Sealed,
    Unguarded,
    WatchedStore,
    WorkingCopy,
)
from agentm_kernel.seam.facets import FACETS
from agentm_kernel.selection import IdentityGuard, PluginGuard
from agentm_kernel.selection.replacing import ReplacementTelling
from agentm_storage_policy.gate import AccessRules, PolicyGate
from agentm_storage_policy.store import PolicyStore

_STATE_DIR = ""


class Transparent(BackendLayer):
    """A layer that has no say in anything."""

    passes = FACETS


class Layer:
    """How one is made around a store, which facets come through it, and what it answers itself."""

    def __init__(self, make, passes=(), offers=(), own=(), **sets):
        self.make = make
        self.passes = set(passes)
        self.offers = set(offers)
        self.own = frozenset(own)
        self.sets = sets


def _opening() -> Opening:
    return Opening(state_dir=_STATE_DIR)


def _device() -> Device:
    return Device({"XDG_STATE_HOME": _STATE_DIR})


def _rules() -> AccessRules:
    return AccessRules("a policy", False, None, _opening())


def _key_source(store) -> KeySource:
    return KeySource(store, _STATE_DIR, {}, {}, read_only=True)


_OF_POLICY = (DeviceFiles, DeviceCopy, PersonalSpace, Identity, Rules, Unguarded, Sealed, WorkingCopy, WatchedStore)

LAYERS = {
    "BackendLayer": Layer(BackendLayer),
    "Transparent": Layer(Transparent, FACETS),
    "IdentityGuard": Layer(
        lambda store: IdentityGuard(_device(), store, "recorder"), set(FACETS) - {Identity, Sealed}, {Identity}
    ),
    "MirroredState": Layer(
        lambda store: MirroredState(store, f"{_STATE_DIR}/mirror"),
        (PersonalSpace, History, Identity, Rules, Unguarded),
        (DeviceFiles, DeviceCopy, ConflictCopies),
        own=("stamp_text",),
    ),
    "PluginGuard": Layer(lambda store: PluginGuard(store, "the plugin"), FACETS),
    "PolicyGate": Layer(lambda store: PolicyGate(store, _rules(), counts=True), _OF_POLICY),
    "PolicyStore": Layer(lambda store: PolicyStore(store, _rules()), set(_OF_POLICY) - {Rules}, {Rules}),
    "IntegrityGuard": Layer(
        lambda store: IntegrityGuard(store, ["skills/**"], Device({}), _opening()),
        set(FACETS) - {History, Appends, Unguarded},
        {Unguarded},
    ),
    # These change what is stored and how it is called: their verbs are their own, and tested by their plugin.
    "EncryptedStore": Layer(
        lambda store: EncryptedStore(store, _key_source(store)),
        (Identity, Rules, WorkingCopy, WatchedStore),
        (Sealed, History, ConflictCopies),
        own=("read", "write", "delete", "info", "walk"),
        encryption=True,
        device_files=False,
    ),
    "SealedNames": Layer(
        lambda store: SealedNames(store, _key_source(store)),
        (Identity, Rules, WorkingCopy),
        (History, ConflictCopies),
        own=("read", "write", "list", "exists", "info", "mkdir", "delete", "walk", "foreign_entries"),
    ),
    # It makes writes conditional on what it told before: those are its own, and tested by `selection`.
    "ReplacementTelling": Layer(
        lambda store: ReplacementTelling(store, lambda *_: None), FACETS, own=("write", "delete")
    ),
}
_OTHER_NAMES = {"BucketBackend": "MirroredState", "EncryptedStateCopy": "MirroredState"}
"""Layers that are another one with a store of their own inside."""


@pytest.fixture(autouse=True)
def _state_dir(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}._STATE_DIR", str(tmp_path))


@pytest.fixture(params=LAYERS)
def layer(request) -> Layer:
    return LAYERS[request.param]


def test_every_argument_of_every_verb_arrives(layer):
    check_verbs(layer.make, own=layer.own)


def test_every_flag_comes_back(layer):
    check_flags(layer.make, **layer.sets)


def test_exactly_the_named_facets_come_through(layer):
    check_facets(layer.make, passes=layer.passes, offers=layer.offers)


def test_no_layer_is_left_out():
    kernel = Path(agentm_kernel.__file__).parent
    sources = [*kernel.rglob("*.py"), *kernel.parents[1].glob("plugins/*/src/**/*.py")]
    classes = [
        node for path in sources for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.ClassDef)
    ]
    found = {"BackendLayer"}
    while True:
        more = {
            node.name for node in classes if found & {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        }
        if more <= found:
            break
        found |= more
    assert found == (LAYERS.keys() - {"Transparent"}) | _OTHER_NAMES.keys()


# ------------------------------------------------------------------------------------------------ can they fail?


class DropsCondition(Transparent):
    def write(self, locator, content, *, if_match=None):
        return self.inner.write(locator, content)


class AnswersItself(Transparent):
    def check_usable(self, *, read_only):
        self.inner.check_usable(read_only=True)


class ForgetsFlag(Transparent):
    @property
    def capabilities(self):
        inner = self.inner.capabilities
        return Capabilities(sync=inner.sync, delete=inner.delete)


class DropsConditionOfFacet(Transparent):
    def wrap_facet(self, kind, found):
        if kind is not PersonalSpace:
            return found

        class Space(PersonalSpace):
            def personal_path(self, locator):
                return found.personal_path(locator)

            def write_personal(self, locator, content, *, authorization, if_match=None):
                return found.write_personal(locator, content, authorization=authorization)

        return Space()


class HandsOutEverything(BackendLayer):
    def facet(self, kind):
        return self.inner.facet(kind)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (DropsCondition, check_verbs),
        (AnswersItself, check_verbs),
        (ForgetsFlag, check_flags),
        (DropsConditionOfFacet, lambda make: check_facets(make, passes=set(FACETS))),
        (HandsOutEverything, lambda make: check_facets(make, passes=set(FACETS))),
        (Transparent, lambda make: check_facets(make, passes=set(FACETS) - {Rules})),
    ],
)
def test_a_layer_that_loses_something_is_caught(make, rule):
    with pytest.raises(AssertionError):
        rule(make)


def test_what_a_recorder_answers_is_a_stamp():
    assert Recording().store.stamp_text() == STAMP
