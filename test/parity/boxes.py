# SPDX-License-Identifier: Apache-2.0
"""The boxes of random_resized_crop are distributed as torchvision's.

Ours come from samples of a session (JIT, C API), theirs from RandomResizedCrop.get_params. Two-sample
Kolmogorov-Smirnov tests on area, aspect ratio and place, and a test of two proportions on how often
the fallback is taken. Seeds are fixed, so the outcome is too; over all comparisons together, a right
implementation with other seeds would fail one time in a hundred.
"""
import math
import os
import sys
import unittest

import numpy
import torch
from PIL import Image
from torchvision import transforms

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from session import Session  # noqa: E402

LIBRARY = None
COUNT = 3000
# Height and width; the extreme ones find no box in ten tries, often or always.
SIZES = [(60, 80), (97, 131), (128, 48), (31, 240), (200, 12), (7, 300)]
MEASURES = ["area", "ratio", "left", "top"]
SIGNIFICANCE = 0.01 / (len(SIZES) * (len(MEASURES) + 1))

PIPELINE = """pipe 1
use vision
pipeline boxes(height: int, width: int) {
  for row in synthetic(100_000_000, image = u8[h = height, w = width, c = rgb]) order sequential
  let pixels = row.image |> CROP
  batch 1 per rank last drop { output image: u8[n, h, w, c] = pixels }
}
"""
# The same with one law changed: what the tests below must be able to see.
CHANGED = """
fn changed_box(h: int, w: int) -> rect =
  search (10) {
    let area = f64(h * w) * AREA
    let r = RATIO
    let bw = int(round(sqrt(area * r)))
    let bh = int(round(sqrt(area / r)))
    accept rect(draw int(0 ..= h - bh), draw int(0 ..= w - bw), bh, bw) when bw in 1 ..= w and bh in 1 ..= h
  } else center_rect(h, w, 0.75 .. 1.3333333333333333)
fn changed_crop(x: u8[h, w, c]) -> u8[h, w, c] = resize(crop(x, changed_box(h, w)), 1, 1)
"""
AREA, RATIO = "draw uniform(0.08 .. 1.0)", "exp(draw uniform(log(0.75 .. 1.3333333333333333)))"


def our_boxes(height, width, crop="random_resized_crop(1)", functions=""):
    """Rows of top, left, height, width."""
    session = Session(LIBRARY, PIPELINE.replace("CROP", crop) + functions, height=height, width=width)
    boxes = []
    for position in range(COUNT):
        named = {path.rsplit("/", 1)[1]: value for path, value in session.draws(position).items()}
        boxes.append([named[name] for name in ("top", "left", "height", "width")])
    session.close()
    return numpy.array(boxes)


def their_boxes(height, width):
    torch.manual_seed(height * 1000 + width)
    image = Image.new("L", (width, height))
    law = transforms.RandomResizedCrop(1)
    return numpy.array([law.get_params(image, law.scale, law.ratio) for _ in range(COUNT)], float)


def kolmogorov_smirnov(ours, theirs):
    """The chance of a distance as large as this one, were both of one distribution."""
    values = numpy.concatenate([ours, theirs])
    share = lambda part: numpy.searchsorted(numpy.sort(part), values, side="right") / len(part)
    distance = numpy.abs(share(ours) - share(theirs)).max()
    count = len(ours) * len(theirs) / (len(ours) + len(theirs))
    x = (math.sqrt(count) + 0.12 + 0.11 / math.sqrt(count)) * distance
    if x < 0.2:  # the series converges slowly here, and the sum is 1 to nine digits
        return 1.0
    return min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101)))


def proportions(ours, theirs):
    """The same for two shares of yes."""
    pooled = (ours.mean() + theirs.mean()) / 2
    if pooled in (0, 1):
        return 1.0
    deviation = math.sqrt(pooled * (1 - pooled) * (1 / len(ours) + 1 / len(theirs)))
    return math.erfc(abs(ours.mean() - theirs.mean()) / deviation / math.sqrt(2))


def fallback(height, width):
    """torchvision's box after ten tries without success."""
    rows, columns = height, width
    if width / height < 3 / 4:
        rows = round(width / (3 / 4))
    elif width / height > 4 / 3:
        columns = round(height * (4 / 3))
    return [(height - rows) // 2, (width - columns) // 2, rows, columns]


def chances(height, width, ours, theirs):
    """Probabilities of the differences between two sets of boxes, by measure."""
    measures = lambda boxes: {"area": boxes[:, 2] * boxes[:, 3] / (height * width),
                              "ratio": boxes[:, 3] / boxes[:, 2],
                              "left": boxes[:, 1], "top": boxes[:, 0]}
    mine, others = measures(ours), measures(theirs)
    result = {name: kolmogorov_smirnov(mine[name], others[name]) for name in MEASURES}
    is_fallback = lambda boxes: (boxes == fallback(height, width)).all(axis=1)
    result["fallback"] = proportions(is_fallback(ours), is_fallback(theirs))
    return result


class Boxes(unittest.TestCase):
    def test_the_law_is_torchvisions(self):
        for height, width in SIZES:
            found = chances(height, width, our_boxes(height, width), their_boxes(height, width))
            for name, chance in found.items():
                with self.subTest(size=(height, width), measure=name):
                    self.assertGreater(chance, SIGNIFICANCE, found)

    def test_extreme_shapes_reach_the_fallback(self):
        share = lambda size: (their_boxes(*size) == fallback(*size)).all(axis=1).mean()
        self.assertLess(share((60, 80)), 0.01)
        self.assertGreater(share((31, 240)), 0.3)
        self.assertEqual(share((7, 300)), 1)

    def test_another_law_is_seen(self):
        size = (97, 131)
        for name, area, ratio, measure in [
                ("uniform ratio", AREA, "draw uniform(0.75 .. 1.3333333333333333)", "ratio"),
                ("other ratios", AREA, "exp(draw uniform(log(0.7 .. 1.4285714285714286)))", "ratio"),
                ("other areas", "draw uniform(0.15 .. 1.0)", RATIO, "area"),
                ("uniform sides", "exp(draw uniform(log(0.08 .. 1.0)))", RATIO, "area")]:
            text = CHANGED.replace("AREA", area).replace("RATIO", ratio)
            found = chances(*size, our_boxes(*size, "changed_crop", text), their_boxes(*size))
            with self.subTest(law=name):
                self.assertLess(found[measure], SIGNIFICANCE, found)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(1)
    unittest.main()
