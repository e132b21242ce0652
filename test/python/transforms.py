# SPDX-License-Identifier: Apache-2.0
"""`penstock.torch.compile_transforms`: what is known equals torchvision; what is not is named with its reason."""
import collections
import importlib.util
import itertools
import pathlib
import subprocess
import sys
import unittest
import warnings
from unittest import mock

try:
    import numpy
    import PIL
    import torch
    import torchvision.transforms as T
    import torchvision.transforms.functional as F
    from PIL import Image, ImageFilter, ImageOps
    from torchvision.transforms.functional import to_tensor
except ImportError as error: # ctest shows it as skipped
    print(f"skipped: {error}")
    sys.exit(77)

try:
    from torchvision.transforms.v2.functional import resize as resize_v2
    from torchvision.transforms.v2.functional import to_image
except ImportError: # SecondVersion is skipped
    pass

import composes
import penstock
from penstock.torch import UnknownTransform, _known, compile_transforms

SOURCE = {"source": "raw(image = column(images, u8[h = 48, w = 56, c = rgb]))", "parameters": "images: path, per_rank: int = 1",
          "image": "row.image", "outputs": {}, "order": "sequential"}
ON_TENSORS = {**SOURCE, "source": "raw(image = column(images, f32[h = 48, w = 56, c = rgb]))", "takes": "tensor"}


B, N, C = (T.InterpolationMode.BILINEAR, T.InterpolationMode.NEAREST, T.InterpolationMode.BICUBIC)
STATS = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
HEIGHT, WIDTH = 48, 56


def pictures(count, seed=0):
    """Noise, gradients and flat parts."""
    rng = numpy.random.default_rng(seed)
    images = rng.integers(0, 256, (count, HEIGHT, WIDTH, 3), dtype=numpy.uint8)
    images[1::4] = numpy.linspace(0, 255, WIDTH, dtype=numpy.uint8)[:, None]
    images[2::4, 10:30, 5:40] = images[2::4, :1, :1]
    images[3::4] //= 3
    return images


def transformed(transform, images, **options):
    """The outputs of the transform's pipeline on these images, as arrays by name."""
    text = compile_transforms(transform, **{**SOURCE, **options})
    with penstock.load(text, columns={"image": images}, per_rank=len(images), cache="") as loader:
        return {name: numpy.array(output) for name, output in next(iter(loader)).items()}


def expected(transform, images):
    return numpy.stack([numpy.asarray(transform(Image.fromarray(image))) for image in images])


class PresetOwn:
    """In the style of torchvision's reference scripts."""

    def __init__(self):
        self.transforms = T.Compose([T.Resize(36), T.CenterCrop(32), T.PILToTensor(), T.ConvertImageDtype(torch.float), STATS])

    def __call__(self, image):
        return self.transforms(image)


class Views:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, image):
        return [transform(image) for transform in self.transforms]


def COLOURS(M): # noqa: N802
    """Transforms that draw nothing of u8 tensors; of either version. torch draws in f32."""
    def jitter(**amounts):
        return [M.ColorJitter(**{name: (float(numpy.float32(amount)),) * 2}) for name, amount in amounts.items()]
    return {"brightness": jitter(brightness=1.7) + jitter(brightness=0.3), "contrast": jitter(contrast=0.37) + jitter(contrast=1.63),
            "saturation": jitter(saturation=0.43) + jitter(saturation=1.81), "little saturation": jitter(saturation=0.9),
            "hue": [*jitter(hue=0.07), *jitter(hue=-0.37), M.ConvertImageDtype(torch.float32)], "little hue": jitter(hue=0.01),
            "grey": [M.RandomGrayscale(1.0), *jitter(brightness=0.7), M.Grayscale(1)], "three greys": [M.Grayscale(3)],
            "others": [M.RandomInvert(1.0), M.RandomPosterize(3, 1.0), M.RandomSolarize(100.5, 1.0)], "equal": [M.RandomEqualize(1.0)]}


