# SPDX-License-Identifier: Apache-2.0
"""Images and tensors that nobody has looked at yet, in a data set's own `__getitem__`.

Pillow's `Image.open` reads a file's header alone. While a data set is traced, `convert("RGB")` or `convert("L")` of such an image gives a `LazyImage`,
as `Image.fromarray` does, and a Compose that is known, called on either, a `Leaf`: image and transform, in place of the tensor. Cuts, flips and
resizes of a LazyImage give another one, with what was called (`_record`), and what makes a tensor of one (`_functional`) a leaf, too. Whoever looks
at one of them, in whatever way, gets what there would have been."""
from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import threading
from dataclasses import replace
from typing import Any, Callable, Sequence

import numpy
import torch
import torchvision.transforms as v1
from PIL import Image, ImageFile

from ._files import File, open_file
from ._record import FILTERS, WARPS, Recorded

#: Formats that `decode(rgb)` reads as Pillow does.
FORMATS = {"JPEG", "PNG", "BMP", "PPM", "WEBP"}
#: Modes of images that a pipeline makes. Pillow makes the same L of a palette, of transparency and of L itself as of their RGB.
MODES = ("RGB", "L")
#: The element type of a tensor of which only making it tells: nobody asks for this one, so that who wants a certain one has it made.
UNKNOWN = torch.complex32
#: Bytes of pixels that are worth sending from a worker in place of a tensor.
PIXELS = 1 << 18


class _Tracing(threading.local):
    #: The number of each known Compose by its id and the mode of its image; None: nothing is traced in this thread.
    numbers: dict[tuple[int, str], int] | None = None
    #: The numbers of those that draw, and the leaves of these, of which nothing is drawn yet.
    drawing: frozenset[int] = frozenset()
    #: Whether each is what was compiled, by its number.
    guards: list[Any] = []
    undrawn: list[Leaf] = []
    #: Whether each makes a tv_tensors.Image, and the tensor's element type.
    kinds: Sequence[tuple[bool, torch.dtype]] = ()
    #: True if the data set has seeded a generator, or kept its state: draws after that are the original's.
    seeded = False


_tracing = _Tracing()
_convert, _fromarray = Image.Image.convert, Image.fromarray


# --- images -----------------------------------------------------------------------------------------------------------

def item_of(image: Any) -> Any:
    """The file or bytes that an image was opened from, if nobody has looked at its pixels; else None."""
    if type(image) is LazyImage:
        recorded = recorded_of(image)
        return recorded.item if recorded.plain else None
    if not isinstance(image, ImageFile.ImageFile) or image.format not in FORMATS:
        return None
    known = image.__dict__
    if known.get("im") is not None or known.get("_im") is not None and not hasattr(known["_im"], "ex"): # load() makes it
        return None
    if known.get("decoderconfig") or getattr(image, "n_frames", 1) != 1: # draft() says how to decode
        return None
    file = known.get("fp")
    if isinstance(file, io.BytesIO):
        return file.getvalue()
    return open_file(file) if isinstance(file, io.BufferedReader) and isinstance(file.name, str) else None


def image_of(item: Any, mode: str) -> Image.Image:
    """The image, in this mode, as Pillow makes it."""
    if isinstance(item, numpy.ndarray):
        return _convert(_fromarray(item), mode)
    if isinstance(item, File) and not item.is_same():
        raise OSError(f"{item} has changed since the data set opened it")
    with Image.open(io.BytesIO(item) if isinstance(item, bytes) else item) as opened:
        return _convert(opened, mode)


