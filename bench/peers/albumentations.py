# SPDX-License-Identifier: Apache-2.0
"""Albumentations 2.0.8, the last release under MIT."""

from bench.peers.opencv import loop
from bench.peers.peer import IMAGENET_MEAN, IMAGENET_STD, Peer


def imagenet(job):
    import albumentations
    import cv2
    import numpy
    cv2.setNumThreads(1)
    finish = albumentations.Normalize(IMAGENET_MEAN, IMAGENET_STD)
    train = albumentations.Compose([albumentations.RandomResizedCrop((224, 224)), albumentations.HorizontalFlip(),
                                    finish])
    out = numpy.empty((job["batch"], 3, 224, 224), numpy.float32)

    def opened(path):
        with open(path, "rb") as file:
            image = cv2.imdecode(numpy.frombuffer(file.read(), numpy.uint8), cv2.IMREAD_COLOR)
        return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)

    def one(path, box, flip, to, rng):
        to[:] = train(image=opened(path))["image"].transpose(2, 0, 1)

    def fixed_box(path, box, flip):
        top, left, height, width = box
        image = cv2.resize(opened(path)[top:top + height, left:left + width], (224, 224),
                           interpolation=cv2.INTER_LINEAR)
        return finish(image=image[:, ::-1] if flip else image)["image"].transpose(2, 0, 1)

    return Peer(loop(job, one, out), "f32 CHW", f"albumentations {albumentations.__version__}", fixed_box,
                reason="OpenCV's INTER_LINEAR: no antialias")
