# SPDX-License-Identifier: Apache-2.0
"""The library's functions on u8 images equal Pillow and torchvision, bit for bit.

torchvision fixes no order of sums for gaussian_blur alone: one value in a thousand may be off by one.
"""
import math
import os
import re
import sys

import numpy
from PIL import Image, ImageEnhance, ImageOps
from torchvision import transforms
from torchvision.transforms import functional
from torchvision.transforms.autoaugment import _apply_op
from torchvision.transforms.functional import InterpolationMode

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from one_image import HERE, OneImageTest, dark_gradient, noise, run  # noqa: E402

STATS = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
LINEAR, NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST
array = numpy.array


def colours(image, amount):
    return {
        "brightness": array(ImageEnhance.Brightness(image).enhance(amount)),
        "contrast": array(ImageEnhance.Contrast(image).enhance(amount)),
        "saturation": array(ImageEnhance.Color(image).enhance(amount)),
        "sharpness": array(functional.adjust_sharpness(image, amount)),
        "hue": array(functional.adjust_hue(image, amount / 3 - 0.5)),
        "grayscale": array(functional.to_grayscale(image, 3)),
        "luma": array(image.convert("L")),
        "solarize": array(ImageOps.solarize(image, 100)),
        "posterize": array(ImageOps.posterize(image, 3)),
        "invert": array(ImageOps.invert(image)),
        "autocontrast": array(ImageOps.autocontrast(image)),
        "equalize": array(functional.equalize(image)),
        "tensor": functional.to_tensor(image).numpy(),
        "normal": transforms.Normalize(*STATS)(functional.to_tensor(image)).numpy(),
        "erased": functional.erase(functional.to_tensor(image), 3, 5, 9, 11, 0.25).numpy(),
    }


def shapes(image):
    resize = lambda *size, **how: array(functional.resize(image, size, **how))
    return {
        "bilinear": resize(20, 31), "nearest": resize(20, 31, interpolation=NEAREST),
        "bicubic": array(image.resize((15, 67), Image.BICUBIC)),
        "lanczos": array(image.resize((17, 29), Image.LANCZOS)),
        "hamming": array(image.resize((61, 13), Image.HAMMING)),
        "shorter_side": array(functional.resize(image, 23)),
        "crop": array(image.crop((5, 3, 17, 13))),
        "center": array(functional.center_crop(image, (11, 14))),
        "center_higher": array(functional.center_crop(image, (60, 14))),
        "center_larger": array(functional.center_crop(image, (51, 64))),
        "padded": array(functional.pad(image, 4, fill=7)),
        "padded_two": array(functional.pad(image, (4, 2), padding_mode="edge")),
        "padded_four": array(functional.pad(image, (1, 2, 3, 4), padding_mode="symmetric")),
        "reflected": array(functional.pad(image, 4, padding_mode="reflect")),
        "flipped": array(functional.vflip(image)),
        "turned": numpy.ascontiguousarray(numpy.rot90(array(image))),
    }


def warps(image, degrees, scale, dx, dy, shear_x, shear_y):
    affine = {"angle": degrees, "scale": scale, "translate": [dx, dy], "shear": [shear_x, shear_y]}
    tangent = lambda degrees: math.degrees(math.atan(degrees / 60))
    sheared = lambda *by: array(functional.affine(image, 0.0, [0, 0], 1.0, list(by), center=[0, 0]))
    return {
        "rotated": array(functional.rotate(image, degrees)),
        "rotated_linear": array(functional.rotate(image, degrees, LINEAR, fill=7)),
        "affine": array(functional.affine(image, **affine)),
        "affine_linear": array(functional.affine(image, **affine, interpolation=LINEAR, fill=3)),
        "translated": array(functional.affine(image, 0.0, [dx, dy], 1.0, [0.0, 0.0])),
        "sheared_rows": sheared(tangent(shear_x), 0.0),
        "sheared_columns": sheared(0.0, tangent(shear_x)),
    }


