# SPDX-License-Identifier: Apache-2.0
"""Bundles with code for 64-bit ARM, run there, have the samples of this machine.

Usage: carried.py PENSTOCK RUNNER, the second a penstock-run for 64-bit ARM, or what emulates it. With
PENSTOCK_EXAMPLES, names with spaces between them, these examples alone.
"""
import os
import sys

from examples import EVERY, ExamplesTest
from support import main

CHOSEN = os.environ.get("PENSTOCK_EXAMPLES", "").split()


class Carried(ExamplesTest):
    runner = None

    def carried(self, path):
        """The hashes of the example's samples, run from a bundle on 64-bit ARM."""
        bundle = os.path.join(self.folder, "example.pstk")
        self.run_tool("compile", path, *self.inputs(path), "--target", "x86-64-v3,armv8-a", "-o", bundle)
        return self.hashes_of([self.runner, bundle])

    def test_every_example_has_the_samples_of_this_machine(self):
        for path in EVERY:
            name = os.path.basename(path)
            if not CHOSEN or name in CHOSEN:
                with self.subTest(example=name):
                    self.assertEqual(self.carried(path), self.hashes(path))


if __name__ == "__main__":
    Carried.runner = sys.argv.pop(2)
    main()