EVALUATION = {
    "ImageNet": T.Compose([T.Resize(40), T.CenterCrop(32), T.ToTensor(), STATS]),
    "bicubic": T.Compose([T.Resize(40, interpolation=C), T.CenterCrop((32, 36)), T.ToTensor()]),
    "max_size": T.Compose([T.Resize(40, max_size=42), T.ToTensor()]),
    "nearest": T.Compose([T.Resize((17, 80), interpolation=N), T.ToTensor()]),
    "nearest, wide": T.Compose([T.Resize((60, 90), interpolation=N), T.PILToTensor()]),
    "pad": T.Compose([T.Pad((1, 2, 3, 4), fill=7), T.Pad(5, padding_mode="reflect"), T.ToTensor()]),
    "pad tensors": T.Compose([T.ToTensor(), T.Pad(2, fill=0.5), T.CenterCrop(60), T.Normalize(0.5, 0.5)]),
    "grey": T.Compose([T.Grayscale(), T.Resize((20, 30)), T.ToTensor(), T.Normalize((0.1307,), (0.3081,))]),
    "three greys": T.Compose([T.Grayscale(3), T.ToTensor()]),
    "smaller than the crop": T.Compose([T.Resize(20), T.CenterCrop(32), T.ToTensor()]),
    "always": T.Compose([T.RandomHorizontalFlip(1), T.RandomVerticalFlip(1), T.RandomSolarize(100.5, p=1),
                         T.RandomPosterize(3, p=1), T.RandomInvert(1), T.RandomAdjustSharpness(1.7, p=1)]),
    "tables": T.Compose([T.RandomEqualize(1), T.RandomAutocontrast(1), T.RandomGrayscale(1), T.ToTensor()]),
    "never": T.Compose([T.RandomHorizontalFlip(0), T.RandomApply([T.RandomInvert(1)], p=0), T.ToTensor()]),
    "there and back": T.Compose([T.ToTensor(), T.ToPILImage(), T.Resize((30, 30)), T.ToTensor(), T.ToPILImage()]),
    "nothing": T.Compose([]),
    "own functions": T.Compose([T.Lambda(lambda x: x.convert("RGB")), lambda x: ImageOps.mirror(x), composes.Solarize(),
                                lambda x: x.filter(ImageFilter.GaussianBlur(1.3)), lambda x: x.crop((3, 5, 33, 40)),
                                lambda x: x.resize((21, 23)), lambda x: ImageOps.posterize(x, 2), T.ToTensor()]),
    "preset": PresetOwn(),
    "sequential": torch.nn.Sequential(T.Resize((32, 33)), torch.nn.Identity(), T.CenterCrop(20)),
    "fixed angle": T.Compose([T.RandomRotation((30, 30), interpolation=B, fill=9), T.ToTensor()]),
    "fixed affine": T.RandomAffine((15, 15), scale=(1.2, 1.2), shear=(5, 5, -3, -3), fill=3),
    # torch draws in f32: numbers that are whole there.
    "bicubic warps": T.Compose([T.RandomRotation((30, 30), interpolation=C, fill=9), T.RandomAffine((-15, -15), scale=(1.25, 1.25), interpolation=C),
                                T.RandomRotation((200, 200), C, expand=True), T.CenterCrop(40), T.ToTensor()]),
    "a fill for each channel": T.Compose([T.Pad((1, 2), fill=(1, 200, 3)), T.RandomRotation((30, 30), B, fill=(9, 0, 255)), T.RandomInvert(1),
                                          T.RandomAffine((15, 15), interpolation=C, fill=[3, 4, 0]), T.RandomAffine((-9, -9), fill=(0, 7, 7)), T.ToTensor()]),
    "cut to fills": T.Compose([T.Pad(3, fill=(1, 2, 3)), T.RandomCrop((HEIGHT + 10, WIDTH + 14), padding=(4, 2), fill=(5, 6, 7)),
                               T.RandomCrop((HEIGHT + 10, WIDTH + 14), pad_if_needed=True, fill=(9, 6, 7)), T.ToTensor()]),
    "fixed colours": T.ColorJitter((1.3, 1.3)),
    **{f"colours of tensors: {name}": T.Compose([T.PILToTensor(), *colours]) for name, colours in COLOURS(T).items()},
}


class MaybeToTensor(T.ToTensor):
    """In the style of timm: a subclass whose own call is the function."""

    def __call__(self, image):
        return image if isinstance(image, torch.Tensor) else F.to_tensor(image)


class Squashed(T.Resize):
    """Does something of its own, and then what its class does."""

    def forward(self, image):
        return super().forward(image.convert("RGB"))


def in_place(image):
    tensor = F.to_tensor(image)
    F.normalize(tensor, [0.5, 0.4, 0.3], [0.1, 0.2, 0.3], inplace=True)
    return tensor


#: Functions of torchvision's that a script calls itself.
FUNCTIONS = {
    "of a subclass": T.Compose([T.Resize(40, interpolation=C), T.CenterCrop(32), MaybeToTensor(), STATS]),
    "of a base class": T.Compose([Squashed((20, 24), C), T.ToTensor()]),
    "to_tensor, normalize": lambda x: F.normalize(F.to_tensor(x), (0.5, 0.4, 0.3), std=(0.1, 0.2, 0.3)),
    "by name": lambda x: to_tensor(x), # noqa: PLW0108: it is called within
    "in place": in_place,
    "bytes": lambda x: F.convert_image_dtype(image=F.pil_to_tensor(pic=x)),
    "resize": lambda x: F.to_tensor(F.resize(x, [20, 24])),
    "resize the shorter side": lambda x: F.to_tensor(F.resize(img=x, size=21, interpolation=C, max_size=23)),
    "crop and pad": lambda x: F.pad(F.center_crop(F.to_tensor(F.pad(x, [1, 2, 3, 4], fill=7)), [30]), [2], padding_mode="reflect"),
    "flips": lambda x: F.vflip(F.hflip(F.pil_to_tensor(F.hflip(x)))),
    "there and back": lambda x: F.to_pil_image(F.to_tensor(F.resize(x, (30, 31)))),
    "of a grey image": lambda x: F.normalize(F.to_tensor(x.convert("L")), [0.5], [0.25]),
    "a constant of its own": lambda x: F.pad(F.to_tensor(x), [int(F.to_tensor(Image.new("L", (2, 2), 255)).sum())]),
}


