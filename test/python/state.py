# SPDX-License-Identifier: Apache-2.0
"""What a script's own transforms depend on beside their image, and what stand-ins for images and tensors answer: a transform is followed only where
all of it is known, and what a script changes meanwhile counts."""
import collections
import functools
import itertools
import operator
import os
import pathlib
import random
import sys
import tempfile
import time
import types
import unittest

try:
    import numpy
    import torch
    import torchvision.transforms as T
    from PIL import Image, ImageOps
    from torch.utils.data import DataLoader, Dataset, get_worker_info
    from torchvision import datasets
    from torchvision.transforms.functional import vflip
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from loops import accelerated, epochs, equal, make_photos
from penstock.accelerate import _lazy
from penstock.torch import UnknownTransform, follow_transforms
from penstock.torch._chain import Chain, Unknown
from penstock.torch._compile import follow_steps
from penstock.torch._follow import Follower, Picture, Tensor
from penstock.torch._state import State, keeps_state

COUNT = 0
RANDOM = random.Random(3)
DRAW = numpy.random.default_rng(3).random
SIZE = 20


class Own:
    """Flips where `draw(self)` says so."""

    def __init__(self, draw, **attributes):
        self.draw = draw
        self.__dict__.update(attributes)

    def __call__(self, image):
        return vflip(image) if self.draw(self) < 0.3 else image


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def __call__(self, image):
        self.n += 1
        return vflip(image) if self.n % 3 == 0 else image


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(1))

    def forward(self, image):
        self.n.add_(1)
        return image if int(self.n) % 3 else vflip(image)


class OfClass:
    n = 0

    def __call__(self, image):
        OfClass.n += 1
        return image if OfClass.n % 3 else vflip(image)


class Swallows:
    """Asks for the size, and takes any answer."""

    def __call__(self, image):
        try:
            tall = image.height > 0
        except Exception: # noqa: BLE001
            tall = False
        return vflip(image) if tall else image


def counter(change):
    """A transform whose `change(kept)` of something that it keeps says how often it was called."""
    return lambda kept: Own(lambda self: 0.0 if change(self.kept) % 3 == 0 else 1.0, kept=kept)


def nonlocal_counter():
    n = 0

    def flip(image):
        nonlocal n
        n += 1
        return image if n % 3 else vflip(image)
    return flip


def global_counter():
    def flip(image):
        global COUNT
        COUNT += 1
        return image if COUNT % 3 else vflip(image)
    return flip


def default_counter():
    def flip(image, seen=[]): # noqa: B006
        seen.append(0)
        return image if len(seen) % 3 else vflip(image)
    return types.FunctionType(flip.__code__, flip.__globals__, "flip", ([],))


def attribute_counter():
    def flip(image):
        flip.n += 1
        return image if flip.n % 3 else vflip(image)
    flip.n = 0
    return flip


def cached_draw():
    @functools.lru_cache
    def draw(n):
        return random.random()
    return Own(lambda self: draw(0))


def back_to_the_state(self):
    state = random.getstate()
    random.seed(7)
    drawn = random.random()
    random.setstate(state)
    return drawn


def seen(kept):
    kept.append(0)
    return len(kept)


def keyed(kept):
    kept["n"] = kept.get("n", 0) + 1
    return kept["n"]


def first(kept):
    kept[0] += 1
    return int(kept[0])


def added(kept):
    kept.add(len(kept))
    return len(kept)


def of_object(kept):
    kept.n += 1
    return kept.n


def advanced(kept):
    return next(kept)


def of_generator():
    return counter(advanced)(n for n in itertools.count(1))


#: Each makes a new transform that keeps something; two of them do the same.
KEEPING = {
    "list": lambda: counter(seen)([]), "dict": lambda: counter(keyed)({}), "nested": lambda: counter(lambda kept: seen(kept["a"][0]))({"a": ([],)}),
    "set": lambda: counter(added)(set()), "deque": lambda: counter(seen)(collections.deque()), "array": lambda: counter(first)(numpy.zeros(1)),
    "tensor": lambda: counter(first)(torch.zeros(1)), "bytes": lambda: counter(first)(bytearray(1)), "object": lambda: counter(of_object)(types.SimpleNamespace(n=0)),
    "count": lambda: counter(advanced)(itertools.count(1)), "cycle": lambda: counter(advanced)(itertools.cycle((1, 2, 3))), "generator": of_generator,
    "default dict": lambda: counter(keyed)(collections.defaultdict(int)), "slots": Slots, "module": Module, "closure": nonlocal_counter,
    "default": default_counter, "of a function": attribute_counter, "partial": lambda: functools.partial(lambda kept, image: image if seen(kept) % 3 else vflip(image), []),
    "method": lambda: Slots().__call__, "random": lambda: Own(lambda self: self.r.random(), r=random.Random(0)),
    "default_rng": lambda: Own(lambda self: self.r.random(), r=numpy.random.default_rng(0)), "RandomState": lambda: Own(lambda self: self.r.rand(), r=numpy.random.RandomState(0)),
    "torch's": lambda: Own(lambda self: float(torch.rand(1, generator=self.r)), r=torch.Generator().manual_seed(0)),
    "in a dict": lambda: Own(lambda self: self.r["x"][0].random(), r={"x": [random.Random(0)]}), "bound": lambda: Own(lambda self: self.r(), r=random.Random(0).random),
    "in a closure": lambda: (lambda r: Own(lambda self: r.random()))(random.Random(0)), "in a default": lambda: (lambda r: Own(lambda self, r=r: r.random()))(random.Random(0)),
    "in a partial": lambda: (lambda r: Own(functools.partial(lambda r, self: r.random(), r)))(random.Random(0)), "swallows": Swallows}
