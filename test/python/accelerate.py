# SPDX-License-Identifier: Apache-2.0
"""`penstock.accelerate`: DataLoaders whose batches come from a pipeline have those of the original, or are untouched."""
import contextlib
import io
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

try:
    import numpy
    import torch
    import torchvision.transforms as T
    from PIL import Image
    from torch.utils.data import ConcatDataset, DataLoader, Subset
    from torchvision import datasets
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import penstock.accelerate
from loops import EVEN, RANDOM, accelerated, array_set, cifar, epochs, equal, make_photos, seed_all, states
from penstock.accelerate import _functional, _hook, _lazy, _start
from penstock.accelerate._compare import Differs
from penstock.accelerate._iterator import PipelineIterator

utils = torch.utils.data
TOOL = os.environ.get("PENSTOCK_TOOL")
ROOT = pathlib.Path(__file__).resolve().parents[2]


bad_samples = penstock._c.library.session_bad_samples


def last_record(session, found, count):
    """As of a session that keeps one record of a bad sample: the library keeps 65,536."""
    bad_samples(session, found, count)
    if count._obj.value > 1:
        found._obj.contents = found._obj[count._obj.value - 1]
        count._obj.value = 1


SMALL = T.Compose([T.CenterCrop(8), T.ToTensor()])


class MixesInCollate:
    """Draws from all three generators."""

    def __call__(self, samples):
        x, y = utils.default_collate(samples)
        share, order = numpy.random.beta(1, 1), torch.randperm(len(x))
        return share * x + (1 - share) * x[order], y, y[order], random.random()


class Doubles:
    """Python behind what is compiled; draws, too."""

    def __call__(self, x):
        return 2 * x + torch.rand(1) + random.random()


class MaybeToTensor(T.ToTensor):
    """In the style of timm."""

    def __call__(self, image):
        return image if isinstance(image, torch.Tensor) else T.functional.to_tensor(image)


class Views:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, image):
        return {"views": [transform(image) for transform in self.transforms], "whole": EVEN(image)}