class Evaluation(unittest.TestCase):
    def test_functions_that_a_script_calls_itself(self):
        for number, (name, transform) in enumerate(FUNCTIONS.items()):
            images = pictures(20, number)
            with self.subTest(name):
                found, = transformed(transform, images).values()
                self.assertTrue(numpy.array_equal(found, expected(transform, images)))

    def test_chains_without_chance_have_torchvisions_bits(self):
        compared = 0
        for number, (name, transform) in enumerate(EVALUATION.items()):
            images = pictures(50, number)
            with self.subTest(name):
                found, = transformed(transform, images).values()
                self.assertTrue(numpy.array_equal(found, expected(transform, images)))
                compared += len(images)
        self.assertGreaterEqual(compared, 1000)

    def test_pillows_blur_of_any_radius(self):
        images = pictures(4)
        for radius in (0.0, 2.0, 3.7, 10.0):
            blur = T.Lambda(lambda x: x.filter(ImageFilter.GaussianBlur(radius))) # noqa: B023
            found, = transformed(blur, images).values()
            self.assertTrue(numpy.array_equal(found, expected(blur, images)), radius)

    def test_colours_of_tensors_come_in_any_order(self):
        versions = [(T, F, [T.PILToTensor()])]
        if importlib.util.find_spec("torchvision.transforms.v2"):
            import torchvision.transforms.v2 as v2
            versions.append((v2, v2.functional, [v2.ToImage()]))
        amounts = {"brightness": 1.3, "contrast": 0.7, "saturation": 1.6, "hue": 0.1}
        images = pictures(40)
        for M, functions, start in versions: # noqa: N806
            for names in (list(amounts), ["brightness", "contrast"]):
                jitter = M.ColorJitter(**{name: (amounts[name], amounts[name]) for name in names})
                found, = transformed(T.Compose([*start, jitter]), images).values()
                orders = collections.Counter()
                for image, made in zip(images, found):
                    for order in itertools.permutations(names):
                        x = torch.from_numpy(image).permute(2, 0, 1).contiguous()
                        for name in order:
                            x = getattr(functions, f"adjust_{name}")(x, amounts[name])
                        if numpy.array_equal(x, made):
                            orders[order] += 1
                            break
                self.assertEqual(sum(orders.values()), len(images))
                self.assertGreater(len(orders), 2 ** len(names) - 3)

    def test_resizes_of_tensors_are_within_their_bound(self):
        images = pictures(20)
        for transform in (T.Compose([T.ToTensor(), T.Resize((30, 90))]),
                          T.Compose([T.ToTensor(), T.Resize((30, 90), antialias=True)]),
                          T.Compose([T.ToTensor(), T.Resize((70, 20), interpolation=C, antialias=True)])):
            found, = transformed(transform, images).values()
            self.assertLess(abs(found - expected(transform, images)).max(), 1e-5)

    def test_views_are_outputs(self):
        images = pictures(4)
        ones = [T.Compose([T.Resize((20, 20)), T.ToTensor()]), T.Compose([T.CenterCrop(10), T.ToTensor()])]
        found = transformed(Views(*ones), images)
        self.assertEqual(list(found), ["image0", "image1"])
        for transform, array in zip(ones, found.values()):
            self.assertTrue(numpy.array_equal(array, expected(transform, images)))
        self.assertEqual(list(transformed(lambda x: {"a": ones[0](x), "b": x}, images)), ["image_a", "image_b"])


def down_first(image, height, width, filter):
    """Resized as Pillow does from version 13 on, by any version."""
    if filter != Image.NEAREST and height < image.height and image.height - height > 2 * (image.width - width):
        image = image.resize((image.width, height), filter)
    elif filter != Image.NEAREST:
        image = image.resize((width, image.height), filter)
    return image.resize((width, height), filter)


class TallImages(unittest.TestCase):
    """Pillow 13 resizes some of them down first."""

    def test_the_order_of_passes_is_that_of_the_pillow_that_is_there(self):
        source = {**SOURCE, "source": "raw(image = column(images, u8[h = 120, w = 40, c = rgb]))"}
        images = numpy.random.default_rng(5).integers(0, 256, (3, 120, 40, 3), dtype=numpy.uint8)
        both = 0
        for resize, height, width, filter in (
                (T.Resize((32, 32)), 32, 32, Image.BILINEAR), (T.Resize((100, 20), interpolation=C), 100, 20, Image.BICUBIC),
                (T.Resize((101, 20)), 101, 20, Image.BILINEAR), (T.Resize((60, 70)), 60, 70, Image.BILINEAR),
                (T.Resize((130, 90)), 130, 90, Image.BILINEAR), (T.Resize((32, 32), interpolation=N), 32, 32, Image.NEAREST),
                (T.Resize(24), 72, 24, Image.BILINEAR), (T.Resize(30, max_size=40), 40, 13, Image.BILINEAR),
                (lambda image: image.resize((30, 30), Image.LANCZOS), 30, 30, Image.LANCZOS)):
            with mock.patch.object(PIL, "__version__", "13.0.0"):
                found = transformed(T.Compose([resize, T.Grayscale(3), T.PILToTensor()]), images, **source)["image"]
            wanted = numpy.stack([F.pil_to_tensor(F.to_grayscale(down_first(Image.fromarray(image), height, width, filter), 3)) for image in images])
            self.assertTrue((found == wanted).all(), (height, width, filter))
            as_here = transformed(T.Compose([resize, T.Grayscale(3), T.PILToTensor()]), images, **source)["image"]
            here = numpy.stack([F.pil_to_tensor(F.to_grayscale(resize(Image.fromarray(image)), 3)) for image in images])
            self.assertTrue((as_here == here).all(), (height, width, filter))
            both += (found != as_here).any()
        self.assertTrue(both > 3 or int(PIL.__version__.split(".")[0]) >= 13, "the images tell the orders apart")


