# SPDX-License-Identifier: Apache-2.0
"""Follows a callable through what it does with an image that only records.

A torchvision class is looked up (`_known`). Anything else, a wrapper, a preset, a class or function of the script's own, is
called on a `Picture`: transforms that it calls on it, and the few calls of Pillow below, become stages; whatever needs pixels
is an Unknown."""
from __future__ import annotations

import contextlib
import math
import threading
import warnings
from typing import Any, Iterator

import torch
import torchvision.transforms as v1
from PIL import Image, ImageFilter

from . import _known
from ._chain import Chain, Declarations, Unknown, one_of, span
from ._draws import Drawn, Ways, watched

_tracing = threading.Lock() # of the classes that are replaced while it is held


class Picture(Image.Image):
    """An image of which nothing is known but what was done to it."""

    def __init__(self, chain: Chain, follower: Follower):
        super().__init__()
        self.chain, self.follower = chain, follower
        self._mode = "L" if chain.grey else "RGB"

    def _then(self, *stages: str, **changes: Any) -> Picture:
        return Picture(self.chain.then(*stages, **changes), self.follower)

    # Pillow has `mode` and `size` as attributes in some versions and as properties in others.
    @property
    def mode(self) -> str: # type: ignore[override]
        return self._mode

    @mode.setter
    def mode(self, value: str) -> None:
        self._mode = value

    @property
    def size(self) -> Any: # type: ignore[override]
        raise Unknown("asks for the size of the image")

    width = height = size # type: ignore[assignment]

    def load(self, *arguments: Any) -> Any:
        raise Unknown("reads the pixels of the image")

    tobytes = getdata = getpixel = histogram = __array__ = load # type: ignore[assignment]
    __array_interface__ = property(load)

    def __getitem__(self, key: Any) -> Any:
        raise Unknown("takes something else than an image")

    def copy(self) -> Picture:
        return self

    def convert(self, mode: str | None = None, *arguments: Any, **options: Any) -> Picture: # type: ignore[override]
        if mode == self._mode and not arguments and not options:
            return self
        if mode == "RGB" and not options: # of three equal channels
            return self._then(grey=False)
        if mode == "L" and not options:
            return self._then("grayscale", grey=True)
        raise Unknown(f"converts to mode {mode}")

    def filter(self, filter: Any) -> Picture: # noqa: A002
        filter = filter() if isinstance(filter, type) else filter
        if isinstance(filter, ImageFilter.GaussianBlur):
            radius = filter.radius
            low, high = radius.range() if isinstance(radius, Drawn) else (float(radius),) * 2
            if not 0.0 <= low <= high <= 30.0:
                raise Unknown(f"blurs by a radius from {low} to {high}")
            most = 1 + int((math.sqrt(4 * high * high + 1) - 1) / 2)
            return self._then(f"random_pillow_blur({span(low, high)}, {most})")
        if isinstance(filter, ImageFilter.SMOOTH):
            return self._then("smooth")
        raise Unknown(f"uses Pillow's filter {type(filter).__name__}")

    def point(self, lut: Any, mode: Any = None) -> Picture:
        if mode is not None:
            raise Unknown("uses Pillow's point with a mode")
        values = [lut(i) for i in range(256)] if callable(lut) else list(lut)
        if any(isinstance(value, Drawn) for value in values):
            raise Unknown("uses Pillow's point with numbers that it drew")
        if len(values) not in (256, 768) or values != values[:256] * (len(values) // 256):
            raise Unknown("uses Pillow's point with a table for each channel")
        cut = [min(max(int(value), 0), 255) for value in values[:256]]
        for t in range(257):
            if cut == [i if i < t else 255 - i for i in range(256)]:
                return self._then(f"solarize({t})" if t else "invert")
        table = self.follower.names.constant("table", f": u8[k] = [{', '.join(map(str, cut))}]")
        return self._then(f"{self.follower.names.helper('looked_up')}({table})")

    def transpose(self, method: Any) -> Picture:
        stages = {0: "flip(w)", 1: "flip(h)", 2: "rotate90"}
        if int(method) not in stages:
            raise Unknown(f"uses Pillow's transpose({method})")
        return self._then(stages[int(method)])

    def crop(self, box: Any = None) -> Picture:
        left, top, right, bottom = map(_whole, box or (None,) * 4)
        return self._then(f"crop({top}, {left}, {bottom - top}, {right - left})")

    def resize(self, size: Any, resample: Any = None, box: Any = None, reducing_gap: Any = None) -> Picture: # type: ignore[override]
        if box is not None or reducing_gap is not None:
            raise Unknown("uses Pillow's resize with box or reducing_gap")
        names = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
        width, height = map(_whole, size)
        name = names[3 if resample is None else int(resample)]
        call = self.follower.names.helper("resized") if _known.resizes_tall_images_down_first(name) else "resize"
        return self._then(f"{call}({height}, {width}, filter = {name})")

    def __getattribute__(self, name: str) -> Any:
        if name in ("im", "rotate", "transform", "paste", "putpixel", "split", "quantize", "thumbnail", "effect_spread",
                    "reduce", "getbbox", "getchannel", "putalpha", "getextrema", "entropy", "save", "show", "draft"):
            raise Unknown(f"uses Pillow's {name}" if name != "im" else "reads the pixels of the image")
        return super().__getattribute__(name)


def _whole(value: Any) -> int:
    if isinstance(value, Drawn) or value is None or int(value) != value:
        raise Unknown("cuts or resizes by numbers that it computes")
    return int(value)


class Tensor:
    """A tensor of which nothing is known but what was done to it."""

    def __init__(self, chain: Chain):
        self.chain = chain

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unknown(f"computes on a tensor (`{name}`)")

    def _computed(self, *arguments: Any) -> Any:
        raise Unknown("computes on a tensor")

    __add__ = __sub__ = __mul__ = __truediv__ = __neg__ = __pow__ = __getitem__ = __len__ = __iter__ = _computed
    __radd__ = __rsub__ = __rmul__ = __lt__ = __gt__ = __le__ = __ge__ = __array__ = __float__ = _computed

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        raise Unknown(f"computes on a tensor (`{getattr(function, '__name__', function)}`)")


def _library(cls: type) -> str | None:
    """The name of torchvision's (or torch.nn's) class that this one is: itself, or a subclass that only changes how it is made."""
    plain = {"__init__", "__module__", "__doc__", "__repr__", "__annotations__", "__dict__", "__weakref__", "extra_repr",
             "__qualname__", "__firstlineno__", "__static_attributes__"}
    for base in cls.__mro__:
        module = base.__module__
        if module.startswith("torchvision.transforms") or module in ("torch.nn.modules.container",
                                                                     "torch.nn.modules.linear"):
            return base.__name__
        if set(vars(base)) - plain:
            return None
    return None


def _path(t: Any) -> str:
    if isinstance(t, type) or hasattr(t, "__qualname__"):
        return f"{t.__module__}.{t.__qualname__}"
    return f"{type(t).__module__}.{type(t).__qualname__}"


class Follower:
    """Follows transforms, and collects what their stages refer to."""

    def __init__(self) -> None:
        self.names = Declarations()

    def follow(self, t: Any, chain: Chain) -> Chain:
        """The chain that ends in `t`'s result on `chain`'s. Raises Unknown where `t` makes several images."""
        result = self.result(t, chain)
        if not isinstance(result, Chain):
            raise Unknown("makes several images of one", _path(t))
        return result

    def result(self, t: Any, chain: Chain) -> Any:
        """The same, where a result may be a list, tuple or dict of chains."""
        try:
            name = _library(type(t))
            if name is not None:
                return self.library(name, t, chain)
            if not callable(t):
                raise Unknown("cannot be called")
            return self._explore(t, chain)
        except Unknown as unknown:
            if not unknown.transform: # the innermost one
                unknown.transform = _path(t)
            raise
        except (AttributeError, TypeError, ValueError, KeyError) as error:
            raise Unknown(f"{type(error).__name__}: {error}", _path(t)) from error

    def library(self, name: str, t: Any, chain: Chain) -> Any:
        """The result of torchvision's class of this name on a chain, with the attributes of `t`. Raises Unknown."""
        if name == "Lambda":
            return self._explore(t.lambd, chain)
        if name in ("Compose", "Sequential"):
            value: Any = chain
            for part in getattr(t, "transforms", t):
                value = _mapped(lambda one: self.result(part, one), value)
            return value
        if name not in _known.TABLE:
            raise Unknown(_known.NONE.get(name, "is not known"))
        more = (self.follow,) if name in _known.CONTAINERS else ()
        return _known.TABLE[name].make(t, chain, self.names, *more)

    def _explore(self, t: Any, chain: Chain) -> Any:
        """Calls it, as often as there are ways that its draws may take."""
        def once() -> Any:
            value = Picture(chain, self) if chain.kind == "image" else Tensor(chain)
            try:
                return _unwrapped(t(value))
            except Unknown:
                raise
            except Exception as error: # of the script's own
                raise Unknown(f"does not run on an image that records: {type(error).__name__}: {error}") from error
        ways = Ways()
        with watched(ways), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = list(ways.all(once))
            again = Ways()
        with watched(again):
            if list(again.all(once)) != found:
                raise Unknown("does something else each time")
        if len(found) == 1:
            return found[0][1]
        if not all(isinstance(end, Chain) and (end.kind, end.grey) == (found[0][1].kind, found[0][1].grey)
                   and end.stages[:len(chain.stages)] == chain.stages for _, end in found):
            raise Unknown("makes different things of an image, by what it draws")
        return chain.then(*one_of([(weight, end.after(chain)) for weight, end in found]), kind=found[0][1].kind,
                          grey=found[0][1].grey)


def _mapped(function: Any, value: Any) -> Any:
    """The function of each chain in a structure."""
    if isinstance(value, Chain):
        return function(value)
    if isinstance(value, dict):
        return {key: _mapped(function, inner) for key, inner in value.items()}
    return type(value)(_mapped(function, inner) for inner in value)


def _unwrapped(value: Any) -> Any:
    if isinstance(value, (Picture, Tensor)):
        return value.chain
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and value:
        return type(value)(_unwrapped(inner) for inner in value)
    if isinstance(value, dict) and value:
        return {key: _unwrapped(inner) for key, inner in value.items()}
    raise Unknown(f"returns a {type(value).__name__}")


def _wrapped(value: Any, follower: Follower) -> Any:
    return _mapped(lambda chain: Picture(chain, follower) if chain.kind == "image" else Tensor(chain), value)


@contextlib.contextmanager
def recording(follower: Follower) -> Iterator[None]:
    """Transforms that are called on a Picture or Tensor record. Others run as they do."""
    def replaced(original: Any) -> Any:
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            if len(arguments) == 1 and not options and isinstance(arguments[0], (Picture, Tensor)) and (
                    _library(type(self)) or not isinstance(self, torch.nn.Module)):
                # A class of the script's own comes here through super().__call__.
                chain = arguments[0].chain
                if _library(type(self)):
                    return _wrapped(follower.result(self, chain), follower)
                base, = [cls for cls in type(self).__mro__ if cls in classes][:1]
                return _wrapped(follower.library(base.__name__, self, chain), follower)
            return original(self, *arguments, **options)
        return call
    classes = [torch.nn.Module, v1.Compose, v1.ToTensor, v1.PILToTensor, v1.ToPILImage, v1.RandomChoice, v1.RandomOrder]
    with _tracing:
        kept = [cls.__call__ for cls in classes]
        for cls, original in zip(classes, kept):
            cls.__call__ = replaced(original)
        try:
            yield
        finally:
            for cls, original in zip(classes, kept):
                cls.__call__ = original
