# SPDX-License-Identifier: Apache-2.0
"""The C API (penstock.h) through ctypes: its structs, its functions, and where the library lies.

Everything of penstock.h that Python needs is mirrored here, and only here. test/python/layout.py compiles the header
and compares sizes, offsets and argument counts.
"""
from __future__ import annotations

import ctypes
import operator
import os
import pathlib
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

OK, ERROR, END_OF_EPOCH, CANCELLED, TIMEOUT, NO_ROWS = range(6)
HELD_ERROR, HELD_GROW = range(2)
DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA = range(3)
ORDER_PIPELINE, ORDER_CALLER = range(2)
LAST_PIPELINE, LAST_DROP, LAST_KEEP, LAST_PAD = range(4)
VALUES, OFFSETS = range(2)


class Parameter(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class CompileOptions(ctypes.Structure):
    # `from` is a word of Python's.
    _fields_ = [("size", c_size_t), ("pipeline", c_char_p), ("parameters", POINTER(Parameter)),
                ("parameter_count", c_size_t), ("disabled_passes", POINTER(c_char_p)), ("disabled_pass_count", c_size_t),
                ("target", c_char_p), ("cache_folder", c_char_p), ("from_", c_char_p), ("check_only", c_int),
                ("gpu", c_char_p), ("transfer", c_char_p), ("machine", c_char_p)]


class ParameterInfo(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("is_static", c_int), ("default_value", c_char_p),
                ("doc", c_char_p)]


class MemoryColumn(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("rank", c_int32), ("extents", POINTER(c_int64)),
                ("data", c_void_p)]


class OfThisProcess:
    """Base of classes that hold pointers: refuses copies and pickles, which would own the same memory or dangle."""
    __slots__ = ()
    #: The message of the refusal: the object's kind, and the alternative.
    _instead = ""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(self._instead)


#: pst_read_row: context, number, the pst_row; 0 where it is done.
ReadRow = ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, c_void_p)


class MemoryBytes(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("sizes", c_void_p)]


class ExternalTable(ctypes.Structure):
    _fields_ = [("length", c_int64), ("read", ReadRow), ("context", c_void_p), ("any_thread", c_int),
                ("bytes", POINTER(MemoryBytes)), ("bytes_count", c_size_t), ("columns", POINTER(MemoryColumn)),
                ("column_count", c_size_t)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("parameters", POINTER(Parameter)), ("parameter_count", c_size_t),
                ("columns", POINTER(MemoryColumn)), ("column_count", c_size_t), ("seed", POINTER(c_int64)),
                ("epoch", c_uint32), ("rank", c_uint32), ("world", c_uint32), ("threads", c_int32),
                ("ranks_here", c_int32), ("prefetch", c_int32), ("fetch_threads", c_int32), ("memory_budget", c_uint64),
                ("on_error", POINTER(c_double)), ("device", c_int), ("device_number", c_int32), ("stream", c_void_p),
                ("allowed_folders", POINTER(c_char_p)), ("allowed_folder_count", c_size_t),
                ("held", c_int), ("order", c_int), ("next_rows", c_void_p), ("next_rows_context", c_void_p),
                ("ask_again", c_int), ("samples_only", c_int), ("last", c_int), ("tables", POINTER(ExternalTable)),
                ("table_count", c_size_t), ("remote_cache", c_char_p), ("remote_cache_bytes", c_uint64)]


class StageStatistics(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("count", c_uint64), ("busy_ns", c_int64)]


class JpegStatistics(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("count", c_uint64)]


class VideoReading(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("count", c_uint64)]


class VideoStatistics(ctypes.Structure):
    _fields_ = [("packets", c_uint64), ("restarts", c_uint64), ("indexes_made", c_uint64), ("index_bytes", c_uint64),
                ("indexes_reused", c_uint64), ("late_bytes", c_uint64), ("readings", VideoReading * 4)]


class Statistics(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("stages", StageStatistics * 7), ("samples", c_uint64), ("batches", c_uint64),
                ("bad_samples", c_uint64), ("fetched_bytes", c_uint64), ("delivered_bytes", c_uint64),
                ("decoded_blocks", c_uint64), ("elapsed_ns", c_int64), ("threads", c_int32), ("limit", c_char_p),
                ("jpeg_entropy", JpegStatistics * 7), ("index_uses", c_uint64), ("index_misses", c_uint64),
                ("videos", VideoStatistics), ("last_wait_ns", c_int64), ("longest_wait_ns", c_int64),
                ("late_batches", c_uint64), ("batch_slots", c_int64)]


class BadSample(ctypes.Structure):
    _fields_ = [("epoch", c_uint32), ("position", c_int64), ("row", c_int64), ("name", c_char_p), ("reason", c_char_p),
                ("substitute", c_int64)]


class SessionInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("table_length", c_int64), ("batch_size", c_int64), ("batches_per_epoch", c_int64),
                ("samples_per_epoch", c_int64), ("threads", c_int32), ("fixed_memory", c_uint64),
                ("sample_memory", c_uint64), ("processors", c_int32), ("processor_quota", c_double),
                ("processor_limit", c_char_p), ("epoch", c_uint32), ("position", c_int64), ("device_memory", c_uint64),
                ("pinned_memory", c_uint64), ("position_before", c_int64)]


