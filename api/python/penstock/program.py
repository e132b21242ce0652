# SPDX-License-Identifier: Apache-2.0
"""Compiled pipelines."""
from __future__ import annotations

import ctypes
import errno
import json
import os
import pathlib
import re
import threading
import warnings
import weakref
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from . import _c
from .errors import CompileError

_telling = threading.Lock() # a program's text lives until the next call for it


def _after_fork() -> None:
    global _telling
    _telling = threading.Lock() # a thread that held it is not there in the child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a pipeline, as its text declares it."""
    name: str
    type: str
    #: True if another value means compiling again.
    is_static: bool
    #: None: it must be given.
    default: str | None
    doc: str


class Program(_c.OfThisProcess):
    """A compiled pipeline. `load` makes one; several loaders can share it."""
    _instead = "a program is code in the memory of this process: call penstock.load in each process; the compile cache has what is compiled"
    _text: str | None = None # None: of a bundle

    def __init__(self, text: bytes, file_name: str, parameters: Mapping[str, Any], pipeline: str | None = None,
                 cache: str | os.PathLike[str] | None = None, target: str | None = None, without: Iterable[str] = (),
                 check_only: bool = False, gpu: str | None = None, transfer: str | None = None,
                 machine: str | os.PathLike[str] | Mapping[str, Any] | None = None):
        options = _options(parameters, pipeline, cache, target, without, check_only, gpu, transfer, machine)
        handle = c_void_p()
        self._text, self._given = text.decode("utf-8", "replace"), frozenset(parameters)
        self._take(_c.library.compile(text, len(text), os.fsencode(file_name), byref(options), byref(handle)), handle)

    @classmethod
    def of_bundle(cls, path: str | os.PathLike[str], parameters: Mapping[str, Any]) -> Program:
        """A bundle, which `compile_bundle` wrote. No compiler is needed. Those parameters that are static must have the
        values that they had when it was compiled. Raises CompileError, as `load`."""
        program, handle, given = cls.__new__(cls), c_void_p(), _c.encode_parameters(dict(parameters))
        program._given = frozenset(parameters)
        program._take(_c.library.program_load(_c.encode(path), given, len(given), byref(handle)), handle)
        return program

    def _take(self, status: int, handle: c_void_p) -> None:
        self._handle = handle
        self._release = weakref.finalize(self, _c.library.program_release, self._handle)
        messages = _c.decode(_c.library.program_messages(self._handle))
        if status != _c.OK:
            raise CompileError(messages.rstrip(), _c.decode(_c.library.program_messages_json(self._handle)))
        if messages:
            warnings.warn(messages.rstrip(), stacklevel=3)

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return _c.decode(_c.library.program_name(self._handle))

    @property
    def parameters(self) -> list[Parameter]:
        """The pipeline's parameters, in the order of its text."""
        found = []
        for i in range(_c.library.program_parameter_count(self._handle)):
            info = _c.library.program_parameter(self._handle, i).contents
            default = None if info.default_value is None else _c.decode(info.default_value)
            found.append(Parameter(_c.decode(info.name), _c.decode(info.type), bool(info.is_static), default,
                                   _c.decode(info.doc)))
        return found

    def explain(self) -> str:
        """Explains in words which ops were fused, and why others were not."""
        return self._told(_c.library.program_explain)

    def transfers(self) -> dict[str, Any]:
        """Estimated costs of a sample at each level of `transfer`, on the `machine` of `load`: the values that cross, the work
        on either side, and the level that "auto" takes. docs/cuda.md describes the estimate, penstock.h the entries
        (pst_program_transfers)."""
        return json.loads(self._told(_c.library.program_transfers))

    def _told(self, function: Any) -> str:
        text = ctypes.c_char_p()
        with _telling:
            if function(self._handle, byref(text)) != _c.OK:
                raise CompileError(_c.decode(_c.library.program_messages(self._handle)))
            return _c.decode(text.value)

    def names_column(self, name: str) -> bool:
        """True if a source may have a column of this name: `name =` stands in the text. Always for a bundle, which has no text."""
        return self._text is None or re.search(rf"\b{re.escape(name)}\s*=", self._text) is not None

    def raw_columns(self) -> list[str]:
        """The columns of the `raw` sources. CompileError for a bundle."""
        boxes = json.loads(self._told(_c.library.program_overview))["boxes"]
        titles = [box["title"] for box in boxes if box["kind"] == "source" and box["title"].startswith("raw(")]
        return [name for title in titles for name in title[len("raw("):-1].split(", ")]


