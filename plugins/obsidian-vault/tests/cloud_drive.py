"""A file system that behaves as a cloud drive does: some of its files are not on this device.

    python cloud_drive.py BACKING MOUNTPOINT

speaks the kernel's FUSE protocol over /dev/fuse itself (so it needs root and no library) and passes everything on to
the folder BACKING, except for files whose name begins with

    no-blocks   their status has a size and no blocks
    deadlock    reading them fails with EDEADLK, as macOS does
    slow        reading them takes `SECONDS`, every time

It cannot exchange two names, like most drives of this kind. Ends when it is unmounted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
import threading
from typing import Any

SECONDS = 15.0

ROOT = 1
LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, RENAME, LINK, OPEN = 1, 2, 3, 4, 9, 10, 11, 12, 13, 14
READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR = (
    15,
    16,
    17,
    18,
    20,
    25,
    26,
    27,
    28,
    29,
)
FSYNCDIR, ACCESS, CREATE, INTERRUPT, DESTROY, BATCH_FORGET, RENAME2 = 30, 34, 35, 36, 38, 42, 45
UNANSWERED = {FORGET, BATCH_FORGET, INTERRUPT, DESTROY}

HEADER = struct.Struct("<IIQQIIII")
ANSWER = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<6Q10I")
FATTR_MODE, FATTR_UID, FATTR_GID, FATTR_SIZE = 1, 2, 4, 8


class Drive:
    """One mounted drive, serving until it is unmounted."""

    def __init__(self, backing: str, device: int) -> None:
        self._device = device
        self._paths = {ROOT: backing}
        self._fetching: dict[int, threading.Event] = {}
        """Requests that wait for a download, and how to give one up."""
        self._verbs = {
            GETATTR: self._getattr,
            SETATTR: self._setattr,
            LOOKUP: self._lookup,
            MKDIR: self._mkdir,
            UNLINK: lambda node, data: os.unlink(self._child(node, data)),
            RMDIR: lambda node, data: os.rmdir(self._child(node, data)),
            RENAME: lambda node, data: self._rename(node, data, 8, 0),
            RENAME2: lambda node, data: self._rename(node, data, 16, struct.unpack_from("<I", data, 8)[0]),
            LINK: self._link,
            OPEN: self._open,
            CREATE: self._create,
            READ: self._read,
            WRITE: self._write,
            FSYNC: lambda node, data: os.fsync(struct.unpack_from("<Q", data)[0]),
            RELEASE: lambda node, data: os.close(struct.unpack_from("<Q", data)[0]),
            READDIR: self._readdir,
            STATFS: lambda node, data: struct.pack(
                "<5Q4I24x", 1 << 20, 1 << 19, 1 << 19, 1 << 16, 1 << 15, 4096, 255, 4096, 0
            ),
            **dict.fromkeys((OPENDIR,), lambda node, data: struct.pack("<QII", 0, 0, 0)),
            **dict.fromkeys((FLUSH, RELEASEDIR, FSYNCDIR, ACCESS), lambda node, data: b""),
        }

    def serve(self) -> None:
        while True:
            try:
                request = os.read(self._device, (1 << 20) + 4096)
            except InterruptedError:
                continue
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                raise
            _, verb, unique, node, *_ = HEADER.unpack_from(request)
            data = request[HEADER.size :]
            if verb == INIT:
                # 7.31: no flags, so that locks and caches are the kernel's business
                self._reply(unique, struct.pack("<IIIIHHIIHHI28x", 7, 31, 1 << 17, 0, 16, 12, 1 << 17, 1, 32, 0, 0))
            elif verb == INTERRUPT:
                self._fetching.get(struct.unpack_from("<Q", data)[0], threading.Event()).set()
            elif verb not in UNANSWERED:
                threading.Thread(target=self._answer, args=(unique, verb, node, data), daemon=True).start()

    def _answer(self, unique: int, verb: int, node: int, data: bytes) -> None:
        try:
            if verb == READ:
                self._fetch(unique, os.path.basename(self._paths[node]))
            handler = self._verbs.get(verb)
            if handler is None:
                raise OSError(errno.ENOSYS, "")
            self._reply(unique, handler(node, data) or b"")
        except OSError as error:
            self._reply(unique, b"", error.errno or errno.EIO)

    def _reply(self, unique: int, payload: bytes, code: int = 0) -> None:
        try:
            os.write(self._device, ANSWER.pack(ANSWER.size + len(payload), -code, unique) + payload)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENODEV):  # the caller has gone
                raise

    # -- names --------------------------------------------------------------------------------------------------

    def _child(self, node: int, name: bytes) -> str:
        return os.path.join(self._paths[node], os.fsdecode(name.partition(b"\0")[0]))

    def _attributes(self, path: str) -> bytes:
        found = os.lstat(path)
        blocks = 0 if os.path.basename(path).startswith("no-blocks") else found.st_blocks
        times = [divmod(moment, 10**9) for moment in (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)]
        seconds, nanoseconds = zip(*times, strict=True)
        owner = (found.st_mode, found.st_nlink, found.st_uid, found.st_gid)
        return ATTRIBUTES.pack(self._node(path), found.st_size, blocks, *seconds, *nanoseconds, *owner, 0, 4096, 0)

    def _node(self, path: str) -> int:
        if path == self._paths[ROOT]:
            return ROOT
        node = os.lstat(path).st_ino + ROOT
        self._paths[node] = path
        return node

    def _entry(self, path: str) -> bytes:
        """No answer is valid for any time: the kernel asks again, and sees what others change in the folder."""
        attributes = self._attributes(path)
        return struct.pack("<QQQQII", self._node(path), 0, 0, 0, 0, 0) + attributes

    def _lookup(self, node: int, data: bytes) -> bytes:
        return self._entry(self._child(node, data))

    def _getattr(self, node: int, data: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._attributes(self._paths[node])

    def _setattr(self, node: int, data: bytes) -> bytes:
        valid, _, _, size, _, _, _, _, _, _, _, mode, _, uid, gid, _ = struct.unpack_from("<IIQQQQQQIIIIIIII", data)
        path = self._paths[node]
        if valid & FATTR_MODE:
            os.chmod(path, mode & 0o7777)
        if valid & (FATTR_UID | FATTR_GID):
            os.chown(path, uid if valid & FATTR_UID else -1, gid if valid & FATTR_GID else -1)
        if valid & FATTR_SIZE:
            os.truncate(path, size)
        return self._getattr(node, data)

    def _mkdir(self, node: int, data: bytes) -> bytes:
        path = self._child(node, data[8:])
        os.mkdir(path, struct.unpack_from("<I", data)[0])
        return self._entry(path)

    def _rename(self, node: int, data: bytes, header: int, flags: int) -> None:
        if flags:
            raise OSError(errno.EINVAL, "")
        old, new = data[header:].split(b"\0")[:2]
        source = self._child(node, old)
        target = self._child(struct.unpack_from("<Q", data)[0], new)
        os.rename(source, target)
        self._node(target)

    def _link(self, node: int, data: bytes) -> bytes:
        target = self._child(node, data[8:])
        os.link(self._paths[struct.unpack_from("<Q", data)[0]], target)
        return self._entry(target)

    def _readdir(self, node: int, data: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", data)
        listing = b""
        for number, name in enumerate(sorted(os.listdir(self._paths[node])), start=1):
            encoded = os.fsencode(name)
            kind = 4 if os.path.isdir(os.path.join(self._paths[node], name)) else 8
            entry = struct.pack("<QQII", number + ROOT, number, len(encoded), kind) + encoded
            entry += b"\0" * (-len(entry) % 8)
            if number > offset:
                if len(listing) + len(entry) > size:
                    break
                listing += entry
        return listing

    # -- contents -----------------------------------------------------------------------------------------------

    def _open(self, node: int, data: bytes) -> bytes:
        flags = struct.unpack_from("<I", data)[0] & ~os.O_NOFOLLOW
        return struct.pack("<QII", os.open(self._paths[node], flags), 1, 0)  # direct: nothing is read ahead

    def _create(self, node: int, data: bytes) -> bytes:
        flags, mode = struct.unpack_from("<II", data)
        path = self._child(node, data[16:])
        descriptor = os.open(path, flags | os.O_CREAT, mode)
        return self._entry(path) + struct.pack("<QII", descriptor, 1, 0)

    def _fetch(self, unique: int, name: str) -> None:
        if name.startswith("deadlock"):
            raise OSError(errno.EDEADLK, "")
        if name.startswith("slow"):
            given_up = self._fetching[unique] = threading.Event()
            if given_up.wait(SECONDS):
                raise OSError(errno.EINTR, "")

    def _read(self, node: int, data: bytes) -> bytes:
        descriptor, offset, size = struct.unpack_from("<QQI", data)
        return os.pread(descriptor, size, offset)

    def _write(self, node: int, data: bytes) -> bytes:
        descriptor, offset, size = struct.unpack_from("<QQI", data)
        return struct.pack("<II", os.pwrite(descriptor, data[40 : 40 + size], offset), 0)


def main(backing: str, point: str) -> None:
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    library: Any = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"drive", os.fsencode(point), b"fuse", 0, options.encode()) != 0:
        code = ctypes.get_errno()
        sys.exit(f"cannot mount: {os.strerror(code)}")
    print("ready", flush=True)
    Drive(os.path.abspath(backing), device).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