class Output(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("rank", c_int32), ("axes", POINTER(c_char_p)),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("data", c_void_p),
                ("offsets", POINTER(c_int64)), ("device", c_int), ("device_number", c_int32)]


class Draw(ctypes.Structure):
    _fields_ = [("path", c_char_p), ("value", c_double), ("dtype", c_int)]


STRUCTS = {"pst_parameter": Parameter, "pst_compile_options": CompileOptions, "pst_parameter_info": ParameterInfo,
           "pst_memory_column": MemoryColumn, "pst_memory_bytes": MemoryBytes, "pst_external_table": ExternalTable,
           "pst_session_options": SessionOptions,
           "pst_stage_statistics": StageStatistics, "pst_jpeg_statistics": JpegStatistics,
           "pst_video_reading": VideoReading, "pst_video_statistics": VideoStatistics, "pst_statistics": Statistics,
           "pst_bad_sample": BadSample, "pst_session_info": SessionInfo, "pst_output": Output, "pst_draw": Draw}

_handle, _out = c_void_p, POINTER(c_void_p)
# Name: result, arguments.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_char_p, []),
    "compile": (c_int, [c_char_p, c_size_t, c_char_p, POINTER(CompileOptions), _out]),
    "compile_bundle": (c_int, [c_char_p, c_size_t, c_char_p, POINTER(CompileOptions), POINTER(c_char_p), c_size_t,
                               c_char_p, _out]),
    "program_load": (c_int, [c_char_p, POINTER(Parameter), c_size_t, _out]),
    "program_messages": (c_char_p, [_handle]),
    "program_messages_json": (c_char_p, [_handle]),
    "program_parameter_count": (c_size_t, [_handle]),
    "program_parameter": (POINTER(ParameterInfo), [_handle, c_size_t]),
    "program_name": (c_char_p, [_handle]),
    "program_explain": (c_int, [_handle, POINTER(c_char_p)]),
    "program_overview": (c_int, [_handle, POINTER(c_char_p)]),
    "program_transfers": (c_int, [_handle, POINTER(c_char_p)]),
    "program_release": (None, [_handle]),
    "operators": (c_int, [_out]),
    "text_data": (c_char_p, [_handle]),
    "text_release": (None, [_handle]),
    "session_open": (c_int, [_handle, POINTER(SessionOptions), _out]),
    "session_error": (c_char_p, [_handle]),
    "session_warnings": (c_char_p, [_handle]),
    "session_next_within": (c_int, [_handle, c_int64, _out]),
    "session_set_transfer": (c_int, [_handle, c_char_p]),
    "session_transfer": (c_char_p, [_handle]),
    "session_start": (c_int, [_handle, c_uint32, POINTER(Parameter), c_size_t]),
    "session_push_rows": (c_int, [_handle, POINTER(c_int64), c_size_t]), "session_wants_rows": (c_int64, [_handle, POINTER(c_uint32)]),
    "session_cancel": (None, [_handle]),
    "session_state": (c_char_p, [_handle]),
    "session_state_before": (c_char_p, [_handle]),
    "session_restore": (c_int, [_handle, c_char_p]),
    "session_statistics": (None, [_handle, POINTER(Statistics)]),
    "session_bad_samples": (None, [_handle, POINTER(POINTER(BadSample)), POINTER(c_size_t)]),
    "session_get_info": (None, [_handle, POINTER(SessionInfo)]),
    "session_class_count": (c_size_t, [_handle]),
    "session_class_name": (c_char_p, [_handle, c_size_t]),
    "session_row_text": (c_int, [_handle, c_int64, c_char_p, POINTER(c_char_p)]),
    "session_close": (None, [_handle]),
    "row_wants": (c_int, [_handle, c_char_p]),
    "row_bytes": (c_int, [_handle, c_char_p, c_void_p, c_size_t]),
    "row_file": (c_int, [_handle, c_char_p, c_char_p]),
    "row_pixels": (c_int, [_handle, c_char_p, c_void_p, c_int64, c_int64, c_int64, POINTER(c_int64)]),
    "row_int": (c_int, [_handle, c_char_p, c_int64]),
    "row_float": (c_int, [_handle, c_char_p, c_double]),
    "row_list": (c_int, [_handle, c_char_p, c_int, c_int32, POINTER(c_int64), c_void_p]),
    "row_array": (c_int, [_handle, c_char_p, c_int, c_int32, POINTER(c_int64), POINTER(c_int64), c_void_p]),
    "row_name": (None, [_handle, c_char_p]),
    "row_fail": (None, [_handle, c_char_p]),
    "batch_epoch": (c_uint32, [_handle]),
    "batch_waited_ns": (c_int64, [_handle]),
    "batch_count": (c_int64, [_handle]),
    "batch_output_count": (c_size_t, [_handle]),
    "batch_output": (POINTER(Output), [_handle, c_size_t]),
    "batch_positions": (POINTER(c_int64), [_handle]),
    "batch_rows": (POINTER(c_int64), [_handle]),
    "batch_host_data": (c_int, [_handle, c_size_t, _out]),
    "batch_release": (None, [_handle]),
    "batch_dlpack": (c_int, [_handle, c_size_t, c_int, c_void_p, _out]),
    "batch_dlpack_legacy": (c_int, [_handle, c_size_t, c_int, c_void_p, _out]),
    "capsule_delete": (None, [c_void_p]),
    "session_sample": (c_int, [_handle, c_uint32, c_int64, _out]),
    "sample_row": (c_int64, [_handle]),
    "sample_name": (c_char_p, [_handle]),
    "sample_output_count": (c_size_t, [_handle]),
    "sample_output": (POINTER(Output), [_handle, c_size_t]),
    "sample_draw_count": (c_size_t, [_handle]),
    "sample_draw": (POINTER(Draw), [_handle, c_size_t]),
    "sample_bad_reason": (c_char_p, [_handle]),
    "sample_release": (None, [_handle]),
}