class Library(OneImageTest):
    def test_colours(self):
        for image in (noise(43, 37), dark_gradient(), noise(1, 1), noise(2, 5)):
            small = min(image.shape[:2]) < 14  # erases more than there is
            for amount in (0.0, 0.3, 0.77, 1.0, 1.5, 2.9):
                expected = colours(Image.fromarray(image), amount)
                if small:
                    del expected["erased"]
                self.compare("colours.pipe", image, expected, amount=amount)

    def test_shapes(self):
        for image in (noise(43, 37), noise(23, 57)):
            self.compare("shapes.pipe", image, shapes(Image.fromarray(image)))

    def test_warps(self):
        for image in (noise(43, 37), dark_gradient()):
            for values in [(0.0, 1.0, 0, 0, 0.0, 0.0), (10.0, 1.0, 3, -2, 0.0, 0.0), (-33.3, 1.3, 0, 5, 10.0, -7.0),
                           (0.0, 0.7, 1, 1, 0.0, 0.0), (0.0, 1.3, -4, 2, 0.0, 0.0), (90.0, 2.0, -30, 40, 0.0, 20.0),
                           (180.0, 1.0, 0, 0, 45.0, 0.0), (271.0, 0.9, 2, 2, -59.4, 3.0), (-719.5, 1.1, 9, 0, 1.0, 1.0)]:
                names = ("degrees", "scale", "dx", "dy", "shear_x", "shear_y")
                settings = dict(zip(names, values))
                expected = warps(Image.fromarray(image), **settings)
                for name in ("degrees", "shear_x", "shear_y"):
                    settings[name] = f"{settings[name]}deg"
                self.compare("warps.pipe", image, expected, **settings)

    def test_turns_of_every_degree(self):
        """The digits of sines that Pillow keeps."""
        image = noise(40, 31)
        for degrees in range(-180, 181, 5):
            picture = Image.fromarray(image)
            expected = {"rotated": array(functional.rotate(picture, degrees + 0.25)),
                        "rotated_linear": array(functional.rotate(picture, degrees + 0.25, LINEAR, fill=7))}
            self.compare("warps.pipe", image, expected, interpret=False, degrees=f"{degrees + 0.25}deg")

    def test_expanded_turns(self):
        for image in (noise(43, 37), noise(20, 20)):
            for degrees in (0.0, 37.5, 90.0, -61.0, 180.0, 270.0):
                turned = array(functional.rotate(Image.fromarray(image), degrees, LINEAR, expand=True, fill=9))
                padded = numpy.zeros((70, 70, 3), numpy.uint8)  # as the output is, around fill 9
                padded[:turned.shape[0], :turned.shape[1]] = turned
                self.compare("expanded.pipe", image, {"expanded": padded}, degrees=f"{degrees}deg")

    def test_hues_of_all_colours(self):
        every = numpy.arange(1 << 24, dtype=numpy.uint32).view(numpy.uint8).reshape(4096, 4096, 4)
        image = numpy.ascontiguousarray(every[..., :3])
        for amount in (-0.37, 0.1):
            turned = functional.adjust_hue(Image.fromarray(image), amount)
            self.compare("hue.pipe", image, {"hue": array(turned)}, interpret=False, amount=amount)

    def test_blur(self):
        image = noise(43, 37)
        for sigma in (0.1, 0.62, 0.8, 1.35, 1.7):  # weights that are left out: many, few, none
            blurred = {name: array(functional.gaussian_blur(Image.fromarray(image), size, sigma))
                       for name, size in (("blurred", 5), ("wide", 23))}
            for label, ours, wanted in self.results("blur.pipe", image, blurred, sigma=sigma):
                off = numpy.abs(ours.astype(int) - wanted)
                with self.subTest(**label):
                    self.assertLessEqual(off.max(), 1)
                    self.assertLessEqual((off > 0).mean(), 0.001)


NAMES = ("Identity ShearX ShearY TranslateX TranslateY Rotate Brightness Color Contrast Sharpness "
         "Posterize Solarize AutoContrast Equalize Invert").split()


