# SPDX-License-Identifier: Apache-2.0
"""Writes small files that fuzzing begins with: seeds.py FOLDER."""
import gzip
import io
import os
import struct
import sys
import tarfile

import numpy
import soundfile
from PIL import Image, PngImagePlugin

# Bytes that Pictures.cpp reads before the file.
CHOICES = bytes([3]) * 17


def pictures():
    """{name: the bytes of a file}, one of each kind that Pillow writes."""
    rng = numpy.random.default_rng(1)
    pixels = rng.integers(0, 256, (9, 13, 4), dtype=numpy.uint8)
    rgba = Image.fromarray(pixels)
    rgb, gray = rgba.convert("RGB"), rgba.convert("L")
    kinds = [
        ("rgb.png", rgb, {}), ("rgba.png", rgba, {}), ("gray.png", gray, {}), ("ga.png", rgba.convert("LA"), {}),
        ("palette.png", rgb.quantize(7), {"bits": 4}), ("one.png", gray.convert("1"), {}),
        ("deep.png", gray.convert("I;16"), {}), ("lossy.webp", rgb, {}), ("lossless.webp", rgba, {"lossless": True}),
        ("rgb.bmp", rgb, {}), ("gray.bmp", gray, {}), ("palette.bmp", rgb.quantize(7), {}),
        ("one.bmp", gray.convert("1"), {}), ("rgb.ppm", rgb, {}), ("gray.pgm", gray, {}), ("one.pbm", gray.convert("1"), {}),
    ]
    for name, image, options in kinds:
        stream = io.BytesIO()
        kind = {"pgm": "PPM", "pbm": "PPM"}.get(name[-3:], name.rsplit(".")[1].upper())
        image.save(stream, kind, **options)
        yield name, stream.getvalue()
    head = lambda bits, way: (b"BM" + struct.pack("<IHHI", 0, 0, 0, 54 + (4 << bits)) +
                              struct.pack("<IiiHHIIiiII", 40, 13, 9, 1, bits, way, 0, 0, 0, 0, 0) + bytes(range(4)) * (1 << bits))
    for bits, way, runs in ((8, 1, b"\x04\7\0\3abc\0\0\2\0\0\1\1\x0d\5"), (4, 2, b"\x09\x12\0\4ab\0\0\x0d\x34")):
        yield f"rle{bits}.bmp", head(bits, way) + 9 * (runs + b"\0\0") + b"\0\1"
    for kind, channels, scale in (("Pf", 1, "-1.0"), ("PF", 3, "1")):
        yield kind + ".pfm", f"{kind}\n13 9\n{scale}\n".encode() + rng.normal(0, 9, 9 * 13 * channels).astype("f4").tobytes()
    yield "text.pbm", b"P1 5 2 01101 # five\n0 1 0 0 1"
    yield "text.pgm", b"P2 3 2 300 0 1 2 #\n300 4 5 "
    yield "text.ppm", b"P3 2 1 7 1 2 3 4 5 6\n"
    stream, text = io.BytesIO(), PngImagePlugin.PngInfo()
    text.add_itxt("XML:com.adobe.xmp", '<x tiff:Orientation="6"/>', zip=True)
    rgb.save(stream, "PNG", pnginfo=text)
    yield "xmp.png", stream.getvalue()


def remote():
    """What stores send, settings and paths; the first byte chooses."""
    yield "listing.xml", (b'\x00<?xml version="1.0"?><ListBucketResult><Contents><Key>p/a%20b&amp;</Key></Contents><CommonPrefixes>'
                          b"<Prefix>p/d/</Prefix></CommonPrefixes><NextContinuationToken>t</NextContinuationToken></ListBucketResult>")
    yield "config", b"\x01[default]\nregion = a\n[profile work]\nregion=b\ns3 =\n  x = y\n"
    yield "path", b"\x02../a/%2e%2e/./b?c"
    yield "url", b"\x02https://h:1/a/../b?c=/d"
    yield "tree.json", b'\x03[{"type": "file", "path": "a/b", "lfs": {"size": 3}}, {"type":"directory","path":"a/\\u00e9"}]'
    yield "hub", b"\x03hf://datasets/me/pets@refs/pr/1/a"
    yield "link", b'\x03<https://h/a?b>; rel="prev", <https://h/c>; rel="next"'
    yield "headers", b"\x04# tokens\nhttps://h/a Authorization: Bearer b\n"
    yield "error.xml", b"\x05<Error><Message>no</Message></Error>"
    yield "secret", b"\x05https://me:p@host/a?b"


