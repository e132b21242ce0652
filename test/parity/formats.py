# SPDX-License-Identifier: Apache-2.0
"""PNG, WebP, BMP and PNM files decode to Pillow's pixels, whole and by regions; damage is refused."""
import io
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import warnings
import zlib

import numpy
from PIL import Image

warnings.simplefilter("ignore", Image.DecompressionBombWarning)
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
          (1, 0, 2, 1)]


def chunk(name, body=b""):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def packed_rows(values, depth, filters):
    """The filtered bytes of rows of channel values [h, w, c]."""
    height, width, channels = values.shape
    if height == 0 or width == 0:
        return b""
    flat = values.reshape(height, width * channels)
    if depth == 16:
        rows = flat.astype(">u2").view(numpy.uint8)
    elif depth == 8:
        rows = flat.astype(numpy.uint8)
    else:
        bits = (flat[..., None] >> numpy.arange(depth)[::-1]) & 1
        rows = numpy.packbits(bits.reshape(height, -1).astype(numpy.uint8), axis=1)
    step = max(1, channels * depth // 8)
    result, above = [], numpy.zeros(rows.shape[1], int)
    for row in rows.astype(int):
        kind = next(filters)
        left = numpy.concatenate([numpy.zeros(step, int), row[:-step]])
        corner = numpy.concatenate([numpy.zeros(step, int), above[:-step]])
        estimate = left + above - corner
        pa, pb, pc = abs(estimate - left), abs(estimate - above), abs(estimate - corner)
        paeth = numpy.where((pa <= pb) & (pa <= pc), left, numpy.where(pb <= pc, above, corner))
        guess = [0, left, above, (left + above) // 2, paeth][kind]
        result.append(bytes([kind]) + ((row - guess) % 256).astype(numpy.uint8).tobytes())
        above = row
    return b"".join(result)


def png(rng, height, width, colour, depth, interlaced=False, transparent=False, colours=None,
        pieces=1, extra=b"", values=None):
    """A PNG file with every filter; Pillow itself writes few of these kinds."""
    top = colours or 1 << depth
    if values is None:
        values = rng.integers(0, top, (height, width, CHANNELS[colour]))
    filters = iter(lambda: int(rng.integers(0, 5)), None)
    if interlaced:
        data = b"".join(packed_rows(values[y::dy, x::dx], depth, filters)
                        for y, x, dy, dx in PASSES)
    else:
        data = packed_rows(values, depth, filters)
    data = zlib.compress(data)
    step = len(data) // pieces + 1
    result = b"\x89PNG\r\n\x1a\n" + chunk(
        b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced)))
    result += extra
    if colour == 3:
        result += chunk(b"PLTE", rng.integers(0, 256, 3 * top, dtype=numpy.uint8).tobytes())
    if transparent:
        one = [int(value) for value in values[0, 0]]
        result += chunk(b"tRNS", bytes(range(min(top, 9))) if colour == 3
                        else struct.pack(f">{len(one)}H", *one))
    for at in range(0, len(data), step):
        result += chunk(b"IDAT", data[at:at + step])
    return result + chunk(b"IEND")


def picture(rng, height, width, mode="RGB"):
    """Structure at several scales, so that chroma and edges matter."""
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x / rng.uniform(2, 20) + y / rng.uniform(2, 20)) for _ in range(4)]
    pixels = 128 + 60 * numpy.stack(waves, axis=-1) + rng.normal(0, 20, (height, width, 4))
    image = Image.fromarray(numpy.clip(pixels, 0, 255).astype(numpy.uint8), "RGBA")
    return image.convert(mode)


