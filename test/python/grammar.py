# SPDX-License-Identifier: Apache-2.0
"""Scripts from a grammar, under penstock.accelerate and without: data set x sampler x transform x collate x loop x workers.

Each is accelerated, with equal batches (order, targets, shapes, types; pixels where nothing is drawn for them) and equal generators, or
untouched for the reason that it has. `grammar.py COUNT [SEED]`; the seed is the commit, unless said."""
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    import torch
    import torchvision.transforms as T
    from PIL import Image
    from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset, default_collate
    from torchvision import datasets
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from loops import accelerated, array_set, equal, make_photos, seed_all, states

utils = torch.utils.data
STATS = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


class Shifted:
    """A transform of tensors, in Python."""

    def __call__(self, x):
        return x + x.mean()


class Twice:
    def __init__(self, transform):
        self.transform = transform

    def __call__(self, image):
        return [self.transform(image), self.transform(image)]


class Pictures(Dataset):
    """Files of the script's own; `kind` says what a sample is."""

    def __init__(self, folder, transform, kind):
        self.files = sorted(str(path) for path in pathlib.Path(folder).rglob("*.*"))
        self.transform, self.kind = transform, kind

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        with open(self.files[index], "rb") as file:
            image = Image.open(file).convert("RGB")
        if self.kind == "looks":
            mean = numpy.asarray(image).mean()
            return self.transform(image), mean
        if self.kind == "dict":
            return {"image": self.transform(image), "label": index, "name": self.files[index]}
        return self.transform(image), index % 3, float(index)


class Arrays(datasets.CIFAR10):
    """torchvision's, with a `__getitem__` of the script's own."""

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.data[index])), self.targets[index], index