class Pairs(utils.Sampler):
    """A batch sampler that draws as it goes, in batches of several sizes."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        for size in (3, 70, 1, 20):
            yield torch.randint(self.count, (size,)).tolist()

    def __len__(self):
        return 4


class Iterates(DataLoader):
    def __iter__(self):
        for batch in super().__iter__():
            yield batch, "mine"


class Same(unittest.TestCase):
    """Nothing is drawn for pixels, so all is equal: batches, and what was drawn elsewhere."""

    def same(self, make, notes=()):
        for workers in (0, 2):
            with self.subTest(workers=workers):
                wanted = epochs(lambda: make(workers))
                with accelerated() as hook:
                    found = epochs(lambda: make(workers))
                entry, = hook.report.entries.values()
                self.assertEqual(entry.reason, "")
                self.assertGreater(entry.samples, 0)
                for note in notes:
                    self.assertIn(note, " ".join(entry.notes))
                for epoch, (one, other) in enumerate(zip(wanted, found)):
                    self.assertTrue(equal(one[0], other[0]), f"epoch {epoch}")
                    self.assertEqual(one[1], other[1], f"generators after epoch {epoch}")

    def one_loop(self, data, *names, **options):
        with self.subTest(names):
            wanted = list(DataLoader(data, 32, **options))
            with accelerated() as hook:
                self.assertTrue(equal(list(DataLoader(data, 32, **options)), wanted))
            self.assertEqual([entry.reason for entry in hook.report.entries.values()], [""])

    def test_arrays_of_each_kind(self):
        for cls in (datasets.CIFAR10, datasets.CIFAR100, datasets.SVHN, datasets.STL10):
            with self.subTest(cls.__name__):
                self.same(lambda workers: DataLoader(array_set(cls, EVEN), 16, shuffle=True, num_workers=workers)) # noqa: B023
        grey = T.Compose([T.Resize(20), T.ToTensor(), T.Normalize((0.1307,), (0.3081,))])
        for cls in (datasets.MNIST, datasets.FashionMNIST):
            with self.subTest(cls.__name__):
                made = array_set(datasets.MNIST, grey)
                made.__class__ = cls
                self.same(lambda workers: DataLoader(made, 16, shuffle=True, num_workers=workers)) # noqa: B023

    def test_targets_of_any_kind(self):
        plain = [int(target) for target in cifar().targets]
        forms = {"list": list, "tuple": tuple, "array": numpy.array, "tensor": torch.tensor, "floats": lambda found: [float(one) for one in found],
                 "lists": lambda found: [[one, 1] for one in found], "texts": lambda found: list(map(str, found))}
        for cls, name in ((datasets.CIFAR10, "targets"), (datasets.CIFAR100, "targets"), (datasets.MNIST, "targets"), (datasets.SVHN, "labels"),
                          (datasets.STL10, "labels")):
            for form, make in forms.items():
                if form in ("lists", "texts") and name == "labels" or form == "lists" and cls is datasets.MNIST:
                    continue # int() of these is an error, or none
                made = array_set(cls, SMALL)
                setattr(made, name, make(plain))
                self.one_loop(made, cls.__name__, form)
        unlabelled = array_set(datasets.STL10, SMALL)
        unlabelled.labels = None
        self.one_loop(unlabelled, "no labels", collate_fn=list)
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder, 3)
            for make in (tuple, numpy.array):
                made = datasets.ImageFolder(folder, EVEN)
                made.samples = make(made.samples)
                self.one_loop(made, "ImageFolder", make.__name__)

    def test_targets_that_are_missing(self):
        for cls, targets, error in ((datasets.CIFAR10, [], IndexError), (datasets.CIFAR10, None, TypeError), (datasets.CIFAR10, [1] * 40, IndexError),
                                    (datasets.MNIST, torch.tensor([], dtype=torch.int64), IndexError), (datasets.MNIST, None, TypeError)):
            made = array_set(cls, SMALL)
            made.targets = targets
            for hook in (contextlib.nullcontext(), accelerated()):
                with self.subTest(cls.__name__, targets=targets), hook, self.assertRaises(error):
                    list(DataLoader(made, 32))

    def test_files_and_their_names(self):
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder)
            self.same(lambda workers: DataLoader(datasets.ImageFolder(folder, EVEN), 8, shuffle=True, num_workers=workers,
                                                 pin_memory=True))
            os.chdir(folder)
            self.same(lambda workers: DataLoader(datasets.ImageFolder(".", EVEN), 8, num_workers=workers))
            os.chdir("/")

    def test_files_that_only_pillow_reads_or_nobody(self):
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder)
            Image.effect_noise((60, 50), 40).save(f"{folder}/ant/0.jpg", "GIF")
            self.same(lambda workers: DataLoader(datasets.ImageFolder(folder, EVEN), 8, shuffle=True, num_workers=workers))
            with mock.patch.object(penstock._c.library, "session_bad_samples", last_record):
                self.same(lambda workers: DataLoader(datasets.ImageFolder(folder, EVEN), 8, shuffle=True, num_workers=workers))
            pathlib.Path(f"{folder}/ant/1.png").write_bytes(b"no image")
            for workers in (0, 2):
                loader = DataLoader(datasets.ImageFolder(folder, EVEN), 8, num_workers=workers)
                with accelerated(), self.assertRaisesRegex(OSError, "cannot identify image file.*1.png"):
                    list(loader)

    def test_where_no_file_can_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder)
            for path in pathlib.Path(folder).rglob("*.*"):
                Image.effect_noise((60, 50), 40).save(path, "GIF")
            self.same(lambda workers: DataLoader(datasets.ImageFolder(folder, EVEN), 8, shuffle=True, num_workers=workers))

    def test_parts_of_data_sets(self):
        one, other = cifar(), cifar(count=30)
        nested = Subset(ConcatDataset([Subset(one, range(5, 60, 2)), other, one]), [0, 2, 1, 29, 55, 30, 100, 2, 27, 28])
        self.same(lambda workers: DataLoader(nested, 3, shuffle=True, num_workers=workers))
        self.same(lambda workers: DataLoader(utils.random_split(one, [40, 50], torch.Generator().manual_seed(1))[0], 16,
                                             num_workers=workers, drop_last=True))

    def test_samplers(self):
        data = cifar()
        for make in (lambda: utils.RandomSampler(data, replacement=True, num_samples=50),
                     lambda: utils.RandomSampler(data, generator=torch.default_generator, replacement=True, num_samples=70),
                     lambda: utils.WeightedRandomSampler([1.0] * 50 + [0.0] * 40, 40),
                     lambda: utils.SubsetRandomSampler(range(3, 50)),
                     lambda: utils.DistributedSampler(data, 3, 1, seed=5)):
            self.same(lambda workers: DataLoader(data, 8, sampler=make(), num_workers=workers)) # noqa: B023
        self.same(lambda workers: DataLoader(data, batch_sampler=Pairs(90), num_workers=workers))
        self.same(lambda workers: DataLoader(data, 8, sampler=[5, -1, 3, torch.tensor(4), 8], num_workers=workers))
        self.same(lambda workers: DataLoader(data, 8, shuffle=True, generator=torch.Generator().manual_seed(3),
                                             num_workers=workers))

    def test_what_collates_and_transforms_in_python(self):
        self.same(lambda workers: DataLoader(cifar(), 16, shuffle=True, num_workers=workers, collate_fn=MixesInCollate()))
        self.same(lambda workers: DataLoader(cifar(), 16, num_workers=workers, collate_fn=lambda samples: samples))
        self.same(lambda workers: DataLoader(cifar(target_transform=lambda t: t + torch.rand(1)), 16, num_workers=workers))
        rest = T.Compose([T.Resize((20, 24)), T.Compose([T.ToTensor(), Doubles()]), T.Normalize((0.5,), (0.5,))])
        self.same(lambda workers: DataLoader(cifar(rest), 16, num_workers=workers), ["in Python stay Doubles, Normalize: "])
        turned = T.Compose([T.Resize(20), T.Lambda(lambda image: image.rotate(random.random())), T.ToTensor()])
        self.same(lambda workers: DataLoader(cifar(turned), 16, num_workers=workers), ["in Python stay Lambda, ToTensor: "])
        grey = T.Compose([T.Resize(20), T.Lambda(lambda image: image.rotate(9)), T.ToTensor()])
        self.same(lambda workers: DataLoader(array_set(datasets.MNIST, grey), 16, num_workers=workers), ["in Python stay Lambda"])

    def test_functions_of_torchvisions_in_transforms_of_the_scripts_own(self):
        calls = T.Compose([lambda x: T.functional.resize(x, [20, 24]), MaybeToTensor(), lambda x: T.functional.normalize(x, [0.5] * 3, [0.25] * 3)])
        self.same(lambda workers: DataLoader(cifar(calls), 16, num_workers=workers))
        with accelerated() as hook:
            list(DataLoader(cifar(calls), 16))
        self.assertEqual([entry.notes for entry in hook.report.entries.values()], [[]]) # nothing stays in Python

    def test_several_images_of_one(self):
        views = Views(EVEN, T.Compose([T.Resize(8), T.ToTensor()]))
        for options in ({}, {"collate_fn": lambda samples: [s[0]["views"][1] for s in samples]}):
            self.same(lambda workers: DataLoader(cifar(views), 16, num_workers=workers, **options)) # noqa: B023

    def test_workers_that_persist_or_are_spawned(self):
        make = lambda workers: DataLoader(cifar(), 16, shuffle=True, num_workers=workers, persistent_workers=workers > 0, # noqa: E731
                                          multiprocessing_context="spawn" if workers else None)
        wanted = [[batch for batch, _ in epochs(lambda: DataLoader(cifar(), 16, shuffle=True, num_workers=2,
                                                                   persistent_workers=True))]]
        with accelerated():
            found = [[batch for batch, _ in epochs(lambda: make(2))]]
        self.assertTrue(equal(wanted, found))

    def test_loaders_of_a_class_of_ones_own(self):
        self.same(lambda workers: Iterates(cifar(), 16, shuffle=True, num_workers=workers))


class Loops(unittest.TestCase):
    def test_a_loop_that_is_left_and_two_at_once(self):
        for workers in (0, 2):
            with accelerated() as hook:
                loader = DataLoader(cifar(), 8, num_workers=workers)
                one, other = iter(loader), iter(loader)
                next(one), next(one)
                for batch, again in zip(one, list(other)[2:]):
                    self.assertTrue(equal(batch, again))
                for _ in range(3):
                    self.assertIsInstance(iter(loader), PipelineIterator)
                    for k, (images, targets) in enumerate(loader):
                        if k == 2:
                            break
                self.assertEqual(targets.tolist(), cifar().targets[16:24])
                self.assertEqual(len(hook.report.entries), 1)
                plan, = hook.plans.values()
                self.assertLessEqual(len(plan.idle), 1)

    def test_a_sampler_and_a_script_that_draw_from_one_generator(self):
        def draws_between(workers, **options):
            seed_all()
            return [(batch[1].tolist(), torch.rand(1).item()) for batch in
                    DataLoader(cifar(), batch_sampler=Pairs(90), num_workers=workers, **options)]
        for workers, options in ((0, {}), (1, {"prefetch_factor": 1}), (2, {"prefetch_factor": 1})):
            wanted = draws_between(workers, **options)
            with accelerated():
                self.assertEqual(draws_between(workers, **options), wanted)

    def test_a_loop_that_is_left_leaves_the_samplers_generator_where_it_was(self):
        class Own(datasets.CIFAR10):
            def __getitem__(self, index):
                return self.transform(Image.fromarray(self.data[index]))
        for cls, workers in ((datasets.CIFAR10, 0), (Own, 0), (Own, 1)):
            for count in (10, 11): # of these, the last batch asks beyond the last index
                data, found = array_set(cls, EVEN, count), []
                for hook in (contextlib.nullcontext(), accelerated()):
                    generator = torch.Generator().manual_seed(7)
                    loader = DataLoader(data, 5, shuffle=True, generator=generator, num_workers=workers, **({"prefetch_factor": 1} if workers else {}))
                    with hook:
                        for _ in loader:
                            break
                    found.append(generator.get_state().tolist())
                with self.subTest(cls.__name__, workers=workers, count=count):
                    self.assertEqual(*found)

    def test_arrays_that_are_changed_between_epochs(self):
        planes = cifar()
        planes.data = numpy.ascontiguousarray(planes.data.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1) # as torchvision leaves them
        odd = cifar()
        odd.data = numpy.repeat(odd.data, 2, axis=2)[:, :, ::2]
        sets = {"CIFAR": [cifar()], "planes": [planes], "odd strides": [odd], "two": [cifar(), planes], "MNIST": [array_set(datasets.MNIST, T.Compose([T.Resize(20), T.ToTensor()]))],
                "SVHN": [array_set(datasets.SVHN, EVEN)]}
        for name, parts in sets.items():
            with self.subTest(name), accelerated() as hook:
                whole = parts[0] if len(parts) == 1 else ConcatDataset(parts)
                loader = DataLoader(whole, 16)
                for change in range(3):
                    found = torch.cat([images for images, _ in loader])
                    wanted = torch.stack([whole[i][0] for i in range(len(whole))])
                    self.assertTrue(equal(found, wanted), f"change {change}")
                    for part in parts:
                        part.data[change::7] = 255 - part.data[change::7]
                entry, = hook.report.entries.values()
                self.assertEqual(entry.reason, "")
                plan, = hook.plans.values()
                self.assertEqual(len(plan.idle), 1)

    def test_a_relative_root_is_that_of_the_folder_at_hand(self):
        self.addCleanup(os.chdir, os.getcwd())
        with tempfile.TemporaryDirectory() as folder, accelerated():
            for name, level in (("one", 10), ("other", 200)):
                os.makedirs(f"{folder}/{name}/data/kind")
                Image.new("RGB", (40, 40), (level, 0, 0)).save(f"{folder}/{name}/data/kind/x.png")
            os.chdir(f"{folder}/one")
            loader = DataLoader(datasets.ImageFolder("data", EVEN), 1)
            found = []
            for name in ("one", "other", "one"):
                os.chdir(f"{folder}/{name}")
                found.append(round((next(iter(loader))[0][0, 0, 0, 0].item() + 1) * 127.5))
            os.chdir("/")
        self.assertEqual(found, [10, 200, 10])

    def test_a_child_has_sessions_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder, accelerated():
            make_photos(folder, 3)
            for data in (cifar(), datasets.ImageFolder(folder, EVEN)):
                loader = DataLoader(data, 8)
                wanted = sum(float(images.sum()) for images, _ in loader)
                context = multiprocessing.get_context("fork")
                queue = context.SimpleQueue()
                child = context.Process(target=lambda: queue.put(sum(float(images.sum()) for images, _ in loader))) # noqa: B023
                child.start()
                child.join(60)
                self.assertEqual(child.exitcode, 0)
                self.assertEqual(queue.get(), wanted)
                self.assertEqual(sum(float(images.sum()) for images, _ in loader), wanted)

    def test_a_child_goes_on_with_an_iterator(self):
        class Leaves(datasets.CIFAR10):
            def __getitem__(self, index):
                return self.transform(Image.fromarray(self.data[index])), index
        for cls in (datasets.CIFAR10, Leaves):
            loader = DataLoader(array_set(cls, EVEN, 50), 4)
            wanted = [images.sum().item() for images, _ in loader][2:]
            context = multiprocessing.get_context("fork")
            with self.subTest(cls.__name__), accelerated() as hook:
                batches, queue = iter(loader), context.SimpleQueue()
                next(batches), next(batches)
                child = context.Process(target=lambda: queue.put([images.sum().item() for images, _ in batches])) # noqa: B023
                child.start()
                child.join(60)
                self.assertEqual(child.exitcode, 0)
                self.assertEqual(queue.get(), wanted)
                self.assertEqual([images.sum().item() for images, _ in batches], wanted) # this process has its own place
                entry, = hook.report.entries.values()
                self.assertEqual(entry.samples, 50)

    def test_a_transform_that_is_changed_between_epochs(self):
        data = cifar()
        loader = DataLoader(data, 8)
        with accelerated():
            self.assertEqual(next(iter(loader))[0].shape[-1], 32)
            data.transform = T.Compose([T.CenterCrop(20), T.ToTensor()])
            self.assertEqual(next(iter(loader))[0].shape[-1], 20)
            data.targets[0] = 77
            self.assertEqual(next(iter(loader))[1][0], 77)
            data.transform = None
            with self.assertRaises(TypeError): # default_collate's own, of Pillow images
                next(iter(loader))

    def test_data_sets_that_are_changed_within_an_epoch(self):
        """And between two: what the script changes counts at once without workers, and from the next epoch on with them, whose copies it does not reach."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        make_photos(folder)
        other = T.Compose([T.Resize((20, 20)), T.ToTensor()])
        photos = lambda: datasets.ImageFolder(folder, T.Compose([T.Resize((16, 16)), T.ToTensor()]))

        def swap(data):
            data.datasets[1] = Subset(data.datasets[0], list(range(38, -1, -1)))

        def repeat(data):
            data.samples[14:] = data.samples[:1] * 25
        changes = {
            "samples": (photos, repeat), "order": (photos, lambda data: random.Random(1).shuffle(data.samples)),
            "fewer": (photos, lambda data: setattr(data, "samples", data.samples[:39][::-1])),
            "loader": (photos, lambda data: setattr(data, "loader", lambda path: Image.new("RGB", (30, 30), (9, 200, 90)))),
            "transform": (photos, lambda data: setattr(data, "transform", other)),
            "target_transform": (photos, lambda data: setattr(data, "target_transform", lambda target: target + 10)),
            "indices": (lambda: Subset(photos(), list(range(39))), lambda data: data.indices.reverse()),
            "other indices": (lambda: Subset(photos(), list(range(20))), lambda data: setattr(data, "indices", [(i + 9) % 39 for i in data.indices])),
            "one index": (lambda: Subset(photos(), list(range(39))), lambda data: data.indices.__setitem__(20, 3)),
            "inner indices": (lambda: Subset(Subset(photos(), list(range(39))), list(range(30))), lambda data: data.dataset.indices.reverse()),
            "array of indices": (lambda: Subset(photos(), numpy.arange(39)), lambda data: data.indices.__setitem__(slice(None), data.indices[::-1].copy())),
            "parts": (lambda: ConcatDataset([photos(), photos()]), swap),
            "array": (cifar, lambda data: setattr(data, "data", 255 - data.data)),
            "targets": (cifar, lambda data: setattr(data, "targets", data.targets[::-1]))}

        def batches(make, change, workers):
            data = make()
            loader = DataLoader(data, 7, num_workers=workers)
            found = []
            for epoch in range(3):
                for number, batch in enumerate(loader):
                    found.append(batch)
                    if number == 2 and epoch == 0:
                        change(data)
                change(data)
            return found
        for name, (make, change) in changes.items():
            for workers in (0, 2):
                with self.subTest(name, workers=workers):
                    if workers and name == "loader": # a lambda does not go to a worker, but by fork
                        continue
                    wanted = batches(make, change, workers)
                    with accelerated() as hook:
                        self.assertTrue(equal(batches(make, change, workers), wanted))
                        self.assertGreater(sum(entry.samples for entry in hook.report.entries.values()), 20)

    def test_what_draws_is_known_as_such(self):
        for transform in (RANDOM, T.Compose([T.PILToTensor(), T.ColorJitter(0.4, 0.4)]), T.Compose([T.ColorJitter(0.4, 0.4), T.ToTensor()]),
                          T.Compose([T.RandomErasing(), T.ToTensor()][::-1]), T.Compose([T.PILToTensor(), T.RandomGrayscale(0.5)])):
            with accelerated() as hook:
                loader = DataLoader(cifar(transform), 45)
                next(iter(loader))
                self.assertTrue(hook.plans[loader].work.draws, transform)

    def test_draws_are_the_seeds_own_in_each_epoch(self):
        make = lambda: DataLoader(cifar(RANDOM), 45, num_workers=2) # noqa: E731
        with accelerated():
            one, other = epochs(make), epochs(make)
            self.assertTrue(equal([batches for batches, _ in one], [batches for batches, _ in other]))
            self.assertFalse(equal(one[0][0], one[1][0]))
            kept = epochs(lambda: DataLoader(cifar(RANDOM), 45, num_workers=2, persistent_workers=True))
            self.assertFalse(equal(kept[0][0], kept[1][0]))

    def test_random_transforms_leave_the_generators_alone(self):
        with accelerated() as hook:
            seed_all()
            list(DataLoader(cifar(RANDOM), 45))
            seed_all(), torch.empty((), dtype=torch.int64).random_()
            after = states()
            seed_all()
            list(DataLoader(cifar(RANDOM), 45))
            self.assertEqual(states(), after)
        self.assertIn("no longer move torch's generator", str([entry.notes for entry in hook.report.entries.values()]))


