# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules. The tensors in them are made and deleted in C."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_void_p
from typing import Any

from . import _c

#: (kDLCPU, 0), and kDLCUDA
CPU, CUDA = (1, 0), 2

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
# In C, as it is called with an exception set where a consumer refuses a tensor: Python's code must not run then.
_delete = ctypes.cast(_c.library.capsule_delete, c_void_p)

_make, _make_legacy = _c.library.batch_dlpack, _c.library.batch_dlpack_legacy
#: Capsules of all outputs of a batch's handle, versioned or not: one call, as each from Python takes a microsecond.
make_capsules = ctypes.PyDLL(_c.library.path).pst_batch_capsules # it keeps the interpreter's lock
make_capsules.restype, make_capsules.argtypes = ctypes.py_object, [c_void_p, ctypes.c_int, c_void_p]
_LEGACY, _VERSIONED = b"dltensor", b"dltensor_versioned"
for _name in (_LEGACY, _VERSIONED): # capsules point to them, also while the interpreter ends
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_name))


def _made(make: Any, owner: Any, place: tuple[int, int], stream: int | None) -> c_void_p:
    tensor = c_void_p()
    if make(owner, place[0], place[1], stream, byref(tensor)): # not PST_OK
        raise BufferError("this output has no such part")
    return tensor


def make_capsule(owner: Any, place: tuple[int, int], stream: int | None, versioned: bool) -> Any:
    """A capsule with a tensor of an output: `place` is its index and its part, `stream` what `__dlpack__` is given."""
    if stream == -1: # the consumer orders its work itself, and does not say on which stream
        stream = None
    if not owner.is_batch:
        raise BufferError("outputs of a single sample are read with numpy.asarray")
    make, name = (_make, _VERSIONED) if versioned else (_make_legacy, _LEGACY)
    return _new(_made(make, owner, place, stream), name, _delete)
