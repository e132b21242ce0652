# SPDX-License-Identifier: Apache-2.0
"""Recorded calls of a script on images that nobody looked at, and the stages of a pipeline that compute the same.

Cuts, flips and pads one after the other are one window into the image: so scripts that draw a flip or not, or pad small images alone,
have few pipelines; and so are colours one step in an order that is a number. The numbers of a stage are columns of the pipeline's table, in its text `{}`
for whole ones and `{f}` for others; but for the extents of what is handed over: a batch has one."""
from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, replace
from typing import Any, Callable

import torch
import torchvision.transforms as v1

from ..torch._chain import Chain
from ..torch._follow import Follower
from ..torch._known import resizes_tall_images_down_first
from ._tables import GREY_ITEMS, ITEMS, Source

#: Pillow's filters by number.
FILTERS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
#: Filters of warps, by Pillow's number.
WARPS = {0: "nearest", 2: "linear", 3: "cubic"}
#: The steps of the library's `jittered`, and their orders by number.
COLOURS = ("brightness", "contrast", "saturation", "hue")
ORDERS = list(itertools.permutations(range(4)))
#: A column in a text.
COLUMN = re.compile(r"\{(f?)\}")
#: Sides of images that are recorded, and stages of one.
LARGEST, MOST = 1 << 15, 12


@dataclass(frozen=True)
class Window:
    """A part of an image of `extents` (width, height): from `start` on, `size` long, mirrored or not, each by axis. Beyond the image lies
    `fill`; None: nothing does."""
    extents: tuple[int, int]
    start: tuple[int, int]
    size: tuple[int, int]
    mirrored: tuple[bool, bool] = (False, False)
    fill: int | None = None

    @staticmethod
    def whole(extents: tuple[int, int]) -> Window:
        return Window(extents, (0, 0), extents)

    @property
    def beyond(self) -> tuple[int, int, int, int]:
        """Distances that it reaches beyond the image: left, top, right, bottom."""
        (left, top), (right, bottom) = self.start, (self.start[k] + self.size[k] - self.extents[k] for k in (0, 1))
        return max(0, -left), max(0, -top), max(0, right), max(0, bottom)

    def cut(self, box: tuple[int, int, int, int], fill: int) -> Window | None:
        """The part of it from (left, top) to (right, bottom). None: pixels that an earlier cut took away would be seen again, or two fills."""
        start, size, grown = [0, 0], [0, 0], False
        for k in (0, 1):
            low, high, end = box[k], box[k + 2], self.start[k] + self.size[k]
            start[k] = end - high if self.mirrored[k] else self.start[k] + low
            size[k] = high - low
            if start[k] < self.start[k] and self.start[k] > 0 or start[k] + size[k] > end and end < self.extents[k]:
                return None
            grown = grown or low < 0 or high > self.size[k]
        if grown and self.fill not in (None, fill):
            return None
        return replace(self, start=tuple(start), size=tuple(size), fill=fill if grown else self.fill)

    def flipped(self, axis: int) -> Window:
        return replace(self, mirrored=tuple(m != (k == axis) for k, m in enumerate(self.mirrored)))

    def stages(self, last: bool) -> tuple[list[str], list[int]]:
        """Its stages, with `{}` in place of numbers, and the numbers; extents of the last stage are part of the text."""
        texts, numbers = [], []
        (left, top), (width, height), beyond = self.start, self.size, self.beyond
        if any(beyond):
            texts.append(f"pad({{}}, {{}}, {{}}, {{}}, constant, {self.fill})")
            numbers += beyond
        texts.append(f"crop({{}}, {{}}, {height}, {width})" if last else "crop({}, {}, {}, {})")
        numbers += [top + beyond[1], left + beyond[0]] + ([] if last else [height, width])
        texts += ["flip(w) if {} == 1", "flip(h) if {} == 1"]
        return texts, numbers + [int(mirrored) for mirrored in self.mirrored]


