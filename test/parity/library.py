"""The library's functions on u8 images equal Pillow and torchvision, on the reference interpreter."""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy
import torch
from PIL import Image, ImageEnhance, ImageOps
from torchvision import transforms
from torchvision.transforms import functional

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = None
STATS = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))


def theirs(image, amount):
    height, width = image.height, image.width
    array = lambda picture: numpy.asarray(picture)
    return {
        "brightness": array(ImageEnhance.Brightness(image).enhance(amount)),
        "contrast": array(ImageEnhance.Contrast(image).enhance(amount)),
        "saturation": array(ImageEnhance.Color(image).enhance(amount)),
        "grayscale": array(functional.to_grayscale(image, 3)),
        "luma": array(image.convert("L")),
        "solarize": array(ImageOps.solarize(image, 100)),
        "posterize": array(ImageOps.posterize(image, 3)),
        "invert": array(ImageOps.invert(image)),
        "autocontrast": array(ImageOps.autocontrast(image)),
        "bilinear": array(image.resize((31, 20), Image.BILINEAR)),
        "bicubic": array(image.resize((15, 67), Image.BICUBIC)),
        "lanczos": array(image.resize((17, 29), Image.LANCZOS)),
        "hamming": array(image.resize((61, 13), Image.HAMMING)),
        "nearest": array(image.resize((31, 20), Image.NEAREST)),
        "crop": array(image.crop((5, 3, 17, 13))),
        "center": array(functional.center_crop(image, (11, 14))),
        "padded": array(functional.pad(image, 4, fill=7)),
        "reflected": array(functional.pad(image, 4, padding_mode="reflect")),
        "flipped": array(functional.vflip(image)),
        "tensor": functional.to_tensor(image).numpy(),
        "normal": transforms.Normalize(*STATS)(functional.to_tensor(image)).numpy(),
    }


class Library(unittest.TestCase):
    def compare(self, array, amount):
        with tempfile.TemporaryDirectory(prefix="penstock-test-") as folder:
            data = os.path.join(folder, "images.bin")
            array.tofile(data)
            height, width = array.shape[:2]
            subprocess.run([TOOL, os.path.join(HERE, "library.pipe"), "0", folder,
                            "--set", f"images={data}", "--set", f"height={height}",
                            "--set", f"width={width}", "--set", f"amount={amount}"], check=True)
            for name, expected in theirs(Image.fromarray(array), amount).items():
                with self.subTest(output=name, amount=amount, shape=array.shape):
                    ours = numpy.fromfile(os.path.join(folder, name + ".raw"), expected.dtype)
                    width = f"u{expected.dtype.itemsize}"
                    numpy.testing.assert_array_equal(
                        ours.reshape(expected.shape).view(width), expected.view(width))

    def test_noise(self):
        noise = numpy.random.default_rng(1).integers(0, 256, (43, 37, 3), numpy.uint8)
        for amount in (0.0, 0.3, 0.77, 1.0, 1.5, 2.9):
            self.compare(noise, amount)

    def test_dark_gradient(self):
        rows, columns = numpy.mgrid[0:40, 0:40]
        image = numpy.stack([rows + 20, columns, numpy.full((40, 40), 9)], axis=-1)
        self.compare(image.astype(numpy.uint8), 1.25)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
