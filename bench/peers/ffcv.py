# SPDX-License-Identifier: Apache-2.0
"""FFCV: images rewritten once into its own file format."""

import pathlib

from bench.peers.peer import CIFAR_MEAN, CIFAR_STD, IMAGENET_MEAN, IMAGENET_STD, Peer, cifar_arrays


def scaled(values):
    import numpy
    return 255 * numpy.array(values)


def write(path, dataset, count, field):
    """FFCV's writer starts processes that do not always end: it has its own,
    and the file is made once."""
    if path.exists():
        return
    from ffcv.fields import IntField
    from ffcv.writer import DatasetWriter
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    DatasetWriter(str(partial), {"image": field, "label": IntField()}, num_workers=1).from_indexed_dataset(dataset)
    partial.rename(path)


def label_pipeline():
    from ffcv.fields.decoders import IntDecoder
    from ffcv.transforms import Squeeze, ToTensor
    return [IntDecoder(), ToTensor(), Squeeze()]


def loader(path, job, count, image_pipeline):
    import numpy
    import torch
    from ffcv.loader import Loader, OrderOption
    torch.set_num_threads(1)
    return Loader(str(path), batch_size=job["batch"], num_workers=job["threads"], os_cache=True,
                  order=OrderOption.RANDOM, seed=job["seed"], drop_last=False,
                  indices=numpy.arange(count),
                  pipelines={"image": image_pipeline, "label": label_pipeline()})


def drain(loader):
    return sum(len(batch[1]) for batch in loader)


def imagenet(job, raw=False):
    import numpy
    import PIL.Image
    from importlib.metadata import version
    from ffcv.fields import RGBImageField
    from ffcv.fields.decoders import RandomResizedCropRGBImageDecoder
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
    paths = [f"{job['root']}/{path}" for path in job["all_paths"]]

    class Files:
        def __len__(self):
            return len(paths)

        def __getitem__(self, index):
            with PIL.Image.open(paths[index]) as image:
                return image.convert("RGB"), index

    path = pathlib.Path(job["work"]) / f"ffcv-imagenet-{job['hash']}-{'raw' if raw else 'jpg'}.beton"
    write(path, Files(), len(paths), RGBImageField(write_mode="raw" if raw else "jpg", jpeg_quality=93))
    # All operations of a stage are compiled ones: its loader hangs otherwise.
    batches = loader(path, job, len(job["paths"]), [
        RandomResizedCropRGBImageDecoder((224, 224)), RandomHorizontalFlip(),
        NormalizeImage(scaled(IMAGENET_MEAN), scaled(IMAGENET_STD), numpy.float16),
        ToTensor(), ToTorchImage(convert_back_int16=False)])
    drain(batches)
    note = ("raw pixels: no decoding, three bytes of memory per pixel" if raw else
            "its writer encodes the pixels again, quality 93") + "; no way to give it a box (OpenCV's area filter)"
    return Peer(lambda: drain(batches), "f16 CHW", f"ffcv {version('ffcv')}", note=note)


def imagenet_raw(job):
    return imagenet(job, raw=True)


def cifar(job):
    import numpy
    from importlib.metadata import version
    from ffcv.fields import RGBImageField
    from ffcv.fields.decoders import SimpleRGBImageDecoder
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, RandomTranslate, ToTensor, ToTorchImage
    images, labels = cifar_arrays(dict(job, count=50_000))

    class Arrays:
        def __len__(self):
            return len(images)

        def __getitem__(self, index):
            return images[index], int(labels[index])

    path = pathlib.Path(job["work"]) / "ffcv-cifar.beton"
    write(path, Arrays(), len(images), RGBImageField(write_mode="raw"))
    batches = loader(path, job, job["count"], [
        SimpleRGBImageDecoder(), RandomHorizontalFlip(), RandomTranslate(padding=4),
        NormalizeImage(scaled(CIFAR_MEAN), scaled(CIFAR_STD), numpy.float32), ToTensor(), ToTorchImage()])
    drain(batches)
    return Peer(lambda: drain(batches), "f32 CHW", f"ffcv {version('ffcv')}",
                note="no way to give it a crop; its table holds the same values in f64, rounded once")
