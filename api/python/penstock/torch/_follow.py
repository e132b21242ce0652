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
from dataclasses import replace
from typing import Any, Iterator

import torch
import torchvision.transforms as v1
from PIL import Image, ImageFilter

from . import _known
from ._chain import Chain, Declarations, Unknown, one_of, span
from ._draws import Drawn, Ways, watched
from ._functions import Placed, by_name, replacements
from ._state import State

_tracing = threading.Lock() # of the classes that are replaced while it is held


class Picture(Image.Image):
    """An image of which nothing is known but what was done to it. What is not listed here is an Unknown, never a default."""

    #: What may be asked for; `__class__` has an answer of its own.
    KNOWN = frozenset(("mode", "copy", "convert", "filter", "point", "transpose", "crop", "resize", "getbands", "chain", "follower", "_then"))

    def __init__(self, chain: Chain, follower: Follower):
        object.__setattr__(self, "chain", chain)
        object.__setattr__(self, "follower", follower)

    def __getattribute__(self, name: str) -> Any:
        if name in Picture.KNOWN:
            return object.__getattribute__(self, name)
        if name == "__class__": # of what `convert` gives
            return Image.Image
        raise Unknown(NOT_PICTURES.get(name, f"uses Pillow's {name}"))

    def __setattr__(self, name: str, value: Any) -> None:
        raise Unknown(f"sets `{name}` of the image")

    def _then(self, *stages: str, **changes: Any) -> Picture:
        return Picture(self.chain.then(*stages, **changes), self.follower)

    # Pillow has `mode` as an attribute in some versions and as a property in others.
    @property
    def mode(self) -> str: # type: ignore[override]
        return "L" if self.chain.grey else "RGB"

    def getbands(self) -> tuple[str, ...]:
        return tuple(self.mode)

    def __getitem__(self, key: Any) -> Any:
        raise Unknown("takes something else than an image")

    def copy(self) -> Picture:
        return self

    def convert(self, mode: str | None = None, *arguments: Any, **options: Any) -> Picture: # type: ignore[override]
        if arguments or options:
            raise Unknown("converts by a matrix, dither or palette")
        if mode == self.mode:
            return self
        if mode == "RGB": # of three equal channels
            return self._then(grey=False)
        if mode == "L":
            return self._then("grayscale", grey=True)
        raise Unknown(f"converts to mode {mode}")

    def filter(self, filter: Any) -> Picture: # noqa: A002
        filter = filter() if isinstance(filter, type) else filter
        if type(filter) is ImageFilter.GaussianBlur and list(vars(filter)) == ["radius"]:
            radius = filter.radius
            low, high = radius.range() if type(radius) is Drawn else (float(radius),) * 2
            if not 0.0 <= low <= high <= 30.0:
                raise Unknown(f"blurs by a radius from {low} to {high}")
            most = 1 + int((math.sqrt(4 * high * high + 1) - 1) / 2)
            return self._then(f"random_pillow_blur({span(low, high)}, {most})")
        if type(filter) is ImageFilter.SMOOTH and not vars(filter):
            return self._then("smooth")
        raise Unknown(f"uses Pillow's filter {type(filter).__name__}")

    def point(self, lut: Any, mode: Any = None) -> Picture:
        if mode is not None or isinstance(lut, Image.ImagePointHandler):
            raise Unknown("uses Pillow's point with a mode, or a handler")
        # Pillow itself says what it makes of numbers that are none of a byte's.
        ramp = Image.frombytes("L", (256, 1), bytes(range(256)))
        tables = [channel.tobytes() for channel in Image.merge(self.mode, [ramp] * len(self.mode)).point(lut).split()]
        if tables.count(tables[0]) != len(tables):
            raise Unknown("uses Pillow's point with a table for each channel")
        cut = list(tables[0])
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


