# SPDX-License-Identifier: Apache-2.0
"""Numbers that a script's own transform draws, followed from the call that draws them to where they are used.

`random.random()`, `random.uniform(a, b)`, `numpy.random.rand()`, `.random()`, `.uniform(a, b)` and `torch.rand(1)` give a
`Drawn` while they are watched: it can be scaled, and compared with a number, which decides the way that a run takes. All ways
are run, one after the other. Any other draw, and any other use, is an Unknown."""
from __future__ import annotations

import contextlib
import random
from typing import Any, Callable, Iterator

import numpy
import torch

from ._chain import Unknown


class Drawn:
    """A number, uniform in a range that comparisons narrow: `scale * u + offset`."""

    def __init__(self, ways: Ways, variable: int, scale: float = 1.0, offset: float = 0.0):
        self.ways, self.variable, self.scale, self.offset = ways, variable, scale, offset

    def range(self) -> tuple[float, float]:
        """The range of the number on this path. It is used up then: two uses would have to be the same number."""
        if self.variable in self.ways.used:
            raise Unknown("uses a number that it drew twice")
        self.ways.used.add(self.variable)
        low, high = (self.scale * end + self.offset for end in self.ways.ranges[self.variable])
        return (low, high) if low <= high else (high, low)

    def _moved(self, scale: float, offset: float) -> Drawn:
        return Drawn(self.ways, self.variable, self.scale * scale, self.offset * scale + offset)

    def __add__(self, other: float) -> Drawn:
        return self._moved(1.0, constant(other))

    def __sub__(self, other: float) -> Drawn:
        return self._moved(1.0, -constant(other))

    def __rsub__(self, other: float) -> Drawn:
        return self._moved(-1.0, constant(other))

    def __mul__(self, other: float) -> Drawn:
        return self._moved(constant(other), 0.0)

    def __truediv__(self, other: float) -> Drawn:
        return self._moved(1.0 / constant(other), 0.0)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Drawn:
        return self._moved(-1.0, 0.0)

    def __lt__(self, other: float) -> bool:
        return self.ways.below(self, constant(other))

    def __gt__(self, other: float) -> bool:
        return not self.ways.below(self, constant(other))

    __le__, __ge__ = __lt__, __gt__ # they differ where a number is met exactly

    def __eq__(self, other: object) -> bool:
        raise Unknown("asks whether a number that it drew equals another")

    __ne__ = __eq__

    @property
    def __class__(self) -> Any: # type: ignore[override]
        raise Unknown("asks what a number that it drew is")

    def __getattr__(self, name: str) -> Any:
        raise Unknown(f"asks a number that it drew for its `{name}`")

    __hash__ = None # type: ignore[assignment]

    def item(self) -> Drawn:
        return self

    def __getitem__(self, index: int) -> Drawn: # torch.rand(1)[0]
        return self

    def _elsewhere(self, *arguments: Any) -> Any:
        raise Unknown("computes with a number that it drew in a way that cannot be followed")

    __float__ = __int__ = __index__ = __bool__ = __pow__ = __rpow__ = __rtruediv__ = __mod__ = __floordiv__ = _elsewhere
    __array__ = __round__ = __abs__ = __len__ = __iter__ = __trunc__ = __floor__ = __ceil__ = __divmod__ = __rdivmod__ = _elsewhere
    __rmod__ = __rfloordiv__ = __complex__ = __str__ = __repr__ = __format__ = __contains__ = __pos__ = __reduce_ex__ = _elsewhere
    __and__ = __or__ = __xor__ = __rand__ = __ror__ = __rxor__ = __invert__ = __setitem__ = __dir__ = _elsewhere


def constant(value: Any) -> float:
    if type(value) is Drawn:
        raise Unknown("computes with two numbers that it drew")
    return float(value)


