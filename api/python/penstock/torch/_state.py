# SPDX-License-Identifier: Apache-2.0
"""What a script's own transform depends on beside its image: all that it reaches, through attributes, closures, defaults and the globals that
its code names.

A transform is followed only where all of this is known, and nothing of it changes while it runs. Random generators of its own, iterators, files, clocks
and whatever else is not in the lists below are reasons to leave it as it is."""
from __future__ import annotations

import collections
import contextlib
import copy
import decimal
import dis
import enum
import fractions
import functools
import logging
import operator
import pathlib
import random
import re
import sys
import types
import typing
from typing import Any, Callable, Iterable, Iterator

import numpy
import torch

#: Modules whose functions keep nothing, but for generators that `watched` watches.
STATELESS = frozenset((
    "__future__", "abc", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal", "enum", "fractions", "functools",
    "heapq", "itertools", "logging", "math", "numbers", "numpy", "operator", "penstock", "PIL", "random", "re", "statistics", "string", "torch",
    "torchvision", "types", "typing", "typing_extensions", "warnings", "_operator", "_functools", "_random", "_bisect", "_heapq", "_collections"))
#: Values that never change.
FIXED = (int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range, slice, enum.Enum, torch.dtype, torch.device, torch.layout,
         torch.memory_format, numpy.dtype, numpy.generic, numpy.ufunc, re.Pattern, pathlib.PurePath, fractions.Fraction, decimal.Decimal, logging.Logger,
         operator.itemgetter, operator.attrgetter, operator.methodcaller, types.GenericAlias, type(typing.Any), type(typing.Optional[int]),
         types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.CodeType)