class Chance(unittest.TestCase):
    """Counts of 2,000 samples, within five standard deviations; the draws are the same in each run."""
    COUNT = 2000

    def samples(self, transform, **options):
        """The same picture, transformed as often."""
        self.image = pictures(1)[0]
        found, = transformed(transform, numpy.repeat(self.image[None], self.COUNT, 0), **options).values()
        return found

    def assertShare(self, hits, p, name=""):
        share = numpy.mean(hits)
        self.assertLess(abs(share - p), 5 * (p * (1 - p) / len(hits)) ** 0.5 + 1e-9, f"{name} {share} for {p}")

    def shares(self, found, expected):
        """Each sample is one of these; how many are which."""
        match = numpy.array([(found == one).reshape(len(found), -1).all(1) for one in expected])
        self.assertTrue((match.sum(0) == 1).all())
        return match

    def test_flips_and_their_probabilities(self):
        found = self.samples(T.Compose([T.RandomHorizontalFlip(0.3), T.RandomVerticalFlip(0.6)]))
        x = self.image
        for hits, p in zip(self.shares(found, [x, x[:, ::-1], x[::-1], x[::-1, ::-1]]), (0.28, 0.12, 0.42, 0.18)):
            self.assertShare(hits, p)

    def test_crops_lie_anywhere_equally_often(self):
        found = self.samples(T.RandomCrop((HEIGHT, WIDTH), padding=2, padding_mode="edge"))
        large = numpy.pad(self.image, ((2, 2), (2, 2), (0, 0)), "edge")
        all_ = [large[y:y + HEIGHT, x:x + WIDTH] for y in range(5) for x in range(5)]
        for hits in self.shares(found, all_):
            self.assertShare(hits, 1 / 25)

    def test_pad_if_needed_pads_all_that_is_missing_on_both_sides(self):
        found = self.samples(T.RandomCrop((HEIGHT + 2, WIDTH), pad_if_needed=True, fill=5))
        large = numpy.pad(self.image, ((2, 2), (0, 0), (0, 0)), constant_values=5)
        for hits in self.shares(found, [large[y:y + HEIGHT + 2] for y in range(3)]):
            self.assertShare(hits, 1 / 3)

    def test_applied_chosen_and_ordered(self):
        x = self.image if hasattr(self, "image") else pictures(1)[0]
        invert, flip = T.RandomInvert(1), T.RandomHorizontalFlip(1)
        found = self.samples(T.RandomApply([invert, flip], p=0.2))
        for hits, p in zip(self.shares(found, [x, 255 - x[:, ::-1]]), (0.8, 0.2)):
            self.assertShare(hits, p)
        found = self.samples(T.RandomChoice([invert, flip, T.RandomVerticalFlip(1)], p=[0.5, 0.3, 0.2]))
        for hits, p in zip(self.shares(found, [255 - x, x[:, ::-1], x[::-1]]), (0.5, 0.3, 0.2)):
            self.assertShare(hits, p)
        with self.assertRaisesRegex(UnknownTransform, "its weights are all 0"):
            compile_transforms(T.RandomChoice([invert, flip], p=[0, 0.0]))
        solarize = T.RandomSolarize(100, p=1)
        found = self.samples(T.RandomOrder([solarize, T.RandomPosterize(2, p=1)]))
        one, two = (numpy.asarray(f(Image.fromarray(x))) for f in (
            lambda i: ImageOps.posterize(ImageOps.solarize(i, 100), 2), lambda i: ImageOps.solarize(ImageOps.posterize(i, 2), 100)))
        for hits in self.shares(found, [one, two]):
            self.assertShare(hits, 0.5)

    def test_own_classes_with_chance(self):
        found = self.samples(T.Compose([composes.SolarizeSometimes(0.2)]))
        for hits, p in zip(self.shares(found, [self.image, numpy.asarray(ImageOps.solarize(Image.fromarray(self.image)))]),
                           (0.8, 0.2)):
            self.assertShare(hits, p)

        def three(image): # by one number, narrowed twice
            drawn = composes.random.random()
            if drawn < 0.3:
                return image
            elif 2 * drawn > 1.4:
                return ImageOps.mirror(image)
            return ImageOps.flip(image)
        found = self.samples(three)
        x = self.image
        for hits, p in zip(self.shares(found, [x, x[:, ::-1], x[::-1]]), (0.3, 0.3, 0.4)):
            self.assertShare(hits, p)

    def test_numbers_that_are_drawn_have_their_range(self):
        cases = {(0.4, 1.6): T.ColorJitter(brightness=(0.4, 1.6)), (-0.2, 0.1): T.ColorJitter(hue=(-0.2, 0.1)),
                 (-20, 10): T.RandomRotation((-20, 10)), (0.1, 2.0): composes.BlurBetween(),
                 (0.5, 1.5): lambda x: x.filter(ImageFilter.GaussianBlur(0.5 + composes.numpy.random.rand()))}
        for (low, high), transform in cases.items():
            text = compile_transforms(transform, **SOURCE)
            with penstock.load(text, columns={"image": numpy.repeat(pictures(1), 400, 0)}, cache="") as loader:
                drawn = numpy.sort([draw for i in range(400) for draw in loader.sample(i).draws.values()])
            self.assertEqual(len(drawn), 400)
            even = low + (high - low) * (numpy.arange(400) + 0.5) / 400
            self.assertLess(abs(drawn - even).max(), 0.1 * (high - low)) # Kolmogorov and Smirnov: 0.1 is 1 in 3,000

    def test_erasing_with_zeros_colours_and_noise(self):
        for value in (0, (0.1, 0.2, 0.3), "random"):
            found = self.samples(T.Compose([T.ToTensor(), T.RandomErasing(0.4, (0.1, 0.2), (0.5, 2.0), value)]))
            changed = found != (self.image.astype(numpy.float32) / 255).transpose(2, 0, 1)
            places = changed.any(1)
            self.assertShare(places.any((1, 2)), 0.4, value)
            area = places.sum((1, 2))[places.any((1, 2))] / (HEIGHT * WIDTH)
            self.assertTrue(0.08 < area.min() < 0.115 and 0.185 < area.max() < 0.22, (area.min(), area.max()))
            values = found.transpose(0, 2, 3, 1)[places]
            if value == "random":
                self.assertLess(abs(values.mean()) + abs(values.std() - 1), 0.02)
                self.assertLess(abs(numpy.corrcoef(values.T) - numpy.eye(3)).max(), 0.02) # each channel its own
            else:
                self.assertTrue((values == numpy.float32(value)).all())


