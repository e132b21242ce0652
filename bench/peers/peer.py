# SPDX-License-Identifier: Apache-2.0
"""The interface of a peer, and the draws that all peers share."""

import dataclasses
import math
import typing


class Missing(Exception):
    """The peer cannot run here; the text says why."""


@dataclasses.dataclass
class Peer:
    """One contestant, set up and warm, in a process of its own.

    slice()    does one share of the work from a cold start to the last sample
               and returns the number of samples, or (samples, CPU seconds) when
               it measured those itself.
    before()   untimed, right before each slice: fills free-running queues.
    fixed_box  (path, (top, left, height, width), flip) -> CHW array.
    """
    slice: typing.Callable
    output: str
    versions: str
    fixed_box: typing.Optional[typing.Callable] = None
    before: typing.Optional[typing.Callable] = None
    # Why its output differs from Pillow + torchvision; "" demands equal bits.
    reason: str = ""
    note: str = ""
    # Several shares of work by name, each as `slice`, for benches that have parts.
    parts: typing.Optional[dict] = None


IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
CIFAR_MEAN = (0.4914, 0.4822, 0.4465)
CIFAR_STD = (0.2470, 0.2435, 0.2616)


def random_box(random, width, height):
    """torchvision's RandomResizedCrop.get_params, without torch's overhead."""
    area = width * height
    for _ in range(10):
        target = area * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(target * ratio)), round(math.sqrt(target / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    ratio = width / height
    if ratio < 3 / 4:
        w, h = width, round(width / (3 / 4))
    elif ratio > 4 / 3:
        w, h = round(height * (4 / 3)), height
    else:
        w, h = width, height
    return (height - h) // 2, (width - w) // 2, h, w


def batches(items, size):
    for start in range(0, len(items), size):
        yield items[start:start + size]


def cifar_arrays(job):
    import numpy
    images = numpy.fromfile(job["images"], numpy.uint8).reshape(-1, 32, 32, 3)
    labels = numpy.fromfile(job["labels"], numpy.int64)
    return images[:job["count"]], labels[:job["count"]]