class Declined(unittest.TestCase):
    def untouched(self, make, reason):
        loader = make()
        with accelerated() as hook:
            found = iter(loader)
            self.assertNotIsInstance(found, PipelineIterator)
        entry, = hook.report.entries.values()
        self.assertRegex(entry.line(), "untouched: .*" + reason)

    def test_reasons(self):
        class Stream(utils.IterableDataset):
            def __iter__(self):
                return iter(range(3))
        for make, reason in [
                (lambda: DataLoader(cifar(None), 8), "there is no transform"),
                (lambda: DataLoader(cifar(T.Resize(8)), 8), "is a Pillow image"),
                (lambda: DataLoader(cifar(Doubles()), 8), "Doubles: .*"),
                (lambda: DataLoader(cifar(), None), "batch_size=None"),
                (lambda: DataLoader(Stream(), 2), "Stream is an IterableDataset"),
                (lambda: DataLoader(utils.TensorDataset(torch.ones(5)), 2), "TensorDataset: only its own"),
                (lambda: DataLoader(Subset(cifar(), []), 2), "the data set is empty$"),
                (lambda: DataLoader(Subset(cifar(None), [3, 95]), 8), "beyond its data set")]:
            self.untouched(make, reason)
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder, 4)
            unequal = T.Compose([T.Resize(30), T.ToTensor()])
            self.untouched(lambda: DataLoader(datasets.ImageFolder(folder, unequal), 8), "does not compile: .*")
            own = datasets.ImageFolder(folder, unequal, loader=lambda path: Image.open(path).convert("L").convert("RGB"))
            self.untouched(lambda: DataLoader(own, 8), "a loader of its own")

    def test_nothing_of_ours_runs_for_a_batch(self):
        loader = DataLoader(utils.TensorDataset(torch.arange(20)), 2)
        package, ours = os.path.join(os.path.dirname(penstock.__file__), ""), []

        def profile(frame, event, argument):
            if frame.f_code.co_filename.startswith(package):
                ours.append(frame.f_code.co_name)
        with accelerated():
            batches = iter(loader)
            sys.setprofile(profile)
            count = sum(1 for _ in batches)
            sys.setprofile(None)
        self.assertEqual((count, ours), (10, []))


