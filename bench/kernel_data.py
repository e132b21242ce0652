# SPDX-License-Identifier: Apache-2.0
"""Inputs of bench/kernels: decoded images and their draws, by a fixed seed."""

import random

from bench import data
from bench.peers.peer import random_box

# Few enough that inputs and outputs stay in the last cache, as they do behind a
# decoder; cifar is about memory and has one full batch.
COUNTS = {"imagenet": 16, "cifar": 512, "colour": 16}
# Batches that stay alive and are written by turns, as in the runtime: cifar's more than the caches hold.
BATCHES = {"imagenet": 1, "cifar": 4, "colour": 1}


def photos(count, height, width):
    """u8 [count, height, width, 3], cut from the generated JPEG files."""
    import numpy
    from PIL import Image
    folder, held = data.jpegs()
    images = numpy.empty((count, height, width, 3), numpy.uint8)
    for index in range(count):
        with Image.open(folder / held["rows"][index]["path"]) as image:
            images[index] = image.convert("RGB").resize((width, height), Image.BICUBIC)
    return images


def chain_data(chain):
    """(images, rows): what the chain reads and one row of draws per image."""
    import numpy
    rng = random.Random(11)
    count = COUNTS[chain]
    if chain == "cifar":
        path, _ = data.cifar()
        images = numpy.fromfile(path, numpy.uint8, count * 3072).reshape(count, 32, 32, 3)
        rows = [(rng.randint(0, 8), rng.randint(0, 8), rng.randint(0, 1)) for _ in range(count)]
        return images, numpy.array(rows, numpy.int32)
    if chain == "colour":
        rows = [[rng.uniform(0.6, 1.4) for _ in range(3)] for _ in range(count)]
        return photos(count, 224, 224), numpy.array(rows, numpy.float32)
    rows = [(*random_box(rng, 600, 400), rng.randint(0, 1)) for _ in range(count)]
    return photos(count, 400, 600), numpy.array(rows, numpy.int32)
