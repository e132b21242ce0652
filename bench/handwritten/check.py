#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the hand-written chains, bit for bit, against Pillow and torchvision
(Debian's packages) and all instruction sets against each other."""

import pathlib
import sys
import unittest

import numpy
import torch
from PIL import Image, ImageEnhance
from torchvision.transforms import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from bench.handwritten import library as hw  # noqa: E402

LIBRARY = hw.load()
ISAS = range(LIBRARY.hw_best_isa() + 1)
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
CIFAR = ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616])


def noise(rng, height, width):
    """Extremes are frequent, so that rounding and overflow show."""
    pixels = rng.integers(0, 256, (height, width, 3), numpy.uint8)
    pixels[rng.random((height, width)) < 0.2] = 255
    pixels[rng.random((height, width)) < 0.2] = 0
    return pixels


def chw(image, normalise):
    return F.normalize(F.to_tensor(image), *normalise)


class Imagenet(unittest.TestCase):
    def check(self, pixels, box, flip, levels=ISAS):
        top, left, height, width = box
        image = F.resized_crop(Image.fromarray(pixels), top, left, height, width, [224, 224])
        expected = chw(F.hflip(image) if flip else image, IMAGENET).half().numpy()
        plan = hw.ImagenetPlan(LIBRARY, pixels.shape[1], pixels.shape[0], box, flip)
        for isa in levels:
            out = numpy.zeros((3, 224, 224), numpy.float16)
            plan.run(isa, pixels, out)
            different = int((out.view(numpy.uint16) != expected.view(numpy.uint16)).sum())
            self.assertEqual(different, 0, f"{hw.ISA_NAMES[isa]} {pixels.shape} box {box} flip {flip}")
        return plan

    def test_random_boxes(self):
        rng = numpy.random.default_rng(1)
        for turn in range(60):
            h, w = rng.integers(60, 700, 2)
            pixels = noise(rng, h, w)
            height, width = int(rng.integers(1, h + 1)), int(rng.integers(1, w + 1))
            box = (int(rng.integers(h - height + 1)), int(rng.integers(w - width + 1)), height, width)
            self.check(pixels, box, bool(turn % 2))

    def test_edges_and_exact_sizes(self):
        rng = numpy.random.default_rng(2)
        pixels = noise(rng, 480, 500)
        for box in ((0, 0, 224, 224), (256, 276, 224, 224), (0, 0, 480, 500), (479, 499, 1, 1), (0, 0, 448, 448),
                    (5, 7, 223, 225), (0, 0, 1, 500), (0, 0, 480, 1), (478, 0, 2, 500)):
            for flip in (False, True):
                self.check(pixels, box, flip)

    def test_large_scales(self):
        rng = numpy.random.default_rng(3)
        for shape in ((700, 1400), (1500, 900), (2000, 2000), (300, 3900)):
            self.check(noise(rng, *shape), (0, 0, *shape), True)

    def test_usual_boxes_use_the_best_level(self):
        pixels = numpy.zeros((480, 640, 3), numpy.uint8)
        plan = hw.ImagenetPlan(LIBRARY, 640, 480, (0, 0, 480, 640), False)
        self.assertEqual(plan.isa(2), max(ISAS), pixels.shape)

    def test_narrow_images(self):
        rng = numpy.random.default_rng(4)
        for width in (1, 4, 6, 21, 22, 40):
            self.check(noise(rng, 50, width), (3, 0, 40, width), False)

    def test_every_value_and_channel(self):
        pixels = numpy.zeros((224, 224, 3), numpy.uint8)
        pixels.reshape(-1)[:] = numpy.arange(224 * 224 * 3) % 256
        self.check(pixels, (0, 0, 224, 224), False)

    def test_white_stays_white(self):
        # No sum may pass 255 before it is packed: weights are not clamped.
        pixels = numpy.full((701, 997, 3), 255, numpy.uint8)
        for width in range(1, 997, 37):
            self.check(pixels, (0, 0, 701, width), False)


class Cifar(unittest.TestCase):
    def test_every_offset_and_flip(self):
        rng = numpy.random.default_rng(5)
        draws = [(dy, dx, flip, 0) for dy in range(9) for dx in range(9) for flip in (0, 1)]
        images = rng.integers(0, 256, (len(draws) + 3, 32, 32, 3), numpy.uint8)
        images.reshape(-1)[:3 * 256] = numpy.repeat(numpy.arange(256), 3)
        rows = rng.permutation(len(images))[:len(draws)].astype(numpy.int64)
        rows[0] = 0
        padded = numpy.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)))
        expected = []
        for row, (dy, dx, flip, _) in zip(rows, draws):
            image = Image.fromarray(padded[row, dy:dy + 32, dx:dx + 32].copy())
            expected.append(chw(F.hflip(image) if flip else image, CIFAR).numpy())
        expected = numpy.stack(expected)
        drawn = numpy.array(draws, numpy.uint8)
        for isa in ISAS:
            for streaming in (0, 1):
                out = hw.aligned(expected.shape, numpy.float32)
                LIBRARY.hw_cifar_run(isa, hw.address(images), hw.address(rows), hw.address(drawn), len(draws),
                                     streaming, hw.address(out))
                self.assertTrue((out.view(numpy.uint32) == expected.view(numpy.uint32)).all(),
                                f"{hw.ISA_NAMES[isa]} streaming {streaming}")

    def test_every_value_and_channel(self):
        images = numpy.zeros((1, 32, 32, 3), numpy.uint8)
        images.reshape(-1, 3)[:256] = numpy.arange(256)[:, None]
        expected = chw(Image.fromarray(images[0]), CIFAR).numpy()
        rows, draw = numpy.zeros(1, numpy.int64), numpy.array([[4, 4, 0, 0]], numpy.uint8)
        for isa in ISAS:
            out = hw.aligned((3, 32, 32), numpy.float32)
            LIBRARY.hw_cifar_run(isa, hw.address(images), hw.address(rows), hw.address(draw), 1, 0, hw.address(out))
            self.assertTrue((out.view(numpy.uint32) == expected.view(numpy.uint32)).all(), hw.ISA_NAMES[isa])


class Colour(unittest.TestCase):
    def check(self, pixels, brightness, contrast, saturation):
        image = Image.fromarray(pixels)
        image = ImageEnhance.Brightness(image).enhance(brightness)
        image = ImageEnhance.Contrast(image).enhance(contrast)
        image = ImageEnhance.Color(image).enhance(saturation)
        expected = chw(image, IMAGENET).half().numpy()
        for isa in ISAS:
            out = numpy.zeros((3, 224, 224), numpy.float16)
            LIBRARY.hw_colour_run(isa, hw.address(pixels), brightness, contrast, saturation, hw.address(out))
            different = int((out.view(numpy.uint16) != expected.view(numpy.uint16)).sum())
            self.assertEqual(different, 0, f"{hw.ISA_NAMES[isa]} {brightness} {contrast} {saturation}")

    def test_random_factors(self):
        rng = numpy.random.default_rng(6)
        for _ in range(60):
            self.check(noise(rng, 224, 224), *(float(f) for f in rng.uniform(0, 2.2, 3)))

    def test_special_factors(self):
        rng = numpy.random.default_rng(7)
        pixels = noise(rng, 224, 224)
        for factors in ((0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1), (0.5, 1, 1), (16, 16, 16), (1.0000001, 1, 2)):
            self.check(pixels, *(float(f) for f in factors))


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
