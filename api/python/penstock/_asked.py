# SPDX-License-Identifier: Apache-2.0
"""Rows that come from the caller."""
from __future__ import annotations

import array
import ctypes
import itertools
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
        self._taken: list[Any] = [] # a batch that the library may not have, and what it had been given before it
        self._given = -1

    def restart(self, epoch: int = -1, delivered: int = 0) -> None:
        """Begins anew; of this epoch so many rows are delivered."""
        self.batches.clear()
        self._taken.clear()
        self.error, self._given = None, -1
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

    def reraise(self) -> None:
        """Raises the exception that the function raised, if any, once."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def give(self, session: Any, most: int) -> None:
        """Hands the library the rows, at most so many each, of as many batches as it may work on ahead. What interrupts is raised at once, and comes behind any
        call: rows are in `_taken` from the function's batch on until the library counts them among those that it has. What else the
        function raises comes behind the batches before, by `reraise`."""
        epoch = ctypes.c_uint32()
        while self.error is None and (given := _c.library.session_wants_rows(session, ctypes.byref(epoch))) >= 0:
            if self._given != given: # else an interrupted call has them
                self._taken.clear()
                self._given = given
            try:
                self.thread = threading.get_ident()
                numbers = self._numbers(epoch.value, most)
            except BaseException as error:
                if getattr(self.batches.get(epoch.value), "gi_frame", error) is None: # a generator, which this has ended, and not the epoch
                    self.batches[epoch.value] = self._broken(epoch.value, error)
                if not isinstance(error, Exception):
                    raise
                self.error = error
            else:
                if _c.library.session_push_rows(session, (ctypes.c_int64 * len(numbers)).from_buffer(numbers), len(numbers)) != _c.OK:
                    self._taken.clear()
                    self.error = SessionError(_c.decode(_c.library.session_error(session)))
            finally:
                self.thread = None

    def _numbers(self, epoch: int, most: int) -> array.array[int]:
        """The rows of the next batch; none: the epoch ends."""
        if not self._taken:
            if epoch not in self.batches:
                self.batches.pop(epoch - 1, None) # it has ended
                self.batches[epoch] = iter(self.rows(epoch))
            self._taken.extend(map(list, itertools.islice(self.batches[epoch], 1))) # one call: nothing comes between
            if not self._taken:
                return array.array("q")
        try:
            numbers = array.array("q", self._taken[0])
        except (TypeError, OverflowError) as error:
            self._taken.clear()
            raise type(error)(f"rows are integers of 64 bits, the numbers of the table's: {error}") from None
        if not 0 < len(numbers) <= most:
            self._taken.clear()
            raise SessionError(f"rows for a batch are 1 to {most}, not {len(numbers)}")
        return numbers
