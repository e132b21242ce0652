# SPDX-License-Identifier: Apache-2.0
"""Is a transform still what was compiled? A data set may change it for each sample, worker_init_fn in each worker, and a sampler for each batch.
And are Pillow, torchvision and torch what pipelines do the same as?"""
from __future__ import annotations

from typing import Any, Callable

import torch
from PIL import Image

from ..torch._state import State
from ._lazy import FORMATS
from ._originals import originals
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


#: Pillow's own `Image.MAX_IMAGE_PIXELS`.
MOST_PIXELS = 1024 * 1024 * 1024 // 4 // 3


def unlike() -> str:
    """What of Pillow, torchvision and torch is not as pipelines have it, in words; "" where all is."""
    if changed := originals.changed():
        return changed
    if torch.get_default_dtype() is not torch.float32:
        return f"the default dtype is {torch.get_default_dtype()}, and pipelines make tensors of torch.float32"
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and limit < MOST_PIXELS:
        return f"PIL.Image.MAX_IMAGE_PIXELS is {limit}, and pipelines read larger images"
    for name in FORMATS & Image.OPEN.keys():
        if not str(Image.OPEN[name][0].__module__).startswith("PIL."):
            return f"images of {name} are opened by {Image.OPEN[name][0].__module__}"
    return ""