#: These are one for all, or never do the same twice.
SHARED = {"global": global_counter, "of a class": OfClass, "global generator": lambda: Own(lambda self: RANDOM.random()), "global function": lambda: Own(lambda self: DRAW()),
          "made": lambda: Own(lambda self: numpy.random.default_rng().random()), "made by random": lambda: Own(lambda self: random.Random().random()),
          "system": lambda: Own(lambda self: random.SystemRandom().random()), "time": lambda: Own(lambda self: time.time() % 1), "os": lambda: Own(lambda self: os.urandom(1)[0] / 256),
          "worker": lambda: Own(lambda self: 0.0 if get_worker_info() is None else 1.0), "seed": lambda: Own(lambda self: torch.initial_seed() % 10 / 10),
          "cached": cached_draw, "state": lambda: Own(back_to_the_state), "id": lambda: Own(lambda self: id(self) % 10 / 10), "type": lambda: Own(lambda self: float(type(self) is Own)),
          "import": lambda: Own(lambda self: __import__("secrets").randbelow(10) / 10)}


class Keeps(unittest.TestCase):
    def stays(self, transform):
        for _ in range(3): # it is not accepted by chance, either
            steps, unknown = follow_steps([T.Resize(8), transform, T.ToTensor()])
            self.assertEqual(len(steps), 1)
            self.assertIsInstance(unknown, UnknownTransform)

    def test_transforms_that_keep_something_stay_in_python_and_keep_it(self):
        images = [Image.frombytes("RGB", (1, 2), bytes([i] * 3 + [0] * 3)) for i in range(30)]
        for name, make in KEEPING.items():
            with self.subTest(name):
                traced, other = make(), make()
                self.stays(traced)
                self.assertEqual([traced(image).tobytes() for image in images], [other(image).tobytes() for image in images])

    def test_what_a_script_catches_within_another_transform(self):
        self.stays(lambda x: T.Lambda(vflip)(Swallows()(x)))
        self.stays(lambda x: Swallows()(T.Lambda(vflip)(x)))

    def test_what_all_share_or_nobody_can_know(self):
        for name, make in SHARED.items():
            with self.subTest(name):
                self.stays(make())
        self.assertEqual((COUNT, OfClass.n, RANDOM.getstate()), (0, 0, random.Random(3).getstate()))

    def test_what_keeps_nothing_is_followed(self):
        table = {"flip": True, "mean": [0.5]}
        for transform in (lambda x: vflip(x) if table["flip"] else x, lambda x: x.resize((SIZE, SIZE)), Own(lambda self: random.random()),
                          Own(lambda self: self.p, p=0.1), functools.partial(ImageOps.solarize, threshold=9), Own(lambda self: numpy.random.rand()), ImageOps.mirror):
            follow_transforms(T.Compose([transform]))
        inner = T.Compose([Own(lambda self: random.random()), T.Resize(8)])
        follow_transforms(lambda x: inner(T.Lambda(vflip)(x)))

    def test_what_a_transform_that_was_not_run_seems_to_keep(self):
        for name in sorted(KEEPING.keys() - {"swallows"}):
            with self.subTest(name):
                self.assertTrue(keeps_state(KEEPING[name]()))
        for transform in (lambda x: x.resize((SIZE, SIZE)), Own(lambda self: random.random()), T.ColorJitter(0.5), lambda x: torch.cat([x, x]).add(1)):
            self.assertEqual(keeps_state(transform), "")

    def test_all_is_put_back(self):
        inner = types.SimpleNamespace(a=[1], b={"c": {2}}, d=collections.deque([3]), e=bytearray(b"4"), f=numpy.zeros(2), g=torch.zeros(2))
        state = State(inner)
        inner.a.append(0), inner.b["c"].add(0), inner.b.update(x=1), inner.d.append(0), inner.e.extend(b"0"), inner.f.fill(1), inner.g.add_(1)
        inner.h = 1
        self.assertFalse(state.same())
        state.restore()
        self.assertEqual((inner.a, inner.b, list(inner.d), inner.e, inner.f.tolist(), inner.g.tolist(), hasattr(inner, "h")),
                         ([1], {"c": {2}}, [3], b"4", [0, 0], [0, 0], False))


