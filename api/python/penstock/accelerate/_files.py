# SPDX-License-Identifier: Apache-2.0
"""Files that a script has opened, and that a pipeline reads later: the same file then, or none.

A path may name another file by then: the script moves a link, changes its folder, puts a file in the place of another or writes a scratch
file anew for each sample. So a file goes by the name that the system has for what is open, with what tells it from others; and where it
was written just before, so that times cannot tell one content from the next, by its bytes."""
from __future__ import annotations

import io
import os
import stat
import time
from typing import Any

#: Nanoseconds for which a file that was written goes by its bytes: file systems count times in up to 2 seconds.
JUST_WRITTEN = 2_000_000_000


def _identity(found: os.stat_result) -> tuple[int, ...]:
    # A script can set st_mtime, and not st_ctime.
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class File(str):
    """A path, and which file it named when the script had it open."""
    identity: tuple[int, ...]

    def __new__(cls, path: str, identity: tuple[int, ...]) -> File:
        made = super().__new__(cls, path)
        made.identity = identity
        return made

    def __reduce__(self) -> Any:
        return File, (str(self), self.identity)

    def is_same(self) -> bool:
        try:
            return _identity(os.stat(self)) == self.identity
        except OSError:
            return False


def open_file(file: io.BufferedReader) -> File | bytes | None:
    """The file that is open, or its bytes where its path cannot stand for it; None for what is no regular file."""
    if type(file.raw) is not io.FileIO: # what is unpacked, say
        return None
    try:
        number = file.fileno()
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            return None
        if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > JUST_WRITTEN:
            path = File(os.readlink(f"/proc/self/fd/{number}"), _identity(found))
            if path.is_same():
                return path
        return _content(number, found.st_size)
    except (OSError, ValueError): # closed, say
        return None


def _content(number: int, size: int) -> bytes:
    parts, at = [], 0
    while at < size and (part := os.pread(number, size - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)
