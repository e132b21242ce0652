# SPDX-License-Identifier: Apache-2.0
"""Pipelines that stand in no example, of many kinds: generated code has the bits of the reference interpreter.

Each pipeline of unseen/*.pipe is a file of its own here, with the functions of its file. Among the floats are
NaN of any bits, infinities and signed zeros.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

TOOL, REFERENCE = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
SPECIAL = numpy.array([0x80000000, 0, 0x7FC00000, 0xFFC00001, 0x7F800000, 0xFF800000, 0x7F800001], "u4").view("f4")


def pipelines():
    """(name, text) of each."""
    for path in sorted(glob.glob(os.path.join(HERE, "unseen", "*.pipe"))):
        with open(path) as file:
            text = file.read()
        uses = "".join(re.findall(r"^use .*\n", text, re.M))
        functions = uses + "".join(re.findall(r"^fn .*?(?=^pipeline|^fn )", text, re.M | re.S))
        for pipeline, name in re.findall(r"^(pipeline (\w+).*?^}\n)", text, re.M | re.S):
            yield name, "pipe 1\n" + functions + pipeline


def rows(random, element, extents):
    """Two of them."""
    count = 2 * int(numpy.prod(extents))
    if element == "u8":
        return random.integers(0, 256, count).astype("u1")
    values = random.normal(0.5, 1, count).astype("f4")
    special = random.random(count) < 0.02
    values[special] = SPECIAL[random.integers(0, len(SPECIAL), special.sum())]
    return values


def outputs(folder, command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def difference(name, text, targets):
    """The difference between a pipeline and the reference, in words; nothing where they agree."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name + ".pipe")
        with open(path, "w") as file:
            file.write(text)
        random, settings = numpy.random.default_rng(5), []
        for column, element, axes in re.findall(r"column\((\w+), (\w+)\[([^]]*)\]\)", text):
            data = os.path.join(folder, column)
            rows(random, element, [int(axis.split("=")[1]) for axis in axes.split(",")]).tofile(data)
            settings += ["--set", f"{column}={data}"]
        expected = os.path.join(folder, "reference")
        os.mkdir(expected)
        wanted = outputs(expected, [REFERENCE, path, "1", expected, *settings])
        if not isinstance(wanted, dict) or not wanted:
            return f"{name}: {wanted}"
        for target in targets:
            made = os.path.join(folder, "code" + target)
            os.mkdir(made)
            found = outputs(made, [TOOL, "sample", path, "--no-cache", "--position", "1", "-o", made, *settings,
                                   *(["--target", target] if target else [])])
            if not isinstance(found, dict):
                return f"{name}, {target}: {found}"
            found = {output: found.get(output) for output in wanted}
            wrong = [output for output in wanted if found[output] != wanted[output]]
            if wrong:
                return f"{name}, {target}: {wrong} differ"
    return None


class Unseen(unittest.TestCase):
    def test_code_has_the_bits_of_the_reference(self):
        with open("/proc/cpuinfo") as file: # each has lanes of its own width
            levels = ["", "x86-64-v3" if " avx2" in file.read() else "x86-64-v2"]
        all_of_them = list(pipelines())
        self.assertGreater(len(all_of_them), 70)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda one: difference(*one, levels), all_of_them))
        self.assertEqual([result for result in results if result], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
