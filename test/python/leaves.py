# SPDX-License-Identifier: Apache-2.0
"""`penstock.accelerate` on data sets of a script's own: its `__getitem__` runs, the images in its samples come from a pipeline."""
import contextlib
import gc
import io
import multiprocessing
import os
import pathlib
import pickle
import random
import re
import sys
import tempfile
import threading
import time
import unittest
import warnings
import weakref
from unittest import mock

try:
    import numpy
    import torch
    import torchvision.transforms as T
    from PIL import Image, ImageFilter, ImageOps
    from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, default_collate
    from torchvision import datasets
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from loops import EVEN, RANDOM, accelerated, array_set, epochs, equal, make_photos
from penstock.accelerate import _files, _lazy, _leaves
from penstock.accelerate._guard import Guard
from penstock.accelerate._iterator import PipelineIterator
from penstock.accelerate._leaves import LeafIterator, composes_in

#: Functions whose results are not the same twice, or that change what is global.
SKIPPED = ("empty|rand|normal|uniform|bernoulli|dropout|exponential|geometric_|cauchy|rrelu|multinomial|set_|resize_|save|seed|cuda|default|"
           "^new$|backends|_c$|dlpack|jit|inductor|compile|import|_unique_state|fill_diagonal|gumbel|data_ptr|fbgemm|has_torch_function|lobpcg|disp|info|^Tensor$|^_")
SMALL = T.Compose([T.Resize(20), T.CenterCrop(16), T.ToTensor()])


class Negative:
    """A transform of tensors, in Python."""

    def __call__(self, x):
        return -x


class Own(Dataset):
    """Files below a folder; `item(self, image, index)` makes the sample."""

    def __init__(self, folder, item=None, transform=EVEN):
        self.files = sorted(str(path) for path in pathlib.Path(folder).rglob("*.*"))
        self.transform, self.small, self.item = transform, SMALL, item

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        image = Image.open(self.files[index])
        if self.item is not None:
            return self.item(self, image, index)
        return {"image": self.transform(image.convert("RGB")), "label": index, "name": os.path.basename(self.files[index]),
                "weight": torch.rand(()), "drawn": random.random(), "array": numpy.float32([index, 1])}


def facts(value):
    """What a result is, with NaN like NaN."""
    if isinstance(value, torch.Tensor) and value.layout != torch.strided:
        value = value.to_dense()
    if isinstance(value, (torch.Tensor, numpy.ndarray)):
        return value.__class__, str(value.dtype), tuple(value.shape), str(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value), *map(facts, value)
    return type(value), value if isinstance(value, (int, float, str)) else None


def with_statement(self, image, index):
    with open(self.files[index], "rb") as file:
        image = Image.open(file).convert("RGB")
    with image:
        width, height = image.size
        return self.transform(image), self.small(image), width / height


def as_it_is(self, image, index):
    return self.transform(image if image.mode == "RGB" else image.convert("RGB")), index


def as_tensors(self, image, index):
    image = image.convert("RGB")
    return torch.as_tensor(self.transform(image)), torch.tensor(self.small(image)), torch.FloatTensor(self.small(image)), index


def half_looked(self, image, index):
    image = image.convert("RGB")
    if index % 2:
        image = image.filter(ImageFilter.SMOOTH)
    return self.transform(image), index


def computed(self, image, index):
    x = self.transform(image.convert("RGB"))
    assert isinstance(x, torch.Tensor)
    return x + 1 if index % 3 else x, x.shape[0], float(torch.mean(x)), torch.stack([x, 2 * x]), x[0]


def looked_first(self, image, index):
    mean = numpy.asarray(image.convert("RGB")).mean()
    image = image.convert("RGB")
    image.load()
    return self.transform(image), mean


def turned(self, image, index):
    return self.transform(ImageOps.exif_transpose(image).convert("RGB").rotate(5)), index


def drafted(self, image, index):
    image.draft("RGB", (20, 20))
    return self.transform(image.convert("RGB")), index


