# SPDX-License-Identifier: Apache-2.0
"""--compare: the same batch by the script's own data set and collate_fn."""
from __future__ import annotations

from typing import Any, Iterator, Sequence

import torch

from ..errors import PenstockError
from ._fetch import fetched
from ._workers import WorkerRandomness, _set, _states


class Differs(PenstockError):
    """A batch is not what the original gives."""


def compare(dataset: Any, collate_fn: Any, indices: Sequence[Any], batch: Any, drawn: bool, name: str) -> None:
    """Makes the batch by the original, twice with other random numbers. What is equal in both must be equal in ours, and
    the rest must have equal types and shapes; so must images of which something is drawn. Raises Differs."""
    kept = _states()
    try:
        originals = []
        for seed in (1, 2):
            with WorkerRandomness(seed, 1).of(0):
                originals.append(collate_fn(fetched(dataset, indices)))
    finally:
        _set(kept)
    for path, found, one, other in beside("batch", batch, *originals):
        exact = same(one, other) and not (drawn and isinstance(one, torch.Tensor) and one.dim() > 2)
        if message := difference(found, one, exact):
            raise Differs(f"{name}: {path} {message}")


def beside(path: str, found: Any, one: Any, other: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """The leaves of three structures, with the expression that leads there."""
    if isinstance(one, dict) and isinstance(found, dict) and found.keys() == one.keys() == other.keys():
        for key in one:
            yield from beside(f"{path}[{key!r}]", found[key], one[key], other[key])
    elif isinstance(one, (list, tuple)) and type(found) is type(one) and len(found) == len(one) == len(other):
        for i, parts in enumerate(zip(found, one, other)):
            yield from beside(f"{path}[{i}]", *parts)
    else:
        yield path, found, one, other


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
    try:
        return type(one) is type(other) and bool(one == other)
    except (RuntimeError, ValueError): # of objects that compare by element
        return False


def difference(found: Any, wanted: Any, exact: bool) -> str:
    """The first difference between the two, in words; "" where they agree."""
    if type(found) is not type(wanted):
        return f"is a {type(found).__name__}, and originally a {type(wanted).__name__}"
    if not isinstance(wanted, torch.Tensor):
        return "" if not exact or same(found, wanted) else f"is {found!r}, and originally {wanted!r}"
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"is {found.dtype} of {list(found.shape)}, and originally {wanted.dtype} of {list(wanted.shape)}"
    if not exact or torch.equal(found, wanted):
        return ""
    unequal = found != wanted
    samples = unequal.reshape(len(unequal), -1).any(1).nonzero().flatten().tolist() if found.dim() else [0]
    return (f"has other values than the original's: {int(unequal.sum())} of {unequal.numel()}, in {len(samples)} samples, the first "
            f"{samples[0]}")
