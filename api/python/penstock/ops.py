# SPDX-License-Identifier: Apache-2.0
"""Every function of the library on NumPy arrays, at once::

    from penstock import ops

    small = ops.resize(image, 224, 224, filter="bicubic")     # u8[h, w, c]
    turned = ops.random_rotation(image, (-10.0, 10.0), key=7) # what is random needs a key

The arguments are the function's (``help(ops.resize)``, `penstock ops`). Arrays are tensors; a str is a name of the language
("w", "bicubic", "imagenet") or a number with its unit ("3deg"); a tuple of two numbers is a range, a list or dict a constant. A
dict of arrays is a record of the fields that the function names, and a list of names the axes that are reduced: ``ops.mean(image, ["h", "w"])``. Results are arrays,
numbers, or dicts of them; where only the data say how many elements there are (`trim`, `voxelize`), as many as there are.

Axes have the names that the function gives them, and h, w, c for pictures, t, h, w, c for clips; ``axes="h w c"`` says otherwise.
Each call compiles a small pipeline for these shapes, once, and the compile cache keeps it: this is for tests and for looking, not
for a training loop."""
from __future__ import annotations

import ctypes
import functools
import json
import re
from typing import Any, Callable, Iterator

import numpy

from . import _c
from .dataset import refuse_masked
from .errors import CompileError, PenstockError
from .loader import Loader, _numbers_by_code
from .program import Program

__all__: list[str] = [] # filled by the library, see __dir__


@functools.lru_cache(maxsize=None)
def _listed() -> list[dict[str, Any]]:
    """What `penstock ops` lists."""
    handle = ctypes.c_void_p()
    if _c.library.operators(ctypes.byref(handle)) != _c.OK:
        raise PenstockError("the operators cannot be listed")
    found: list[dict[str, Any]] = json.loads(_c.library.text_data(handle))
    _c.library.text_release(handle)
    return found