class Ways:
    """The ways that runs of a transform take, by the comparisons of what it draws."""
    LIMIT = 16

    def __init__(self) -> None:
        self.pending: list[list[bool]] = [[]]
        self.restart([])

    def restart(self, decisions: list[bool]) -> None:
        self.decisions, self.asked, self.probability = decisions, 0, 1.0
        self.ranges: list[tuple[float, float]] = []
        self.used: set[int] = set()

    def draw(self, low: float = 0.0, high: float = 1.0) -> Drawn:
        self.ranges.append((0.0, 1.0))
        low, high = constant(low), constant(high)
        return Drawn(self, len(self.ranges) - 1, high - low, low)

    def below(self, drawn: Drawn, bound: float) -> bool:
        """True if the number is below `bound` on this path; the range shrinks to the answer."""
        if drawn.variable in self.used:
            raise Unknown("uses a number that it drew twice")
        low, high = self.ranges[drawn.variable]
        if drawn.scale == 0.0:
            return drawn.offset < bound
        at = min(max((bound - drawn.offset) / drawn.scale, low), high)
        share = (at - low) / (high - low)
        left = self._decide(share) # in the lower part of the variable's own range
        self.probability *= share if left else 1.0 - share
        self.ranges[drawn.variable] = (low, at) if left else (at, high)
        return left == (drawn.scale > 0.0)

    def _decide(self, share: float) -> bool:
        if share <= 0.0 or share >= 1.0:
            return share >= 1.0
        if self.asked == len(self.decisions):
            self.pending.append(self.decisions + [False])
            if len(self.pending) > self.LIMIT:
                raise Unknown(f"has more than {self.LIMIT} ways, by what it draws")
            self.decisions = self.decisions + [True]
        self.asked += 1
        return self.decisions[self.asked - 1]

    def all(self, run: Callable[[], Any]) -> Iterator[tuple[float, Any]]:
        """(probability, result) of each way."""
        count = 0
        while self.pending:
            self.restart(self.pending.pop())
            result = run()
            count += 1
            if count > self.LIMIT:
                raise Unknown(f"has more than {self.LIMIT} ways, by what it draws")
            yield self.probability, result


#: Functions that set or give the state of a generator.
SOWN = [(random, "seed"), (random, "getstate"), (random, "setstate"), (numpy.random, "seed"), (numpy.random, "get_state"), (numpy.random, "set_state"),
        *((place, name) for place in (torch, torch.random) for name in ("manual_seed", "seed", "get_rng_state", "set_rng_state"))]
# These functions themselves, or those of another one that is watched would be called within it.
_python, _array, _tensors = random.getstate, numpy.random.get_state, torch.get_rng_state
_set_python, _set_array, _set_tensors = random.setstate, numpy.random.set_state, torch.set_rng_state


def _states() -> tuple[Any, ...]:
    kind, keys, *rest = _array()
    return _python(), (kind, keys.tobytes(), *rest), _tensors().numpy().tobytes()


@contextlib.contextmanager
def watched(ways: Ways) -> Iterator[None]:
    """The generators' functions give numbers of `ways`. Draws that are none of theirs are an Unknown; the generators are
    left as they were."""
    def no_size(*size: Any, **options: Any) -> Drawn:
        if size not in ((), (1,), ((1,),), ([1],)) or options:
            raise Unknown("draws several numbers at once")
        return ways.draw()

    def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Drawn:
        return ways.draw(low, high) if size is None else no_size(2)

    def sown(*arguments: Any, **options: Any) -> Any:
        raise Unknown("seeds a random generator, or asks for its state")
    places = [(random, "random", lambda: ways.draw()), (random, "uniform", lambda a, b: ways.draw(a, b)),
              (numpy.random, "rand", no_size), (numpy.random, "random", no_size),
              (numpy.random, "random_sample", no_size), (numpy.random, "uniform", uniform), (torch, "rand", no_size)]
    places += [(place, name, sown) for place, name in SOWN]
    kept = [getattr(place, name) for place, name, _ in places]
    before = _states()
    python, array, tensors = _python(), _array(), _tensors()
    for place, name, function in places:
        setattr(place, name, function)
    try:
        yield
        if _states() != before:
            raise Unknown("draws random numbers in a way that cannot be followed")
    finally:
        for (place, name, _), function in zip(places, kept):
            setattr(place, name, function)
        _set_python(python)
        _set_array(array)
        _set_tensors(tensors)
