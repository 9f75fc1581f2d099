"""`vFile` (GDB manual, E.7): the files of the recording, so that GDB finds the program anywhere.

Files are read-only.  A path is first looked up in the recording's store.  Of the host's files only
detached debug information may be read.
"""

from __future__ import annotations

import errno
import os
import stat as stat_bits
import struct
from pathlib import Path

from rdb.recording import RankRecording
from rdb.recording.symbols.detached import DEBUG_FOLDER, SYMBOLS
from rdb.server.packets import PACKET_SIZE, escape

_PART_MIN = 2048
_PART_MAX = PACKET_SIZE // 2 - 64  # escaping may double the bytes
_HOST_FOLDERS = (DEBUG_FOLDER,)
# Constants of the File I/O protocol (GDB manual, E.13.9); they differ from the host's.
_WRITING = 0x1 | 0x2 | 0x8 | 0x200 | 0x400 | 0x800
_ERRNO = {errno.ENOENT: 2, errno.EBADF: 9, errno.EACCES: 13, errno.EINVAL: 22, errno.EROFS: 30}


class Files:
    def __init__(self, recording: RankRecording) -> None:
        self.recording = recording
        self._open: dict[int, int] = {}
        self._next = 3
        self._ahead: dict[int, tuple[int, int]] = {}  # fd -> (offset after the last read, its size)

    def handle(self, body: bytes) -> bytes:
        """The reply to the packet `vFile:BODY`; empty: the operation is not known."""
        operation, _, arguments = body.partition(b":")
        method = {
            b"setfs": self._setfs,
            b"open": self._open_file,
            b"pread": self._pread,
            b"fstat": self._fstat,
            b"close": self._close,
            b"readlink": self._readlink,
        }.get(operation)
        if method is None:
            return b""
        try:
            return method(arguments)
        except OSError as error:
            return b"F-1,%x" % _ERRNO.get(error.errno or 0, 9999)
        except (ValueError, KeyError, OverflowError):
            return b"F-1,%x" % _ERRNO[errno.EINVAL]

    def close(self) -> None:
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()

    @property
    def fds(self) -> list[int]:
        return list(self._open.values())

    def find(self, path: str) -> Path | None:
        """The file of this host with the contents of the recorded program's `path`; None: none."""
        stored = self.recording.store_path(path)
        if stored is not None:
            return Path(stored)
        packed = self._packed(path)
        if packed is not None:
            return packed
        real = Path(os.path.realpath(path))
        if any(real.is_relative_to(folder) for folder in _HOST_FOLDERS) and real.is_file():
            return real
        return None

    def _packed(self, path: str) -> Path | None:
        """Debug information in the recording's pack."""
        folder = self.recording.files_dir.parent / SYMBOLS
        below = os.path.relpath(os.path.normpath(path), DEBUG_FOLDER)
        found = folder / below
        return found if not below.startswith("..") and found.is_file() else None

    def _setfs(self, arguments: bytes) -> bytes:
        int(arguments, 16)
        return b"F0"

    def _open_file(self, arguments: bytes) -> bytes:
        name, flags, _mode = arguments.split(b",")
        if int(flags, 16) & _WRITING:
            raise OSError(errno.EROFS, "read-only")
        found = self.find(bytes.fromhex(name.decode("ascii")).decode("utf-8", "surrogateescape"))
        if found is None:
            raise OSError(errno.ENOENT, "not in the recording")
        number = self._next
        self._next += 1
        self._open[number] = os.open(found, os.O_RDONLY | os.O_CLOEXEC)
        return b"F%x" % number

    def _pread(self, arguments: bytes) -> bytes:
        number, count, offset = (int(word, 16) for word in arguments.split(b","))
        # GDB asks for more than it uses, which costs it 0.1 us a byte, and asks again for what is
        # missing.  So parts grow only while GDB reads sequentially.
        expected, part = self._ahead.get(number, (0, _PART_MIN))
        part = min(2 * part, _PART_MAX) if offset == expected else _PART_MIN
        data = os.pread(self._open[number], min(count, part), offset)
        self._ahead[number] = (offset + len(data), part)
        return b"F%x;" % len(data) + escape(data)

    def _fstat(self, arguments: bytes) -> bytes:
        info = os.fstat(self._open[int(arguments, 16)])
        # struct stat of the File I/O protocol (E.13.9): big-endian, 64 bytes.
        packed = struct.pack(
            ">IIIIIIIQQQIII",
            *(info.st_dev & 0xFFFFFFFF, info.st_ino & 0xFFFFFFFF),
            *(stat_bits.S_IFREG | 0o444, 1, 0, 0, 0),
            *(info.st_size, info.st_blksize, info.st_blocks),
            *(int(t) & 0xFFFFFFFF for t in (info.st_atime, info.st_mtime, info.st_ctime)),
        )
        return b"F%x;" % len(packed) + escape(packed)

    def _close(self, arguments: bytes) -> bytes:
        number = int(arguments, 16)
        os.close(self._open.pop(number))
        self._ahead.pop(number, None)
        return b"F0"

    def _readlink(self, arguments: bytes) -> bytes:
        # Nothing in the store is a link: paths are kept as the program used them.
        path = bytes.fromhex(arguments.decode("ascii")).decode("utf-8", "surrogateescape")
        raise OSError(errno.EINVAL if self.find(path) else errno.ENOENT, "not a link")
