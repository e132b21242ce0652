# SPDX-License-Identifier: Apache-2.0
"""torchvision's functions on what records, as the classes that call nothing else.

Those of the first version, and those of the second one that make tensors, are replaced where they stand. All others of the second version
look for a kernel by the type of what they are given: stand-ins get kernels of their own, so that the functions stay what kernels are found by."""
from __future__ import annotations

import functools
import inspect
import types
from typing import Any, Callable, Iterable

import torchvision.transforms as v1
import torchvision.transforms.functional as v1_functional

from ._state import is_stateless

try:
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as v2_functional
    from torchvision.transforms.v2.functional import _utils as v2_kernels
except ImportError:
    v2 = None

#: Names of a namespace (or keys of a registry) and what stands there meanwhile.
Replaced = tuple[Any, Any, Any]
#: Gives the result of a transform on a stand-in.
Record = Callable[[Any, Any], Any]


#: The transform that does what a function does with these arguments, behind the image.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "to_tensor": lambda classes: classes.ToTensor(),
    "pil_to_tensor": lambda classes: classes.PILToTensor(),
    "to_pil_image": lambda classes, mode=None: classes.ToPILImage(mode),
    "convert_image_dtype": lambda classes, dtype: classes.ConvertImageDtype(dtype),
    "to_image": lambda classes: classes.ToImage(),
    "to_dtype": lambda classes, dtype, scale: classes.ToDtype(dtype, scale=scale),
    "normalize": lambda classes, mean, std: classes.Normalize(mean, std),
    "resize": lambda classes, size, **options: classes.Resize(size, **options),
    "center_crop": lambda classes, output_size: classes.CenterCrop(output_size),
    "pad": lambda classes, padding, fill, padding_mode: classes.Pad(padding, 0 if fill is None else fill, padding_mode),
    "hflip": lambda classes: classes.RandomHorizontalFlip(1.0),
    "vflip": lambda classes: classes.RandomVerticalFlip(1.0),
}
SECOND = {"horizontal_flip": "hflip", "vertical_flip": "vflip"}


def _recorded(original: Any, name: str, classes: Any, is_stand_in: Callable[[Any], bool], record: Record) -> Any:
    """The function, which records where it is given a stand-in."""
    signature = inspect.signature(original)
    first = next(iter(signature.parameters))

    @functools.wraps(original)
    def call(*arguments: Any, **options: Any) -> Any:
        if not is_stand_in(arguments[0] if arguments else options.get(first)):
            return original(*arguments, **options)
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        value, inplace = given.arguments.pop(first), given.arguments.pop("inplace", False)
        made = record(FUNCTIONS[name](classes, **given.arguments), value)
        if not inplace:
            return made
        object.__setattr__(value, "chain", made.chain) # for whoever has it
        return value
    return call


def replacements(stand_ins: Iterable[type], is_stand_in: Callable[[Any], bool], record: Record) -> list[Replaced]:
    """What is replaced while transforms are followed."""
    def of(original: Any, name: str, classes: Any) -> Any:
        return _recorded(original, name, classes, is_stand_in, record)
    found = [(vars(v1_functional), name, of(original, name, v1)) for name in FUNCTIONS if (original := getattr(v1_functional, name, None))]
    if v2 is None:
        return found
    registry = getattr(v2_kernels, "_KERNEL_REGISTRY", {}) # private: where it is not, these functions look at the image
    kernels = {functional.__name__: (functional, known) for functional, known in registry.items()}
    for name in [*FUNCTIONS, *SECOND]:
        wanted = SECOND.get(name, name)
        if name in kernels:
            functional, known = kernels[name]
            found += [(known, cls, of(functional, wanted, v2)) for cls in stand_ins]
        elif name != "to_tensor" and name not in SECOND.values() and (original := getattr(v2_functional, name, None)):
            found.append((vars(v2_functional), name, of(original, wanted, v2)))
    return found


class Placed:
    """Replaced while this is entered."""

    def __init__(self, replaced: list[Replaced]):
        self._replaced, self._kept = replaced, []

    def __enter__(self) -> Placed:
        for place, name, new in self._replaced:
            self._kept.append((place, name, place.get(name, self)))
            place[name] = new
        return self

    def __exit__(self, *error: object) -> None:
        for place, name, old in reversed(self._kept):
            if old is self:
                del place[name]
            else:
                place[name] = old
        self._kept = []


def by_name(met: Iterable[Any], replaced: list[Replaced]) -> list[Replaced]:
    """The same for functions that modules of the script's own, whose functions are among `met`, have imported by their names."""
    new = {id(inspect.unwrap(function)): function for _, name, function in replaced if isinstance(name, str)}
    spaces = {id(one.__globals__): one.__globals__ for one in met if isinstance(one, types.FunctionType) and not is_stateless(one)}
    return [(space, name, new[id(value)]) for space in spaces.values() for name, value in space.items() if id(value) in new]
