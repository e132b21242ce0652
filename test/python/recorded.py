# SPDX-License-Identifier: Apache-2.0
"""Recorded calls of a script on images that nobody looked at: the pipeline makes the same bits, and calls without stages look."""
import contextlib
import importlib.util
import pathlib
import random
import sys
import tempfile
import unittest

try:
    import numpy
    import torch
    import torchvision
    import torchvision.transforms as T
    import torchvision.transforms.functional as F
    from PIL import Image, ImageOps
    from torch.utils.data import DataLoader, Dataset
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from loops import EVEN, accelerated, epochs, equal, make_photos
from penstock.accelerate import _lazy, _leaves
from penstock.accelerate._items import ItemSession
from penstock.accelerate._leaves import recorded_text
from penstock.accelerate._record import Recorded, columns_of
from penstock.accelerate._search import calls_functions

FILTERS = [T.InterpolationMode.NEAREST, T.InterpolationMode.BILINEAR, T.InterpolationMode.BICUBIC, T.InterpolationMode.LANCZOS]
STATS = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Chain:
    """Calls in an order, with numbers that are drawn for each image; the last one gives images of one size."""

    def __init__(self, rng):
        self.steps = [rng.choice([self.crop, self.resize, self.pad, self.hflip, self.vflip, self.both, self.center, self.resized, self.rotated,
                                  self.jitter, self.colours, self.turned, self.affine])
                      for _ in range(rng.randint(1, 4))]
        self.warp = rng.choice(FILTERS[:3])
        self.filter, self.fill, self.end = rng.choice(FILTERS), rng.choice([0, 0, 255]), rng.choice([self.cut, self.scaled])
        self.tail = rng.choice([self.to_tensor, self.normalized, self.converted, self.moved])

    def __call__(self, image, rng):
        for step in [*self.steps, self.end, self.tail]:
            image = step(image, rng)
        return image

    def crop(self, image, rng):
        i, j, h, w = T.RandomCrop.get_params(image, (rng.randint(image.height // 2, image.height), rng.randint(image.width // 2, image.width)))
        return F.crop(image, i, j, h, w)

    def resize(self, image, rng):
        return F.resize(image, rng.choice([rng.randint(9, 90), [rng.randint(9, 90), rng.randint(9, 90)]]), interpolation=self.filter)

    def resized(self, image, rng):
        return F.resized_crop(image, *T.RandomResizedCrop.get_params(image, (0.2, 0.9), (0.7, 1.4)), [rng.randint(9, 60), 30], interpolation=self.filter)

    def pad(self, image, rng):
        return F.pad(image, rng.choice([[3], [2, 5], [rng.randint(0, 9) for _ in range(4)]]), fill=self.fill)

    def hflip(self, image, rng):
        return F.hflip(image) if rng.random() < 0.5 else image

    def vflip(self, image, rng):
        return F.vflip(image) if rng.random() < 0.5 else image

    def both(self, image, rng):
        return self.vflip(self.hflip(image, rng), rng)

    def center(self, image, rng):
        return F.center_crop(image, [rng.randint(5, 70), rng.randint(5, 70)])

    def rotated(self, image, rng):
        return image.transpose(3) # by 180 degrees

    def jitter(self, image, rng):
        return T.ColorJitter(0.4, 0.3, 0.5, 0.1)(image)

    def colours(self, image, rng):
        for adjust in rng.sample([F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue, F.adjust_brightness], rng.randint(1, 5)):
            image = adjust(image, rng.uniform(0.0, 0.5))
        return image

    def turned(self, image, rng):
        angle = rng.choice([90, 180, 270, -1e-9, rng.uniform(-400, 400)])
        angle = 180 if image.width == image.height and angle in (90, 270) else angle # which Pillow transposes
        return F.rotate(image, angle, self.warp, expand=rng.random() < 0.3 and angle not in (90, 270), center=None if angle == 180 else rng.choice([None, [3, 9]]), fill=self.fill)

    def affine(self, image, rng):
        return F.affine(image, rng.uniform(-30, 30), [rng.randint(-5, 5), 3], rng.uniform(0.7, 1.4), [rng.uniform(-9, 9), 0.0], self.warp, fill=self.fill)

    def cut(self, image, rng):
        left, top = rng.randint(-4, 9), rng.randint(-4, 9)
        return image.crop((left, top, left + 28, top + 24))

    def scaled(self, image, rng):
        return self.both(F.resize(image, [24, 28], interpolation=self.filter), rng)

    def to_tensor(self, image, rng):
        return F.to_tensor(image)

    def normalized(self, image, rng):
        channels = len(image.getbands())
        return T.Normalize(STATS[0][:channels], STATS[1][:channels])(T.ToTensor()(image))

    def converted(self, image, rng):
        return F.convert_image_dtype(F.pil_to_tensor(image))

    def moved(self, image, rng):
        x = F.pad(F.hflip(F.pil_to_tensor(image)), [2, 3], fill=9)
        i, j, h, w = T.RandomCrop.get_params(x, (20, 20))
        return F.vflip(F.crop(F.convert_image_dtype(x), i, j, h, w))


def make(chain, image, seed):
    torch.manual_seed(seed)
    return chain(image, random.Random(seed))


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        make_photos(cls.folder, 6)
        cls.files = sorted(str(path) for path in pathlib.Path(cls.folder).rglob("*.*"))


class Bits(Folder):
    def test_pipelines_make_what_the_calls_make(self):
        pipelines = 0
        for number in range(26):
            rng = random.Random(number)
            chain, mode = Chain(rng), rng.choice(["RGB", "RGB", "L"])
            if {chain.jitter, chain.colours} & set(chain.steps): # of grey images they look
                mode = "RGB"
            with self.subTest(number, steps=[step.__name__ for step in [*chain.steps, chain.end, chain.tail]], mode=mode):
                rows = {}
                for seed, path in enumerate(self.files[:8]):
                    with Image.open(path) as opened:
                        wanted = make(chain, opened.convert(mode), seed)
                    with _lazy.traced({}):
                        recorded = _lazy.recorded_in(make(chain, Image.open(path).convert(mode), seed))
                    self.assertIsInstance(recorded, Recorded)
                    self.assertTrue(equal(_lazy.made(recorded), wanted))
                    key, numbers = recorded.row()
                    rows.setdefault(key, []).append(((path, *numbers), recorded.extents, wanted))
                for key, found in list(rows.items())[:2]:
                    pipelines += 1
                    session = ItemSession(recorded_text(key), len(found), list(columns_of(key)))
                    session.begin(0)
                    session.push([row for row, _, _ in found], found[0][1])
                    images, good = session.take(len(found))
                    session.session.close()
                    self.assertTrue(good)
                    self.assertTrue(equal(images, torch.stack([wanted for _, _, wanted in found])), key)
        self.assertGreater(pipelines, 30)

    def test_one_pipeline_for_all_draws_of_one_order(self):
        def reference(image, rng):
            image = F.resize(image, rng.randint(60, 90))
            image = F.hflip(image) if rng.random() < 0.5 else image
            return F.to_tensor(F.crop(image, *T.RandomCrop.get_params(image, (40, 40))))
        keys = set()
        with _lazy.traced({}):
            for seed in range(40):
                keys.add(_lazy.recorded_in(make(reference, Image.open(self.files[seed % 10]).convert("RGB"), seed)).row()[0])
        self.assertEqual(keys, {("RGB", ("resize({}, {}, filter = bilinear)", "crop({}, {}, 40, 40)", "flip(w) if {} == 1", "flip(h) if {} == 1"),
                                 (("to_tensor", ()),))}
                         if int(Image.__version__.split(".")[0]) < 13 else keys)
        self.assertEqual(len(keys), 1)


class Looks(Folder):
    def test_what_has_no_stages_is_done_to_the_image(self):
        tensor = lambda image: F.to_tensor(image) # noqa: E731: the one that stands there then
        for name, call in {
                "sharpens": lambda i: tensor(F.adjust_sharpness(i, 2.0)), "turns about a corner": lambda i: tensor(F.rotate(i, 180, center=[3, 4])), "moves only": lambda i: tensor(F.affine(i, 0.0, [3, 4], 1.5, [0.0, 0.0])),
                "colours of grey": lambda i: tensor(F.adjust_brightness(i.convert("L"), 1.5)),
                "perspective": lambda i: tensor(F.perspective(i, [[0, 0], [9, 0], [9, 9], [0, 9]], [[1, 0], [9, 2], [9, 9], [0, 9]])),
                "fills": lambda i: tensor(F.pad(i, 5, fill=(1, 2, 3))),
                "turns": lambda i: tensor(i.transpose(2)), "a box": lambda i: tensor(i.resize((9, 9), 2, (1, 2, 20, 30))),
                "reduces": lambda i: tensor(i.resize((9, 9), 2, reducing_gap=2.0)), "draws on it": lambda i: i.putpixel((0, 0), (1, 2, 3)) or tensor(i),
                "in place": lambda i: F.normalize(tensor(i), *STATS, inplace=True), "a resize of a tensor": lambda i: F.resize(tensor(i), [9, 9]),
                "a float tensor beyond": lambda i: F.pad(tensor(i), 3), "beyond a tensor": lambda i: F.crop(tensor(i), -3, 0, 20, 20),
                "other types": lambda i: F.convert_image_dtype(F.pil_to_tensor(i), torch.float64), "numpy": lambda i: tensor(numpy.array(i)),
                "arithmetic": lambda i: tensor(F.crop(i, 3, 4, 20, 20)) * 2, "a part": lambda i: tensor(i)[:, 3:9],
                "another mode": lambda i: tensor(F.hflip(i).convert("L")), "expands": lambda i: tensor(ImageOps.expand(i, 3))}.items():
            with self.subTest(name):
                wanted = call(Image.open(self.files[0]).convert("RGB"))
                with _lazy.traced({}):
                    found = call(Image.open(self.files[0]).convert("RGB"))
                self.assertFalse(_lazy.unseen(found))
                self.assertTrue(equal(found, wanted))

    def test_errors_are_the_originals(self):
        for call in (lambda i: i.crop((5, 5, 3, 3)), lambda i: F.crop(i, "a", 0, 5, 5), lambda i: F.pad(i, [1, 2, 3]), lambda i: i.resize((0, 5)),
                     lambda i: i.transpose("x"), lambda i: F.normalize(F.to_tensor(i), [0.5] * 2, [0.5] * 2), lambda i: F.to_tensor(F.hflip(i), 3)):
            errors = []
            for number in range(2):
                with _lazy.traced({}) if number else contextlib.nullcontext():
                    try:
                        call(Image.open(self.files[0]).convert("RGB")).size
                        errors.append(None)
                    except Exception as error:
                        errors.append((type(error), str(error)))
            self.assertEqual(errors[0], errors[1])

    def test_sizes_and_shapes_are_known_unseen(self):
        with _lazy.traced({}):
            image = F.crop(Image.open(self.files[0]), 2, 3, 20, 30)
            self.assertEqual((type(image), image.size, image.width, image.height, image.mode, image.getbands()),
                             (_lazy.LazyImage, (30, 20), 30, 20, "RGB", ("R", "G", "B")))
            x = F.pil_to_tensor(image)
            self.assertEqual((tuple(x.shape), x.ndim, isinstance(x, torch.Tensor), _lazy.unseen(x)), ((3, 20, 30), 3, True, True))
        self.assertEqual(x.dtype, torch.uint8)

    def test_nothing_is_recorded_outside(self):
        before = F.crop, F.F_pil.pad, F.to_tensor
        with _lazy.traced({}):
            image = Image.open(self.files[0]).convert("RGB")
        self.assertEqual((type(image), type(image.crop((0, 0, 5, 5)))), (_lazy.LazyImage, Image.Image))
        self.assertEqual((F.crop, F.F_pil.pad, F.to_tensor), before)


@unittest.skipUnless(importlib.util.find_spec("torchvision.transforms.v2"), "this torchvision has no transforms.v2")
class Second(Folder):
    """torchvision.transforms.v2, which calls a kernel by the type of what it is given."""

    def test_transforms_of_images_and_tensors(self):
        import torchvision.transforms.v2 as v2
        from torchvision import tv_tensors

        class Own(v2.Transform):
            def transform(self, inpt, params):
                return v2.functional.pad(inpt, 3, fill=5 if type(inpt) is tv_tensors.Image else 6)
        image, mask, pure = tv_tensors.Image, tv_tensors.Mask, torch.Tensor
        floats = v2.ToDtype({image: torch.float32, mask: torch.int64, "others": None}, scale=True)
        fills = {image: 9, Image.Image: 8, mask: 255, pure: 7, "others": 6}
        start = {"image": lambda opened: opened.convert("RGB"), "opened": lambda opened: opened, "grey": lambda opened: opened.convert("L"),
                 "tensor": lambda opened: image(opened.convert("RGB")), "pure": lambda opened: v2.functional.pil_to_tensor(opened.convert("RGB")),
                 "pure, then image": lambda opened: image(v2.functional.pil_to_tensor(opened)), "ToImage": lambda opened: v2.ToImage()(opened)}
        for number, (transforms, unseen) in enumerate([
                ([v2.ToImage(), v2.RandomCrop(40, pad_if_needed=True, fill=fills), floats, v2.Normalize([0.5], [0.25])], ["grey"]),
                ([v2.ToImage(), v2.RandomCrop(40, pad_if_needed=True, fill=fills), floats, v2.Normalize(*STATS)], ["image", "tensor"]),
                ([v2.RandomHorizontalFlip(), v2.CenterCrop(30), v2.Pad(4, fill=fills), v2.ToImage(), v2.ConvertImageDtype(), v2.ToPureTensor()],
                 ["image", "tensor", "grey"]),
                ([v2.RandomVerticalFlip(), v2.PILToTensor()], ["image", "tensor", "grey"]),
                ([v2.Resize((20, 30)), v2.RandomResizedCrop(24), v2.ToImage(), floats], ["image", "grey"]),
                ([v2.ToImage(), v2.ToDtype({pure: torch.float32, image: torch.uint8, "others": None}, scale=True)], ["image", "tensor", "grey"]),
                ([v2.ToImage(), v2.RandomApply([v2.RandomCrop(30)]), v2.RandomChoice([v2.CenterCrop(20), v2.Pad(2)])], ["image", "tensor", "grey"]),
                ([v2.ToImage(), Own(), v2.ToDtype(torch.float32, scale=True)], []), ([v2.ToImage(), v2.Lambda(lambda x: x.float())], []),
                ([v2.ToImage(), v2.RandomInvert(1.0), floats], []), ([v2.ToImage(), v2.ToDtype(torch.float32)], []),
                ([v2.ToImage(), lambda x, m: (v2.functional.crop(x, 3, 4, 20, 20), m), v2.RandomRotation(20)], [])]):
            for name, opens in start.items():
                with self.subTest(number, start=name):
                    made, found = [], None
                    for lazily in (False, True):
                        torch.manual_seed(number)
                        with _lazy.traced({}) if lazily else contextlib.nullcontext():
                            try:
                                found, m = opens(Image.open(self.files[0])), mask(torch.ones(1, 60, 70, dtype=torch.uint8))
                                for transform in transforms:
                                    found, m = transform(found, m)
                                x = _lazy.looked(found) if _lazy.unseen(found) else found
                                made.append((type(x), x.dtype, x.tolist(), m.tolist(), torch.rand(1).item()))
                            except (TypeError, ValueError, RuntimeError) as error:
                                made.append((type(error), str(error).split("but got")[0]))
                    self.assertEqual(*made)
                    if name in ("image", "tensor", "grey") and len(made[0]) > 2:
                        self.assertEqual(_lazy.is_leaf(found), name in unseen)

    def test_what_a_data_set_keeps(self):
        """And uses outside of a trace, where a leaf is an image, too."""
        import torchvision.transforms.v2 as v2
        from torchvision import tv_tensors
        for use in (v2.functional.hflip, lambda x: v2.functional.resize(x, [9, 8]), v2.functional.get_size, v2.CenterCrop(9), v2.ToDtype(torch.float32, scale=True),
                    lambda x: tv_tensors.wrap(x // 2, like=x), lambda x: v2.functional.hflip(tv_tensors.wrap(x // 2, like=x)), v2.ToPureTensor()):
            for lazily in (False, True):
                with _lazy.traced({}) if lazily else contextlib.nullcontext():
                    kept = v2.functional.to_image(Image.open(self.files[0]).convert("RGB"))
                self.assertEqual(_lazy.unseen(kept), lazily)
                found = use(kept)
                facts = found.__class__, found.tolist() if isinstance(found, torch.Tensor) else found
                if not lazily:
                    wanted = facts
            self.assertEqual(facts, wanted)


class Own(Dataset):
    """`item(image)` makes the sample."""

    def __init__(self, files, item, mode="RGB"):
        self.files, self.item, self.mode = files, item, mode

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        image = Image.open(self.files[index])
        return self.item(image.convert(self.mode) if self.mode else image)


def cropped(image):
    image = F.crop(image, *T.RandomCrop.get_params(image, (32, 32)))
    return F.to_tensor(image), random.random()


def careful(image):
    try:
        return F.to_tensor(F.resize(image.convert("RGB"), [20, 20]))
    except OSError:
        return torch.zeros(3, 20, 20)


class Loaders(Folder):
    def run_both(self, make, **options):
        wanted = epochs(make)
        with accelerated(**options) as hook:
            found = epochs(make)
        self.assertTrue(equal([batches for batches, _ in wanted], [batches for batches, _ in found]))
        self.assertEqual([after for _, after in wanted], [after for _, after in found])
        return sum(entry.images for entry in hook.report.entries.values())

    def test_random_batches_are_equal(self):
        for options in ({"num_workers": 0}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}, {"num_workers": 1, "collate_fn": list}):
            with self.subTest(options):
                data = Own(self.files, cropped)
                images = self.run_both(lambda: DataLoader(data, 4, shuffle=True, **options)) # noqa: B023
                self.assertEqual(images, 36)

    def test_images_of_all_sizes_are_not_a_pipeline_each(self):
        data = Own(self.files, lambda image: F.to_tensor(F.hflip(F.resize(image, 30))))
        images = self.run_both(lambda: DataLoader(data, 4, collate_fn=list))
        self.assertLess(images, 10)
        with accelerated() as hook:
            loader = DataLoader(data, 4, collate_fn=list)
            list(loader)
        self.assertLessEqual(len(hook.plans[loader].recorded), 3)

    def test_damaged_files_and_pipelines_that_do_not_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder, 3)
            cut = pathlib.Path(folder, "ant/0.jpg")
            cut.write_bytes(cut.read_bytes()[:-60])
            files = sorted(str(path) for path in pathlib.Path(folder).rglob("*.*"))
            self.assertEqual(self.run_both(lambda: DataLoader(Own(files, careful, None), 3)), 12) # not the batches with it
        kept, _leaves.recorded_text = _leaves.recorded_text, lambda key: None
        try:
            self.assertEqual(self.run_both(lambda: DataLoader(Own(self.files, cropped), 4)), 0)
        finally:
            _leaves.recorded_text = kept

    def test_which_data_sets_are_traced(self):
        class Transforms:
            def __call__(self, image, mask):
                return joint(image, mask)

        def joint(image, mask):
            return F.hflip(image), F.hflip(mask)

        def drawn(self, index):
            return torchvision.transforms.functional.hflip(self.files[index])

        class Named(Own):
            __getitem__ = drawn
        plain = lambda image: numpy.asarray(image).mean() # noqa: E731
        for data, wanted in ((Own([], cropped), True), (Own([], Transforms()), True), (Named([], plain), True), (Own([], T.ToTensor()), True),
                             (Own([], plain), False), (Own([], EVEN), False), (torch.utils.data.TensorDataset(torch.ones(3)), False)):
            self.assertEqual(calls_functions(data), wanted)


if __name__ == "__main__":
    unittest.main(warnings="ignore") # of files that nobody closes, as scripts do
