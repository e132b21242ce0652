# SPDX-License-Identifier: Apache-2.0
"""Classes of tensors: what stays in Python behind transforms v2 gets tv_tensors.Image, Tensor or a Pillow image, as it would have. Where this
torchvision has no second version, few lines stand in for it."""
import contextlib
import inspect
import sys
import types
import unittest
from unittest import mock

try:
    import torch
    import torchvision
    import torchvision.transforms as T
    import torchvision.transforms.functional as F
    from PIL import Image, ImageOps
    from torch.utils.data import DataLoader, Dataset
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from loops import accelerated, cifar, equal
from penstock.accelerate import _functional, _lazy
from penstock.torch import UnknownTransform, compile_transforms


class Plain(torch.Tensor):
    """As torchvision's: whatever is computed of it is a plain tensor."""
    __torch_function__ = torch._C._disabled_torch_function_impl


def of_second(cls):
    for one in (cls, *filter(inspect.isfunction, vars(cls).values())):
        one.__module__ = "torchvision.transforms.v2.few"
    return cls


@of_second
class ToImage(torch.nn.Module):
    def forward(self, image):
        return F.pil_to_tensor(image).as_subclass(tv_tensors.Image)


@of_second
class ToPureTensor(torch.nn.Module):
    def forward(self, value):
        return value.as_subclass(torch.Tensor)


@of_second
class ToDtype(torch.nn.Module):
    def __init__(self, dtype, scale):
        super().__init__()
        self.dtype, self.scale = dtype, scale

    def forward(self, value):
        wanted = self.dtype.get(type(value), self.dtype["others"]) if isinstance(self.dtype, dict) else self.dtype
        return value if wanted is None else (value * (1.0 / 255)).as_subclass(type(value))


@of_second
class Lambda(torch.nn.Module):
    def __init__(self, lambd, *types):
        super().__init__()
        self.lambd, self.types = lambd, types or (object,)

    def forward(self, value):
        return self.lambd(value) if isinstance(value, self.types) else value


@of_second
class Transform(torch.nn.Module):
    def forward(self, value):
        return self.transform(value, {}) if isinstance(value, (torch.Tensor, Image.Image)) else value


@of_second
class Pad(torch.nn.Module):
    def __init__(self, padding, fill):
        super().__init__()
        self.padding, self.padding_mode, self.fill = padding, "constant", fill

    def forward(self, value):
        found = self.fill.get(Image.Image if isinstance(value, Image.Image) else type(value), self.fill.get("others"))
        padded = F.pad(value, self.padding, found)
        return padded.as_subclass(type(value)) if isinstance(value, torch.Tensor) else padded


try:
    import torchvision.transforms.v2 as v2
    from torchvision import tv_tensors
    STANDS_IN = False
except ImportError:
    v2 = types.SimpleNamespace(ToImage=ToImage, ToPureTensor=ToPureTensor, ToDtype=ToDtype, Lambda=Lambda, Transform=Transform, Pad=Pad)
    tv_tensors = sys.modules["torchvision.tv_tensors.few"] = types.ModuleType("torchvision.tv_tensors.few") # workers look there
    for name in ("Image", "Mask"):
        setattr(tv_tensors, name, type(name, (Plain,), {"__module__": tv_tensors.__name__}))
    STANDS_IN = True


class Halves(v2.Transform):
    def transform(self, value, params):
        return (value * 0.5).as_subclass(type(value))
    _transform = transform


class Own(Dataset):
    """By leaves. It asks for the class."""

    def __init__(self, transform):
        self.images, self.transform = cifar().data[:12], transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        value = self.transform(Image.fromarray(self.images[index]))
        return value, isinstance(value, tv_tensors.Image)


def with_names(samples):
    return [(type(value).__name__, value.as_subclass(torch.Tensor), target) for value, target in samples]


def doubled(cls):
    return lambda value: value * (1 + isinstance(value, cls))


