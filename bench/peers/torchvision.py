# SPDX-License-Identifier: Apache-2.0
"""torchvision: on PIL in a DataLoader, which is what most people run, and its
newer form on tensors."""

import warnings

from bench.peers.peer import CIFAR_MEAN, CIFAR_STD, IMAGENET_MEAN, IMAGENET_STD, Peer, cifar_arrays

warnings.filterwarnings("ignore")


def versions():
    import PIL
    import torch
    import torchvision
    return f"torch {torch.__version__}, torchvision {torchvision.__version__}, Pillow {PIL.__version__}"


class Files:
    """A data set over a list of JPEG files."""

    def __init__(self, job, load):
        self.paths = [f"{job['root']}/{path}" for path in job["paths"]]
        classes = sorted({path.split("/")[0] for path in job["paths"]})
        self.labels = [classes.index(path.split("/")[0]) for path in job["paths"]]
        self.load = load

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.load(self.paths[index]), self.labels[index]


def loader(dataset, job):
    import torch
    workers = job["threads"]
    return torch.utils.data.DataLoader(dataset, batch_size=job["batch"], shuffle=True, num_workers=workers,
                                       persistent_workers=workers > 0,
                                       worker_init_fn=lambda _: torch.set_num_threads(1))


def drain(batches):
    samples = 0
    for images, labels in batches:
        samples += len(labels)
    return samples


def imagenet_pil(job):
    import PIL
    import torch
    from PIL import Image
    from torchvision import transforms
    from torchvision.transforms import functional as F
    torch.set_num_threads(1)
    normalize = [transforms.ToTensor(), transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)]
    train = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), *normalize])
    finish = transforms.Compose(normalize)

    def opened(path):
        with Image.open(path) as image:
            return image.convert("RGB")

    def fixed_box(path, box, flip):
        image = F.resized_crop(opened(path), *box, [224, 224])
        return finish(F.hflip(image) if flip else image).numpy()

    batches = loader(Files(job, lambda path: train(opened(path))), job)
    drain(batches)
    newer = int(PIL.__version__.split(".")[0]) > 9
    return Peer(lambda: drain(batches), "f32 CHW", versions(), fixed_box,
                reason="a newer Pillow resizes down first where that is less work, and rounds in between" if newer else "")


def imagenet_tensors(job):
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as F
    torch.set_num_threads(1)
    finish = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(IMAGENET_MEAN, IMAGENET_STD)])
    train = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), finish])

    def opened(path):
        return decode_jpeg(read_file(path), ImageReadMode.RGB)

    def fixed_box(path, box, flip):
        image = F.resized_crop(opened(path), *box, [224, 224], antialias=True)
        return finish(F.horizontal_flip(image) if flip else image).numpy()

    batches = loader(Files(job, lambda path: train(opened(path))), dict(job, threads=0))
    drain(batches)
    return Peer(lambda: drain(batches), "f32 CHW", versions(), fixed_box,
                reason="its u8 tensor resize has 15-bit weights, Pillow's 22")


def cifar_pil(job):
    import torch
    from PIL import Image
    from torchvision import transforms
    images, labels = cifar_arrays(job)
    train = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(),
                                transforms.ToTensor(), transforms.Normalize(CIFAR_MEAN, CIFAR_STD)])

    class Arrays(torch.utils.data.Dataset):
        def __len__(self):
            return len(labels)

        def __getitem__(self, index):
            return train(Image.fromarray(images[index])), int(labels[index])

    batches = loader(Arrays(), job)
    drain(batches)
    finish = transforms.Compose([transforms.ToTensor(), transforms.Normalize(CIFAR_MEAN, CIFAR_STD)])

    def fixed_box(index, box, flip):
        import numpy
        padded = numpy.pad(images[int(index)], ((4, 4), (4, 4), (0, 0)))[box[0]:box[0] + 32, box[1]:box[1] + 32]
        return finish(Image.fromarray(padded[:, ::-1].copy() if flip else padded.copy())).numpy()

    return Peer(lambda: drain(batches), "f32 CHW", versions(), fixed_box)