def _machine_text(machine: str | os.PathLike[str] | Mapping[str, Any] | None) -> bytes | None:
    if machine is None:
        return None
    return json.dumps(machine).encode() if isinstance(machine, Mapping) else pathlib.Path(machine).read_bytes()


def _options(parameters: Mapping[str, Any], pipeline: str | None, cache: str | os.PathLike[str] | None,
             target: str | None, without: Iterable[str], check_only: bool = False,
             gpu: str | None = None, transfer: str | None = None,
             machine: str | os.PathLike[str] | Mapping[str, Any] | None = None) -> _c.CompileOptions:
    given, disabled = _c.encode_parameters(dict(parameters)), _c.encode_texts(without)
    return _c.CompileOptions(
        size=ctypes.sizeof(_c.CompileOptions), pipeline=_c.encode_option("pipeline", pipeline), parameters=given,
        parameter_count=len(given), disabled_passes=disabled, disabled_pass_count=len(disabled),
        target=_c.encode_option("target", target), cache_folder=None if cache is None else _c.encode(cache),
        check_only=check_only, gpu=_c.encode_option("gpu", gpu), transfer=_c.encode_option("transfer", transfer),
        machine=_machine_text(machine))


def compile_bundle(source: str | os.PathLike[str], path: str | os.PathLike[str], *,
                   targets: Iterable[str] = ("x86-64-v2", "x86-64-v3", "x86-64-v4"), pipeline: str | None = None,
                   parameters: Mapping[str, Any] | None = None, cache: str | os.PathLike[str] | None = None,
                   without: Iterable[str] = (), gpu: str | None = None, transfer: str | None = None,
                   machine: str | os.PathLike[str] | Mapping[str, Any] | None = None, **values: Any) -> None:
    """Compiles a pipeline for several levels of the CPU and writes a bundle, which `load` opens as it opens a .pipe file,
    and `penstock-run` runs, also where no compiler is installed.

    source           a .pipe file, or its text
    path             the bundle, whose name ends in .pstk; what has the name is replaced in one step, but no file that is read
    targets          the levels that it has code for
    values           the pipeline's parameters: static ones are compiled in, others become the bundle's defaults
    parameters       the same as a mapping
    pipeline, cache, without, gpu, transfer, machine   as of `load`

    Raises CompileError, also where the file cannot be written, OSError where the source cannot be read, and ValueError for a path that no bundle has."""
    text, file_name = read_source(source)
    _check_bundle(path, file_name, machine)
    options = _options({**(parameters or {}), **values}, pipeline, cache, None, without, gpu=gpu, transfer=transfer,
                       machine=machine)
    names = _c.encode_texts(targets)
    program, handle = Program.__new__(Program), c_void_p()
    program._take(_c.library.compile_bundle(text, len(text), os.fsencode(file_name), byref(options), names, len(names),
                                            _c.encode(path), byref(handle)), handle)


def _check_bundle(path: str | os.PathLike[str], *read: Any) -> None:
    """ValueError for a path that `load` would take for a text, or that is one of the files that are read."""
    if not os.fsdecode(path).endswith(".pstk"):
        raise ValueError(f"a bundle has a name that ends in .pstk, and this is {os.fsdecode(path)!r}")
    for one in read:
        if isinstance(one, (str, os.PathLike)) and os.path.isfile(one) and os.path.isfile(path) and os.path.samefile(one, path):
            raise ValueError(f"{os.fsdecode(path)!r} is a file that is read, {os.fspath(one)!r}; give the bundle another name")


def is_bundle(source: str | os.PathLike[str]) -> bool:
    """True if `load` has nothing to compile: a path that ends in .pstk."""
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"a pipeline is a path or its text, a str or an os.PathLike, not {type(source).__name__}")
    return not (isinstance(source, str) and "\n" in source) and os.fspath(source).endswith(".pstk")


def read_source(source: str | os.PathLike[str]) -> tuple[bytes, str]:
    """The text of a pipeline and the name that messages give its file. A text has several lines or starts with `pipe`;
    anything else is a path."""
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("pipe ")):
        return source.encode(), "<text>"
    if not os.fspath(source):
        raise ValueError("a pipeline is a path or its text, and this is empty")
    path = pathlib.Path(source)
    if path.is_char_device() or path.is_block_device():
        raise OSError(errno.EINVAL, "a pipeline is no device", str(path)) # some have no end
    return path.read_bytes(), os.fspath(source)
