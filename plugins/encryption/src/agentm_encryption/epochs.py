"""The keys of a store: one file for each epoch, sealed to every device and to whoever may recover it.

An epoch has an identity (X25519), which notes are sealed to, and a secret, by which writers prove that they belong
here. The file of an epoch also has the keys of the epochs before it: whoever may read the store may read what is in
older checkpoints of it. Written as lines, not as JSON: hooks read it, and `json` costs them two milliseconds.
"""

from __future__ import annotations

import os

from agentm_encryption.derivation import SECRET_BYTES, begun_mac, derive, is_same, mac
from agentm_kernel.plugin import Frozen, IntegrityError, StorageSelectionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = "agentm-epoch 1"
DEVICE = "device"
RECOVERY = "recovery"
CLEAR = "clear"
_NAMES_KEY_BYTES = 64


class Recipient(Frozen):
    """Somebody who can open the keys."""

    kind: str
    """`device` or `recovery`."""
    recipient: str
    """`age1…`"""
    name: str


class Epoch:
    """The keys of one epoch."""

    def __init__(self, number: int, identity: str, secret: bytes) -> None:
        self.number = number
        self.identity = identity
        self.secret = secret
        self._code: Any = None
        self._recipient: Any = None

    def code(self, data: bytes) -> bytes:
        """What proves that a member of this epoch wrote this."""
        if self._code is None:  # once: to take up the key costs more than the code of a note does
            self._code = begun_mac(derive(self.secret, "mac"))
        begun = self._code.copy()
        begun.update(data)
        return bytes(begun.digest())

    @property
    def recipient(self) -> Any:
        """What notes of this epoch are sealed to."""
        if self._recipient is None:
            self._recipient = parse_identity(self.identity).to_public()
        return self._recipient


class Keys:
    """All that is in the key file of the current epoch."""

    def __init__(
        self,
        store_id: str,
        current: Epoch,
        recipients: tuple[Recipient, ...],
        *,
        earlier: tuple[Epoch, ...] = (),
        oldest: int = 1,
        names_key: bytes | None = None,
    ) -> None:
        self.store_id = store_id
        self.current = current
        self.recipients = recipients
        self.earlier = earlier
        self.oldest = oldest
        """Notes of epochs before this one are not read any more."""
        self.names_key = names_key
        self.epochs = {epoch.number: epoch for epoch in (*earlier, current)}
        self._identities: list[Any] | None = None

    @property
    def identities(self) -> list[Any]:
        """What may open a note: the current epoch's identity first."""
        if self._identities is None:
            self._identities = [parse_identity(epoch.identity) for epoch in (self.current, *reversed(self.earlier))]
        return self._identities

    @property
    def fingerprint(self) -> str:
        """What people compare: forty digits that stand for the keys of this epoch and nothing else."""
        import hashlib

        epoch = self.current
        said = f"agentm-fingerprint 1\n{self.store_id}\n{epoch.number}\n{epoch.recipient}\n{epoch.secret.hex()}\n"
        return hashlib.sha256(said.encode()).hexdigest()[:40]

    def replaced(self, **changes: Any) -> Keys:
        """The same keys but for this."""
        fields = {
            "store_id": self.store_id,
            "current": self.current,
            "recipients": self.recipients,
            "earlier": self.earlier,
            "oldest": self.oldest,
            "names_key": self.names_key,
        }
        return Keys(**{**fields, **changes})

    def next_epoch(self, recipients: tuple[Recipient, ...]) -> Keys:
        """New keys for these recipients. Notes of the present epoch stay readable until they have been rewritten."""
        return self.replaced(
            current=new_epoch(self.current.number + 1), recipients=recipients, earlier=(*self.earlier, self.current)
        )


def new_epoch(number: int) -> Epoch:
    from pyrage import x25519

    return Epoch(number, str(x25519.Identity.generate()), os.urandom(SECRET_BYTES))


def new_names_key() -> bytes:
    return os.urandom(_NAMES_KEY_BYTES)


