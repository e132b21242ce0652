# SPDX-License-Identifier: Apache-2.0
"""What is done with a record is done with each of its fields, the same draws for all: random records inside of records,
through random chains, beside a pipeline that has the one field alone. Some fields get arguments of their own.

PENSTOCK_RECORDS: programs, else 25. PENSTOCK_RECORDS_SEED: of the first one.
"""
import json
import os
import random

import numpy
from PIL import Image

from pipelines import LanguageTest
from support import main

COUNT, SEED = int(os.environ.get("PENSTOCK_RECORDS", 25)), int(os.environ.get("PENSTOCK_RECORDS_SEED", 1018))
#: Tensors of the axes that all stages take, and a number, which stays as it is.
LEAVES = {"row.x": "u8[n, h, w, c]", "f32(row.x)": "f32[n, h, w, c]", "row.x[c = 1]": "u8[n, h, w]", "f32(row.x[c = 0]) * 0.5": "f32[n, h, w]",
          "255 - row.x": "u8[n, h, w, c]", "i64(row.x[c = 2]) * 1000": "i64[n, h, w]", "row.label": "i64[n]"}
STAGES = ("flip(w)", "flip(h)", "flip(w) if chance(50%)", "random_crop(4)", "crop(0, 0, 4, 4)", "rotate90", "shift(1, -1)", "translate(-1, 2)",
          "pad(1)", "resize(5, 7)", "random_resized_crop(4)", "erase", "rotate(30deg)", "random_affine(-20.0 .. 20.0, across = 0.2)",
          "random_rotation(-45.0 .. 45.0)", "center_crop(4)", "shear(w, 0.3)", "own(2)", "own_twice")
#: Those that leave the size as it is: where not everything goes through.
SAME_SIZE = [stage for stage in STAGES if stage.startswith(("flip", "shift", "translate", "erase", "rotate(", "random_affine", "random_rotation", "shear", "own"))]
#: What fields may have of their own, and a function that draws before it reads it.
OPTIONS = {"rotate(30deg": {"interpolation": ("nearest", "linear"), "fill": ("7", "255")}, "random_rotation(-45.0 .. 45.0": {"fill": ("7", "255")},
           "random_affine(-20.0 .. 20.0": {"interpolation": ("nearest", "linear"), "fill": ("9",)}, "shear(w, 0.3": {"interpolation": ("nearest", "linear")},
           "random_resized_crop(4": {"filter": ("nearest", "bilinear", "box")}, "resize(5, 7": {"filter": ("nearest", "bilinear", "bicubic")},
           "translate(-1, 2": {"fill": ("3", "4")}, "erase(0.1 .. 0.5": {"fill": ("3", "4")}}
