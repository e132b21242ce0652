"""DLPack capsules. The tensors in them are made and deleted in C."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_void_p
from typing import Any

from . import _c

#: (kDLCPU, 0)
CPU = (1, 0)

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
# By address: an object that is being deleted must not be counted again.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))

_kept: list[Any] = [] # C calls them as long as there is a capsule
_Destructor = ctypes.PYFUNCTYPE(None, c_void_p)
_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


def _kind(name: bytes, deleter_at: int) -> tuple[bytes, Any]:
    """A name of capsules, and the destructor of those whose tensor nobody has taken (who does renames them)."""
    @_Destructor
    def destroy(capsule: int) -> None:
        if _is_valid(capsule, name):
            tensor = _pointer(capsule, name)
            _Deleter(c_void_p.from_address(tensor + deleter_at).value or 0)(tensor)
    _kept.append(destroy)
    return name, ctypes.cast(destroy, c_void_p)


_make, _make_legacy = _c.library.batch_dlpack, _c.library.batch_dlpack_legacy
# Where `deleter` lies in DLManagedTensor and in DLManagedTensorVersioned.
_LEGACY = _kind(b"dltensor", 56)
_VERSIONED = _kind(b"dltensor_versioned", 16)


def make_capsule(owner: Any, place: tuple[int, int], stream: int | None, versioned: bool) -> Any:
    """A capsule with a tensor of an output: `place` is its index and its part."""
    make, (name, destroy) = (_make, _VERSIONED) if versioned else (_make_legacy, _LEGACY)
    tensor = c_void_p()
    if not owner.is_batch:
        raise BufferError("outputs of a single sample are read with numpy.asarray")
    if make(owner.handle, *place, stream, byref(tensor)) != _c.OK:
        raise BufferError("this output has no such part")
    return _new(tensor, name, destroy)
