"""The keys that the operator confirmed on this device, by fingerprint: age proves of nobody who made a key file."""

from __future__ import annotations

import os

from agentm_kernel.plugin import IntegrityError, StorageIOError

_FILE = "pins"
_LIMIT = 1_000_000


class Pins:
    """The fingerprints of the epochs of one store, and which epochs are over."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, _FILE)
        self.epochs: dict[int, str] = {}
        self.pending: dict[int, str] = {}
        """Keys that this device has made and was about to put into the store."""
        self.oldest = 1
        """The oldest epoch whose notes are still read, as far as this device has seen."""
        self.has_sealed_names = False
        """Known here, because it has to be known before the keys are opened."""
        self._read()

    def __bool__(self) -> bool:
        return bool(self.epochs)

    @property
    def newest(self) -> int:
        return max(self.epochs, default=0)

    def add(self, epoch: int, fingerprint: str, *, sealed_names: bool) -> None:
        """Trust the keys of an epoch from now on."""
        self.has_sealed_names = sealed_names
        self._change({epoch: fingerprint}, 0)

    def announce(self, epoch: int, fingerprint: str) -> None:
        """Trust the keys of an epoch if they turn up in the store: this device is about to put them there."""
        self.pending[epoch] = fingerprint
        self._change({}, 0)

    def raise_oldest(self, epoch: int) -> None:
        """Remember that the notes of every epoch before this one have been rewritten."""
        if epoch > self.oldest:
            self._change({}, epoch)

    def forget(self) -> None:
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass
        self.epochs, self.pending, self.oldest, self.has_sealed_names = {}, {}, 1, False

    def _change(self, added: dict[int, str], oldest: int) -> None:
        from agentm_kernel.plugin import atomic_write, make_private_folder, store_mutex

        folder = os.path.dirname(self._path)
        make_private_folder(folder)
        with store_mutex(folder):
            self._read()
            self.epochs.update(added)
            self.oldest = max(self.oldest, oldest)
            lines = [f"epoch {number} {pin}\n" for number, pin in sorted(self.epochs.items())]
            lines += [
                f"pending {number} {pin}\n" for number, pin in self.pending.items() if number not in self.epochs
            ]
            lines += [f"oldest {self.oldest}\n", f"names {int(self.has_sealed_names)}\n"]
            atomic_write(self._path, "".join(lines))

    def _read(self) -> None:
        try:
            with open(self._path, encoding="ascii") as file:
                lines = file.read(_LIMIT).splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageIOError(f"cannot read {self._path}: {error.strerror}", errno=error.errno) from error
        except ValueError:
            raise self._damaged() from None
        try:
            for line in lines:
                word, number, *pin = line.split(" ")
                if word == "epoch":
                    self.epochs[int(number)] = pin[0]
                elif word == "pending":
                    self.pending.setdefault(int(number), pin[0])
                elif word == "oldest":
                    self.oldest = max(self.oldest, int(number))
                elif word == "names":
                    self.has_sealed_names = self.has_sealed_names or number == "1"
                else:
                    raise self._damaged()
        except (ValueError, IndexError):
            raise self._damaged() from None

    def _damaged(self) -> IntegrityError:
        return IntegrityError(
            f"{self._path} is damaged, so this device cannot tell which keys it trusts",
            hint="move that file away and run `agentm encryption join` again",
        )
