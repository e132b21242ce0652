"""Compiled pipelines."""
from __future__ import annotations

import ctypes
import os
import pathlib
import warnings
import weakref
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from . import _c
from .errors import CompileError


@dataclass(frozen=True)
class Parameter:
    """A parameter of a pipeline, as its text declares it."""
    name: str
    type: str
    #: Whether another value means compiling again.
    is_static: bool
    #: None: it must be given.
    default: str | None
    doc: str


class Program:
    """A compiled pipeline. `load` makes one; several loaders can share it."""

    def __init__(self, text: bytes, file_name: str, parameters: Mapping[str, Any], pipeline: str | None = None,
                 cache: str | os.PathLike[str] | None = None, target: str | None = None, without: Iterable[str] = (),
                 check_only: bool = False):
        self._handle = c_void_p()
        given, disabled = _c.encode_parameters(dict(parameters)), _c.encode_texts(list(without))
        options = _c.CompileOptions(
            size=ctypes.sizeof(_c.CompileOptions), pipeline=pipeline and pipeline.encode(), parameters=given,
            parameter_count=len(given), disabled_passes=disabled, disabled_pass_count=len(disabled),
            target=target and target.encode(), cache_folder=None if cache is None else os.fsencode(cache),
            check_only=check_only)
        status = _c.library.compile(text, len(text), os.fsencode(file_name), byref(options), byref(self._handle))
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
        """What was fused, what not and why, in words."""
        text = ctypes.c_char_p()
        if _c.library.program_explain(self._handle, byref(text)) != _c.OK:
            raise CompileError(_c.decode(_c.library.program_messages(self._handle)))
        return _c.decode(text.value)


def read_source(source: str | os.PathLike[str]) -> tuple[bytes, str]:
    """The text of a pipeline and the name that messages give its file. A text has several lines or starts with `pipe`;
    anything else is a path."""
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("pipe ")):
        return source.encode(), "<text>"
    return pathlib.Path(source).read_bytes(), os.fspath(source)