R, I, E = T.CenterCrop(16), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)
STATS = [0.5] * 3, [0.25] * 3
IMAGE, MASK = tv_tensors.Image, tv_tensors.Mask
#: Transforms, and what stays in Python of them.
CASES = {
    "masks only": ([R, v2.Lambda(ImageOps.invert, MASK), I, E], "Lambda, ToImage, ToDtype"),
    "images only": ([R, I, v2.Lambda(lambda x: 255 - x, IMAGE), E], "Lambda, ToDtype"),
    "Pillow's only": ([R, I, E, v2.Lambda(lambda x: x.transpose(0), Image.Image)], "Lambda"),
    "a type for each class": ([R, I, v2.ToDtype({IMAGE: torch.float32, "others": None}, scale=True), T.Normalize(*STATS)], "ToDtype, Normalize"),
    "a type for others": ([R, v2.ToImage(), v2.ToPureTensor(), v2.ToDtype({IMAGE: None, torch.Tensor: torch.float32, "others": None}, scale=True)], "ToDtype"),
    "asked in Python": ([R, I, E, v2.Lambda(doubled(IMAGE))], "Lambda"),
    "asked behind a pure one": ([R, I, E, v2.ToPureTensor(), doubled(IMAGE)], "<lambda>"),
    "asked of an image": ([R, v2.Lambda(lambda x: ImageOps.invert(x) if isinstance(x, Image.Image) else 1 / 0), I, E], ""),
    "asked whether a tensor": ([R, I, E, lambda x: F.hflip(x) if isinstance(x, torch.Tensor) else x], "<lambda>"),
    "a class of the script's own": ([R, I, E, Halves()], "Halves"),
    "the first version behind it": ([R, I, E, T.Normalize(*STATS), doubled(IMAGE)], "Normalize, <lambda>"),
    "fills": ([R, v2.Pad(1, fill={MASK: 255, "others": 7}), I, v2.Pad(2, fill={Image.Image: 200, IMAGE: 3, torch.Tensor: 9}), E], ""),
    "all of it": ([R, I, E], ""), "pure": ([R, I, E, v2.ToPureTensor()], ""), "of the first version": ([R, T.ToTensor()], "")}


class Classes(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        if STANDS_IN:
            stack.enter_context(mock.patch.object(torchvision, "tv_tensors", tv_tensors, create=True))
            stack.enter_context(mock.patch.object(_functional.ImageLeaf, "stands_for", IMAGE))
            stack.enter_context(mock.patch.object(_lazy, "image_leaf", _functional.ImageLeaf))

    def test_what_stays_in_python_gets_the_class_that_it_would_have_had(self):
        for name, (parts, stays) in CASES.items():
            for options in ({}, {"collate_fn": with_names}):
                with self.subTest(name, **options):
                    make = lambda: DataLoader(cifar(T.Compose(parts), count=12), 8, **options) # noqa: B023, E731
                    wanted = list(make())
                    with accelerated() as hook:
                        self.assertTrue(equal(list(make()), wanted))
                    entry, = hook.report.entries.values()
                    self.assertEqual(entry.reason, "")
                    self.assertIn(f"in Python stay {stays}:" if stays else "[]", str(entry.notes))

    def test_leaves(self):
        for name in ("all of it", "pure", "of the first version", "fills"):
            for workers, collate in ((0, None), (0, with_names), (2, with_names)):
                with self.subTest(name, workers=workers, collate=collate):
                    make = lambda: DataLoader(Own(T.Compose(CASES[name][0])), 4, num_workers=workers, collate_fn=collate) # noqa: B023, E731
                    wanted = list(make())
                    with accelerated() as hook:
                        self.assertTrue(equal(list(make()), wanted))
                    entry, = hook.report.entries.values()
                    self.assertEqual((entry.reason, entry.images), ("", 12))

    def test_what_compile_transforms_refuses(self):
        for parts, reason in (([I, v2.Lambda(torch.abs, IMAGE)], "for some classes only"), ([v2.Pad(1, fill={MASK: 1})], "no fill for"),
                              ([I, E, doubled(IMAGE)], "asks what a tensor is"), ([I, E, T.RandomHorizontalFlip(1), v2.Pad(1, fill={IMAGE: 1})], "a fill for each class")):
            with self.assertRaises(UnknownTransform) as caught:
                compile_transforms(T.Compose(parts))
            self.assertIn(reason, caught.exception.reason)


if __name__ == "__main__":
    unittest.main()