def with_private(pipeline, *names):
    """A pipeline's text, and functions that `vision` keeps to itself."""
    with open(os.path.join(HERE, "..", "..", "stdlib", "vision.pipe")) as file:
        library = file.read()
    with open(os.path.join(HERE, pipeline)) as file:
        text = file.read()
    return text + "".join(re.search(rf"^fn {name}\(.*?\n(?=///|//|\n|pub |fn )", library, re.DOTALL | re.MULTILINE)[0]
                          for name in names)


class Policies(OneImageTest):
    NUMBERS = {"which": 0, "op": 0, "i": 0, "sign": 1.0, "data": 0, "number": 0, "order": 0,
               "brightness": 1.0, "contrast": 1.0, "saturation": 1.0, "hue": 0.0}

    def compare(self, pipeline, image, expected, interpret=True, **numbers):
        """What is chosen stands in the row, as draws do, so that one program makes all of a size."""
        files = {name: os.path.join(self.cache, name) for name in self.NUMBERS}
        for name, otherwise in self.NUMBERS.items():
            array([type(otherwise)(numbers.get(name, otherwise))]).tofile(files[name])
        with self.subTest(**numbers):
            super().compare(pipeline, image, expected, interpret=interpret, **files)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pipeline = os.path.join(cls.cache, "policies.pipe")
        with open(cls.pipeline, "w") as file:
            file.write(with_private("policies.pipe", "evenly", "amount_of", "two_steps", "imagenet_policy",
                                    "cifar10_policy", "svhn_policy"))

    def test_each_operation(self):
        image = noise(43, 37, seed=5)
        spaces = [transforms.RandAugment()._augmentation_space(31, image.shape[:2]),
                  transforms.TrivialAugmentWide()._augmentation_space(31),
                  transforms.AutoAugment()._augmentation_space(10, image.shape[:2])]
        for which, space in enumerate(spaces):
            for name, (amounts, signed) in space.items():
                for i in ([4, len(amounts) - 1] if amounts.ndim else [0]):
                    amount = float(amounts[i]) if amounts.ndim else 0.0
                    sign = -1.0 if signed and i % 2 else 1.0
                    expected = _apply_op(Image.fromarray(image), name, sign * amount, NEAREST, None)
                    smooth = _apply_op(Image.fromarray(image), name, sign * amount, LINEAR, [9, 9, 9])
                    self.compare(self.pipeline, image, {"augmented": array(expected), "smooth": array(smooth)}, interpret=i == 4,
                                 which=which, op=NAMES.index(name), i=i, sign=sign)

    def test_sub_policies(self):
        for which, policy in enumerate((transforms.AutoAugmentPolicy.IMAGENET, transforms.AutoAugmentPolicy.CIFAR10,
                                        transforms.AutoAugmentPolicy.SVHN)):
            rows = [[value for name, p, i in pair for value in (NAMES.index(name), p, i or 0)]
                    for pair in transforms.AutoAugment(policy).policies]
            for number, row in enumerate(rows):
                self.compare(self.pipeline, noise(2, 2), {"row": array(row, numpy.float64)}, interpret=False,
                             data=which, number=number)

    def test_jitter_in_every_order(self):
        image = noise(31, 34, seed=6)
        amounts = {"brightness": 0.7, "contrast": 1.35, "saturation": 0.4, "hue": -0.08}
        adjust = [functional.adjust_brightness, functional.adjust_contrast,
                  functional.adjust_saturation, functional.adjust_hue]
        orders = sorted((a, b, c, d) for a in range(4) for b in range(4) for c in range(4) for d in range(4)
                        if len({a, b, c, d}) == 4)
        for number, order in enumerate(orders):
            picture = Image.fromarray(image)
            for step in order:
                picture = adjust[step](picture, list(amounts.values())[step])
            self.compare(self.pipeline, image, {"jittered": array(picture)}, interpret=number % 7 == 0,
                         order=number, **amounts)


if __name__ == "__main__":
    run(sys.argv)