#: Generators that draw from what nobody else sees.
GENERATORS = (random.Random, numpy.random.Generator, numpy.random.RandomState, numpy.random.BitGenerator, numpy.random.SeedSequence, torch.Generator)
CACHED = type(functools.lru_cache(lambda: None))
GLOBAL = tuple(one for one in (getattr(random, "_inst", None), getattr(numpy.random.mtrand, "_rand", None), torch.default_generator) if one is not None)
#: Functions that make such, or say what differs from process to process.
NAMES = {name: "makes a random generator of its own" for name in (
    "default_rng", "RandomState", "SystemRandom", "Random", "Generator", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64", "fork_rng")}
NAMES |= {"get_worker_info": "asks which worker it is in", "initial_seed": "asks for the seed"}
BUILTINS = {"id", "hash", "open", "input", "eval", "exec", "globals", "vars", "__import__", "type", "breakpoint"}
#: Methods that nobody calls for an image.
ASIDE = {"__init__", "__new__", "__repr__", "__str__", "__del__", "__init_subclass__", "__class_getitem__", "__getstate__", "__setstate__", "__reduce__",
         "__reduce_ex__", "__getnewargs__"}
#: What PyTorch's modules keep beside a script's attributes.
MODULES_OWN = frozenset(vars(torch.nn.Module()))
#: And what it keeps of a script's, which is mostly nothing.
PARTS_OF_MODULES = ("_parameters", "_buffers", "_modules")
#: Modules that are not looked into: Python's, as far as they are known, and OpenCV, whose generator nobody sees.
STANDARD = frozenset(getattr(sys, "stdlib_module_names", ())) | {"cv2", "os", "secrets", "time", "datetime", "uuid", "threading"}
#: Objects that are looked at.
MOST = 10000


def is_stateless(thing: Any) -> bool:
    """True for what comes from a module that keeps nothing."""
    name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None) or ""
    return isinstance(name, str) and name.split(".")[0] in STATELESS


class State:
    """What some objects reach, as it is now. `light`: to be compared often, and so without large arrays and containers."""

    def __init__(self, *roots: Any, light: bool = False):
        #: What may change: the owner, how to read it, a copy, how to put the copy back.
        self.kept: list[tuple[Any, Callable[[Any], Any], Any, Callable[[Any, Any], None]]] = []
        #: Reasons that it cannot be followed, and those of them that are about what it keeps.
        self.reasons: list[str] = []
        self.keeps: list[str] = []
        #: Its code changes arguments, and there is something that could be one.
        self.changes_arguments = self.has_contents = False
        self._light, self._seen, self._names = light, set(), set() # type: ignore[var-annotated]
        self._classes: list[type] = []
        #: All that was met; were it not kept, an id might be another's.
        self.met: list[Any] = []
        self._walk(list(roots))

    # --- the walk -----------------------------------------------------------------------------------------------------

    def _walk(self, pending: list[Any]) -> None:
        while pending:
            value = pending.pop()
            if id(value) not in self._seen and not isinstance(value, FIXED):
                if len(self._seen) > MOST:
                    self.reasons.append("reaches more than can be watched")
                    return
                self._seen.add(id(value))
                self.met.append(value)
                pending += self._inner(value)
            if not pending: # methods count where any code names them
                pending += [method for cls in self._classes for method in self._methods(cls)
                            if id(method) not in self._seen and not isinstance(method, FIXED)]

    def _inner(self, value: Any) -> Iterable[Any]:
        if any(value is one for one in GLOBAL):
            return ()
        if isinstance(value, GENERATORS):
            return self._refuse("has a random generator of its own", keeps=True)
        if isinstance(value, CACHED):
            return self._refuse("keeps the results of a function")
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, numpy.ndarray):
            return self._array(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.ModuleType):
            return () if is_stateless(value) else self._module(value)
        for kinds, parts in PARTS:
            if isinstance(value, kinds):
                return parts(value)
        if isinstance(value, types.BuiltinFunctionType) or type(value).__name__ == "cython_function_or_method":
            owner = getattr(value, "__self__", None)
            if owner is None or isinstance(owner, types.ModuleType):
                return () if is_stateless(value) or is_stateless(owner) else self._refuse(f"calls {value.__module__}.{value.__name__}")
            return (owner,)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        return self._object(value)

    def _refuse(self, reason: str, keeps: bool = False) -> Iterable[Any]:
        self.reasons.append(reason)
        if keeps:
            self.keeps.append(reason)
        return ()

    def _keep(self, owner: Any, read: Callable[[Any], Any], copy: Any, put: Callable[[Any, Any], None]) -> None:
        self.kept.append((owner, read, copy, put))

    def _tensor(self, value: torch.Tensor) -> Iterable[Any]:
        cloned = value.detach().clone() if not self._light and value.numel() < 1 << 22 else None
        version, self.has_contents = value._version, True

        def put(owner: torch.Tensor, _: Any) -> None:
            if cloned is not None:
                owner.detach().copy_(cloned)
        self._keep(value, lambda owner: owner._version, version, put)
        return ()

    def _array(self, value: numpy.ndarray) -> Iterable[Any]:
        self.has_contents = True
        if value.nbytes <= (4096 if self._light else 1 << 24) and not value.dtype.hasobject:
            shape = value.shape
            self._keep(value, numpy.ndarray.tobytes, value.tobytes(), lambda owner, copy: numpy.copyto(
                owner, numpy.frombuffer(copy, owner.dtype).reshape(shape)))
        return ()

    def _object(self, value: Any) -> Iterable[Any]:
        found: list[Any] = []
        plain = True
        for kind, contents in CONTAINERS:
            if isinstance(value, kind):
                plain = False
                self.has_contents |= contents.put is not nothing
                if contents.put is not nothing and (not self._light or len(value) <= 64):
                    self._keep(value, contents.read, contents.copied(value), contents.put)
                found += contents.inner(value)
        attributes = None if type(value) is collections.OrderedDict else getattr(value, "__dict__", None)
        slots = [name for cls in type(value).__mro__ for name in slots_of(cls)]
        if isinstance(attributes, dict):
            skipped = MODULES_OWN if isinstance(value, torch.nn.Module) else frozenset()
            self._keep(value, vars, dict(attributes), put_attributes)
            found += [inner for name, inner in attributes.items() if name not in skipped or name in PARTS_OF_MODULES and inner]
        if slots:
            self._keep(value, lambda owner: slot_values(owner, slots), slot_values(value, slots), put_slots)
            found += slot_values(value, slots).values()
        bare = plain and not isinstance(attributes, dict) and not slots and type(value) is not object
        if bare or any(is_opaque(cls) for cls in type(value).__mro__):
            return self._refuse(f"keeps a {type(value).__module__}.{type(value).__qualname__}, which nobody can look into", keeps=True)
        return [*found, type(value)]

    def _class(self, value: type) -> Iterable[Any]:
        found = []
        if issubclass(value, GENERATORS):
            return self._refuse("makes a random generator of its own")
        for cls in value.__mro__:
            if not is_stateless(cls) and cls not in self._classes:
                self._classes.append(cls)
                own = {name: inner for name, inner in vars(cls).items() if not name.startswith("__") and not callable(inner)}
                names = list(own)
                self._keep(cls, lambda owner, names=names: {name: vars(owner).get(name) for name in names}, own, put_class)
                found += own.values()
        return found

    def _methods(self, cls: type) -> Iterator[Any]:
        samples = ("__getitem__", "__len__", "__add__", "__iter__") if issubclass(cls, torch.utils.data.Dataset) else ()
        for name, inner in vars(cls).items():
            if name in samples:
                continue
            if name in self._names or name in ("forward", "transform") or name.startswith("__") and name.endswith("__") and name not in ASIDE and callable(inner):
                yield inner

    def _module(self, module: types.ModuleType) -> Iterable[Any]:
        if not hasattr(module, "__file__") or is_standard(module):
            return self._refuse(f"uses module {module.__name__}")
        names = [name for name in self._names if name in vars(module)]
        self._seen.discard(id(module)) # code that names it later may name more of it
        return self._variables(vars(module), names)

    # --- code ---------------------------------------------------------------------------------------------------------------

    def _function(self, value: types.FunctionType) -> Iterable[Any]:
        if is_stateless(value):
            return ()
        found: list[Any] = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *vars(value).values()]
        self._keep(value, vars, dict(vars(value)), put_attributes)
        for cell in value.__closure__ or ():
            self._keep(cell, contents_of, contents_of(cell), put_contents)
            found.append(contents_of(cell))
        names, named = set(), set()
        for code in codes_in(value.__code__):
            named.update(code.co_names)
            steps = list(dis.get_instructions(code))
            found_changes = {changes(steps, i, code) for i in range(len(steps))}
            if OTHERS in found_changes:
                self.keeps.append("changes what it keeps")
            self.changes_arguments |= ARGUMENTS in found_changes
            for step in steps:
                if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
                    names.add(step.argval)
                if step.opname == "IMPORT_NAME" and step.argval.split(".")[0] not in STATELESS:
                    self.reasons.append(f"uses module {step.argval}")
        self.reasons += [NAMES[name] for name in sorted(named & NAMES.keys())]
        self.reasons += [f"calls {name}()" for name in sorted(names & BUILTINS) if name not in value.__globals__]
        self._names |= named
        modules = [one for one in (value.__globals__.get(name) for name in names) if isinstance(one, types.ModuleType)]
        self._seen.difference_update(map(id, modules))
        return [*found, *self._variables(value.__globals__, names)]

    def _variables(self, place: dict[str, Any], names: Iterable[str]) -> Iterable[Any]:
        kept = {name: place[name] for name in names if name in place}
        if kept:
            self._keep(place, lambda owner: {name: owner.get(name) for name in kept}, kept, dict.update)
        return kept.values()

    # --- later ----------------------------------------------------------------------------------------------------------------

    def same(self) -> bool:
        """True if nothing has changed."""
        try:
            return all(read(owner) == kept for owner, read, kept, _ in self.kept)
        except Exception: # noqa: BLE001: something that cannot be compared stands where something else stood
            return False

    def restore(self) -> None:
        """Puts everything back."""
        for owner, read, kept, put in self.kept:
            try:
                changed = read(owner) != kept
            except Exception: # noqa: BLE001: as above
                changed = True
            if changed:
                put(owner, kept)

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Within it all is as it was."""
        now = [(owner, copy.copy(read(owner)), put) for owner, read, _, put in self.kept]
        self.restore()
        try:
            yield
        finally:
            for owner, kept, put in now:
                put(owner, kept)


class Contents(typing.NamedTuple):
    """How the contents of a container are copied, put back, and followed."""
    copied: Callable[[Any], Any]
    put: Callable[[Any, Any], None]
    inner: Callable[[Any], Iterable[Any]]
    read: Callable[[Any], Any] = lambda value: value


def inner_of(values: Any) -> Iterable[Any]:
    """The elements, but those of a large container of numbers or names."""
    return () if all(issubclass(kind, FIXED) for kind in set(map(type, values))) else list(values)


def _refilled(add: str) -> Callable[[Any, Any], None]:
    def put(owner: Any, copy: Any) -> None:
        owner.clear()
        getattr(owner, add)(copy)
    return put


def nothing(owner: Any, copy: Any) -> None:
    """Of what cannot change."""


CONTAINERS: list[tuple[type, Contents]] = [
    (dict, Contents(dict, _refilled("update"), lambda value: [*inner_of(value.keys()), *inner_of(value.values())])),
    (list, Contents(list, _refilled("extend"), inner_of)), (set, Contents(set, _refilled("update"), inner_of)),
    (collections.deque, Contents(collections.deque, _refilled("extend"), inner_of)), (bytearray, Contents(bytes, _refilled("extend"), lambda value: ())),
    (tuple, Contents(tuple, nothing, inner_of)), (frozenset, Contents(frozenset, nothing, inner_of))]
#: Values of a fixed number of parts.
PARTS: list[tuple[Any, Callable[[Any], Iterable[Any]]]] = [
    (types.MethodType, lambda value: (value.__self__, value.__func__)), ((staticmethod, classmethod), lambda value: (value.__func__,)),
    (functools.partial, lambda value: (value.func, value.args, value.keywords)), (types.MappingProxyType, lambda value: inner_of(value.values())),
    (property, lambda value: (value.fget,)), (functools.cached_property, lambda value: (value.func,)),
    (types.MethodWrapperType, lambda value: (value.__self__,))]


def is_opaque(cls: type) -> bool:
    """True for classes that are not written in Python, but for containers."""
    return not cls.__flags__ & 1 << 9 and cls not in (object, types.SimpleNamespace) and not issubclass(cls, tuple(kind for kind, _ in CONTAINERS))


def slots_of(cls: type) -> list[str]:
    slots = vars(cls).get("__slots__", ())
    return [name for name in ([slots] if isinstance(slots, str) else slots) if name not in ("__dict__", "__weakref__")]


def slot_values(owner: Any, names: list[str]) -> dict[str, Any]:
    return {name: getattr(owner, name) for name in names if hasattr(owner, name)}


def put_slots(owner: Any, copy: dict[str, Any]) -> None:
    for name, value in copy.items():
        object.__setattr__(owner, name, value)


def put_attributes(owner: Any, copy: dict[str, Any]) -> None:
    for name in [name for name in vars(owner) if name not in copy]:
        del vars(owner)[name]
    vars(owner).update(copy)


def put_class(owner: type, copy: dict[str, Any]) -> None:
    for name, value in copy.items():
        if vars(owner).get(name) is not value:
            setattr(owner, name, value)


_EMPTY = object()


def contents_of(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError: # empty
        return _EMPTY


def put_contents(cell: Any, copy: Any) -> None:
    if copy is not _EMPTY:
        cell.cell_contents = copy


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code, and that of the functions in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes_in(inner)


#: Methods that change what they are called on; such as end in `_` do, too.
CHANGING = {"append", "appendleft", "extend", "insert", "pop", "popleft", "popitem", "setdefault", "update", "clear", "remove", "discard", "add"}


#: What an instruction changes: nothing that outlives the call, an argument, or more.
OTHERS, ARGUMENTS = "others", "arguments"


def changes(steps: list[dis.Instruction], i: int, code: types.CodeType) -> str:
    """What an instruction changes, as far as one can see it: attributes, variables of others, and their elements."""
    step, name = steps[i], str(steps[i].argval)
    before = [_loads(one, code) for one in steps[max(0, i - 4):i]][::-1] + [""] * 4
    if step.opname in ("STORE_ATTR", "STORE_GLOBAL") or step.opname == "STORE_DEREF" and name in code.co_freevars:
        return OTHERS
    if step.opname in ("LOAD_METHOD", "LOAD_ATTR") and (name in CHANGING or name.endswith("_") and not name.endswith("__")):
        return before[0] if steps[i - 1].opname != "LOAD_GLOBAL" else ""
    if step.opname == "STORE_SUBSCR":
        return before[1] if steps[i - 1].opname.startswith("LOAD_") else ""
    if step.opname == "BINARY_SUBSCR" and steps[i - 1].opname in ("COPY", "DUP_TOP_TWO"):
        return OTHERS if OTHERS in before else ARGUMENTS if ARGUMENTS in before else ""
    return ""


def _loads(step: dis.Instruction, code: types.CodeType) -> str:
    if step.opname in ("LOAD_ATTR", "LOAD_DEREF", "LOAD_GLOBAL"):
        return OTHERS
    arguments = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    loaded = step.argval if isinstance(step.argval, tuple) else (step.argval,) # Python 3.13 loads two at once
    return ARGUMENTS if "LOAD_FAST" in step.opname and any(one in arguments for one in loaded) else ""


def is_standard(module: types.ModuleType) -> bool:
    return module.__name__.split(".")[0] in STANDARD


def keeps_state(*transforms: Any) -> str:
    """How transforms that nobody has run keep something from one image to the next; "" where they seem not to."""
    for state in map(State, transforms):
        if state.keeps:
            return state.keeps[0]
        if state.changes_arguments and state.has_contents:
            return "changes what it keeps"
    return ""