def coloured(colours: tuple[tuple[int, float], ...]) -> tuple[str, tuple[Any, ...]]:
    """Steps of colours, each once, as one stage: which ones there are, and their order, are numbers."""
    amounts = {step: amount for step, amount in enumerate((1.0, 1.0, 1.0, 0.0))} | dict(colours)
    steps = [step for step, _ in colours]
    order = ORDERS.index((*steps, *(step for step in range(4) if step not in steps)))
    return "jittered({}, {f}, {f}, {f}, {f}, {} == 1)", (order, *amounts.values(), int(3 in steps))


Call = tuple[str, tuple[Any, ...]]
#: Sets of stages, with the numbers left out: mode of the image, stages, what is done to the tensor.
Key = tuple[str, tuple[str, ...], tuple[Call, ...]]


@dataclass(frozen=True)
class Recorded:
    """An image, or a tensor of one, that nobody looked at."""
    #: The path or bytes of the file, and the image's mode.
    item: Any
    mode: str
    #: The size of the file's image.
    extents: tuple[int, int]
    #: The recorded calls, which `made` repeats.
    calls: tuple[Call, ...]
    #: The stages so far, each with `{}` in place of its numbers, and the numbers.
    texts: tuple[str, ...]
    numbers: tuple[Any, ...]
    #: The part of their result that is visible.
    window: Window
    #: Steps of colours behind it, with their amounts.
    colours: tuple[tuple[int, float], ...] = ()
    #: Calls on the tensor; none: it is a Pillow image.
    tail: tuple[Call, ...] = ()

    @staticmethod
    def of(item: Any, mode: str, size: tuple[int, int]) -> Recorded:
        return Recorded(item, mode, size, (), (), (), Window.whole(size))

    @property
    def size(self) -> tuple[int, int]:
        return self.window.size

    @property
    def plain(self) -> bool:
        """True if no call was recorded."""
        return not self.calls

    @property
    def is_float(self) -> bool:
        """True for a tensor of f32, and not of bytes."""
        return any(name in ("to_tensor", "convert_image_dtype", "to_dtype") for name, _ in self.tail)

    @property
    def touched(self) -> bool:
        return bool(self.colours) or self.window != Window.whole(self.window.extents)

    def called(self, name: str, *arguments: Any, **changes: Any) -> Recorded:
        return replace(self, calls=self.calls + ((name, arguments),), **changes)

    # Each of these gives what is recorded then, or None where that has no stages.

    def cut(self, name: str, arguments: tuple[Any, ...], box: tuple[int, int, int, int], fill: int | None = 0) -> Recorded | None:
        """`fill` None: nothing may lie beyond the image."""
        (width, height), (left, top, right, bottom) = self.size, box
        grown = left < 0 or top < 0 or right > width or bottom > height
        if not (left < right <= LARGEST and top < bottom <= LARGEST and left > -LARGEST and top > -LARGEST) or grown and fill is None:
            return None
        window = None if self.colours else self.window.cut(box, fill or 0)
        if window is not None:
            return self.called(name, *arguments, window=window)
        if len(self.texts) > MOST:
            return None
        closed = self.closed()
        return closed.called(name, *arguments, window=closed.window.cut(box, fill or 0))

    def flip(self, name: str, arguments: tuple[Any, ...], *axes: int) -> Recorded:
        # Colours are the same of a mirrored image.
        window = self.window
        for axis in axes:
            window = window.flipped(axis)
        return self.called(name, *arguments, window=window)

    def resized(self, name: str, arguments: tuple[Any, ...], size: tuple[int, int], filter: str) -> Recorded | None:
        closed = self.closed() if self.touched else self
        width, height = size
        if self.tail or not (0 < width <= LARGEST and 0 < height <= LARGEST) or len(closed.texts) > MOST:
            return None
        call = "resized" if resizes_tall_images_down_first(filter) else "resize"
        return closed.called(name, *arguments, texts=closed.texts + (f"{call}({{}}, {{}}, filter = {filter})",),
                             numbers=closed.numbers + (height, width), window=Window.whole(size))

    def warped(self, name: str, arguments: tuple[Any, ...], size: tuple[int, int], matrix: tuple[float, ...], interpolation: str,
               fill: int) -> Recorded | None:
        """By Pillow's matrix of an affine transform."""
        closed = self.closed() if self.touched else self
        (width, height), straight = size, matrix[1] == 0.0 and matrix[3] == 0.0 # whose places Pillow adds up
        if self.tail or straight or not all(map(math.isfinite, matrix)) or max(*size, *self.size) > LARGEST or min(size) < 1 or len(closed.texts) > MOST:
            return None
        return closed.called(name, *arguments, numbers=closed.numbers + matrix + (height, width), window=Window.whole(size), texts=closed.texts + (
            f"warp({{ a = {{f}}, b = {{f}}, c = {{f}}, d = {{f}}, e = {{f}}, f = {{f}} }}, {{}}, {{}}, {interpolation}, fill = {fill})",))

    def stepped(self, name: str, amount: float, step: int) -> Recorded | None:
        """A step of colours."""
        if self.tail or self.mode != "RGB" or not math.isfinite(amount):
            return None
        start = self
        if step in [known for known, _ in self.colours]:
            if len(self.texts) > MOST:
                return None
            start = self.closed()
        return start.called(name, amount, colours=start.colours + ((step, amount),))

    def then(self, name: str, *arguments: Any, tail: Call | None) -> Recorded:
        """Records a call that acts on each element of a tensor, or makes one; a tail of None leaves the elements as they are."""
        return self.called(name, *arguments, tail=self.tail if tail is None else self.tail + (tail,))

    def closed(self, last: bool = False) -> Recorded:
        texts, numbers = self.window.stages(last)
        return replace(self, texts=self.texts + tuple(texts), numbers=self.numbers + tuple(numbers), window=Window.whole(self.size)).painted()

    def painted(self) -> Recorded:
        if not self.colours:
            return self
        text, numbers = coloured(self.colours)
        return replace(self, texts=(*self.texts, text), numbers=self.numbers + numbers, colours=())

    # --- as a row of a pipeline ---------------------------------------------------------------------------------------------

    def row(self) -> tuple[Key, tuple[int, ...]]:
        """The key of its pipeline, and the numbers of its row."""
        closed = self.closed(last=True)
        texts, numbers, whole = closed.texts, closed.numbers, self.window.size == self.window.extents and self.window.start == (0, 0)
        if self.texts and whole and self.texts[-1].startswith("resize"): # to what is handed over, which needs no cut
            count = len(self.texts)
            texts = (*self.texts[:-1], self.texts[-1].replace("({}, {}", "({1}, {0}".format(*self.size)), *texts[count + 1:])
            numbers = self.numbers[:-2] + numbers[len(self.numbers) + 2:]
        return (self.mode, texts, self.tail), numbers