def blue(*arguments, **options):
    return Image.new("RGB", (40, 40), (0, 0, 255))


class Opens(utils.Dataset):
    """Photos of a folder, by leaves."""

    def __init__(self, folder):
        self.photos = datasets.ImageFolder(folder, EVEN)

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, index):
        path, label = self.photos.samples[index]
        with Image.open(path) as image:
            return self.photos.transform(image.convert("RGB")), label


#: What a script may put in the place of what is Pillow's and torchvision's.
PATCHES = [(datasets.folder, "pil_loader", blue), (Image, "open", blue), (Image.Image, "convert", blue), (Image.Image, "resize", blue),
           (T.functional, "to_tensor", lambda image: torch.zeros(3, 32, 32)), (T.functional, "normalize", lambda x, *_, **__: x * 0 + 7),
           (T.functional, "resize", lambda image, *_, **__: image.resize((40, 40), 0)), (T.Compose, "__call__", lambda self, image: torch.ones(3, 4, 4)),
           (T.ToTensor, "__call__", lambda self, image: torch.zeros(3, 32, 32)), (T.Normalize, "forward", lambda self, x: x * 0 + 7),
           (T.CenterCrop, "__call__", lambda self, image: image.crop((0, 0, 32, 32))), (T.functional.resize, "__defaults__", (Image.NEAREST, None, None)),
           (datasets.DatasetFolder, "__getitem__", lambda self, index: (torch.ones(3, 4, 4), 1))]