class Draws(unittest.TestCase):
    """With the draws put in by hand, torchvision's functions give the same bits."""

    def compare(self, transform, by_hand, count=100):
        images = pictures(count, seed=7)
        with penstock.load(compile_transforms(transform, **SOURCE), columns={"image": images}, cache="") as loader:
            for position in range(count):
                sample = loader.sample(position)
                draws = {path.partition("image_of_row/")[2]: value for path, value in sample.draws.items()}
                wanted = numpy.asarray(by_hand(Image.fromarray(images[sample.row]), draws))
                self.assertTrue(numpy.array_equal(numpy.asarray(sample["image"]), wanted), (position, draws))

    def test_crop_colours_flip_and_affine(self):
        def by_hand(image, drawn):
            image = F.crop(image, *(int(drawn[f"random_resized_crop/crop_box/{side}"]) for side in
                                    ("top", "left", "height", "width")))
            for size in ((24, image.height), (24, 24)): # across first, which Pillow from 13 on does not always do
                image = image.resize(size, Image.BILINEAR)
            adjust = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
            for step in range(4):
                arm = int(drawn["color_jitter/jittered/jitter_step/choose arm" + (f"#{step}" if step else "")])
                image = adjust[arm](image, drawn["color_jitter/uniform" + (f"#{arm}" if arm else "")])
            image = F.hflip(image) if drawn["flip if chance"] else image
            angle, dx, dy, scale, shear, _ = (drawn["random_affine/uniform" + (f"#{i}" if i else "")] for i in range(6))
            return F.affine(image, angle, [round(dx), round(dy)], scale, [shear, 0.0], fill=4)
        self.compare(T.Compose([T.RandomResizedCrop(24), T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomHorizontalFlip(),
                                T.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5, fill=4)]), by_hand)

    def test_blur_rotation_and_erasing(self):
        def by_hand(image, drawn):
            if drawn["random_pillow_blur if chance"]:
                image = image.filter(ImageFilter.GaussianBlur(drawn["random_pillow_blur/uniform"]))
            tensor = F.to_tensor(F.rotate(image, drawn["random_rotation/uniform"], B))
            box = [int(drawn[f"erase/erase_box/{side}"]) for side in ("top", "left", "height", "width")]
            return F.erase(tensor, *box, 0.25) if drawn["erase if chance"] and box[2] else tensor
        self.compare(T.Compose([composes.BlurSometimes(), T.RandomRotation(20, interpolation=B), T.ToTensor(),
                                T.RandomErasing(value=0.25)]), by_hand)


