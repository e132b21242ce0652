# SPDX-License-Identifier: Apache-2.0
"""Files that `encode` writes, and their decoded pixels, are those of Pillow's save(quality = q) and open.

JPEG files are Pillow's byte for byte where both use the same libjpeg-turbo (Debian's); PNG files have its pixels.
"""
import io
import os
import sys

import numpy
from PIL import Image

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from one_image import OneImageTest, dark_gradient, noise, run  # noqa: E402

ROOM = 400_000
SHAPES = (1, 1), (3, 40), (16, 16), (33, 17), (95, 130)


def file_of(image, form, **how):
    out = io.BytesIO()
    Image.fromarray(image).save(out, form, **how)
    return out.getvalue()


def padded(data):
    return numpy.frombuffer(data.ljust(ROOM, b"\0"), numpy.uint8)


def opened(data):
    return numpy.array(Image.open(io.BytesIO(data)))


def smooth(height, width):
    rows, columns = numpy.mgrid[0:height, 0:width]
    return numpy.stack([rows * 3 + columns, columns * 5, rows * columns], axis=-1).astype(numpy.uint8)


class Encode(OneImageTest):
    def test_jpeg(self):
        for shape in SHAPES:
            for image in (noise(*shape), smooth(*shape)):
                for quality in (1, 30, 75, 100) if shape == SHAPES[-1] else (60,):
                    color = file_of(image, "JPEG", quality=quality)
                    gray = file_of(image[..., 0], "JPEG", quality=quality)
                    turned = opened(file_of(image[:, ::-1].copy(), "JPEG", quality=quality))
                    self.compare("encode.pipe", image, {
                        "again": opened(color), "gray_again": opened(gray),
                        "turned": 255 - turned.transpose(1, 0, 2),
                        "file": padded(color), "size": numpy.array([len(color)]), "gray_file": padded(gray),
                    }, quality=quality)

    def test_the_usual_quality(self):
        image = dark_gradient()
        self.compare("encode.pipe", image, {"file": padded(file_of(image, "JPEG"))})

    def test_png(self):
        # zlib's bytes differ from version to version: the pixels are compared.
        for shape in SHAPES:
            for image in (noise(*shape), smooth(*shape)):
                unknown = {"file": padded(b""), "gray_file": padded(b""), "size": numpy.zeros(1, numpy.int64)}
                found = {label["output"]: ours for label, ours, _ in self.results(
                    "png.pipe", image, {**unknown, "again": image}, interpret=False)}
                if not found:
                    continue  # no generated code in this build
                numpy.testing.assert_array_equal(found["again"], image)
                size = int(found["size"][0])
                self.assertFalse(found["file"][size:].any())
                numpy.testing.assert_array_equal(opened(found["file"][:size].tobytes()), image)
                numpy.testing.assert_array_equal(opened(found["gray_file"].tobytes()), image[..., 1])
                self.assertEqual(found["file"][size - 8:size].tobytes(), b"IEND\xae\x42\x60\x82")


if __name__ == "__main__":
    run(sys.argv)