class StandIns(unittest.TestCase):
    """They answer what is listed, and all else ends the recording."""
    UNARY = [bool, len, iter, float, int, str, repr, hash, abs, operator.neg, operator.invert, operator.index, list, dir]
    BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.eq, operator.ne, operator.lt, operator.ge, operator.and_,
              operator.getitem, operator.contains, operator.matmul, operator.iadd, operator.floordiv, operator.mod, operator.lshift]

    def test_nothing_of_a_tensor(self):
        for kind in ("tensor", "bytes"):
            x = Tensor(Chain(kind=kind))
            self.assertTrue(isinstance(x, torch.Tensor) and torch.is_tensor(x))
            self.assertEqual(isinstance(x, torch.FloatTensor), kind == "tensor")
            for name in {*dir(torch.Tensor), "names", "anything", "__class__"} - {"__torch_function__", "__torch_dispatch__"}:
                self.assertRaises(Unknown, getattr, x, name)
            for use in [*self.UNARY, *(functools.partial(lambda one, x: one(x, 1), one) for one in self.BINARY), *(functools.partial(lambda one, x: one(1, x), one) for one in self.BINARY[:5]),
                        lambda x: isinstance(x, Image.Image), numpy.asarray, torch.mean, lambda x: torch.stack([x]), lambda x: x.shape, lambda x: setattr(x, "data", 1), lambda x: f"{x}"]:
                self.assertRaises(Unknown, use, x)

    def test_little_of_an_image(self):
        for grey in (False, True):
            x = Picture(Chain(grey=grey), Follower())
            self.assertTrue(isinstance(x, Image.Image) and not isinstance(x, (numpy.ndarray, torch.Tensor)))
            self.assertEqual((x.mode, x.getbands()), ("L", ("L",)) if grey else ("RGB", ("R", "G", "B")))
            for name in {*dir(Image.Image), "info", "format", "filename", "size", "im", "encoderinfo", "anything"} - Picture.KNOWN - {"__class__"}:
                self.assertRaises(Unknown, getattr, x, name)
            for use in (str, repr, hash, dir, lambda x: x == x, lambda x: x != 1, lambda x: x[0], lambda x: setattr(x, "mode", "L"), lambda x: f"{x}", numpy.asarray, ImageOps.exif_transpose,
                        lambda x: x.convert("RGB", (1,) * 12), lambda x: x.convert("L", (1,) * 4), lambda x: x.convert("RGB", dither=0), lambda x: x.convert("P"),
                        lambda x: x.resize((3, 3), 2, (0, 0, 1, 1)), lambda x: x.resize((3, 3), reducing_gap=2.0), lambda x: x.point(list(range(256)), "1"), lambda x: x.getexif(),
                        lambda x: "exif" in x.info, lambda x: x.transpose(5), lambda x: x.size, lambda x: x.__enter__(), lambda x: x.copy().load()):
                self.assertRaises(Unknown, use, x)

    def test_point_is_what_pillow_makes_of_it(self):
        ramp = Image.frombytes("RGB", (256, 1), bytes(i for i in range(256) for _ in range(3)))
        for lut in (lambda v: v * 1.5, lambda v: v - 300.7, lambda v: v * 0.7 + 0.5, [i * 0.7 for i in range(256)] * 3, lambda v: v / 2):
            follower = Follower()
            with self.subTest(lut):
                follower.follow(lambda x: x.point(lut), Chain()) # noqa: B023: called at once
                table = [int(number) for number in follower.names.text().partition("[k] = [")[2].partition("]")[0].split(", ")]
                self.assertEqual(table, list(ramp.point(lut).getchannel(0).tobytes()))
        self.assertRaises(Unknown, Picture(Chain(), Follower()).point, [0] * 512 + [1] * 256)

    def test_a_number_that_was_drawn(self):
        for use in (str, repr, hash, round, abs, lambda r: isinstance(r, float), lambda r: f"{r}", lambda r: r == 1, lambda r: r != 1, lambda r: r.numpy(), lambda r: hasattr(r, "shape"), divmod):
            with self.assertRaises(Unknown):
                Follower().follow(lambda x: (use(random.random()), x)[1], Chain()) # noqa: B023: called at once

    def test_torchvisions_classes_with_a_function_of_the_scripts_own(self):
        for change in (lambda t: setattr(t, "forward", vflip), lambda t: t.register_forward_hook(lambda *_: None), lambda t: setattr(t, "get_params", max)):
            transform = T.RandomCrop(8)
            follow_transforms(transform)
            change(transform)
            self.assertRaises(UnknownTransform, follow_transforms, transform)

    def test_a_leaf_has_all_operators_of_a_tensor(self):
        for name in dir(torch.Tensor):
            if name.startswith("__") and callable(getattr(torch.Tensor, name)) and name not in _lazy.OWN:
                self.assertIn(name, vars(_lazy.Leaf))


