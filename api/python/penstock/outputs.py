# SPDX-License-Identifier: Apache-2.0
"""Batches, samples and their outputs: views of memory that the library owns."""
from __future__ import annotations

import ctypes
import operator
from typing import Any, Iterator

from . import _c
from ._dlpack import CPU, CUDA, make_capsule

#: Element types by the number that penstock.h gives them, and their codes in NumPy's array interface. NumPy has no bf16.
DTYPES = {1: "u8", 2: "i8", 3: "u16", 4: "i16", 5: "i32", 6: "i64", 7: "f16", 8: "bf16", 9: "f32", 10: "f64", 11: "bool"}
TYPESTR = {"u8": "|u1", "i8": "|i1", "u16": "<u2", "i16": "<i2", "i32": "<i4", "i64": "<i8", "f16": "<f2", "f32": "<f4",
           "f64": "<f8", "bool": "|b1"}


_COPY = "is memory of this process: copy its arrays, numpy.array(output), and hand those on"


class Array(_c.OfThisProcess):
    """A tensor in memory that the library owns, without a copy.

    ``numpy.asarray(array)`` is a view; it, and what is made from it (``torch.from_numpy``), keeps the memory. Once
    nothing refers to it the memory is used for another batch. One in a GPU's memory is taken with ``torch.from_dlpack``
    and its like; see `copy_to_host`."""
    __slots__ = ("_owner", "_place", "_view")
    _instead = "an output is memory of this process: copy it, numpy.array(output), and hand that on"

    @property
    def _gpu(self) -> int | None:
        """The number of the GPU whose memory it lies in."""
        return None

    def __init__(self, owner: Any, place: tuple[int, int], view: tuple[int, str, tuple[int, ...], tuple[int, ...]] | None):
        self._owner, self._place, self._view = owner, place, view

    def __copy__(self) -> Array:
        return self # nothing of it changes

    def _read(self) -> tuple[int, str, tuple[int, ...], tuple[int, ...]]:
        """Address, element type, shape and strides: once somebody asks, as many hand an output on as it is."""
        raise NotImplementedError

    @property
    def dtype(self) -> str:
        """The element type in the language's words: "u8", "f16", "bf16" ..."""
        return (self._view or self._read())[1]

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._view or self._read())[2]

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes."""
        return (self._view or self._read())[3]

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's protocol. bf16, which NumPy does not have, arrives as its bits in u16."""
        if self._gpu is not None:
            raise TypeError(f"this output lies in the memory of GPU {self._gpu}: torch.from_dlpack(output) takes it there, "
                            "and numpy.asarray(output.copy_to_host()) copies it; without `on gpu` it lies in the host's")
        data, dtype, shape, strides = self._view or self._read()
        return {"version": 3, "shape": shape, "strides": strides, "data": (data, False), "typestr": TYPESTR.get(dtype, "<u2")}

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU if self._gpu is None else (CUDA, self._gpu)

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """A DLPack tensor without a copy, for ``torch.from_dlpack`` and its like. It is made in C and keeps the memory
        until its consumer deletes it, on any thread, with or without Python. In a GPU's memory it is complete, and is written
        again behind what is queued on `stream` when the consumer deletes it."""
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("an output is handed over where it lies, and without a copy")
        return make_capsule(self._owner, self._place, stream, versioned=max_version is not None and max_version[0] >= 1)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dtype}[{', '.join(map(str, self.shape))}]>"


class _Offsets(Array):
    """Numbers of the host, and for DLPack those where the values lie."""
    __slots__ = ("_where",)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._where


class _Copy(Array):
    """In the host's memory, of what a batch has in a GPU's."""
    __slots__ = ()

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("a copy is read with numpy.asarray")