def grey(self, image, index):
    return self.transform(image.convert("L").convert("RGB")), index


def named(self, image, index):
    return {"image": self.transform(image.convert("RGB")), "name": self.files[index]}


def mixed(samples):
    images = torch.stack([sample["image"] for sample in samples])
    share = numpy.random.beta(1, 1)
    return share * images + (1 - share) * images.flip(0), [sample["name"] for sample in samples], torch.randperm(3)


def seeded_twice(self, image, index):
    mask = image.convert("L")
    seed = random.randrange(2 ** 20)
    torch.manual_seed(seed)
    x = self.transform(image.convert("RGB"))
    torch.manual_seed(seed)
    return x, self.transform(mask)


def back_to_a_state(self, image, index):
    x = self.transform(image.convert("RGB")) # a leaf, until the state is asked for
    state = torch.get_rng_state()
    y = self.transform(image.convert("RGB"))
    torch.set_rng_state(state)
    return x, y, self.transform(image.convert("L"))


def skips_damaged(self, image, index):
    try:
        return self.transform(image.convert("RGB")), index
    except OSError:
        return self[index + 1]


def make_photos_with_a_cut_one(folder):
    make_photos(folder, 3)
    cut = pathlib.Path(folder, "ant/0.jpg")
    cut.write_bytes(cut.read_bytes()[:-60])


class Batches(Own):
    """Batches in the order of their indices; a sample knows where in its batch it stands."""

    def __getitems__(self, indices):
        indices.sort()
        return [(self[index], place) for place, index in enumerate(indices)]


class Columns(Own):
    """Batches that are columns, for a `collate_fn` that knows them."""

    def __getitems__(self, indices):
        samples = [self[index] for index in indices]
        return {"image": [sample["image"] for sample in samples], "last": indices[-1]}


def handed_on(self, indices):
    """`Subset.__getitems__` of newer versions of torch."""
    inner = [self.indices[index] for index in indices]
    batches = getattr(self.dataset, "__getitems__", None)
    return batches(inner) if callable(batches) else [self.dataset[index] for index in inner]