class Patched(unittest.TestCase):
    """Where a script has replaced what pipelines do the same as, its loaders are left alone."""

    def untouched(self, make, reason):
        for workers in (0, 2):
            loader = DataLoader(make(), 13, num_workers=workers)
            wanted = list(loader)
            with accelerated() as hook:
                self.assertTrue(equal(list(loader), wanted), reason)
            entry, = hook.report.entries.values()
            self.assertRegex(entry.line(), "untouched: .*" + reason)

    def test_functions_methods_and_their_defaults(self):
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder, 4)
            for make in (lambda: datasets.ImageFolder(folder, EVEN), lambda: Opens(folder)):
                for place, name, value in PATCHES:
                    if place.__name__ in ("torchvision.datasets.folder", "DatasetFolder") and isinstance(make(), Opens):
                        continue
                    with self.subTest(place=place, name=name), mock.patch.object(place, name, value):
                        self.untouched(make, rf"\.{place.__name__ if name == '__defaults__' else name} has been (replaced, by|changed)")
                with accelerated() as hook: # all is as it was again
                    list(DataLoader(make(), 13))
                self.assertEqual([entry.reason for entry in hook.report.entries.values()], [""])

    def test_settings(self):
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder, 4)
            for make in (lambda: datasets.ImageFolder(folder, EVEN), lambda: Opens(folder)):
                with mock.patch.object(Image, "MAX_IMAGE_PIXELS", 20000):
                    self.untouched(make, "MAX_IMAGE_PIXELS is 20000, and pipelines read larger images")
                with mock.patch.dict(Image.OPEN, JPEG=(blue, Image.OPEN["JPEG"][1])):
                    self.untouched(make, "images of JPEG are opened by __main__")
                for dtype in (torch.float64, torch.float16):
                    torch.set_default_dtype(dtype)
                    try:
                        self.untouched(make, f"the default dtype is {dtype}, and pipelines make tensors of torch.float32")
                    finally:
                        torch.set_default_dtype(torch.float32)
                with mock.patch.object(Image, "MAX_IMAGE_PIXELS", None), accelerated() as hook: # more than Pillow reads by itself
                    list(DataLoader(make(), 13))
                self.assertEqual([entry.reason for entry in hook.report.entries.values()], [""])

    def test_what_a_worker_replaces(self):
        def init(worker):
            Image.Image.resize = lambda self, size, *_, **__: Image.new("RGB", tuple(size))
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder, 4)
            loader = DataLoader(Opens(folder), 13, num_workers=1, worker_init_fn=init)
            wanted = list(loader)
            with accelerated():
                self.assertTrue(equal(list(loader), wanted))

    def test_before_the_first_loader(self):
        """What was replaced then is not what leaves are made by later."""
        text = """
import sys, torch
from PIL import Image
from torchvision import datasets, transforms as T
from torch.utils.data import DataLoader
class Opens(torch.utils.data.Dataset):
    transform = T.Compose([T.Resize(36), T.CenterCrop(32), T.ToTensor()])
    def __len__(self): return 12
    def __getitem__(self, index): return self.transform(Image.open(files[index % 12]).convert("RGB")), float(index)
files = [path for path, _ in datasets.ImageFolder(sys.argv[1]).samples]
kept = Image.Image.convert, T.functional.to_tensor
Image.Image.convert, T.functional.to_tensor = (lambda self, mode: Image.new("RGB", (40, 40), (0, 0, 255))), (lambda image: torch.zeros(3, 32, 32))
for epoch in range(2):
    print([round(float(images.double().mean()), 6) for images, _ in DataLoader(Opens(), 4)])
    Image.Image.convert, T.functional.to_tensor = kept
"""
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            make_photos(folder, 4)
            script.write(text)
            script.flush()
            done = [subprocess.run([sys.executable, *words, script.name, folder], capture_output=True, text=True)
                    for words in ([], ["-m", "penstock.accelerate", "--compare", "3"])]
        self.assertEqual(done[0].stdout, done[1].stdout, done[1].stderr)
        self.assertIn("convert has been replaced, by __main__.<lambda>", done[1].stderr)
        self.assertRegex(done[1].stderr, "accelerated: 12 samples")