class Batches(utils.Sampler):
    """Draws as it goes."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        for size in (2, 9, 4):
            yield torch.randint(self.count, (size,)).tolist()

    def __len__(self):
        return 3


class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.arange(20))


def mixed(samples):
    return default_collate(samples), numpy.random.rand(2), torch.rand(1)


# Name: (transform, whether it draws; what is not known of it, or None).
TRANSFORMS = {
    "evaluation": (lambda: T.Compose([T.Resize(36), T.CenterCrop(32), T.ToTensor(), STATS]), False, None),
    "fixed size": (lambda: T.Compose([T.Resize((20, 24), interpolation=T.InterpolationMode.BICUBIC), T.ToTensor()]), False, None),
    "colours": (lambda: T.Compose([T.Resize((24, 24)), T.Grayscale(3), T.ToTensor(), STATS]), False, None),
    "cut": (lambda: T.Compose([T.Pad(2), T.CenterCrop(28), T.ToTensor()]), False, None),
    "python behind": (lambda: T.Compose([T.Resize((20, 20)), T.ToTensor(), Shifted(), STATS]), False, None),
    "train": (lambda: T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor(), STATS]), True, None),
    "jitter": (lambda: T.Compose([T.Resize((24, 24)), T.ColorJitter(0.4, 0.4), T.ToTensor()]), True, None),
    "two views": (lambda: Twice(T.Compose([T.RandomCrop(28, pad_if_needed=True), T.ToTensor()])), True, None),
    "first unknown": (lambda: T.Compose([lambda image: image.rotate(10), T.Resize((20, 20)), T.ToTensor()]), False, "Pillow's rotate"),
    "unequal": (lambda: T.Compose([T.Resize(20), T.ToTensor()]), False, "does not compile|different sizes"),
}
# Name: (data set of a folder and a transform; why it is untouched whatever the transform, or None).
DATA = {
    "ImageFolder": (lambda folder, t: datasets.ImageFolder(folder, t), None),
    "Subset": (lambda folder, t: Subset(datasets.ImageFolder(folder, t), list(range(1, 17, 2)) + [3, 3]), None),
    "CIFAR10": (lambda folder, t: array_set(datasets.CIFAR10, t, 24), None),
    "CIFAR100 target_transform": (lambda folder, t: array_set(datasets.CIFAR100, t, 24, lambda target: -target), None),
    "ConcatDataset": (lambda folder, t: ConcatDataset([array_set(datasets.CIFAR10, t, 9), array_set(datasets.CIFAR10, t, 11)]), None),
    "dict": (lambda folder, t: Pictures(folder, t, "dict"), None),
    "tuple": (lambda folder, t: Pictures(folder, t, "tuple"), None),
    "parts of a dict": (lambda folder, t: Subset(Pictures(folder, t, "dict"), range(15, 1, -1)), None),
    "arrays": (lambda folder, t: array_set(Arrays, t, 20), None),
    "looks": (lambda folder, t: Pictures(folder, t, "looks"), None),
    "tensors": (lambda folder, t: TensorDataset(torch.rand(20, 3), torch.arange(20)), "no torchvision Compose is found"),
    "stream": (lambda folder, t: Stream(), "IterableDataset"),
}
ODDS = {"tensors": 0.3, "stream": 0.3, "looks": 0.3, "first unknown": 0.3, "unequal": 0.3}
SAMPLERS = {
    "none": lambda data: {}, "shuffle": lambda data: {"shuffle": True},
    "own generator": lambda data: {"shuffle": True, "generator": torch.Generator().manual_seed(7)},
    "replacement": lambda data: {"sampler": utils.RandomSampler(data, replacement=True, num_samples=13)},
    "weights": lambda data: {"sampler": utils.WeightedRandomSampler(torch.arange(len(data)).double(), 15)},
    "some": lambda data: {"sampler": utils.SubsetRandomSampler(range(2, len(data)))},
    "ranks": lambda data: {"sampler": utils.DistributedSampler(data, 2, 1)},
    "a list": lambda data: {"sampler": [5, 0, 3, 3, 1]},
    "batches": lambda data: {"batch_sampler": Batches(len(data))},
}
COLLATES = {"default": {}, "mixed": {"collate_fn": mixed}, "list": {"collate_fn": list}}
LOOPS = ["epochs", "left early", "iter and next", "made anew"]
WORKERS = [{}, {}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}, {"num_workers": 1, "prefetch_factor": 1}]


class Script:
    """A script: its choices, how it is made, and what should become of it."""

    def __init__(self, rng):
        def one(choices):
            return rng.choices(list(choices), [ODDS.get(name, 1.0) if isinstance(name, str) else 1.0 for name in choices])[0]
        self.data, self.transform, self.sampler, self.collate = one(DATA), one(TRANSFORMS), one(SAMPLERS), one(COLLATES)
        self.loop, self.workers = rng.choice(LOOPS), rng.choice(WORKERS)
        self.options = {"batch_size": rng.choice([2, 4, 5]), "drop_last": rng.random() < 0.3}
        if self.data == "stream":
            self.sampler = "none"
        if self.sampler == "batches":
            self.options = {}
        _, self.draws, unknown = TRANSFORMS[self.transform]
        self.reason = DATA[self.data][1]
        cifar = self.data in ("CIFAR10", "CIFAR100 target_transform", "ConcatDataset")
        if self.data == "arrays" and self.transform == "unequal": # Resize of images of any size, as far as one can tell
            self.transform, (_, self.draws, unknown) = "evaluation", TRANSFORMS["evaluation"]
        if self.reason is None and unknown is not None and not (cifar and self.transform == "unequal"):
            self.reason = unknown
        if self.transform == "unequal" and not cifar and self.collate != "list" and self.data not in ("tensors", "stream"):
            self.transform, (_, self.draws, _), self.reason = "evaluation", TRANSFORMS["evaluation"], None

    def __str__(self):
        return f"{self.data} | {self.transform} | {self.sampler} | {self.collate} | {self.loop} | {self.workers} {self.options}"

    def run(self, folder):
        """The batches that the loop sees, and the states of the generators after each epoch."""
        seed_all()
        data = DATA[self.data][0](folder, TRANSFORMS[self.transform][0]())
        make = lambda: DataLoader(data, **self.options, **SAMPLERS[self.sampler](data), **COLLATES[self.collate], # noqa: E731
                                  **self.workers)
        loader, found = make(), []
        for epoch in range(2):
            if hasattr(loader.sampler, "set_epoch"):
                loader.sampler.set_epoch(epoch)
            if self.loop == "left early":
                for batch in loader:
                    found.append(batch)
                    break
            elif self.loop == "iter and next":
                batches = iter(loader)
                found += [next(batches), len(loader) if self.data != "stream" else 0, *batches]
                del batches
            else:
                found += list(loader)
                if self.loop == "made anew":
                    loader = make()
            found.append(states())
        return found


def shapes(value):
    """The structure, with the type and shape in place of images."""
    if isinstance(value, torch.Tensor) and value.dim() >= 3:
        return str(value.dtype), tuple(value.shape)
    if isinstance(value, dict):
        return {key: shapes(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(shapes, value))
    return value


class Grammar(unittest.TestCase):
    count, seed = 20, None

    def test_scripts(self):
        if self.seed is None:
            commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=os.path.dirname(__file__)).stdout
            Grammar.seed = int(commit[:8] or "0", 16)
        print(f"grammar.py {self.count} {self.seed}")
        rng, outcomes = random.Random(self.seed), collections.Counter()
        with tempfile.TemporaryDirectory() as folder:
            make_photos(folder, 6)
            for number in range(self.count):
                script = Script(rng)
                with self.subTest(f"{number}: {script}"):
                    outcomes[self.check(script, folder)] += 1
        print(dict(outcomes))
        self.assertEqual(sum(outcomes.values()), self.count)
        if self.count >= 100: # of each it is known what should become of it; the share is that of the grammar
            self.assertGreaterEqual(outcomes["accelerated"], 0.8 * self.count, outcomes)

    def check(self, script, folder):
        wanted = script.run(folder)
        with accelerated() as hook:
            found = script.run(folder)
        entries = list(hook.report.entries.values())
        looks = script.data == "looks" and script.reason is None
        if script.reason is not None:
            for entry in entries:
                self.assertRegex(entry.reason, script.reason)
            self.assertTrue(entries)
        elif looks:
            self.assertEqual(sum(entry.images for entry in entries), 0)
        else:
            self.assertEqual([entry.reason for entry in entries], [""])
            self.assertGreater(entries[0].samples, 0)
        untouched = script.reason is not None or looks
        if script.draws and not untouched:
            keep = (lambda batches: batches) if "num_workers" in script.workers else first_epoch
            wanted, found = drawless(shapes(keep(wanted)), script), drawless(shapes(keep(found)), script)
            if script.sampler == "batches" and "num_workers" not in script.workers:
                return "accelerated" # its own draws come after those of the transforms
        if script.loop == "left early" and "persistent_workers" in script.workers:
            # Workers went on with batches that nobody took, and their generators with them.
            wanted, found = drawless(wanted, script), drawless(found, script)
        self.assertTrue(equal(wanted, found), "batches or generators")
        if not untouched:
            return "accelerated"
        return "untouched"


def is_states(value):
    return isinstance(value, tuple) and len(value) == 3 and isinstance(value[1], tuple) and len(value[1]) == 3


def first_epoch(found):
    """Without workers, transforms move the script's own generators, and samplers of later epochs draw from these."""
    return found[:list(map(is_states, found)).index(True)]


def drawless(found, script):
    """Without what `mixed` draws: in a process that transforms draw in, too, these are other numbers."""
    if script.collate != "mixed":
        return found
    return [one[0] if isinstance(one, tuple) and not is_states(one) else one for one in found]


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if re.fullmatch(r"\d+", word)]
    if words:
        Grammar.count, Grammar.seed = int(words[0]), int(words[1]) if len(words) > 1 else None
        del sys.argv[1:]
    unittest.main()