def parse_identity(text: str) -> Any:
    from pyrage import IdentityError, x25519

    try:
        return x25519.Identity.from_str(text)
    except IdentityError as error:
        raise IntegrityError(f"this is no age identity: {error}") from None


def parse_recipient(text: str) -> Any:
    from pyrage import RecipientError, x25519

    try:
        return x25519.Recipient.from_str(text)
    except RecipientError as error:
        raise StorageSelectionError(
            f"{ascii(text[:80])} is no age recipient: {error}", hint="a recipient begins with age1"
        ) from None


def format_fingerprint(fingerprint: str) -> str:
    """In groups, for people who compare it."""
    return " ".join(fingerprint[start : start + 5] for start in range(0, len(fingerprint), 5))


# ------------------------------------------------------------------------------------------------ the file


def seal_keys(keys: Keys) -> str:
    """The text of the key file, for everybody among the recipients."""
    import pyrage

    epoch = keys.current
    lines = [
        FORMAT,
        f"store {keys.store_id}",
        f"epoch {epoch.number}",
        f"identity {epoch.identity}",
        f"secret {epoch.secret.hex()}",
        f"oldest {keys.oldest}",
        f"names {keys.names_key.hex() if keys.names_key else CLEAR}",
        *(f"earlier {one.number} {one.identity} {one.secret.hex()}" for one in keys.earlier),
        *(f"recipient {one.kind} {one.recipient} {one.name}" for one in keys.recipients),
    ]
    said = "".join(f"{line}\n" for line in lines).encode()
    code = mac(derive(epoch.secret, "epoch"), said)
    recipients = [parse_recipient(one.recipient) for one in keys.recipients]
    return str(pyrage.encrypt(said + b"mac " + code.hex().encode() + b"\n", recipients, armored=True).decode("ascii"))


def open_keys(stored: str, identity: Any, store_id: str, number: int) -> Keys:
    """What is in a key file, if `identity` is one of its recipients and it is what its name says."""
    import pyrage

    try:
        said = pyrage.decrypt(stored.encode(), [identity])
    except pyrage.DecryptError as error:
        raise StorageSelectionError(
            f"this device cannot open the keys of the store (epoch {number}): it is not among the members, or the "
            f"file is damaged ({error})",
            hint="`agentm encryption join` shows what a member has to run; "
            "`agentm encryption recover FILE` uses the recovery key",
        ) from None
    try:
        keys = _parse(said)
    except (ValueError, IndexError, KeyError) as error:
        raise IntegrityError(f"the key file of epoch {number} cannot be understood: {error}") from None
    if keys.store_id != store_id or keys.current.number != number:
        raise IntegrityError(
            f"the key file of epoch {number} belongs to another store or epoch", hint="bring back the right file"
        )
    return keys


def _parse(said: bytes) -> Keys:
    body, separator, code = said.rpartition(b"mac ")
    lines = body.decode().splitlines()
    if not separator or not lines or lines[0] != FORMAT:
        raise ValueError("it has another format; a newer agentm-encryption may know it")
    fields: dict[str, str] = {}
    earlier = []
    recipients = []
    for line in lines[1:]:
        word, _, rest = line.partition(" ")
        if word == "earlier":
            number, identity, secret = rest.split(" ")
            earlier.append(Epoch(int(number), identity, bytes.fromhex(secret)))
        elif word == "recipient":
            kind, recipient, name = rest.split(" ", 2)
            recipients.append(Recipient(kind, recipient, name))
        else:
            fields[word] = rest
    current = Epoch(int(fields["epoch"]), fields["identity"], bytes.fromhex(fields["secret"]))
    if not is_same(mac(derive(current.secret, "epoch"), body).hex().encode(), code.strip()):
        raise ValueError("its code is wrong")
    names = fields["names"]
    return Keys(
        fields["store"],
        current,
        tuple(recipients),
        earlier=tuple(earlier),
        oldest=int(fields["oldest"]),
        names_key=None if names == CLEAR else bytes.fromhex(names),
    )
