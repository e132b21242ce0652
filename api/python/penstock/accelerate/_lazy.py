"""Images and tensors that nobody has looked at yet, in a data set's own `__getitem__`.

Pillow's `Image.open` reads a file's header alone. While a data set is traced, `convert("RGB")` or `convert("L")` of such an image gives a `LazyImage`,
as `Image.fromarray` does, and a Compose that is known, called on either, a `Leaf`: image and transform, in place of the tensor. Whoever looks at one of
them, in whatever way, gets what there would have been."""
from __future__ import annotations

import functools
import io
import os
import random
import threading
from typing import Any, Callable

import numpy
import torch
import torchvision.transforms as v1
from PIL import Image, ImageFile

#: Formats that `decode(rgb)` reads as Pillow does.
FORMATS = {"JPEG", "PNG", "BMP", "PPM", "WEBP"}
#: Modes of images that a pipeline makes. Pillow makes the same L of a palette, of transparency and of L itself as of their RGB.
MODES = ("RGB", "L")
#: Bytes of pixels that are worth sending from a worker in place of a tensor.
PIXELS = 1 << 18


class _Tracing(threading.local):
    #: The number of each known Compose by its id and the mode of its image; None: nothing is traced in this thread.
    numbers: dict[tuple[int, str], int] | None = None
    #: The numbers of those that draw, and the leaves of these, of which nothing is drawn yet.
    drawing: frozenset[int] = frozenset()
    undrawn: list[Leaf] = []
    #: Whether the data set has seeded a generator, or kept its state: what is drawn then is to be drawn by the original.
    seeded = False


_tracing = _Tracing()
_convert, _fromarray = Image.Image.convert, Image.fromarray


# --- images -----------------------------------------------------------------------------------------------------------

def item_of(image: Any) -> Any:
    """What an image was opened from, path or bytes, if nobody has looked at it; else None."""
    if type(image) is LazyImage:
        return image.__dict__["_item"]
    if not isinstance(image, ImageFile.ImageFile) or image.format not in FORMATS:
        return None
    known = image.__dict__
    if known.get("im") is not None or known.get("_im") is not None and not hasattr(known["_im"], "ex"): # load() makes it
        return None
    if known.get("decoderconfig") or getattr(image, "n_frames", 1) != 1: # draft() says how to decode
        return None
    if isinstance(known.get("filename"), str) and known["filename"]:
        return known["filename"]
    file = known.get("fp")
    if isinstance(file, io.BytesIO):
        return file.getvalue()
    if isinstance(file, io.BufferedReader) and isinstance(file.name, str):
        return file.name
    return None


def image_of(item: Any, mode: str) -> Image.Image:
    """The image, in this mode, as Pillow makes it."""
    if isinstance(item, numpy.ndarray):
        return _convert(_fromarray(item), mode)
    with Image.open(io.BytesIO(item) if isinstance(item, bytes) else item) as opened:
        return _convert(opened, mode)


class LazyImage(Image.Image):
    """What `convert` would give. It becomes that as soon as anything but its size is asked for."""

    def __init__(self, item: Any, size: tuple[int, int], mode: str = "RGB"):
        self.__dict__.update(_item=item, size_known=size, mode_known=mode)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__dict__", "__enter__", "__exit__", "close"):
            return object.__getattribute__(self, name)
        known = object.__getattribute__(self, "__dict__")
        if name == "mode":
            return known["mode_known"]
        if name in ("size", "width", "height"):
            return {"size": known["size_known"], "width": known["size_known"][0], "height": known["size_known"][1]}[name]
        if name == "convert":
            return self._converted
        if name == "_converted":
            return object.__getattribute__(self, name)
        look(self)
        return getattr(self, name)

    def _converted(self, mode: str | None = None, *arguments: Any, **options: Any) -> Any:
        if mode in (self.mode, "L") and not arguments and not options:
            return LazyImage(self.__dict__["_item"], self.__dict__["size_known"], mode)
        look(self)
        return self.convert(mode, *arguments, **options)

    def __eq__(self, other: object) -> bool:
        look(self)
        return self == other

    __hash__ = None # type: ignore[assignment] # as Pillow's

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def close(self) -> None:
        pass


def look(image: LazyImage) -> None:
    """Makes it the image that it stands for."""
    found = image_of(image.__dict__["_item"], image.__dict__["mode_known"])
    image.__dict__.clear()
    image.__dict__.update(found.__dict__)
    object.__setattr__(image, "__class__", Image.Image)


def _lazily_converted(self: Any, mode: str | None = None, *arguments: Any, **options: Any) -> Any:
    if _tracing.numbers is not None and mode in MODES and not arguments and not options and type(self) is not LazyImage:
        item = item_of(self)
        if item is not None:
            return LazyImage(item, self.size, mode)
    return _convert(self, mode, *arguments, **options)


