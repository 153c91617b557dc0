"""Who can open the keys of a store: the first members, joining, admitting others, recovering, and new keys."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agentm_encryption.epochs import (
    DEVICE,
    RECOVERY,
    Keys,
    Recipient,
    new_epoch,
    new_names_key,
    open_keys,
    parse_identity,
    parse_recipient,
    seal_keys,
)
from agentm_encryption.key_source import newest_epoch
from agentm_encryption.places import KEYS, epoch_of, is_lost_key_file, key_file, retired_folder
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    ConflictCopies,
    IntegrityError,
    Locator,
    StorageError,
    StorageSelectionError,
    content_hash,
    layout,
)

if TYPE_CHECKING:
    from agentm_encryption.key_source import KeySource
    from agentm_kernel.plugin import Info, StorageBackend

_LONGEST_NAME = 80


def device_name() -> str:
    """What this device is called where nobody said otherwise."""
    return platform.node() or "a device"


def checked_name(name: str) -> str:
    """A name for a member that fits a line of the key file."""
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise StorageError(f"{ascii(name[:100])} is no name for a member", hint="use a short word, such as laptop")
    return name.strip()


# ------------------------------------------------------------------------------------------------ recovery


def new_recovery_file(path: str) -> str:
    """Make an identity for recovery in a file of its own, and return its public half; an existing file is used."""
    from pyrage import x25519

    if os.path.exists(path):
        return str(read_identity_file(path).to_public())
    identity = x25519.Identity.generate()
    text = (
        "# The recovery key of an encrypted agentm store. Whoever has this file can read all of it.\n"
        "# Keep it away from the devices that use the store: on paper, in a safe, in a password manager.\n"
        f"# public: {identity.to_public()}\n{identity}\n"
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise StorageError(f"cannot make {path}: {error.strerror}", hint="name another place") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return str(identity.to_public())


def read_identity_file(path: str) -> Any:
    """The identity in a file such as `age-keygen` makes."""
    try:
        with open(path, encoding="ascii") as file:
            lines = file.read(100_000).splitlines()
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read {path}: {error}", hint="name the file with the recovery key") from error
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if len(found) != 1:
        raise StorageError(f"{path} holds no age identity", hint="one line of it begins with AGE-SECRET-KEY-")
    return parse_identity(found[0])


# ------------------------------------------------------------------------------------------------ changes


def found_keys(source: KeySource, backend: StorageBackend, recovery: str, name: str, *, sealed_names: bool) -> Keys:
    """Make the first keys of a store, or the next of one that was made plain meanwhile.

    They are announced before the store has them, in case of a crash.
    """
    own = source.identity.recipient
    assert own is not None
    parse_recipient(recovery)
    if recovery == own:
        raise StorageError(
            "the recovery key is this device's own, which is lost together with the device", hint="name another"
        )
    members = (Recipient(DEVICE, own, checked_name(name)), Recipient(RECOVERY, recovery, "recovery"))
    # With these, older checkpoints can be restored again; and what is left of those epochs is refused as old.
    before = retired_keys(source)
    earlier = (*before.earlier, before.current) if before else ()
    epoch = new_epoch(earlier[-1].number + 1 if earlier else 1)
    keys = Keys(
        source.store_id,
        epoch,
        members,
        earlier=earlier,
        oldest=epoch.number,
        names_key=new_names_key() if sealed_names else None,
    )
    source.pins.announce(epoch.number, keys.fingerprint)
    try:
        backend.write(key_file(epoch.number), seal_keys(keys), if_match=ABSENT)
    except ConcurrentModificationError:
        raise StorageSelectionError(
            "another device has just encrypted this store", hint="run `agentm encryption join`"
        ) from None
    source.pins.add(epoch.number, keys.fingerprint, sealed_names=sealed_names)
    return keys


def retired_keys(source: KeySource) -> Keys | None:
    """The keys that the store had before it was made plain, if this device has kept them and can open them."""
    folder = retired_folder(source.folder)
    try:
        numbers = [epoch_of(KEYS.child(name)) or 0 for name in os.listdir(folder)]
    except FileNotFoundError:
        return None
    newest = max(numbers, default=0)
    try:
        with open(os.path.join(folder, key_file(newest).name), encoding="ascii") as file:
            return open_keys(file.read(), source.identity.unlock(), source.store_id, newest)
    except (OSError, IntegrityError, StorageSelectionError):
        return None  # of another device, or damaged


def offered_keys(source: KeySource, backend: StorageBackend, identity: Any = None) -> Keys:
    """The newest keys in the store, whether or not this device trusts them yet."""
    epoch = newest_epoch(backend)
    if not epoch:
        raise StorageSelectionError(
            f"the store at {backend.describe()} is not encrypted", hint="run `agentm encryption init`"
        )
    if epoch < source.pins.newest:
        source.check_pinned(epoch)
    return open_keys(backend.read(key_file(epoch)), identity or source.identity.unlock(), source.store_id, epoch)


def lost_keys(source: KeySource, backend: StorageBackend, epoch: int) -> Keys | None:
    """The keys of an epoch that this device knows, where the store has those that another device made at that time.

    They are in what a git store or a sync tool kept of the file that lost.
    """
    kept = [backend.read(info.locator) for info in backend.walk(Locator(layout.CONFLICTS)) if _is_lost(info, epoch)]
    copies = backend.facet(ConflictCopies)
    if copies is not None:
        kept += [copies.read_copy(found.copy) for found in copies.conflict_copies(key_file(epoch))]
    for text in kept:
        with suppress(IntegrityError, StorageSelectionError):
            keys = open_keys(text, source.identity.unlock(), source.store_id, epoch)
            if keys.fingerprint == source.pins.epochs.get(epoch):
                return keys
    return None


def _is_lost(info: Info, epoch: int) -> bool:
    return is_lost_key_file(info.locator) and info.locator.parent.name == key_file(epoch).name and not info.is_dir


def replace_keys(backend: StorageBackend, before: str, keys: Keys) -> None:
    """Write the key file of the present epoch anew, unless somebody else did meanwhile."""
    try:
        backend.write(key_file(keys.current.number), seal_keys(keys), if_match=content_hash(before))
    except ConcurrentModificationError:
        raise ConcurrentModificationError(
            "the keys of the store were changed by somebody else meanwhile", hint="run the command again"
        ) from None


def admit(backend: StorageBackend, keys: Keys, recipient: str, name: str) -> bool:
    """Let one more device open the keys; `False` if it already can."""
    name = checked_name(name)
    if any(member.recipient == recipient for member in keys.recipients):
        return False
    if any(member.name == name for member in keys.recipients):
        raise StorageError(f"there is a member called {name} already", hint="give another NAME")
    stored = backend.read(key_file(keys.current.number))
    replace_keys(backend, stored, keys.replaced(recipients=(*keys.recipients, Recipient(DEVICE, recipient, name))))
    return True


def next_keys(keys: Keys, own: str, remove: tuple[str, ...], recovery: str | None) -> Keys:
    """The keys of a new epoch, for everybody but those who are removed; with another recovery key if one is given."""
    unknown = set(remove) - {word for member in keys.recipients for word in (member.name, member.recipient)}
    if unknown:
        raise StorageError(
            f"there is no member called {min(unknown)}", hint="`agentm encryption status` lists the members"
        )
    stay = [member for member in keys.recipients if member.name not in remove and member.recipient not in remove]
    if recovery is not None:
        parse_recipient(recovery)
        stay = [member for member in stay if member.kind != RECOVERY]
        stay.append(Recipient(RECOVERY, recovery, "recovery"))
    if not any(member.recipient == own for member in stay):
        raise StorageError("this device cannot remove itself", hint="rotate from a device that stays")
    if not any(member.kind == RECOVERY for member in stay):
        raise StorageError(
            "nobody could recover the store then", hint="name a new recovery key with --recovery or --recovery-file"
        )
    return keys.next_epoch(tuple(stay))
