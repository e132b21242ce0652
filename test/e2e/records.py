# SPDX-License-Identifier: Apache-2.0
"""What is done with a record is done with each of its fields, the same draws for all: random records inside of records,
through random chains, beside a pipeline that has the one field alone.

PENSTOCK_RECORDS: programs, else 25. PENSTOCK_RECORDS_SEED: of the first one.
"""
import os
import random

import numpy

from pipelines import LanguageTest
from support import main

COUNT, SEED = int(os.environ.get("PENSTOCK_RECORDS", 25)), int(os.environ.get("PENSTOCK_RECORDS_SEED", 1018))
#: Tensors of the axes that all stages take, and a number, which stays as it is.
LEAVES = {"row.x": "u8[n, h, w, c]", "f32(row.x)": "f32[n, h, w, c]", "row.x[c = 1]": "u8[n, h, w]", "f32(row.x[c = 0]) * 0.5": "f32[n, h, w]",
          "255 - row.x": "u8[n, h, w, c]", "row.label": "i64[n]"}
STAGES = ("flip(w)", "flip(h)", "flip(w) if chance(50%)", "random_crop(4)", "crop(0, 0, 4, 4)", "rotate90", "shift(1, -1)", "translate(-1, 2)",
          "pad(1)", "resize(5, 7)", "random_resized_crop(4)", "erase", "rotate(30deg)", "random_affine(-20.0 .. 20.0, across = 0.2)",
          "random_rotation(-45.0 .. 45.0)", "center_crop(4)", "shear(w, 0.3)", "own(2)", "own_twice")
#: Those that leave the size as it is: where not everything goes through.
SAME_SIZE = [stage for stage in STAGES if stage.startswith(("flip", "shift", "translate", "erase", "rotate(", "random_affine", "random_rotation", "shear", "own"))]
#: Functions of the pipeline's author, which draw, too.
OWN = """fn own[E: (u8, f32)](x: E[h, w], most: int) -> E[h, w] {
  let by = draw int(-most ..= most)
  return x |> translate(by, draw int(-1 ..= 1)) |> flip(w) if chance(50%)
}
fn own_twice[E: (u8, f32)](x: E[h, w]) -> E[h, w] = x |> own(1) |> erase |> own(2)
"""


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.leaves = {}  # path: expression
        self.record = self.make_record("", 0)
        self.chain = self.make_chain(STAGES, 0)
        self.other = self.make_chain(SAME_SIZE, 1) if self.random.random() < 0.4 else None
        self.condition = self.random.choice(("row.label > 3", "draw bernoulli(0.5)", "mean(f32(row.x) over [h, w, c]) > 120.0"))

    def make_record(self, path, depth):
        fields = []
        for name in self.random.sample(("image", "mask", "a", "target", "label"), self.random.randint(1, 3)):
            at = f"{path}.{name}"
            if depth < 3 and (self.random.random() < 0.4 or (depth == 0 and not fields)):
                fields.append(f"{name} = {self.make_record(at, depth + 1)}")
            else:
                self.leaves[at] = "row.label" if self.random.random() < 0.3 else self.random.choice(list(LEAVES))
                fields.append(f"{name} = {self.leaves[at]}")
        if self.random.random() < 0.3:
            self.leaves[f"{path}.last.n"] = "row.label"
            fields.append("last = { n = row.label }")
        return "{ " + ", ".join(fields) + " }"

    def make_chain(self, stages, depth):
        parts = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random() if depth < 2 else 1
            if kind < 0.15:
                parts.append(f"repeat (2) {{ {self.make_chain(SAME_SIZE, depth + 1)} }}")
            elif kind < 0.3:
                parts.append(f"choose {{ 1 => {self.make_chain(SAME_SIZE, depth + 1)}, 2 => {self.make_chain(SAME_SIZE, depth + 1)} }}")
            elif kind < 0.4:
                parts.append(f"{{ {self.make_chain(SAME_SIZE, depth + 1)} }} if chance(60%)")
            else:
                again = parts and self.random.random() < 0.3
                parts.append(parts[-1] if again else self.random.choice(stages))
        return " |> ".join(parts)

    def text(self, value, outputs):
        chosen = f"if {self.condition} then (x |> {self.other}) else x" if self.other else "x"
        lines = "\n".join(f"    output {name}: {kind} = z{path}" for name, (kind, path) in outputs.items())
        return f"""use vision
{OWN}pipeline test() {{
  for row in synthetic(100, x = u8[h = 6, w = 6, c = rgb], label = 0 .. 7) order sequential
  let x = {value}
  let y = {chosen}
  let z = y |> {self.chain}
  batch 4 per rank last drop {{
{lines}
  }}
}}"""


class Records(LanguageTest):
    def check(self, seed):
        program = Program(seed)
        names = {path: "out" + path.replace(".", "_") for path in program.leaves}
        tensors = {path: value for path, value in program.leaves.items() if value != "row.label"}
        if not tensors:
            return 0
        text = program.text(program.record, {names[path]: (LEAVES[value], path) for path, value in program.leaves.items()})
        position = program.random.randrange(100)
        together = self.sample(text, position)
        for path, value in tensors.items():
            alone = self.sample(program.text(value, {"one": (LEAVES[value], "")}), position)["one"]
            numpy.testing.assert_array_equal(together[names[path]], alone, f"seed {seed}, {path}:\n{text}")
        return len(tensors)

    def test_fields_are_what_they_are_alone(self):
        compared = sum(self.check(seed) for seed in range(SEED, SEED + COUNT))
        self.assertGreater(compared, COUNT)


if __name__ == "__main__":
    main()
