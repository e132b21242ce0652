# SPDX-License-Identifier: Apache-2.0
"""Outputs in a GPU's memory: the driver's library is a stand-in (test/fakes), whose device memory is the host's, and which does what is
queued late. Consumers read what was theirs, whatever is written next."""
import ctypes
import itertools
import os
import tempfile
import unittest

import numpy
import penstock
from PIL import Image
from penstock._dlpack import make_capsules

NUMBERS = """pipe 1
pipeline numbers(length: int = 60) {
  for row in synthetic(length, x = f32[k = 6], keep = 0 .. 7)
  batch 5 per rank last keep {
    output table: f32[n, k] on gpu = row.x * 3.0
    output part: f32[n, k <= 6] ragged on gpu = row.x[k = 0 .. min(row.keep, 6)]
    output square: i64[n] on gpu = row.keep * row.keep
    output here: i64[n] = row.keep
  }
}
"""

PHOTOS = """pipe 1
use vision
pipeline photos(root: path) {
  for row in image_folder(root)
  batch 4 last keep { output x: u8[n, h, w, c] = row.data |> decode(rgb) |> random_resized_crop(16) |> flip(w) if chance(0.5) }
}
"""


# Elements of one to eight bytes, some of whose fills have other bytes, and two axes; a length of 0 among them.
LENGTHS = """pipe 1
pipeline lengths(limit: int = 120) {
  for row in synthetic(40, x = f32[k = 0 ..= 30, box = xyxy]) order shuffled
  let kept = compact(row.x, map (i in index(row.x, k)) { i % 3 == 0 })
  batch <= limit elements by extent(row.x, k) buckets 3 last keep {
    output x: f32[n, k <= 30, box] pad -1.5 on gpu = map (v in row.x) { v * 2.0 }
    output half: f16[n, k <= 30, box] pad 3 on gpu = map (v in row.x) { v * 2.0 }
    output byte: u8[n, k <= 40] pad 200 on gpu = map (i in index(row.x, k)) { u8(i % 256) }
    output wide: i64[n, k <= 30] pad -70000000000 on gpu = index(row.x, k)
    output kept: f32[n, box, k <= 30] stored [n, k, box] pad 0.5 on gpu = kept
    output ragged: f32[n, k <= 30, box] ragged on gpu = row.x
    output here: f32[n, k <= 30, box] pad 9 = row.x
  }
}
"""


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("dtype", ctypes.c_uint8 * 4),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
cuda = ctypes.CDLL("libcuda.so.1")


def tensor_of(capsule):
    return DLTensor.from_address(pointer_of(capsule, b"dltensor"))


def open_numbers(gpu, **options):
    return penstock.load(NUMBERS, cache="", gpu="sm_90" if gpu else None, **options)


class Consumer:
    """Copies what it is given, late, on a stream of its own."""

    def __init__(self, is_default=False):
        self.stream, self.copies = ctypes.c_void_p(), []
        if not is_default:
            assert cuda.cuStreamCreateWithPriority(ctypes.byref(self.stream), 1, 0) == 0

    def take(self, tensor, size):
        copy = ctypes.c_void_p()
        assert cuda.cuMemHostAlloc(ctypes.byref(copy), ctypes.c_size_t(size), 0) == 0
        for _ in range(40): # what counts is the last: it is far behind
            assert cuda.cuMemcpyDtoHAsync_v2(copy, ctypes.c_uint64(tensor.data), ctypes.c_size_t(size), self.stream) == 0
        self.copies.append((copy, size))

    def read(self):
        assert cuda.cuStreamSynchronize(self.stream) == 0
        all_bytes = [ctypes.string_at(copy, size) for copy, size in self.copies]
        for copy, _ in self.copies:
            cuda.cuMemFreeHost(copy)
        if self.stream:
            cuda.cuStreamDestroy_v2(self.stream)
        return all_bytes


