# SPDX-License-Identifier: Apache-2.0
"""Draws of the library's random functions are distributed as torchvision's and torchaudio's.

Orders and operations by chi-square against equal shares; boxes of `erase` by two-sample
Kolmogorov-Smirnov tests against RandomErasing.get_params, masks of spectra against what mask_along_axis computes. Seeds are fixed, so the outcome is too.
"""
import collections
import os
import sys
import unittest

import numpy
import torch
from torchvision import transforms

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from boxes import kolmogorov_smirnov, proportions  # noqa: E402
from session import Session  # noqa: E402

LIBRARY = None
COUNT = 3000
SIGNIFICANCE = 0.001
# Chi-square beyond which one in a thousand lies, by degrees of freedom.
LIMITS = {1: 10.83, 13: 34.53, 23: 49.73, 24: 51.18, 30: 59.70}

PIPELINE = """pipe 1
use vision
pipeline laws(height: int, width: int) {
  for row in synthetic(100_000_000, image = u8[h = height, w = width, c = rgb]) order sequential
  let pixels = row.image |> STAGE
  batch 1 per rank last drop { output image: u8[n, h, w, c] = pixels }
}
"""
SOUND = """pipe 1
use audio
pipeline laws(height: int, width: int) {
  for row in synthetic(100_000_000, wave = f32[t = width, freq = height]) order sequential
  let kept = row.wave |> STAGE
  batch 1 per rank last drop { output wave: f32[n, t, freq] = kept }
}
"""


def draws(stage, height=8, width=9, text=PIPELINE):
    """COUNT dictionaries of what a stage draws, by the last part of their names."""
    session = Session(LIBRARY, text.replace("STAGE", stage), height=height, width=width)
    found = [{path.rsplit("/", 1)[1]: value for path, value in session.draws(position).items()}
             for position in range(COUNT)]
    session.close()
    return found


def chi_square(values, outcomes):
    counts = collections.Counter(values)
    assert set(counts) <= set(outcomes), counts
    expected = len(values) / len(outcomes)
    return sum((counts[outcome] - expected) ** 2 / expected for outcome in outcomes)


class Laws(unittest.TestCase):
    def assertEqualShares(self, values, outcomes):
        self.assertLess(chi_square(values, outcomes), LIMITS[len(outcomes) - 1])

    def test_color_jitter(self):
        found = draws("color_jitter(0.4, 1.5, 0.2, 0.1)")
        self.assertEqualShares([one["int"] for one in found], range(24))
        for step in range(4):  # each of the four stands everywhere equally often
            name = "choose arm" + (f"#{step}" if step else "")
            places = collections.Counter(one[name] for one in found)
            for thing in range(4):
                self.assertAlmostEqual(places[thing] / COUNT, 0.25, delta=0.03)
        for name, low, high in [("uniform", 0.6, 1.4), ("uniform#1", 0.0, 2.5), ("uniform#2", 0.8, 1.2),
                                ("uniform#3", -0.1, 0.1)]:
            values = numpy.array([one[name] for one in found])
            even = numpy.linspace(low, high, COUNT)
            self.assertGreater(kolmogorov_smirnov(values, even), SIGNIFICANCE, name)

    def test_policies(self):
        found = draws("rand_augment(2)")
        for step in range(2):
            self.assertEqualShares([one[f"int[{step}]"] for one in found], range(14))
            self.assertEqualShares([one[f"chance[{step}]"] for one in found], range(2))
        found = draws("trivial_augment_wide")
        self.assertEqualShares([one["int"] for one in found], range(14))
        self.assertEqualShares([one["int#1"] for one in found], range(31))
        found = draws("auto_augment(cifar10)")
        self.assertEqualShares([one["int"] for one in found], range(25))

    def test_erased_boxes(self):
        for height, width in [(60, 80), (128, 48), (9, 200)]:
            torch.manual_seed(height)
            image = torch.zeros(1, height, width)
            theirs = [transforms.RandomErasing.get_params(image, (0.02, 0.33), (0.3, 3.3), [0])[:4]
                      for _ in range(COUNT)]
            # torchvision then erases the whole image with itself.
            theirs = numpy.array([(0, 0, 0, 0) if box[2:] == (height, width) else box for box in theirs], float)
            ours = numpy.array([[one[name] for name in ("top", "left", "height", "width")]
                                for one in draws("erase", height, width)])
            failed = lambda boxes: boxes[:, 2] == 0
            with self.subTest(size=(height, width)):
                self.assertGreater(proportions(failed(ours), failed(theirs)), SIGNIFICANCE)
                for column in range(4):
                    self.assertGreater(kolmogorov_smirnov(ours[~failed(ours), column],
                                                          theirs[~failed(theirs), column]), SIGNIFICANCE, column)

    def test_masks_of_spectra(self):
        theirs = torch.rand(2, COUNT, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).numpy()
        for stage, most, extent in [("time_mask(40)", 40, 100), ("time_mask(40, share = 0.25)", 25, 100), ("frequency_mask(27)", 27, 80)]:
            found = draws(stage, 80, 100, SOUND)
            sizes, firsts = (numpy.array([one[name] for one in found]) for name in ("uniform", "uniform#1"))
            size = theirs[0] * most
            with self.subTest(stage):
                self.assertGreater(kolmogorov_smirnov(sizes, size), SIGNIFICANCE)
                self.assertGreater(kolmogorov_smirnov(firsts, theirs[1] * (extent - size)), SIGNIFICANCE)

    def test_segments_begin_anywhere(self):
        self.assertEqualShares([one["int"] for one in draws("random_segment(76)", 1, 100, SOUND)], range(25))
        self.assertEqualShares([one["int"] for one in draws("random_segment(99)", 1, 100, SOUND)], range(2))

    def test_another_law_is_seen(self):
        values = [one["int"] for one in draws("color_jitter(0.4, 1.5, 0.2, 0.1)")]
        skewed = [min(value, 22) for value in values]
        self.assertGreater(chi_square(skewed, range(24)), LIMITS[23])
        boxes = [numpy.array([one["height"] for one in draws(stage, 60, 80)])
                 for stage in ("erase", "erase(0.02 .. 0.2)")]
        self.assertLess(kolmogorov_smirnov(*boxes), SIGNIFICANCE)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(1)
    unittest.main()
