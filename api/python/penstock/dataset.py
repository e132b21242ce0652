# SPDX-License-Identifier: Apache-2.0
"""Data sets of Python's as tables of a pipeline: what `ds[i]` gives becomes the row i of an `external_source`."""
from __future__ import annotations

import ctypes
import os
import threading
import traceback
import warnings
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import _c
from .outputs import DTYPES, TYPESTR

NONE, BYTES, NUMBER, ARRAY = range(4)
_CODES = {code: number for number, dtype in DTYPES.items() if (code := TYPESTR.get(dtype))}


def from_dataset(ds: Any, columns: Sequence[str] | Mapping[str, Any] | None = None, *, any_thread: bool = False) -> Table:
    """A map-style data set (`__getitem__` and `__len__`, as PyTorch's) as the rows of an `external_source`::

        text = '''pipe 1
        use vision
        pipeline train(per_rank: int = 64) {
          for row in external_source(data = bytes, label = i64) order shuffled
          let part = row.data |> decode(rgb) |> random_resized_crop(224)
          batch per_rank per rank last drop {
            output image: f32[n, c, h, w] = part |> normalize(imagenet)
            output label: i64[n] = row.label
          }
        }
        '''
        loader = penstock.load(text, dataset=penstock.from_dataset(ds))

    columns     what the pipeline calls the parts of an item. Of a tuple, names in its order (`("data", "label")` unless
                said otherwise; what it has beyond them is not looked at); of a mapping, ``{column: key}`` (its own keys unless said otherwise); of anything else, one name
                ("data")
    any_thread  `__getitem__` may be called from several threads at once; else one call is made at a time

    An image (a column of `bytes`) may be encoded bytes (`bytes`, `bytearray`, `memoryview`), the path of a file (`str`, `os.PathLike`), an
    image of Pillow's, or pixels: u8 of [h, w], [h, w, 1] or [h, w, 3] (NumPy), or [1 or 3, h, w] (PyTorch). Numbers are Python's,
    NumPy's or tensors without axes; arrays are NumPy's or tensors of the column's type, or lists, whose numbers take it. One that its
    type does not hold (256 of u8, 1e39 of f32) makes a bad sample.

    `ds[i]` must be the same whenever it is asked for: random augmentation belongs in the pipeline. It is called ahead, in any order,
    in threads of the library. What it raises makes a bad sample with that message, as `on_error` of the pipeline says; so does a column that
    an item does not have.

    A data set of Hugging Face's `datasets`, without a transform, a format, or images with a `mode` of its own, is read from its Arrow tables: encoded images and numbers without
    Python for each row; lists, of their own element type, and numbers of which some are missing with it. Its columns have the data set's names (`columns={"data": "image"}` renames them)."""
    if (rows := _arrow_rows(ds, columns)) is not None:
        return rows
    return Table(ds, columns, any_thread)


def _check_kind(ds: Any) -> None:
    """TypeError for what is no list of items, with what may be done instead."""
    if hasattr(ds, "to_dict") and hasattr(ds, "iloc"): # of pandas
        advice = "`dataset=penstock.from_dataset(frame.to_dict('records'))`, or arrays as columns of a `raw` source: `columns={'x': frame['x'].to_numpy()}`"
    elif hasattr(ds, "column_names") and hasattr(ds, "to_pylist") and not hasattr(ds, "features"): # of pyarrow
        advice = "`dataset=penstock.from_dataset(table.to_pylist())`, or a data set of `datasets`, which is read where it lies: `datasets.Dataset(table)`"
    elif isinstance(ds, Mapping) and hasattr(ds, "num_rows"): # a DatasetDict
        advice = f"one of its splits, such as `ds[{next(iter(ds), 'train')!r}]`"
    elif isinstance(ds, Mapping):
        advice = "arrays are columns of a `raw` source: `penstock.load(file, columns={'x': array, ...})`"
    elif not hasattr(ds, "__getitem__") or not hasattr(ds, "__len__"):
        advice = "items that come one after the other are a list, `from_dataset(list(ds))`, or files, such as `tar_shards`" if hasattr(ds, "__iter__") else ""
    else:
        return
    raise TypeError(f"a data set has `__getitem__` for items by number, and `__len__`; this is {type(ds).__module__}.{type(ds).__qualname__}"
                    + (f"; hint: {advice}" if advice else ""))


