# SPDX-License-Identifier: Apache-2.0
"""NVIDIA DALI's CPU back end."""

from bench.peers.peer import CIFAR_MEAN, CIFAR_STD, IMAGENET_MEAN, IMAGENET_STD, Peer, cifar_arrays

QUEUE = 2


def scaled(values):
    return [255 * value for value in values]


def endless(loader):
    while True:
        yield from loader


def peer_of(pipeline, count, batch, iterator=None, **facts):
    """DALI runs ahead by QUEUE batches: those are taken before the clock starts,
    and as many are on their way when it stops."""
    import nvidia.dali

    # Its iterator for PyTorch copies each batch into tensors.
    step = pipeline.run if iterator is None else lambda: next(iterator)

    def take(batches):
        for _ in range(batches):
            step()

    def slice():
        take(count // batch)
        return count // batch * batch

    take(QUEUE)
    return Peer(slice, "f32 CHW", f"DALI {nvidia.dali.__version__}", before=lambda: take(QUEUE), **facts)


def imagenet(job):
    import numpy
    from nvidia.dali import fn, pipeline_def, types
    paths = [f"{job['root']}/{path}" for path in job["paths"]]
    options = dict(batch_size=job["batch"], num_threads=job["threads"], device_id=None, prefetch_queue_depth=QUEUE)
    finish = dict(dtype=types.FLOAT, output_layout="CHW", mean=scaled(IMAGENET_MEAN), std=scaled(IMAGENET_STD))

    @pipeline_def(seed=job["seed"], **options)
    def train():
        encoded, label = fn.readers.file(files=paths, random_shuffle=True, name="reader")
        image = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB,
                                              random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3])
        image = fn.resize(image, resize_x=224, resize_y=224, interp_type=types.INTERP_LINEAR)
        return fn.crop_mirror_normalize(image, mirror=fn.random.coin_flip(), **finish), label

    pipeline = train()
    if not job.get("torch"):  # its iterator builds it
        pipeline.build()
    fixed = {}

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def boxed():
        image = fn.decoders.image_slice(
            fn.external_source(lambda: fixed["file"], batch=False),
            fn.external_source(lambda: fixed["at"], batch=False), fn.external_source(lambda: fixed["size"], batch=False),
            device="cpu", output_type=types.RGB, normalized_anchor=False, normalized_shape=False, axis_names="HW")
        image = fn.resize(image, resize_x=224, resize_y=224, interp_type=types.INTERP_LINEAR)
        return fn.crop_mirror_normalize(image, mirror=fn.external_source(lambda: fixed["flip"], batch=False), **finish)

    def fixed_box(path, box, flip):
        fixed.update(file=numpy.fromfile(path, numpy.uint8), at=numpy.array(box[:2], numpy.float32),
                     size=numpy.array(box[2:], numpy.float32), flip=numpy.array(int(flip), numpy.int32))
        pipeline = boxed()
        pipeline.build()
        return pipeline.run()[0].as_array()[0]

    iterator = None
    if job.get("torch"):
        from nvidia.dali.plugin.pytorch import DALIGenericIterator
        iterator = endless(DALIGenericIterator([pipeline], ["image", "label"], auto_reset=True))
    return peer_of(pipeline, len(paths), job["batch"], iterator, fixed_box=fixed_box,
                   reason="its antialiased resize works in floating point with other rounding")


def cifar(job):
    import numpy
    from nvidia.dali import fn, math, pipeline_def, types
    images, labels = cifar_arrays(job)
    batch = job["batch"]
    finish = dict(dtype=types.FLOAT, output_layout="CHW", mean=scaled(CIFAR_MEAN), std=scaled(CIFAR_STD))
    rng = numpy.random.default_rng(job["seed"])
    order = {"rows": rng.permutation(len(images)), "at": 0}

    def source():
        at = order["at"]
        if at + batch > len(images):
            order["rows"], at = rng.permutation(len(images)), 0
        order["at"] = at + batch
        rows = order["rows"][at:at + batch]
        return images[rows], labels[rows, None]

    def chain(image, at, flip):
        image = fn.slice(image, start=at, shape=[32, 32], axes=[0, 1], out_of_bounds_policy="pad", fill_values=0)
        return fn.crop_mirror_normalize(image, mirror=flip, **finish)

    @pipeline_def(batch_size=batch, num_threads=job["threads"], device_id=None, prefetch_queue_depth=QUEUE,
                  seed=job["seed"])
    def train():
        image, label = fn.external_source(source, num_outputs=2, layout=["HWC", "C"])
        at = fn.random.uniform(range=[-4.0, 5.0], shape=[2])
        return chain(image, fn.cast(math.floor(at), dtype=types.INT32), fn.random.coin_flip()), label

    pipeline = train()
    pipeline.build()
    fixed = {}

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def boxed():
        image = fn.external_source(lambda: fixed["image"], batch=False, layout="HWC")
        return chain(image, fn.external_source(lambda: fixed["at"], batch=False),
                     fn.external_source(lambda: fixed["flip"], batch=False))

    def fixed_box(index, box, flip):
        fixed.update(image=images[int(index)], at=numpy.array([box[0] - 4, box[1] - 4], numpy.int32),
                     flip=numpy.array(int(flip), numpy.int32))
        pipeline = boxed()
        pipeline.build()
        return pipeline.run()[0].as_array()[0]

    return peer_of(pipeline, len(images), batch, fixed_box=fixed_box,
                   reason="one multiplication and addition instead of two divisions")
