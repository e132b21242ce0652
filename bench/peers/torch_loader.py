# SPDX-License-Identifier: Apache-2.0
"""Batches in a torch loop: torch's own DataLoader, which `penstock accelerate` can be put before, and penstock.torch."""

import atexit
import itertools
import os
import pathlib
import pickle
import shutil
import tempfile

from bench.peers import penstock
from bench.peers.peer import CIFAR_MEAN, CIFAR_STD, IMAGENET_MEAN, IMAGENET_STD, Peer, cifar_arrays

PREFETCH = 2


def versions():
    from bench.peers.torchvision import versions as text
    return text()


def reason_of_pillow():
    """Why outputs may differ from those of Debian's Pillow."""
    import PIL
    newer = int(PIL.__version__.split(".")[0]) > 9
    return "a newer Pillow resizes down first where that is less work, and rounds in between" if newer else ""


def normalized(T, mean, std):
    return [T.ToTensor(), T.Normalize(mean, std)]


def photo_transform(flip=None):
    """The training transform; with `flip` given the same without draws, of the whole image."""
    import torchvision.transforms as T
    first = T.RandomResizedCrop(224) if flip is None else T.Resize((224, 224))
    return T.Compose([first, T.RandomHorizontalFlip(0.5 if flip is None else float(flip)),
                      *normalized(T, IMAGENET_MEAN, IMAGENET_STD)])


def cifar_transform(flip=None):
    import torchvision.transforms as T
    first = [T.RandomCrop(32, padding=4)] if flip is None else [T.Pad(4), T.CenterCrop(32)]
    return T.Compose([*first, T.RandomHorizontalFlip(0.5 if flip is None else float(flip)),
                      *normalized(T, CIFAR_MEAN, CIFAR_STD)])


def temporary_folder(job):
    folder = tempfile.mkdtemp(dir=job["work"])
    atexit.register(shutil.rmtree, folder, True)
    return pathlib.Path(folder)


def folder_of_one(job, path):
    """A class folder with this file alone."""
    folder = temporary_folder(job)
    (folder / "only").mkdir()
    os.link(path, folder / "only" / pathlib.Path(path).name)
    return folder


def write_cifar(folder, images, labels):
    """The files that torchvision.datasets.CIFAR10 reads."""
    import numpy
    base = pathlib.Path(folder) / "cifar-10-batches-py"
    base.mkdir(parents=True, exist_ok=True)
    parts = zip(numpy.array_split(images, 5), numpy.array_split(labels, 5))
    for number, (some, their_labels) in enumerate(parts, 1):
        content = {"data": some.transpose(0, 3, 1, 2).reshape(len(some), -1), "labels": [int(one) for one in their_labels]}
        (base / f"data_batch_{number}").write_bytes(pickle.dumps(content))
    (base / "batches.meta").write_bytes(pickle.dumps({"label_names": [str(number) for number in range(10)]}))
    return folder


def cifar_rows(job, index=None):
    """The first `count` images and labels, or those of one row, five times: a file of CIFAR's is not empty."""
    import numpy
    images, labels = cifar_arrays(job)
    return (images, labels) if index is None else (numpy.repeat(images[[index]], 5, 0), numpy.repeat(labels[[index]], 5))


# --- torch's DataLoader -------------------------------------------------------

class Photos:
    """A data set as people write them."""

    def __init__(self, root, transform):
        self.files = sorted(str(path) for path in pathlib.Path(root).glob("*/*.jpg"))
        self.classes = sorted({pathlib.Path(path).parent.name for path in self.files})
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        from PIL import Image
        with Image.open(self.files[index]) as image:
            pixels = image.convert("RGB")
        return {"image": self.transform(pixels), "label": self.classes.index(pathlib.Path(self.files[index]).parent.name)}


def photo_set(job, root, flip=None):
    from torchvision.datasets import ImageFolder
    return (Photos if job.get("own") else ImageFolder)(str(root), photo_transform(flip))


def cifar_set(job, root, flip=None):
    from torchvision.datasets import CIFAR10, cifar as module
    module.check_integrity = lambda *arguments: True  # the files are ours: other sums than the original's
    return CIFAR10(str(root), transform=cifar_transform(flip))