def _value(item: Mapping[str, Any], key: Any, name: str) -> Any:
    try:
        return item[key]
    except KeyError:
        raise KeyError(f"no {key!r} for the column `{name}`, but {', '.join(map(repr, item)) or 'nothing'}") from None


class Calls:
    """Calls of the data sets of one loader, and the threads that make them now."""

    def __init__(self) -> None:
        self._threads: set[int] = set()
        self._interrupt: BaseException | None = None
        self.readers: list[Any] = [] # which the library calls as long as the session

    def here(self) -> bool:
        """True in such a call."""
        return bool(self._threads) and threading.get_ident() in self._threads

    def reader(self, fill: Callable[[int, int], None]) -> Any:
        """A pst_read_row for a function that fills a row."""
        def read(context: Any, number: int, row: int) -> int:
            thread = threading.get_ident()
            self._threads.add(thread)
            try:
                fill(number, row)
            except BaseException as error: # noqa: BLE001: it becomes the reason of a bad sample
                if not isinstance(error, Exception) and thread == threading.main_thread().ident: # Ctrl-C, in a call for one sample
                    self._interrupt = error
                _c.library.row_fail(row, _reason(error).encode("utf-8", "replace"))
                return 1
            finally:
                self._threads.discard(thread)
            return 0
        self.readers.append(_c.ReadRow(read))
        return self.readers[-1]

    def reraise(self) -> None:
        """Raises what interrupted a call in the caller's thread, if anything, once."""
        if self._interrupt is not None:
            error, self._interrupt = self._interrupt, None
            raise error


class Table(_c.OfThisProcess):
    """The rows of an `external_source`; see `from_dataset`. Loaders hold it as long as they are open."""
    _instead = "a table is read in this process: call penstock.from_dataset in each process"

    def __init__(self, ds: Any, columns: Sequence[str] | Mapping[str, Any] | None, any_thread: bool):
        if isinstance(columns, str):
            columns = (columns,)
        _check_kind(ds)
        self.ds, self.columns, self.any_thread, self.length = ds, columns, any_thread, len(ds)
        self._encoded: dict[str, bytes] = {}

    def fill(self, place: Any, uses: Callable[[str], bool], calls: Calls) -> None:
        """Writes a pst_external_table that lives as long as this and `calls`, for a pipeline that may use these columns."""
        place.length, place.read, place.any_thread = self.length, calls.reader(self._row), self.any_thread

    def __len__(self) -> int:
        return self.length

    def _fields(self, item: Any) -> Iterable[tuple[str, Any]]:
        """The parts of an item by column."""
        columns = self.columns
        if isinstance(item, Mapping):
            if columns is None:
                return item.items()
            if not isinstance(columns, Mapping):
                columns = {name: name for name in columns}
            return [(name, _value(item, key, name)) for name, key in columns.items()]
        if isinstance(columns, Mapping):
            return [(name, item[key]) for name, key in columns.items()]
        if isinstance(item, (tuple, list)):
            names = columns or ("data", "label")
            if len(item) < len(names):
                raise ValueError(f"{len(item)} values for the columns {', '.join(names)}")
            return zip(names, item)
        return [((columns or ("data",))[0], item)]

    def _row(self, number: int, row: int) -> None:
        for name, value in self._fields(self.ds[number]):
            column = self._encoded.get(name)
            if column is None:
                column = self._encoded[name] = str(name).encode()
            wanted = _c.library.row_wants(row, column)
            if wanted != NONE:
                _SETTERS[wanted](row, column, value)