@functools.lru_cache(maxsize=None)
def _functions() -> dict[str, list[dict[str, Any]]]:
    """The functions of the library, by name; a name may be in several modules."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in _listed():
        if entry["kind"] == "function":
            found.setdefault(entry["name"], []).append(entry)
    return found


def _others() -> dict[str, str]:
    """What else is listed, and what it is."""
    kinds = {"draw": "a distribution", "constant": "a constant"}
    return {entry["name"]: kinds.get(entry["kind"], "built in, a part") for entry in _listed() if entry["kind"] != "function"}


def __dir__() -> list[str]:
    return sorted(_functions())


@functools.lru_cache(maxsize=None)
def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__") or name not in _functions():
        kind = None if name.startswith("__") else _others().get(name)
        raise AttributeError(f"the library has no function `{name}`" if kind is None else
                             f"`{name}` is {kind} of the language: use it in a pipeline; penstock.ops has the functions of its library alone")

    def call(*arguments: Any, key: int | None = None, axes: str | None = None, **named: Any) -> Any:
        return _call(name, arguments, named, key, axes)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = "\n\n".join("\n".join([*entry["signatures"], "", entry["doc"]]) for entry in _functions()[name])
    return call


class _Signature:
    """One overload: `name(x: E[h, w], a: axis = b) -> E[h, w], E: u8 f32`."""

    def __init__(self, module: str, text: str):
        self.module, self.text = module, text
        inside, _, rest = text.partition("(")[2].rpartition(") -> ")
        self.result, _, kinds = rest.partition(", E: ")
        self.elements = set(kinds.split())
        self.parameters = {}
        for part in _split(inside):
            name, _, declared = part.partition(": ")
            self.parameters[name] = declared.split(" = ")[0]
        self.placeholders = {name for name, declared in self.parameters.items() if declared in ("axis", "axes")}

    def bind(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any] | None:
        """Arguments by parameter; None where they do not fit."""
        names = list(self.parameters)
        if len(arguments) > len(names) or not set(named) <= set(names[len(arguments):]):
            return None
        bound = {**dict(zip(names, arguments)), **named}
        fits = all(self._fits(self.parameters[name], value) for name, value in bound.items())
        return bound if fits else None

    def _fits(self, declared: str, value: Any) -> bool:
        if declared.startswith("{") or declared == "rect":
            if isinstance(value, dict) and any(isinstance(part, numpy.ndarray) for part in value.values()):
                return set(value) == {part.split(":")[0].strip() for part in _split(declared[1:-1])} # all that it names comes back
            return isinstance(value, (dict, str))
        if isinstance(value, numpy.ndarray):
            element = declared.partition("[")[0]
            return "[" in declared and (element == _element(value) or (element == "E" and _element(value) in self.elements))
        if "[" in declared: # a constant, which has an element type of its own
            return isinstance(value, list) and not declared.startswith("E[") and _depth(value) == len(_axes_of(declared, set()))
        if declared == "axes":
            return isinstance(value, str) or (isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value))
        if declared == "range":
            return isinstance(value, (tuple, str))
        if declared in ("int", "bool", "i64"):
            return isinstance(value, (int, numpy.integer))
        return not isinstance(value, (tuple, list, dict))


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _split(text: str) -> Iterator[str]:
    """At the commas that are in no bracket."""
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            yield text[begin:at].strip()
            begin = at + 1
    if text[begin:].strip():
        yield text[begin:].strip()


def _element(array: numpy.ndarray) -> str:
    code = array.__array_interface__["typestr"]
    found = _numbers_by_code().get(code)
    if found is None:
        raise TypeError(f"no element type for an array of `{code}`")
    return found[1]


def _axes_of(declared: str, placeholders: set[str]) -> list[str]:
    """The names in a type, without those that stand for an argument."""
    inside = declared.partition("[")[2].partition("]")[0]
    names = [part.split(":")[0].split("<")[0].split("=")[0].strip() for part in inside.split(",") if part.strip()]
    return [name for name in names if name not in placeholders]


def _names(array: numpy.ndarray, declared: str, bound: dict[str, Any], signature: _Signature) -> list[str]:
    """Names of an array's axes, from the declared ones or by its rank. TypeError where `axes=` is needed."""
    wanted = _axes_of(declared, signature.placeholders)
    if array.ndim == len(wanted):
        return wanted
    chosen = [axis for name in signature.placeholders for axis in _chosen(bound.get(name, []))]
    if array.ndim == 1:
        return chosen[:1] or ["k"]
    if array.ndim == 2 and len(wanted) == 1 and wanted[0] != "c":
        return ["k", *wanted]
    usual = {2: ["h", "w"], 3: ["h", "w", "c"], 4: ["t", "h", "w", "c"]}
    if array.ndim not in usual:
        raise TypeError(f"an array of {array.ndim} axes needs `axes=`, a name for each")
    return usual[array.ndim]


def _chosen(value: Any) -> list[str]:
    """The names of an argument that is one axis, or several."""
    return [value] if isinstance(value, str) else list(value)


class _Text:
    """The pipeline of one call."""

    def __init__(self) -> None:
        self.columns: dict[str, numpy.ndarray] = {}
        self.types: list[str] = []
        self.constants: list[str] = []
        self.axes: list[str] = []
        self.fields: dict[str, list[str]] = {} # axes of the arrays in records
        self.reduced: set[str] = set() # axes that an argument takes away
        self.bounds: dict[tuple[str, str], int] = {} # by output and axis: where the data say how many there are

    def array(self, array: numpy.ndarray, names: list[str], declared: str) -> str:
        if len(names) != array.ndim:
            raise TypeError(f"{len(names)} axes ({' '.join(names)}) for an array that has {array.ndim}")
        roles = dict(re.findall(r"(\w+): (\w+)", declared))
        extents = [f"{name} = {'rgb' if name == 'c' and extent == 3 else roles.get(name, extent)}"
                   for name, extent in zip(names, array.shape)]
        column = f"x{len(self.columns)}"
        self.columns[column] = numpy.ascontiguousarray(array)[None]
        self.types.append(f"{column} = column({column}, {_element(array)}" + (f"[{', '.join(extents)}]" if extents else "") + ")")
        self.axes += [name for name in names if name not in self.axes]
        return f"row.{column}"

    def value(self, value: Any, declared: str, names: Callable[[numpy.ndarray, str], list[str]]) -> str:
        if isinstance(value, numpy.ndarray):
            return self.array(value, names(value, declared), declared)
        if isinstance(value, dict) and any(isinstance(inner, numpy.ndarray) for inner in value.values()):
            types = dict(part.split(": ", 1) for part in _split(declared.strip("{} ")))
            for name, inner in value.items():
                self.fields[name] = names(inner, types.get(name, ""))
            return "{ " + ", ".join(f"{name} = {self.value(inner, types.get(name, ''), names)}"
                                    for name, inner in value.items()) + " }"
        if declared == "axes":
            self.reduced |= set(_chosen(value))
            return "[" + ", ".join(map(_literal, _chosen(value))) + "]"
        if isinstance(value, (dict, list)) and declared != "rect":
            self.constants.append(f"const k{len(self.constants)}: {declared} = {_literal(value)}")
            return f"k{len(self.constants) - 1}"
        return _literal(value)


