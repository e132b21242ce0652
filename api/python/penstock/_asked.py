# SPDX-License-Identifier: Apache-2.0
"""Rows that come from the caller."""
from __future__ import annotations

import array
import ctypes
import threading
from typing import Any, Callable, Iterable, Iterator, Sequence

from . import _c
from .errors import SessionError


class Asked:
    """The rows that a function of the caller's gives, for the library to ask for."""

    def __init__(self, rows: Callable[[int], Iterable[Sequence[int]]]):
        self.rows = rows
        self.batches: dict[int, Iterator[Sequence[int]]] = {}
        self.error: BaseException | None = None
        self.thread: int | None = None # which is in it
        self.callback = _c.NextRows(self._next) # kept as long as the session

    def restart(self, epoch: int = -1, delivered: int = 0) -> None:
        """Begins anew; of this epoch so many rows are delivered."""
        self.batches.clear()
        self.error = None
        if delivered:
            self.batches[epoch] = self._behind(iter(self.rows(epoch)), delivered)

    def _behind(self, batches: Iterator[Sequence[int]], count: int) -> Iterator[Sequence[int]]:
        for batch in batches:
            if count < len(batch):
                yield batch[count:]
            count = max(count - len(batch), 0)

    def _broken(self, epoch: int, error: BaseException) -> Iterator[Sequence[int]]:
        if isinstance(error, SessionError):
            raise_again: BaseException = error
        else:
            raise_again = SessionError(f"the function that gives the rows of epoch {epoch} ended with {type(error).__name__}; "
                                       "load_state_dict(state_dict()) asks it again")
        raise raise_again
        yield []

    def is_interrupted(self) -> bool:
        """True where what was raised shall not wait for batches that were asked for before."""
        return self.error is not None and not isinstance(self.error, Exception)

    def reraise(self) -> None:
        """Raises the exception that the function raised, if any, once."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def _next(self, context: Any, epoch: int, rows: Any, capacity: int) -> int:
        if self.error is not None: # of a call that was interrupted before it told
            return -2 if isinstance(self.error, Exception) else -1
        self.thread = threading.get_ident()
        try:
            if epoch not in self.batches:
                self.batches[epoch] = iter(self.rows(epoch))
            try:
                batch = list(next(self.batches[epoch]))
            except StopIteration:
                del self.batches[epoch]
                return 0
            if not 0 < len(batch) <= capacity:
                raise SessionError(f"rows for a batch are 1 to {capacity}, not {len(batch)}")
            try:
                numbers = array.array("q", batch)
            except (TypeError, OverflowError) as error:
                raise type(error)(f"rows are integers of 64 bits, the numbers of the table's: {error}") from None
            ctypes.memmove(rows, numbers.buffer_info()[0], numbers.itemsize * len(numbers))
            return len(batch)
        except BaseException as error: # noqa: BLE001: it goes on in the thread that waits
            self.error = error
            if getattr(self.batches.get(epoch), "gi_frame", error) is None: # a generator, which this has ended, and not the epoch
                self.batches[epoch] = self._broken(epoch, error)
            return -2 if isinstance(error, Exception) else -1 # what interrupts is not kept until all batches are there
        finally:
            self.thread = None