#: Reasons of some attributes, in words.
NOT_PICTURES = {name: "asks for the size of the image" for name in ("size", "width", "height")} | {name: "reads the pixels of the image" for name in (
    "load", "tobytes", "getdata", "getpixel", "histogram", "im", "__array__", "__array_interface__", "__array_struct__", "__arrow_c_array__")}


def _closed(cls: type, model: type, kept: frozenset[str], reason: str) -> None:
    """Each operator and protocol that a class offers is an Unknown in its stand-in."""
    def refuse(name: str) -> Any:
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            raise Unknown(reason.format(name))
        return call
    for name in {*dir(model), *OPERATORS} - kept:
        if name.startswith("__") and name.endswith("__"):
            setattr(cls, name, refuse(name))


#: Operators that a class has by default, or an answer of its own.
OPERATORS = ("__len__", "__bool__", "__iter__", "__contains__", "__eq__", "__ne__", "__hash__", "__str__", "__repr__", "__format__", "__reduce_ex__",
             "__copy__", "__deepcopy__", "__dir__", "__array__", "__array_interface__", "__index__", "__float__", "__int__", "__enter__", "__exit__")
MADE = frozenset(("__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__", "__getattr__", "__setattr__",
                  "__dict__", "__doc__", "__module__", "__weakref__", "__annotations__", "__torch_function__", "__torch_dispatch__", "__slots__",
                  "__static_attributes__", "__firstlineno__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__abstractmethods__"))
_closed(Picture, Image.Image, MADE | {"__getitem__", "__bool__", "__len__", "__iter__"}, "uses Pillow's {}")


def _whole(value: Any) -> int:
    if type(value) is Drawn or value is None or int(value) != value:
        raise Unknown("cuts or resizes by numbers that it computes")
    return int(value)


class Tensor(torch.Tensor):
    """A tensor of which nothing is known but what was done to it. It is one for `isinstance`; all else is an Unknown."""

    @staticmethod
    def __new__(cls: type, chain: Chain) -> Any:
        made = torch.Tensor._make_subclass(cls, torch.empty(0, dtype=torch.uint8 if chain.kind == "bytes" else torch.float32))
        object.__setattr__(made, "chain", chain)
        return made

    def __init__(self, chain: Chain):
        pass

    def __getattribute__(self, name: str) -> Any:
        if name in ("chain", "__torch_function__", "__torch_dispatch__"): # which torch itself asks for
            return object.__getattribute__(self, name)
        if name == "__class__": # it may be one of torchvision's
            raise Unknown("asks what a tensor is")
        raise Unknown(f"computes on a tensor (`{name}`)")

    def __setattr__(self, name: str, value: Any) -> None:
        raise Unknown(f"computes on a tensor (`{name}`)")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        raise Unknown(f"computes on a tensor (`{getattr(function, '__name__', function)}`)")


_closed(Tensor, torch.Tensor, MADE, "computes on a tensor")


def _is_stand_in(value: Any) -> bool:
    return issubclass(type(value), (Picture, Tensor)) # isinstance would ask for its __class__


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


def _replaced_in(t: Any) -> bool:
    """True if an object of torchvision's does something else than its class."""
    own = vars(t) if hasattr(t, "__dict__") else {}
    called = ("forward", "get_params", "transform", "_transform")
    if any(own.get(name) for name in ("_forward_hooks", "_forward_pre_hooks")) or not own.keys().isdisjoint(called):
        return True
    return any(not str(getattr(getattr(type(t), name, None), "__module__", None) or "torch").startswith("torch") for name in called)


def _path(t: Any) -> str:
    if isinstance(t, type) or hasattr(t, "__qualname__"):
        return f"{t.__module__}.{t.__qualname__}"
    return f"{type(t).__module__}.{type(t).__qualname__}"


