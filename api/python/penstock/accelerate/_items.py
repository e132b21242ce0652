# SPDX-License-Identifier: Apache-2.0
"""Sessions over images that are given a batch at a time."""
from __future__ import annotations

import io
from typing import Any, Sequence

import numpy
import torch
from PIL import Image

from ..dataset import from_dataset
from ..torch._loader import as_tensor
from ._plan import open_session


class _Rows:
    """A table without end. A row is what was said for its number: an image (a path, encoded bytes, pixels), or one with numbers."""
    LENGTH = 1 << 40

    def __init__(self) -> None:
        self.items: dict[int, Any] = {}
        self.spare: Any = None

    def __len__(self) -> int:
        return self.LENGTH

    def __getitem__(self, number: int) -> Any:
        return self.items.get(number, self.spare)


def _encoded(size: tuple[int, int]) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size).save(file, "PNG", compress_level=1)
    return file.getvalue()


class ItemSession:
    """A session whose rows are given with their contents. They are kept until their batch is delivered."""

    def __init__(self, text: str, capacity: int, columns: Sequence[str] = ("data",)):
        self.capacity, self.rows = capacity, _Rows()
        self.session = open_session(text, capacity, dataset=from_dataset(self.rows, columns))

    def begin(self, epoch: int) -> None:
        self.session.begin(epoch)
        self.rows.items.clear()
        self.given = self.taken = 0
        self.epoch = epoch

    def push(self, items: Sequence[Any], size: tuple[int, int] = (512, 512)) -> None:
        """Says the next images, or rows of an image and numbers; any number of them. `size` is that of the first."""
        if self.rows.spare is None and items:
            # Rows of which nothing was said stand in for bad ones; the batch is not used then. These numbers must fit them.
            self.rows.spare = (_encoded(size), *items[0][1:]) if isinstance(items[0], tuple) else _encoded(size)
        for first in range(0, len(items), self.capacity):
            part = items[first:first + self.capacity]
            self.rows.items.update(enumerate(part, self.given))
            self.session.push(numpy.arange(self.given, self.given + len(part)))
            self.given += len(part)

    def take(self, count: int) -> tuple[torch.Tensor, bool]:
        """The pipeline's results of the next `count` images, and whether all of these could be read."""
        parts, first = [], self.taken
        while self.taken < first + count:
            parts.append(as_tensor(self.session.next()[0]))
            self.taken += len(parts[-1])
        for number in range(first, self.taken):
            del self.rows.items[number]
        return parts[0] if len(parts) == 1 else torch.cat(parts), not self.session.bad_behind(self.epoch, first)
