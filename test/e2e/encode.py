# SPDX-License-Identifier: Apache-2.0
"""Pixels through encoders, where a pipeline may put them: in branches, views, batches and outputs."""
import io

import numpy
from PIL import Image

from pipelines import LanguageTest
from support import main


def pixels_of(data):
    return numpy.array(Image.open(io.BytesIO(data.tobytes())))


def recompressed(image, quality):
    out = io.BytesIO()
    Image.fromarray(image).save(out, "JPEG", quality=int(quality))
    return numpy.array(Image.open(io.BytesIO(out.getvalue())))


class Encode(LanguageTest):
    def encoded(self, outputs, lets="", batch="", position=0, settings="", arguments=()):
        lines = "\n".join(f"output {name}: {kind} = {value}" for name, (kind, value) in outputs.items())
        return self.sample(f"""use vision
pipeline test({settings}) {{
  for row in synthetic(20, x = u8[h = 21, w = 30, c = rgb], y = u8[h = 3 ..= 9, w = 8, c = rgb], q = 1 ..= 100,
                       label = 0 .. 7) order sequential
  {lets}
  batch 4 per rank last drop {{ {batch}
  output x: u8[n, h, w, c] = row.x
  {lines}
  }}
}}""", position, *arguments)

    def test_the_quality_may_be_drawn_or_come_from_a_row(self):
        for position in range(3):
            found = self.encoded({"q": ("i64[n]", "row.q"), "d": ("i64[n]", "drawn"),
                                  "a": ("u8[n, h, w, c]", "row.x |> recompress(row.q)"),
                                  "b": ("u8[n, h, w, c]", "row.x |> recompress(drawn)")},
                                 lets="let drawn = draw int(30 ..= 100)", position=position)
            numpy.testing.assert_array_equal(found["a"], recompressed(found["x"], found["q"]))
            numpy.testing.assert_array_equal(found["b"], recompressed(found["x"], found["d"]))

    def test_only_the_branch_that_is_taken_runs(self):
        taken = 0
        for position in range(8):
            # Where the condition does not hold, the quality is none, and nobody minds.
            found = self.encoded({"label": ("i64[n]", "row.label"),
                                  "a": ("u8[n, h, w, c]", "row.x |> recompress(if row.label < 3 then 50 else 0) if row.label < 3")},
                                 position=position)
            expected = recompressed(found["x"], 50) if found["label"] < 3 else found["x"]
            numpy.testing.assert_array_equal(found["a"], expected)
            taken += int(found["label"] < 3)
        self.assertIn(taken, range(1, 8))

    def test_views_have_qualities_of_their_own(self):
        found = self.encoded({"q": ("i64[n, v]", "each (v in 0 .. 3) { 20 * v + 11 }"),
                              "a": ("u8[n, v, h, w, c]", "each (v in 0 .. 3) { row.x |> recompress(20 * v + 11) }")})
        for view, quality in enumerate(found["q"]):
            numpy.testing.assert_array_equal(found["a"][view], recompressed(found["x"], quality))

    def test_between_other_operators_and_after_other_samples(self):
        found = self.encoded({"a": ("f32[n, c, h, w]", "mix(f32(row.x |> flip(w) |> recompress(40) |> invert), f32(row.x), 1.0)"),
                              "b": ("u8[n, h, w, c]", "row.x[n = other] |> recompress(60)"),
                              "c": ("u8[n, h, w, c]", "row.x[n = other]")},
                             batch="let other = draw permutation(n)", position=1)
        turned = recompressed(numpy.ascontiguousarray(found["x"][:, ::-1]), 40)
        numpy.testing.assert_array_equal(found["a"], 255.0 - turned.transpose(2, 0, 1))
        numpy.testing.assert_array_equal(found["b"], recompressed(found["c"], 60))

    def test_bytes_are_ragged_or_padded_and_counted(self):
        found = self.encoded({"ragged": ("u8[n, byte <= 5000] ragged", "file"), "padded": ("u8[n, byte <= 5000] pad 7", "file"),
                              "size": ("i64[n]", "extent(file, byte)"), "total": ("i64[n]", "sum(i64(file) over [byte])"),
                              "small": ("u8[n, byte <= 9000] ragged", "row.y |> encode(png)"), "y": ("u8[n, h <= 9, w, c] ragged", "row.y")},
                             lets="let file = row.x |> encode(jpeg, quality = 90)")
        size = int(found["size"])
        self.assertEqual(found["ragged"].shape, (size,))
        numpy.testing.assert_array_equal(found["padded"][:size], found["ragged"])
        self.assertTrue((found["padded"][size:] == 7).all())
        self.assertEqual(int(found["total"]), found["ragged"].astype(int).sum())
        numpy.testing.assert_array_equal(pixels_of(found["ragged"]), recompressed(found["x"], 90))
        numpy.testing.assert_array_equal(pixels_of(found["small"]), found["y"])

    def test_what_cannot_be_encoded_is_a_bad_sample(self):
        text = """use vision
pipeline test(quality: int = 50, limit: int = 9) {
  for row in synthetic(20, x = u8[h = 21, w = 30, c = rgb], y = u8[h = 0 ..= 4, w = 8, c = rgb]) order sequential
  batch 4 per rank last drop {
    output a: u8[n, h, w, c] = row.x |> recompress(quality)
    output b: u8[n, byte <= 2000] ragged = row.y |> encode(png)
  }
}"""
        path = self.write(text)
        done = self.run_tool("run", path, "--set", "quality=101", "--on-error", "fail", expect=1)
        self.assertIn("a JPEG quality is 1 to 100, and this is 101 (", done.stderr)
        done = self.run_tool("run", path, "--on-error", "fail", expect=1)
        self.assertIn("an encoded image has 1 to 65,500 rows and columns, and this one has 0 and 8 (", done.stderr)
        self.assertIn("test.pipe:7:", done.stderr)


if __name__ == "__main__":
    main()
