# SPDX-License-Identifier: Apache-2.0
"""Sessions through libpenstock.so, for tests that look at many samples: a process each would take hours."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_void_p


class Parameter(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class CompileOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("pipeline", c_char_p), ("parameters", POINTER(Parameter)),
                ("parameter_count", c_size_t), ("disabled_passes", c_void_p),
                ("disabled_pass_count", c_size_t), ("target", c_char_p),
                ("cache_folder", c_char_p), ("from_stage", c_char_p), ("check_only", c_int)]


class Draw(ctypes.Structure):
    _fields_ = [("path", c_char_p), ("value", c_double), ("dtype", c_int)]


class Session:
    """One pipeline, compiled without the cache, and a session of it on one thread."""

    def __init__(self, library, text, **parameters):
        self.api = ctypes.CDLL(library)
        for name in ("pst_program_messages", "pst_session_error"):
            getattr(self.api, name).restype = c_char_p
            getattr(self.api, name).argtypes = [c_void_p]
        self.api.pst_sample_draw_count.restype = c_size_t
        self.api.pst_sample_draw_count.argtypes = [c_void_p]
        self.api.pst_sample_draw.restype = POINTER(Draw)
        self.api.pst_sample_draw.argtypes = [c_void_p, c_size_t]
        self.api.pst_session_sample.argtypes = [c_void_p, c_uint32, c_int64, POINTER(c_void_p)]
        self.api.pst_sample_release.argtypes = [c_void_p]
        self.api.pst_session_close.argtypes = [c_void_p]
        self.api.pst_program_release.argtypes = [c_void_p]
        given = (Parameter * len(parameters))(
            *[Parameter(name.encode(), str(value).encode()) for name, value in parameters.items()])
        options = CompileOptions(ctypes.sizeof(CompileOptions), None, given, len(given), None, 0,
                                 None, b"", None, 0)
        self.program, self.session = c_void_p(), c_void_p()
        data = text.encode()
        if self.api.pst_compile(data, c_size_t(len(data)), b"test.pipe", byref(options),
                                byref(self.program)):
            raise ValueError(self.api.pst_program_messages(self.program).decode())
        if self.api.pst_session_open(self.program, None, byref(self.session)):
            raise ValueError(self.api.pst_session_error(self.session).decode())

    def draws(self, position, epoch=0):
        """{path: value} of one sample."""
        sample = c_void_p()
        if self.api.pst_session_sample(self.session, epoch, position, byref(sample)):
            raise ValueError(self.api.pst_session_error(self.session).decode())
        found = {}
        for i in range(self.api.pst_sample_draw_count(sample)):
            draw = self.api.pst_sample_draw(sample, i).contents
            found[draw.path.decode()] = draw.value
        self.api.pst_sample_release(sample)
        return found

    def close(self):
        self.api.pst_session_close(self.session)
        self.api.pst_program_release(self.program)