class Unknown(unittest.TestCase):
    """Each is told with its name and the reason."""

    def refuse(self, transform, name, reason, **options):
        with self.assertRaises(UnknownTransform) as caught:
            compile_transforms(transform, **options)
        self.assertTrue(caught.exception.transform.endswith(name), caught.exception)
        self.assertRegex(caught.exception.reason, reason)

    def test_arguments_that_are_not_offered(self):
        inner = lambda *ts: T.Compose([T.ToTensor(), T.Compose(ts)]) # noqa: E731
        for transform, name, reason in [
                (inner(T.Pad(2, fill=(0.1, 0.2, 0.3))), "Pad", "a fill for each channel"),
                (T.AutoAugment(fill=[1.0, 2.0, 3.0]), "AutoAugment", "a fill for each channel"),
                (T.RandomRotation(5, center=(0, 0)), "RandomRotation", "a center of its own"),
                (T.RandomRotation(5, interpolation=T.InterpolationMode.BOX), "RandomRotation", "box is not offered for warps"),
                (T.GaussianBlur((3, 5)), "GaussianBlur", "not as wide as high"),
                (T.FiveCrop(5), "FiveCrop", "five images"), (T.AugMix(), "AugMix", "Dirichlet"),
                (T.Compose([T.PILToTensor(), STATS]), "Normalize", "takes a float tensor"),
                (inner(T.Normalize((0.5, 0.5), (0.5, 0.5))), "Normalize", "2 means for 3 channels"),
                (inner(T.Resize((9, 9), interpolation=C, antialias=False)), "Resize", "other weights"),
                (inner(T.ColorJitter(0.4)), "ColorJitter", "u8 tensors of three channels only"),
                (inner(T.RandomInvert()), "RandomInvert", "Pillow images only"),
                (T.Compose([T.PILToTensor(), T.RandomAutocontrast()]), "RandomAutocontrast", "Pillow images only"),
                (T.Compose([T.Grayscale(), T.PILToTensor(), T.ColorJitter(0.4)]), "ColorJitter", "three channels"),
                (inner(T.ConvertImageDtype(torch.uint8)), "ConvertImageDtype", "uint8 is not offered"),
                *((T.Pad(*padding), "Pad", reason) for padding, reason in (((-3,), "negative"), (((-3, -2, -1, -4),), "negative"), ((2, 300), "300 is no byte"),
                                                                           ((2, -4), "-4 is no byte"), ((2, (1, 2, 300)), "300 is no byte"))),
                (T.RandomCrop(9, padding=-2), "RandomCrop", "negative"), (T.RandomRotation(4, fill=256), "RandomRotation", "256 is no byte"),
                (T.RandAugment(fill=-1), "RandAugment", "-1 is no byte"),
                (T.RandomOrder([T.RandomInvert()] * 4), "RandomOrder", "too many orders"),
                (T.RandomApply([T.ToTensor()]), "RandomApply", "something else")]:
            self.refuse(transform, name, reason)

    def test_what_a_function_of_the_scripts_own_does(self):
        random, np = composes.random, numpy
        blur = lambda x, r: x.filter(ImageFilter.GaussianBlur(r)) # noqa: E731

        def twice(x):
            r = random.uniform(0, 1)
            return blur(blur(x, r), r)

        def hidden(x, draw=random.random):
            return x if draw() < 0.5 else ImageOps.mirror(x)

        def counts(x, seen=[]): # noqa: B006
            seen.append(0)
            return blur(x, len(seen))
        for function, reason in [
                (lambda x: x.rotate(5), "Pillow's rotate"), (lambda x: x.resize((x.width, 4)), "the size"),
                (lambda x: np.array(x), "reads the pixels"), (lambda x: blur(x, random.gauss(9, 0.1)), "cannot be followed"),
                (lambda x: blur(x, -1), "radius from -1"),
                (lambda x: blur(x, random.uniform(0, 1) ** 2), "in a way that cannot be followed"),
                (lambda x: blur(x, np.random.uniform(0, 1, 2)[0]), "several numbers at once"),
                (twice, "twice"), (hidden, "cannot be followed"), (counts, "something else each time"),
                (lambda x: 3, "returns a int"), (lambda x: x.filter(ImageFilter.FIND_EDGES), "FIND_EDGES"),
                (lambda x: x if random.random() < 0.5 else T.ToTensor()(x), "different things"),
                (lambda x: x["image"], "something else than an image")]:
            self.refuse(T.Compose([function]), function.__qualname__, reason)
        for function, name, reason in [
                (lambda x: F.normalize(x, [0.5], [0.5]), "Normalize", "takes a float tensor"), (lambda x: F.to_tensor(F.to_tensor(x)), "ToTensor", "and this is a tensor"),
                (lambda x: F.convert_image_dtype(F.pil_to_tensor(x), torch.float16), "ConvertImageDtype", "not float16"),
                (lambda x: F.pad(x, [-1]), "Pad", "a negative padding"), (lambda x: F.resize(x, random.uniform(3, 9)), "<lambda>", "a number that it drew"),
                (lambda x: F.normalize(F.to_tensor(x)), "<lambda>", "missing a required argument: 'mean'")]:
            self.refuse(T.Compose([function]), name, reason)

    def test_nothing_is_left_changed(self):
        state = composes.random.getstate(), torch.get_rng_state().tolist()
        calls, functions, named = [cls.__call__ for cls in (torch.nn.Module, T.Compose, T.ToTensor)], dict(vars(F)), to_tensor
        self.refuse(T.Compose([FUNCTIONS["by name"], composes.Lighting()]), "Lighting", "tensor")
        self.assertEqual((vars(F), to_tensor), (functions, named))
        self.refuse(T.Compose([composes.SolarizeSometimes(0.5), T.ToTensor(), composes.Lighting()]), "Lighting", "tensor")
        self.assertEqual(state, (composes.random.getstate(), torch.get_rng_state().tolist()))
        self.assertEqual(calls, [cls.__call__ for cls in (torch.nn.Module, T.Compose, T.ToTensor)])
        self.assertIsInstance(T.Compose([T.ToTensor()])(Image.new("RGB", (2, 2))), torch.Tensor)