def tables():
    """Texts and arrays; the first byte chooses the separator."""
    yield "commas.csv", b"\x00file,label\na.jpg,3\r\n\"b,\"\"c\"\".jpg\",-7\n"
    yield "tabs.csv", b"\x01\xef\xbb\xbfx\ty\n1.5e-3\tnan\n\ntrue\t300"
    yield "line.json", b'\x00{"a": [1, 2.5], "x y": [[1, 2], [3, 4]], "b": {"c": [null, true, "\\u00e9\\n"]}}'
    stream = io.BytesIO()
    numpy.save(stream, numpy.arange(6, dtype=numpy.float32).reshape(2, 3))
    yield "array.npy", b"\x00" + stream.getvalue()


def media():
    """Inputs of Media.cpp: the bytes that it reads before the file, and files."""
    number = lambda *values: struct.pack(f"<{len(values)}I", *values)
    places = bytes(16) + number(3, 2, 0, 1, 0, 0, 0, 0)
    yield "numbers", number(0, 2, 1, 2) + places + struct.pack("<h", 4) + bytes(range(60))


def sounds():
    """The same for WAV and FLAC."""
    number = lambda *values: struct.pack(f"<{len(values)}I", *values)
    places = bytes(16) + number(3, 2, 0, 1, 0, 0, 0, 0)
    for name, tag, channels, bits in (("pcm16", 1, 2, 16), ("pcm24", 1, 1, 24), ("float", 3, 1, 32), ("alaw", 6, 2, 8)):
        frame = channels * bits // 8
        head = struct.pack("<4sIHHIIHH", b"fmt ", 16, tag, channels, 8000, 8000 * frame, frame, bits)
        yield name, number(1, 0, 1) + places + b"RIFF\0\0\0\0WAVE" + head + struct.pack("<4sI", b"data", 9 * frame) + bytes(range(9 * frame))
    rng = numpy.random.default_rng(3)
    for channels, subtype in ((1, "PCM_16"), (2, "PCM_24"), (3, "PCM_S8")):
        stream = io.BytesIO()
        soundfile.write(stream, rng.normal(0, 0.1, (300, channels)), 8000, subtype, format="FLAC")
        yield f"{channels}.flac", number(1, 0, 1) + places + stream.getvalue()


def arrays():
    """The same for .npy, NIfTI, packed and not, PLY and PCD."""
    number = lambda *values: struct.pack(f"<{len(values)}I", *values)
    places = bytes(16) + number(1, 0, 1, 2, 0, 1, 0, 1)
    for name, kind, number_of_type, order in (("plain", "<i2", 3, "C"), ("big", ">f4", 8, "F")):
        stream = io.BytesIO()
        numpy.save(stream, numpy.arange(24).reshape(2, 3, 4).astype(kind, order=order))
        yield name + ".npy", number(2, number_of_type, 0, 3) + places + stream.getvalue()
    for version, order in ((1, "<"), (1, ">"), (2, "<")):
        head = bytearray(352 if version == 1 else 544)
        put = lambda kind, place, *values: struct.pack_into(f"{order}{len(values)}{kind}", head, place, *values)
        put("i", 0, 348 if version == 1 else 540)
        put("h" if version == 1 else "q", 40 if version == 1 else 16, 3, 4, 3, 2, 1, 1, 1, 1)
        put("h", 70 if version == 1 else 12, 4)
        put("f" if version == 1 else "d", 76 if version == 1 else 104, -1, 1, 2, 3, 1)
        put("f" if version == 1 else "q", 108 if version == 1 else 168, len(head))
        if version == 1:
            put("h", 252, 1, 0)
            put("f", 256, 0.5, 0.5, 0.5)
            head[344:348] = b"n+1\0"
        else:
            put("i", 348, 2)
            put("d", 400, 0, 2, 0, 0, -1, 0, 0, 0, 0, 0, 3)
            head[4:12] = b"n+2\0\r\n\x1a\n"
        file = bytes(head) + numpy.arange(24).astype(order + "i2").tobytes()
        yield f"{version}{'big' if order == '>' else ''}.nii", number(3, 8, 0, 3) + places + file
        for kind, type_number in (("f16", 6), ("bf16", 7), ("bool", 10)):  # which no volume becomes
            yield f"{version}{'big' if order == '>' else ''}.{kind}.nii", number(3, type_number, 0, 3) + places + file
        yield f"{version}{'big' if order == '>' else ''}.nii.gz", number(3, 3, 0, 3) + places + gzip.compress(file)


    points = numpy.zeros(5, [("x", "f4"), ("y", "f4"), ("z", "f4"), ("i", "u1")])
    for name in points.dtype.names:
        points[name] = numpy.arange(5)
    text = b"".join(b"%d %d.5 -%de-3 %d\n" % (i, i, i, i) for i in range(5))
    for layout, contents in (("ascii", text), ("binary_little_endian", points.tobytes()), ("binary_big_endian", points.astype([(name, ">f4") for name in "xyz"] + [("i", "u1")]).tobytes())):
        face = b"3 0 1 2\n0\n" if layout == "ascii" else struct.pack(f"{'>' if 'big' in layout else '<'}B3iB", 3, 0, 1, 2, 0)
        head = (f"ply\nformat {layout} 1.0\ncomment a\nelement face 2\nproperty list uchar int i\nelement vertex 5\n"
                "property float x\nproperty float32 y\nproperty float z\nproperty uchar i\nend_header\n").encode()
        for fields, rank in ((0, 2), (2, 2), (4, 1)):
            yield f"{layout}{fields}.ply", number(4, 8, fields, rank) + places + head + face + contents
    columns = b"".join(points[name].tobytes() for name in points.dtype.names)
    repeated = b"\0\0\xe0\x37\0"  # a zero and 64 more
    runs = b"".join(bytes([len(columns[i:i + 32]) - 1]) + columns[i:i + 32] for i in range(0, len(columns), 32))
    for layout, contents in (("ascii", text), ("binary", points.tobytes()), ("binary_compressed", struct.pack("<II", len(runs), len(columns)) + runs),
                             ("binary_compressed", struct.pack("<II", len(repeated), len(columns)) + repeated)):
        head = f"# .PCD v.7\nVERSION .7\nFIELDS x y z i\nSIZE 4 4 4 1\nTYPE F F F U\nCOUNT 1 1 1 1\nWIDTH 5\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 5\nDATA {layout}\n".encode()
        for fields, rank in ((0, 2), (2, 2), (4, 1)):
            yield f"{layout}{fields}{len(contents)}.pcd", number(5, 8, fields, rank) + places + head + contents
    colours = b"# .PCD\nVERSION 0.7\nFIELDS x rgb\nSIZE 4 4\nTYPE F U\nWIDTH 2\nDATA binary\n" + bytes(range(16))
    yield "colours.pcd", number(5, 8, 5, 2) + places + colours