class _ArrowTable(Table):
    """Columns of Arrow tables, read where they lie."""

    def __init__(self, ds: Any, columns: Mapping[str, Any], places: Any):
        import numpy
        super().__init__(ds, columns, False)
        self._bytes: list[tuple[bytes, Any, Any]] = []
        self._numbers: list[tuple[bytes, Any]] = []
        self._files: dict[bytes, Any] = {}
        self._others: dict[str, Any] = {} # read row by row
        self._places, self._table = places, ds.data.table # whose memory it is
        for name, key in columns.items():
            column = _stored(self._table.column(key))
            kind = str(column.type)
            if kind.startswith("struct<") and "bytes" in {field.name for field in column.type}:
                data, sizes = _addresses([chunk.field("bytes") for chunk in column.chunks], places)
                paths = "path" in {field.name for field in column.type}
                if paths and not data.all(): # files beside the table
                    self._files[name.encode()] = column if places is None else column.take(places)
                self._bytes.append((name.encode(), data, sizes))
            elif kind in ("binary", "large_binary"):
                self._bytes.append((name.encode(), *_addresses(column.chunks, places)))
            elif kind in _ARROW_NUMBERS and not column.null_count:
                values = column.to_numpy()
                self._numbers.append((name.encode(), numpy.ascontiguousarray(values if places is None else values[places])))
            else:
                self._others[name] = column

    def fill(self, place: Any, uses: Callable[[str], bool], calls: Calls) -> None:
        place.length, place.any_thread = self.length, False
        if self._files or any(map(uses, self._others)):
            place.read = calls.reader(self._row)
        self._memory_bytes = (_c.MemoryBytes * len(self._bytes))()
        for to, (name, data, sizes) in zip(self._memory_bytes, self._bytes):
            to.name, to.data, to.sizes = name, data.ctypes.data, sizes.ctypes.data
        self._memory_columns = (_c.MemoryColumn * len(self._numbers))()
        for to, (name, values) in zip(self._memory_columns, self._numbers):
            to.name, to.dtype, to.rank, to.data = name, _CODES[values.dtype.str], 1, values.ctypes.data
            to.extents = (ctypes.c_int64 * 1)(len(values))
        place.bytes, place.bytes_count = self._memory_bytes, len(self._memory_bytes)
        place.columns, place.column_count = self._memory_columns, len(self._memory_columns)

    def _row(self, number: int, row: int) -> None:
        for name, column in self._files.items():
            item = column[number].as_py() or {}
            if item.get("bytes") is None and item.get("path"):
                _c.library.row_file(row, name, _c.encode(item["path"]))
        place = number if self._places is None else int(self._places[number])
        for other, column in self._others.items():
            encoded = other.encode()
            wanted = _c.library.row_wants(row, encoded)
            if wanted != NONE:
                _SETTERS[wanted](row, encoded, _arrow_value(column[place]))


#: Types of Arrow's whose values are numbers of ours.
_ARROW_NUMBERS = {"uint8", "int8", "uint16", "int16", "int32", "int64", "halffloat", "float", "double", "bool"}


def _stored(column: Any) -> Any:
    """A column of an extension type, such as the arrays of `datasets`, as what it is stored as."""
    if not hasattr(column.type, "storage_type"):
        return column
    import pyarrow
    return pyarrow.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)


def _is_list(kind: Any) -> bool:
    return str(kind).startswith(("list<", "large_list<", "fixed_size_list<"))


def _arrow_value(scalar: Any) -> Any:
    """A value of Arrow's; a list of numbers as an array of its own element type."""
    if not scalar.is_valid or not _is_list(scalar.type):
        return scalar.as_py()
    values = scalar.values
    shape, nulls = [len(values)], values.null_count
    while _is_list(values.type):
        fixed = getattr(values.type, "list_size", None)
        lengths = set(values.value_lengths().to_pylist()) if fixed is None else {fixed}
        if nulls or len(lengths) > 1:
            break
        shape.append(lengths.pop() if lengths else 0)
        values = values.flatten()
        nulls = values.null_count
    if nulls or _is_list(values.type):
        raise TypeError("a list with a null in it, or with lists of several lengths, is no array")
    return values.to_numpy(zero_copy_only=False).reshape(shape)


