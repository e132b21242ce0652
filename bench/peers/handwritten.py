# SPDX-License-Identifier: Apache-2.0
"""The hand-written SIMD chains of bench/handwritten."""

import time

from bench.peers.peer import Missing, Peer


def kernel(job):
    import numpy
    from bench.handwritten import library as hw
    from bench.kernel_data import BATCHES, chain_data
    library = hw.load()
    isa = job["isa"]
    if isa > library.hw_best_isa():
        raise Missing(f"this CPU has no {hw.ISA_NAMES[isa]}")
    images, rows = chain_data(job["chain"])
    count = len(images)
    plans = order = draws = None
    if job["chain"] == "imagenet":
        out = hw.aligned((count, 3, 224, 224), numpy.float16)
        plans = [hw.ImagenetPlan(library, 600, 400, row[:4].tolist(), row[4]) for row in rows]
        calls = [(library.hw_imagenet_run, (plan.handle, isa, hw.address(image), image.strides[0], hw.address(to)))
                 for plan, image, to in zip(plans, images, out)]
    elif job["chain"] == "colour":
        out = hw.aligned((count, 3, 224, 224), numpy.float16)
        calls = [(library.hw_colour_run, (isa, hw.address(image), *map(float, row), hw.address(to)))
                 for image, row, to in zip(images, rows, out)]
    else:
        out = hw.aligned((BATCHES["cifar"], count, 3, 32, 32), numpy.float32)
        order = numpy.arange(count, dtype=numpy.int64)
        draws = numpy.zeros((count, 4), numpy.uint8)
        draws[:, :3] = rows
        calls = [(library.hw_cifar_run, (isa, hw.address(images), hw.address(order), hw.address(draws), count,
                                         int(job["streaming"]), hw.address(to))) for to in out]
    per_call = count if job["chain"] == "cifar" else 1

    def slice():
        start = time.thread_time()
        for _ in range(job["repeats"]):
            for function, arguments in calls:
                function(*arguments)
        return len(calls) * per_call * job["repeats"], time.thread_time() - start

    slice.kept = (images, rows, plans, order, draws)  # the calls hold bare addresses

    def outputs(path, box, flip):
        slice()
        return out[0] if job["chain"] == "cifar" else out

    return Peer(slice, "as the chain", hw.ISA_NAMES[isa], outputs)