class Leaves(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        make_photos(cls.folder, 6)

    def same(self, make, leaves, workers=(0, 2), **options):
        """Equal batches and generators; how many images came by leaves, or whether there were some."""
        for count in workers:
            with self.subTest(workers=count):
                wanted = epochs(lambda: make(count))
                with accelerated(**options) as hook:
                    found = epochs(lambda: make(count))
                for epoch, (one, other) in enumerate(zip(wanted, found)):
                    self.assertTrue(equal(one[0], other[0]), f"epoch {epoch}")
                    self.assertEqual(one[1], other[1], f"generators after epoch {epoch}")
                self.assertEqual(sum(entry.images for entry in hook.report.entries.values()),
                                 leaves[count] if isinstance(leaves, dict) else leaves)
                self.entries = list(hook.report.entries.values())

    def test_samples_of_all_shapes(self):
        for item, leaves in ((None, 36), (with_statement, 72), (as_it_is, 36), (as_tensors, 36), (half_looked, 18), (computed, 0)):
            with self.subTest(getattr(item, "__name__", "dict")):
                data = Own(self.folder, item)
                self.same(lambda workers: DataLoader(data, 4, shuffle=True, num_workers=workers), leaves, compare=1) # noqa: B023

    def test_what_is_looked_at_first_is_as_it_was(self):
        # draft() says how a JPEG file is to be decoded, and nothing of those in PNG and WebP.
        self.same(lambda workers: DataLoader(Own(self.folder, drafted), 4, num_workers=workers), 18)
        for item in (looked_first, turned, grey):
            with self.subTest(item.__name__):
                self.same(lambda workers: DataLoader(Own(self.folder, item), 4, num_workers=workers), 0) # noqa: B023
                _, second = self.entries # the first epoch has shown it
                self.assertIn("looks at its images before a Compose", second.reason)

    def test_collate_functions_and_python_behind(self):
        files = lambda **more: Own(self.folder, **more) # noqa: E731
        self.same(lambda workers: DataLoader(files(item=named), 4, num_workers=workers, collate_fn=mixed, drop_last=True), 32)
        self.same(lambda workers: DataLoader(files(), 4, num_workers=workers, collate_fn=list), 36)
        behind = T.Compose([*EVEN.transforms, Negative()])
        self.same(lambda workers: DataLoader(files(transform=behind), 4, num_workers=workers), 36)

    def test_notes_are_of_what_is_used(self):
        small = lambda self, image, index: self.small(image.convert("RGB")) # noqa: E731
        gray = lambda self, image, index: self.transform(image.convert("L")) # noqa: E731
        behind = T.Compose([*SMALL.transforms, T.Normalize([0.5], [0.5]), Negative()])
        for item, transform, wanted in ((None, EVEN, []), (small, RANDOM, []), # known for images of mode L, too, which there are none of; for none
                                        (gray, behind, ["in Python stay Negative: "]),
                                        (lambda self, image, index: self.transform(image.convert("RGB")), RANDOM, ["num_workers=0: random transforms"])):
            for workers in (0, 2):
                with accelerated() as hook:
                    for _ in range(2):
                        list(DataLoader(Own(self.folder, item, transform), 4, num_workers=workers))
                entry, = hook.report.entries.values()
                self.assertEqual(entry.images, 36)
                wanted = [] if workers and "num_workers=0" in str(wanted) else wanted
                self.assertEqual([note[:len(start)] for note, start in zip(entry.notes, wanted, strict=True)], wanted)

    def test_workers_that_persist_or_are_spawned(self):
        data = Own(self.folder)
        self.same(lambda workers: DataLoader(data, 4, shuffle=True, num_workers=2, persistent_workers=True), 36, (2,))
        wanted = epochs(lambda: DataLoader(data, 9, num_workers=1), 1)
        with accelerated() as hook:
            found = epochs(lambda: DataLoader(data, 9, num_workers=1, multiprocessing_context="spawn"), 1)
        self.assertTrue(equal(wanted[0][0], found[0][0]))
        self.assertEqual([entry.images for entry in hook.report.entries.values()], [18])

    def test_epochs_have_one_session_and_one_set_of_patches(self):
        data = Own(self.folder)
        for options in ({"num_workers": 2, "persistent_workers": True}, {"num_workers": 2}, {}):
            with mock.patch.object(_leaves, "ItemSession", wraps=_leaves.ItemSession) as opened, accelerated():
                loader = DataLoader(data, 4, **options)
                for _ in range(3):
                    list(loader)
            self.assertEqual(opened.call_count, 1, options)
            self.assertEqual(_lazy.patches.users, 0) # in this process

        def patched(self, image, index): # setting attributes of Image for each sample would be a third of a sample's time
            return self.transform(image.convert("RGB")), _lazy.patches.users
        for workers in (0, 1):
            with accelerated():
                held = [users for _, users in DataLoader(Own(self.folder, patched), 1, num_workers=workers)]
            self.assertEqual({int(users) for users in held}, {2})

    def test_arrays_bytes_and_what_is_not_known_of_torchvisions(self):
        def from_array(self, image, index):
            array = numpy.array(image.convert("RGB").resize((40, 50)))
            made = Image.fromarray(array)
            array[:] = 0 # it is the script's own
            return self.transform(made), made.size

        def from_bytes(self, image, index):
            return self.transform(Image.open(io.BytesIO(pathlib.Path(self.files[index]).read_bytes())).convert("RGB"))
        for item in (from_array, from_bytes):
            self.same(lambda workers: DataLoader(Own(self.folder, item), 4, num_workers=workers), 36) # noqa: B023
        other = T.Compose([T.CenterCrop(32), T.ToTensor()])
        self.same(lambda workers: DataLoader(ConcatDataset([array_set(datasets.CIFAR10, EVEN, 9), array_set(datasets.STL10, other, 9)]), 4,
                                             num_workers=workers), 36)
        with accelerated(), self.assertRaises(IndexError):
            list(DataLoader(Subset(array_set(datasets.CIFAR10, EVEN, 9), [3, 95]), 8))

    def test_masks_and_other_grey_images(self):
        def with_mask(self, image, index):
            mask = Image.open(self.files[index]).convert("L")
            return self.transform(image.convert("RGB")), self.small(mask), self.small(image.convert("RGB").convert("L"))

        def opened_grey(self, image, index):
            file = io.BytesIO()
            image.convert("RGB").convert("L").save(file, ("PNG", "JPEG")[index % 2])
            opened = Image.open(file)
            return self.small(opened), self.small(Image.fromarray(numpy.array(opened)))

        def other_modes(self, image, index):
            rgb, found = image.convert("RGB"), []
            for other in (rgb.quantize(8), rgb.convert("RGBA"), rgb.convert("1")):
                file = io.BytesIO()
                other.save(file, "PNG")
                found.append(self.small(Image.open(file).convert("L")))
            return found
        for item, leaves, workers in ((with_mask, 108, (0, 2)), (opened_grey, 72, (0,)), (other_modes, 108, (0,))):
            with self.subTest(item.__name__):
                self.same(lambda count: DataLoader(Own(self.folder, item), 4, num_workers=count), leaves, workers) # noqa: B023
        behind = T.Compose([T.Resize(20), T.CenterCrop(16), T.ToTensor(), T.Normalize([0.5], [0.25]), Negative()])
        self.same(lambda workers: DataLoader(Own(self.folder, lambda self, image, index: self.transform(image.convert("L")), behind), 4,
                                             num_workers=workers), 36, (0,))

    def test_one_batch_of_several_transforms(self):
        def two(self, image, index):
            return (self.transform if index % 2 else self.other)(image.convert("RGB"))
        data = Own(self.folder, two)
        data.other = T.Compose([T.Resize((32, 32)), T.ToTensor()])
        self.same(lambda workers: DataLoader(data, 4, num_workers=workers), 36)

    def test_random_transforms(self):
        data = Own(self.folder, transform=T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()]))
        make = lambda: DataLoader(data, 4, num_workers=2) # noqa: E731
        wanted = epochs(make)
        with accelerated(compare=3):
            one, other = epochs(make), epochs(make)
        self.assertTrue(equal([[batch["image"] for batch in batches] for batches, _ in one],
                              [[batch["image"] for batch in batches] for batches, _ in other]))
        self.assertFalse(equal(one[0][0][0]["image"], one[1][0][0]["image"]))
        self.assertEqual([after for _, after in wanted], [after for _, after in one])
        self.assertEqual([[batch["name"] for batch in batches] for batches, _ in wanted],
                         [[batch["name"] for batch in batches] for batches, _ in one])

    def test_masks_get_the_crop_of_their_image_from_scripts_that_seed(self):
        crop = T.Compose([T.RandomCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])
        for item in (seeded_twice, back_to_a_state):
            # Their draws are the original's, so that what these do to the image is recorded; a second pipeline is made for the second mask.
            self.same(lambda workers: DataLoader(Own(self.folder, item, crop), 4, num_workers=workers), {0: 70, 2: 68}) # noqa: B023
        # An item that draws nothing may come from a pipeline all the same.
        self.same(lambda workers: DataLoader(Own(self.folder, back_to_a_state, SMALL), 4, num_workers=workers), 108)

    def test_a_name_that_another_file_has_later(self):
        """Each sample makes its file, or its name, anew: what was opened counts, and not what has that name when the batch is made."""
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(os.chdir, os.getcwd())
            current = os.path.join(folder, "current.png")
            for i in range(8):
                os.mkdir(f"{folder}/{i}")
                for copy in ("x.png", "y.png"):
                    Image.new("RGB", (40, 40), (i * 10, 0, 0)).save(f"{folder}/{i}/{copy}")
                    os.utime(f"{folder}/{i}/{copy}", (1e9, 1e9)) # of one size and time

            def rewritten(i):
                Image.new("RGB", (40, 40), (i * 10, 0, 0)).save(current)

            def rewritten_with_one_time(i):
                Image.new("RGB", (40, 40), (i * 10, 0, 0)).save(current, "BMP")
                os.utime(current, (1e9, 1e9))

            def linked(i):
                if os.path.lexists(current):
                    os.remove(current)
                os.symlink(f"{folder}/{i}/x.png", current)

            def replaced(i):
                os.link(f"{folder}/{i}/y.png", current + ".new")
                os.replace(current + ".new", current)

            def written_back(i):
                with open(f"{folder}/{i}/x.png", "rb") as file, open(current, "wb") as out:
                    out.write(file.read())
                os.utime(current, (1e9 + i, 1e9 + i))

            def folder_of_its_own(i):
                os.chdir(f"{folder}/{i}")
                return "x.png"

            class Names(Dataset):
                transform = EVEN # of the class

                def __init__(self, name, opened):
                    self.name, self.opened = name, opened

                def __len__(self):
                    return 8

                def __getitem__(self, i):
                    path = self.name(i) or current
                    with open(path, "rb") as file:
                        image = Image.open(file if self.opened else path).convert("RGB")
                    return self.transform(image), i
            # Files that were just written go by their bytes; of the last three all that matters is which file it was.
            for name, just in ((rewritten, 2e9), (rewritten_with_one_time, 2e9), (linked, 2e9), (replaced, 2e9), (written_back, 2e9), (folder_of_its_own, 2e9),
                               (linked, -1), (replaced, -1), (folder_of_its_own, -1)):
                for opened in (False, True):
                    for workers in (0, 1):
                        with self.subTest(name.__name__, just=just, opened=opened, workers=workers), mock.patch.object(_files, "JUST_WRITTEN", just):
                            if os.path.lexists(current):
                                os.remove(current)
                            with accelerated() as hook:
                                found = torch.cat([x[:, 0, 0, 0] for x, _ in DataLoader(Names(name, opened), 4, num_workers=workers)]) # noqa: B023
                            self.assertEqual(((found + 1) * 127.5).round().tolist(), [i * 10.0 for i in range(8)])
                            entry, = hook.report.entries.values()
                            self.assertEqual(entry.reason, "")

    def test_files_that_are_missing_damaged_or_skipped(self):
        data = Own(self.folder)
        data.files[5] = self.folder + "/nowhere.jpg"
        with accelerated():
            for workers in (0, 2):
                with self.assertRaisesRegex(FileNotFoundError, "nowhere.jpg"):
                    list(DataLoader(data, 4, num_workers=workers))

        with tempfile.TemporaryDirectory() as folder:
            make_photos_with_a_cut_one(folder)
            self.same(lambda workers: DataLoader(Own(folder, skips_damaged), 2, num_workers=workers), 14)
            with accelerated(), self.assertRaisesRegex(OSError, "truncated"):
                list(DataLoader(Own(folder), 2))

    def test_a_loop_that_is_left_and_two_at_once(self):
        data = Own(self.folder)
        with accelerated() as hook:
            loader = DataLoader(data, 4)
            one, other = iter(loader), iter(loader)
            self.assertIsInstance(one, LeafIterator)
            next(one), next(one)
            for batch, again in zip(one, list(other)[2:]):
                self.assertEqual(batch["name"], again["name"])
                self.assertTrue(equal(batch["image"], again["image"]))
            for _ in range(2):
                for batch in loader:
                    break
            plan, = hook.plans.values()
        self.assertTrue(equal(batch["image"], torch.stack([data[i]["image"] for i in range(4)])))
        self.assertLessEqual(len(plan.idle), 2)

    def test_batches_that_a_data_set_makes_itself(self):
        loader = lambda data, **options: lambda workers: DataLoader(data, 4, shuffle=True, num_workers=workers, **options) # noqa: E731
        self.same(loader(Batches(self.folder)), 36, compare=1)
        self.same(loader(Batches(self.folder), collate_fn=list), 36)
        self.same(loader(Columns(self.folder), collate_fn=lambda batch: (torch.stack(batch["image"]), batch["last"])), 36)

        class Marked(datasets.CIFAR10):
            def __getitems__(self, indices):
                return [(*self[index], place) for place, index in enumerate(indices)]
        self.same(loader(array_set(Marked, EVEN, 18)), 36)
        with tempfile.TemporaryDirectory() as folder: # the batch is made once more, by the same method
            make_photos_with_a_cut_one(folder)
            self.same(lambda workers: DataLoader(Batches(folder, skips_damaged), 2, num_workers=workers), 14)

    def test_subsets_whose_batches_go_to_their_data_set(self):
        class Doubled(Subset):
            def __init__(self, dataset, indices): # not torch's, of which the newest refuses this class
                self.dataset, self.indices = dataset, indices

            def __getitem__(self, index): # newer versions of torch do not call it
                return super().__getitem__(index), 2
        rows = list(range(1, 17, 2))
        with mock.patch.object(Subset, "__getitems__", handed_on, create=True):
            for data in (Subset(Own(self.folder), rows), Subset(Batches(self.folder), rows), Doubled(Own(self.folder), rows),
                         Subset(Doubled(Own(self.folder), rows), [1, 2, 3, 0, 4, 5, 6, 7])):
                self.same(lambda workers: DataLoader(data, 4, shuffle=True, num_workers=workers), 16, compare=1) # noqa: B023
            with accelerated():
                self.assertIsInstance(iter(DataLoader(Subset(array_set(datasets.CIFAR10, EVEN, 9), rows[:4]), 2)), PipelineIterator)

    def test_workers_that_persist_stop_with_their_loader(self):
        gc.collect()
        gc.disable() # no cycle may keep them
        self.addCleanup(gc.enable)
        for data in (Own(self.folder), array_set(datasets.CIFAR10, EVEN, 9)):
            with accelerated() as hook:
                loader = DataLoader(data, 4, num_workers=2, persistent_workers=True)
                for left in (False, True): # a loop to its end, and one that is left
                    for batch in loader:
                        if left:
                            break
                dropped = weakref.ref(loader._iterator)
                del loader
                self.assertIsNone(dropped())
                self.assertEqual(multiprocessing.active_children(), [])
                self.assertFalse(hook.plans)

    def test_reasons(self):
        class Views:
            def __call__(self, image):
                return image.size
        plain = Own(self.folder, transform=lambda image: torch.zeros(3))
        plain.small = None
        unequal = Own(self.folder, transform=T.Compose([T.Resize(20), T.ToTensor()]))
        unequal.small = None
        unknown = Own(self.folder, transform=T.Compose([Views()]))
        unknown.small = None
        batches = Batches(self.folder, transform=plain.transform)
        batches.small = None
        for data, reason in ((plain, "no torchvision Compose is found in it"), (unequal, "different sizes"),
                             (unknown, "Views: asks for the size"),
                             (batches, "its batches are made by its own __getitems__, and no torchvision Compose is found in it")):
            with accelerated() as hook:
                self.assertNotIsInstance(iter(DataLoader(data, 4)), LeafIterator)
            entry, = hook.report.entries.values()
            self.assertRegex(entry.line(), "untouched: data set .*(Own|Batches): .*" + reason)


