# SPDX-License-Identifier: Apache-2.0
"""Loops over DataLoaders, with and without penstock.accelerate, on small data sets."""
import contextlib
import io
import os
import random
import tempfile

import numpy
import torch
import torchvision.transforms as T
from PIL import Image
from torchvision import datasets

from penstock.accelerate import _hook

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="penstock-test-")
EVEN = T.Compose([T.Resize(36), T.CenterCrop(32), T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)])
RANDOM = T.Compose([T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), T.ToTensor()])


def array_set(cls, transform, count=90, target_transform=None):
    """A data set of torchvision's with noise in place of its files."""
    shape = {"MNIST": (28, 28), "SVHN": (3, 32, 32), "STL10": (3, 96, 96)}.get(cls.__name__, (32, 32, 3))
    found = cls.__new__(cls)
    found.data = numpy.random.default_rng(1).integers(0, 256, (count, *shape), numpy.uint8)
    found.targets = [i * 7 % 10 for i in range(count)]
    found.labels = numpy.array(found.targets)
    if cls is datasets.MNIST:
        found.data, found.targets = torch.from_numpy(found.data), torch.tensor(found.targets)
    found.transform, found.target_transform = transform, target_transform
    return found


def cifar(transform=EVEN, **options):
    return array_set(datasets.CIFAR10, transform, **options)


def make_photos(folder, count=13):
    rng = numpy.random.default_rng(0)
    for name in ("ant", "bee, \"or\" so", "cat\nnip"):
        os.makedirs(f"{folder}/{name}")
        for i in range(count):
            height, width = rng.integers(50, 120, 2)
            image = Image.fromarray(rng.integers(0, 256, (8, 8, 3), numpy.uint8)).resize((int(width), int(height)))
            image.save(f"{folder}/{name}/{i}.{('jpg', 'png', 'jpg', 'webp')[i % 4]}")


@contextlib.contextmanager
def accelerated(compare=0):
    hook = _hook.Hook(compare)
    hook.install()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield hook
    finally:
        hook.remove()


def seed_all():
    torch.manual_seed(4), random.seed(5), numpy.random.seed(6)


def states():
    return torch.get_rng_state().tolist(), random.getstate(), numpy.random.get_state()[1].tolist()


def epochs(make, count=2):
    """All batches, and the generators' states after each epoch."""
    seed_all()
    loader = make()
    found = []
    for epoch in range(count):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        found.append((list(loader), states()))
    return found


def equal(one, other):
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and (one.dtype, one.shape) == (other.dtype, other.shape) and torch.equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, numpy.ndarray):
        return isinstance(other, numpy.ndarray) and one.dtype == other.dtype and numpy.array_equal(one, other)
    return type(one) is type(other) and one == other
