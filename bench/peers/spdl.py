# SPDX-License-Identifier: Apache-2.0
"""SPDL: a thread pipeline over FFmpeg's decoder and scaler."""

import random

from bench.peers.peer import IMAGENET_MEAN, IMAGENET_STD, Peer, random_box


def imagenet(job):
    import numpy
    import spdl.io
    from importlib.metadata import version
    from spdl.pipeline import PipelineBuilder
    rng = random.Random(job["seed"])
    scale = numpy.float32(1 / (255 * numpy.array(IMAGENET_STD)))
    offset = numpy.float32(-numpy.array(IMAGENET_MEAN) / numpy.array(IMAGENET_STD))
    paths = [f"{job['root']}/{path}" for path in job["paths"]]

    def one(path, box=None, flip=None):
        packets = spdl.io.demux_image(path)
        top, left, height, width = box or random_box(rng, packets.width, packets.height)
        flip = rng.random() < 0.5 if flip is None else flip
        steps = [f"crop={width}:{height}:{left}:{top}:exact=1", "scale=224:224:flags=bilinear"]
        steps += ["hflip"] if flip else []
        frames = spdl.io.decode_packets(packets, filter_desc=",".join(steps + ["format=pix_fmts=rgb24"]))
        small = spdl.io.to_numpy(spdl.io.convert_frames(frames))
        image = numpy.empty((3, 224, 224), numpy.float32)
        for channel in range(3):
            numpy.multiply(small[:, :, channel], scale[channel], out=image[channel])
            image[channel] += offset[channel]
        return image

    def slice():
        rng.shuffle(paths)
        builder = PipelineBuilder().add_source(paths).pipe(one, concurrency=job["threads"])
        pipeline = builder.aggregate(job["batch"]).pipe(numpy.stack).add_sink(2).build(num_threads=job["threads"])
        with pipeline.auto_stop():
            batches = pipeline.get_iterator(timeout=60)
            if job.get("torch"):
                import torch
                batches = map(torch.from_numpy, batches)
            return sum(len(batch) for batch in batches)

    slice()
    return Peer(slice, "f32 CHW", f"spdl {version('spdl')}, FFmpeg of Debian", one,
                reason="FFmpeg's decoder, and its scaler works on YUV before the colour conversion")