class Lazy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = folder.name + "/a.jpg"
        Image.effect_noise((50, 40), 50).convert("RGB").save(self.path)

    def lazy(self):
        with _lazy.traced({(id(EVEN), "RGB"): 0}, guards=[Guard(EVEN)]):
            return Image.open(self.path).convert("RGB")

    def leaf(self, image, transform=EVEN, dtype=torch.float32):
        with _lazy.traced({(id(transform), "RGB"): 0}, guards=[Guard(transform)], kinds=[(False, dtype)]):
            return transform(image)

    def test_an_image_becomes_what_it_stands_for(self):
        whole = Image.open(self.path).convert("RGB")
        for look in (lambda i: numpy.asarray(i).tolist(), lambda i: i.tobytes(), lambda i: i.resize((5, 5)).tobytes() and i.tobytes(), lambda i: i.getpixel((3, 4)),
                     lambda i: i.copy().tobytes() and i.tobytes(), lambda i: i == whole, lambda i: i.convert("HSV").tobytes(), lambda i: pickle.dumps(i),
                     lambda i: i.histogram(), lambda i: ImageOps.posterize(i, 3).tobytes(), lambda i: i.info, lambda i: i.format,
                     lambda i: dict(i.getexif()), lambda i: T.functional.to_tensor(i).tolist()):
            image = self.lazy()
            self.assertIs(type(image), _lazy.LazyImage)
            self.assertIsInstance(image, Image.Image)
            self.assertEqual((image.size, image.width, image.mode), ((50, 40), 50, "RGB"))
            self.assertIs(type(image), _lazy.LazyImage)
            self.assertEqual(look(image), look(whole))
            self.assertIs(type(image), Image.Image)
        with _lazy.traced({}):
            grey = self.lazy().convert("L")
        self.assertEqual((type(grey), grey.size, grey.mode), (_lazy.LazyImage, (50, 40), "L"))
        self.assertEqual(grey.convert("RGB").tobytes(), whole.convert("L").convert("RGB").tobytes())
        self.assertEqual((grey.tobytes(), type(grey)), (whole.convert("L").tobytes(), Image.Image))

    def test_a_leaf_is_used_as_a_tensor(self):
        wanted = EVEN(Image.open(self.path).convert("RGB"))
        for use in (lambda x: x.sum(), lambda x: x + 1, lambda x: 1 - x, lambda x: torch.cat([x, x]), lambda x: x[0, 1:], lambda x: x.shape,
                    lambda x: torch.nn.functional.pad(x, (1, 1)), lambda x: numpy.asarray(x).tolist(), lambda x: len(x), lambda x: -x,
                    lambda x: [row for row in x], lambda x: (x > 0), lambda x: default_collate([x, x]), lambda x: pickle.loads(pickle.dumps(x)),
                    lambda x: T.functional.hflip(x), lambda x: x.dtype, lambda x: T.Normalize(0.1, 0.2)(x)):
            image = self.lazy()
            leaf = self.leaf(image)
            self.assertTrue(_lazy.unseen(leaf))
            self.assertIsInstance(leaf, torch.Tensor)
            self.assertTrue(_lazy.unseen(leaf))
            self.assertTrue(equal(use(leaf), use(wanted)))
            self.assertFalse(_lazy.unseen(leaf))

    def test_a_leaf_is_a_tensor_where_no_class_is_asked(self):
        for transform, dtype in ((EVEN, torch.float32), (T.Compose([T.CenterCrop(20), T.PILToTensor()]), torch.uint8), (EVEN, _lazy.UNKNOWN)):
            wanted = transform(Image.open(self.path).convert("RGB"))
            for use in (torch.tensor, torch.as_tensor, torch.asarray, torch.autograd.Variable,
                        lambda x: x if torch.__version__.startswith("1.") else torch.Tensor(x), # which refuses there what another class computed
                        lambda x: torch.as_tensor(x, dtype=torch.float32), lambda x: torch.as_tensor(x, dtype=torch.uint8),
                        lambda x: torch.tensor(x, dtype=torch.float64), lambda x: torch.ones(1).new_tensor(x), lambda x: torch.ones(2, *x.shape).copy_(x),
                        lambda x: torch.FloatTensor(x) if dtype == torch.float32 else x, 
                        lambda x: torch.ones(1, dtype=x.dtype).new(x) if dtype != _lazy.UNKNOWN else x, lambda x: torch.Tensor.add(x, 1), lambda x: torch.Tensor.add_(x.clone(), x), lambda x: torch.Tensor.__getitem__(x, 0),
                        lambda x: torch.ops.aten.add(x, 1), lambda x: torch.is_complex(torch.as_tensor(x)), lambda x: torch.Tensor.size(x),
                        lambda x: numpy.array(x, dtype=numpy.float64).tolist(), lambda x: numpy.array(x, copy=True).tolist(),
                        lambda x: isinstance(x, torch.FloatTensor) if dtype != _lazy.UNKNOWN else 0):
                self.assertTrue(equal(use(self.leaf(self.lazy(), transform, dtype)), use(wanted)))

    def test_what_is_made_of_a_leafs_class_is_a_tensor(self):
        # As torchvision.tv_tensors.wrap(x, like=leaf) does.
        leaf = self.leaf(self.lazy())
        for look in (lambda x: x, lambda x: x.shape, lambda x: x + 1, torch.as_tensor, lambda x: default_collate([x, x]), lambda x: list(x),
                     lambda x: numpy.asarray(x).tolist(), lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.__class__):
            like = torch.arange(6.0).reshape(2, 3).as_subclass(type(leaf))
            self.assertFalse(_lazy.unseen(like))
            self.assertTrue(equal(look(like), look(torch.arange(6.0).reshape(2, 3))))
        self.assertTrue(_lazy.unseen(leaf))

    def test_a_leaf_in_every_function_of_torch(self):
        """Of one tensor: those that look at its memory without a question would end the process."""
        own = {"__class__", "__dict__", "__delattr__", "__dir__", "__init__", "__init_subclass__", "__new__", "__setattr__", "__sizeof__", "__subclasshook__",
               "__torch_dispatch__", "__torch_function__", "__weakref__", "__module__", "__doc__", "__hash__", "__reduce__", "__reduce_ex__"}
        wanted, called = EVEN(Image.open(self.path).convert("RGB")), 0
        with contextlib.ExitStack() as stack:
            stack.enter_context(_lazy.patches) # once, and not for each leaf
            for place, name in ((place, name) for place in (torch.Tensor, torch, torch.nn.functional, torch.linalg, torch.special, torch.fft, numpy)
                                for name in sorted(set(dir(place)) - own)):
                function = getattr(place, name)
                if not callable(function) or isinstance(function, type) and not name.endswith("Tensor") or re.search(SKIPPED, name):
                    continue
                try:
                    with warnings.catch_warnings(), torch.random.fork_rng():
                        warnings.simplefilter("ignore")
                        expected = function(wanted.clone())
                except Exception: # noqa: BLE001: it wants more than a tensor
                    continue
                with self.subTest(place=place.__name__, name=name), warnings.catch_warnings(), torch.random.fork_rng():
                    warnings.simplefilter("ignore")
                    self.assertEqual(facts(function(self.leaf(self.lazy()))), facts(expected))
                    called += 1
        self.assertGreater(called, 300)

    def test_only_the_thread_that_traces(self):
        before = Image.Image.convert, T.Compose.__call__
        with _lazy.traced({(id(EVEN), "RGB"): 0}, guards=[Guard(EVEN)]):
            found = []
            other = threading.Thread(target=lambda: found.append(type(Image.open(self.path).convert("RGB"))))
            other.start(), other.join()
            self.assertEqual(found, [Image.Image])
        self.assertEqual(before, (Image.Image.convert, T.Compose.__call__))

    def test_composes_are_found_where_scripts_keep_them(self):
        one, other = T.Compose([]), T.Compose([])
        inner = Own.__new__(Own)
        inner.options = {"train": [one]}
        outer = Own.__new__(Own)
        outer.dataset, outer.make, outer.self = inner, lambda image: other(image), outer
        self.assertEqual({id(found) for found in composes_in(outer)}, {id(one), id(other)})
        many = Own.__new__(Own)
        many.samples = [(str(i), i) for i in range(200000)]
        start = time.process_time()
        self.assertEqual(composes_in(many), [])
        self.assertLess(time.process_time() - start, 0.5)


if __name__ == "__main__":
    unittest.main()
