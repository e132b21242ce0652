# SPDX-License-Identifier: Apache-2.0
"""Loops that a careful person writes around OpenCV, one thread."""

import random

from bench.peers.peer import IMAGENET_MEAN, IMAGENET_STD, Peer, batches, random_box


def loop(job, one, out):
    """Fills batches of `out`'s shape; `one(path, box or None, flip, to)`."""
    rng = random.Random(job["seed"])
    paths = [f"{job['root']}/{path}" for path in job["paths"]]

    def slice():
        rng.shuffle(paths)
        for some in batches(paths, job["batch"]):
            for at, path in enumerate(some):
                one(path, None, rng.random() < 0.5, out[at], rng)
        return len(paths)

    return slice


def imagenet_numpy(job):
    """imdecode, crop, resize, flip, normalise with whole-array operations."""
    import cv2
    import numpy
    cv2.setNumThreads(1)
    scale = numpy.float32(1 / (255 * numpy.array(IMAGENET_STD)))
    offset = numpy.float32(-numpy.array(IMAGENET_MEAN) / numpy.array(IMAGENET_STD))
    out = numpy.empty((job["batch"], 3, 224, 224), numpy.float32)

    def one(path, box, flip, to, rng=None):
        with open(path, "rb") as file:
            image = cv2.imdecode(numpy.frombuffer(file.read(), numpy.uint8), cv2.IMREAD_COLOR)
        top, left, height, width = box or random_box(rng, image.shape[1], image.shape[0])
        small = cv2.resize(image[top:top + height, left:left + width], (224, 224), interpolation=cv2.INTER_LINEAR)
        if flip:
            small = cv2.flip(small, 1)
        # Channel by channel: BGR becomes RGB, HWC becomes CHW and u8 becomes
        # f32 in one pass each.
        for channel in range(3):
            numpy.multiply(small[:, :, 2 - channel], scale[channel], out=to[channel])
            to[channel] += offset[channel]

    def fixed_box(path, box, flip):
        one(path, box, flip, out[0])
        return out[0]

    slice = loop(job, one, out)
    return Peer(slice, "f32 CHW", f"OpenCV {cv2.__version__}, NumPy {numpy.__version__}", fixed_box,
                reason="INTER_LINEAR has no antialias and 11-bit weights")


def imagenet_numba(job):
    """The same with simplejpeg's decoder and a compiled loop at the end."""
    import cv2
    import numba
    import numpy
    import simplejpeg
    cv2.setNumThreads(1)
    scale = numpy.float32(1 / (255 * numpy.array(IMAGENET_STD)))
    offset = numpy.float32(-numpy.array(IMAGENET_MEAN) / numpy.array(IMAGENET_STD))
    out = numpy.empty((job["batch"], 3, 224, 224), numpy.float32)

    @numba.njit(cache=True, fastmath=True)
    def normalise(image, flip, scale, offset, to):
        for row in range(224):
            for channel in range(3):
                a, b = scale[channel], offset[channel]
                if flip:
                    for column in range(224):
                        to[channel, row, column] = numpy.float32(image[row, 223 - column, channel]) * a + b
                else:
                    for column in range(224):
                        to[channel, row, column] = numpy.float32(image[row, column, channel]) * a + b

    def one(path, box, flip, to, rng=None):
        with open(path, "rb") as file:
            image = simplejpeg.decode_jpeg(file.read(), "RGB", fastdct=True, fastupsample=True)
        top, left, height, width = box or random_box(rng, image.shape[1], image.shape[0])
        small = cv2.resize(image[top:top + height, left:left + width], (224, 224), interpolation=cv2.INTER_LINEAR)
        normalise(small, flip, scale, offset, to)

    def fixed_box(path, box, flip):
        one(path, box, flip, out[0])
        return out[0]

    slice = loop(job, one, out)
    slice()
    versions = (f"simplejpeg {simplejpeg.__version__}, OpenCV {cv2.__version__}, numba {numba.__version__}")
    return Peer(slice, "f32 CHW", versions, fixed_box,
                reason="no antialias, fast IDCT, plain upsampling of chroma")