class Gpu(unittest.TestCase):
    def setUp(self):
        with open_numbers(False, device="cpu") as loader:
            self.expected = [{name: (numpy.asarray(output).tobytes(), output.shape) for name, output in batch.items()}
                             for batch in loader]
            self.offsets = [numpy.asarray(batch["part"].offsets).tolist() for batch in loader]

    def test_the_same_values_as_in_the_hosts_memory(self):
        for gpu in (False, True): # where the kernels run
            with open_numbers(gpu) as loader:
                for batch, expected in zip(loader, self.expected, strict=True):
                    for name, output in batch.items():
                        self.assertEqual(output.__dlpack_device__(), (1, 0) if name == "here" else (2, 0))
                        host = output.copy_to_host()
                        self.assertEqual((numpy.asarray(host).tobytes(), output.shape), expected[name])
                        capsule = output.__dlpack__()
                        self.assertEqual(tensor_of(capsule).device[0], 1 if name == "here" else 2)

    def test_the_same_values_whatever_crosses(self):
        for level in ("planes", "pixels", "resampled", "final"):
            with open_numbers(True, transfer=level) as loader:
                for batch, expected in zip(loader, self.expected, strict=True):
                    for name, output in batch.items():
                        host = output if name == "here" else output.copy_to_host()
                        self.assertEqual((numpy.asarray(host).tobytes(), output.shape), expected[name])
        with self.assertRaisesRegex(penstock.CompileError, "nothing crosses to a GPU as `encoded` yet"):
            open_numbers(True, transfer="encoded")

    def test_the_same_values_where_what_crosses_changes(self):
        """Between any two batches, with some in the making, and back again."""
        for gpu, prefetch in ((True, 1), (True, 3), (False, 2)):
            with open_numbers(gpu, transfer="all", prefetch=prefetch) as loader:
                self.assertEqual(loader.transfer, loader.program.transfers()["auto"])
                levels = itertools.cycle(("final", "pixels", "planes", "pixels", "resampled"))
                for epoch in range(2):
                    loader.set_epoch(0) # the same again
                    for batch, expected in zip(loader, self.expected, strict=True):
                        for name, output in batch.items():
                            host = output if name == "here" else output.copy_to_host()
                            self.assertEqual((numpy.asarray(host).tobytes(), output.shape), expected[name])
                        loader.transfer = level = next(levels)
                        self.assertEqual(loader.transfer, level)
                with self.assertRaisesRegex(penstock.SessionError, "no level `encoded` of transfers; there are `"):
                    loader.transfer = "encoded"
        with open_numbers(True) as loader:
            self.assertEqual(loader.transfer, "pixels")
            with self.assertRaisesRegex(penstock.SessionError, "compiled for one level of transfers; compile it for `all`"):
                loader.transfer = "final"

    def test_photos_cross_as_planes_and_as_pixels_in_turn(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "all"))
            rng = numpy.random.default_rng(3)
            for i in range(23):
                picture = Image.fromarray(rng.integers(0, 256, (9 + i % 5, 11, 3), dtype=numpy.uint8)).resize((61, 47 + i))
                path = os.path.join(folder, "all", f"{i:02}." + ("png" if i % 5 == 0 else "jpg"))
                picture.save(path, **({} if i % 5 == 0 else {"subsampling": i % 3}))
            options = {"root": folder, "cache": ""}
            with penstock.load(PHOTOS, **options) as loader:
                expected = [numpy.asarray(batch["x"]).tobytes() for batch in loader]
            self.assertEqual(len(expected), 6)
            with penstock.load(PHOTOS, gpu="sm_90", transfer="all", **options) as loader:
                self.assertEqual([level["name"] for level in loader.program.transfers()["levels"]],
                                 ["planes", "pixels", "resampled", "final"])
                levels = itertools.cycle(("planes", "pixels", "planes", "final", "resampled"))
                for epoch in range(3):
                    loader.set_epoch(0)
                    for batch, wanted in zip(loader, expected, strict=True):
                        self.assertEqual(numpy.asarray(batch["x"]).tobytes(), wanted)
                        loader.transfer = next(levels)

    def test_a_machine_decides_what_crosses(self):
        for machine, level in (({"gpu": {"operations": 1}}, "final"), ({"host": {"operations": 1}}, "pixels")):
            with open_numbers(True, transfer="auto", machine=machine) as loader:
                self.assertEqual((loader.transfer, loader.program.transfers()["auto"]), (level, level))
        with self.assertRaisesRegex(penstock.CompileError, "there is no `cpu`; known are `name`, `host`"):
            open_numbers(True, transfer="auto", machine={"cpu": {}})

    def test_what_is_filled_up_to_the_longest_of_its_batch(self):
        with penstock.load(LENGTHS, cache="", device="cpu") as loader:
            expected = [{name: (numpy.asarray(output).tobytes(), output.shape, output.strides) for name, output in batch.items()}
                        for _ in range(2) for batch in loader]
            alone = {name: numpy.asarray(output).tolist() for name, output in loader.sample(3).items()}
        self.assertGreater(len({batch["x"][1] for batch in expected}), 4)
        self.assertGreater(max(batch["byte"][0].count(200) for batch in expected), 4)
        for gpu in (None, "sm_90"):  # where the kernels run
            with penstock.load(LENGTHS, cache="", gpu=gpu) as loader:
                found = [batch for _ in range(2) for batch in map(self.held, loader)]
                self.assertEqual({name: numpy.asarray(output).tolist() for name, output in loader.sample(3).items()}, alone)
            self.assertEqual(len(found), len(expected))
            for batch, wanted in zip(found, expected):
                self.assertEqual(batch, wanted)

    @staticmethod
    def held(batch):
        held = {}
        for name, output in batch.items():
            assert output.__dlpack_device__()[0] == (1 if name == "here" else 2)
            assert name == "ragged" or output.offsets is None
            tensor = tensor_of(capsule := output.__dlpack__())
            shape, strides = (tuple(numbers[:tensor.ndim]) for numbers in (tensor.shape, tensor.strides))
            host = numpy.asarray(output if name == "here" else output.copy_to_host())
            assert (shape, strides) == (output.shape, tuple(stride // host.itemsize for stride in output.strides))
            held[name] = (host.tobytes(), output.shape, output.strides)
            del capsule
        return held

    def test_how_much_memory_there_is(self):
        with open_numbers(True) as loader:
            next(iter(loader))
            self.assertGreater(loader.info["device_memory"], 4 * (2 * 5 * 6 * 4 + 5 * 8)) # of batches there are four
            self.assertGreater(loader.info["pinned_memory"], 0)
        with open_numbers(False, device="cpu") as loader:
            self.assertEqual((loader.info["device_memory"], loader.info["pinned_memory"]), (0, 0))

    def test_what_numpy_cannot_reach_is_said(self):
        with open_numbers(False) as loader:
            batch = next(iter(loader))
            with self.assertRaisesRegex(TypeError, "lies in the memory of GPU 0: torch.from_dlpack.*copy_to_host"):
                numpy.asarray(batch["table"])
            with self.assertRaises(BufferError):
                batch["table"].__dlpack__(dl_device=(1, 0))
            with self.assertRaises(BufferError):
                batch["table"].copy_to_host().__dlpack__()
            numpy.asarray(batch["here"])
            sample = loader.sample(3)
            self.assertEqual(numpy.asarray(sample["table"]).shape, (6,)) # a sample alone is the host's

    def test_offsets_lie_on_both_sides(self):
        with open_numbers(True) as loader:
            for batch, expected in zip(loader, self.offsets, strict=True):
                offsets = batch["part"].offsets
                self.assertEqual(numpy.asarray(offsets).tolist(), expected)
                self.assertEqual(offsets.__dlpack_device__(), (2, 0))
                capsule = offsets.__dlpack__()
                tensor = tensor_of(capsule)
                self.assertNotEqual(tensor.data, offsets.__array_interface__["data"][0])
                consumer = Consumer()
                consumer.take(tensor, 8 * len(expected))
                self.assertEqual(numpy.frombuffer(consumer.read()[0], "<i8").tolist(), expected)

    def test_memory_is_written_again_behind_its_consumer(self):
        for together in (False, True):
            for gpu in (False, True):
                consumer = Consumer()
                with open_numbers(gpu, prefetch=1) as loader:
                    for batch, expected in zip(loader, self.expected, strict=True):
                        if together:
                            capsule = make_capsules(batch._owner, 0, consumer.stream)[0]
                        else:
                            capsule = batch["table"].__dlpack__(stream=consumer.stream.value)
                        consumer.take(tensor_of(capsule), len(expected["table"][0]))
                        del capsule, batch
                    self.assertEqual(consumer.read(), [expected["table"][0] for expected in self.expected])

    def test_a_consumer_that_names_a_stream_does_not_speak_for_the_others(self):
        default, other = Consumer(is_default=True), Consumer()
        with open_numbers(False, prefetch=1) as loader:
            for batch, expected in zip(loader, self.expected, strict=True):
                # Nobody said on which stream the table is used: the session's, which is the default one.
                for name, stream, consumer in (("table", None, default), ("square", other.stream.value, other)):
                    capsule = batch[name].__dlpack__(stream=stream)
                    consumer.take(tensor_of(capsule), len(expected[name][0]))
                    del capsule
                del batch
        self.assertEqual(default.read(), [expected["table"][0] for expected in self.expected])
        self.assertEqual(other.read(), [expected["square"][0] for expected in self.expected])


if __name__ == "__main__":
    unittest.main()
