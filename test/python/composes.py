# SPDX-License-Identifier: Apache-2.0
"""Compose expressions as scripts have them.

compose_counts.csv counts the arguments of `Compose(...)` in 51 public PyTorch repositories (324 of them), by the names of the
classes in their order. `own X` is a class or function of the repository's, `(built elsewhere)` a list that other code puts
together. `draw(seed)` makes each as often as it was counted, with arguments that vary; a list that was built elsewhere is
another of the expressions, and the repositories' own classes are written here in the way that they are written there."""
import csv
import pathlib
import random

import numpy
import torch
import torchvision.transforms as T
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

COUNTS = pathlib.Path(__file__).with_name("compose_counts.csv")
STATS = [((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
         ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)), ([0.5], [0.5])]


# --- what repositories write themselves -------------------------------------------------------------------------------

class BlurBetween:
    """MoCo, SimSiam: a radius from a range."""

    def __init__(self, sigma=(0.1, 2.0)):
        self.sigma = sigma

    def __call__(self, x):
        sigma = random.uniform(self.sigma[0], self.sigma[1])
        return x.filter(ImageFilter.GaussianBlur(radius=sigma))


class BlurSometimes:
    """DINO, VICReg, Barlow Twins."""

    def __init__(self, p=0.5, radius_min=0.1, radius_max=2.0):
        self.p, self.radius_min, self.radius_max = p, radius_min, radius_max

    def __call__(self, image):
        if numpy.random.rand() < self.p:
            return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(self.radius_min, self.radius_max)))
        return image


class BlurInverted:
    """SwAV."""

    def __init__(self, p=0.5, radius_min=0.1, radius_max=2.0):
        self.prob, self.radius_min, self.radius_max = p, radius_min, radius_max

    def __call__(self, image):
        do_it = numpy.random.rand() <= self.prob
        if not do_it:
            return image
        return image.filter(ImageFilter.GaussianBlur(radius=numpy.random.uniform(self.radius_min, self.radius_max)))


class BlurArray:
    """SimCLR's first reimplementations: through NumPy and a library of their own."""

    def __call__(self, image):
        array = numpy.array(image).astype(float)
        return Image.fromarray(array.astype(numpy.uint8))


class SolarizeSometimes:
    def __init__(self, p):
        self.p = p

    def __call__(self, image):
        if random.random() < self.p:
            return ImageOps.solarize(image)
        else:
            return image


class Solarize:
    def __call__(self, x):
        return ImageOps.solarize(x)


class Identity:
    def __call__(self, x):
        return x


class MaybeToTensor(T.ToTensor):
    def __call__(self, pic):
        if isinstance(pic, torch.Tensor):
            return pic
        return super().__call__(pic)


class Lighting:
    """AlexNet's PCA noise, on tensors."""

    def __init__(self, std=0.1):
        self.std = std

    def __call__(self, image):
        alpha = image.new().resize_(3).normal_(0, self.std)
        return image.add(alpha.view(3, 1, 1).expand_as(image))


class TensorJitter:
    def __call__(self, image):
        return image.mul(random.uniform(0.6, 1.4)).clamp(0, 1)


class OnSample:
    """Segmentation: image and mask at once, as a dict."""

    def __call__(self, sample):
        image, mask = sample["image"], sample["label"]
        return {"image": image.transpose(0), "label": mask.transpose(0)}


class CropBySize:
    """A crop that computes from the image's size (timm's ResizeKeepRatio and the like)."""

    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        width, height = image.size
        scale = self.size / min(width, height)
        return image.resize((round(width * scale), round(height * scale)))


class RandAugmentOwn:
    """FixMatch's: two of a list, by a number drawn from a list."""

    def __call__(self, image):
        for operation in random.choices([ImageEnhance.Color, ImageEnhance.Contrast], k=2):
            image = operation(image).enhance(random.uniform(0.1, 1.9))
        return image


def color_distortion(rng):
    strength = rng.choice([0.5, 1.0])
    jitter = T.ColorJitter(0.8 * strength, 0.8 * strength, 0.8 * strength, 0.2 * strength)
    return T.Compose([T.RandomApply([jitter], p=0.8), T.RandomGrayscale(p=0.2)])


# --- drawing ----------------------------------------------------------------------------------------------------------

def size(rng):
    return rng.choice([24, 28, 32])


def fixed(rng):
    return rng.choice([lambda s: s, lambda s: (s, s)])(size(rng))


def rotation(rng):
    return T.RandomRotation(rng.choice([10, 15, (-20, 20)]), **rng.choice([{}, {"interpolation": T.InterpolationMode.BILINEAR}]))


def jitter(rng):
    return T.ColorJitter(*rng.choice([(0.4, 0.4, 0.4), (0.4, 0.4, 0.4, 0.1), (0.4, 0.4, 0.2, 0.1), (0.5,), (0.2, 0.2),
                                      ((0.8, 1.2), 0.3)]))


