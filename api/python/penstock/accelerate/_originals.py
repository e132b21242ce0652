# SPDX-License-Identifier: Apache-2.0
"""What of Pillow and torchvision a script has replaced: pipelines do what these do by themselves, and know nothing of a patch.

Functions, methods and classes are remembered when their module has run, before the script can reach them. Those that `install()` finds imported
already are taken as they are, but for functions of other packages. This module is loaded in each Python that a script starts: it imports nothing large."""
from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import operator
import os
import re
import sys
import types
from typing import Any, Iterator, NamedTuple, Sequence

#: Modules, and the names that count in them and in their classes.
MODULES = [(re.compile(module), re.compile(names)) for module, names in (
    (r"PIL\.(Image|ImageFile|ImageOps|ImageEnhance|ImageFilter|(Jpeg|Png|Bmp|Ppm|WebP)ImagePlugin)", r"(?!.*(show|save|register|_repr|__str__|__reduce)).*"),
    (r"torchvision\.(transforms|tv_tensors|datapoints)(\..+)?", r"(?!.*(_repr|__str__|__reduce)).*"),
    (r"torchvision\.datasets\.(folder|vision|imagenet|cifar|mnist|svhn|stl10)", r"__getitem__|.*_loader|Image"),
    (r"torch\.utils\.data\.dataset", r"__getitem__"),
    (r"torch\.nn\.modules\.module", r"__call__|_call_impl|_wrapped_call_impl"))]
#: Packages whose functions stand in these modules.
PACKAGES = frozenset(("PIL", "torch", "torchvision", "numpy", "typing_extensions", "abc", "builtins", "collections", "contextlib", "dataclasses", "enum",
                      "functools", "operator", "typing", "warnings")) | frozenset(getattr(sys, "stdlib_module_names", ()))
HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
MISSING = object()


class Kept(NamedTuple):
    """A module or class as it was."""
    path: str
    owner: Any
    names: re.Pattern[str]
    #: By name what stood there, and its parts; no parts: it was another package's already.
    values: dict[str, tuple[Any, tuple[Any, ...]]]
    names_then: frozenset[str]


class Change(NamedTuple):
    """A name whose value is another one, or MISSING."""
    path: str
    owner: Any
    name: str
    then: Any
    now: Any


def plain(value: Any) -> Any:
    """The function of a method, a property and so on."""
    if isinstance(value, (staticmethod, classmethod)):
        return value.__func__
    return value.fget if isinstance(value, property) else value


def parts_of(value: Any) -> tuple[Any, ...]:
    """What a value is compared by."""
    value = plain(value)
    if type(value) is types.FunctionType:
        return value, value.__code__, value.__kwdefaults__, *(value.__defaults__ or ())
    return (value,)


def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


def counts(value: Any) -> bool:
    return callable(value) or isinstance(value, (types.ModuleType, staticmethod, classmethod, property))


def is_ours(value: Any) -> bool:
    """True for what stands there while a data set is traced, or a transform is followed."""
    code = getattr(plain(value), "__code__", None)
    return code is not None and code.co_filename.startswith(HERE)


def is_foreign(value: Any) -> bool:
    value = plain(value)
    module = getattr(value, "__module__", None)
    return type(value) is types.FunctionType and module in sys.modules and module.split(".")[0] not in PACKAGES and not is_ours(value)


class Originals:
    """Modules and their classes as they were when they had run."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Kept]] = {}

    def remember(self, module: types.ModuleType) -> None:
        names = names_of(module.__name__)
        if names is None:
            return
        owners = [(module.__name__, module)] + [
            (f"{module.__name__}.{value.__qualname__}", value) for value in list(vars(module).values())
            if isinstance(value, type) and value.__module__ == module.__name__]
        self.kept[module.__name__] = [
            Kept(path, owner, names, {name: (value, () if is_foreign(value) else parts_of(value)) for name, value in list(vars(owner).items())
                                      if counts(value) and names.fullmatch(name)}, frozenset(vars(owner))) for path, owner in owners]

    def changes(self) -> Iterator[Change]:
        for path, owner, names, values, names_then in [one for found in list(self.kept.values()) for one in found]:
            space = vars(owner)
            for name, (value, parts) in values.items():
                now = space.get(name, MISSING)
                if not (same(parts_of(now), parts) if parts else not is_foreign(now)) and not is_ours(now):
                    yield Change(path, owner, name, value, now)
            if len(space) == len(names_then) or not isinstance(owner, type):
                continue
            for name in [*space.keys() - names_then]: # what hides a base's
                if counts(space[name]) and names.fullmatch(name) and not is_ours(space[name]) and any(name in vars(base) for base in owner.__mro__[1:]):
                    yield Change(path, owner, name, MISSING, space[name])

    def changed(self) -> str:
        """What is not as it was, in words; "" where all is."""
        for path, _, name, then, now in self.changes():
            now = plain(now)
            if now is plain(then):
                return f"{path}.{name} has been changed"
            by = "" if now is MISSING else f", by {getattr(now, '__module__', None)}.{getattr(now, '__qualname__', type(now).__qualname__)}"
            return f"{path}.{name} has been replaced{by}"
        return ""

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Within it all stands where it stood."""
        changes = list(self.changes())
        for _, owner, name, then, _ in changes:
            put(owner, name, then)
        try:
            yield
        finally:
            for _, owner, name, _, now in changes:
                put(owner, name, now)


def put(owner: Any, name: str, value: Any) -> None:
    if value is MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


def names_of(module: str) -> re.Pattern[str] | None:
    """The names that count in a module; None: it is none of those that are remembered."""
    if not module.startswith(("PIL.", "torch")):
        return None
    return next((names for known, names in MODULES if known.fullmatch(module)), None)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules as others do, and has them remembered when they have run."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if names_of(name) is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                run(module)
                originals.remember(module)
            spec.loader.exec_module = exec_module # type: ignore[method-assign]
        return spec


originals = Originals()


def watch() -> None:
    """Remembers what is imported, and what is from now on."""
    for name, module in list(sys.modules.items()):
        if name not in originals.kept and isinstance(module, types.ModuleType):
            originals.remember(module)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
