# SPDX-License-Identifier: Apache-2.0
"""Small pipelines through the tool, for tests of the language."""
import os
import re

import numpy

from support import ToolTest, read_hashes

DTYPES = {"bool": numpy.uint8, "bf16": numpy.uint16, "f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64,
          **{f"{kind}{bits}": f"{kind}{bits // 8}" for kind in "iu" for bits in (8, 16, 32, 64)}}


class LanguageTest(ToolTest):
    def write(self, text, name="test.pipe"):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write("pipe 1\n" + text)
        return path

    def sample(self, text, position=0, *more):
        """{output: array} of one sample."""
        path, out = self.write(text), os.path.join(self.folder, "out")
        shown = self.run_tool("sample", path, "--position", position, "-o", out, *more).stdout
        result = {}
        for name, dtype, axes in re.findall(r"^  output (\w+): (\w+)\[(.*?)\]", shown, re.M):
            shape = [int(extent) for extent in re.findall(r"=(\d+)", axes)]
            result[name] = numpy.fromfile(os.path.join(out, name + ".raw"), DTYPES[dtype]).reshape(shape)
        return result

    def hashes(self, text, *arguments, **paths):
        """Those of all samples of a run, by epoch and position; parameters are paths."""
        settings = [word for name, path in paths.items() for word in ("--set", f"{name}={path}")]
        path = os.path.join(self.folder, "hashes")
        if os.path.exists(path):
            os.remove(path)
        self.run_tool("run", self.write(text), *settings, "--hashes", path, *arguments)
        return read_hashes(path)

    def failure(self, text, *arguments, **paths):
        """What a run says that ends with an error."""
        settings = [word for name, path in paths.items() for word in ("--set", f"{name}={path}")]
        return self.run_tool("run", self.write(text), *settings, *arguments, expect=1).stderr

    def scalars(self, outputs, lets="", top="", settings=(), batch="", position=0, options=""):
        """The outputs of a pipeline whose outputs are {name: (type, expression)}."""
        lines = "\n".join(f"output {name}: {kind} = {value}" for name, (kind, value) in outputs.items())
        text = f"""{top}
pipeline test({", ".join(settings)}) {options} {{
  for row in synthetic(100, x = u8[h = 4, w = 6, c = rgb], label = 0 .. 7) order sequential
  {lets}
  batch 5 per rank last drop {{ {batch}
  output row_label: i64[n] = row.label
  {lines}
  }}
}}"""
        return self.sample(text, position)

    def refused(self, text, *parts):
        done = self.run_tool("check", self.write(text), expect=1)
        for part in parts:
            self.assertIn(part, done.stderr)
        return done.stderr