MAKE = {
    "ToTensor": lambda rng: T.ToTensor(),
    "Normalize": lambda rng: T.Normalize(*rng.choice(STATS)),
    "Resize": lambda rng: T.Resize(rng.choice([36, 40, (32, 32), (36, 40)]), **rng.choice([{}, {}, {"interpolation": T.InterpolationMode.BICUBIC}])),
    "CenterCrop": lambda rng: T.CenterCrop(fixed(rng)),
    "RandomCrop": lambda rng: T.RandomCrop(fixed(rng), **rng.choice(
        [{"padding": 4}, {"padding": 4}, {}, {"padding": 4, "padding_mode": "reflect"}, {"pad_if_needed": True}])),
    "RandomHorizontalFlip": lambda rng: T.RandomHorizontalFlip(rng.choice([0.5, 0.5, 0.3])),
    "RandomVerticalFlip": lambda rng: T.RandomVerticalFlip(),
    "RandomResizedCrop": lambda rng: T.RandomResizedCrop(size(rng), **rng.choice(
        [{}, {"scale": (0.2, 1.0)}, {"scale": (0.14, 1), "interpolation": T.InterpolationMode.BICUBIC}])),
    "ColorJitter": jitter,
    "RandomGrayscale": lambda rng: T.RandomGrayscale(p=0.2),
    "RandomRotation": rotation,
    "RandomAffine": lambda rng: T.RandomAffine(10, translate=(0.1, 0.1), scale=(0.9, 1.1), shear=5),
    "RandomErasing": lambda rng: T.RandomErasing(p=0.5, **rng.choice([{}, {"value": "random"}])),
    "RandomSolarize": lambda rng: T.RandomSolarize(128, p=0.2),
    "RandomEqualize": lambda rng: T.RandomEqualize(),
    "GaussianBlur": lambda rng: T.GaussianBlur(3),
    "Grayscale": lambda rng: T.Grayscale(rng.choice([1, 3])),
    "Identity": lambda rng: Identity(),
    "ToPILImage": lambda rng: T.ToPILImage(),
    "own GaussianBlur": lambda rng: rng.choice([BlurBetween, BlurSometimes, BlurSometimes, BlurArray])(),
    "own utils.GaussianBlur": lambda rng: BlurSometimes(rng.choice([0.1, 0.5, 1.0])),
    "own moco.loader.GaussianBlur": lambda rng: BlurBetween([0.1, 2.0]),
    "own simsiam.loader.GaussianBlur": lambda rng: BlurBetween([0.1, 2.0]),
    "own PILRandomGaussianBlur": lambda rng: BlurInverted(),
    "own Solarization": lambda rng: SolarizeSometimes(rng.choice([0.0, 0.2])),
    "own utils.Solarization": lambda rng: SolarizeSometimes(0.2),
    "own moco.loader.Solarize": lambda rng: Solarize(),
    "own make_normalize_transform": lambda rng: T.Normalize(*STATS[0]),
    "own MaybeToTensor": lambda rng: MaybeToTensor(),
    "own get_color_distortion": color_distortion,
    "own Lighting": lambda rng: Lighting(),
    "own utils.Lighting": lambda rng: Lighting(),
    "own utils.ColorJitter": lambda rng: TensorJitter(),
    "own RandAugmentMC": lambda rng: RandAugmentOwn(),
    "own RandomResizedCrop": lambda rng: CropBySize(size(rng)),
    "own ResizeKeepRatio": lambda rng: CropBySize(size(rng)),
    "own create_transform": lambda rng: CropBySize(size(rng)),
}
# Transforms that a group holds, up to the next Compose or the end of the colours.
GROUPED = {"RandomApply": {"ColorJitter", "own moco.loader.GaussianBlur", "own moco.loader.Solarize",
                           "own simsiam.loader.GaussianBlur"}}


def rows():
    with open(COUNTS, newline="") as file:
        return [(row["stages"].split(" > ") if row["stages"] else [], int(row["occurrences"])) for row in csv.DictReader(file)]


def expression(rng, names, plain):
    """A list of transforms for these names."""
    found, tensor, at = [], False, 0
    while at < len(names):
        name = names[at]
        at += 1
        if name == "(built elsewhere)":
            if not found and names.count(name) == at: # once for all of its parts
                found += expression(rng, rng.choice(plain), plain)
        elif name == "RandomApply":
            inner = []
            while at < len(names) and names[at] in GROUPED["RandomApply"]:
                inner.append(MAKE[names[at]](rng))
                at += 1
            found.append(T.RandomApply(inner, p=rng.choice([0.5, 0.8])))
        elif name == "Compose":
            pass # its parts follow
        elif name == "own":
            pass
        elif name == "own Lambda":
            found.append(T.Lambda((lambda x: x * 2 - 1) if tensor else (lambda x: x.convert("RGB"))))
        elif name.startswith("own tr."):
            found.append(OnSample())
        else:
            found.append(MAKE[name](rng))
        tensor = name in ("ToTensor", "own MaybeToTensor") or (tensor and name != "ToPILImage")
    return found


def draw(seed):
    """(names, expression, whether it takes a tensor) of each."""
    rng, table = random.Random(seed), rows()
    plain = [names for names, count in table for _ in range(count) if "(built elsewhere)" not in names]
    found = []
    for names, count in table:
        for _ in range(count):
            if {"ToImage", "ToDtype"} & set(names):
                continue # of v2
            parts = expression(rng, names, plain)
            first = [type(part) for part in parts if isinstance(part, (T.ToTensor, T.Normalize, T.RandomErasing))][:1]
            found.append((" > ".join(names), T.Compose(parts), first in ([T.Normalize], [T.RandomErasing])))
    return found