class Corpus(unittest.TestCase):
    # Transforms that stay unknown, and a part of the reason: the truth, by hand.
    REASONS = {"OnSample": "takes something else", "CropBySize": "asks for the size",
               "BlurArray": "reads the pixels", "RandAugmentOwn": "reads the pixels",
               "Lighting": "computes on a tensor", "TensorJitter": "computes on a tensor",
               "Lambda": "computes on a tensor",
               "ColorJitter": "u8 tensors of three channels only", "GaussianBlur": "Pillow images only",
               "RandomRotation": "Pillow images only", "RandomGrayscale": "Pillow images only"}

    def test_85_of_100_expressions_are_fully_supported(self):
        unknown, checked, total = collections.Counter(), set(), 0
        for names, transform, takes_tensor in composes.draw(seed=1):
            total += 1
            try:
                text = compile_transforms(transform, **(ON_TENSORS if takes_tensor else SOURCE))
            except UnknownTransform as error:
                last = error.transform.split(".")[-1]
                with self.subTest(names):
                    self.assertRegex(error.reason, self.REASONS.get(last, "^there is none for this class$"), f"{last} in {names}")
                unknown[f"{last}: {error.reason}"] += 1
                continue
            if text not in checked:
                checked.add(text)
                with self.subTest(names):
                    penstock.Program(text.encode(), names, {}, check_only=True, cache="")
        self.assertGreaterEqual(total, 300)
        self.assertLessEqual(sum(unknown.values()), 0.15 * total, unknown)
        print(f"{total - sum(unknown.values())} of {total} expressions ({len(checked)} texts)", dict(unknown))