class Follower:
    """Follows transforms, and collects what their stages refer to."""

    def __init__(self) -> None:
        self.names = Declarations()
        #: Functions of torchvision's that are replaced while this follows.
        self.functions: list[tuple[Any, Any, Any]] = []

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
            if name is not None and _replaced_in(t):
                raise Unknown("has a function or hook of the script's own in the place of torchvision's")
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
            if any(cls is not object for cls in getattr(t, "types", ())): # of the second version; by default object
                raise Unknown("is for some classes only")
            return self._explore(t.lambd, chain)
        if name in ("Compose", "Sequential"):
            value: Any = chain
            for part in getattr(t, "transforms", t):
                value = mapped(lambda one: self.result(part, one), value)
            return value
        if name not in _known.TABLE:
            raise Unknown(_known.NONE.get(name, "is not known"))
        more = (self.follow,) if name in _known.CONTAINERS else ()
        found = _known.TABLE[name].make(t, chain, self.names, *more)
        if found.stages != chain.stages and found.cls == chain.cls == "Image" and not more and not _known.is_second(t):
            return found.then(cls="") # the first version's functions keep some classes, and some they do not
        return found

    def _explore(self, t: Any, chain: Chain) -> Any:
        """Calls it, as often as there are ways that its draws may take."""
        def once() -> Any:
            value = _wrapped(chain, self)
            outer, Unknown.last = Unknown.last, None
            try:
                result = _unwrapped(t(value))
            except Unknown:
                raise
            except Exception as error: # of the script's own
                if Unknown.last is None:
                    raise Unknown(f"does not run on an image that records: {type(error).__name__}: {error}") from error
            if Unknown.last is not None: # and the script's own code has caught it
                raise Unknown(**Unknown.last)
            Unknown.last = outer
            return result
        state = State(t)
        if state.reasons:
            raise Unknown(state.reasons[0])
        ways, named = Ways(), by_name(state.met, self.functions)
        try:
            with watched(ways), Placed(named), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = list(ways.all(once))
            for again in (Ways(), Ways(), Ways(), Ways()):
                with watched(again), Placed(named), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if list(again.all(once)) != found:
                        raise Unknown("does something else each time")
            if not state.same():
                raise Unknown("changes what it keeps")
        finally:
            state.restore()
        if len(found) == 1:
            return found[0][1]
        if not all(isinstance(end, Chain) and (end.kind, end.grey, end.cls) == (found[0][1].kind, found[0][1].grey, found[0][1].cls)
                   and end.stages[:len(chain.stages)] == chain.stages for _, end in found):
            raise Unknown("makes different things of an image, by what it draws")
        return replace(found[0][1], stages=chain.then(*one_of([(weight, end.after(chain)) for weight, end in found])).stages)


def mapped(function: Any, value: Any) -> Any:
    """The function of each chain in a structure."""
    if isinstance(value, Chain):
        return function(value)
    if isinstance(value, dict):
        return {key: mapped(function, inner) for key, inner in value.items()}
    return type(value)(mapped(function, inner) for inner in value)


def _unwrapped(value: Any) -> Any:
    if _is_stand_in(value):
        return value.chain
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and value:
        return type(value)(_unwrapped(inner) for inner in value)
    if isinstance(value, dict) and value:
        return {key: _unwrapped(inner) for key, inner in value.items()}
    raise Unknown(f"returns a {type(value).__name__}")


def _wrapped(value: Any, follower: Follower) -> Any:
    return mapped(lambda chain: Picture(chain, follower) if chain.kind == "image" else Tensor(chain), value)


@contextlib.contextmanager
def recording(follower: Follower) -> Iterator[None]:
    """Transforms that are called on a Picture or Tensor record. Others run as they do."""
    def replaced(original: Any) -> Any:
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            if len(arguments) == 1 and not options and _is_stand_in(arguments[0]) and (
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
        follower.functions = replacements((Picture, Tensor), _is_stand_in, lambda t, value: _wrapped(follower.result(t, value.chain), follower))
        kept = [cls.__call__ for cls in classes]
        for cls, original in zip(classes, kept):
            cls.__call__ = replaced(original)
        try:
            with Placed(follower.functions):
                yield
        finally:
            for cls, original in zip(classes, kept):
                cls.__call__ = original