def data_loader(dataset, job, batch=None):
    import torch
    workers = job["workers"] if batch is None else 0
    return torch.utils.data.DataLoader(dataset, batch_size=batch or job["batch"], shuffle=batch is None,
                                       num_workers=workers, persistent_workers=workers > 0, drop_last=batch is None,
                                       worker_init_fn=lambda _: torch.set_num_threads(1))


def images_of(batch):
    return batch["image"] if isinstance(batch, dict) else batch[0]


def loop(batches):
    """A trainer's loop without its step. Returns the number of samples."""
    samples = 0
    for batch in batches:
        samples += len(images_of(batch))
    return samples


def of_data_loader(job, dataset, fixed_set, **facts):
    """An epoch is a turn: workers, if there are some, stay, and begin with nothing done."""
    import torch
    torch.set_num_threads(1)
    loader = data_loader(dataset, job)

    def fixed_box(path, box, flip):
        return images_of(next(iter(data_loader(fixed_set(path, flip), job, 1))))[0].numpy().copy()

    loop(loader)
    return Peer(lambda: loop(loader), "f32 CHW", versions(), fixed_box, **facts)


def imagenet(job):
    return of_data_loader(
        job, photo_set(job, job["root"]), lambda path, flip: photo_set(job, folder_of_one(job, path), flip),
        reason="" if job.get("accelerated") else reason_of_pillow())


def cifar(job):
    root = write_cifar(temporary_folder(job), *cifar_rows(job))
    return of_data_loader(job, cifar_set(job, root), lambda index, flip: cifar_set(
        job, write_cifar(temporary_folder(job), *cifar_rows(job, int(index))), flip))


# --- penstock.torch -----------------------------------------------------------

def ours(text, job, **options):
    penstock.package()
    import penstock.torch as ours_for_torch
    return ours_for_torch.Loader(text, threads=job.get("threads", 0), prefetch=PREFETCH, cache=job.get("cache"), **options)


def photo_text(flip=None):
    from penstock.torch import compile_transforms
    return compile_transforms(photo_transform(flip), batch="per_rank per rank last drop")


def cifar_text(flip=None):
    from penstock.torch import compile_transforms
    return compile_transforms(
        cifar_transform(flip), source="raw(pixels = column(images, u8[h = 32, w = 32, c = rgb]), label = column(labels, i64))",
        parameters="images: path, labels: path, per_rank: int = 64", image="row.pixels",
        batch="per_rank per rank last drop")


def cifar_columns(job, index=None):
    return dict(zip(("pixels", "label"), cifar_rows(job, index)))


def endless(loader):
    while True:
        yield from loader


def of_ours(job, loader, fixed_loader):
    """A turn is as many batches as an epoch has. Those that are ready or in the making when the clock starts are as
    many as when it stops: PREFETCH of them are taken before."""
    batches = endless(loader)

    def take(count):
        return loop(itertools.islice(batches, count))

    def fixed_box(path, box, flip):
        with fixed_loader(path, flip) as one:
            return images_of(next(iter(one)))[0].numpy().copy()

    take(len(loader))
    return Peer(lambda: take(len(loader)), "f32 CHW", f"penstock {penstock.package().__version__}, {versions()}", fixed_box,
                before=lambda: take(PREFETCH))


def imagenet_ours(job):
    penstock.package()
    return of_ours(job, ours(photo_text(), job, root=job["root"], per_rank=job["batch"]),
                   lambda path, flip: ours(photo_text(flip), job, root=folder_of_one(job, path), per_rank=1))


def cifar_ours(job):
    penstock.package()
    return of_ours(job, ours(cifar_text(), job, columns=cifar_columns(job), per_rank=job["batch"]),
                   lambda index, flip: ours(cifar_text(flip), job, columns=cifar_columns(job, int(index)), per_rank=1))


# --- the first batch ----------------------------------------------------------

def first(job):
    """The first batch of photos in a new process, after torch and torchvision are imported; `ours` or a DataLoader."""
    import torch
    import torchvision.transforms  # noqa: F401
    torch.set_num_threads(1)
    kept = []

    def slice():
        if job["ours"]:
            penstock.package()
            loader = ours(photo_text(), job, root=job["root"], per_rank=job["batch"])
        else:
            loader = data_loader(photo_set(job, job["root"]), job)
        kept.append((loader, next(iter(loader))))
        return job["batch"]

    return Peer(slice, "f32 CHW", versions())
