# SPDX-License-Identifier: Apache-2.0
"""Nothing is decoded that is not used: 8x8 blocks through the inverse DCT, counted exactly.

The pictures are 4:4:4: a block stands in three planes, and no plane is enlarged, so that no pixel
beside the region matters. The decoder takes whole blocks.
"""
import os

import numpy
from PIL import Image

from support import ToolTest, main

HEIGHT, WIDTH = 200, 264
FILES = 3  # of each of two classes


def blocks(top, left, bottom, right):
    """Blocks of 8 x 8 that one decode of a region transforms, in three planes."""
    return 3 * (-(-bottom // 8) - top // 8) * (-(-right // 8) - left // 8)


FULL = blocks(0, 0, HEIGHT, WIDTH)


def taps(first, end, size, out):
    """Inputs that Pillow's bilinear filter reads for the outputs first ..< end, one more on each side."""
    scale = max(size / out, 1.0)
    low = int((first + 0.5) * size / out - scale + 0.5)
    high = int((end - 0.5) * size / out + scale + 0.5)
    return max(low - 1, 0), min(high + 1, size)


class Blocks(ToolTest):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(5)
        for label in range(2):
            os.makedirs(os.path.join(self.data, f"class{label}"))
            for number in range(FILES):
                pixels = rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=numpy.uint8)
                Image.fromarray(pixels).save(os.path.join(self.data, f"class{label}", f"{number}.jpg"),
                                             quality=80, subsampling=0)

    def decoded(self, outputs, lets="", *more):
        """Blocks of one epoch in order, and what was delivered."""
        path = os.path.join(self.folder, "blocks.pipe")
        with open(path, "w") as file:
            file.write(f"""pipe 1
use vision
pipeline blocks(root: path) {{
  let table = image_folder(root)
  for row in table order sequential
  let image = row.data |> decode(rgb)
  {lets}
  batch {2 * FILES} per rank last drop {{
    {outputs}
  }}
}}
""")
        hashes = os.path.join(self.folder, "hashes")
        if os.path.exists(hashes):
            os.remove(hashes)
        report = self.run_json("run", path, "--set", f"root={self.data}", "--hashes", hashes, *more)
        self.assertEqual(report["bad_samples"], [])
        self.assertEqual(report["samples"], 2 * FILES)
        with open(hashes) as file:
            self.assertEqual(list(report["jpeg_entropy"]), ["own"])
            return report["decoded_blocks"], file.read()

    def check(self, expected, outputs, lets=""):
        """`expected`: blocks of all samples. Without the pass: whole pictures, and the same bits."""
        with self.subTest(outputs=outputs, lets=lets):
            count, hashes = self.decoded(outputs, lets)
            self.assertEqual(count, expected)
            decodes = 1 + lets.count("decode(")
            self.assertEqual(self.decoded(outputs, lets, "--disable-pass", "required-regions"),
                             (2 * FILES * decodes * FULL, hashes))

    def image(self, expression, height=64, width=64):
        return f"output x: u8[n, h = {height}, w = {width}, c] = {expression}"

    def test_everything(self):
        count, _ = self.decoded("output x: u8[n, h <= 200, w <= 264, c] pad 0 = image")
        self.assertEqual(count, 2 * FILES * FULL)

    def test_a_crop(self):
        self.check(2 * FILES * blocks(30, 50, 94, 114), self.image("image |> crop(30, 50, 64, 64)"))

    def test_after_flip(self):
        self.check(2 * FILES * blocks(30, WIDTH - 114, 94, WIDTH - 50),
                   self.image("image |> flip(w) |> crop(30, 50, 64, 64)"))
        self.check(2 * FILES * blocks(HEIGHT - 94, 50, HEIGHT - 30, 114),
                   self.image("image |> flip(h) |> crop(30, 50, 64, 64)"))

    def test_after_pad(self):
        self.check(2 * FILES * blocks(0, 0, 54, 44),
                   self.image("image |> pad(20) |> crop(10, 0, 64, 64)"))
        self.check(2 * FILES * blocks(180, 100, HEIGHT, 164),
                   self.image("image |> pad(20) |> crop(200, 120, 40, 64)", height=40))

    def test_after_pointwise(self):
        self.check(2 * FILES * blocks(30, 50, 94, 114),
                   self.image("image |> invert |> solarize(100) |> crop(30, 50, 64, 64)"))

    def test_after_a_window(self):
        self.check(2 * FILES * blocks(31, 47, 97, 113),
                   self.image("image |> box_blur |> crop(32, 48, 64, 64)"))

    def test_after_resize(self):
        top, bottom = taps(20, 52, HEIGHT, 100)
        left, right = taps(40, 72, WIDTH, 132)
        self.check(2 * FILES * blocks(top, left, bottom, right),
                   self.image("image |> resize(100, 132) |> crop(20, 40, 32, 32)", 32, 32))

    def test_two_crops_of_one_decode(self):
        self.check(2 * FILES * blocks(8, 48, 136, 216),
                   self.image("image |> crop(8, 48, 64, 64)") + "\n" +
                   self.image("image |> crop(72, 152, 64, 64)").replace("x:", "y:"))

    def test_each_arm_has_its_own_crop(self):
        lets = "let soft = crop(image |> box_blur, 120, 160, 64, 64)"
        self.check(FILES * (blocks(30, 50, 94, 114) + blocks(119, 159, 185, 225)),
                   self.image("if row.label == 0 then crop(image, 30, 50, 64, 64) else soft"), lets)

    def test_a_crop_under_if_beside_one_that_always_is(self):
        lets = ("let first = crop(image, 30, 50, 64, 64)\n"
                "  let soft = crop(image |> box_blur, 120, 160, 64, 64)")
        self.check(FILES * (blocks(30, 50, 94, 114) + blocks(30, 50, 185, 225)),
                   self.image("first") + "\n" +
                   self.image("if row.label == 0 then first else soft").replace("x:", "y:"), lets)

    def test_a_stage_with_a_trailing_if(self):
        self.check(FILES * (blocks(30, 50, 94, 114) + blocks(29, 49, 95, 115)),
                   self.image("image |> box_blur if row.label == 1 |> crop(30, 50, 64, 64)"))

    OTHER = "let other = pick(table, draw int(0 .. table.length))"

    def test_a_decode_only_in_the_arm_that_needs_it(self):
        for soften, halo in [("", 0), ("|> box_blur ", 1)]:
            lets = (f"{self.OTHER}\n"
                    f"  let second = other.data |> decode(rgb) {soften}|> crop(0, 0, 64, 64)\n"
                    "  let mine = crop(image, 30, 50, 64, 64)")
            self.check(FILES * (blocks(30, 50, 94, 114) + blocks(0, 0, 64 + halo, 64 + halo)),
                       self.image("if row.label == 1 then second else mine"), lets)

    def test_a_shared_decode_only_where_an_arm_needs_it(self):
        lets = (f"{self.OTHER}\n"
                "  let second = other.data |> decode(rgb) |> invert\n"
                "  let mine = crop(image, 30, 50, 64, 64)")
        self.check(2 * FILES * blocks(30, 50, 94, 114) + FILES * blocks(0, 0, 64, 64),
                   self.image("if row.label == 1 then mix(mine, crop(second, 0, 0, 64, 64), "
                              "f32(0.5)) else mine"), lets)


if __name__ == "__main__":
    main()
