# SPDX-License-Identifier: Apache-2.0
"""One image through a pipeline of this folder: on the reference interpreter and as generated code."""
import os
import subprocess
import tempfile
import unittest

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))


class OneImageTest(unittest.TestCase):
    """Programs are set by the test's main; the tool is None where it is not built."""

    reference = tool = None

    @classmethod
    def setUpClass(cls):
        # Compiled once for each size: parameters other than that are read at run time.
        folder = tempfile.TemporaryDirectory(prefix="penstock-cache-")
        cls.cache = folder.name
        cls.addClassCleanup(folder.cleanup)

    def commands(self, interpret):
        path = lambda pipeline: os.path.join(HERE, pipeline)
        if interpret:
            yield "reference", lambda pipeline, out: [self.reference, path(pipeline), "0", out]
        if self.tool:
            yield "generated", lambda pipeline, out: [
                self.tool, "sample", path(pipeline), "--position", "0", "-o", out]

    def results(self, pipeline, array, expected, interpret=True, **settings):
        """Yields what each output in `expected` is called, ours and theirs."""
        words = [f"{name}={value}" for name, value in settings.items()]
        for by, command in self.commands(interpret):
            with tempfile.TemporaryDirectory(prefix="penstock-test-") as folder:
                data = os.path.join(folder, "images.bin")
                array.tofile(data)
                given = [f"images={data}", f"height={array.shape[0]}", f"width={array.shape[1]}", *words]
                done = subprocess.run(
                    command(pipeline, folder) + [word for one in given for word in ("--set", one)],
                    env={**os.environ, "XDG_CACHE_HOME": self.cache}, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                for name, wanted in expected.items():
                    ours = numpy.fromfile(os.path.join(folder, name + ".raw"), wanted.dtype)
                    label = {"output": name, "by": by, "shape": array.shape, **settings}
                    yield label, ours.reshape(wanted.shape), wanted

    def compare(self, pipeline, array, expected, **how):
        """Every output in `expected` has these bits."""
        for label, ours, wanted in self.results(pipeline, array, expected, **how):
            bits = f"u{wanted.dtype.itemsize}"
            with self.subTest(**label):
                numpy.testing.assert_array_equal(ours.view(bits), wanted.view(bits))


def noise(height, width, seed=1):
    return numpy.random.default_rng(seed).integers(0, 256, (height, width, 3), numpy.uint8)


def dark_gradient():
    """Few values, none of them light."""
    rows, columns = numpy.mgrid[0:40, 0:40]
    image = numpy.stack([rows + 20, columns, numpy.full((40, 40), 9)], axis=-1)
    return image.astype(numpy.uint8)


def run(module_arguments):
    OneImageTest.reference = os.path.abspath(module_arguments.pop(1))
    if len(module_arguments) > 1 and os.path.exists(module_arguments[1]):
        OneImageTest.tool = os.path.abspath(module_arguments.pop(1))
    unittest.main(module="__main__")