def _addresses(chunks: Any, places: Any) -> tuple[Any, Any]:
    """Addresses and sizes of each row's bytes in arrays of binary values; 0 for a row without."""
    import numpy
    data, sizes = [numpy.zeros(0, numpy.uint64)], [numpy.zeros(0, numpy.int64)]
    for chunk in chunks:
        _, offsets, values = chunk.buffers()
        at = numpy.frombuffer(offsets, numpy.int64 if str(chunk.type).startswith("large") else numpy.int32)
        at = at[chunk.offset:chunk.offset + len(chunk) + 1].astype(numpy.int64)
        address = (at[:-1] + (values.address if values else at.ctypes.data)).astype(numpy.uint64)
        if chunk.null_count:
            address = numpy.where(chunk.is_valid().to_numpy(zero_copy_only=False), address, numpy.uint64(0))
        data.append(address)
        sizes.append(numpy.diff(at))
    joined = numpy.concatenate(data), numpy.concatenate(sizes)
    return joined if places is None else (joined[0][places], joined[1][places])


def _arrow_rows(ds: Any, columns: Any) -> Table | None:
    """The table of a data set of Hugging Face's; None where it is none, or gives something else than its columns hold."""
    table = getattr(getattr(ds, "data", None), "table", None)
    if not hasattr(ds, "features") or not hasattr(table, "column_names"):
        return None
    if (getattr(ds, "format", None) or {}).get("type") is not None:
        return None # a transform or a format of its own
    if isinstance(columns, str):
        columns = (columns,)
    if columns is None:
        columns = table.column_names
    names = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    for name, key in names.items():
        if key not in table.column_names:
            raise KeyError(f"no {key!r} for the column `{name}`, but {', '.join(map(repr, table.column_names)) or 'nothing'}")
    features = {key: ds.features.get(key) for key in names.values()}
    if any(getattr(feature, "mode", None) is not None for feature in features.values()):
        return None # images that are converted when they are decoded
    for key, feature in features.items():
        _warn_of_rate(key, feature)
    places = None
    if getattr(ds, "_indices", None) is not None: # shuffled, selected
        places = ds._indices.column(0).to_numpy()
    return _ArrowTable(ds, names, places)


def _warn_of_rate(key: Any, feature: Any) -> None:
    """`Audio(sampling_rate=16000)` resamples in Python; what is read here are the files."""
    rate = getattr(feature, "sampling_rate", None)
    if rate is not None:
        warnings.warn(f"column {key!r} is cast to {rate} Hz, which only Python's decoding does: files are read as they are; "
                      f"hint: `sinc_resample(wave, rate, {rate})` of module audio, with `probe(row.data, wave).rate`", stacklevel=4)


def as_tables(dataset: Any) -> list[Table]:
    """The `dataset` argument of load() as a list of tables."""
    if dataset is None:
        return []
    # Items that are mappings are the rows of one, as `to_dict("records")` and `to_pylist()` give them.
    rows = isinstance(dataset, (list, tuple)) and dataset and all(isinstance(one, Mapping) and not hasattr(one, "num_rows") for one in dataset)
    several = dataset if isinstance(dataset, (list, tuple)) and not rows else [dataset]
    if several is dataset and (item := next((one for one in several if isinstance(one, (tuple, str, bytes, int, float, os.PathLike))), None)) is not None:
        raise TypeError(f"a list of several is a data set for each `external_source`, and this has {_short(item)} in it; hint: rows are one data set, "
                        "`dataset=penstock.from_dataset(rows)`")
    return [one if isinstance(one, Table) else from_dataset(one) for one in several]


#: Characters of what was raised that a record has.
_MOST_REASON = 1000


