# SPDX-License-Identifier: Apache-2.0
"""A contact sheet of a loader's first samples, for notebooks."""
from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loader import Loader
    from .outputs import Output

COUNT, GAP = 8, 2


def is_picture(output: Output) -> bool:
    return {"h", "w"} <= set(output.axes) and set(output.axes) <= {"h", "w", "c"} and output.dtype != "bf16"


def as_bytes(output: Output) -> Any:
    """An output as u8[h, w, c]. Floats are spread from black to white."""
    import numpy
    array = numpy.asarray(output)
    axes = list(output.axes)
    if "c" not in axes:
        array, axes = array[..., None], axes + ["c"]
    array = array.transpose([axes.index(axis) for axis in "hwc"])
    if array.dtype != numpy.uint8:
        low, high = float(array.min()), float(array.max())
        array = ((array.astype(numpy.float64) - low) * (255.0 / ((high - low) or 1.0))).astype(numpy.uint8)
    return numpy.repeat(array, 3, 2) if array.shape[2] == 1 else array[..., :3]


def contact_sheet(loader: Loader) -> bytes | None:
    """The first picture of each of the first samples of the epoch, side by side, as a PNG file; None where there is none."""
    import numpy
    pictures = []
    for position in range(min(COUNT, loader.info["table_length"])):
        found = [output for output in loader.sample(position, loader.epoch) if is_picture(output)]
        pictures += [as_bytes(output) for output in found[:1]]
    if not pictures:
        return None
    sheet = numpy.full((max(p.shape[0] for p in pictures), sum(p.shape[1] + GAP for p in pictures) - GAP, 3), 255, numpy.uint8)
    at = 0
    for picture in pictures:
        sheet[:picture.shape[0], at:at + picture.shape[1], :picture.shape[2]] = picture
        at += picture.shape[1] + GAP
    return png(sheet)


def png(image: Any) -> bytes:
    """A PNG file of u8[h, w, c = 3]."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