class Output(Array):
    """One output of a batch or of a sample: a tensor with a name for itself and for each axis."""
    __slots__ = ("_get",)

    def __init__(self, owner: Any, get: Any, place: tuple[int, int]):
        self._owner, self._get, self._place, self._view = owner, get, place, None

    @property
    def _output(self) -> Any:
        return self._get(self._owner, self._place[0]).contents

    def _read(self) -> tuple[int, str, tuple[int, ...], tuple[int, ...]]:
        output = self._output
        rank = output.rank
        view = self._view = (output.data or 0, DTYPES[output.dtype], tuple(output.shape[:rank]), tuple(output.strides[:rank]))
        return view

    @property
    def name(self) -> str:
        return _c.decode(self._output.name)

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the axes, in the order of ``shape``."""
        return tuple(_c.decode(name) for name in self._output.axes[:len(self.shape)])

    @property
    def offsets(self) -> Array | None:
        """Offsets of a ragged output: sample i has the values ``offsets[i]`` to ``offsets[i + 1]``. Else None."""
        address = ctypes.cast(self._output.offsets, ctypes.c_void_p).value
        if address is None:
            return None
        offsets = _Offsets(self._owner, (self._place[0], _c.OFFSETS), (address, "i64", (self._owner.count + 1,), (8,)))
        offsets._where = self.__dlpack_device__()
        return offsets

    @property
    def _gpu(self) -> int | None:
        output = self._output
        return output.device_number if output.device == _c.DEVICE_CUDA else None

    def copy_to_host(self) -> Array:
        """Itself, or of an output in a GPU's memory a copy in the host's, made once for the batch."""
        if self._gpu is None:
            return self
        data = ctypes.c_void_p()
        if _c.library.batch_host_data(self._owner, self._place[0], ctypes.byref(data)):
            raise RuntimeError(f"output `{self.name}` cannot be copied from GPU {self._gpu}")
        return _Copy(self._owner, self._place, (data.value or 0, self.dtype, self.shape, self.strides))

    def __repr__(self) -> str:
        extents = ", ".join(f"{axis} = {extent}" for axis, extent in zip(self.axes, self.shape))
        return f"<Output {self.name}: {self.dtype}[{extents}]>"


class _Outputs(_c.OfThisProcess):
    """Outputs by name or number, in the order of the pipeline's text. Unpacks like a tuple."""
    __slots__ = ("_owner", "_names")
    _get: Any = None

    def __init__(self, owner: Any, names: Places):
        self._owner, self._names = owner, names # of an output: its place, for _dlpack

    def __copy__(self) -> _Outputs:
        return self

    def __getitem__(self, key: str | int) -> Output:
        if isinstance(key, str):
            if key not in self._names:
                raise KeyError(f"no output `{key}`, {self._listed()}")
            return Output(self._owner, self._get, self._names[key])
        try:
            number = operator.index(key)
        except TypeError:
            found = f"the output `{key.name}` itself" if isinstance(key, Output) else f"a {type(key).__name__}"
            raise TypeError(f"an output is asked for by its name or number, not by {found}: {self._listed()}") from None
        if not -len(self._names) <= number < len(self._names):
            raise IndexError(f"output {number} of {len(self._names)}")
        return Output(self._owner, self._get, (number % len(self._names), _c.VALUES))

    def _listed(self) -> str:
        return "there are " + ", ".join(f"`{name}`" for name in self._names)

    def __iter__(self) -> Iterator[Output]:
        owner, get = self._owner, self._get
        return iter([Output(owner, get, place) for place in self._names.values()])

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        """True for the name of an output, as of a mapping."""
        return isinstance(name, str) and name in self._names

    def keys(self) -> list[str]:
        """The names of the outputs; with it ``dict(batch)`` works."""
        return list(self._names)

    def get(self, name: str, default: Any = None) -> Any:
        """The output of this name, or `default` where there is none, as of a mapping."""
        return self[name] if name in self else default

    def items(self) -> list[tuple[str, Output]]:
        return list(zip(self._names, self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(map(repr, self))}>"


class BatchHandle(_c.OfThisProcess, ctypes.c_void_p):
    """A batch of the library's, which is released when nobody refers to it any more: the pointer itself, as each object
    more is made and ended for every batch."""
    __slots__ = ()
    _instead = f"a batch {_COPY}"
    is_batch = True
    __del__ = _c.method(_c.library.batch_release) # NULL is allowed

    @property
    def count(self) -> int:
        return _c.library.batch_count(self)


class Batch(_Outputs):
    """The outputs of a batch: ``batch["image"]``, ``batch[0]``, or ``image, label = batch``.

    Its memory stays as long as the batch, one of its outputs or an array made from one of them does."""
    __slots__ = ()
    _instead = BatchHandle._instead
    _get = staticmethod(_c.library.batch_output)

    @property
    def epoch(self) -> int:
        return _c.library.batch_epoch(self._owner)

    @property
    def count(self) -> int:
        """Number of samples in the batch."""
        return self._owner.count

    @property
    def waited(self) -> float:
        """Seconds that the caller waited for the batch."""
        return _c.library.batch_waited_ns(self._owner) / 1e9

    @property
    def positions(self) -> list[int]:
        """The samples' positions in the epoch."""
        return _c.library.batch_positions(self._owner)[:self.count]

    @property
    def rows(self) -> list[int]:
        """The rows of the table that fill these positions."""
        return _c.library.batch_rows(self._owner)[:self.count]


class SampleHandle(_c.OfThisProcess, ctypes.c_void_p):
    """A sample of the library's, likewise."""
    __slots__ = ()
    _instead = f"a sample {_COPY}"
    is_batch = False
    count = 1
    __del__ = _c.method(_c.library.sample_release)


class Sample(_Outputs):
    """One sample, computed alone: its outputs, without the axis of the batch, and what was drawn for it."""
    __slots__ = ()
    _instead = SampleHandle._instead
    _get = staticmethod(_c.library.sample_output)

    @property
    def row(self) -> int:
        return _c.library.sample_row(self._owner)

    @property
    def name(self) -> str:
        """The row's name, usually of its file."""
        return _c.decode(_c.library.sample_name(self._owner))

    @property
    def bad_reason(self) -> str:
        """"", unless a substitute stands here: then why."""
        return _c.decode(_c.library.sample_bad_reason(self._owner))

    @property
    def draws(self) -> dict[str, float]:
        """Drawn random values, by the path of the draw: pipeline, value, functions, name."""
        handle, found = self._owner, {}
        for i in range(_c.library.sample_draw_count(handle)):
            draw = _c.library.sample_draw(handle, i).contents
            found[_c.decode(draw.path)] = draw.value
        return found


class Places(dict[str, tuple[int, int]]):
    """Places of outputs by their names, and the numbers of those with offsets."""
    ragged: tuple[int, ...] = ()


def output_names(owner: Any, count: int, get: Any) -> Places:
    """Places by names, of a batch's or a sample's outputs."""
    outputs = [get(owner, i).contents for i in range(count)]
    places = Places({_c.decode(output.name): (i, _c.VALUES) for i, output in enumerate(outputs)})
    places.ragged = tuple(i for i, output in enumerate(outputs) if output.offsets)
    return places
