# SPDX-License-Identifier: Apache-2.0
"""H.264 with its fields in packets of their own, as AVCHD cameras write it and no free encoder does."""
import struct

import numpy


class Bits:
    def __init__(self):
        self.bits = []

    def put(self, value, count):
        self.bits += [value >> i & 1 for i in reversed(range(count))]

    def golomb(self, value):
        size = (value + 1).bit_length()
        self.put(value + 1, 2 * size - 1)

    def signed(self, value):
        self.golomb(2 * value - 1 if value > 0 else -2 * value)

    def align(self):
        self.bits += [0] * (-len(self.bits) % 8)

    def bytes(self):
        return numpy.packbits(self.bits).tobytes()


def unit(head, payload):
    """A unit with its start code."""
    out, zeros = bytearray(), 0
    for byte in payload:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return b"\0\0\0\1" + bytes([head]) + bytes(out)


def ended(bits):
    bits.put(1, 1)
    bits.align()
    return bits.bytes()


def parameter_sets(columns, rows):
    """Main profile, interlaced; `rows` of macroblocks in a field."""
    sequence = Bits()
    sequence.put(77, 8), sequence.put(0, 8), sequence.put(30, 8)
    for value in (0, 0, 0, 4, 2):  # id, 4 bits of frame number, order type 0 of 8 bits, references
        sequence.golomb(value)
    sequence.put(0, 1)
    sequence.golomb(columns - 1), sequence.golomb(rows - 1)
    sequence.put(0b00100, 5)  # fields; none mixed in a frame; motion of 8x8 in direct ones; not cropped
    picture = Bits()
    picture.golomb(0), picture.golomb(0)
    picture.put(0, 2)  # CAVLC, no order of fields beside the first's
    picture.golomb(0)
    picture.golomb(0), picture.golomb(0)
    picture.put(0, 3)
    for _ in range(3):
        picture.signed(0)
    picture.put(0b100, 3)  # deblocking may be switched off
    return unit(0x67, ended(sequence)) + unit(0x68, ended(picture))


def field(planes, number, order, bottom, kind, idr, reference):
    """A field: raw macroblocks in "I"; in "P" and "B" some raw, the others copied from elsewhere."""
    rows, columns = planes[0].shape[0] // 16, planes[0].shape[1] // 16
    bits = Bits()
    bits.golomb(0)
    bits.golomb({"I": 7, "P": 5, "B": 6}[kind])
    bits.golomb(0)
    bits.put(number & 15, 4)
    bits.put(1, 1), bits.put(bottom, 1)
    if idr:
        bits.golomb(0)
    bits.put(order & 255, 8)
    if kind == "B":
        bits.put(1, 1)  # direct vectors from neighbours
    if kind != "I":
        bits.put(0, 1)  # as many references as the picture's set says
        bits.put(0, 1)
        if kind == "B":
            bits.put(0, 1)
    if reference:
        bits.put(0, 2 if idr else 1)
    bits.signed(0)
    bits.golomb(1)  # no deblocking
    skipped = 0
    for y in range(rows):
        for x in range(columns):
            raw = kind == "I" or (3 * x + 5 * y + order) % 4 == 0
            if not raw:
                skipped += 1
                continue
            if kind != "I":
                bits.golomb(skipped)
                skipped = 0
            bits.golomb({"I": 25, "P": 30, "B": 48}[kind])
            bits.align()
            parts = [planes[0][16 * y:16 * y + 16, 16 * x:16 * x + 16]]
            parts += [plane[8 * y:8 * y + 8, 8 * x:8 * x + 8] for plane in planes[1:]]
            for part in parts:
                bits.bits += numpy.unpackbits(numpy.maximum(part, 1).astype(numpy.uint8).reshape(-1)).tolist()
    if skipped:
        bits.golomb(skipped)
    kind_of_unit = 5 if idr else 1
    return unit((0x60 if reference else 0) | kind_of_unit, ended(bits))


def stream(frames, columns=4, rows=2, group=6, bottom_first=False, second="P"):
    """(packets, times): one field each, in decoding order. The second field of an intra-coded frame is `second`."""
    rng = numpy.random.default_rng(5)
    y, x = numpy.mgrid[0:32 * rows, 0:16 * columns]

    def fields(t):
        luma = numpy.clip(128 + 90 * numpy.sin((x + 3 * t) / 5 + y / 7) + rng.normal(0, 5, x.shape), 1, 255)
        chroma = [luma[::2, ::2] // 2 + 40, 200 - luma[::2, ::2] // 2]
        return [[plane[parity::2].astype(numpy.uint8) for plane in (luma, *chroma)] for parity in (0, 1)]

    packets, times, number = [], [], 0
    order = []
    for start in range(0, frames, group):  # closed groups: I P B P B ..., B shown before its P
        size = min(group, frames - start)
        order.append((start, "I", start))
        at = 1
        while at < size:
            if at + 1 < size:
                order += [(start + at + 1, "P", start), (start + at, "B", start)]
                at += 2
            else:
                order.append((start + at, "P", start))
                at += 1
    for t, kind, start in order:
        if kind == "I":
            number = 0
        pair = fields(t)
        for half in (0, 1):
            bottom = half != bottom_first
            idr = kind == "I" and half == 0
            coded = second if kind == "I" and half == 1 else kind
            data = parameter_sets(columns, rows) if idr else b""
            data = b"\0\0\0\1\x09\xf0" + data
            packets.append(data + field(pair[bottom], number, 2 * (t - start) + half, int(bottom), coded, idr,
                                        kind != "B"))
            times.append(2 * t + half)
        if kind != "B":
            number += 1
    return packets, times


def write(path, frames, same_times=False, **more):
    """An IVF file with a packet for each field."""
    packets, times = stream(frames, **more)
    with open(path, "wb") as file:
        file.write(struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, b"H264", 64, 64, 50, 1, len(packets), 0))
        for number, (data, time) in enumerate(zip(packets, times)):
            file.write(struct.pack("<IQ", len(data), time - (number % 2 if same_times else 0)) + data)
