# SPDX-License-Identifier: Apache-2.0
"""Search through the objects of a script's data set: may its images come from pipelines?"""
from __future__ import annotations

import types
from typing import Any, Iterator

import torch
import torchvision.transforms as v1

from . import _lazy

#: Modules of torchvision's transforms and functions.
TRANSFORMS = ("torchvision.transforms", "torchvision.tv_tensors")
#: Classes of these hold no code of the script's.
LIBRARIES = ("torch", "torchvision", "numpy", "PIL", "builtins")


def reached(dataset: Any) -> Iterator[Any]:
    """The objects that a data set refers to, itself included; a torchvision container without what is in it."""
    kinds = tuple(cls for cls, _ in _lazy.containers())
    seen, pending = set(), [(dataset, 0)]
    while pending and len(seen) < 10000:
        value, depth = pending.pop()
        if id(value) in seen or depth > 8 or isinstance(value, (str, bytes, int, float, torch.Tensor, type)):
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, kinds):
            continue
        if isinstance(value, dict):
            inner = list(value.values()) if len(value) <= 64 else []
        elif isinstance(value, (list, tuple)):
            inner = list(value) if len(value) <= 64 else []
        else:
            inner = [*getattr(value, "__dict__", {}).values(), *_enclosed(value), *_of_class(type(value))]
        pending += [(one, depth + 1) for one in inner]


def _of_class(cls: type) -> Iterator[Any]:
    """The attributes that the script's own classes have for all of their objects."""
    for base in cls.__mro__:
        if base.__module__.split(".")[0] not in LIBRARIES:
            yield from (value for name, value in vars(base).items() if not name.startswith("__"))


def _enclosed(function: Any) -> Iterator[Any]:
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError: # empty
            pass


def composes_in(dataset: Any) -> list[Any]:
    """The torchvision containers that a data set refers to; not those within one of them."""
    kinds = tuple(cls for cls, _ in _lazy.containers())
    return [value for value in reached(dataset) if isinstance(value, kinds)]


def calls_functions(dataset: Any) -> bool:
    """True if a data set refers to a transform of torchvision's other than a Compose of one image, or to code that names torchvision's functions."""
    seen: set[int] = set()
    return any(_is_torchvisions(type(value)) and type(value) is not v1.Compose or
               _names_functions(value if isinstance(value, types.FunctionType) else type(value), seen) for value in reached(dataset))


def _is_torchvisions(thing: Any) -> bool:
    name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None)
    return isinstance(name, str) and name.startswith(TRANSFORMS)


def _names_functions(thing: Any, seen: set[int]) -> bool:
    """True if a function, or a method of a class but its __init__, or the script's own functions and classes that they name, name torchvision's."""
    if id(thing) in seen or len(seen) > 200 or str(getattr(thing, "__module__", "")).split(".")[0] in LIBRARIES:
        return False
    seen.add(id(thing))
    if isinstance(thing, type):
        members = {name: value for cls in reversed(thing.__mro__) for name, value in vars(cls).items() if name != "__init__"}
        return any(_names_functions(member, seen) for member in members.values() if isinstance(member, types.FunctionType))
    if not isinstance(thing, types.FunctionType):
        return False
    codes, names = [thing.__code__], set()
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    named = [*(thing.__globals__[name] for name in names if name in thing.__globals__), *_enclosed(thing)]
    return any(_is_torchvisions(value) or getattr(value, "__name__", "") == "torchvision" and "transforms" in names for value in named) or any(
        _names_functions(value, seen) for value in named if isinstance(value, (type, types.FunctionType)))