def _reason(error: BaseException) -> str:
    """`KeyError: 'x' (data.py:31)`: what was raised, and where in the caller's code."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    text = "".join(traceback.format_exception_only(type(error), error)).strip().replace("\0", " ")
    if len(text) > _MOST_REASON: # the records of bad samples are kept
        text = text[:_MOST_REASON] + " ..."
    return f"{text} ({os.path.basename(places[-1].filename)}:{places[-1].lineno})" if places else text


def _set_bytes(row: int, column: bytes, value: Any) -> None:
    if isinstance(value, bytes):
        _c.library.row_bytes(row, column, value, len(value))
    elif isinstance(value, (str, os.PathLike)):
        _c.library.row_file(row, column, _c.encode(value))
    elif isinstance(value, (bytearray, memoryview)):
        copy = bytes(value)
        _c.library.row_bytes(row, column, copy, len(copy))
    elif hasattr(value, "tobytes") and hasattr(value, "getbands"): # Pillow's
        if value.mode not in ("L", "RGB"):
            if value.mode in ("F", "I") or value.mode.startswith("I;"):
                raise TypeError(f"an image of mode {value.mode} has no 8-bit pixels; hint: convert it, or make it an array column")
            value = value.convert("L" if value.mode == "1" else "RGB")
        pixels, (width, height) = value.tobytes(), value.size
        _c.library.row_pixels(row, column, pixels, height, width, len(value.getbands()), None)
    else:
        _set_pixels(row, column, value)


def _set_pixels(row: int, column: bytes, value: Any) -> None:
    dtype, shape, strides, address, owner = array_of(value)
    if dtype != "u8" or len(shape) not in (2, 3):
        raise TypeError(f"an image is bytes, a path, an image of Pillow's, or u8 pixels, not {dtype} of {list(shape)}")
    if len(shape) == 2:
        shape, strides = (*shape, 1), (*strides, 1)
    elif hasattr(value, "data_ptr") and shape[0] in (1, 3): # PyTorch's order
        shape, strides = (*shape[1:], shape[0]), (*strides[1:], strides[0])
    _c.library.row_pixels(row, column, address, *shape, (ctypes.c_int64 * 3)(*strides))
    del owner


def _set_number(row: int, column: bytes, value: Any) -> None:
    if hasattr(value, "item"): # of NumPy's and PyTorch's
        refuse_masked(value)
        value = value.item()
    if isinstance(value, int): # bool is one
        if -2**63 <= value < 2**63:
            _c.library.row_int(row, column, value)
        else: # which floats may hold
            _c.library.row_float(row, column, float(value))
    elif isinstance(value, float):
        _c.library.row_float(row, column, value)
    else:
        raise TypeError(f"a number is expected in column `{column.decode()}`, not {type(value).__name__}")


def _set_array(row: int, column: bytes, value: Any) -> None:
    if isinstance(value, (list, tuple)):
        return _set_list(row, column, value)
    dtype, shape, strides, address, owner = array_of(value)
    number = next(number for number, name in DTYPES.items() if name == dtype)
    extents = (ctypes.c_int64 * len(shape))(*shape)
    _c.library.row_array(row, column, number, len(shape), extents, (ctypes.c_int64 * len(shape))(*strides), address)
    del owner


def _set_list(row: int, column: bytes, value: Sequence[Any]) -> None:
    """Numbers that have no type of their own, and take that of the column."""
    import numpy
    refuse_masked(value)
    try:
        values = numpy.array(value)
    except ValueError: # of several lengths
        values = numpy.empty(0, object)
    large = (values.dtype.kind == "O" and all(isinstance(one, (int, numpy.integer)) for one in values.flat)
             or values.dtype == numpy.uint64 and (values > 2**63 - 1).any())
    if large and values.size:
        values = values.astype(numpy.float64) # integers of more than 64 bits, which floats may hold
    wide = {"b": "bool", "i": "i64", "u": "i64", "f": "f64"}.get(values.dtype.kind)
    if wide is None:
        raise TypeError(f"a list that is no array of numbers: {_short(value)}")
    values = numpy.ascontiguousarray(values, {"bool": numpy.bool_, "i64": numpy.int64, "f64": numpy.float64}[wide])
    number = next(number for number, name in DTYPES.items() if name == wide)
    _c.library.row_list(row, column, number, values.ndim, (ctypes.c_int64 * values.ndim)(*values.shape), values.ctypes.data)


def refuse_masked(value: Any) -> None:
    """TypeError for a masked array of NumPy's, or what has one in it, where elements are missing: NumPy has other numbers in their places."""
    if isinstance(value, (list, tuple)):
        if any(hasattr(kind, "filled") or issubclass(kind, (list, tuple)) for kind in set(map(type, value))):
            for one in value:
                refuse_masked(one)
    elif hasattr(value, "filled"):
        import numpy
        if numpy.ma.is_masked(value):
            raise TypeError("a masked array, of which elements are missing; hint: `array.filled(value)`")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


