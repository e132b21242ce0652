# SPDX-License-Identifier: Apache-2.0
"""Is a transform still what was compiled? A data set may change it for each sample, worker_init_fn in each worker, and a sampler for each batch."""
from __future__ import annotations

from typing import Any, Callable

from ..torch._state import State
from ._plan import flat

#: Things that are compared for each sample: of transforms that reach more, only those that were compiled are.
MOST = 200


class Guard:
    """A transform as it is now; `compiled`: how many of its parts count."""

    def __init__(self, transform: Any, compiled: int | None = None):
        self.transform, self.parts = transform, flat(transform)
        self.state = State(*self.parts[:compiled], light=True)

    def same(self) -> bool:
        parts = flat(self.transform)
        return len(parts) == len(self.parts) and all(a is b for a, b in zip(parts, self.parts)) and self.state.same()

    def made(self, function: Callable[[], Any]) -> Any:
        """What the function gives while the transform is as it was."""
        if self.state.same():
            return function()
        with self.state.restored():
            return function()


def guard_of(compose: Any, rest: int) -> Guard:
    guard = Guard(compose)
    return guard if len(guard.state.kept) <= MOST else Guard(compose, len(guard.parts) - rest)
