"""What a note is in an encrypted store: an armored age file with a text inside that says what it belongs to.

age hides a text and notices damage, but anybody who knows the recipient can make such a file, and nothing ties it to
its name. So the text is preceded by store, epoch, key, revision and device, and followed by a code (HMAC) that only
holders of the epoch's secret can make. `docs/reference/encryption-format.md` is the specification.
"""

from __future__ import annotations

from io import BytesIO

from agentm_encryption.derivation import MAC_BYTES, is_same
from agentm_kernel.plugin import Frozen, IntegrityError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_encryption.epochs import Epoch, Keys

VERSION = b"agentm-note/1"
ARMOR = "-----BEGIN AGE ENCRYPTED FILE-----\n"
_END = "-----END AGE ENCRYPTED FILE-----"
_FIELDS = 7
_HEADER_ROOM = 384
"""Bytes for age's header. Its length is random (age hides what it can do behind nonsense), so files are filled up."""
_CHUNK = 65_536
_TAG = 16
_TRIES = 50


class Note(Frozen):
    """A note as it was found inside of its envelope."""

    key: str
    text: str
    epoch: int
    revision: int
    device: str


def is_sealed(stored: str) -> bool:
    return stored.startswith(ARMOR)


def is_all_sealed(stored: str) -> bool:
    """Whether nothing plain was added to what is sealed, either."""
    return is_sealed(stored) and stored.rstrip().endswith(_END)


# ------------------------------------------------------------------------------------------------ sealing


def seal(keys: Keys, note: Note) -> str:
    """The text to store for a note of the current epoch. The same note is never stored as the same text twice."""
    import pyrage

    epoch = keys.current
    payload = _payload(keys.store_id, note, epoch)
    wanted = stored_size(len(note.text.encode()), note.key, keys.store_id)
    for _ in range(_TRIES):
        armored = pyrage.encrypt(payload, [epoch.recipient], armored=True).decode("ascii")
        if len(armored) <= wanted:
            return str(armored) + "\n" * (wanted - len(armored))
    raise AssertionError("age's header did not fit the room for it")


def _payload(store_id: str, note: Note, epoch: Epoch) -> bytes:
    fields = (
        VERSION,
        store_id.encode(),
        epoch.number.to_bytes(8, "big"),
        note.key.encode(),
        note.revision.to_bytes(8, "big"),
        bytes.fromhex(note.device),
        note.text.encode(),
    )
    signed = b"".join([piece for field in fields for piece in (len(field).to_bytes(4, "big"), field)])
    return signed + epoch.code(signed)


# ------------------------------------------------------------------------------------------------ opening


def open_note(keys: Keys, stored: str, name: str) -> Note:
    """The note inside, if it was sealed by somebody who has the keys of this store; of any epoch, under any key.

    `name` is what messages call it.
    """
    import pyrage

    if not is_sealed(stored):
        raise IntegrityError(
            f"'{name}' is not encrypted, and everything in this store is; it was not read",
            hint="`agentm encryption status` lists such notes and says what to do about them",
        )
    opened = BytesIO()
    try:
        # Not `decrypt`: it takes the header a byte at a time and parses it anew with each, a third of its time.
        pyrage.decrypt_io(BytesIO(stored.encode()), opened, keys.identities)
    except (pyrage.DecryptError, OSError) as error:
        raise IntegrityError(
            f"'{name}' cannot be opened: it is damaged, or sealed with keys of somebody else ({error})",
            hint=_BACK,
        ) from None
    return note_in(keys, opened.getvalue(), name)


def note_in(keys: Keys, payload: bytes, name: str) -> Note:
    """The note that age has given, which anybody can have sealed, if a member of the store wrote it."""
    fields = _fields(payload)
    if fields is None or fields[0] != VERSION:
        raise IntegrityError(f"'{name}' was opened, and is no note of this format", hint=_BACK)
    _, store, number, key, revision, device, text = fields
    epoch = keys.epochs.get(int.from_bytes(number, "big"))
    if epoch is None or not is_same(epoch.code(payload[:-MAC_BYTES]), payload[-MAC_BYTES:]):
        raise IntegrityError(f"'{name}' was not written by a member of this store", hint=_BACK)
    if store != keys.store_id.encode():
        raise IntegrityError(f"'{name}' belongs to another store", hint=_BACK)
    return Note(key.decode(), text.decode(), epoch.number, int.from_bytes(revision, "big"), device.hex())


_BACK = "it was left as it is; `agentm checkpoint restore` or the store's own history may have a good version"


def _fields(payload: bytes) -> list[bytes] | None:
    """The fields of a payload, `None` if it is not made of exactly these and a code."""
    fields = []
    position = 0
    for _ in range(_FIELDS):
        start = position + 4
        position = start + int.from_bytes(payload[position:start], "big")
        fields.append(payload[start:position])
    # It only grows: a field that reached beyond the end, or a length that did, cannot lead back to it.
    return fields if position == len(payload) - MAC_BYTES else None


# ------------------------------------------------------------------------------------------------ sizes


def stored_size(size: int, key: str, store_id: str) -> int:
    """How long the stored text of a note of `size` bytes is: always the same, and for no other size of this key."""
    data = _data_size(size, key, store_id)
    base64 = (data + 2) // 3 * 4
    return len(ARMOR) + base64 + (base64 + 63) // 64 + len(_END) + 1 + (data - 1) % 3


def _data_size(size: int, key: str, store_id: str) -> int:
    payload = size + len(VERSION) + len(store_id.encode()) + len(key.encode()) + 8 + 8 + 8 + 4 * _FIELDS + MAC_BYTES
    return _HEADER_ROOM + _TAG + payload + _TAG * max(1, (payload + _CHUNK - 1) // _CHUNK)


def text_size(stored: int, key: str, store_id: str) -> int | None:
    """The size of the note whose stored text is this long, without reading it; `None` if it cannot be one."""
    room = stored_size(0, key, store_id)
    size = max(0, (stored - room) * 64 // 65 * 3 // 4 * _CHUNK // (_CHUNK + _TAG) - 3)
    while (length := stored_size(size, key, store_id)) < stored:
        size += 1 + (stored - length) // 3
    while stored_size(size, key, store_id) > stored and size:
        size -= 1
    return size if stored_size(size, key, store_id) == stored else None