def chain_of(key: Key) -> tuple[str, Chain]:
    """Declarations and stages of a pipeline; numbers are columns of its rows. Raises Unknown."""
    mode, texts, tail = key
    follower, columns = Follower(), itertools.count()
    stages = [COLUMN.sub(lambda _: f"row.n{next(columns)}", text) for text in texts]
    if any(text.startswith("resized") for text in texts):
        follower.names.helper("resized")
    chain = Chain(tuple(stages), grey=mode == "L")
    for name, arguments in tail:
        chain = follower.follow(TRANSFORMS[name](*arguments), chain)
    return follower.names.text(), chain


def _second(name: str) -> Callable[..., Any]:
    def make(*arguments: Any) -> Any:
        import torchvision.transforms.v2 as v2
        return getattr(v2, name)(*arguments, scale=True)
    return make


#: Transforms by the recorded calls that make a tensor of an image, or change one.
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "to_tensor": v1.ToTensor, "pil_to_tensor": v1.PILToTensor, "convert_image_dtype": lambda: v1.ConvertImageDtype(torch.float32),
    "to_dtype": lambda: _second("ToDtype")(torch.float32), "normalize": v1.Normalize}


def columns_of(key: Key) -> dict[str, str]:
    """The columns of such rows, an image and numbers, and their types."""
    types = [kind for text in key[1] for kind in COLUMN.findall(text)]
    return {"data": "bytes", **{f"n{k}": "f64" if kind else "i64" for k, kind in enumerate(types)}}


def source_of(key: Key) -> Source:
    columns = ", ".join(f"{name} = {kind}" for name, kind in columns_of(key).items())
    return Source(f"external_source({columns})", "", (ITEMS if key[0] == "RGB" else GREY_ITEMS).image)