class Photos(Dataset):
    """`change(self, index)` of the transform before each sample."""

    def __init__(self, folder, change=None):
        self.files = sorted(str(path) for path in pathlib.Path(folder).rglob("*.*"))
        self.resize, self.normalize, self.change = T.Resize((16, 16)), T.Normalize([0.5] * 3, [0.5] * 3), change
        self.scale = [1.0]
        self.transform = T.Compose([self.resize, T.ToTensor(), self.normalize, lambda x, scale=self.scale: x * scale[0]])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        if self.change is not None:
            self.change(self, index)
        x = self.transform(Image.open(self.files[index]).convert("RGB"))
        if self.change is later:
            self.normalize.mean = [0.5] * 3
        return x, index


def later(self, index):
    self.normalize.mean = [0.1] * 3 if index % 2 else [0.5] * 3


def swapped(self, index):
    self.transform.transforms[2] = T.Normalize([index / 18] * 3, [0.5] * 3)


def in_place(self, index):
    self.normalize.mean[1] = index / 18


def filtered(self, index):
    self.resize.interpolation = T.InterpolationMode.NEAREST if index % 2 else T.InterpolationMode.BILINEAR


def of_a_part_in_python(self, index):
    self.scale[0] = float(index // 4)


def smaller(worker):
    get_worker_info().dataset.transform.transforms[0].size = (8, 8)


class BySize:
    """A batch sampler that chooses a size for each batch."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __iter__(self):
        for i in range(4):
            self.dataset.transform.transforms[0].size = (8 + i // 2, 8)
            yield [2 * i, 2 * i + 1]

    def __len__(self):
        return 4


class Changes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        make_photos(cls.folder, 6)

    def same(self, make, some=None):
        wanted = epochs(make)
        with accelerated() as hook:
            found = epochs(make)
        self.assertTrue(equal([data for data, _ in wanted], [data for data, _ in found]))
        images = sum(entry.images for entry in hook.report.entries.values())
        if some is not None:
            self.assertEqual(images > 0, some)

    def test_a_data_set_that_changes_its_transform(self):
        for change in (None, later, swapped, in_place, filtered, of_a_part_in_python):
            with self.subTest(change):
                self.same(lambda: DataLoader(Photos(self.folder, change), 5), some=True if change is None else None) # noqa: B023: called at once
        self.same(lambda: DataLoader(Photos(self.folder, swapped), 5, num_workers=2))

    def test_worker_init_fn_that_changes_it(self):
        for method in ("fork", "spawn"):
            self.same(lambda: DataLoader(Photos(self.folder) if method == "fork" else Plain(self.folder), 6, num_workers=1, worker_init_fn=smaller, # noqa: B023
                                         multiprocessing_context=method))
        small = T.Compose([T.Resize((16, 16)), T.ToTensor()])
        self.same(lambda: DataLoader(datasets.ImageFolder(self.folder, small), 6, num_workers=1, worker_init_fn=smaller))

    def test_a_sampler_that_changes_it(self):
        def make():
            dataset = datasets.ImageFolder(self.folder, T.Compose([T.Resize((8, 8)), T.ToTensor()]))
            return DataLoader(dataset, batch_sampler=BySize(dataset))
        self.same(make)

    def test_own_state_of_transforms_in_loaders(self):
        for workers in (0, 2):
            def make():
                flip = Own(lambda self: self.r.random(), r=random.Random(0))
                return DataLoader(datasets.ImageFolder(self.folder, T.Compose([T.Resize((16, 16)), flip, T.ToTensor()])), 5, num_workers=workers) # noqa: B023
            self.same(make)

    def test_an_array_that_is_written_to(self):
        class Arrays(Dataset):
            def __len__(self):
                return 12

            def __getitem__(self, index):
                array = numpy.full((9, 8) if index % 2 else (9, 8, 3), index, numpy.uint8)
                before = array.copy()
                image = Image.fromarray(array)
                mirrored = ImageOps.mirror(image) if index % 3 else image
                array[:] = 99
                late = T.functional.to_tensor(mirrored)
                return T.functional.to_tensor(image).sum(), late.sum(), torch.as_tensor(before).sum()
        self.same(lambda: DataLoader(Arrays(), 4))


class Plain(Photos):
    """Without a function that no other process can have."""

    def __init__(self, folder):
        super().__init__(folder)
        self.transform = T.Compose([self.resize, T.ToTensor(), self.normalize])


if __name__ == "__main__":
    unittest.main()