def packets():
    """Sound for FFmpeg, behind what Packets.cpp reads."""
    rng = numpy.random.default_rng(4)
    sound = rng.normal(0, 0.1, (4000, 1)) * numpy.sin(numpy.arange(4000) / 900)[:, None]
    for name, container, subtype in (("a.mp3", "MP3", "MPEG_LAYER_III"), ("a.ogg", "OGG", "VORBIS"), ("a.opus", "OGG", "OPUS"),
                                     ("a.aiff", "AIFF", "PCM_16"), ("a.caf", "CAF", "ALAC_16")):
        stream = io.BytesIO()
        soundfile.write(stream, sound, 16000, subtype, format=container)
        yield name, struct.pack("<III", 1500, 700, 0) + stream.getvalue()


def archives():
    for name, kind in (("ustar.tar", tarfile.USTAR_FORMAT), ("pax.tar", tarfile.PAX_FORMAT), ("gnu.tar", tarfile.GNU_FORMAT)):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=kind) as archive:
            for member in ("a/1.jpg", "a/1.cls", "long" * (20 if kind == tarfile.USTAR_FORMAT else 60) + "/2.jpg"):
                info = tarfile.TarInfo(member)
                info.size = 3
                archive.addfile(info, io.BytesIO(b"abc"))
        yield name, stream.getvalue()


def bundles():
    """Two levels of the CPU without code, one of them for two levels of transfers, and one parameter; a target makes the checksum right."""
    def text(value):
        return struct.pack("<Q", len(value)) + value

    def program(transfer):
        parameter = text(b"size") + text(b"int") + text(b"") + struct.pack("<QQ", 1, 1) + text(b"3")
        code = struct.pack("<QQQ", 1, 90, 0) + text(b"cubin")
        return text(b"train") + struct.pack("<Q", 1) + parameter + text(b"") * 2 + text(transfer) + code + text(b"plan") + text(b"image")

    settings = struct.pack("<Q", 1) + text(b"size") + text(b"3")
    both = struct.pack("<Q", 2) + program(b"pixels") + program(b"final")
    levels = struct.pack("<Q", 2) + text(b"x86-64-v2") + both + text(b"x86-64-v4") + struct.pack("<Q", 1) + program(b"pixels")
    yield "two.pstk", b"PSTKB004" + bytes(8) + text(b"0.1") + settings + levels


def write(target, name, data):
    folder = os.path.join(sys.argv[1], target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def main():
    for name, data in pictures():
        write("headers", name, data)
        write("pictures", name, CHOICES + data)
    for name, data in tables():
        write("tables", name, data)
    for name, data in remote():
        write("remote", name, data)
    for name, data in media():
        write("media", name, data)
    for name, data in sounds():
        write("sound", name, data)
    for name, data in arrays():
        write("arrays", name, data)
    for name, data in packets():
        write("packets", name, data)
    for name, data in archives():
        write("tar", name, data)
    for name, data in bundles():
        write("bundle", name, data)


if __name__ == "__main__":
    main()