def _lazily_from_array(array: Any, *arguments: Any, **options: Any) -> Any:
    if _tracing.numbers is not None and not arguments and not options and isinstance(array, numpy.ndarray) and (
            array.dtype == numpy.uint8 and array.shape[2:] in ((), (3,)) and 0 < array.nbytes <= PIXELS and array.ndim > 1):
        return LazyImage(array.copy(), (array.shape[1], array.shape[0]), "L" if array.ndim == 2 else "RGB") # it may be written to
    return _fromarray(array, *arguments, **options)


# --- tensors ----------------------------------------------------------------------------------------------------------

class Leaf:
    """What a known Compose makes of an image that nobody looked at. Used as a tensor, it is one."""

    def __init__(self, number: int, item: Any, make: Callable[[], Any]):
        self.__dict__.update(number=number, item=item, make=make, made=None)

    @property
    def __class__(self) -> Any: # type: ignore[override]
        return torch.Tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(looked(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(looked(self), name, value)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        return function(*_all_looked(arguments), **_all_looked(options or {}))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return looked(self).__reduce_ex__(protocol)


def _forward(name: str) -> Any:
    def call(self: Any, *arguments: Any) -> Any:
        return getattr(looked(self), name)(*_all_looked(arguments))
    return call


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod", "pow", "rpow", "neg", "pos", "abs",
              "matmul", "rmatmul", "and", "or", "xor", "invert", "eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "len", "iter",
              "contains", "bool", "float", "int", "index", "iadd", "isub", "imul", "itruediv", "array", "repr", "format", "deepcopy",
              "dlpack", "dlpack_device"):
    setattr(Leaf, f"__{_name}__", _forward(f"__{_name}__"))
Leaf.__hash__ = object.__hash__ # type: ignore[method-assign]


def looked(leaf: Leaf) -> Any:
    """The tensor that it stands for."""
    known = object.__getattribute__(leaf, "__dict__")
    if known["made"] is None:
        known["made"] = known["make"]()
    return known["made"]


def _all_looked(value: Any) -> Any:
    if type(value) is Leaf:
        return looked(value)
    if type(value) in (list, tuple):
        return type(value)(map(_all_looked, value))
    if type(value) is dict:
        return {key: _all_looked(inner) for key, inner in value.items()}
    return value


def unseen(value: Any) -> bool:
    """Whether it is a leaf that nobody looked at."""
    return type(value) is Leaf and object.__getattribute__(value, "__dict__")["made"] is None


def _on_lazy(original: Any) -> Any:
    def call(self: Any, *inputs: Any, **options: Any) -> Any:
        numbers = _tracing.numbers
        if numbers is not None and len(inputs) == 1 and not options:
            image = inputs[0]
            mode = getattr(image, "mode", None) if isinstance(image, Image.Image) else None
            number = numbers.get((id(self), mode))
            if number is not None:
                item = item_of(image)
                if item is not None and not (_tracing.seeded and number in _tracing.drawing):
                    leaf = Leaf(number, item, lambda: original(self, image_of(item, mode)))
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


class _Patches:
    """Pillow's and torchvision's functions, replaced as long as any thread traces."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.kept: list[tuple[Any, str, Any]] = []

    def use(self) -> None:
        with self.lock:
            self.users += 1
            if self.users > 1:
                return
            self.kept = [(cls, name, getattr(cls, name)) for cls, name in containers()]
            for cls, name, original in self.kept:
                setattr(cls, name, _on_lazy(original))
            for place, name in SEEDS:
                self.kept.append((place, name, getattr(place, name)))
                setattr(place, name, _seeds(getattr(place, name)))
            self.kept += [(Image.Image, "convert", _convert), (Image, "fromarray", _fromarray)]
            Image.Image.convert, Image.fromarray = _lazily_converted, _lazily_from_array # type: ignore[method-assign]

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                for cls, name, original in self.kept:
                    setattr(cls, name, original)


    def __enter__(self) -> None:
        self.use()

    def __exit__(self, *error: object) -> None:
        self.leave()


#: To be held around many samples: what sets attributes of classes empties Python's caches of their methods.
patches = _Patches()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: setattr(patches, "lock", threading.Lock()))


class traced:
    """Within it, in this thread, the Composes of these numbers make leaves."""

    def __init__(self, numbers: dict[tuple[int, str], int], drawing: frozenset[int] = frozenset()):
        self.numbers, self.drawing = numbers, drawing

    def __enter__(self) -> None:
        patches.use()
        self.kept = dict(vars(_tracing))
        vars(_tracing).update(numbers=self.numbers, drawing=self.drawing, undrawn=[], seeded=False)

    def __exit__(self, *error: object) -> None:
        vars(_tracing).clear()
        vars(_tracing).update(self.kept)
        patches.leave()
