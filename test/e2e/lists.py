# SPDX-License-Identifier: Apache-2.0
"""Elements of a row's own lists, which are known before pixels: sizes of crops, parts of recordings, rows that `where` takes."""
import json
import os

import numpy
import soundfile
from PIL import Image

from pipelines import LanguageTest
from support import main

RATE = 8000


class Lists(LanguageTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.data)

    def lines(self, rows, name="list.jsonl"):
        path = os.path.join(self.data, name)
        with open(path, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        return path

    def of_rows(self, text, path, positions):
        return [self.sample(text, position, "--set", f"list={path}") for position in positions]


class Crops(Lists):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(3)
        self.rows, self.images = [], []
        for i in range(6):
            pixels = rng.integers(0, 255, (50 + i, 70 + i, 3), dtype=numpy.uint8)
            Image.fromarray(pixels).save(os.path.join(self.data, f"{i}.png"))
            corners = [[int(v) for v in (*rng.integers(0, 20, 2), *rng.integers(25, 50, 2))] for _ in range(1 + i % 3)]
            self.images.append(pixels)
            self.rows.append({"image": f"{i}.png", "boxes": corners, "scale": [0.5, 1.5 * i]})

    TEXT = """use vision
pipeline p(list: path) {
  for row in json_lines(list, image = bytes, boxes = i64[k = 0 ..= 9, box = xyxy], scale = f32[j = 2]) %s order sequential
  let b = row.boxes[k = draw int(0 .. extent(row.boxes, k))]
  let part = crop(decode(row.image, rgb), b[box = 1], b[box = 0], b[box = 3] - b[box = 1], b[box = 2] - b[box = 0])
  batch 1 per rank last keep {
    output y: u8[n, h, w, c] = resize(part, 16, 16)
    output b: i64[n, box] = b
    output s: f32[n] = row.scale[j = 1]
    output i: i64[n] = row.index
  }
}"""

    def check(self, found, row):
        left, top, right, bottom = found["b"]
        self.assertIn([left, top, right, bottom], self.rows[row]["boxes"])
        part = Image.fromarray(self.images[row]).crop((left, top, right, bottom)).resize((16, 16), Image.BILINEAR)
        numpy.testing.assert_array_equal(found["y"], numpy.asarray(part))
        self.assertEqual(found["s"], numpy.float32(self.rows[row]["scale"][1]))
        self.assertEqual(found["i"], row)

    def test_a_box_that_is_drawn_is_cut_out_and_resized(self):
        path = self.lines(self.rows)
        for row, found in enumerate(self.of_rows(self.TEXT % "", path, range(6))):
            self.check(found, row)

    def test_where_looks_at_them(self):
        path = self.lines(self.rows)
        where = "where row.boxes[k = 0, box = 2] > 35 and row.scale[j = 1] > 1.0"
        taken = [i for i, row in enumerate(self.rows) if row["boxes"][0][2] > 35 and row["scale"][1] > 1]
        self.assertTrue(0 < len(taken) < 6)
        for row, found in zip(taken, self.of_rows(self.TEXT % where, path, range(len(taken)))):
            self.check(found, row)
        done = self.run_json("run", self.write(self.TEXT % where), "--set", f"list={path}")
        self.assertEqual((done["samples"], len(done["bad_samples"])), (len(taken), 0))

    def test_a_list_that_lacks_it_makes_its_row_bad(self):
        """Also of those that `where` looks at: it is not left out in silence."""
        self.rows[2]["boxes"], self.rows[4]["scale"] = [], [1.0]
        path = self.lines(self.rows)
        for where in "", "where row.boxes[k = 0, box = 2] > 0 and row.scale[j = 1] >= 0.0":
            done = self.run_json("run", self.write(self.TEXT % where), "--set", f"list={path}", "--on-error", "100%")
            self.assertEqual(done["samples"], 6)
            self.assertEqual(sorted({bad["row"] for bad in done["bad_samples"] if bad["row"] in (2, 4)}), [2, 4])
            self.assertTrue(any("axis `k`" in bad["reason"] for bad in done["bad_samples"]), done["bad_samples"])


    def test_a_condition_behind_and_or_or_is_asked_where_it_matters(self):
        """What `if` guards they guard, too: in `where`, and in a sample."""
        path = self.lines([{"b": [2, 3]}, {"b": []}, {"b": [3, 1]}, {"b": [0.5]}])
        def outputs(where, value):
            text = f"""pipeline p(list: path) {{
  for row in json_lines(list, b = f32[k = 0 ..= 5]) {where}
  batch 2 per rank last keep {{
    output i: i64[n] = row.index
    output y: bool[n] = {value}
  }}
}}
"""
            done = self.run_json("run", self.write(text), "--set", f"list={path}", "--on-error", "100%")
            found = [(int(one["i"]), bool(one["y"])) for one in self.of_rows(text, path, range(done["samples"]))] if not done["bad_samples"] else None
            return found
        has = "extent(row.b, k) > 0"
        self.assertEqual(outputs(f"where {has} and row.b[k = 0] > 1.0", "true"), [(0, True), (2, True)])
        self.assertEqual(outputs(f"where not ({has}) or row.b[k = 0] > 1.0", "true"), [(0, True), (1, True), (2, True)])
        self.assertEqual(outputs("", f"{has} and row.b[k = 0] > 1.0"), [(0, True), (1, False), (2, True), (3, False)])
        self.assertEqual(outputs("", f"extent(row.b, k) < 1 or (extent(row.b, k) > 1 and row.b[k = 1] > 1.0)"),
                         [(0, True), (1, True), (2, False), (3, False)])
        self.assertIsNone(outputs("", f"row.b[k = 0] > 1.0 and {has}"))


class Elements(Lists):
    def test_they_are_those_of_the_list(self):
        """Places that are drawn, or follow from others; of slices, flips and every type; elements that elements point at."""
        for kind in "u8", "i8", "i16", "u16", "i32", "i64", "f16", "f32", "f64", "bool":
            text = f"""use vision
pipeline p() {{
  for row in synthetic(9, x = {kind}[k = 1 ..= 7, h = 3], p = i64[q = 2]) order sequential
  let last = extent(row.x, k) - 1
  let at = draw int(0 ..= last)
  batch 1 per rank last keep {{
    output x: {kind}[n, k <= 7, h] ragged = row.x
    output at: i64[n] = at
    output a: {kind}[n] = row.x[h = 1, k = at]
    output b: {kind}[n] = row.x[k = last - at][h = 2]
    output c: {kind}[n] = flip(row.x, k)[h = 0 .. 2][h = 1][k = at]
    output d: {kind}[n, q] = map (q in 0 .. 2) {{ row.x[h = 2 - q, k = last] }}
    output e: i64[n] = draw int(0 ..= i64(row.x[h = 0, k = 0]) * 0 + at)
  }}
}}"""
            for position in 0, 4, 8:
                found = self.sample(text, position)
                x, at = found["x"], int(found["at"])
                last = len(x) - 1
                for name, wanted in ("a", x[at, 1]), ("b", x[last - at, 2]), ("c", x[last - at, 1]), ("d", x[last, [2, 1]]):
                    numpy.testing.assert_array_equal(found[name], wanted, f"{kind} {position} {name}")
                self.assertTrue(0 <= found["e"] <= at)

    def test_an_element_chooses_what_is_made(self):
        """It is a number like another: it guards what costs, and a search looks at it."""
        text = """pipeline p() {
  for row in synthetic(9, x = f32[h = 8, w = 8], f = i64[k = 3]) order sequential
  let odd = row.f[k = 1] % 2 != 0
  let y = if odd then scan_sum(row.x, w) else row.x
  let near = search (50) { let u = draw int(0 .. 1000) accept u when u % 7 == (row.f[k = 2] % 7 + 7) % 7 } else -1
  batch 1 per rank last keep { output x: f32[n, h, w] = row.x output y: f32[n, h, w] = y output f: i64[n, k] = row.f output near: i64[n] = near }
}"""
        seen = set()
        for position in range(9):
            found = self.sample(text, position)
            odd = bool(found["f"][1] % 2)
            numpy.testing.assert_array_equal(found["y"], numpy.cumsum(found["x"], 1, dtype="f4") if odd else found["x"])
            self.assertEqual(found["near"] % 7, found["f"][2] % 7)
            seen.add(odd)
        self.assertEqual(len(seen), 2)

    def test_a_picked_row_has_them_too(self):
        text = """pipeline p(list: path) {
  let table = json_lines(list, l = i64[k = 3])
  for row in table order sequential
  let other = pick(table, draw int(0 .. table.length))
  batch 1 per rank last keep { output a: i64[n] = other.l[k = 2] output i: i64[n] = other.index output b: i64[n] = row.l[k = 2] }
}"""
        path = self.lines([{"l": [1, 2, 10 * i]} for i in range(7)])
        for position, found in enumerate(self.of_rows(text, path, range(7))):
            self.assertEqual((found["a"], found["b"]), (10 * found["i"], 10 * position))
        self.refused(text.replace("draw int(0 .. table.length)", "row.l[k = 0]"), "the number of a picked row must be known before any row is fetched")


    def test_what_was_chosen_of_none_is_filled(self):
        text = """pipeline p(list: path) {
  for row in json_lines(list, b = f32[k = 0 ..= 5, box = xyxy]) order sequential
  let keep = map (x in row.b[box = 2]) { x > 3.0 }
  batch 1 per rank last keep { output y: f32[n, k, box] = fit_length(compact(row.b, keep), k, 2, fill = -1.0) output i: i64[n] = row.index }
}"""
        boxes = [[], [[0, 0, 1, 1]], [[0, 0, 9, 9]], [[0, 0, 9, 1], [1, 1, 2, 2], [2, 2, 4, 4], [3, 3, 8, 8]]]
        path = self.lines([{"b": rows} for rows in boxes])
        for i, found in enumerate(self.of_rows(text, path, range(4))):
            kept = [row for row in boxes[i] if row[2] > 3][:2]
            self.assertEqual((found["i"], found["y"].tolist()), (i, kept + [[-1] * 4] * (2 - len(kept))))


class Tables(Lists):
    """Elements of constants at places that are known before pixels."""

    def test_sizes_shares_and_rows(self):
        text = """use vision
const sizes: i64[k] = [8, 16, 24]
const shares: f64[k, side] = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
const takes: bool[k] = [true, false, true]
pipeline p() {
  for row in synthetic(40, x = u8[h = 30, w = 30], label = 0 .. 3) where takes[k = row.label] order sequential
  let s = sizes[k = draw int(0 .. 3)]
  let turned = row.x |> flip(w) if chance(shares[k = row.label, side = 1])
  let y = turned |> flip(h) if chance(shares[k = row.label, side = 0])
  let near = search (50) { let u = draw int(0 .. 30) accept u when u % 8 == sizes[k = row.label] % 7 } else -1
  batch 1 per rank last keep {
    output small: u8[n, h <= 24, w <= 24] pad 255 = resize(row.x, s, s)
    output s: i64[n] = s
    output x: u8[n, h, w] = row.x
    output y: u8[n, h, w] = y
    output label: i64[n] = row.label
    output near: i64[n] = near
    output z: u8[n, h, w] = row.x[h = 0 .. sizes[k = 0] - 1, w = 0 .. 2]
  }
}"""
        rows = self.run_json("run", self.write(text))["samples"]
        seen = set()
        for position in range(rows):
            found = self.sample(text, position)
            x, label, s = found["x"], int(found["label"]), int(found["s"])
            self.assertIn(label, (0, 2))
            numpy.testing.assert_array_equal(found["y"], x[:, ::-1] if label == 0 else x)
            numpy.testing.assert_array_equal(found["small"][:s, :s], numpy.asarray(Image.fromarray(x).resize((s, s), Image.BILINEAR)))
            self.assertIn(int(found["near"]) % 8, (8 % 7, 24 % 7, 7))
            self.assertEqual(found["z"].shape, (7, 2))
            seen.add((label, s))
        self.assertEqual(len(seen), 6)

    def test_weights_of_rows_and_an_order(self):
        text = """const weights: f64[k] = [0.0, 1.0, 3.0]
pipeline p() {
  for row in synthetic(300, label = 0 .. 3) order weighted(weights[k = row.label])
  batch 300 per rank last keep { output label: i64[n] = row.label }
}"""
        labels = [int(self.sample(text, position)["label"]) for position in range(200)]
        self.assertEqual((labels.count(0), set(labels)), (0, {1, 2}))
        self.assertGreater(labels.count(2), 1.8 * labels.count(1))

    def test_a_place_outside_is_a_bad_sample(self):
        text = """const sizes: i64[k] = [8, 16]
pipeline p(list: path) {
  for row in json_lines(list, label = i64) order sequential
  batch 1 per rank last keep { output y: i64[n] = sizes[k = row.label] }
}"""
        path = self.lines([{"label": label} for label in (0, 1, 2, -1)])
        done = self.run_json("run", self.write(text), "--set", f"list={path}", "--on-error", "100%")
        self.assertEqual({bad["row"] for bad in done["bad_samples"]}, {2, 3})
        self.refused(text.replace("k = row.label", "k = 2"), "axis `k`")


class Parts(Lists):
    def test_parts_of_files_are_read_by_them(self):
        """What is fetched follows from setup, which the fetching thread runs by itself."""
        samples = numpy.random.default_rng(5).integers(-9000, 9000, 40 * RATE).astype(numpy.int16)
        soundfile.write(os.path.join(self.data, "long.wav"), samples, RATE)
        spans = [[[0.0, 0.5], [1.25, 0.25]], [[39.5, 0.5]], [[2.0, 1.0], [3.0, 1.0], [20.0, 0.125]]]
        path = self.lines([{"audio": "long.wav", "spans": span} for span in spans])
        text = """pipeline p(list: path) {
  for row in json_lines(list, audio = bytes, spans = f64[k = 1 ..= 5, q = 2]) order sequential
  let at = draw int(0 .. extent(row.spans, k))
  let first = i64(row.spans[k = at, q = 0] * 8000.0)
  batch 1 per rank last keep {
    output wave: f32[n, t <= 8000] ragged = decode(row.audio, mono)[t = first .. first + i64(row.spans[k = at, q = 1] * 8000.0)]
    output at: i64[n] = at
  }
}"""
        for span, found in zip(spans, self.of_rows(text, path, range(3))):
            first, seconds = span[int(found["at"])]
            wanted = samples[int(first * RATE):int((first + seconds) * RATE)]
            numpy.testing.assert_array_equal(found["wave"], wanted.astype(numpy.float32) / 32768)
        done = self.run_json("run", self.write(text), "--set", f"list={path}", "--epochs", "3")
        self.assertEqual((done["samples"], done["bad_samples"]), (9, []))
        # Whoever decodes without them reads 32 KiB at a time.
        self.assertLessEqual(done["fetched_bytes"], 9 * (4096 + 2 * 8000))


if __name__ == "__main__":
    main()