def _literal(value: Any) -> str:
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, float, numpy.integer, numpy.floating)):
        return repr(value.item() if isinstance(value, numpy.generic) else value)
    if isinstance(value, tuple) and len(value) == 2:
        return " .. ".join(map(_literal, value))
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_literal(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, str) and re.fullmatch(r"-?[\w.]+%?", value):
        return value
    raise TypeError(f"{value!r} is no argument of the language: a number, a name, a range (a, b), a list or a dict")


#: Functions whose arguments decide: their draws have one outcome.
CHOSEN = {"augment", "jittered"}
EXTENT = "extent_of_axis"
RECORDS = {"rect": "{ top: i64, left: i64, height: i64, width: i64 }", "range": "{ low: f64, high: f64 }"}


def _outputs(result: str, value: str, signature: _Signature, text: _Text, element: str, name: str = "value",
             axes: list[str] | None = None) -> Iterator[str]:
    """The outputs of a result's type."""
    result = RECORDS.get(result, result)
    if result.startswith("{"):
        for part in _split(result.strip("{} ")):
            field, _, declared = part.partition(": ")
            yield from _outputs(declared, f"{value}.{field}", signature, text, element, f"{name}_{field}", text.fields.get(field))
        return
    kind = {"E": element, "int": "i64"}.get(result.partition("[")[0], result.partition("[")[0])
    if "[" in result:
        given = text.axes if axes is None else axes
        named = {axis for declared in signature.parameters.values() for axis in _axes_of(declared, signature.placeholders)}
        kept = _axes_of(result, signature.placeholders)
        axes = [a for a in given if (a not in named or a in kept) and a not in text.reduced]
        for at, axis in reversed(list(enumerate(kept))): # new ones stand before what they are declared before
            if axis not in axes:
                axes.insert(axes.index(kept[at + 1]) if at + 1 < len(kept) else len(axes), axis)
        bounds = {axis: text.bounds[name, axis] for axis in axes if (name, axis) in text.bounds}
        shape = "".join(f", {axis} <= {bounds[axis]}" if axis in bounds else f", {axis}" for axis in axes)
        padding = f" pad {'false' if kind == 'bool' else 0}" if bounds else ""
        for axis in bounds:
            yield f"    output {name}_{EXTENT}_{axes.index(axis)}: i64[n] = extent({value}, {axis})"
        yield f"    output {name}: {kind}[n{shape}]{padding} = {value}"
        return
    converted = f"{kind}({value})" if result == "int" or signature.result == "rect" else value
    yield f"    output {name}: {kind}[n] = {converted}"


def _bounds(error: CompileError) -> dict[tuple[str, str], int]:
    """Bounds of the outputs that a compile error calls bounded: most elements by output and axis."""
    found = {}
    for message in error.messages:
        about = re.match(r"axis `(\w+)` of output `(\w+)` differs from sample to sample", message["message"])
        bounds = about and [re.search(rf"\b{about[1]}<=(\d+)", note["message"]) for note in message["notes"]]
        for bound in filter(None, bounds or []):
            found[about[2], about[1]] = int(bound[1])
    return found


