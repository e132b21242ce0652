# SPDX-License-Identifier: Apache-2.0
"""The report on each loader of a script, printed when it ends."""
from __future__ import annotations

import atexit
import os
import sys
from dataclasses import dataclass, field
from typing import Any

PREFIX = "penstock accelerate: "


def say(text: str) -> None:
    print(PREFIX + text, file=sys.stderr, flush=True)


@dataclass
class Entry:
    """A loader; or several that are made anew at the same place, for the same."""
    name: str
    #: The reason that its batches are not Penstock's; "": they are.
    reason: str = ""
    #: Remarks on it.
    notes: list[str] = field(default_factory=list)
    samples: int = 0
    #: Images that a pipeline made, of samples by leaves.
    images: int = 0
    waited: float = 0.0
    #: From the first batch that was asked for to the last that was delivered, summed over iterations.
    elapsed: float = 0.0
    _last: float = 0.0

    def begun(self) -> None:
        self._last = 0.0

    def delivered(self, samples: int, asked: float, now: float) -> None:
        """A batch; when it was asked for and when it came, in seconds."""
        self.samples += samples
        self.waited += now - asked
        self.elapsed += now - (self._last or asked)
        self._last = now

    def failed(self, error: Exception) -> None:
        """A session that could not go on; the original does."""
        self.note(f"from some batch on as it is: {error}")

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            say(f"{self.name}: {text}")

    def line(self) -> str:
        if self.reason:
            return f"{self.name}: untouched: {self.reason}"
        rate = f"{self.samples / self.elapsed:.0f} samples/s" if self.elapsed else "no batch was asked for"
        leaves = f" ({self.images} images by leaves)" if self.images else ""
        return f"{self.name}: accelerated: {self.samples} samples{leaves}, {rate}, waited {self.waited:.2f} s of {self.elapsed:.2f} s"


class Report:
    """All loaders of this process."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], Entry] = {}
        self.process = os.getpid()
        atexit.register(self.print)

    def entry(self, name: str, reason: str) -> tuple[Entry, bool]:
        """The loader's entry, and whether it is a new one."""
        new = (name, reason) not in self.entries
        return self.entries.setdefault((name, reason), Entry(name, reason)), new

    def print(self) -> None:
        if os.getpid() != self.process or not self.entries: # a child has its own
            return
        for entry in self.entries.values():
            say(entry.line())


_HERE = os.path.dirname(os.path.realpath(__file__))


def where() -> str:
    """The script's line that is running: the innermost one that is in no installed package."""
    frame: Any = sys._getframe(1)
    found = "?"
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_globals.get("__name__", "").split(".")[0] not in ("penstock", "torch", "runpy") and not name.startswith("<") and (
                os.path.dirname(os.path.realpath(name)) != _HERE): # _start has another name in processes that the script starts
            found = f"{os.path.basename(name)}:{frame.f_lineno}"
            if "site-packages" not in name and "dist-packages" not in name:
                break
        frame = frame.f_back
    return found
