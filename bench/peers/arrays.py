# SPDX-License-Identifier: Apache-2.0
"""CIFAR without a framework: whole-array NumPy, a compiled loop, and memcpy."""

from bench.peers.peer import CIFAR_MEAN, CIFAR_STD, Peer, batches, cifar_arrays

SLOTS = 4  # batches that stay alive, as a training loop would hold them


def slots(batch):
    import numpy
    return [numpy.zeros((batch, 3, 32, 32), numpy.float32) for _ in range(SLOTS)]


def peer_of(job, labels, fill, fixed, versions, **facts):
    """`fill(rows, dy, dx, flip, out)` makes one batch."""
    import numpy
    rng = numpy.random.default_rng(job["seed"])
    out = slots(job["batch"])

    def slice():
        order = rng.permutation(len(labels))
        for at, rows in enumerate(batches(order, job["batch"])):
            n = len(rows)
            offsets, flip = rng.integers(0, 9, (2, n)), rng.integers(0, 2, n).astype(bool)
            fill(rows, offsets[0], offsets[1], flip, out[at % SLOTS][:n])
            labels[rows]
        return len(labels)

    def fixed_box(index, box, flip):
        fill(numpy.array([int(index)]), numpy.array([box[0]]), numpy.array([box[1]]), numpy.array([flip]), out[0][:1])
        return out[0][0]

    slice()
    return Peer(slice, "f32 CHW", versions, fixed_box if fixed else None, **facts)


def cifar_numpy(job):
    import numpy
    images, labels = cifar_arrays(job)
    padded = numpy.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (32, 32), axis=(1, 2))
    mean, std = (numpy.float32(v).reshape(1, 3, 1, 1) for v in (CIFAR_MEAN, CIFAR_STD))

    def fill(rows, dy, dx, flip, out):
        crops = windows[rows, dy, dx]  # n, c, 32, 32
        crops = numpy.where(flip[:, None, None, None], crops[..., ::-1], crops)
        numpy.divide(crops, numpy.float32(255), out=out)
        out -= mean
        out /= std

    return peer_of(job, labels, fill, True, f"NumPy {numpy.__version__}")


def cifar_numba(job):
    import numba
    import numpy
    images, labels = cifar_arrays(job)
    scale = numpy.float32(1 / (255 * numpy.array(CIFAR_STD)))
    offset = numpy.float32(-numpy.array(CIFAR_MEAN) / numpy.array(CIFAR_STD))

    @numba.njit(cache=True, fastmath=True)
    def kernel(images, rows, dy, dx, flip, scale, offset, out):
        row = numpy.empty(40 * 3, numpy.uint8)
        for at in range(len(rows)):
            image = images[rows[at]]
            for y in range(32):
                row[:] = 0
                source = y + dy[at] - 4
                if source >= 0 and source < 32:
                    for x in range(32):
                        for c in range(3):
                            row[12 + 3 * x + c] = image[source, x, c]
                start = 3 * dx[at]
                for c in range(3):
                    a, b = scale[c], offset[c]
                    if flip[at]:
                        for x in range(32):
                            out[at, c, y, x] = numpy.float32(row[start + 3 * (31 - x) + c]) * a + b
                    else:
                        for x in range(32):
                            out[at, c, y, x] = numpy.float32(row[start + 3 * x + c]) * a + b

    def fill(rows, dy, dx, flip, out):
        kernel(images, rows, dy, dx, flip, scale, offset, out)

    return peer_of(job, labels, fill, True, f"numba {numba.__version__}",
                   reason="one multiplication and addition instead of two divisions")


def cifar_memcpy(job):
    """Copies as many bytes as the chain writes, batch by batch, from one set of
    buffers to another."""
    import numpy
    _, labels = cifar_arrays(job)
    source = [numpy.ones_like(slot) for slot in slots(job["batch"])]
    turn = [0]

    def fill(rows, dy, dx, flip, out):
        turn[0] = (turn[0] + 1) % SLOTS
        numpy.copyto(out, source[turn[0]][:len(out)])

    return peer_of(job, labels, fill, False, f"glibc's memcpy through NumPy {numpy.__version__}",
                   note="reads and writes the output's bytes; no image is touched")
