# SPDX-License-Identifier: Apache-2.0
"""Decisions of the stage `schedule`, each changed by hand in its text: other code, the same bytes."""
import os
import re

from support import ToolTest, main

# What is decided, a pipeline's lines, what stands in the text of its schedule, and what takes its place.
DECISIONS = [
    ("lanes", "output y: f32[n, h, w] = map (v in row.b) { f32(v) * 0.5 }", r"lanes = 32", "lanes = 4"),
    ("the axis of the lanes", "output y: f32[n, h, w] = map (v in row.b) { f32(v) * 0.5 }", r'along = "w"', 'along = "h"'),
    ("channels side by side", "output y: f32[n, h, w, c] = row.image |> normalize(imagenet)", r', unroll = "c"', ""),
    ("loops for each arm", "output y: u8[n, h, w, c] = row.image |> invert if chance(0.5)", r"arms = 2", "arms = 1"),
    ("loops for ordinary numbers", "output y: f32[n, h, w] = map (v in row.b) { f32(v) * factor }", r'"bounded"', ""),
    ("loops for either direction", "output y: u8[n, h, w] = row.b |> flip(w) if chance(0.5)", r'"strides"', ""),
    ("loops for rows that are dense", "output y: f32[n, t] = max(row.points over [k])", r'"strides"', ""),
    ("rows of a pad by themselves", "output y: u8[n, h, w] = row.b |> pad(2)", r'"rows"', ""),
    ("ends of rows", "output y: f32[n, h, w] = map (v in row.b) { f32(v) * 0.5 }", r"tail = narrow", "tail = single"),
    ("rows in a ring", "output y: u8[n, h, w, c] = row.image |> resize(9, 40)", r'schedule = "ring"', 'schedule = "scratch"'),
    ("copies", "output y: u8[n, h, w] = concat(each (q in 0 .. 2) { row.b }, w)", r"(copies = .*?)lanes = 32", r"\1lanes = 8"),
]


class Schedules(ToolTest):
    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def bytes_of(self, path, *options):
        hashes = os.path.join(self.folder, "hashes")
        if os.path.exists(hashes):
            os.remove(hashes)
        self.run_tool("run", path, "--no-cache", "--hashes", hashes, *options)
        with open(hashes) as file:
            return file.read()

    def test_other_code_and_the_same_bytes(self):
        for decision, output, old, new in DECISIONS:
            with self.subTest(decision):
                pipe = self.write("p.pipe", "pipe 1\nuse vision\npipeline p(factor: f32 = 0.25) {\n  for row in synthetic(11, "
                                  "b = u8[h = 5, w = 67], image = u8[h = 12, w = 37, c = rgb], points = f32[t = 50, k = 3])\n"
                                  f"  batch 4 last keep {{\n    {output}\n  }}\n}}\n")
                chosen = self.run_tool("compile", pipe, "--no-cache", "--target", "x86-64-v3", "--emit", "schedule").stdout
                forced = re.sub(old, new, chosen)
                self.assertNotEqual(chosen, forced)
                texts = [self.write(f"{i}.mlir", text) for i, text in enumerate((chosen, forced))]
                loops = [self.run_tool("compile", text, "--no-cache", "--target", "x86-64-v3", "--from", "schedule", "--emit",
                                       "loops").stdout for text in texts]
                self.assertNotEqual(*(re.sub(r"#schedule\.loops<[^>]*>", "", text) for text in loops))
                right, *others = (self.bytes_of(path, "--target", "x86-64-v3", *options) for path, options in
                                  ((pipe, ()), *((text, ("--from", "schedule")) for text in texts)))
                self.assertEqual([right, right], others)


if __name__ == "__main__":
    main()
