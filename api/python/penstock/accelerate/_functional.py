# SPDX-License-Identifier: Apache-2.0
"""torchvision's functions on images and tensors that nobody looked at: recorded, with the numbers that the script drew.

Of the first version, the functions that others call are replaced: those on Pillow images, and what makes tensors. The second version calls a
kernel by the type of what it is given; Leaf and LazyImage get kernels of their own. What has no recorder here runs as it is, and looks."""
from __future__ import annotations

import functools
from typing import Any, Callable

import torch
import torchvision.transforms.functional as v1
from PIL import Image

from . import _lazy
from ._lazy import LazyImage, Leaf, all_looked, is_leaf, lifted, recorded_in, recorded_of, unseen
from ._record import COLOURS, Recorded
from ._report import say

try:
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as v2_functional
    from torchvision.transforms.v2.functional import _utils as v2_kernels
except ImportError:
    v2 = None

_pil = v1.F_pil
Recorder = Callable[..., "Recorded | None"]
#: A replaced function: its owner, its name there, and the replacement while a data set is traced.
Replaced = tuple[Any, Any, Any]


# --- recorders --------------------------------------------------------------------------------------------------------
# Recorders of images and tensors alike. Each takes the name that `made` calls the function by, the record, and the arguments.

def _crop(name: str, recorded: Recorded, top: int, left: int, height: int, width: int) -> Recorded | None:
    box = (int(left), int(top), int(left + width), int(top + height))
    return recorded.cut(name, (int(top), int(left), int(height), int(width)), box, None if recorded.tail else 0)


def _center_crop(name: str, recorded: Recorded, output_size: Any) -> Recorded | None:
    sizes = [output_size] if isinstance(output_size, int) else list(output_size)
    height, width = int(sizes[0]), int(sizes[-1])
    left, top = (int(round((recorded.size[k] - (width, height)[k]) / 2.0)) for k in (0, 1))
    return recorded.cut(name, (output_size,), (left, top, left + width, top + height), None)