class SetUp(unittest.TestCase):
    """What fails while loaders are set up leaves them as they were."""

    class Own(utils.Dataset):
        def __init__(self, transform=SMALL):
            self.images, self.transform = numpy.random.default_rng(2).integers(0, 256, (9, 20, 20, 3), numpy.uint8), transform

        def __len__(self):
            return len(self.images)

        def __getitem__(self, index):
            return self.transform(Image.fromarray(self.images[index])), index

    def untouched(self, reason):
        wanted = list(DataLoader(self.Own(), 4))
        for workers in (0, 2):
            kept = Image.Image.convert, Image.fromarray, T.Compose.__call__
            with accelerated() as hook:
                self.assertTrue(equal(list(DataLoader(self.Own(), 4, num_workers=workers)), wanted))
            entry, = hook.report.entries.values()
            self.assertRegex(entry.line(), "untouched: it could not be set up: .*" + reason)
            self.assertEqual((Image.Image.convert, Image.fromarray, T.Compose.__call__), kept)

    def test_a_name_that_a_version_does_not_have(self):
        def missing():
            return [(T, "Compose", T.Compose), (T.ToTensor, "no_such_name", None)]
        with mock.patch.object(_lazy, "MORE", [*_lazy.MORE, missing]):
            self.untouched("AttributeError: .*no_such_name")
        with mock.patch.object(_lazy, "MORE", [*_lazy.MORE, lambda: T.no_such_function]):
            self.untouched("no_such_function")
        with accelerated() as hook: # the next one is well
            list(DataLoader(self.Own(), 4))
        self.assertEqual([entry.reason for entry in hook.report.entries.values()], [""])

    def test_a_fault_of_ours(self):
        with mock.patch.object(_hook, "leaf_plan_of", side_effect=ZeroDivisionError("ours")):
            self.untouched("ZeroDivisionError: ours")

    def test_versions_of_the_second_transforms(self):
        """Before torchvision 0.21 `transform` is `_transform`."""
        class Transform:
            def forward(self, value):
                return "original"

        def version(*names):
            to_dtype = type("ToDtype", (Transform,), {name: lambda self, value, params: "converted" for name in names})
            place = types.SimpleNamespace(_get_fill=lambda fills, cls: fills[cls])
            return {"v2": types.SimpleNamespace(Transform=Transform, ToDtype=to_dtype, _utils=place, _geometry=place),
                    "v2_functional": types.SimpleNamespace(pil_to_tensor=len, to_image=len), "v2_kernels": types.SimpleNamespace(_KERNEL_REGISTRY={}),
                    "tv_tensors": types.SimpleNamespace(Image=type("Image", (torch.Tensor,), {}))}
        for names, found in ((["transform"], "transform"), (["_transform"], "_transform"), ([], None)):
            with mock.patch.multiple(_functional, create=True, **version(*names)), contextlib.redirect_stderr(io.StringIO()) as told:
                replaced = _functional._second()
                self.assertEqual([name for place, name, _ in replaced if place is _functional.v2.ToDtype], [found] if found else [])
                self.assertEqual("not followed" in told.getvalue(), found is None)
                self.assertEqual([value(Transform(), 5) for place, name, value in replaced if name == "forward"], ["original"])

    def test_what_cannot_be_installed_is_said(self):
        told = io.StringIO()
        with mock.patch.object(penstock.accelerate, "install", side_effect=AttributeError("no such thing")), contextlib.redirect_stderr(told):
            _start._install(0)
        self.assertIn("nothing is accelerated in this process: AttributeError: no such thing", told.getvalue())


