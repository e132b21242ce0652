# SPDX-License-Identifier: Apache-2.0
"""Base of the tests of the command line: pictures, and running the tool."""
import ctypes
import functools
import hashlib
import io
import json
import os
import platform
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy
from PIL import Image

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")


@functools.cache
def commit():
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout


def chosen(items, count, of=""):
    """`count` of `items`, which the commit chooses, wherever the tree lies: so all have their turn."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{commit()} {of} {item}".replace(ROOT, "").encode()).digest())[:count]


def in_turn(items, count, of):
    """The same of what takes long; all of it with PENSTOCK_ALL_IN_TURN, which scripts/soak sets."""
    return list(items) if os.environ.get("PENSTOCK_ALL_IN_TURN") else chosen(items, count, of)


def keep_deadly(number):
    """In a child, before its program: handling of that signal stays as it is, whatever the program asks for (seccomp(2))."""
    libc = ctypes.CDLL(None, use_errno=True)
    call = {"x86_64": 13, "aarch64": 134}[platform.machine()]  # rt_sigaction
    load, if_equal, result = 0x20, 0x15, 0x06
    steps = [(load, 0, 0, 0), (if_equal, 0, 3, call), (load, 0, 0, 16), (if_equal, 0, 1, number),  # its number, the first argument
             (result, 0, 0, 0x00050000), (result, 0, 0, 0x7fff0000)]  # nothing is done, without an error; anything
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def jpeg_bytes(rng, height, width, **options):
    """A picture with structure at several scales, so that damage shows."""
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x / rng.uniform(2, 20) + y / rng.uniform(2, 20)) for _ in range(3)]
    pixels = 128 + 60 * numpy.stack(waves, axis=-1) + rng.normal(0, 20, (height, width, 3))
    image = Image.fromarray(numpy.clip(pixels, 0, 255).astype(numpy.uint8))
    stream = io.BytesIO()
    image.save(stream, "JPEG", **{"quality": 85, **options})
    return stream.getvalue()


def nifti(values, distances=(1, 1, 1)):
    """A file of NIfTI-1 of a volume z, y, x (i16 or u8); distances of x, y and z in mm; x goes left, as most scanners write it."""
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 3, *values.shape[::-1], 1, 1, 1, 1)
    struct.pack_into("<hh", head, 70, {"i2": 4, "u1": 2}[values.dtype.str[1:]], 8 * values.itemsize)
    struct.pack_into("<8f", head, 76, 1, *distances, 0, 0, 0, 0)
    struct.pack_into("<f", head, 108, len(head))
    struct.pack_into("<hh", head, 252, 0, 1)
    struct.pack_into("<12f", head, 280, -distances[0], 0, 0, 0, 0, distances[1], 0, 0, 0, 0, distances[2], 0)
    head[344:348] = b"n+1\0"
    return bytes(head) + values.tobytes()


PLY = {"i1": ("char", "int8"), "u1": ("uchar", "uint8"), "i2": ("short", "int16"), "u2": ("ushort", "uint16"),
       "i4": ("int", "int32"), "u4": ("uint", "uint32"), "f4": ("float", "float32"), "f8": ("double", "float64")}


def lines_of(points):
    """Numbers as text from which they are read back."""
    return "".join(" ".join(repr(number.item()) for name in row.dtype.names for number in numpy.ravel(row[name])) + "\n" for row in points)


def ply(points, layout="binary_little_endian", old=True, before=(), behind=b"", end="\n", head=()):
    """A file of the points of a structured array. `before` has elements: name, their number, lines of properties, contents."""
    swapped = points.astype(points.dtype.newbyteorder(">" if "big" in layout else "<"))
    lines = ["ply", f"format {layout} 1.0", "comment by a test", *head]
    for name, count, properties, _ in before:
        lines += [f"element {name} {count}", *properties]
    lines += [f"element vertex {len(points)}", *(f"property {PLY[points.dtype[name].str[1:]][not old]} {name}" for name in points.dtype.names), "end_header"]
    contents = b"".join(content for *_, content in before) + (lines_of(points).replace("\n", end).encode() if layout == "ascii" else swapped.tobytes())
    return "".join(line + end for line in lines).encode() + contents + behind


def make_folder(folder, classes=2, per_class=50, seed=0, sizes=(40, 120)):
    """Class folders of small pictures; returns the paths in the order of the table."""
    rng = numpy.random.default_rng(seed)
    paths = []
    for label in range(classes):
        os.makedirs(os.path.join(folder, f"class{label}"))
        for i in range(per_class):
            path = os.path.join(folder, f"class{label}", f"{i:04}.jpg")
            height, width = rng.integers(*sizes, 2)
            with open(path, "wb") as file:
                file.write(jpeg_bytes(rng, int(height), int(width)))
            paths.append(path)
    return paths


class ToolTest(unittest.TestCase):
    """Runs the tool with a cache of its own, in a folder of its own."""

    tool = None
    settings = ["--set", "size=32", "--set", "per_rank=8"]

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="penstock-test-")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder])
        self.data = os.path.join(self.folder, "data")

    def environment(self):
        return {**os.environ, "XDG_CACHE_HOME": self.shared_cache}

    @classmethod
    def setUpClass(cls):
        # One compile cache for the class: compiling is not what these tests are about.
        cls.shared_cache = tempfile.mkdtemp(prefix="penstock-cache-")
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", cls.shared_cache])

    def command(self, *arguments):
        return [self.tool, *map(str, arguments)]

    def run_tool(self, *arguments, expect=0):
        return self.run_command(self.command(*arguments), expect)

    def run_command(self, command, expect=0):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=self.environment())
        self.assertEqual(done.returncode, expect, f"{done.args}\n{done.stdout}\n{done.stderr}")
        return done

    def kill_while_writing(self, *arguments, limit):
        """Runs the tool until a file of its has `limit` bytes; then it is killed, in the middle of a write."""
        def before():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            keep_deadly(signal.SIGXFSZ)

        done = subprocess.run(self.command(*arguments), capture_output=True, timeout=300, env=self.environment(), preexec_fn=before)
        self.assertEqual(done.returncode, -signal.SIGXFSZ)

    def imagenet(self, *arguments):
        return ["run", os.path.join(EXAMPLES, "imagenet_train.pipe"), "--set", f"root={self.data}",
                *self.settings, *arguments]

    def run_json(self, *arguments, expect=0):
        return json.loads(self.run_tool(*arguments, "--json", expect=expect).stdout)


class GpuTest(ToolTest):
    """The tool beside a simulated GPU, whose driver and NVRTC stand in `fakes`; `behaviour` are words of test/fakes/cuda/libcuda.cpp."""
    fakes = None
    behaviour = ""

    def environment(self):
        return {**super().environment(), "LD_LIBRARY_PATH": self.fakes, "PENSTOCK_NVRTC": os.path.join(self.fakes, "libnvrtc.so"),
                "PENSTOCK_FAKE_GPU": self.behaviour, "PENSTOCK_SHIM_CACHE": self.shared_cache}


def read_hashes(*paths):
    """{(epoch, position): hash} of one or several --hashes files; a position must not differ."""
    result = {}
    for path in paths:
        with open(path) as file:
            lines = file.read().splitlines()
        for line in lines:
            epoch, position, value = line.split()
            key = (int(epoch), int(position))
            assert result.setdefault(key, value) == value, f"{key} has two contents"
    return result


def main():
    ToolTest.tool = os.path.abspath(sys.argv.pop(1))
    unittest.main(module="__main__")
