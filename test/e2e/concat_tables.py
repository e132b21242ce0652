# SPDX-License-Identifier: Apache-2.0
"""Tables that are one after the other: `concat([a, b])`."""
import json
import os

import numpy
import soundfile
from PIL import Image

from pipelines import LanguageTest
from support import main


class ConcatTables(LanguageTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.data)

    def path(self, name):
        return os.path.join(self.data, name)

    def table(self, name, values, bad=()):
        with open(self.path(name + ".csv"), "w") as file:
            file.write(f"v,{name}\n" + "".join(f"{'' if i in bad else v},{v}\n" for i, v in enumerate(values)))
        return "--set", f"{name}={self.path(name + '.csv')}"

    def numbers(self, of, outputs, given, order="sequential", lets="", options=""):
        """Of a table `of` of the csv tables `a` and `b`: {output: [number by position]}."""
        names = [word.split("=")[0] for word in given[1::2]]
        lines = "\n".join(f"output {name}: i64[n] = {value}" for name, value in outputs.items())
        text = f"""pipeline p({", ".join(f"{name}: path" for name in names)}) {options} {{
  {" ".join(f"let of_{name} = csv({name}, v = i64, {name} = i64)" for name in names)}
  for row in {of} order {order}
  {lets}
  batch 3 per rank last keep {{ {lines} }}
}}"""
        self.report = self.run_json("run", self.write(text), *given)
        found = [self.sample(text, position, *given) for position in range(self.report["samples"])]
        return {name: [int(one[name]) for one in found] for name in outputs}

    def test_rows_follow_one_another(self):
        given = [*self.table("a", [10, 11, 12]), *self.table("b", [20, 21]), *self.table("c", [30])]
        found = self.numbers("concat([of_a, of_b, of_c, of_b])", {"v": "row.v", "part": "row.part", "at": "row.index"}, given)
        self.assertEqual(found["v"], [10, 11, 12, 20, 21, 30, 20, 21])
        self.assertEqual(found["part"], [0, 0, 0, 1, 1, 2, 3, 3])
        self.assertEqual(found["at"], list(range(8)))

    def test_parts_of_parts_are_parts(self):
        given = [*self.table("a", [10, 11]), *self.table("b", [20])]
        found = self.numbers("concat([of_b, concat([of_a, of_b]), of_a])", {"v": "row.v", "part": "row.part"}, given)
        self.assertEqual(found["v"], [20, 10, 11, 20, 10, 11])
        self.assertEqual(found["part"], [0, 1, 1, 2, 3, 3])

    def test_orders_see_one_table(self):
        given = [*self.table("a", range(0, 30)), *self.table("b", range(100, 150))]
        found = self.numbers("concat([of_a, of_b])", {"v": "row.v", "at": "row.index"}, given, order="shuffled")
        self.assertEqual(sorted(found["v"]), [*range(30), *range(100, 150)])
        self.assertNotEqual(found["v"], sorted(found["v"]))
        for v, at in zip(found["v"], found["at"]):
            self.assertEqual(v, at if at < 30 else at + 70)
        found = self.numbers("concat([of_a, of_b]) where row.part == 1 and row.v % 2 == 0", {"v": "row.v"}, given)
        self.assertEqual(found["v"], list(range(100, 150, 2)))
        found = self.numbers("concat([of_a, of_b])", {"part": "row.part"}, given,
                             order="weighted(if row.part == 0 then 9.0 / 30.0 else 1.0 / 50.0)")
        self.assertGreater(found["part"].count(0), 60)
        self.assertGreater(found["part"].count(1), 0)
        found = self.numbers("concat([of_a, of_b])", {"v": "row.v"}, given, order="[79, 0, 30]")
        self.assertEqual(found["v"], [149, 0, 100])

    def test_rows_are_picked(self):
        given = [*self.table("a", [1, 2, 3]), *self.table("b", [40, 50])]
        found = self.numbers("of_a", {"v": "other.v", "part": "other.part", "at": "other.index", "all": "both.length"}, given,
                             lets="let both = concat([of_b, of_a]) let other = pick(both, row.index + 1)")
        self.assertEqual(found, {"v": [50, 1, 2], "part": [0, 1, 1], "at": [1, 2, 3], "all": [5, 5, 5]})

    def test_a_bad_row_is_named_and_replaced(self):
        given = [*self.table("a", range(5)), *self.table("b", range(10, 15), bad={1})]
        found = self.numbers("concat([of_a, of_b])", {"v": "row.v"}, given, options="with on_error = substitute(50%)")
        self.assertEqual(found["v"][:6] + found["v"][7:], [0, 1, 2, 3, 4, 10, 12, 13, 14])
        self.assertIn(found["v"][6], [0, 1, 2, 3, 4, 10, 12, 13, 14])
        self.assertIn("b.csv:3", self.report["bad_samples"][0]["reason"])

    def test_own_column_part_stays(self):
        for name in "ab":
            with open(self.path(name + ".csv"), "w") as file:
                file.write(f"part\n{'7 8' if name == 'a' else '9'}\n".replace(" ", "\n"))
        text = """pipeline p(a: path, b: path, c: path) {
  let whole = concat([csv(a, part = i64), csv(b, part = i64)])
  for row in whole
  let third = pick(concat([csv(a, part = i64), csv(c, v = i64)]), 0)
  batch 1 per rank last keep { output v: i64[n] = row.part }
}"""
        given = [word for name in "abc" for word in ("--set", f"{name}={self.path(name + '.csv')}")]
        self.assertIn("no column in common", self.run_tool("check", self.write(text), expect=1).stderr)
        text = """pipeline p(a: path, b: path) {
  for row in concat([csv(a, part = i64), csv(b, part = i64)])
  batch 1 per rank last keep { output v: i64[n] = row.part }
}"""
        self.assertEqual([int(self.sample(text, at, *given[:4])["v"]) for at in range(3)], [7, 8, 9])

    def test_tensors_lie_in_files_of_their_own(self):
        """The last row of a file has no memory behind it, whatever part comes next."""
        rng = numpy.random.default_rng(5)
        parts = [rng.integers(0, 256, (4, 1024), dtype=numpy.uint8) for _ in range(3)]
        for i, part in enumerate(parts):
            part.tofile(self.path(f"{i}.bin"))
        text = """pipeline p(a: path, b: path, c: path) {
  for row in concat([raw(x = column(a, u8[t = 1024])), raw(x = column(b, u8[t = 1024])), raw(x = column(c, u8[t = 1024]))])
  batch 1 per rank last keep { output x: u8[n, t] = row.x }
}"""
        given = [word for i, name in enumerate("abc") for word in ("--set", f"{name}={self.path(f'{i}.bin')}")]
        for at, row in enumerate(numpy.concatenate(parts)):
            numpy.testing.assert_array_equal(self.sample(text, at, *given)["x"], row)

    def test_lists_of_other_bounds(self):
        rows = [[1, 2, 3], [], [4], [5, 6, 7, 8, 9]]
        for name, some in (("a", rows[:2]), ("b", rows[2:])):
            with open(self.path(name), "w") as file:
                file.writelines(json.dumps({"x": row}) + "\n" for row in some)
        text = """pipeline p(a: path, b: path) {
  for row in concat([json_lines(a, x = i64[k = 0 ..= 3]), json_lines(b, x = i64[k = 1 ..= 5])])
  batch 1 per rank last keep { output sum: i64[n] = sum(row.x over [k]) output many: i64[n] = i64(extent(row.x, k)) }
}"""
        given = ["--set", f"a={self.path('a')}", "--set", f"b={self.path('b')}"]
        found = [self.sample(text, at, *given) for at in range(4)]
        self.assertEqual([(int(one["sum"]), int(one["many"])) for one in found], [(sum(row), len(row)) for row in rows])

    def test_media_of_several_tables(self):
        rng = numpy.random.default_rng(6)
        wanted = []
        for root in ("one", "two"):
            for label in ("cat", "dog"):
                os.makedirs(self.path(f"{root}/{label}"))
                for i in range(2):
                    pixels = rng.integers(0, 256, (9, 12, 3), dtype=numpy.uint8)
                    Image.fromarray(pixels).save(self.path(f"{root}/{label}/{i}.png"))
                    wanted.append(pixels)
        text = """pipeline p(one: path, two: path) {
  for row in concat([image_folder(one), image_folder(two)])
  batch 1 per rank last keep { output x: u8[n, h, w, c] = decode(row.data, rgb)[h = 0 .. 9, w = 0 .. 12] output label: i64[n] = row.label }
}"""
        given = ["--set", f"one={self.path('one')}", "--set", f"two={self.path('two')}"]
        for at, pixels in enumerate(wanted):
            found = self.sample(text, at, *given)
            numpy.testing.assert_array_equal(found["x"], pixels)
            self.assertEqual(int(found["label"]), at // 2 % 2)

        waves = []
        for name in ("a", "b"):
            os.makedirs(self.path(f"{name}/speech"))
            waves.append((rng.integers(-9999, 9999, 400) / 32768).astype(numpy.float32))
            soundfile.write(self.path(f"{name}/speech/0.wav"), waves[-1], 8000, "PCM_16")
        text = """pipeline p(a: path, b: path) {
  for row in concat([audio_folder(a), audio_folder(b)]) where probe(row.data, wave).channels == 1
  batch 1 per rank last keep { output x: f32[n, t] = decode(row.data, mono)[t = 100 .. 200] }
}"""
        given = ["--set", f"a={self.path('a')}", "--set", f"b={self.path('b')}"]
        for at, wave in enumerate(waves):
            numpy.testing.assert_array_equal(self.sample(text, at, *given)["x"], wave[100:200])

    def test_messages(self):
        def message(table, lets=""):
            path = self.write(f"""pipeline p(a: path, b: path) {{
  let of_a = csv(a, v = i64, x = i64)
  let of_b = csv(b, v = f32)
  {lets}
  for row in {table}
  batch 1 per rank last keep {{ output at: i64[n] = row.index }}
}}""")
            return self.run_tool("check", path, expect=1).stderr

        self.assertIn("column `v` is i64 in one table and f32 in another", message("concat([of_a, of_b])"))
        self.assertIn("takes a list of tables, and this is", message("concat([of_a, 3])"))
        self.assertIn("tensors are joined along an axis", message("concat([1, 2])"))
        self.assertIn("takes a list of tables", message("concat(of_a)"))
        self.assertIn("rows of `external_source` cannot be joined", message("concat([of_a, external_source(v = i64)])"))
        self.assertIn("tables are joined without an axis", message("concat([of_a, of_b], n)"))


if __name__ == "__main__":
    main()