class Compared(unittest.TestCase):
    def test_what_is_equal_passes_and_what_is_not_is_told(self):
        for transform in (EVEN, RANDOM):
            with accelerated(compare=2):
                list(DataLoader(cifar(transform), 8, num_workers=2))
        made = PipelineIterator._target
        try:
            PipelineIterator._target = lambda self, row: made(self, row) + (row == 9)
            with accelerated(compare=1):
                self.assertEqual(len(list(DataLoader(cifar(), 8))), 12) # it is in the second batch
            with accelerated(compare=2), self.assertRaisesRegex(
                    Differs, r"batch 1: batch\[1\] has other values than the original's: 1 of 8, in 1 samples, the first 1"):
                list(DataLoader(cifar(), 8))
        finally:
            PipelineIterator._target = made
        data = cifar()
        with accelerated(compare=1), mock.patch.object(PipelineIterator, "_same", lambda *_: True), self.assertRaisesRegex(
                Differs, r"batch 0: batch\[0\] has other values"):
            loader = DataLoader(data, 8)
            batches = iter(loader)
            data.transform = T.Compose([T.Resize(36), T.CenterCrop(32), T.ToTensor()])
            next(batches)


class Command(unittest.TestCase):
    TRAIN = ROOT / "examples/train.py"

    def run_it(self, *words, **environment):
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_a_script_has_the_names_that_python_gives_it(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/what.py", "w") as file:
                file.write("""import inspect, multiprocessing, os, pickle, sys
def here(): pass
class Thing: pass
if __name__ == "__main__":
    os.chdir("/")
    print(__file__, sys.argv, sys.path[0], __name__, __package__, __spec__, __cached__, __doc__, type(__loader__).__name__, __annotations__)
    print(inspect.getsource(here), inspect.getfile(Thing), here.__code__.co_filename, sys.modules["__main__"].here is here, pickle.loads(pickle.dumps(Thing())))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(here), flush=True)
    raise ValueError("at the end")
""")
            found = [subprocess.run([sys.executable, *words, "what.py", "--a", "b"], capture_output=True, text=True, cwd=folder)
                     for words in ((), ("-m", "penstock.accelerate"))]
            plain, ours = (re.sub("0x[0-9a-f]+", "", done.stdout) for done in found)
            self.assertEqual(plain, ours)
            self.assertIn(folder, plain)
            self.assertEqual([done.returncode for done in found], [1, 1])
            self.assertIn(f'File "{folder}/what.py", line 10, in <module>', found[1].stderr)

    def test_the_example_learns_the_same_and_ranks_are_accelerated(self):
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder)
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = str(free.getsockname()[1])
            words = [str(self.TRAIN), folder, "--epochs", "2", "--batch-size", "8", "--ranks", "2", "--port", port]
            both = self.run_it("-m", "penstock.accelerate", "--compare", "1", *words)
            self.assertRegex(both.stdout, r"epoch 1: loss \d\.\d+, \d+ of 20 right")
            self.assertEqual(len(re.findall(r"train.py:\d+, ImageFolder of 39: accelerated: 40 samples, \d+ samples/s, waited ", both.stderr)), 2,
                             both.stderr)
            plain = self.run_it(*words)
            self.assertEqual(plain.stdout, both.stdout)
            self.assertNotIn("penstock", plain.stderr)

    def test_ranks_load_the_library_before_torchvision_does_its_own(self):
        start = str(ROOT / "api/python/penstock/accelerate/start")
        found = "import sys\nclass Look:\n def find_spec(self, name, *more):\n  if name == 'torchvision': print('penstock' in sys.modules)\n"
        done = self.run_it("-c", found + "sys.meta_path.insert(1, Look())\nimport torchvision", PENSTOCK_ACCELERATE="0",
                           PYTHONPATH=f"{start}:{os.environ['PYTHONPATH']}")
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))
        self.assertEqual(self.run_it("-c", "import sys, json\nprint('penstock' in sys.modules)", PENSTOCK_ACCELERATE="0",
                                     PYTHONPATH=f"{start}:{os.environ['PYTHONPATH']}").stdout, "False\n")

    def test_modules_usage_and_exit_codes(self):
        run = lambda *words: subprocess.run([sys.executable, "-m", "penstock.accelerate", *words], capture_output=True, text=True) # noqa: E731
        self.assertIn("there is no file nowhere.py", run("nowhere.py").stderr)
        done = run("-m", "json.tool", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--sort-keys", done.stdout)

    def test_nothing_to_run_is_told_as_python_does(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("empty", "package", "package/inner"):
                pathlib.Path(folder, name).mkdir()
            pathlib.Path(folder, "package/__init__.py").touch()
            pathlib.Path(folder, "package/inner/__main__.py").write_text("print('inner')\n")
            pathlib.Path(folder, "wrong.py").write_text("import nomodule\n")
            for words in (["-m", "nomodule"], ["-m", "package"], ["-m", "nomodule.inner"], ["-m", "package.none"], ["-m", "package.inner"], ["empty"]):
                plain, ours = (subprocess.run([sys.executable, *run, *words], capture_output=True, text=True, cwd=folder)
                               for run in ([], ["-m", "penstock.accelerate"]))
                self.assertEqual((plain.returncode, plain.stdout, plain.stderr.replace(f"{folder}/", "")), (ours.returncode, ours.stdout, ours.stderr), words)
            done = subprocess.run([sys.executable, "-m", "penstock.accelerate", "-m", "wrong"], capture_output=True, text=True, cwd=folder)
            self.assertIn("line 1, in <module>", done.stderr) # of the script's own, with its traceback

    def test_a_safe_path_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "where.py").write_text("import sys\nprint(sys.path[:2])\n")
            for safe in ("", "1"):
                environment = {**os.environ, "PYTHONSAFEPATH": safe, "PYTHONPATH": f"{folder}/first:{ROOT}/api/python"}
                runs = [[sys.executable], [sys.executable, "-m", "penstock.accelerate"], *([[TOOL, "accelerate"]] if TOOL else [])]
                for words in (["where.py"], ["-m", "where"])[:1 if safe else 2]:
                    plain, *ours = [subprocess.run([*run, *words], capture_output=True, text=True, cwd=folder, env=environment).stdout for run in runs]
                    self.assertIn("first", plain)
                    self.assertEqual(ours, [plain] * len(ours))

    @unittest.skipUnless(TOOL, "no command line")
    def test_the_command_hands_the_script_its_words(self):
        run = lambda *words, **more: subprocess.run([TOOL, "accelerate", *words], capture_output=True, text=True, **more) # noqa: E731
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(sys.executable, f"{folder}/python3")
            path = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            script = pathlib.Path(folder, "words.py")
            script.write_text("import sys\nprint(sys.argv[1:], __name__)\nsys.exit(3)\n")
            done = run("--compare", "2", str(script), "--compare", "x", "[1,2]", "--", "--help", env=path)
            self.assertEqual((done.stdout, done.returncode), ("['--compare', 'x', '[1,2]', '--', '--help'] __main__\n", 3), done.stderr)
            self.assertIn("--sort-keys", run("-m", "json.tool", "--help", env=path).stdout)
            nothing = run(str(script), env={"PATH": "/nowhere"})
            self.assertEqual(nothing.returncode, 1)
            self.assertIn("penstock: error: cannot start `python3`", nothing.stderr)
            pathlib.Path(folder, "penstock").mkdir() # a package of this name that is none of ours
            pathlib.Path(folder, "penstock/__init__.py").touch()
            other = run(str(script), env={**path, "PYTHONPATH": folder})
            self.assertEqual(other.returncode, 1)
            self.assertRegex(other.stderr, "penstock: error: .*python3.* has no package `penstock`\nhint: `pip install .`")
        usage = run()
        self.assertEqual(usage.returncode, 2)
        self.assertIn("which script?", usage.stderr)
        self.assertRegex(run("--help").stdout, r"(?s)--compare N.*-m .*as for python3 -m")


if __name__ == "__main__":
    unittest.main()
