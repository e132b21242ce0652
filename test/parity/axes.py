# SPDX-License-Identifier: Apache-2.0
"""Ops that read whole axes: generated code has the bits of the reference interpreter.

The points example of the language and a front end of speech, whole; with NaN, infinities, signed zeros and points at
equal places among the inputs.
"""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy

TOOL, REFERENCE = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))


class Axes(unittest.TestCase):
    def test_code_has_the_bits_of_the_reference(self):
        with tempfile.TemporaryDirectory() as folder:
            random = numpy.random.default_rng(5)
            cloud = random.normal(0, 20, (4, 500, 3)).astype(numpy.float32)
            cloud[1, ::7] = cloud[1, 3]
            cloud[2] *= 100 # none is near enough
            cloud[3, 5:9] = [[numpy.nan, 1, 1], [1, numpy.inf, 1], [2, 2, -0.0], [2, 2, 0.0]]
            cloud.tofile(os.path.join(folder, "cloud"))
            random.normal(0, 1, (4, 2000)).astype(numpy.float32).tofile(os.path.join(folder, "wave"))
            settings = ["--set", f"cloud={folder}/cloud", "--set", f"wave={folder}/wave"]
            text, numbers = os.path.join(HERE, "axes.pipe"), []
            with open("/proc/cpuinfo") as file: # each has lanes of its own width
                targets = [[], ["--target", "x86-64-v2"]] + ([["--target", "x86-64-v3"]] if " avx2" in file.read() else [])
            for position in range(4):
                expected = os.path.join(folder, f"reference{position}")
                os.mkdir(expected)
                subprocess.run([REFERENCE, text, str(position), expected, *settings], check=True)
                names = sorted(os.listdir(expected))
                self.assertEqual(len(names), 13)
                for target in targets:
                    found = os.path.join(folder, f"code{position}{''.join(target)}")
                    subprocess.run([TOOL, "sample", text, "--position", str(position), "-o", found, *settings, *target], check=True,
                                   stdout=subprocess.DEVNULL)
                    for name in names:
                        with open(os.path.join(expected, name), "rb") as one, open(os.path.join(found, name), "rb") as other:
                            self.assertEqual(one.read(), other.read(), f"{name} at position {position} {target}")
                numbers.append(int(numpy.fromfile(os.path.join(expected, "number.raw"), numpy.int64)[0]))
            self.assertEqual(numbers[2], 0)
            self.assertGreater(numbers[0], 300)
            self.assertLess(numbers[0], 500)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