#: Functions of the pipeline's author, which draw, too.
OWN = """fn own[E: (u8, i64, f32)](x: E[h, w], most: int) -> E[h, w] {
  let by = draw int(-most ..= most)
  return x |> translate(by, draw int(-1 ..= 1)) |> flip(w) if chance(50%)
}
fn own_twice[E: (u8, i64, f32)](x: E[h, w]) -> E[h, w] = x |> own(1) |> erase |> own(2)
"""


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.leaves = {}  # path: expression
        self.options = {}  # mark in the chain: {name of the argument: {path: value}}
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
                if depth == 0 and stages is STAGES and self.random.random() < 0.4:
                    parts.append(self.make_options())
                    continue
                again = parts and self.random.random() < 0.3
                parts.append(parts[-1] if again else self.random.choice(stages))
        return " |> ".join(parts)

    def make_options(self):
        """A stage whose arguments differ from field to field; fields that are not named get the default."""
        stage, mark = self.random.choice(list(OPTIONS)), f"<{len(self.options)}>"
        tensors = [path for path, value in self.leaves.items() if value != "row.label"]
        self.options[mark] = {name: {path: self.random.choice(values) for path in tensors if self.random.random() < 0.7}
                              for name, values in OPTIONS[stage].items()}
        return stage + mark + ")"

    @staticmethod
    def by_field(values):
        """`{ image = a, target = { mask = b } }` of {path: value}."""
        fields = {}
        for path, value in values.items():
            head, _, rest = path[1:].partition(".")
            fields.setdefault(head, {})["." + rest if rest else ""] = value
        return "{ " + ", ".join(f"{head} = {inner[''] if '' in inner else Program.by_field(inner)}" for head, inner in fields.items()) + " }"

    def text(self, value, outputs, path=None):
        """The program of the record, or that of what lies at a path, alone."""
        text = self.with_marks(value, outputs)
        for mark, options in self.options.items():
            given = "".join(f", {name} = {values[path] if path else self.by_field(values)}" for name, values in options.items()
                            if (path in values if path else values))
            text = text.replace(mark, given)
        return text

    def with_marks(self, value, outputs):
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
            alone = self.sample(program.text(value, {"one": (LEAVES[value], "")}, path), position)["one"]
            numpy.testing.assert_array_equal(together[names[path]], alone, f"seed {seed}, {path}:\n{text}")
        return len(tensors)

    def test_fields_beside_boxes_move_with_them(self):
        text = """use vision
pipeline test() {
  for row in synthetic(100, x = u8[h = 6, w = 9, c = rgb], boxes = f32[k = 3, box = xyxy], label = 0 .. 7) order sequential
  let s = { mask = row.x[c = 1], image = row.x, boxes = row.boxes, inside = { image = row.x, boxes = row.boxes, again = row.x }, label = row.label }
  let y = s |> flip(w) if chance(50%) |> flip(h) if chance(50%)
  batch 4 per rank last drop {
    output image: u8[n, h, w, c] = y.image
    output mask: u8[n, h, w] = y.mask
    output again: u8[n, h, w, c] = y.inside.again
    output was: u8[n, h, w, c] = row.x
    output label: i64[n] = y.label
  }
}"""
        moved = 0
        for position in range(8):
            found = self.sample(text, position)
            numpy.testing.assert_array_equal(found["mask"], found["image"][..., 1])
            numpy.testing.assert_array_equal(found["again"], found["image"])
            moved += not numpy.array_equal(found["image"], found["was"])
        self.assertGreater(moved, 2)

    def test_fields_of_two_sizes_are_not_cropped_apart(self):
        body = """
fn cut(s: {{ image: u8[h, w, c], boxes: f32[box: xyxy] }}) -> {{ image: u8[h, w, c], boxes: f32[box: xyxy] }} = {{ image = crop(s.image, draw int(0 ..= h - 20), 0, 20, 20), boxes = s.boxes }}
fn cut(x: u8[h, w]) -> u8[h, w] = crop(x, draw int(0 ..= h - 20), 0, 20, 20)
pipeline test() {{
  for row in synthetic(20, x = u8[h = 40, w = 40, c = rgb], m = u8[h = 30, w = 40], boxes = f32[k = 3, box = xyxy]) order sequential
  let r = {{ {fields} }} |> {stage}
  batch 2 per rank last drop {{
    output y: u8[n, h, w, c] = r.image
  }}
}}"""
        apart = ("image = row.x, mask = row.m", "image = row.x, boxes = row.boxes, mask = row.m", "image = row.x, inside = { mask = row.m }")
        differ = "draws the same for the fields `image` and `mask`, and these differ in size: "
        for fields, stage, sizes in ((apart[0], "random_crop(20)", "21 and 11 places"), (apart[2], "random_crop(20)", "21 and 11 places"),
                                     (apart[1], "cut", "21 and 11 places"), (apart[0], "random_resized_crop(20)", "40 and 30 places"),
                                     (apart[0], "erase", "40 and 30 places")):
            with self.subTest(stage, fields=fields):
                self.refused("use vision" + body.format(fields=fields, stage=stage), f"error: `{stage.split('(')[0]}` {differ}{sizes}",
                             "hint: bring them to one size before, or leave one out of the record")
        for fields, stage in (("image = row.x, mask = row.m[h = 0 .. 30, w = 0 .. 30]", "random_rotation(-9.0 .. 9.0)"), (apart[0], "resize(20, 20) |> random_crop(9)"),
                              ("image = row.x, mask = row.x[c = 0]", "random_resized_crop(9)"), (apart[0], "flip(w) if chance(0.5)")):
            self.run_tool("check", self.write("use vision" + body.format(fields=fields, stage=stage)))

    def test_files_of_two_sizes_are_bad_samples(self):
        os.makedirs(self.data)
        sizes = (((40, 40), (40, 40)), ((40, 40), (40, 36)), ((50, 30), (50, 30)), ((50, 30), (30, 50)))
        lines = os.path.join(self.data, "list.jsonl")
        with open(lines, "w") as file:
            for i, (image, mask) in enumerate(sizes):
                Image.new("RGB", image).save(os.path.join(self.data, f"x{i}.png"))
                Image.new("L", mask).save(os.path.join(self.data, f"m{i}.png"))
                file.write(json.dumps({"x": f"x{i}.png", "m": f"m{i}.png"}) + "\n")
        for stage, numbers in (("random_crop(20)", ((21, 17), (11, 31))), ("random_resized_crop(20)", ((40, 36), (30, 50)))):
            text = f"""use vision
pipeline test(list: path) {{
  for row in json_lines(list, x = bytes, m = bytes) order sequential
  let r = {{ image = decode(row.x, rgb), mask = decode(row.m, index) }} |> {stage}
  batch 1 per rank last drop {{
    output image: u8[n, h, w, c] = r.image
    output mask: u8[n, h, w, c] = r.mask
  }}
}}"""
            found = self.run_json("run", self.write(text), "--set", f"list={lines}", "--on-error", "100%")["bad_samples"]
            reasons = {bad["row"]: bad["reason"].split(" (")[0] for bad in found}
            self.assertEqual(reasons, {row: f"`{stage.split('(')[0]}` draws the same for the fields `image` and `mask`, and these differ in size: {a} and {b} places"
                                       for row, (a, b) in zip((1, 3), numbers)})

    def test_fields_are_what_they_are_alone(self):
        compared = sum(self.check(seed) for seed in range(SEED, SEED + COUNT))
        self.assertGreater(compared, COUNT)


if __name__ == "__main__":
    main()
