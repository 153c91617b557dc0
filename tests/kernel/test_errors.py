"""One tree of errors: each has a message, a hint, an exit code and a builtin base, and each can be pickled."""

from __future__ import annotations

import copy
import errno
import inspect
import pickle

import pytest

from agentm_kernel import errors, plugin
from agentm_kernel.errors import AgentmError, CapabilityMismatchError, StorageIOError, reading, refusals

BASES: dict[str, tuple[type[BaseException], ...]] = {
    "AgentmError": (Exception,),
    "StorageError": (AgentmError,),
    "NotFoundError": (errors.StorageError, FileNotFoundError),
    "StorageIOError": (errors.StorageError, OSError),
    "LocatorConflictError": (errors.StorageError,),
    "StorageReadOnlyError": (errors.StorageError,),
    "StorageConflictError": (errors.StorageError,),
    "StorageRefUnresolvableError": (errors.StorageError,),
    "IntegrityError": (errors.StorageError,),
    "AuthorizationError": (errors.StorageError,),
    "DeclinedError": (errors.AuthorizationError,),
    "ConcurrentModificationError": (AgentmError, RuntimeError),
    "LockTimeout": (AgentmError, RuntimeError),
    "InvalidLocatorError": (AgentmError, ValueError, TypeError),
    "InvalidContentError": (AgentmError, ValueError),
    "ProtocolError": (AgentmError, ValueError),
    "StorageSelectionError": (AgentmError, RuntimeError),
    "CapabilityMismatchError": (errors.StorageSelectionError,),
    "BackendNotInstalledError": (errors.StorageSelectionError,),
    "StoreIdentityError": (errors.StorageSelectionError,),
    "ConfigError": (AgentmError,),
    "ActivePlanError": (AgentmError, RuntimeError),
    "PluginError": (AgentmError,),
}
OF_THE_KERNEL = {"UnsafePlanNameError", "UsageError"}
"""What no plugin raises or catches."""
EXIT_CODES = {"UsageError": 2, "ConcurrentModificationError": 3, "LockTimeout": 4}
CODES = {
    "StorageConflictError": "storage_conflict",
    "StorageReadOnlyError": "storage_read_only",
    "StorageRefUnresolvableError": "storage_ref_unresolvable",
}


def make(name: str) -> AgentmError:
    if name == "CapabilityMismatchError":
        return CapabilityMismatchError("vault", ["sync", "delete"], hint="do this")
    if name == "StorageIOError":
        return StorageIOError("what happened", hint="do this", errno=errno.ENOSPC)
    cls: type[AgentmError] = getattr(errors, name)
    return cls("what happened", hint="do this")


def test_this_table_names_every_error() -> None:
    defined = {**vars(reading), **vars(refusals), **vars(errors)}.items()
    tree = {name for name, value in defined if inspect.isclass(value) and issubclass(value, AgentmError)}
    assert tree - OF_THE_KERNEL == set(BASES)


@pytest.mark.parametrize("name", BASES)
def test_an_error_has_its_bases_and_can_be_had_from_the_package(name: str) -> None:
    cls = getattr(errors, name)
    assert all(issubclass(cls, base) for base in BASES[name])
    assert issubclass(cls, AgentmError)
    assert getattr(plugin, name) is cls
    assert cls.__doc__


@pytest.mark.parametrize("name", [*BASES, *sorted(OF_THE_KERNEL)])
def test_an_error_has_its_exit_code_and_its_machine_name(name: str) -> None:
    cls = getattr(errors, name)
    assert cls.exit_code == EXIT_CODES.get(name, 1)
    assert cls.code == CODES.get(name)


@pytest.mark.parametrize("name", BASES)
def test_an_error_says_what_happened_and_what_to_do(name: str) -> None:
    error = make(name)
    assert str(error) == f"{error.message} (hint: {error.hint})"
    assert "\n" not in str(error)
    assert error.hint == "do this"


@pytest.mark.parametrize("name", sorted(set(BASES) - {"CapabilityMismatchError"}))
def test_a_hint_is_optional(name: str) -> None:
    error = getattr(errors, name)("what happened")
    assert str(error) == "what happened"
    assert error.hint is None


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("clone", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_an_error_survives_pickling_and_copying_with_all_its_fields(name: str, clone) -> None:
    error = make(name)
    error.add_note("a note")
    twin = clone(error)
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert twin.args == error.args
    assert twin.hint == "do this"
    assert twin.__notes__ == ["a note"]
    assert vars(twin) == vars(error)
    if isinstance(error, OSError):
        assert twin.errno == error.errno


def test_a_storage_error_of_the_system_keeps_its_number() -> None:
    assert make("StorageIOError").errno == errno.ENOSPC  # type: ignore[attr-defined]
    assert StorageIOError("x").errno is None


def test_an_unsatisfied_capability_is_named() -> None:
    error = CapabilityMismatchError("vault", ["sync", "delete"])
    assert str(error) == "backend 'vault' does not satisfy required capabilities: sync, delete"
    assert error.protocol == "vault"
    assert error.unsatisfied == ("sync", "delete")


@pytest.mark.parametrize(
    ("key", "remedy", "command"),
    [
        ("storage.backend", "unset", "agentm config unset storage.backend"),
        ("plugin_policy.allowed", "set", "agentm config set plugin_policy.allowed VALUE"),
        ("it's", "unset", r"agentm config unset 'it'\''s'"),
        ("größe", "set", "agentm config set 'größe' VALUE"),
    ],
)
def test_the_remedy_of_a_setting_is_a_command_that_a_shell_takes(key: str, remedy: str, command: str) -> None:
    error = refusals.UnfitSetting(key, "may not stand", remedy)
    assert error.remedy == command
    assert str(error) == f"'{key}' may not stand"