def candidates() -> list[str]:
    """Paths at which the library is searched, in this order: that of PENSTOCK_LIBRARY (then no other), beside the
    package, the release build of the checkout that the package lies in, and where the system's loader looks."""
    if given := os.environ.get("PENSTOCK_LIBRARY"):
        return [given]
    package = pathlib.Path(__file__).resolve().parent
    places = [package / "lib" / "libpenstock.so.0", package / "libpenstock.so.0"]
    checkout = package.parents[2]
    if (checkout / "api" / "c" / "penstock.h").exists():
        places += [checkout / "build" / "release" / folder / "libpenstock.so" for folder in ("api/c", "lib", ".")]
    return [str(place) for place in places if place.exists()] + ["libpenstock.so.0"]


def load_library() -> Any:
    """Opens the library and declares its functions, as attributes without their prefix.

    Raises ImportError, with each place that was tried and why it would not do."""
    failures = []
    for path in candidates():
        try:
            library: Any = ctypes.CDLL(path)
            for name, (result, arguments) in FUNCTIONS.items():
                function = getattr(library, "pst_" + name)
                function.restype, function.argtypes = result, arguments
                setattr(library, name, function)
        except (OSError, AttributeError) as error: # not found, not loadable; a version without this function
            failures.append(f"  {path}: {error}")
        else:
            library.path = path
            return library
    raise ImportError("libpenstock.so cannot be loaded:\n" + "\n".join(failures) +
                      "\nhint: " + ("another package, such as torchvision, has loaded a libjpeg of its own under the same name, an older one: "
                                    "import penstock before it" if "undefined symbol: jpeg_" in str(failures) else
                                    "build it (cmake --preset release && ninja -C build/release penstock), or set PENSTOCK_LIBRARY "
                                    "to its path"))


library = load_library()


def method(function: Any) -> Any:
    """A function of the library's as a method, without Python's code in between: a handler of a signal that comes into a `__del__`, and
    raises, would be ignored there."""
    # A function of ctypes is no descriptor, and would not get its object.
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(("PyInstanceMethod_New", ctypes.pythonapi))(function)


def encode(value: Any) -> bytes:
    """A text for the library, which would end at a NUL."""
    data = os.fsencode(value) if isinstance(value, (bytes, os.PathLike)) else str(value).encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError(f"{value!r} has a NUL character in it")
    return data


def encode_parameters(values: dict[str, Any]) -> Any:
    """An array of pst_parameter, each value in the language's spelling."""
    def text(name: str, value: Any) -> bytes:
        if hasattr(value, "data_ptr") and value.ndim == 0: # PyTorch's
            value = value.item()
        if isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool": # NumPy's
            return b"true" if value else b"false"
        if value is None:
            raise TypeError(f"parameter `{name}` is None, which is no value of the language; leave it out for its default")
        return encode(value)
    return (Parameter * len(values))(*[Parameter(encode(name), text(name, value)) for name, value in values.items()])


def encode_texts(values: Any) -> Any:
    """An array of char pointers, for texts or paths, or a single one."""
    several = [values] if isinstance(values, (str, bytes, os.PathLike)) else list(values)
    return (c_char_p * len(several))(*[encode(value) for value in several])


def encode_option(name: str, value: Any) -> bytes | None:
    """A text that may be left out, and is not empty."""
    if value is not None and not encode(value):
        raise ValueError(f"{name} is empty; leave it out where there is none")
    return None if value is None else encode(value)


def integer(name: str, value: Any, kind: Any, least: int | None = None) -> int:
    """An argument for an integer of C, in which ctypes lets numbers wrap. TypeError for what is none, and ValueError outside of
    `least` (that of the type, unless it is given) to the type's greatest."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is an integer, not {value!r}") from None
    count = 1 << 8 * ctypes.sizeof(kind)
    low, high = (-count // 2, count // 2 - 1) if kind(-1).value < 0 else (0, count - 1)
    low = low if least is None else least
    if not low <= number <= high:
        raise ValueError(f"{name} is {number}; it is {low} to {high}")
    return number


def decode(value: bytes | None) -> str:
    """Text of the library's: its own is UTF-8, names of files are any bytes."""
    return os.fsdecode(value or b"")