def _pad(name: str, recorded: Recorded, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Recorded | None:
    sides = [padding] if isinstance(padding, int) else list(padding)
    sides = {1: sides * 4, 2: sides * 2, 4: sides}[len(sides)]
    fills = {0} if fill is None else set(fill) if isinstance(fill, (list, tuple)) else {fill}
    if padding_mode != "constant" or len(fills) != 1 or not all(isinstance(one, int) and 0 <= one <= 255 for one in fills):
        return None
    if recorded.tail and recorded.tail != (("pil_to_tensor", ()),): # a tensor of u8 is padded as the image is
        return None
    (left, top, right, bottom), (width, height) = map(int, sides), recorded.size
    return recorded.cut(name, (padding, fill), (-left, -top, width + right, height + bottom), fills.pop())


def _hflip(name: str, recorded: Recorded) -> Recorded | None:
    return recorded.flip(name, (), 0)


def _vflip(name: str, recorded: Recorded) -> Recorded | None:
    return recorded.flip(name, (), 1)


def _to_float(tail: str) -> Recorder:
    def record(name: str, recorded: Recorded, dtype: torch.dtype = torch.float32, scale: bool = tail != "to_dtype") -> Recorded | None:
        if recorded.tail != (("pil_to_tensor", ()),) or not scale or dtype not in (torch.float32, torch.uint8):
            return None
        return recorded.then(name, dtype, *([scale] if tail == "to_dtype" else []), tail=(tail, ()) if dtype == torch.float32 else None)
    return record


def _normalize(name: str, recorded: Recorded, mean: Any, std: Any, inplace: bool = False) -> Recorded | None:
    numbers = tuple(tuple(float(value) for value in values) for values in (mean, std))
    if inplace or not recorded.is_float or {len(values) for values in numbers} != {len(recorded.mode)} or 0.0 in numbers[1]:
        return None
    return recorded.then(name, *map(list, numbers), tail=("normalize", numbers))


def _stepped(step: int) -> Recorder:
    def record(name: str, recorded: Recorded, *amounts: Any, **named: Any) -> Recorded | None:
        amount, = (*amounts, *named.values()) # each version has another name for it
        return recorded.stepped(name, float(amount), step) if amount >= 0.0 or step == 3 and -0.5 <= amount <= 0.5 else None
    return record


#: Recorders of functions on images that do not call Pillow's methods.
ON_PIXELS: dict[str, Recorder] = {"pad": _pad, **{f"adjust_{name}": _stepped(step) for step, name in enumerate(COLOURS)}}
#: Recorders of functions of both versions.
RECORDERS: dict[str, Recorder] = {"crop": _crop, "center_crop": _center_crop, "pad": _pad, "hflip": _hflip, "vflip": _vflip,
                                  "normalize": _normalize}
FIRST: dict[str, Recorder] = {**RECORDERS, "convert_image_dtype": _to_float("convert_image_dtype")}
SECOND: dict[str, Recorder] = {**RECORDERS, "horizontal_flip": _hflip, "vertical_flip": _vflip, "to_dtype": _to_float("to_dtype")}


def _recorded(record: Recorder, name: str, recorded: Recorded, arguments: tuple[Any, ...], options: dict[str, Any]) -> Recorded | None:
    try:
        return record(name, recorded, *arguments, **options)
    except (TypeError, ValueError, LookupError): # the original's to raise
        return None


def _leaf(recorded: Recorded, cls: type[Leaf]) -> Leaf:
    return cls(None, recorded, lambda: _lazy.made(recorded), torch.float32 if recorded.is_float else torch.uint8)


# --- the first version ------------------------------------------------------------------------------------------------

def _on_image(name: str, original: Any) -> Any:
    """A function on Pillow images. Those that call Pillow's methods are recorded there."""
    @functools.wraps(original)
    def call(image: Any, *arguments: Any, **options: Any) -> Any:
        lazy = lifted(image)
        if lazy is not None and name in ON_PIXELS:
            recorded = _recorded(ON_PIXELS[name], name, recorded_of(lazy), arguments, options)
            if recorded is not None:
                return LazyImage(recorded)
        return original(image if lazy is None else lazy, *arguments, **options)
    return call


def _to_tensor(name: str, original: Any) -> Any:
    """A function that makes a tensor of an image."""
    @functools.wraps(original)
    def call(image: Any) -> Any:
        lazy = lifted(image)
        if name == "to_image" and is_leaf(image):
            return tv_tensors.Image(image)
        if lazy is None or torch.get_default_dtype() != torch.float32:
            return original(image)
        tail = "to_tensor" if name == "to_tensor" else "pil_to_tensor"
        return _leaf(recorded_of(lazy).then(name, tail=(tail, ())), ImageLeaf if name == "to_image" else Leaf)
    return call


def _on_leaf(name: str, record: Recorder, original: Any) -> Any:
    """A function on tensors."""
    @functools.wraps(original)
    def call(value: Any, *arguments: Any, **options: Any) -> Any:
        if not is_leaf(value):
            return original(value, *arguments, **options)
        recorded = recorded_in(value) if _lazy.tracing() else None
        found = None if recorded is None else _recorded(record, name, recorded, arguments, options)
        if found is None:
            return original(*all_looked((value, *arguments)), **all_looked(options))
        return _leaf(found, type(value))
    return call


# --- the second version -----------------------------------------------------------------------------------------------

class ImageLeaf(Leaf):
    """A leaf of torchvision.tv_tensors.Image."""

    def as_subclass(self, cls: type) -> Any:
        recorded = recorded_in(self)
        if recorded is None or cls is not torch.Tensor:
            return _lazy.looked(self).as_subclass(cls)
        return _leaf(recorded.called("as_subclass", cls), Leaf)


#: Transforms of tensors that call one function with numbers that do not depend on pixels.
KNOWN = {"CenterCrop", "ConvertImageDtype", "Normalize", "Pad", "PILToTensor", "RandomCrop", "RandomHorizontalFlip", "RandomVerticalFlip", "ToDtype",
         "ToImage", "ToPureTensor"}


def _real(cls: type) -> type:
    """The class that a leaf or a lazy image stands in for; any other class is its own."""
    return cls.stands_for if issubclass(cls, Leaf) else Image.Image if cls is LazyImage else cls


def _forward(original: Any, any_known: bool = True) -> Any:
    """Transform.forward: leaves go where nothing else than a function is called on them."""
    def forward(self: Any, *inputs: Any) -> Any:
        known = any_known and type(self).__module__.startswith("torchvision.transforms.v2.") and type(self).__name__ in KNOWN
        return original(self, *(inputs if known or not _lazy.tracing() else all_looked(inputs)))
    return forward


def _by_type(original: Any) -> Any:
    """ToDtype.transform (`_transform` before torchvision 0.21), which may have a type for each class."""
    def transform(self: Any, value: Any, params: Any) -> Any:
        if not is_leaf(value) or not isinstance(self.dtype, dict):
            return original(self, value, params)
        dtype = self.dtype.get(_real(type(value)), self.dtype.get("others", original))
        if dtype is original:
            return original(self, _lazy.looked(value), params)
        return value if dtype is None else v2_functional.to_dtype(value, dtype=dtype, scale=self.scale)
    return transform


def _fill_by_type(original: Any) -> Any:
    return lambda fills, cls: original(fills, _real(cls))


def _new_image(original: Any) -> Any:
    """tv_tensors.Image of an image, or of a tensor."""
    def new(cls: type, data: Any, **options: Any) -> Any:
        if cls is tv_tensors.Image and not options:
            lazy = lifted(data)
            if lazy is not None:
                return _leaf(recorded_of(lazy).then("tv_tensors.Image", tail=("pil_to_tensor", ())), ImageLeaf)
            if is_leaf(data) and _lazy.tracing() and (recorded := recorded_in(data)) is not None:
                return _leaf(recorded.called("tv_tensors.Image"), ImageLeaf)
        return original(cls, _lazy.looked(data) if is_leaf(data) else data, **options)
    return staticmethod(new)


def _nothing(*arguments: Any, **options: Any) -> None:
    """The recorder of functions that have none."""


def _kernels() -> list[Replaced]:
    """The kernels of torchvision.transforms.v2 for lazy images. Those for leaves stay: a data set may keep some, and use them outside of a trace."""
    found: list[Replaced] = []
    for functional, registry in v2_kernels._KERNEL_REGISTRY.items():
        name = functional.__name__
        query = name.startswith("get_") # of what is known without pixels: torch's own asks for the shape
        if (kernel := registry.get(torch.Tensor)) is not None:
            ours = kernel if query else _on_leaf(f"v2.{name}", SECOND.get(name, _nothing), functional)
            registry[Leaf] = registry[ImageLeaf] = ours
        if (kernel := registry.get(Image.Image)) is not None and not query:
            found.append((registry, Image.Image, _on_image(name, kernel)))
    return found


def _second() -> list[Replaced]:
    """What is replaced of the second version. Much of it is private; where a torchvision has other names, its transforms look at every image."""
    try:
        name = next(name for name in ("transform", "_transform") if hasattr(v2.ToDtype, name))
        found = [(v2_functional, name, _to_tensor(name, getattr(v2_functional, name))) for name in ("pil_to_tensor", "to_image")]
        found += [(v2.Transform, "forward", _forward(v2.Transform.forward)), (v2.ToDtype, name, _by_type(getattr(v2.ToDtype, name))),
                  (tv_tensors.Image, "__new__", _new_image(tv_tensors.Image.__new__))]
        found += [(place, "_get_fill", _fill_by_type(place._get_fill)) for place in (v2._utils, v2._geometry)]
        return found + _kernels()
    except (AttributeError, StopIteration) as missing:
        say(f"transforms.v2 of this torchvision are not followed within a data set: {missing or 'ToDtype has no transform'}")
        return [(v2.Transform, "forward", _forward(v2.Transform.forward, any_known=False))]


# --- all of them ------------------------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def replaced() -> list[Replaced]:
    found: list[Replaced] = [(_pil, name, _on_image(name, getattr(_pil, name))) for name in ("crop", "hflip", "vflip", "resize", "rotate", "affine", *ON_PIXELS)]
    found += [(v1, name, _to_tensor(name, getattr(v1, name))) for name in ("to_tensor", "pil_to_tensor")]
    found += [(v1, name, _on_leaf(f"v1.{name}", record, getattr(v1, name))) for name, record in FIRST.items()]
    return found + (_second() if v2 is not None else [])


_lazy.MORE.append(replaced)
_lazy.FUNCTIONS.update({**{name: getattr(_pil, name) for name in ON_PIXELS}, "to_tensor": v1.to_tensor, "pil_to_tensor": v1.pil_to_tensor,
                        "as_subclass": torch.Tensor.as_subclass, **{f"v1.{name}": getattr(v1, name) for name in FIRST}})
if v2 is not None:
    _lazy.FUNCTIONS.update({"to_image": v2_functional.to_image, "tv_tensors.Image": tv_tensors.Image,
                            **{f"v2.{name}": getattr(v2_functional, name) for name in SECOND}})
    ImageLeaf.stands_for = tv_tensors.Image
    _lazy.image_leaf = ImageLeaf
