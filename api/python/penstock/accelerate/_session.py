# SPDX-License-Identifier: Apache-2.0
"""A session whose rows are pushed, a batch at a time."""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_int64
from typing import Any, Callable

import numpy

from .. import _c
from ..errors import SessionError
from ..loader import Loader, _bad_of
from ..outputs import Batch


#: Of an iterator that goes on in a forked process.
FORKED = "its session's threads are those of the process that this one was forked from"


class PushedLoader(Loader):
    """As penstock.Loader; which rows a batch has is said before it is asked for."""
    #: Copies what the script may have changed since, before an epoch begins.
    renew: Callable[[], None] | None = None

    def _open(self) -> None:
        self._options["order"] = _c.ORDER_CALLER
        super()._open()

    @property
    def is_open(self) -> bool:
        """False after it was collected as garbage, together with the plan that would reuse it, and in a process that was forked."""
        return bool(self._session) and not self._closing and self._process == os.getpid()

    def begin(self, epoch: int) -> None:
        """Drops all rows that were pushed. Epochs have draws of their own."""
        if self.renew is not None:
            self.renew()
        with self._lock:
            if _c.library.session_start(self._live(), epoch, _c.encode_parameters({}), 0) != _c.OK:
                raise SessionError(self._error())
            self._forget()

    def push(self, rows: numpy.ndarray) -> None:
        """Says which rows of the table, up to the batch size, the next batch has."""
        with self._lock:
            array = numpy.ascontiguousarray(rows, dtype=numpy.int64)
            if _c.library.session_push_rows(self._live(), array.ctypes.data_as(POINTER(c_int64)), len(array)) != _c.OK:
                raise SessionError(self._error())

    def next(self) -> Batch:
        batch = self._next()
        assert batch is not None # epochs end where nothing is pushed
        return batch

    def bad_behind(self, epoch: int, first: int) -> set[int]:
        """Positions of the epoch that goes on, from `first` on, whose samples could not be used. Records are in the order of
        delivery, and only the last ones are kept: they are read from the end."""
        positions: set[int] = set()
        with self._told() as session:
            found, count = _bad_of(session)
            while count and found[count - 1].epoch == epoch and found[count - 1].position >= first:
                count -= 1
                positions.add(found[count].position)
        return positions


def epoch_number(*parts: int) -> int:
    """A number of 32 bits for these."""
    value = 0x9E3779B97F4A7C15
    for part in parts: # splitmix64
        value = (value + (part & (1 << 64) - 1)) & (1 << 64) - 1
        value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & (1 << 64) - 1
        value = ((value ^ value >> 27) * 0x94D049BB133111EB) & (1 << 64) - 1
        value ^= value >> 31
    return ctypes.c_uint32(value ^ value >> 32).value