class Table(unittest.TestCase):
    def test_the_page_is_current(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        done = subprocess.run([sys.executable, root / "scripts/torchvision-table", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        print(done.stdout.strip())

    def test_a_class_is_known_or_not(self):
        self.assertFalse(set(_known.TABLE) & set(_known.NONE))


@unittest.skipUnless(importlib.util.find_spec("torchvision.transforms.v2"), "this torchvision has no transforms.v2")
class SecondVersion(unittest.TestCase):
    """torchvision.transforms.v2, whose attributes have other forms and which multiplies by 1/255."""

    def test_what_it_makes_of_images(self):
        import torchvision.transforms.v2 as v2
        images = pictures(20)
        floats = (v2.ToImage(), v2.ToDtype(torch.float32, scale=True))
        for transform in (v2.Compose([v2.Resize(None, max_size=40), v2.Resize(None, max_size=61, interpolation=C), *floats]),
                          v2.Compose([lambda x: x.crop((0, 0, 20, 48)), v2.Resize(None, max_size=9), *floats]),
                          v2.Compose([v2.Pad(2, fill=(1, 2, 3)), v2.RandomRotation((9, 9), C, fill={Image.Image: [3, 2, 1], "others": [3, 2, 1]}), *floats]),
                          v2.Compose([v2.Resize(40), v2.CenterCrop(32), *floats, v2.Normalize(*composes.STATS[0]), v2.ToPureTensor()]),
                          v2.Compose([v2.PILToTensor(), v2.ConvertImageDtype(torch.float32), v2.RandomVerticalFlip(1)]),
                          v2.Compose([v2.ToImage(), v2.ToDtype(torch.uint8, scale=True), v2.Pad(3, fill={torch.Tensor: 9, "others": 9})]),
                          v2.Compose([*floats, v2.CenterCrop(20), v2.ToPILImage(), v2.Grayscale(3)]),
                          v2.Compose([v2.RandomHorizontalFlip(1), v2.Grayscale(1), *floats, v2.Normalize([0.5], [0.25])])):
            found, = transformed(transform, images).values()
            self.assertTrue(numpy.array_equal(found, expected(transform, images)), transform)

    def test_functions_that_a_script_calls_itself(self):
        import torchvision.transforms.v2 as v2
        from torchvision.transforms.v2 import functional as V

        class Squashed(v2.Resize):
            def forward(self, image):
                return super().forward(image)
        registries = [dict(registry) for registry in V._utils._KERNEL_REGISTRY.values()]
        functions, images = dict(vars(V)), pictures(20)
        for transform in (lambda x: V.normalize(V.to_dtype(V.to_image(x), torch.float32, scale=True), [0.5, 0.4, 0.3], [0.1, 0.2, 0.3]),
                          lambda x: V.to_dtype(to_image(resize_v2(x, [20, 24], C)), scale=True), lambda x: V.convert_image_dtype(V.pil_to_tensor(V.resize(x, [21]))),
                          lambda x: V.pad(V.center_crop(V.to_image(V.pad(x, [1, 2], fill=7)), 20), [3]), lambda x: V.horizontal_flip(V.vflip(V.to_image(V.hflip(x)))),
                          lambda x: V.to_pil_image(V.to_image(V.resize(x, None, max_size=30))), lambda x: V.normalize(V.to_tensor(x), [0.5], [0.5], inplace=True),
                          v2.Compose([Squashed([20, 24]), v2.ToImage()])):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore") # to_tensor is old there
                found, = transformed(transform, images).values()
                self.assertTrue(numpy.array_equal(found, expected(transform, images)), transform)
        self.assertEqual(registries, list(V._utils._KERNEL_REGISTRY.values()))
        self.assertEqual(functions, vars(V))
        with self.assertRaisesRegex(UnknownTransform, "to float32 without scale is not offered"):
            compile_transforms(lambda x: V.to_dtype(V.to_image(x)))

    def test_colours_of_tensors(self):
        import torchvision.transforms.v2 as v2
        images = pictures(50)
        for name, colours in COLOURS(v2).items():
            with self.subTest(name):
                transform = v2.Compose([v2.ToImage(), *colours])
                found, = transformed(transform, images).values()
                self.assertTrue(numpy.array_equal(found, expected(transform, images)))

    def test_its_classes_are_followed_as_the_first_ones(self):
        import torchvision.transforms.v2 as v2
        made = [
            lambda M: M.Resize(20), lambda M: M.Resize((20, 24)), lambda M: M.Resize(20, interpolation=C, max_size=60),
            lambda M: M.CenterCrop(20), lambda M: M.CenterCrop((20, 24)), lambda M: M.Pad(2), lambda M: M.Pad((1, 2)), lambda M: M.Pad((1, 2, 3, 4), 7),
            lambda M: M.Pad(2, padding_mode="reflect"), lambda M: M.RandomCrop(20), lambda M: M.RandomCrop((20, 24), padding=4, fill=9),
            lambda M: M.RandomCrop(20, padding=(1, 2, 3, 4)), lambda M: M.RandomCrop(60, padding=(1, 2), pad_if_needed=True, padding_mode="edge"), lambda M: M.RandomResizedCrop(20),
            lambda M: M.RandomResizedCrop((20, 24), (0.2, 0.9), (0.5, 2), C), lambda M: M.RandomHorizontalFlip(0.3), lambda M: M.RandomVerticalFlip(),
            lambda M: M.RandomRotation(15), lambda M: M.RandomRotation((0, 30), B, fill=3), lambda M: M.RandomAffine(10),
            lambda M: M.RandomAffine((-5, 9), (0.1, 0.2), (0.8, 1.2), 7, B, 5), lambda M: M.RandomAffine(0, shear=(1, 2, 3, 4)),
            lambda M: M.ColorJitter(0.4, 0.4, 0.4, 0.1), lambda M: M.ColorJitter(brightness=(0.5, 0.9)), lambda M: M.ColorJitter(hue=0.2),
            lambda M: M.ColorJitter(0.2, 0, 0.3), lambda M: M.ColorJitter(), lambda M: M.Grayscale(3), lambda M: M.RandomGrayscale(0.2), lambda M: M.GaussianBlur(5),
            lambda M: M.GaussianBlur((7, 7), (0.5, 1)), lambda M: M.GaussianBlur(3, 1.5), lambda M: M.RandomInvert(), lambda M: M.RandomPosterize(3),
            lambda M: M.RandomSolarize(128, 0.2), lambda M: M.RandomAdjustSharpness(2, 0.4), lambda M: M.RandomAutocontrast(), lambda M: M.RandomEqualize(),
            lambda M: M.AutoAugment(), lambda M: M.AutoAugment(T.AutoAugmentPolicy.CIFAR10, B, [4, 4, 4]), lambda M: M.RandAugment(3, 7),
            lambda M: M.TrivialAugmentWide(interpolation=B, fill=2), lambda M: M.RandomApply([M.ColorJitter(0.4, 0.4, 0.4, 0.1)], 0.8),
            lambda M: M.RandomApply(torch.nn.ModuleList([M.CenterCrop(40), M.RandomInvert(0.5)])), lambda M: M.RandomChoice([M.RandomInvert(1), M.RandomEqualize(1)]),
            lambda M: M.RandomChoice([M.RandomInvert(1), M.RandomEqualize(1)], [0.2, 0.8]), lambda M: M.RandomOrder([M.RandomInvert(), M.CenterCrop(30)]),
            lambda M: M.Lambda(lambda image: M.CenterCrop(20)(image)), lambda M: M.PILToTensor(), lambda M: M.ToTensor(),
            lambda M: M.Compose([M.ToTensor(), M.Normalize((0.5, 0.4, 0.3), (0.1, 0.2, 0.3)), M.RandomErasing()]),
            lambda M: M.Compose([M.ToTensor(), M.RandomErasing(0.3, (0.1, 0.2), (0.5, 1.5), (0.1, 0.2, 0.3))]),
            lambda M: M.Compose([M.ToTensor(), M.RandomErasing(value="random")]), lambda M: M.Compose([M.ToTensor(), M.RandomErasing(value=0.5)])]
        named = set(_known.TABLE) - {"ToImage", "ToDtype", "ToPureTensor", "Identity", "ImageClassification", "ConvertImageDtype", "ToPILImage"}
        for make in made:
            first = make(T)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore") # ToTensor is old there
                second = compile_transforms(make(v2))
            self.assertEqual(second, compile_transforms(first), first)
            named -= {name for name in named if name + "(" in repr(first)}
        self.assertEqual(named, set(), "not compared")

    def test_what_only_it_has_and_is_not_offered(self):
        import torchvision.transforms.v2 as v2
        for transform, reason in [(v2.RandomCrop(60, 2, pad_if_needed=True, padding_mode="reflect"), "with reflect"), (v2.ToDtype({torch.Tensor: torch.float32, "others": None}, scale=True), "for each kind"),
                                  (v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32)]), "without scale"), (v2.JPEG((50, 90)), "recompress"),
                                  (v2.Compose([v2.ToImage(), v2.ToDtype(torch.float16, scale=True)]), "not float16")]:
            with self.assertRaises(UnknownTransform) as caught:
                compile_transforms(transform)
            self.assertIn(reason, caught.exception.reason)


if __name__ == "__main__":
    unittest.main()