def saved(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def longer(data):
    """A BMP with a header of 52 or 56 bytes, which older versions of Pillow refuse, with one of 108; others as they are."""
    offset, header = struct.unpack_from("<II", data, 10)
    more = 108 - header
    if header not in (52, 56):
        return data
    return data[:10] + struct.pack("<II", offset + more, 108) + data[18:14 + header] + b"\0" * more + data[14 + header:]


class Formats(unittest.TestCase):
    tool = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="penstock-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.rng = numpy.random.default_rng(7)
        self.process = subprocess.Popen([self.tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end)

    def end(self):
        self.process.stdin.close()
        self.assertEqual(self.process.wait(), 0)
        self.process.stdout.close()

    def decode(self, data, kind="rgb", region=(0, 0, 0, 0)):
        """Pixels, or the message."""
        path = os.path.join(self.folder, "image")
        with open(path, "wb") as file:
            file.write(data)
        self.process.stdin.write(" ".join([kind, *map(str, region), path + "\n"]).encode())
        self.process.stdin.flush()
        words = self.process.stdout.readline().decode().split(" ", 1)
        if words[0] != "ok":
            return words[1].rstrip("\n")
        height, width, self.orientation = map(int, words[1].split())
        channels = 3 if kind.startswith("rgb") else 1
        element = numpy.dtype("<u2" if kind.endswith("16") else "u1")
        pixels = self.process.stdout.read(height * width * channels * element.itemsize)
        return numpy.frombuffer(pixels, element).reshape(height, width, channels)

    def regions(self, height, width, count=3):
        for _ in range(count):
            top, left = self.rng.integers(0, height), self.rng.integers(0, width)
            yield (top, left, self.rng.integers(1, height - top + 1),
                   self.rng.integers(1, width - left + 1))

    def compare(self, data, what, like=None):
        """`like`: the same picture for Pillow, where not every version of it reads this file; or what makes it."""
        image = Image.open(io.BytesIO(like(data) if callable(like) else like or data))
        for kind, mode in (("rgb", "RGB"), ("gray", "L")):
            theirs = numpy.asarray(image.convert(mode)).reshape(image.height, image.width, -1)
            ours = self.decode(data, kind)
            self.assertNotIsInstance(ours, str, f"{what}: {ours}")
            numpy.testing.assert_array_equal(ours, theirs, f"{what}, {kind}")
            for region in self.regions(image.height, image.width):
                top, left, height, width = region
                numpy.testing.assert_array_equal(
                    self.decode(data, kind, region),
                    theirs[top:top + height, left:left + width], f"{what}, {kind}, {region}")

    def every_png(self):
        kinds = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4),
                 (3, 8), (4, 8), (4, 16), (6, 8), (6, 16)]
        for colour, depth in kinds:
            for interlaced in (False, True):
                for height, width in ((1, 1), (3, 7), (33, 21), (8, 64)):
                    transparent = colour in (0, 2, 3) and width == 21
                    yield (f"colour {colour}, {depth} bits, {'inter' if interlaced else 'not '}laced, "
                           f"{height} x {width}",
                           png(self.rng, height, width, colour, depth, interlaced, transparent,
                               pieces=1 + height % 3))

    def compare_wide(self, data, values, what):
        """Channels of 16 bits, of which the first one or three are colours."""
        colours = values[..., :3 if values.shape[2] > 2 else 1].astype(int)
        colours = colours if colours.shape[2] == 3 else numpy.repeat(colours, 3, 2)
        gray = (colours @ [19595, 38470, 7471] + 32768) >> 16
        for kind, theirs in (("rgb16", colours), ("gray16", gray[..., None])):
            for region in ((0, 0, 0, 0), *self.regions(*gray.shape)):
                ours = self.decode(data, kind, region)
                self.assertNotIsInstance(ours, str, f"{what}: {ours}")
                top, left, height, width = region if region[2] else (0, 0, *gray.shape)
                numpy.testing.assert_array_equal(ours, theirs[top:top + height, left:left + width],
                                                 f"{what}, {kind}, {region}")

    def test_png_of_16_bits(self):
        for colour in (0, 2, 4, 6):
            for interlaced in (False, True):
                for height, width in ((1, 1), (3, 7), (33, 21)):
                    values = self.rng.integers(0, 1 << 16, (height, width, CHANNELS[colour]))
                    data = png(self.rng, height, width, colour, 16, interlaced, colour in (0, 2), values=values)
                    self.compare_wide(data, values, f"colour {colour}, {height} x {width}")
                    if colour == 0:  # Pillow has those of one channel
                        numpy.testing.assert_array_equal(numpy.asarray(Image.open(io.BytesIO(data))), values[..., 0])
        for data in (png(self.rng, 5, 5, 0, 8), saved(picture(self.rng, 5, 5), "JPEG"), saved(picture(self.rng, 5, 5), "WEBP"),
                     saved(picture(self.rng, 5, 5), "BMP"), saved(picture(self.rng, 5, 5), "PPM")):
            self.assertEqual(self.decode(data, "gray16"), "the file has 8 bits a channel, and 16 are asked for")
        whole = png(self.rng, 9, 9, 0, 16)
        self.assertEqual(self.decode(whole[:-40], "gray16"), self.decode(whole[:-40], "gray"))

    def test_pnm_of_16_bits(self):
        for kind, channels in ((b"P5", 1), (b"P6", 3), (b"P2", 1), (b"P3", 3)):
            for most in (256, 1000, 65534, 65535):
                values = self.rng.integers(0, most + 1, (6, 9, channels))
                data = values.astype(">u2").tobytes() if kind > b"P4" else b" ".join(
                    b"%d" % value for value in values.reshape(-1)) + b"\n"
                data = kind + b"\n9 6 %d\n" % most + data
                scaled = numpy.round(values / most * 65535).astype(int)
                self.compare_wide(data, scaled, f"{kind}, {most}")
                if channels == 1:
                    numpy.testing.assert_array_equal(numpy.asarray(Image.open(io.BytesIO(data))), scaled[..., 0])

    def compare_indices(self, data, numbers, what):
        for region in ((0, 0, 0, 0), *self.regions(*numbers.shape)):
            ours = self.decode(data, "index", region)
            self.assertNotIsInstance(ours, str, f"{what}: {ours}")
            top, left, height, width = region if region[2] else (0, 0, *numbers.shape)
            numpy.testing.assert_array_equal(ours[..., 0], numbers[top:top + height, left:left + width], f"{what}, {region}")

    def test_indices(self):
        """The numbers of a file, whatever colours its palette has for them, or none."""
        for colour, depth in ((3, 1), (3, 2), (3, 4), (3, 8), (0, 1), (0, 2), (0, 4), (0, 8)):
            for interlaced in (False, True):
                for height, width in ((1, 1), (3, 7), (33, 21)):
                    values = self.rng.integers(0, 1 << depth, (height, width, 1))
                    for colours in (None, 1) if colour == 3 else (None,):
                        data = png(self.rng, height, width, colour, depth, interlaced, colours=colours, values=values)
                        self.compare_indices(data, values[..., 0], f"PNG, colour {colour}, {depth} bits, {height} x {width}")
        for kind in ("PNG", "BMP"):
            for image in (picture(self.rng, 19, 23).quantize(21), picture(self.rng, 19, 23, "L")):
                self.compare_indices(saved(image, kind), numpy.asarray(image), f"{kind}, {image.mode}")
        for turn in range(9):
            data = self.runs(*(int(n) for n in self.rng.integers(1, 24, 2)), False, down=turn % 2 == 1)
            plain = Image.open(io.BytesIO(self.unpacked(data, False)))
            self.compare_indices(data, numpy.asarray(plain), f"run lengths, {turn}")
        wide = "the file has 16 bits a channel: `decode(gray, depth = 16)` gives its numbers"
        none = " file without numbers of a palette, which `decode(index)` gives; `decode(gray)` gives grays"
        for data, message in ((png(self.rng, 5, 5, 0, 16), wide), (png(self.rng, 5, 5, 2, 16), wide), (png(self.rng, 5, 5, 2, 8), "a PNG" + none),
                              (png(self.rng, 5, 5, 4, 8), "a PNG" + none), (png(self.rng, 5, 5, 6, 8), "a PNG" + none),
                              (saved(picture(self.rng, 5, 5), "JPEG"), "a JPEG" + none), (saved(picture(self.rng, 5, 5), "WEBP"), "a WebP" + none),
                              (saved(picture(self.rng, 5, 5), "BMP"), "a BMP" + none), (saved(picture(self.rng, 5, 5, "L"), "PPM"), "a PNM" + none)):
            self.assertEqual(self.decode(data, "index"), message)
        whole = saved(picture(self.rng, 9, 9).quantize(21), "PNG")
        self.assertEqual(self.decode(whole[:-40], "index"), self.decode(whole[:-40], "gray"))

    def test_png(self):
        for what, data in self.every_png():
            self.compare(data, what)

    def test_png_palettes_that_are_short(self):
        """Numbers behind the last colour are black, as in Pillow 10.4 and later."""
        for colours in (1, 3, 200):
            self.compare(png(self.rng, 9, 9, 3, 8, colours=colours), f"{colours} colours")
            data = png(self.rng, 9, 9, 3, 8, colours=colours, values=self.rng.integers(0, 256, (9, 9, 1)))
            at = data.index(b"PLTE") - 4
            there = data[at + 8:at + 8 + 3 * colours]
            whole = data[:at] + chunk(b"PLTE", there + bytes(768 - len(there))) + data[at + 12 + len(there):]
            self.compare(data, f"numbers behind {colours} colours", whole)

    def test_png_of_pillow(self):
        for mode in ("RGB", "RGBA", "L", "LA", "1", "P"):
            image = picture(self.rng, 45, 61, mode if mode != "P" else "RGB")
            if mode == "P":
                image = image.quantize(50)
            self.compare(saved(image, "PNG", optimize=True), mode)

    def test_png_orientation(self):
        exif = Image.Exif()
        exif[0x0112] = 6
        image = picture(self.rng, 20, 30)
        self.compare(saved(image, "PNG", exif=exif.tobytes()), "with EXIF")
        self.assertEqual(self.orientation, 6)

    def test_png_orientation_in_xmp(self):
        """In every kind of text, beside EXIF with and without one: what Pillow's exif_transpose does."""
        key = b"XML:com.adobe.xmp\0"
        texts = [b'<x tiff:Orientation="%d"/>' % turn for turn in range(10)]
        texts += [b"<tiff:Orientation>6</tiff:Orientation>", b"tiff:Orientation=6", b"tiff:Orientation= tiff:Orientation>3",
                  b'tiff:Orientation="x" tiff:Orientation="8"', b"", b'tiff:Orientation="']
        chunks = [chunk(b"iTXt", key + b"\0\0\0\0" + text) for text in texts]
        turned = texts[6]
        packed = zlib.compress(turned)
        chunks += [chunk(b"iTXt", key + b"\1\0en\0key\0" + packed), chunk(b"iTXt", key + b"\1\0\0\0" + packed[:-6]),
                   chunk(b"iTXt", key + b"\1\1\0\0" + packed), chunk(b"iTXt", key + b"\0\0en" + turned),
                   chunk(b"tEXt", key + turned), chunk(b"zTXt", key + b"\0" + packed),
                   chunk(b"tEXt", b"another\0" + turned), chunk(b"iTXt", b"XML:com.adobe.xmp"),
                   chunks[3] + chunks[8]]
        for tag in (0x0112, 0x0131):
            exif = Image.Exif()
            exif[tag] = 5 if tag == 0x0112 else "name"
            chunks.append(chunk(b"eXIf", exif.tobytes()[6:]) + chunks[6])
        seen = set()
        for extra in chunks:
            whole = png(self.rng, 6, 9, 2, 8, extra=extra)
            late = whole[:-12].replace(extra, b"", 1) + extra + whole[-12:]  # behind the pixels
            for data in (whole, late):
                image = Image.open(io.BytesIO(data))
                orientation = image.getexif().get(0x0112, 1)
                self.compare(data, extra)
                self.assertEqual(self.orientation, orientation if 1 <= orientation <= 8 else 1, extra)
                seen.add(self.orientation)
        self.assertEqual(seen, set(range(1, 9)))

    def test_png_with_broken_extras_is_read(self):
        # Profiles and texts are nothing that pixels depend on, and Pillow has to be kind too.
        data = png(self.rng, 9, 9, 2, 8, extra=chunk(b"gAMA", b"12") + chunk(b"iCCP", b"nonsense"))
        self.assertNotIsInstance(self.decode(data), str)

    def test_png_checksums(self):
        data = bytearray(png(self.rng, 40, 40, 2, 8, pieces=4))
        for at in range(16, len(data) - 12, 97):
            broken = bytearray(data)
            broken[at] ^= 1
            found = self.decode(bytes(broken), region=(0, 0, 1, 1))
            self.assertIsInstance(found, str, f"byte {at}")
            self.assertRegex(found, "PNG")

    def test_png_checksum_of_the_pixels(self):
        """zlib's own, wherever it lies among chunks and pieces that are read, with checksums of chunks that are right."""
        for colour, depth, interlaced, size, kind in ((2, 8, 0, 40, "rgb"), (3, 4, 0, 40, "rgb"), (2, 8, 1, 40, "rgb"), (0, 16, 0, 40, "gray16"),
                                                      (2, 16, 1, 40, "rgb16"), (2, 8, 0, 90, "rgb"), (6, 8, 1, 90, "rgb"), (2, 8, 0, 1, "rgb")):
            data = png(self.rng, size, size, colour, depth, bool(interlaced))
            start = data.index(b"IDAT") - 4
            stream = data[start + 8:-16]
            head = data[:start]
            ends = [len(stream) - n for n in range(6)] + [100, 8192, 8193, 8196]
            for cut in sorted(cut for cut in ends if 0 < cut <= len(stream)):
                for wrong in (False, True):
                    body = stream[:-1] + bytes([stream[-1] ^ wrong])
                    whole = head + b"".join(chunk(b"IDAT", part) for part in (body[:cut], b"", body[cut:])) + chunk(b"IEND")
                    what = f"{colour}, {depth}, {interlaced}, {len(stream)} bytes, cut at {cut}"
                    if not wrong:
                        self.assertNotIsInstance(self.decode(whole, kind), str, what)
                        continue
                    if cut == len(stream):  # else Pillow may stop before it
                        self.assertRaises(Exception, Image.open(io.BytesIO(whole)).load)
                    self.assertEqual(self.decode(whole, kind), "damaged PNG: IDAT stream error", what)
                    self.assertEqual(self.decode(whole, kind, (size - 1, 0, 1, 1)), "damaged PNG: IDAT stream error", what)

    def test_png_truncation_does_not_depend_on_the_region(self):
        for interlaced in (False, True):
            data = png(self.rng, 40, 40, 2, 8, interlaced, pieces=3)
            for size in range(0, len(data) - 16, 31):
                found = self.decode(data[:size], region=(0, 0, 1, 1))
                self.assertIsInstance(found, str, f"{size} bytes")
                self.assertRegex(found, "^truncated PNG|empty|first bytes|signature", f"{size}")
        # All image data are there: only the end chunk is not.
        data = png(self.rng, 40, 40, 2, 8)
        numpy.testing.assert_array_equal(self.decode(data[:-12]), self.decode(data))

    def test_png_messages(self):
        data = png(self.rng, 5, 5, 2, 8)
        header = lambda *values: (b"\x89PNG\r\n\x1a\n" +
                                  chunk(b"IHDR", struct.pack(">IIBBBBB", *values)) + data[33:])
        for broken, message in (
                (header(0, 5, 8, 2, 0, 0, 0), "damaged PNG of 0 x 5 pixels"),
                (header(20000, 20000, 8, 2, 0, 0, 0),
                 "PNG of 20000 x 20000 pixels, the limit is 178956970 in all"),
                (header(5, 5, 4, 2, 0, 0, 0), "damaged PNG: colour type 2 with 4 bits"),
                (header(5, 5, 8, 2, 0, 0, 2),
                 "damaged PNG: unknown compression, filter or interlace method"),
                (header(5, 5, 8, 3, 0, 0, 0), "damaged PNG: it has no palette"),
                (data[:33] + chunk(b"CgBI") + data[33:],
                 "PNG with the critical chunk `CgBI` at byte 33 is not read"),
                (data[:20], "truncated PNG: it ends after 20 bytes, inside its header"),
        ):
            self.assertEqual(self.decode(broken), message)

    def test_png_checksum_of_the_pixels_read_in_pieces(self):
        """Where only a part of it is in the piece that the last row needs: libspng reads 8,192 bytes at once."""
        for rest in range(8):
            width = 8192 + rest - 12  # not compressed: 11 bytes around the row, and its filter
            stream = zlib.compress(bytes(width + 1), 0)
            self.assertEqual(len(stream), 8192 + rest)
            head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0))
            for wrong in (False, True):
                whole = head + chunk(b"IDAT", stream[:-1] + bytes([stream[-1] ^ wrong])) + chunk(b"IEND")
                found = self.decode(whole, "gray")
                self.assertEqual(found if wrong else found.any(), "damaged PNG: IDAT stream error" if wrong else False, rest)

    def test_jpeg_with_arithmetic_coding_that_is_cut_off(self):
        picture(self.rng, 60, 90).save(os.path.join(self.folder, "whole.ppm"))
        for options in (["-sample", "2x2"], ["-sample", "1x1"], ["-restart", "1"], ["-progressive"], ["-grayscale"]):
            data = subprocess.run(["cjpeg", "-arithmetic", *options, os.path.join(self.folder, "whole.ppm")],
                                  stdout=subprocess.PIPE, check=True).stdout
            self.assertNotIsInstance(self.decode(data), str)
            for size in (*range(0, len(data), 7), len(data) - 2, len(data) - 1):
                with self.assertRaises(Exception):
                    Image.open(io.BytesIO(data[:size])).load()
                for region in ((0, 0, 0, 0), (0, 0, 1, 1)):
                    self.assertIsInstance(self.decode(data[:size], region=region), str, f"{options}, {size} bytes, {region}")

    def test_webp(self):
        for mode in ("RGB", "RGBA"):
            for size in ((1, 1), (16, 16), (45, 61), (130, 97)):
                image = picture(self.rng, *size, mode)
                for options in ({"quality": 30}, {"quality": 80, "method": 6}, {"quality": 100},
                                {"lossless": True}, {"lossless": True, "exact": True}):
                    self.compare(saved(image, "WEBP", **options), f"{mode}, {size}, {options}")

    def test_webp_regions_of_a_larger_picture(self):
        data = saved(picture(self.rng, 300, 211), "WEBP", quality=60)
        theirs = numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        for region in self.regions(300, 211, 150):
            top, left, height, width = region
            numpy.testing.assert_array_equal(self.decode(data, "rgb", region),
                                             theirs[top:top + height, left:left + width], str(region))

    def test_webp_animations_give_the_first_frame(self):
        for lossless in (False, True):
            frames = [picture(self.rng, 40, 50) for _ in range(3)]
            self.compare(saved(frames[0], "WEBP", save_all=True, append_images=frames[1:],
                               lossless=lossless), "animated")

    def test_webp_frames_smaller_than_the_canvas(self):
        """A first frame of 20 x 30 at (8, 6) of a canvas of 40 x 50."""
        frame = saved(picture(self.rng, 20, 30), "WEBP", lossless=True)[12:]
        part = lambda name, body: name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)
        three = lambda value: struct.pack("<I", value)[:3]
        body = b"WEBP" + part(b"VP8X", b"\x02\0\0\0" + three(49) + three(39))
        body += part(b"ANIM", b"\0" * 6)
        for _ in range(2):
            body += part(b"ANMF", three(3) + three(4) + three(29) + three(19) + three(100) + b"\0" +
                         frame)
        self.compare(b"RIFF" + struct.pack("<I", len(body)) + body, "frame on a canvas")

    def test_webp_orientation(self):
        exif = Image.Exif()
        exif[0x0112] = 8
        self.compare(saved(picture(self.rng, 20, 30), "WEBP", exif=exif.tobytes()), "with EXIF")
        self.assertEqual(self.orientation, 8)

    def test_webp_truncation_does_not_depend_on_the_region(self):
        data = saved(picture(self.rng, 90, 90), "WEBP", quality=80)
        for size in range(16, len(data) - 1, 41):
            self.assertRegex(self.decode(data[:size], region=(0, 0, 1, 1)), "^truncated WebP", size)

    def test_webp_size_in_its_header(self):
        """Files that are shorter or longer than they say: as Pillow takes them."""
        image = picture(self.rng, 20, 30)
        taken = 0
        for options in ({}, {"lossless": True}, {"exif": b"Exif\0\0MM" + bytes(40)}):
            data = saved(image, "WEBP", **options)
            size = len(data) - 8
            variants = [data[:4] + struct.pack("<I", max(size + more, 0)) + data[8:]
                        for more in (-size, -100, -8, -2, -1, 1, 2, 7, 8, 9, 100, 1 << 20)]
            variants += [data[:-cut] for cut in (1, 2, 7, 8, 9, 100)] + [data + bytes(more) for more in (1, 8, 100)]
            for variant in variants:
                try:
                    Image.open(io.BytesIO(variant)).load()
                except OSError:
                    self.assertRegex(self.decode(variant), "^(truncated|damaged) WebP: ")
                else:
                    self.compare(variant, options)
                    taken += 1
        self.assertGreater(taken, 8)

    def test_bmp(self):
        for mode in ("RGB", "RGBA", "L", "1", "P"):
            for size in ((1, 1), (5, 7), (32, 33)):
                image = picture(self.rng, *size, "RGB" if mode == "P" else mode)
                if mode == "P":
                    image = image.quantize(40)
                self.compare(saved(image, "BMP"), f"{mode}, {size}")

    def bmp(self, height, width, bits, compression=0, masks=(), header=40, colours=0, down=False):
        stride = (width * bits + 31) // 32 * 4
        rows = self.rng.integers(0, 256, height * stride, dtype=numpy.uint8).tobytes()
        palette = self.rng.integers(0, 256, 4 * (colours or (1 << bits if bits <= 8 else 0)),
                                    dtype=numpy.uint8).tobytes()
        fields = b"".join(struct.pack("<I", mask) for mask in masks)
        body = struct.pack("<iiHHIIiiII", width, -height if down else height, 1, bits, compression, 0,
                           0, 0, colours, 0)
        inside = (fields + b"\0" * (header - 40))[:header - 40]
        outside = fields[:12] if header == 40 else b""
        offset = 14 + header + len(outside) + len(palette)
        return (b"BM" + struct.pack("<IHHI", offset + len(rows), 0, 0, offset) +
                struct.pack("<I", header) + body + inside + outside + palette + rows)

    def test_bmp_of_every_kind(self):
        for down in (False, True):
            for bits in (1, 4, 8, 16, 24, 32):
                for header in (40, 52, 56, 64, 108, 124):
                    data = self.bmp(9, 13, bits, header=header, down=down)
                    self.compare(data, f"{bits} bits, header {header}", longer(data))
            self.compare(self.bmp(9, 13, 4, colours=5, down=down), "five colours", self.bmp_with_black)
        for bits, masks in ((32, (0xFF0000, 0xFF00, 0xFF, 0)),
                            (32, (0xFF000000, 0xFF0000, 0xFF00, 0)),
                            (32, (0xFF000000, 0xFF0000, 0xFF00, 0xFF)),
                            (32, (0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
                            (16, (0xF800, 0x7E0, 0x1F)), (16, (0x7C00, 0x3E0, 0x1F))):
            for header in (40, 52, 56, 108, 124):
                if header > 52 or not masks[3:] or not masks[3]:
                    data = self.bmp(9, 13, bits, 3, masks, header)
                    self.compare(data, f"{bits}, {masks}, {header}", longer(data))

    def bmp_with_black(self, data):
        """The same BMP of 16 colours, of which those that it lacks are black."""
        offset, count = struct.unpack_from("<I", data, 10)[0], struct.unpack_from("<I", data, 46)[0]
        more = 4 * (16 - count)
        head = data[:2] + struct.pack("<IHHI", len(data) + more, 0, 0, offset + more) + data[14:46] + struct.pack("<I", 16) + data[50:54]
        return head + data[54:54 + 4 * count] + bytes(more) + data[54 + 4 * count:]

    def unpacked(self, data, four):
        """The same picture without run lengths, as they are told in Microsoft's "Bitmap Compression"."""
        offset, _, width, height = struct.unpack_from("<IIii", data, 10)
        pixels, x, at = [], 0, offset
        def put(count, one):
            pixels.extend(one(i) for i in range(count))
        while len(pixels) < width * abs(height):
            first, second = data[at], data[at + 1]
            at += 2
            if first:
                put(min(first, max(width - x, 0)), lambda i: second if not four else second & 15 if i % 2 else second >> 4)
                x += first
            elif second == 0:
                put(-len(pixels) % width, lambda i: 0)
                x = 0
            elif second == 2:
                put(data[at] + data[at + 1] * width, lambda i: 0)
                x, at = len(pixels) % width, at + 2
            else:
                put(second, lambda i: data[at + i] if not four else data[at + i // 2] & 15 if i % 2 else data[at + i // 2] >> 4)
                x, at = x + second, at + ((second + 1) // 2 if four else second)
                at += at % 2
        rows = numpy.array(pixels[:width * abs(height)], numpy.uint8).reshape(abs(height), width)
        rows = numpy.pad(rows, ((0, 0), (0, -width % 4))).tobytes()
        palette = data[54:54 + 4 * struct.unpack_from("<I", data, 46)[0]]
        palette += bytes(1024 - len(palette))
        return (b"BM" + struct.pack("<IHHI", 54 + len(palette) + len(rows), 0, 0, 54 + len(palette)) +
                struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 0, 0, 0, 0, 256, 0) + palette + rows)

    def runs(self, height, width, four, data=None, down=False, colours=None, gap=0):
        """A BMP of run lengths; random ones where none are given, with every kind of them."""
        body = bytearray()
        if data is None:
            for _ in range(height * 2):
                left = width
                while left > 0 and self.rng.integers(0, 8):
                    kind, count = self.rng.integers(0, 4), int(self.rng.integers(1, 9))
                    if kind == 0 and count > 2:
                        size = (count + 1) // 2 if four else count
                        body += bytes([0, count]) + self.rng.integers(0, 256, size, dtype=numpy.uint8).tobytes()
                        body += b"\0" * ((len(body) + gap) % 2)
                    elif kind == 1 and count > 6:
                        body += bytes([0, 2, count - 6, int(self.rng.integers(0, 2))])
                    else:
                        body += bytes([count, int(self.rng.integers(0, 256))])
                    left -= count
                body += b"\0\0"
            body += b"\0\1"
        else:
            body += data
        bits = 4 if four else 8
        colours = 1 << bits if colours is None else colours
        palette = self.rng.integers(0, 256, 4 * colours, dtype=numpy.uint8).tobytes()
        offset = 54 + len(palette) + gap
        return (b"BM" + struct.pack("<IHHI", offset + len(body), 0, 0, offset) +
                struct.pack("<IiiHHIIiiII", 40, width, -height if down else height, 1, bits, 2 if four else 1, 0, 0, 0,
                            colours, 0) + palette + b"\0" * gap + bytes(body))

    def test_bmp_run_lengths(self):
        for four in (False, True):
            for turn in range(30):
                height, width = (int(n) for n in self.rng.integers(1, 24, 2))
                data = self.runs(height, width, four, down=turn % 2 == 1, gap=turn % 3)
                self.compare(data, f"four {four}, {height} x {width}, {turn}", self.unpacked(data, four))
        data = self.runs(2, 5, False, b"\x05\x07\0\0\x05\x08", colours=20)
        self.compare(data, "few colours")
        self.compare(data, "few colours", self.unpacked(data, False))
        data = self.runs(2, 5, False, b"\x05\x07\0\0\x05\x28", colours=20)
        self.compare(data, "a number behind the colours", self.unpacked(data, False))

    def test_bmp_run_lengths_that_end_early(self):
        whole = self.runs(9, 13, True, b"\x0d\x12\0\0" * 8 + b"\x0d\x34")
        self.compare(whole, "whole")
        for data in (whole[:-1], whole[:-2], whole[:-9], whole[:-2] + b"\0\1", whole[:-2] + b"\0\2\1",
                     whole[:-2] + b"\0\x0d\1"):
            with self.assertRaises((ValueError, OSError)):
                Image.open(io.BytesIO(data)).load()
            for region in ((0, 0, 0, 0), (8, 0, 1, 1)):
                self.assertEqual(self.decode(data, region=region), "truncated BMP: its run lengths end early")

    def test_old_bmp(self):
        colours = self.rng.integers(0, 256, 3 * 16, dtype=numpy.uint8).tobytes()
        rows = self.rng.integers(0, 256, 4 * 8, dtype=numpy.uint8).tobytes()
        offset = 26 + len(colours)
        self.compare(b"BM" + struct.pack("<IHHI", offset + len(rows), 0, 0, offset) +
                     struct.pack("<IHHHH", 12, 13, 4, 1, 4) + colours + rows, "OS/2")

    def test_bmp_messages(self):
        whole = self.bmp(9, 13, 24)
        for data, message in (
                (whole[:-30], f"truncated BMP: it has {len(whole) - 30} bytes of {len(whole) - 1}"),
                (self.bmp(9, 13, 24, 1), "BMP with run lengths and 24 bits per pixel is not read"),
                (self.bmp(9, 13, 16, 3, (0xF, 0xF0, 0xF00)), "BMP with unusual bit fields is not read"),
                (self.bmp(9, 13, 24, 4), "BMP with JPEG data is not read"),
                (b"BM" + b"\0" * 40, "BMP with a header of 0 bytes is not read"),
                (b"BM", "truncated BMP: it has 2 bytes of 26"),
        ):
            self.assertEqual(self.decode(data), message)

    def test_pnm(self):
        for mode in ("1", "L", "RGB"):
            for size in ((1, 1), (5, 7), (32, 33)):
                self.compare(saved(picture(self.rng, *size, mode), "PPM"), f"{mode}, {size}")
        for kind, channels in ((b"P5", 1), (b"P6", 3)):
            for most in (1, 2, 7, 100, 254, 255, 256, 1000, 65535):
                values = self.rng.integers(0, most + 1, (6, 9, channels))
                data = (values.astype(">u2") if most > 255 else values.astype(numpy.uint8)).tobytes()
                self.compare(kind + b"\n# made by hand\n9 6 \n#again\n%d\n" % most + data,
                             f"{kind}, {most}")

    def test_comments_inside_of_lines_of_a_pnm_header(self):
        for head in (b"P5 2#a\n 2 255\n", b"P5 #a\n2 2#b\r 255\n", b"P5\n2#a\n#b\n 2 2#c\n55\n", b"P5 2 #2\r2 255#\n\n",
                     b"P2 2 2#a\n 255\n", b"P4 2#a\n 2\n"):
            self.compare(head + b"1 2 3 4 ", head)

    def test_plain_pnm(self):
        for kind, channels in ((b"P1", 1), (b"P2", 1), (b"P3", 3)):
            for most in (1, 2, 7, 100, 254, 255, 256, 1000, 65535)[:1 if kind == b"P1" else None]:
                values = self.rng.integers(0, most + 1, (6, 9, channels))
                head = kind + b"\n# made by hand\n9 6 " + (b"" if kind == b"P1" else b"\n#again\n%d " % most)
                for between in (b" ", b"\n", b"\t \r\n\f\v", b" # it is 7 0 1\n", b"#\r "):
                    text = between.join(b"%d" % value for value in values.reshape(-1)) + b"\n"
                    self.compare(head + text, f"{kind}, {most}, {between}")
        self.compare(b"P1 3 2\n010#\n 1\n01", "bits without space")
        self.compare(b"P2 2 1 255 1#2\n23 4 ", "a comment inside of a number")
        self.compare(b"P2 2 1 255 0012 9 4 5 x", "more than there should be")

    def test_pnm_messages(self):
        for data, message in (
                (b"P6 9 6 255\n" + b"\0" * 100, "truncated PNM: it has 111 bytes of 173"),
                (b"P3 1 1 255 1 2 ", "truncated PNM: it has 2 numbers of 3"),
                (b"P3 9 9 255 1 2 ", "truncated PNM: it ends after 15 bytes, before its last number"),
                (b"P3 1 1 255 1 256 3", "damaged PNM: number 1 of 3 cannot be read, or is too large"),
                (b"P2 2 1 255 1 -2", "damaged PNM: number 1 of 2 cannot be read, or is too large"),
                (b"P2 2 1 255 1 00000000012", "damaged PNM: number 1 of 2 cannot be read, or is too large"),
                (b"P1 2 1\n12", "damaged PNM: number 1 of 2 cannot be read, or is too large"),
                (b"P6 9 x", "damaged PNM: a number of its header cannot be read"),
                (b"P6 9 6 0\n", "damaged PNM: a largest value of 0; it lies in 1 to 65535"),
                (b"P6 9 6", "truncated PNM: it ends after 6 bytes, inside its header"),
                (b"P6 100000 100000 255\n",
                 "PNM of 100000 x 100000 pixels, the limit is 178956970 in all"),
        ):
            self.assertEqual(self.decode(data), message)

    def test_other_formats_are_named(self):
        image = picture(self.rng, 8, 8)
        rest = " is not decoded (JPEG, PNG, WebP, BMP, PPM, PGM and PFM are)"
        self.assertEqual(self.decode(saved(image.quantize(8), "GIF")), "a GIF file" + rest)
        self.assertEqual(self.decode(saved(image, "TIFF")), "a TIFF file" + rest)
        for magic in (b"II+\0\x08\0\0\0", b"MM\0+\0\x08\0\0"):  # BigTIFF
            self.assertEqual(self.decode(magic + bytes(100)), "a TIFF file" + rest)
        for begin, name in (
                (b"\0\0\0\x0CjP  \r\n\x87\n", "a JPEG 2000 file"), (b"\xFF\x4F\xFF\x51\0", "a JPEG 2000 file"),
                (b"\0\0\0\x20ftypavif", "an AVIF file"), (b"\0\0\0\x20ftypheic", "a HEIF file"), (b"\xFF\x0A", "a JPEG XL file"),
                (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer (`git lfs pull` gets the file)"),
                (b"%PDF-1.4", "a PDF file"), (b"PK\3\4", "a zip archive, as `.npz` files are,"), (b"PK\5\6", "an empty zip archive"),
                (b"\x1F\x8B", "a file compressed by gzip"), (b"\xFD7zXZ\0", "a file compressed by xz"),
                (b"\x28\xB5\x2F\xFD", "a file compressed by zstd"),
                (b"\x93NUMPY\1\0", "a NumPy file (`npy(path, ...)` of a `raw` table reads one)"), (b"\x89HDF\r\n", "an HDF5 file"),
                (b"PAR1", "a Parquet file"), (b"8BPS", "a Photoshop file"), (b"NIST_1A\n   1024\n", "a SPHERE file (sound)"),
                (b"OggS", "an Ogg file (sound or video)"), (b"fLaC", "a FLAC file (sound)"),
                (b"RIFF\0\0\0\0WAVE", "a RIFF file, such as WAV or AVI,"), (b"\x1A\x45\xDF\xA3", "a Matroska or WebM file (video)"),
                (b"\0\0\0\x20ftypisom", "an MP4 file (video)"), (b"\0" * 128 + b"DICM", "a DICOM file"),
                (b"\n <!DOCTYPE html><html>", "a page of HTML (what a server sent in place of the file?)"),
                (b"<HTML>", "a page of HTML (what a server sent in place of the file?)"),
                (b"\xEF\xBB\xBF<svg ", "an SVG file"), (b"<?xml version", "an XML file")):
            self.assertEqual(self.decode(begin + b"\0" * 40), name + rest)
        self.assertEqual(self.decode(b"hello"),
                         "not an image file: its first bytes are no image format's")
        self.assertEqual(self.decode(b""), "not an image file: it is empty")

    def test_mutations_never_crash(self):
        """Thousands of damaged files; each gives pixels or a message of its format."""
        files = {
            "PNG": [data for _, data in self.every_png()][3::4],
            "WebP": [saved(picture(self.rng, 30, 40, mode), "WEBP", **options)
                     for mode in ("RGB", "RGBA") for options in ({"quality": 50}, {"lossless": True})],
            "BMP": [self.bmp(9, 13, bits) for bits in (1, 4, 8, 16, 24, 32)] + [self.runs(9, 13, four) for four in (0, 1)],
            "PNM": [saved(picture(self.rng, 9, 13, mode), "PPM") for mode in ("1", "L", "RGB")] +
                   [b"P1 4 2 0110 1 0 0 1", b"P2 3 2 7 0 1 2 #\n 3 4 5", b"P3 2 1 300 1 2 3 4 5 6 "],
        }
        refused = 0
        for name, examples in files.items():
            for i in range(300):
                data = bytearray(examples[i % len(examples)])
                for _ in range(int(self.rng.integers(1, 4))):
                    # Headers matter most.
                    at = int(self.rng.integers(0, len(data) if i % 2 else min(len(data), 60)))
                    data[at] = int(self.rng.integers(0, 256))
                found = self.decode(bytes(data[:int(self.rng.integers(len(data) // 2, len(data) + 1))]
                                          if i % 5 == 0 else data))
                if isinstance(found, str):
                    refused += 1
                    self.assertRegex(found, f"{name}|image file|not decoded")
        self.assertGreater(refused, 500)


if __name__ == "__main__":
    Formats.tool = os.path.abspath(sys.argv.pop(1))
    unittest.main()