_SETTERS = {BYTES: _set_bytes, NUMBER: _set_number, ARRAY: _set_array}


#: Element types by their letters in the buffer protocol.
_LETTERS = {"B": "u8", "b": "i8", "H": "u16", "h": "i16", "i": "i32", "l": "i64", "q": "i64", "e": "f16", "f": "f32", "d": "f64", "?": "bool"}


def _buffer_of(value: Any) -> tuple[str, tuple[int, ...], tuple[int, ...], int, Any]:
    """The same as `array_of`, where there is no NumPy, of what offers its memory, such as an array.array."""
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"a {type(value).__name__} becomes an array by NumPy, which is not installed; hint: array.array('d', list)") from None
    if view.format not in _LETTERS or not view.c_contiguous:
        raise TypeError(f"no column for a buffer of `{view.format}`" + ("" if view.c_contiguous else " with gaps"))
    owner = (ctypes.c_char * view.nbytes).from_buffer_copy(view) if view.readonly else (ctypes.c_char * view.nbytes).from_buffer(view)
    assert view.shape is not None and view.strides is not None
    return _LETTERS[view.format], view.shape, view.strides, ctypes.addressof(owner), owner


def array_of(value: Any) -> tuple[str, tuple[int, ...], tuple[int, ...], int, Any]:
    """Type, shape, strides in bytes, address of a NumPy array or a tensor, and what keeps it alive."""
    if hasattr(value, "data_ptr"): # a tensor of PyTorch's; bf16 as its bits
        dtype = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64", "uint8": "u8", "int8": "i8", "int16": "i16",
                 "int32": "i32", "int64": "i64", "bool": "bool", "uint16": "u16"}.get(str(value.dtype).split(".")[-1])
        if value.device.type != "cpu" or dtype is None:
            raise TypeError(f"no column for a tensor of {value.dtype} on {value.device}")
        value = value.detach().resolve_neg() # whose elements have their signs elsewhere
        size = value.element_size()
        return dtype, tuple(value.shape), tuple(s * size for s in value.stride()), value.data_ptr(), value
    try:
        import numpy
    except ImportError:
        return _buffer_of(value)
    refuse_masked(value)
    original, value = value, numpy.asarray(value) # also where there is an `__array_interface__`: its data may be an object, or made anew for each look
    described = value.__array_interface__
    code = described["typestr"]
    if code[1] == "O":
        raise TypeError(f"{type(original).__name__} is no array of numbers")
    dtype = "bf16" if value.dtype.name == "bfloat16" else DTYPES.get(_CODES.get(code, 0)) # NumPy itself has no bf16; ml_dtypes and JAX add one
    if dtype is None:
        raise TypeError(f"no element type for an array of `{code}`")
    shape, strides = tuple(described["shape"]), described.get("strides")
    if strides is None:
        strides, step = [], int(code[2:])
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= extent
    return dtype, shape, tuple(strides), described["data"][0], value
