# SPDX-License-Identifier: Apache-2.0
"""Data sets for the scripts beside it: noise in place of what they would download."""
import pathlib
import sys

import numpy
from PIL import Image
from torchvision import datasets


class SmallCIFAR10(datasets.CIFAR10):
    def __init__(self, transform=None, seed=1):
        generator = numpy.random.default_rng(seed)
        self.targets = generator.integers(0, 10, 60).tolist()
        self.data = generator.integers(0, 256, (60, 32, 32, 3), numpy.uint8)
        self.transform, self.target_transform = transform, None


def folder():
    """Photos in two classes below the folder that the script is given, made where they are missing."""
    root = pathlib.Path(sys.argv[1])
    for number in range(16):
        path = root / ("cat", "dog")[number % 2] / f"{number}.jpg"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            noise = numpy.random.default_rng(number).integers(0, 256, (9, 12, 3), numpy.uint8)
            Image.fromarray(noise).resize((90 + number, 70), Image.Resampling.BICUBIC).save(path)
    return str(root)


def masks(root):
    """The photos below a folder, and a mask of each, a PNG file with a palette, made where it is missing."""
    images = sorted(pathlib.Path(root).glob("*/*.jpg"))
    masks = [path.with_name(f"mask-{path.stem}.png") for path in images]
    for number, (image, mask) in enumerate(zip(images, masks)):
        if not mask.exists():
            classes = numpy.random.default_rng(number).integers(0, 4, (7, 9), numpy.uint8)
            made = Image.fromarray(classes).resize(Image.open(image).size, Image.Resampling.NEAREST).convert("P")
            made.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0])
            made.save(mask)
    return list(map(str, images)), list(map(str, masks))
