# SPDX-License-Identifier: Apache-2.0
"""ctypes view of libpenstock_handwritten.so; builds it when it is stale."""

import ctypes
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PENSTOCK_HANDWRITTEN_BUILD", ROOT / "build/handwritten"))
SCALAR, AVX2, AVX512 = 0, 1, 2
ISA_NAMES = ("scalar", "avx2", "avx512")


class Box(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("top", "left", "height", "width")]


def build():
    source = ROOT / "bench/handwritten"
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "-G", "Ninja", "-S", str(source), "-B", str(BUILD),
                        "-DCMAKE_CXX_COMPILER=clang++-19"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(BUILD), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return BUILD / "libpenstock_handwritten.so"


def load():
    library = ctypes.CDLL(str(build()))
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.hw_imagenet_plan_make.restype = pointer
    library.hw_imagenet_plan_make.argtypes = [number, number, Box, number]
    library.hw_imagenet_plan_set.argtypes = [pointer, number, number, Box, number]
    library.hw_imagenet_plan_free.argtypes = [pointer]
    library.hw_imagenet_plan_isa.argtypes = [pointer, number]
    library.hw_imagenet_run.argtypes = [pointer, number, pointer, ctypes.c_ssize_t, pointer]
    library.hw_imagenet_run.restype = None
    library.hw_cifar_run.argtypes = [number, pointer, pointer, pointer, size, number, pointer]
    library.hw_cifar_run.restype = None
    library.hw_colour_run.argtypes = [number, pointer, ctypes.c_float, ctypes.c_float, ctypes.c_float, pointer]
    library.hw_colour_run.restype = None
    return library


def address(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def aligned(shape, dtype, alignment=64):
    """An array of zeros whose first byte lies at a multiple of `alignment`."""
    import numpy
    size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
    raw = numpy.zeros(size + alignment, numpy.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start:start + size].view(dtype).reshape(shape)


class ImagenetPlan:
    def __init__(self, library, width, height, box, flip):
        self.library = library
        self.handle = library.hw_imagenet_plan_make(width, height, Box(*box), int(flip))
        if not self.handle:
            raise ValueError(f"box {box} does not lie in {width}x{height}")

    def __del__(self):
        self.library.hw_imagenet_plan_free(self.handle)

    def isa(self, wanted):
        return self.library.hw_imagenet_plan_isa(self.handle, wanted)

    def run(self, isa, image, out):
        self.library.hw_imagenet_run(self.handle, isa, address(image), image.strides[0], address(out))
