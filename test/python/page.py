# SPDX-License-Identifier: Apache-2.0
"""The Python of docs/python.md runs, block after block, as it stands there."""
import os
import pathlib
import re
import sys
import tempfile
import unittest
import warnings

try:
    import numpy # noqa: F401
    import torchvision # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"


def make_photos(folder):
    for number in range(10):
        os.makedirs(f"{folder}/photos/class{number % 2}", exist_ok=True)
        with open(f"{folder}/photos/class{number % 2}/{number}.ppm", "wb") as file:
            file.write(b"P6 48 40 255\n" + bytes((7 * i + 40 * number) % 256 for i in range(48 * 40 * 3)))


class Page(unittest.TestCase):
    def test_each_block_runs(self):
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
        self.assertGreaterEqual(len(blocks), 3)
        names = {}
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder)
            os.chdir(folder)
            os.environ["XDG_CACHE_HOME"] = folder
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="(?s).*warning: ") # the compiler's
                for block in blocks:
                    exec(compile(block, "docs/python.md", "exec"), names)
            for value in list(names.values()): # before the folder goes
                if hasattr(value, "close"):
                    value.close()
            os.chdir("/")


if __name__ == "__main__":
    unittest.main()