class LazyImage(Image.Image):
    """A recorded image. It becomes a real one as soon as anything but its size or mode is asked for."""

    def __init__(self, recorded: Recorded, shared: numpy.ndarray | None = None):
        """`shared`: the array whose memory the image has, and whoever writes to the array changes the image."""
        self.__dict__.update(_recorded=recorded, _shared=shared)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__dict__", "__enter__", "__exit__", "close"):
            return object.__getattribute__(self, name)
        recorded = self.__dict__["_recorded"]
        if name == "mode":
            return recorded.mode
        if name in ("size", "width", "height"):
            size = recorded.size
            return size if name == "size" else size[name == "height"]
        if name in _METHODS:
            return functools.partial(_METHODS[name], self)
        look(self)
        return getattr(self, name)

    def __eq__(self, other: object) -> bool:
        look(self)
        return self == other

    __hash__ = None # type: ignore[assignment] # as Pillow's

    def __setattr__(self, name: str, value: Any) -> None:
        look(self)
        setattr(self, name, value)

    def __delattr__(self, name: str) -> None:
        look(self)
        delattr(self, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        look(self)
        return self.__reduce_ex__(protocol)

    def __repr__(self) -> str:
        look(self)
        return repr(self)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def close(self) -> None:
        pass


def recorded_of(image: LazyImage) -> Recorded:
    """What is recorded of an image now: an array that it shares is as it is at this moment."""
    known = object.__getattribute__(image, "__dict__")
    shared = known["_shared"]
    return known["_recorded"] if shared is None else replace(known["_recorded"], item=shared.copy())


def tracing() -> bool:
    return _tracing.numbers is not None


def look(image: LazyImage) -> None:
    """Makes it the image that it stands for."""
    shared = image.__dict__["_shared"]
    found = made(recorded_of(image)) if shared is None else _fromarray(shared)
    image.__dict__.clear()
    image.__dict__.update(found.__dict__)
    object.__setattr__(image, "__class__", Image.Image)


def made(recorded: Recorded) -> Any:
    """The image or tensor, as it would have been made."""
    value = image_of(recorded.item, recorded.mode)
    for name, arguments in recorded.calls:
        value = FUNCTIONS[name](value, *arguments)
    return value


def lifted(image: Any) -> LazyImage | None:
    """The same image, lazily, while its data set is traced and nobody looked at it; else None."""
    if not tracing():
        return None
    if type(image) is LazyImage:
        return image
    if not isinstance(image, ImageFile.ImageFile) or image.mode not in MODES:
        return None
    item = item_of(image)
    return None if item is None else LazyImage(Recorded.of(item, image.mode, image.size))


# Recorders of Pillow's methods; torchvision's functions call these.

def _or_looked(method: str) -> Any:
    """Calls the recorder; where that gives None, Pillow's method on the image itself."""
    def decorate(record: Callable[..., Recorded | None]) -> Any:
        def call(image: Any, *arguments: Any, **options: Any) -> Any:
            if tracing():
                try:
                    recorded = record(recorded_of(image), *arguments, **options)
                except (TypeError, ValueError, LookupError): # the original's to raise
                    recorded = None
                if recorded is not None:
                    return LazyImage(recorded)
            look(image)
            return getattr(image, method)(*arguments, **options)
        return call
    return decorate


@_or_looked("convert")
def _converted(recorded: Recorded, mode: str | None = None) -> Recorded | None:
    if mode == recorded.mode:
        return recorded
    return Recorded.of(recorded.item, "L", recorded.extents) if mode == "L" and recorded.plain else None


@_or_looked("crop")
def _cropped(recorded: Recorded, box: Any) -> Recorded | None:
    box = tuple(int(round(edge)) for edge in box) # as Pillow does
    return recorded.cut("crop", (box,), box)


@_or_looked("transpose")
def _transposed(recorded: Recorded, method: Any) -> Recorded | None:
    axes = {0: (0,), 1: (1,), 3: (0, 1)}.get(int(method))
    return None if axes is None else recorded.flip("transpose", (int(method),), *axes)


@_or_looked("resize")
def _resized(recorded: Recorded, size: Any, resample: Any = None) -> Recorded | None:
    width, height = size
    filter = FILTERS[3 if resample is None else int(resample)]
    if int(width) != width or int(height) != height:
        return None
    return recorded.resized("resize", ((int(width), int(height)), None if resample is None else int(resample)), (int(width), int(height)), filter)


@_or_looked("transform")
def _warped(recorded: Recorded, size: Any, method: Any, data: Any, resample: Any = 0, fill: int = 1, fillcolor: Any = None) -> Recorded | None:
    fills = {0} if fillcolor is None else set(fillcolor) if isinstance(fillcolor, (list, tuple)) else {fillcolor}
    packed = isinstance(fillcolor, int) and fillcolor != 0 and len(recorded.mode) > 1 # a byte for each band, as Pillow reads it
    if method != Image.AFFINE or len(fills) != 1 or fill != 1 or packed or not all(isinstance(one, int) and 0 <= one <= 255 for one in fills):
        return None
    matrix = tuple(map(float, data[:6]))
    a, b = (int(extent) for extent in size)
    return recorded.warped("transform", ((a, b), int(method), matrix, int(resample), fill, fillcolor), (a, b), matrix, WARPS[int(resample)], fills.pop())


_METHODS: dict[str, Any] = {"convert": _converted, "crop": _cropped, "transpose": _transposed, "resize": _resized, "transform": _warped,
                            # Pillow's own calls `transform` and `transpose`.
                            "rotate": Image.Image.rotate, "copy": lambda image: LazyImage(recorded_of(image)),
                            "getbands": lambda image: tuple(recorded_of(image).mode)}
#: Functions that `made` calls, by name; _functional adds more.
FUNCTIONS: dict[str, Callable[..., Any]] = {"crop": Image.Image.crop, "transpose": Image.Image.transpose, "resize": Image.Image.resize,
                                              "transform": Image.Image.transform}


def _lazily_converted(self: Any, mode: str | None = None, *arguments: Any, **options: Any) -> Any:
    if _tracing.numbers is not None and mode in MODES and not arguments and not options and type(self) is not LazyImage:
        item = item_of(self)
        if item is not None:
            return LazyImage(Recorded.of(item, mode, self.size))
    return _convert(self, mode, *arguments, **options)


def _lazily_from_array(array: Any, *arguments: Any, **options: Any) -> Any:
    if _tracing.numbers is not None and not arguments and not options and isinstance(array, numpy.ndarray) and (
            array.dtype == numpy.uint8 and array.shape[2:] in ((), (3,)) and 0 < array.nbytes <= PIXELS and array.ndim > 1):
        mode, size = "L" if array.ndim == 2 else "RGB", (array.shape[1], array.shape[0])
        if mode == "L" and array.flags.c_contiguous: # Pillow has the memory itself
            return LazyImage(Recorded.of(array, mode, size), array)
        return LazyImage(Recorded.of(array.copy(), mode, size)) # as it may be written to
    return _fromarray(array, *arguments, **options)


# --- tensors ----------------------------------------------------------------------------------------------------------

class Leaf(torch.Tensor):
    """A deferred tensor: a Compose's result for an image that nobody looked at, or a recorded tensor. Used as a tensor, it becomes one.

    It is a tensor for torch, too, which takes the memory of what `isinstance` calls one: a tensor without storage, of which all that is computed
    comes to `__torch_dispatch__`."""

    #: The class that it stands in for.
    stands_for: type = torch.Tensor

    @staticmethod
    def __new__(cls: Any, key: Any, item: Any, make: Callable[[], Any], dtype: torch.dtype) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, (0,), dtype=dtype) # type: ignore[attr-defined]

    def __init__(self, key: Any, item: Any, make: Callable[[], Any], dtype: torch.dtype):
        """`key`: which pipeline makes it, a Compose by number or a Key, where that is known; `item`: the image, or what is recorded;
        `dtype`: the tensor's, or UNKNOWN."""
        object.__getattribute__(self, "__dict__").update(key=key, item=item, make=make, made=None)

    @property
    def __class__(self) -> Any: # type: ignore[override]
        return type(self).stands_for

    @property
    def shape(self) -> Any:
        recorded = recorded_in(self)
        return looked(self).shape if recorded is None else torch.Size((len(recorded.mode), *recorded.size[::-1]))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getattribute__(self, name: str) -> Any:
        if name == "__dict__" or any(name in vars(cls) for cls in type(self).__mro__[:-OTHERS]):
            return object.__getattribute__(self, name)
        return getattr(looked(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(looked(self), name, value)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        return function(*all_looked(arguments), **all_looked(options or {}))

    #: Of torch's functions that ask no class, such as torch.as_tensor.
    __torch_dispatch__ = __torch_function__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return looked(self).__reduce_ex__(protocol)


#: Classes above Leaf.
OTHERS = len(torch.Tensor.__mro__)

#: The class of leaves that stand for torchvision's tv_tensors.Image; _functional has it.
image_leaf: type[Leaf] = Leaf


def _forward(name: str) -> Any:
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(looked(self), name)(*all_looked(arguments), **options)
    return call


#: What Leaf has of its own.
OWN = set(vars(Leaf)) | {"__hash__", "__dir__", "__init_subclass__", "__subclasshook__", "__getstate__", "__reduce__",
                         "__weakref__", "__dict__", "__slots__", "__sizeof__", "__delattr__"}
for _name in {*dir(torch.Tensor), "__iadd__", "__isub__", "__imul__", "__itruediv__", "__format__", "__repr__", "__str__"} - OWN:
    if _name.startswith("__") and callable(getattr(torch.Tensor, _name, None)):
        setattr(Leaf, _name, _forward(_name))
Leaf.__hash__ = object.__hash__ # type: ignore[method-assign]


def _known(leaf: Any) -> dict[str, Any]:
    """What a leaf holds. `as_subclass` of a leaf's class, as `tv_tensors.wrap(x, like=leaf)` calls it, makes one of a tensor that holds nothing: it
    stands for that tensor."""
    known = object.__getattribute__(leaf, "__dict__")
    if "made" not in known:
        off = torch._C._DisableTorchDispatch() # from torch 2 on within `with` alone
        with off if hasattr(off, "__enter__") else contextlib.nullcontext(), torch._C.DisableTorchFunction():
            made = torch.Tensor.as_subclass(leaf, type(leaf).stands_for)
        del off
        known.update(key=None, item=None, make=None, made=made)
    return known


def looked(leaf: Leaf) -> Any:
    """The tensor that it stands for."""
    known = _known(leaf)
    if known["made"] is None:
        known["made"] = known["make"]()
    return known["made"]


def all_looked(value: Any) -> Any:
    if is_leaf(value):
        return looked(value)
    if type(value) in (list, tuple):
        return type(value)(map(all_looked, value))
    if type(value) is dict:
        return {key: all_looked(inner) for key, inner in value.items()}
    return value


def is_leaf(value: Any) -> bool:
    return issubclass(type(value), Leaf) # isinstance would ask for its __class__


def recorded_in(leaf: Any) -> Recorded | None:
    """The record of a leaf that nobody looked at; None of leaves of a Compose."""
    known = _known(leaf)
    return known["item"] if known["made"] is None and isinstance(known["item"], Recorded) else None


def key_of(leaf: Any) -> Any:
    """The pipeline that makes a leaf: a Compose by number, or a Key. None: somebody looked at it, or it is to be looked at."""
    return leaf.__dict__["key"] if unseen(leaf) else None


def unseen(value: Any) -> bool:
    """True for a leaf that nobody looked at."""
    return is_leaf(value) and _known(value)["made"] is None


def _on_lazy(original: Any) -> Any:
    def call(self: Any, *inputs: Any, **options: Any) -> Any:
        numbers = _tracing.numbers
        if numbers is not None and len(inputs) == 1 and not options:
            image = inputs[0]
            mode = getattr(image, "mode", None) if isinstance(image, Image.Image) else None
            number = numbers.get((id(self), mode))
            if number is not None:
                item = item_of(image)
                guard = _tracing.guards[number]
                if item is not None and not (_tracing.seeded and number in _tracing.drawing) and guard.same():
                    is_image, dtype = _tracing.kinds[number]
                    leaf = (image_leaf if is_image else Leaf)(number, item, lambda: guard.made(lambda: original(self, image_of(item, mode))), dtype)
                    if number in _tracing.drawing:
                        _tracing.undrawn.append(leaf)
                    return leaf
        return original(self, *inputs, **options)
    return call


# --- tracing ----------------------------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None) # looking for a module that is missing takes longer than reading an image's header
def containers() -> list[tuple[Any, str]]:
    """The classes whose objects are looked for in data sets, and what calls one."""
    found: list[tuple[Any, str]] = [(v1.Compose, "__call__")]
    try:
        import torchvision.transforms.v2 as v2
    except ImportError:
        return found
    return [*found, (v2.Compose, "forward")]


def _seeds(original: Any) -> Any:
    """Image and mask get the same crop from scripts that seed twice, or go back to a state: so leaves must draw before it."""
    def call(*arguments: Any, **options: Any) -> Any:
        if _tracing.numbers is not None:
            _tracing.seeded = True
            undrawn, _tracing.undrawn = _tracing.undrawn, []
            for leaf in undrawn:
                looked(leaf)
        return original(*arguments, **options)
    return call


SEEDS = [(random, "seed"), (random, "getstate"), (random, "setstate"), (numpy.random, "seed"), (numpy.random, "get_state"),
         (numpy.random, "set_state"), (torch, "manual_seed"), (torch, "get_rng_state"), (torch, "set_rng_state"),
         (torch.random, "manual_seed"), (torch.random, "get_rng_state"), (torch.random, "set_rng_state")]


def _replaced() -> list[tuple[Any, Any, Any]]:
    found: list[tuple[Any, Any, Any]] = [(cls, name, _on_lazy(getattr(cls, name))) for cls, name in containers()]
    found += [(place, name, _seeds(getattr(place, name))) for place, name in SEEDS]
    return [*found, (Image.Image, "convert", _lazily_converted), (Image, "fromarray", _lazily_from_array)]


#: Functions that say what is replaced while a data set is traced: (place or dict, name or key, what stands there).
MORE = [_replaced]


class _Patches:
    """Pillow's and torchvision's functions, replaced as long as any thread traces."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.kept: list[tuple[Any, Any, Any]] = []

    def use(self) -> None:
        with self.lock:
            if not self.users:
                self._install()
            self.users += 1

    def _install(self) -> None:
        """Replaces them all, or none where one of them cannot be."""
        kept: list[tuple[Any, Any, Any]] = []
        try:
            for place, name, value in [one for more in MORE for one in more()]:
                kept.append((place, name, place.get(name) if isinstance(place, dict) else _attribute(place, name)))
                _put(place, name, value)
        except Exception:
            for one in reversed(kept):
                _put(*one)
            raise
        self.kept = kept

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                for one in reversed(self.kept):
                    _put(*one)

    def __enter__(self) -> None:
        self.use()

    def __exit__(self, *error: object) -> None:
        self.leave()


def _attribute(place: Any, name: str) -> Any:
    return vars(place).get(name, getattr(place, name)) # a staticmethod as one


def _put(place: Any, name: Any, value: Any) -> None:
    if not isinstance(place, dict):
        setattr(place, name, value)
    elif value is None:
        del place[name]
    else:
        place[name] = value


#: To be held around many samples: what sets attributes of classes empties Python's caches of their methods.
patches = _Patches()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: setattr(patches, "lock", threading.Lock()))


class traced:
    """Within it, in this thread, the Composes of these numbers make leaves."""

    def __init__(self, numbers: dict[tuple[int, str], int], drawing: frozenset[int] = frozenset(), guards: Any = (),
                 kinds: Sequence[tuple[bool, torch.dtype]] = ()):
        self.numbers, self.drawing, self.guards, self.kinds = numbers, drawing, guards, kinds

    def __enter__(self) -> None:
        patches.use()
        self.kept = dict(vars(_tracing))
        vars(_tracing).update(numbers=self.numbers, drawing=self.drawing, guards=self.guards, kinds=self.kinds, undrawn=[], seeded=False)

    def __exit__(self, *error: object) -> None:
        vars(_tracing).clear()
        vars(_tracing).update(self.kept)
        patches.leave()