def _cut(found: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """Without the padding behind what there is."""
    kept = {name: array for name, array in found.items() if EXTENT not in name}
    for name, extent in found.items():
        if name not in kept:
            of, _, axis = name.rpartition(f"_{EXTENT}_")
            kept[of] = kept[of].take(range(int(extent)), int(axis))
    return kept


@functools.lru_cache(maxsize=256)
def _program(text: str, name: str) -> Program:
    return Program(text.encode(), f"<ops.{name}>", {})


def _call(name: str, arguments: tuple[Any, ...], named: dict[str, Any], key: int | None, axes: str | None) -> Any:
    signatures = [_Signature(entry["module"], text) for entry in _functions()[name] for text in entry["signatures"]]
    if key is not None:
        _c.integer("key", key, ctypes.c_int64)
    for value in (*arguments, *named.values()):
        refuse_masked([*value.values()] if isinstance(value, dict) else value)
    lists = any(isinstance(value, list) for value in (*arguments, *named.values()))
    failure: Exception = TypeError(f"{name} takes other arguments:\n" + "\n".join(s.text for s in signatures) +
                                   ("\nhint: a tensor is an array, numpy.array(list); a list is a constant" if lists else ""))
    for signature in signatures:
        bound = signature.bind(arguments, named)
        if bound is None:
            continue
        try:
            return _run(name, signature, bound, len(arguments), key, axes)
        except CompileError as error: # another function of this name may be meant
            failure = failure if isinstance(failure, CompileError) else error
    raise failure


def _run(name: str, signature: _Signature, bound: dict[str, Any], unnamed: int, key: int | None, axes: str | None) -> Any:
    text = _Text()
    names = (lambda array, declared: axes.split()) if axes else (
        lambda array, declared: _names(array, declared, bound, signature))
    values: list[str] = []
    for parameter, value in bound.items():
        written = text.value(value, signature.parameters[parameter], names)
        values.append(written if not values or parameter in list(signature.parameters)[:unnamed]
                      else f"{parameter} = {written}")
    program = functools.partial(_compiled, name, signature, text, f"{name}({', '.join(values)})")
    try:
        compiled = program()
    except CompileError as error:
        bounds = _bounds(error)
        if not bounds and not (text.reduced and "leaves out axis" in str(error)):
            raise
        text.bounds = bounds or text.bounds
        if not bounds: # as of softmax, which goes over axes and keeps them
            text.reduced.clear()
        compiled = program()
    with Loader(compiled, columns=text.columns, seed=key, threads=1, samples_only=True) as loader:
        sample = loader.sample(0)
        if key is None and sample.draws and name not in CHOSEN:
            raise TypeError(f"{name} is random: give a `key=`, an int; equal keys give equal results")
        found = _cut({output: numpy.array(array)[()] for output, array in sample.items() if output != "nothing"})
    if list(found) == ["value"]:
        return found["value"]
    return {output.partition("_")[2]: array for output, array in found.items()}


def _compiled(name: str, signature: _Signature, text: _Text, call: str) -> Program:
    element = next((_element(array) for array in text.columns.values()), "f64")
    use = "" if signature.module == "prelude" else f"use {signature.module}\n"
    constants = "".join(line + "\n" for line in text.constants)
    if text.columns:
        parameters, source = ", ".join(f"{name}: path" for name in text.columns), f"raw({', '.join(text.types)})"
    else:
        parameters, source = "", "synthetic(1, nothing = u8)"
    lines = [f"pipe 1\n{use}{constants}pipeline {name}_of({parameters}) {{", f"  for row in {source}",
             f"  let value = {call}", "  batch 1 per rank last keep {",
             *_outputs(signature.result, "value", signature, text, element),
             *([] if text.columns else ["    output nothing: u8[n] = row.nothing"]), "  }", "}", ""]
    return _program("\n".join(lines), name)
